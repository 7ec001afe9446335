"""Checks of the bodies of rules, item by item: repetitions, texts, classes, tokens and alternatives.

`_ItemChecks` finds the problems of a single rule, with a method for each kind of item; they are cached with places from
the rule's start (`_notes_of`). `check_items` moves them to the rule's place and adds those that depend on other rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from glyphscope.base.visible import is_seen
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.diagnostics import CODES, Diagnostic, Fix, fix, report
from glyphscope.grammar.gbnf.emit.gbnf_text import spell_class
from glyphscope.grammar.gbnf.lint.analysis import Analysis
from glyphscope.grammar.gbnf.lint.rule_properties import MAX_REPETITIONS, PerRule
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.gbnf.parse.literals import IMPOSSIBLE, LAST, characters, ranges_of, united

OPTIONALS = 12
"""Consecutive optional items from which on tokens are slow. Measured (49,000 tokens): one item 4 ms per token, 12
optional classes 23 ms, 20 78 ms, 30 1.5 s; `"a"?` 100 times 1 s. Bounded repetitions are fast: `[a-z]{0,2000}` 6 ms."""
SPACES = 20
"""The limit in the fix for unlimited white space, the same as in llama.cpp's json.gbnf."""
_WHITE = frozenset(map(ord, " \t\n\r\x0b\x0c"))
_TOO_LARGE = 2**64
"""The smallest number that llama.cpp cannot read."""
_MAX_NOTES = 200
"""The maximum number of notes on one rule, besides errors."""
_TRIED = 300
"""The number of characters that are searched for a printable example."""


class Notes(NamedTuple):
    """Diagnostics of a single rule, and its tokens given by text; places count from the rule's start."""

    diagnostics: tuple[Diagnostic, ...]
    tokens: tuple[tuple[int, int, str], ...]


def check_items(analysis: Analysis) -> Iterator[Diagnostic]:
    """Check the bodies of the rules."""
    named: set[str] = set()  # rules that llama.cpp has already made
    for rule, properties in analysis.definitions:
        notes = _notes_of(rule, analysis.document.text)
        yield from (_moved(note, rule.start) for note in notes.diagnostics)
        for start, end, name in notes.tokens:
            yield _token(analysis, rule.start + start, rule.start + end, name)
        for start, end in properties.empty_repetitions:
            message = "The repeated item is empty, which llama.cpp rejects. Delete the repetition."
            place = (rule.start + start, rule.start + end)
            yield report("empty-repetition", message, *place, fix("Delete the repetition", (*place, "")))
        for large in properties.large_repetitions:
            rules = large.rules + sum(name not in named and name != rule.name for name in large.names)
            if rules * large.times > MAX_REPETITIONS:
                yield _too_large(rule, large.start, large.end, rules, large.times)
        named.update((rule.name, *properties.names))


def _token(analysis: Analysis, start: int, end: int, name: str) -> Diagnostic:
    if name in analysis.rules:
        message = f"<{name}> is a token of the model; the rule is written {name}, without `<` and `>`."
        return report("token-named-like-rule", message, start, end, fix(f"Write {name}", (start, end, name)))
    message = (
        f"The model must have <{name}> as one token; llama.cpp rejects the grammar with any other model."
    )
    return report("token-of-model", message, start, end)


def _too_large(rule: syntax.RuleSyntax, start: int, end: int, rules: int, times: int) -> Diagnostic:
    what = f"{times:,} times" if rules == 1 else f"{rules:,} rules {times:,} times"
    message = f"llama.cpp repeats at most {MAX_REPETITIONS:,} rules, and this makes {what}."
    if rules == 1:
        message += " Repeat less often, or without an upper limit."
    else:
        message += " Repeat less often, or move the group to a rule, which counts as one."
    return report("repetition-too-large", message, rule.start + start, rule.start + end)


