"""The problems of a GBNF text, each with its place, its code and its fixes."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from glyphscope.base.lines import Lines

Severity: TypeAlias = Literal["error", "warning", "hint"]
Edit: TypeAlias = tuple[int, int, str]
"""Replaces the code points from start to end (exclusive) with the text."""
MAX_SHOWN = 10
"""The maximum number of errors in one message."""


class Fix(msgspec.Struct, frozen=True):
    """Edits that remove a diagnostic. They do not overlap, and their places refer to the unedited text."""

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
    """A problem from `start` to `end` (code points from 0, `end` exclusive).

    An error makes llama.cpp reject the text, crash or hang. A warning concerns accepted text that is probably not
    intended, a hint text that works but has a better form.
    """

    severity: Severity
    code: str
    message: str
    start: int
    end: int
    fix: Fix | None = None


def fix(title: str, *edits: Edit) -> Fix:
    """A fix with these edits."""
    return Fix(title, edits)


_ERRORS = {
    "unclosed-literal": 'A literal is not closed with `"`.',
    "unclosed-class": "A character class is not closed with `]`.",
    "unclosed-group": "A group is not closed with `)`.",
    "unclosed-token": "A token is not closed with `>`, or its id is not a number.",
    "unopened-group": "A `)` without `(`.",
    "unknown-escape": r"An escape that GBNF does not support, such as `\d`, `\w` or `\s`.",
    "unexpected-text": "A character that has no meaning here.",
    "stray-line": "A line that is neither a rule nor a comment.",
    "definition-sign": "A rule's name is not followed by `::=`.",
    "rule-on-one-line": "A rule continues on the next line, but not inside parentheses or after `|`.",
    "rule-on-own-line": "Two rules on one line.",
    "missing-body": "Nothing between `::=` or `|` and the next rule.",
    "bad-name": "A rule's name contains characters other than the letters a-z, digits and `-`.",
    "bad-repetition": "Braces other than `{n}`, `{n,}` or `{n,m}`.",
    "nothing-to-repeat": "`*`, `+`, `?` or `{…}` with nothing to repeat before it.",
    "nested-too-deep": "Parentheses nested so deeply that llama.cpp crashes.",
    "lone-surrogate": "A lone surrogate, which cannot be encoded as UTF-8.",
    "nul-character": "The character U+0000, at which llama.cpp stops reading.",
    "not-utf-8": "A byte of the file that is not valid UTF-8.",
    "too-many-mistakes": "More than 1,000 problems; the rest of the text was not checked.",
    "no-rules": "The text contains no rules.",
    "no-root": "There is no rule `root`, the start rule of llama.cpp.",
    "undefined-rule": "A rule is used but not defined.",
    "left-recursion": "A rule begins with itself, directly or indirectly; llama.cpp rejects it or hangs.",
    "nullable-loop": "An item that can be empty is repeated without a limit, which llama.cpp rejects.",
    "empty-repetition": "The repeated item is always empty.",
    "repetition-order": "`{n,m}` with m smaller than n; llama.cpp runs until it is out of memory.",
    "repetition-too-large": "More repetitions than llama.cpp supports: 2,000, multiplied by the rules in the group.",
    "token-id": "A token id that is too large for llama.cpp.",
    "too-many-ways": "A text can begin in so many ways that llama.cpp does not finish.",
    "too-many-steps": "A chain of rules so long that llama.cpp crashes, or with so many branches that it hangs.",
}
_WARNINGS = {
    "duplicate-rule": "A rule is defined twice; only the last definition is used.",
    "unused-rule": "An unused rule.",
    "unreachable-rule": "A rule that cannot be reached from `root`.",
    "endless-rule": "A non-productive rule: it derives no finite text.",
    "empty-loop": "An item that can be empty is repeated without a limit; llama.cpp accepts it.",
    "unbounded-maximum": "An upper limit over 2,000, which llama.cpp treats as unlimited.",
    "zero-repetition": "`{0}` removes the item before it from the grammar.",
    "empty-class": "An empty character class, which llama.cpp reads as the empty text.",
    "range-order": "A range with the larger character first, which contains no character.",
    "no-such-character": "A code point that no text can contain.",
    "line-end-in-text": "A literal or class contains a line break.",
    "same-alternative": "A duplicate alternative.",
    "slow-alternatives": "So many possible continuations that llama.cpp is slow at each token.",
    "slow-optionals": "A chain of optional items, of which llama.cpp tries all combinations at each token.",
    "token-named-like-rule": "`<name>` is a token of the model, but there is also a rule with that name.",
}
_HINTS = {
    "negated-non-ascii": "`[^é]`: if a token ends inside a character, llama.cpp rejects characters that begin with"
    " the same bytes.",
    "unbounded-space": "Unlimited white space, which models can repeat without end.",
    "token-of-model": "`<text>` works only with a model that has it as one token.",
    "new-escape": r"`\-`, which older versions of llama.cpp reject.",
}

_BY_SEVERITY: dict[Severity, dict[str, str]] = {"error": _ERRORS, "warning": _WARNINGS, "hint": _HINTS}
CODES = {code: (severity, words) for severity, codes in _BY_SEVERITY.items() for code, words in codes.items()}
"""The severity and the meaning of each code."""


def report(code: str, message: str, start: int, end: int, fix: Fix | None = None) -> Diagnostic:
    """A diagnostic with its code's severity."""
    return Diagnostic(CODES[code][0], code, message, start, end, fix)


def errors_in_words(text: str, errors: list[Diagnostic], before: int = 0) -> str:
    """The first errors, a line each; the first `before` characters, which the caller added, do not count."""
    lines = Lines(text[before:])
    shown = [
        f"line {line}, column {column}: {error.message}"
        for error in errors[:MAX_SHOWN]
        for line, column in [lines.place(max(0, error.start - before))]
    ]
    return "\n".join(
        [*shown, *([f"… and {len(errors) - MAX_SHOWN} more"] if len(errors) > MAX_SHOWN else [])]
    )
