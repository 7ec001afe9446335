"""From the rule tree to llguidance's variant of Lark: lexemes that lose no text, and the text itself."""
