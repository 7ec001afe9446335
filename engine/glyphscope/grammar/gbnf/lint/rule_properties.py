"""A single rule in llama.cpp: the rules it makes of groups and repetitions, and how each begins and ends.

llama.cpp has alternatives of characters and references only. A group becomes a separate rule; `S*` and `S?` become
`R ::= S R |` and `R ::= S |`; `S{2,5}` becomes `S S R`, and R a chain of three rules. Its checks look at those, so ours
do. Facts depend on the rule's text alone and are remembered by it: a keystroke pays for one rule.

Elements of alternatives are a str (a rule's name), an int (an inner rule, by its place), `TERMINAL`, or `AGAIN` (the
rule itself at the end of a repetition, or the next of its chain: it can always be empty).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.parse.syntax import (
    Alternatives,
    Class,
    GbnfRule,
    Group,
    Part,
    Quoted,
    Reference,
    Repetition,
    by_option,
)
from glyphscope.grammar.traversal import bottom_up

Found = TypeVar("Found")

_MOST = 50_000
_LONGEST = 20_000
"""Rules longer than this (code points) are not remembered: the memory is for many short ones."""


class PerRule(Generic[Found]):
    """A function of a rule and its document's text that may look at nothing but the rule; places from its start."""

    def __init__(self, find: Callable[[GbnfRule, str], Found]) -> None:
        self._find = find
        self._found: dict[tuple[str, str], Found] = {}

    def __call__(self, rule: GbnfRule, text: str) -> Found:
        if rule.end - rule.start > _LONGEST:
            return self._find(rule, text)
        # the name too: a rule may have got one that is not in its text
        key = (rule.name, text[rule.start : rule.end])
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= _MOST:
                self._found.clear()
            found = self._found[key] = self._find(rule, text)
        return found


TERMINAL = None
AGAIN = -1
Element: TypeAlias = str | int | None
Option: TypeAlias = tuple[Element, ...]
Inner: TypeAlias = tuple[Option, ...]
"""The alternatives of a rule that llama.cpp makes; in a list of them each is after those it refers to."""

MAX_REPETITIONS = 2_000
"""llama.cpp's MAX_REPETITION_THRESHOLD: of a least number, and of rules that a repetition makes."""


class Loop(NamedTuple):
    """An item repeated without bound, that is empty if all `names` are; place in the rule, from its start."""

    start: int
    end: int
    names: tuple[str, ...]


class Copies(NamedTuple):
    """A repetition that makes `rules` rules, and as many more for each of `names` that was not named before it."""

    start: int
    end: int
    rules: int
    times: int
    names: tuple[str, ...]


class Facts(NamedTuple):
    """`inner` ends with the rule's own body. `refused` and `endless` are loops that may be empty: directly, so that
    llama.cpp rejects them, or in a way that it does not find. `empties` are
    repetitions of nothing. `names` are those of the rule in the order of the text.
    """

    inner: tuple[Inner, ...]
    productive: tuple[Inner, ...] | bool
    nullable: tuple[Inner, ...] | bool
    refused: tuple[Loop, ...]
    endless: tuple[Loop, ...]
    copies: tuple[Copies, ...]
    empties: tuple[tuple[int, int], ...]
    names: tuple[str, ...]

    @property
    def directly_empty(self) -> bool:
        """Whether an alternative has nothing in it: all that llama.cpp sees of a rule that may be empty."""
        return () in self.inner[-1]


_MOST_COPIES = 1_000


class _Weight(NamedTuple):
    """The counts of a repetition of an item: its rules, its names (from, to), and its repetitions so far."""

    rules: int = 1
    first: int = 0
    last: int = 0
    times: int = 1


_LIGHT = _Weight()


class _Lowered(NamedTuple):
    """An item in the rules that llama.cpp makes, and the counts of repeating it."""

    option: Option
    weight: _Weight


_EMPTY, _TERMINAL = _Lowered((), _LIGHT), _Lowered((TERMINAL,), _LIGHT)


