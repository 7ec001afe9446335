"""Judge one string being written against a Spec's enumeration, lengths, patterns and formats."""

from __future__ import annotations

import json
from collections.abc import Iterator

from glyphscope.grammar.regular import pattern
from glyphscope.grammar.regular.formats import meets_condition
from glyphscope.grammar.regular.pattern import StringLanguage
from glyphscope.grammar.text_grammar import TextMatcher, rule_words
from glyphscope.notation.scalars import is_bare
from glyphscope.validation.reasons import Reason, length_in_words, not_listed
from glyphscope.validation.spec import Spec, StringPattern


class StringCheck:
    """Checks a string by its decoded characters, fed in pieces. `bare`: it is written without quotes."""

    __slots__ = ("_left", "_matcher", "_pieces", "_texts", "count", "dead", "spec")

    def __init__(self, spec: Spec, *, bare: bool = False) -> None:
        self.spec = spec
        self.count = 0  # characters so far; with an enumeration, those that begin one of its values
        self.dead = False  # the last piece had a character that was not possible
        self._pieces: list[str] = []
        self._left = spec.strings  # the values of the enumeration that are still possible
        if bare and self._left is not None:
            self._left = tuple(value for value in self._left if is_bare(value))
        self._texts = [TextMatcher(each.grammar) for each in spec.texts]
        self._matcher = pattern.start(spec.language) if spec.language and self._left is None else None

    def feed(self, text: str) -> int:
        """Return the number of possible characters of `text`: all, or those before the first impossible one."""
        self._pieces.append(text)
        taken = self._feed_enum(text) if self._left is not None else self._feed_any(text)
        self.dead = taken < len(text)
        return taken

    def _feed_any(self, text: str) -> int:
        before = self.count
        self.count += len(text)
        taken = len(text)
        limit = self.spec.length.most
        if limit is not None and self.count > limit:
            taken = max(0, limit - before)
        if self._matcher is not None:
            taken = min(taken, self._matcher.feed(text))
        for texts in self._texts:
            taken = min(taken, texts.feed(text))
        return taken

    def _feed_enum(self, text: str) -> int:
        assert self._left is not None
        for index, char in enumerate(text):
            at = self.count
            left = tuple(value for value in self._left if value[at : at + 1] == char)
            if not left:
                return index
            self._left = left
            self.count += 1
        return len(text)

    def can_grow(self) -> bool:
        """Whether one more character is possible."""
        if self._left is not None:
            return any(len(value) > self.count for value in self._left)
        if self.spec.length.most is not None and self.count >= self.spec.length.most:
            return False
        return (self._matcher is None or self._matcher.can_grow()) and all(
            each.can_grow() for each in self._texts
        )

    def ended(self) -> Reason | None:
        """Why the string may not end here, or None if it may."""
        if self.dead:
            return self.why()
        if self._left is not None:
            return None if any(len(value) == self.count for value in self._left) else self.why()
        if self.count < self.spec.length.least:
            return self._length(
                f"has {self.count} characters, which are too few", self.spec.length.least_rule
            )
        if self._matcher is not None and not self._matcher.matches():
            return self.why(complete=True)
        for texts, rule in self._own():
            if not texts.matches():
                return _text_reason(texts, rule, "")
        for each in self.spec.patterns:
            if not each.linear and not pattern.found(each.source, "".join(self._pieces)):
                return _pattern_reason(each, late=True)
            if each.name and not meets_condition(each.name, "".join(self._pieces)):
                return _pattern_reason(each)
        return None

    def why(self, *, complete: bool = False) -> Reason:
        """Why the string became impossible with its last piece (or at its end, if `complete`)."""
        spec = self.spec
        if spec.strings is not None:
            return not_listed(self._left or spec.strings, spec.enum_rule)
        if not complete and spec.length.most is not None and self.count > spec.length.most:
            return self._length(f"is longer than {spec.length.most} characters", spec.length.most_rule)
        text = "".join(self._pieces)
        for texts, rule in self._own():
            if texts.state is not None and texts.state.position < len(text):
                return _text_reason(texts, rule, text[texts.state.position])
        for each in spec.patterns:
            matcher = pattern.start(StringLanguage((each.source,))) if each.linear else None
            if matcher and (matcher.feed(text) < len(text) or (complete and not matcher.matches())):
                return _pattern_reason(each)
        if spec.patterns:
            return _pattern_reason(spec.patterns[0])
        return self._length("cannot become longer", spec.length.most_rule)

    def _own(self) -> Iterator[tuple[TextMatcher, str]]:
        """The matchers of custom grammars, each with its rule."""
        return zip(self._texts, (each.rule for each in self.spec.texts), strict=True)

    def _length(self, message: str, rule: str) -> Reason:
        viable = (length_in_words(self.spec.length),)
        return Reason("CONSTRAINT_LEN", message, rule, viable)


def _pattern_reason(each: StringPattern, *, late: bool = False) -> Reason:
    if each.name:
        message = f"is not a valid {each.name}"
        return Reason("CONSTRAINT_FORMAT", message, each.rule, (f"text in the format {each.name}",))
    message = f"does not match the pattern {each.source}"
    if late:
        message += f" (judged at the value's end: {pattern.why_late(each.source)})"
    return Reason("CONSTRAINT_PATTERN", message, each.rule, (f"text that matches {each.source}",))


def _text_reason(texts: TextMatcher, rule: str, char: str) -> Reason:
    """Why the text does not continue with the character, or end if there is none."""
    assert texts.state is not None, "a text that is not followed is possible"
    where = rule_words(texts.state)
    message = (
        f"leaves {where} with {json.dumps(char, ensure_ascii=False)}" if char else f"ends inside {where}"
    )
    return Reason("CONSTRAINT_PATTERN", message, rule, texts.state.expected())
