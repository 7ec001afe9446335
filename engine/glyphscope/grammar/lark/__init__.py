"""From the rule tree to llguidance's variant of Lark: lexemes that lose no text, and the text itself."""

from glyphscope.grammar.lark.emit import lark_rules, lark_unenforced, to_lark

__all__ = ["lark_rules", "lark_unenforced", "to_lark"]
