"""What can be wrong with a GBNF text: each problem with its place, its code and its fixes."""

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
    """What is wrong from `start` to `end` (code points from 0, `end` excluded).

    An error is what llama.cpp refuses, or what crashes or hangs it. A warning is what it takes and what is hardly
    meant; a hint is what works, and works better otherwise.
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
TOO_MANY_PROBLEMS = "too-many-mistakes"
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
    UNCLOSED_LITERAL: ("error", 'A literal is not closed with `"`.'),
    UNCLOSED_CLASS: ("error", "A character class is not closed with `]`."),
    UNCLOSED_GROUP: ("error", "A group is not closed with `)`."),
    UNCLOSED_TOKEN: ("error", "A token is not closed with `>`, or its id is not a number."),
    UNOPENED_GROUP: ("error", "A `)` without `(`."),
    UNKNOWN_ESCAPE: ("error", r"An escape that GBNF does not support, such as `\d`, `\w` or `\s`."),
    UNEXPECTED_TEXT: ("error", "A character that has no meaning here."),
    STRAY_LINE: ("error", "A line that is neither a rule nor a comment."),
    DEFINITION_SIGN: ("error", "A rule's name is not followed by `::=`."),
    RULE_ON_ONE_LINE: (
        "error",
        "A rule continues on the next line, but not inside parentheses or after `|`.",
    ),
    RULE_ON_OWN_LINE: ("error", "Two rules on one line."),
    MISSING_BODY: ("error", "Nothing between `::=` or `|` and the next rule."),
    BAD_NAME: ("error", "A rule's name contains characters other than the letters a-z, digits and `-`."),
    BAD_REPETITION: ("error", "Braces other than `{n}`, `{n,}` or `{n,m}`."),
    NOTHING_TO_REPEAT: ("error", "`*`, `+`, `?` or `{…}` with nothing to repeat before it."),
    NESTED_TOO_DEEP: ("error", "Parentheses nested so deeply that llama.cpp crashes."),
    LONE_SURROGATE: ("error", "A lone surrogate, which cannot be encoded as UTF-8."),
    NUL_CHARACTER: ("error", "The character U+0000, at which llama.cpp stops reading."),
    NOT_UTF8: ("error", "A byte of the file that is not valid UTF-8."),
    TOO_MANY_PROBLEMS: ("error", "More than 1,000 problems; the rest of the text was not checked."),
    NO_RULES: ("error", "The text contains no rules."),
    NO_ROOT: ("error", "There is no rule `root`, the start rule of llama.cpp."),
    UNDEFINED_RULE: ("error", "A rule is used but not defined."),
    LEFT_RECURSION: (
        "error",
        "A rule begins with itself, directly or indirectly; llama.cpp rejects it or hangs.",
    ),
    NULLABLE_LOOP: (
        "error",
        "An item that can be empty is repeated without a limit, which llama.cpp rejects.",
    ),
    EMPTY_REPETITION: ("error", "The repeated item is always empty."),
    REPETITION_ORDER: ("error", "`{n,m}` with m smaller than n; llama.cpp runs until it is out of memory."),
    REPETITION_TOO_LARGE: (
        "error",
        "More repetitions than llama.cpp supports: 2,000, multiplied by the rules in the group.",
    ),
    TOKEN_ID: ("error", "A token id that is too large for llama.cpp."),
    TOO_MANY_WAYS: ("error", "A text can begin in so many ways that llama.cpp does not finish."),
    TOO_MANY_STEPS: (
        "error",
        "A chain of rules so long that llama.cpp crashes, or with so many branches that it hangs.",
    ),
    DUPLICATE_RULE: ("warning", "A rule is defined twice; only the last definition is used."),
    UNUSED_RULE: ("warning", "An unused rule."),
    UNREACHABLE_RULE: ("warning", "A rule that cannot be reached from `root`."),
    ENDLESS_RULE: ("warning", "A non-productive rule: it derives no finite text."),
    EMPTY_LOOP: (
        "warning",
        "An item that can be empty is repeated without a limit; llama.cpp accepts it.",
    ),
    UNBOUNDED_MAXIMUM: ("warning", "An upper limit over 2,000, which llama.cpp treats as unlimited."),
    ZERO_REPETITION: ("warning", "`{0}` removes the item before it from the grammar."),
    EMPTY_CLASS: ("warning", "An empty character class, which llama.cpp reads as the empty text."),
    RANGE_ORDER: ("warning", "A range with the larger character first, which contains no character."),
    NO_SUCH_CHARACTER: ("warning", "A code point that no text can contain."),
    LINE_END_IN_TEXT: ("warning", "A literal or class contains a line break."),
    SAME_ALTERNATIVE: ("warning", "A duplicate alternative."),
    SLOW_ALTERNATIVES: ("warning", "So many possible continuations that llama.cpp is slow at each token."),
    SLOW_OPTIONALS: (
        "warning",
        "A chain of optional items, of which llama.cpp tries all combinations at each token.",
    ),
    TOKEN_NAMED_LIKE_RULE: (
        "warning",
        "`<name>` is a token of the model, but there is also a rule with that name.",
    ),
    NEGATED_NON_ASCII: (
        "hint",
        "`[^é]`: if a token ends inside a character, llama.cpp rejects characters that begin with the same bytes.",
    ),
    UNBOUNDED_SPACE: ("hint", "Unlimited white space, which models can repeat without end."),
    TOKEN_OF_MODEL: ("hint", "`<text>` works only with a model that has it as one token."),
    NEW_ESCAPE: ("hint", r"`\-`, which older versions of llama.cpp reject."),
}


def report(code: str, message: str, start: int, end: int, fix: Fix | None = None) -> Diagnostic:
    """A diagnostic with its code's severity."""
    return Diagnostic(CODES[code][0], code, message, start, end, fix)
