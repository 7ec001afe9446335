"""The problems of a GBNF text, each with its place, its code and its fixes."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "hint"]
Edit: TypeAlias = tuple[int, int, str]
"""Replace the code points from start to end (excluded) with the text."""


class Fix(msgspec.Struct, frozen=True):
    """Edits of the text that remove a diagnostic; they do not overlap and all count in the text as it was."""

    title: str
    edits: tuple[Edit, ...]

    def apply(self, text: str) -> str:
        """The text with all edits made."""
        pieces: list[str] = []
        done = 0
        for start, end, new in sorted(self.edits):
            pieces += text[done:start], new
            done = end
        return "".join([*pieces, text[done:]])


class Diagnostic(msgspec.Struct, frozen=True):
    """A problem from `start` to `end` (code points from 0, `end` excluded).

    An error is rejected by llama.cpp, or crashes or hangs it. A warning is accepted, but hardly intended; a hint works,
    but another form works better.
    """

    severity: Severity
    code: str
    message: str
    start: int
    end: int
    fix: Fix | None = None


def fix(title: str, *edits: Edit) -> Fix:
    """A fix of some edits."""
    return Fix(title, edits)


CODES: dict[str, tuple[Severity, str]] = {}
"""The severity and the meaning of each code."""


def _code(severity: Severity, code: str, words: str) -> str:
    CODES[code] = severity, words
    return code


UNCLOSED_LITERAL = _code("error", "unclosed-literal", 'A literal is not closed with `"`.')
UNCLOSED_CLASS = _code("error", "unclosed-class", "A character class is not closed with `]`.")
UNCLOSED_GROUP = _code("error", "unclosed-group", "A group is not closed with `)`.")
UNCLOSED_TOKEN = _code(
    "error", "unclosed-token", "A token is not closed with `>`, or its id is not a number."
)
UNOPENED_GROUP = _code("error", "unopened-group", "A `)` without `(`.")
UNKNOWN_ESCAPE = _code(
    "error", "unknown-escape", r"An escape that GBNF does not support, such as `\d`, `\w` or `\s`."
)
UNEXPECTED_TEXT = _code("error", "unexpected-text", "A character that has no meaning here.")
STRAY_LINE = _code("error", "stray-line", "A line that is neither a rule nor a comment.")
DEFINITION_SIGN = _code("error", "definition-sign", "A rule's name is not followed by `::=`.")
RULE_ON_ONE_LINE = _code(
    "error", "rule-on-one-line", "A rule continues on the next line, but not inside parentheses or after `|`."
)
RULE_ON_OWN_LINE = _code("error", "rule-on-own-line", "Two rules on one line.")
MISSING_BODY = _code("error", "missing-body", "Nothing between `::=` or `|` and the next rule.")
BAD_NAME = _code(
    "error", "bad-name", "A rule's name contains characters other than the letters a-z, digits and `-`."
)
BAD_REPETITION = _code("error", "bad-repetition", "Braces other than `{n}`, `{n,}` or `{n,m}`.")
NOTHING_TO_REPEAT = _code(
    "error", "nothing-to-repeat", "`*`, `+`, `?` or `{…}` with nothing to repeat before it."
)
NESTED_TOO_DEEP = _code("error", "nested-too-deep", "Parentheses nested so deeply that llama.cpp crashes.")
LONE_SURROGATE = _code("error", "lone-surrogate", "A lone surrogate, which cannot be encoded as UTF-8.")
NUL_CHARACTER = _code("error", "nul-character", "The character U+0000, at which llama.cpp stops reading.")
NOT_UTF8 = _code("error", "not-utf-8", "A byte of the file that is not valid UTF-8.")
TOO_MANY_PROBLEMS = _code(
    "error", "too-many-mistakes", "More than 1,000 problems; the rest of the text was not checked."
)
NO_RULES = _code("error", "no-rules", "The text contains no rules.")
NO_ROOT = _code("error", "no-root", "There is no rule `root`, the start rule of llama.cpp.")
UNDEFINED_RULE = _code("error", "undefined-rule", "A rule is used but not defined.")
LEFT_RECURSION = _code(
    "error",
    "left-recursion",
    "A rule begins with itself, directly or indirectly; llama.cpp rejects it or hangs.",
)
NULLABLE_LOOP = _code(
    "error",
    "nullable-loop",
    "An item that can be empty is repeated without a limit, which llama.cpp rejects.",
)
EMPTY_REPETITION = _code("error", "empty-repetition", "The repeated item is always empty.")
REPETITION_ORDER = _code(
    "error", "repetition-order", "`{n,m}` with m smaller than n; llama.cpp runs until it is out of memory."
)
REPETITION_TOO_LARGE = _code(
    "error",
    "repetition-too-large",
    "More repetitions than llama.cpp supports: 2,000, multiplied by the rules in the group.",
)
TOKEN_ID = _code("error", "token-id", "A token id that is too large for llama.cpp.")
TOO_MANY_WAYS = _code(
    "error", "too-many-ways", "A text can begin in so many ways that llama.cpp does not finish."
)
TOO_MANY_STEPS = _code(
    "error",
    "too-many-steps",
    "A chain of rules so long that llama.cpp crashes, or with so many branches that it hangs.",
)
DUPLICATE_RULE = _code(
    "warning", "duplicate-rule", "A rule is defined twice; only the last definition is used."
)
UNUSED_RULE = _code("warning", "unused-rule", "An unused rule.")
UNREACHABLE_RULE = _code("warning", "unreachable-rule", "A rule that cannot be reached from `root`.")
ENDLESS_RULE = _code("warning", "endless-rule", "A non-productive rule: it derives no finite text.")
EMPTY_LOOP = _code(
    "warning", "empty-loop", "An item that can be empty is repeated without a limit; llama.cpp accepts it."
)
UNBOUNDED_MAXIMUM = _code(
    "warning", "unbounded-maximum", "An upper limit over 2,000, which llama.cpp treats as unlimited."
)
ZERO_REPETITION = _code("warning", "zero-repetition", "`{0}` removes the item before it from the grammar.")
EMPTY_CLASS = _code(
    "warning", "empty-class", "An empty character class, which llama.cpp reads as the empty text."
)
RANGE_ORDER = _code(
    "warning", "range-order", "A range with the larger character first, which contains no character."
)
NO_SUCH_CHARACTER = _code("warning", "no-such-character", "A code point that no text can contain.")
LINE_END_IN_TEXT = _code("warning", "line-end-in-text", "A literal or class contains a line break.")
SAME_ALTERNATIVE = _code("warning", "same-alternative", "A duplicate alternative.")
SLOW_ALTERNATIVES = _code(
    "warning", "slow-alternatives", "So many possible continuations that llama.cpp is slow at each token."
)
SLOW_OPTIONALS = _code(
    "warning",
    "slow-optionals",
    "A chain of optional items, of which llama.cpp tries all combinations at each token.",
)
TOKEN_NAMED_LIKE_RULE = _code(
    "warning",
    "token-named-like-rule",
    "`<name>` is a token of the model, but there is also a rule with that name.",
)
NEGATED_NON_ASCII = _code(
    "hint",
    "negated-non-ascii",
    "`[^é]`: if a token ends inside a character, llama.cpp rejects characters that begin with the same bytes.",
)
UNBOUNDED_SPACE = _code(
    "hint", "unbounded-space", "Unlimited white space, which models can repeat without end."
)
TOKEN_OF_MODEL = _code("hint", "token-of-model", "`<text>` works only with a model that has it as one token.")
NEW_ESCAPE = _code("hint", "new-escape", r"`\-`, which older versions of llama.cpp reject.")


def report(code: str, message: str, start: int, end: int, fix: Fix | None = None) -> Diagnostic:
    """A diagnostic with its code's severity."""
    return Diagnostic(CODES[code][0], code, message, start, end, fix)
