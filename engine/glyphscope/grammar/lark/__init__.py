"""Convert the rule tree to llguidance's variant of Lark: choose lexemes that lose no text, and write the text."""