class _Lowering:
    def __init__(self, rule: GbnfRule) -> None:
        self.rule = rule
        self.inner: list[Inner] = []
        self.loops: list[tuple[Repetition, Option]] = []
        self.copies: list[Copies] = []
        self.empties: list[tuple[int, int]] = []
        self.rules = 0  # that llama.cpp has made so far
        self.names: list[str] = []
        self.open_groups: list[tuple[int, int]] = []  # how many rules and names were there before each
        body: Part = rule.body
        bottom_up(body, self._entered, self._lowered)

    def _entered(self, node: Part) -> tuple[Part, ...]:
        checkpoint()
        if isinstance(node, Group):
            self.open_groups.append((self.rules, len(self.names)))
            self.rules += 1
        return node.inner

    def _lowered(self, node: Part, parts: list[_Lowered]) -> _Lowered:
        if isinstance(node, Alternatives):
            options = (tuple(chain.from_iterable(o for o, _ in item)) for item in by_option(node, parts))
            self.inner.append(tuple(options))
            return _EMPTY  # the rule's body, or a group, which knows its place in `inner`
        if isinstance(node, Group):
            rules, names = self.open_groups.pop()
            return _Lowered((len(self.inner) - 1,), _Weight(self.rules - rules, names, len(self.names)))
        if isinstance(node, Repetition):
            return self._repeated(node, *parts[0])
        if isinstance(node, Reference):
            self.names.append(node.name)
            return _Lowered((node.name,), _LIGHT)
        if (isinstance(node, Quoted) and not node.text) or (isinstance(node, Class) and not node.ranges):
            return _EMPTY
        return _TERMINAL

    def _repeated(self, node: Repetition, body: Option, weight: _Weight) -> _Lowered:
        minimum, maximum = node.minimum, node.maximum
        if maximum is not None and maximum > MAX_REPETITIONS:
            maximum = None  # so does llama.cpp
        start = self.rule.start
        if not body:
            self.empties.append((node.operator - start, node.end - start))
        rules, first, last, times = weight
        times *= maximum or minimum or 1
        reported = minimum > MAX_REPETITIONS  # already, by the number alone
        if (
            (rules + last - first) * times > MAX_REPETITIONS
            and not reported
            and len(self.copies) < _MOST_COPIES
        ):
            before = set(self.names[:first])
            names = tuple(name for name in dict.fromkeys(self.names[first:last]) if name not in before)
            self.copies.append(Copies(node.operator - start, node.end - start, rules, times, names))
        elements: Option = () if not minimum else body if minimum == 1 else body + body
        if maximum is None or maximum > minimum:
            self.rules += 1 if maximum is None else maximum - minimum
            if maximum is None and body:
                self.loops.append((node, body))
            again = (AGAIN,) if maximum is None or maximum - minimum > 1 else ()
            self.inner.append((body + again, ()))
            elements += (len(self.inner) - 1,)
        # operators on operators double the elements: the ends are enough
        ends = elements if len(elements) <= 6 else elements[:3] + elements[-3:]
        return _Lowered(ends, _Weight(rules, first, last, min(times, MAX_REPETITIONS + 1)))

    def facts(self) -> Facts:
        start, inner = self.rule.start, self.inner
        empty = [() in options for options in inner]
        forms = _reduced(inner, of_terminal=False)
        nullable = [_single(form) for form in forms] if self.loops else []
        refused, endless = [], []
        for node, body in self.loops:
            place = (node.item.start - start, node.end - start)
            direct = [e for e in body if not (e == AGAIN or (isinstance(e, int) and empty[e]))]
            if all(isinstance(element, str) for element in direct):
                refused.append(Loop(*place, tuple(e for e in direct if isinstance(e, str))))
            if (names := _names_that_empty(body, nullable)) is not None:
                endless.append(Loop(*place, names))
        return Facts(
            tuple(inner),
            _closed(_reduced(inner, of_terminal=True)),
            _closed(forms),
            tuple(refused),
            tuple(endless),
            tuple(self.copies),
            tuple(self.empties),
            tuple(dict.fromkeys(self.names)),
        )


_Form: TypeAlias = Inner | bool


def _reduced(inner: list[Inner], *, of_terminal: bool) -> list[_Form]:
    """Each inner rule as alternatives of what must hold, or True or False where that is known.

    Holding is being able to end (a terminal can) or to be empty (it cannot). An inner rule with one alternative left is
    put into those that refer to it.
    """
    forms: list[_Form] = []
    for options in inner:
        left: list[Option] = []
        holds = False
        for option in options:
            checkpoint(1 + len(option))
            needs: dict[Element, None] = {}
            for element in option:
                form: _Form = of_terminal
                if element == AGAIN:
                    form = True
                elif isinstance(element, int):
                    form = forms[element]
                elif isinstance(element, str):
                    form = ((element,),)
                if form is False:
                    break
                if form is not True:
                    needs.update(dict.fromkeys(form[0] if len(form) == 1 else (element,)))
            else:
                holds = holds or not needs
                left.append(tuple(needs))
        forms.append(True if holds else tuple(left) or False)
    return forms


def _closed(forms: list[_Form]) -> tuple[Inner, ...] | bool:
    """The last form with those it needs before it."""
    last = forms[-1]
    if isinstance(last, bool):
        return last
    needed: dict[int, None] = {}
    waiting = [len(forms) - 1]
    while waiting:
        checkpoint()
        at = waiting.pop()
        if at not in needed:
            needed[at] = None
            form = forms[at]
            assert not isinstance(form, bool)
            waiting += {element for option in form for element in option if isinstance(element, int)}
    places = {at: place for place, at in enumerate(sorted(needed))}
    return tuple(
        tuple(tuple(places[e] if isinstance(e, int) else e for e in option) for option in form)
        for at in places
        if not isinstance(form := forms[at], bool)
    )


def _single(form: _Form) -> tuple[Element, ...] | bool:
    """The names that must be empty for it to be so; False where there is a choice."""
    if isinstance(form, bool):
        return form
    return form[0] if len(form) == 1 else False


def _names_that_empty(body: Option, nullable: list[tuple[Element, ...] | bool]) -> tuple[str, ...] | None:
    names: list[str] = []
    for element in body:
        if element is TERMINAL:
            return None
        if isinstance(element, str):
            names.append(element)
        elif element != AGAIN:
            form = nullable[element]
            if form is False:
                return None
            if form is not True:
                if any(isinstance(e, int) for e in form):
                    return None
                names += [e for e in form if isinstance(e, str)]
    return tuple(dict.fromkeys(names))


facts_of = PerRule(lambda rule, text: _Lowering(rule).facts())
"""The facts of a rule."""