def _moved(note: Diagnostic, by: int) -> Diagnostic:
    repair = note.fix and Fix(note.fix.title, tuple((s + by, e + by, new) for s, e, new in note.fix.edits))
    return Diagnostic(note.severity, note.code, note.message, note.start + by, note.end + by, repair)


class _ItemChecks:
    """The notes of one rule, in the order of its text."""

    def __init__(self, rule: syntax.RuleSyntax, text: str) -> None:
        self.offset = rule.start
        self.text = text
        self.diagnostics: list[Diagnostic] = []
        self.tokens: list[tuple[int, int, str]] = []
        waiting: list[syntax.Alternatives | syntax.Sequence | syntax.Item] = [rule.body]
        while waiting:
            checkpoint()
            node = waiting.pop()
            if isinstance(node, syntax.Alternatives):
                waiting += node.options[::-1]
                if len(node.options) > 1:
                    self.alternatives(node)
            elif isinstance(node, syntax.Sequence):
                waiting += node.items[::-1]
                if len(node.items) >= OPTIONALS:
                    self.optionals(node)
            elif isinstance(node, syntax.GroupItem):
                waiting.append(node.body)
            elif isinstance(node, syntax.Repetition):
                waiting.append(node.item)
                self.repetition(node)
            elif isinstance(node, syntax.Quoted):
                self.quoted(node)
            elif isinstance(node, syntax.Class):
                self.character_class(node)
            elif isinstance(node, syntax.TokenItem):
                self.token(node)

    def note(self, code: str, message: str, start: int, end: int, repair: Fix | None = None) -> None:
        if len(self.diagnostics) >= _MAX_NOTES and CODES[code][0] != "error":
            return
        self.diagnostics.append(_moved(report(code, message, start, end, repair), -self.offset))

    def repetition(self, node: syntax.Repetition) -> None:
        start, end, low, high = node.operator, node.end, node.minimum, node.maximum
        if low >= _TOO_LARGE or (high or 0) >= _TOO_LARGE:
            self.note("repetition-too-large", "This number is too large for llama.cpp.", start, end)
        elif low > MAX_REPETITIONS:
            message = (
                f"llama.cpp repeats at most {MAX_REPETITIONS:,} times. Move a part to a rule and repeat that."
            )
            self.note("repetition-too-large", message, start, end)
        elif high is not None and high < low:
            message = f"The minimum {low:,} is larger than the maximum {high:,}; llama.cpp hangs. Swap them."
            repair = fix("Swap the numbers", (start, end, f"{{{high},{low}}}"))
            self.note("repetition-order", message, start, end, repair)
        elif high is not None and high > MAX_REPETITIONS:
            message = (
                f"llama.cpp supports no upper limit over {MAX_REPETITIONS:,} and treats this as unlimited."
            )
            repair = fix("Remove the upper limit", (start, end, f"{{{low},}}"))
            self.note("unbounded-maximum", message, start, end, repair)
        elif high == 0:
            message = "Repeated zero times, so the item is not in the grammar. Delete it."
            self.note("zero-repetition", message, start, end)
        elif high is None and _is_white(node.item):
            message = "Unlimited white space: models can get stuck in it. Limit it."
            repair = fix(f"Write at most {SPACES}", (start, end, f"{{{low},{max(low, SPACES)}}}"))
            if self.text[end : end + 1] in ("*", "+", "?", "{"):
                repair = None  # inside another repetition, the limits would multiply
            self.note("unbounded-space", message, start, end, repair)

    def token(self, node: syntax.TokenItem) -> None:
        if isinstance(node.token, str):
            begin = node.start + node.negated
            self.tokens.append((begin - self.offset, node.end - self.offset, node.token))
        elif node.token >= _TOO_LARGE:
            self.note("token-id", "This number is too large for llama.cpp.", node.start, node.end)

    def quoted(self, node: syntax.Quoted) -> None:
        raw = self.text[node.start + 1 : node.end - 1]
        if "\\" in raw or "\n" in raw or "\r" in raw:
            self.spelling(raw, node.start, node.end, "quote")
        if IMPOSSIBLE in node.text and "\\" in raw:
            for c in characters(raw):
                if c.code > LAST or 0xD800 <= c.code <= 0xDFFF:
                    self.impossible(c.code, node.start + 1 + c.start, node.start + 1 + c.end)

    def character_class(self, node: syntax.Class) -> None:
        raw = self.text[node.start + 1 : node.end - 1]
        if not node.ranges:
            message = "This class is empty; llama.cpp reads it as the empty text."
            message += " Write the characters, or `.` for any."
            self.note("empty-class", message, node.start, node.end)
            return
        if "\\" in raw or "\n" in raw or "\r" in raw:
            self.spelling(raw, node.start, node.end, "bracket")
        if (
            node.negated
            and len(self.diagnostics) < _MAX_NOTES
            and any(high >= 0x80 for _, high in node.ranges)
        ):
            self.negated_class(node)
        if all(low <= high < 0xD800 for low, high in node.ranges):
            return
        base = node.start + 1
        for item in ranges_of(raw, characters(raw)[node.negated :]):
            checkpoint()
            start, end = base + item.start, base + item.end
            if item.low > item.high:
                low, _, high = raw[item.start : item.end].partition("-")
                message = (
                    f"The range from `{low}` to `{high}` is empty: the smaller character must come first."
                )
                if item.start + 1 < item.end and low and high:
                    repair = fix("Swap the ends", (start, end, f"{high}-{low}"))
                    self.note("range-order", message, start, end, repair)
                else:
                    self.note("range-order", message, start, end)
            elif item.low > LAST or 0xD800 <= item.low <= item.high <= 0xDFFF:
                self.impossible(item.low, start, end)

    def negated_class(self, node: syntax.Class) -> None:
        """A class that excludes multi-byte characters."""
        excluded = united(node.ranges)
        rejected = also_rejected(excluded)
        if not rejected:
            return
        message = (
            f"Where a token ends inside a character, llama.cpp rejects {example(rejected)} here as well, and whatever "
            "else begins with the same byte as an excluded character. List the allowed characters instead."
        )
        allowed = chars.complement(excluded)
        repair = None
        if len(allowed) <= _MAX_NOTES:
            repair = fix("List the allowed characters", (node.start, node.end, spell_class(allowed)))
        self.note("negated-non-ascii", message, node.start, node.end, repair)

    def spelling(self, raw: str, start: int, end: int, what: str) -> None:
        """Line breaks and new escapes in a text or class; `raw` is its content, `what` its closing sign in words."""
        at = raw.find("\n") if "\n" in raw else raw.find("\r")
        if at >= 0:
            message = f"This {what} contains a line break, and llama.cpp accepts all of it. Is a closing one missing?"
            message += r" Otherwise write `\n`."
            edits = tuple(
                (start + 1 + i, start + 2 + i, "\\n" if c == "\n" else "\\r")
                for i, c in enumerate(raw)
                if c in "\n\r"
            )
            repair = Fix(r"Write `\n`", edits) if len(edits) <= 100 else None
            self.note("line-end-in-text", message, start, end, repair)
        if "\\-" in raw:
            for c in characters(raw):
                if raw[c.start : c.end] == "\\-":
                    place = (start + 1 + c.start, start + 1 + c.end)
                    message = r"Older versions of llama.cpp reject `\-`; all read `\x2D`."
                    self.note("new-escape", message, *place, fix(r"Write `\x2D`", (*place, r"\x2D")))

    def impossible(self, code: int, start: int, end: int) -> None:
        self.note("no-such-character", f"No text can contain the code point U+{code:04X}.", start, end)

    def alternatives(self, node: syntax.Alternatives) -> None:
        """Duplicates, and single characters that a neighbouring class contains; other overlaps are not certain."""
        texts: dict[str, syntax.Sequence] = {}
        classes = [option.items[0] for option in node.options if len(option.items) == 1]
        ranges = [
            r for item in classes if isinstance(item, syntax.Class) and not item.negated for r in item.ranges
        ]
        before: syntax.Sequence | None = None
        for option in node.options:
            checkpoint()
            if len(self.diagnostics) >= _MAX_NOTES:
                return
            text = self.text[option.start : option.end].strip()
            first = option.items[0] if len(option.items) == 1 else None
            repair = None
            if before is not None:
                repair = fix("Delete it", (before.end, option.end, ""))
            if option.items and text in texts:
                message = "Duplicate alternative. Delete one of the two."
                self.note("same-alternative", message, option.start, option.end, repair)
            elif (
                isinstance(first, syntax.Quoted)
                and len(first.text) == 1
                and _within(ord(first.text), ranges[:100])
            ):
                message = (
                    f"{text} is already in the class next to it, so there are two ways to read it. Delete it."
                )
                if before is None:
                    repair = fix("Delete it", (option.start, node.options[1].start, ""))
                self.note("same-alternative", message, option.start, option.end, repair)
            texts.setdefault(text, option)
            before = option

    def optionals(self, node: syntax.Sequence) -> None:
        """Many consecutive optional items."""
        row: list[syntax.Repetition] = []
        for item in (*node.items, None):
            if isinstance(item, syntax.Repetition) and item.minimum == 0:
                row.append(item)
                continue
            if len(row) >= OPTIONALS:
                self.slow_row(row)
            row = []

    def slow_row(self, row: list[syntax.Repetition]) -> None:
        start, end = row[0].start, row[-1].end
        same = {self.text[item.item.start : item.item.end] for item in row}
        message = (
            f"{len(row)} optional items in a row: llama.cpp tries each of them at every token, which is slow."
        )
        if len(same) == 1 and all(item.maximum == 1 for item in row):
            one = f"{same.pop()}{{0,{len(row)}}}"
            repair = fix("Write one repetition", (start, end, one))
            message += f" Write one repetition, `{{0,{len(row)}}}`."
            self.note("slow-optionals", message, start, end, repair)
        else:
            message += " Nest them if that is the intention: `(a (b c?)?)?`."
            self.note("slow-optionals", message, start, end)


