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
NUL_CHARACTER = "nul-character"
NOT_UTF8 = "not-utf-8"
TOO_MANY_MISTAKES = "too-many-mistakes"
NO_RULES = "no-rules"
NO_ROOT = "no-root"
UNDEFINED_RULE = "undefined-rule"
LEFT_RECURSION = "left-recursion"
NULLABLE_LOOP = "nullable-loop"
EMPTY_REPETITION = "empty-repetition"
REPETITION_ORDER = "repetition-order"
REPETITION_TOO_LARGE = "repetition-too-large"
TOKEN_ID = "token-id"
TOO_MANY_WAYS = "too-many-ways"
TOO_MANY_STEPS = "too-many-steps"
DUPLICATE_RULE = "duplicate-rule"
UNUSED_RULE = "unused-rule"
UNREACHABLE_RULE = "unreachable-rule"
ENDLESS_RULE = "endless-rule"
EMPTY_LOOP = "empty-loop"
UNBOUNDED_MAXIMUM = "unbounded-maximum"
ZERO_REPETITION = "zero-repetition"
EMPTY_CLASS = "empty-class"
RANGE_ORDER = "range-order"
NO_SUCH_CHARACTER = "no-such-character"
LINE_END_IN_TEXT = "line-end-in-text"
SAME_ALTERNATIVE = "same-alternative"
SLOW_ALTERNATIVES = "slow-alternatives"
SLOW_OPTIONALS = "slow-optionals"
TOKEN_NAMED_LIKE_RULE = "token-named-like-rule"
NEGATED_NON_ASCII = "negated-non-ascii"
UNBOUNDED_SPACE = "unbounded-space"
TOKEN_OF_MODEL = "token-of-model"
NEW_ESCAPE = "new-escape"

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
    NUL_CHARACTER: ("error", "The character U+0000, at which llama.cpp stops reading."),
    NOT_UTF8: ("error", "A byte of the file that is no UTF-8."),
    TOO_MANY_MISTAKES: ("error", "More than 1,000 mistakes: the rest of the text is not read."),
    NO_RULES: ("error", "There is no rule in the text."),
    NO_ROOT: ("error", "No rule is called `root`, with which llama.cpp begins."),
    UNDEFINED_RULE: ("error", "A rule is used that is not in the text."),
    LEFT_RECURSION: (
        "error",
        "A rule begins with itself, directly or through others: llama.cpp refuses it or hangs.",
    ),
    NULLABLE_LOOP: (
        "error",
        "Something that may be empty is repeated without bound, and llama.cpp refuses it.",
    ),
    EMPTY_REPETITION: ("error", "Nothing is repeated: an empty text, or something repeated zero times."),
    REPETITION_ORDER: ("error", "`{n,m}` with m smaller than n: llama.cpp runs until it has no memory."),
    REPETITION_TOO_LARGE: (
        "error",
        "More repetitions than llama.cpp takes: 2,000, times the rules in the group.",
    ),
    TOKEN_ID: ("error", "A token's id that is too large for llama.cpp to read."),
    TOO_MANY_WAYS: ("error", "A text can begin in so many ways that llama.cpp does not come to an end."),
    TOO_MANY_STEPS: (
        "error",
        "A chain of rules so long that llama.cpp crashes, or so branched that it hangs.",
    ),
    DUPLICATE_RULE: ("warning", "A rule is defined twice, and only the last definition counts."),
    UNUSED_RULE: ("warning", "A rule is used nowhere."),
    UNREACHABLE_RULE: ("warning", "A rule is used only by rules that `root` never comes to."),
    ENDLESS_RULE: ("warning", "A rule that can never come to an end."),
    EMPTY_LOOP: (
        "warning",
        "Something that may be empty is repeated without bound; llama.cpp takes it.",
    ),
    UNBOUNDED_MAXIMUM: ("warning", "A greatest number over 2,000, which llama.cpp reads as no bound at all."),
    ZERO_REPETITION: ("warning", "`{0}`: what stands before it is not in the grammar."),
    EMPTY_CLASS: ("warning", "A class with nothing in it: for llama.cpp the empty text."),
    RANGE_ORDER: ("warning", "A range of a class with the greater character first: no character is in it."),
    NO_SUCH_CHARACTER: ("warning", "A code point that no text has."),
    LINE_END_IN_TEXT: ("warning", "A quote or bracket runs over a line end."),
    SAME_ALTERNATIVE: ("warning", "An alternative stands twice."),
    SLOW_ALTERNATIVES: ("warning", "So many ways to go on that each token takes llama.cpp long."),
    SLOW_OPTIONALS: (
        "warning",
        "A chain of optional items, which llama.cpp tries in all ways at each token.",
    ),
    TOKEN_NAMED_LIKE_RULE: ("warning", "`<name>` is a token of the model, and there is a rule of that name."),
    NEGATED_NON_ASCII: (
        "hint",
        "`[^é]`: where a token ends inside a character, llama.cpp refuses others that begin alike.",
    ),
    UNBOUNDED_SPACE: ("hint", "White space without bound, in which models run away."),
    TOKEN_OF_MODEL: ("hint", "`<text>` is read only under a model that has it as one token."),
    NEW_ESCAPE: ("hint", r"`\-`, which older versions of llama.cpp refuse."),
}


def report(code: str, message: str, start: int, end: int, fix: Fix | None = None) -> Diagnostic:
    """A diagnostic with its code's severity."""
    return Diagnostic(CODES[code][0], code, message, start, end, fix)
