"""The problems of a Lark text as llguidance reads it: their codes, severities and meanings."""

from __future__ import annotations

from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, Severity

_ERRORS = {
    "unclosed-literal": 'A literal is not closed with `"` on its line.',
    "unclosed-regex": "A regular expression is not closed with `/`.",
    "unclosed-group": "A group is not closed with `)` or `]` on its line; it continues only before `|`.",
    "unclosed-token": "A token of the model is not closed with `>`, or contains a space.",
    "unexpected-text": "A character or word that has no meaning here.",
    "unknown-escape": r"An escape that a literal does not support, such as `\d`.",
    "bad-number": "A number of the wrong form, such as `1.` in `1..3` (write `1 .. 3`).",
    "bad-json": "The JSON after `%json`, `%regex` or `%llguidance` is invalid.",
    "definition-sign": "A name is not followed by `:`.",
    "mixed-case-name": "A name with upper and lower case letters, which is read as several names.",
    "optional-or-name": '`?` directly before a name belongs to the name: `"a"?b`.',
    "line-before-bar": "A comment or a line of spaces between two alternatives ends the rule.",
    "bad-repetition": "Braces or `~` with other than one or two numbers, or with an upper bound of 0.",
    "repetition-order": "`{n,m}` with m smaller than n.",
    "nested-too-deep": "More than 28 nested groups.",
    "bad-attribute": "An unknown attribute of a rule, or one of the wrong form.",
    "bad-parameter": "A parameter or condition that llguidance does not know.",
    "not-supported": "A feature of the Lark library that llguidance does not have: priorities, "
    "templates, `%override`, `%declare`.",
    "unknown-import": "An import that llguidance does not have; it has only `common.…`.",
    "bad-options": "An option of `%llguidance` of the wrong type.",
    "grammar-reference": "`@name` refers to another grammar, which a file does not have.",
    "lone-surrogate": "A lone surrogate, which cannot be encoded as UTF-8.",
    "not-utf-8": "A byte of the file that is not valid UTF-8.",
    "too-many-mistakes": "More than 1,000 problems; the rest of the text was not checked.",
    "no-start": "There is no rule `start`, where llguidance begins.",
    "duplicate-rule": "A rule or terminal is defined twice.",
    "undefined-name": "A rule or terminal is used but not defined.",
    "rule-in-terminal": "A terminal uses a rule; only terminals, texts and regular expressions are possible there.",
    "not-in-terminal": "A terminal contains `%json`, `%lark`, `%if`, a token of the model, or a parameter.",
    "circular-terminal": "A terminal contains itself.",
    "and-in-rule": "`&` is possible in terminals only.",
    "attribute-of-rule": "`max_tokens`, `temperature`, `stop`, `suffix` and `lazy` need a body that is one terminal.",
    "parametric": "A rule has `::_` but does not need a parameter, or needs one without `::_`.",
    "bad-regex": "A regular expression that is not one in Rust's syntax.",
    "look-around": "Look-around, or an anchor or word boundary inside of a regular expression.",
    "bad-range": '`"a".."z"` with other than single characters, or with the larger one first.',
    "token-range": "A range of token numbers of the wrong form.",
    "llguidance": "llguidance rejects the grammar for another reason, for example its size.",
}
_WARNINGS = {
    "unused-rule": "A rule or terminal is not used; llguidance does not check its body.",
    "endless-rule": "A non-productive rule: it derives no finite text.",
    "lexeme-lost": "The lexer takes the longest lexeme and never goes back, so that some texts of "
    "the rules are rejected.",
    "approximate": "A part that Glyphscope reads only approximately: `stop`, `max_tokens`, `%json`, `%lark`.",
    "openai": "With `--for openai`: something that OpenAI's custom tools reject, advise against or do not mention.",
}
_HINTS = {
    "character-lexeme": "A repeated lexeme of a single character is slow; write the repetition inside of a terminal.",
    "right-recursion": "A rule that ends with itself is slow in llguidance; write a repetition.",
    "token-of-model": "`<text>` works only with a model that has it as one token.",
}

_BY_SEVERITY: dict[Severity, dict[str, str]] = {"error": _ERRORS, "warning": _WARNINGS, "hint": _HINTS}
CODES = {code: (severity, words) for severity, codes in _BY_SEVERITY.items() for code, words in codes.items()}
"""The severity and the meaning of each code."""


def report(
    code: str, message: str, start: int, end: int, fix: Fix | None = None, *, severity: Severity | None = None
) -> Diagnostic:
    """A diagnostic with its code's severity, or a lower one where llguidance does not look."""
    return Diagnostic(severity or CODES[code][0], code, message, start, max(end, start), fix)