def also_rejected(excluded: Ranges) -> Ranges:
    """The characters that a negated class rejects besides the excluded ones if a token ends inside a character.

    For an incomplete character, llama.cpp knows the possible code points. A negated class then rejects all of them if
    one is excluded (llama_grammar_match_partial_char; tested byte by byte: `[^é]` rejects `è`). Positive classes are
    read correctly.
    """
    return chars.intersection(chars.subtract(chars.with_same_first_byte(excluded), excluded), chars.ALL)


def example(characters: Ranges) -> str:
    """One of the characters with its code point; a printable one if there is one near the beginning."""
    codes = [code for low, high in characters[:_TRIED] for code in range(low, min(high + 1, low + _TRIED))]
    code = next((code for code in codes[:_TRIED] if is_seen(chr(code))), characters[0][0])
    return f"{chr(code)} (U+{code:04X})" if is_seen(chr(code)) else f"U+{code:04X}"


def _within(code: int, ranges: list[tuple[int, int]]) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _is_white(item: syntax.Item) -> bool:
    if isinstance(item, syntax.Quoted):
        return bool(item.text) and item.text.isspace()
    if not isinstance(item, syntax.Class) or item.negated:
        return False
    return bool(item.ranges) and all(
        high - low < 6 and all(code in _WHITE for code in range(low, high + 1)) for low, high in item.ranges
    )


def _notes(rule: syntax.RuleSyntax, text: str) -> Notes:
    checks = _ItemChecks(rule, text)
    return Notes(tuple(checks.diagnostics), tuple(checks.tokens))


_notes_of = PerRule(_notes)
"""The notes of a rule."""
