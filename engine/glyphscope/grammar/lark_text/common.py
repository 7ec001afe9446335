r"""The terminals of `%import common.…` that llguidance has, with the meaning that it gives them.

They differ from the Lark library's in details: `ESCAPED_STRING` may contain line ends, and `NUMBER` has no sign.
"""

_EXPONENT = r"[eE][+-]?[0-9]+"
_FLOAT = rf"(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:{_EXPONENT})?|[0-9]+{_EXPONENT}"

COMMON: dict[str, str] = {
    "DIGIT": "[0-9]",
    "HEXDIGIT": "[0-9A-Fa-f]",
    "INT": "[0-9]+",
    "SIGNED_INT": "[+-]?[0-9]+",
    "DECIMAL": r"[0-9]+\.[0-9]*|\.[0-9]+",
    "_EXP": _EXPONENT,
    "FLOAT": _FLOAT,
    "SIGNED_FLOAT": f"[+-]?(?:{_FLOAT})",
    "NUMBER": f"[0-9]+|{_FLOAT}",
    "SIGNED_NUMBER": f"[+-]?(?:[0-9]+|{_FLOAT})",
    "ESCAPED_STRING": r'"(?:\\.|[^"\\])*"',
    "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]",
    "LETTER": "[a-zA-Z]",
    "WORD": "[a-zA-Z]+",
    "CNAME": "[a-zA-Z_][0-9a-zA-Z_]*",
    "WS_INLINE": r"[\t ]+",
    "WS": r"[\t\n\f\r ]+",
    "CR": r"\r",
    "LF": r"\n",
    "NEWLINE": r"(?:\n|\r\n)+",
    "SH_COMMENT": r"#[^\n]*",
    "CPP_COMMENT": r"//[^\n]*",
    "C_COMMENT": r"/\*(?:[^*]|\*+[^*/])*\*+/",
    "SQL_COMMENT": r"--[^\n]*",
}
"""Regular expressions in Rust's syntax, by the name after `common.`."""
