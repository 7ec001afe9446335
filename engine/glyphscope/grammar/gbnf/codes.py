"""Every code of a diagnostic, with its severity and what it is about. docs/grammar-diagnostics.md tells users the same.

The severities are llama.cpp's own: what is an error here was refused, crashed or hung there when it was tried (version
of llama-cpp-python 0.3.36; docs/decisions/0009-gbnf-agreement.md tells how, and where others differ).
"""

from __future__ import annotations

from glyphscope.grammar.gbnf.diagnostic import Diagnostic, Fix, Severity

UNCLOSED_LITERAL = "unclosed-literal"
UNCLOSED_CLASS = "unclosed-class"
UNCLOSED_GROUP = "unclosed-group"
UNCLOSED_TOKEN = "unclosed-token"
UNOPENED_GROUP = "unopened-group"
UNKNOWN_ESCAPE = "unknown-escape"
UNEXPECTED_TEXT = "unexpected-text"
STRAY_LINE = "stray-line"
DEFINITION_SIGN = "definition-sign"
RULE_ON_ONE_LINE = "rule-on-one-line"
RULE_ON_OWN_LINE = "rule-on-own-line"
MISSING_BODY = "missing-body"
BAD_NAME = "bad-name"
BAD_REPETITION = "bad-repetition"
NOTHING_TO_REPEAT = "nothing-to-repeat"
NESTED_TOO_DEEP = "nested-too-deep"
LONE_SURROGATE = "lone-surrogate"
TOO_MANY_MISTAKES = "too-many-mistakes"

CODES: dict[str, tuple[Severity, str]] = {
    UNCLOSED_LITERAL: ("error", 'A `"` that opens a text has no `"` that closes it.'),
    UNCLOSED_CLASS: ("error", "A `[` has no `]`."),
    UNCLOSED_GROUP: ("error", "A `(` has no `)`."),
    UNCLOSED_TOKEN: ("error", "A `<` that opens a token has no `>`, or its id is no number."),
    UNOPENED_GROUP: ("error", "A `)` has no `(`."),
    UNKNOWN_ESCAPE: ("error", r"An escape that GBNF does not know, such as `\d`, `\w` or `\s`."),
    UNEXPECTED_TEXT: ("error", "A sign that means nothing at this place."),
    STRAY_LINE: ("error", "A line that is neither a rule nor a comment."),
    DEFINITION_SIGN: ("error", "A rule's name and body are joined by something else than `::=`."),
    RULE_ON_ONE_LINE: ("error", "A rule goes on in the next line outside of parentheses and not after `|`."),
    RULE_ON_OWN_LINE: ("error", "A second rule begins in the line of another."),
    MISSING_BODY: ("error", "Nothing comes after `::=` or `|`, and the next rule begins."),
    BAD_NAME: ("error", "A rule's name has other characters than letters a-z, digits and `-`."),
    BAD_REPETITION: ("error", "Braces that are not `{n}`, `{n,}` or `{n,m}`."),
    NOTHING_TO_REPEAT: ("error", "`*`, `+`, `?` or `{…}` with nothing before it that it could repeat."),
    NESTED_TOO_DEEP: ("error", "Parentheses so deep that llama.cpp crashes."),
    LONE_SURROGATE: ("error", "Half of a character: it cannot be written as UTF-8."),
    TOO_MANY_MISTAKES: ("error", "More than 1,000 mistakes: the rest of the text is not read."),
}


def report(code: str, message: str, start: int, end: int, fix: Fix | None = None) -> Diagnostic:
    """A diagnostic with its code's severity."""
    return Diagnostic(CODES[code][0], code, message, start, end, fix)
