"""A rule in the making: the groups that are open in it, and the items of the innermost."""

from __future__ import annotations

from glyphscope.grammar.gbnf.syntax import (
    Alternatives,
    GbnfRule,
    Group,
    Item,
    Reference,
    Repetition,
    Sequence,
)


class _Frame:
    """The body of the rule, or an open group: where it starts, and its alternatives before the last `|`."""

    __slots__ = ("begin", "items", "options", "start")

    def __init__(self, start: int, begin: int) -> None:
        self.start = start
        self.begin = begin  # of the alternative that is being read
        self.items: list[Item] = []
        self.options: list[Sequence] = []

    def end_option(self, end: int) -> None:
        if self.items:
            option = Sequence(self.items[0].start, self.items[-1].end, tuple(self.items))
        else:
            option = Sequence(self.begin, max(self.begin, end), ())
        self.options.append(option)

    def body(self, end: int) -> Alternatives:
        self.end_option(end)
        return Alternatives(self.options[0].start, self.options[-1].end, tuple(self.options))


class RuleBuilder:
    """One rule, with a stack of open groups instead of recursion."""

    def __init__(self, name: str, start: int, end: int, body: int) -> None:
        """`body` is where `::=` ends."""
        self.name = name
        self.name_span = (start, end)
        self.body_start = body
        self.references: list[Reference] = []
        self._frames = [_Frame(body, body)]
        self.items = self._frames[0].items
        """Of the alternative that is being read: append to it."""

    @property
    def depth(self) -> int:
        """How many groups are open."""
        return len(self._frames) - 1

    @property
    def innermost(self) -> int:
        """Where the innermost open group starts."""
        return self._frames[-1].start

    def bar(self, start: int, end: int) -> None:
        """`|`"""
        frame = self._frames[-1]
        frame.end_option(start)
        frame.begin = end
        self.items = frame.items = []

    def open(self, start: int, end: int) -> None:
        """`(`"""
        frame = _Frame(start, end)
        self._frames.append(frame)
        self.items = frame.items

    def close(self, start: int, end: int) -> None:
        """`)`; there must be an open group."""
        frame = self._frames.pop()
        self.items = self._frames[-1].items
        self.items.append(Group(frame.start, end, frame.body(start)))

    def repeat(self, minimum: int, maximum: int | None, start: int, end: int) -> None:
        """An operator from `start` to `end`, for the last item; there must be one."""
        item = self.items[-1]
        self.items[-1] = Repetition(item.start, end, item, minimum, maximum, start)

    def finish(self, end: int) -> GbnfRule:
        """The rule; `end` is that of its last token, where groups that are still open close."""
        while self.depth:
            self.close(end, end)
        body = self._frames[0].body(max(end, self.body_start))
        start = self.name_span[0]
        return GbnfRule(start, max(body.end, end), self.name, self.name_span, body, tuple(self.references))
