"""A single rule as expanded by llama.cpp, and the properties that the checks need.

llama.cpp has only alternatives of characters and references. A group becomes a separate rule; `S*` and `S?` become
`R ::= S R |` and `R ::= S |`; `S{2,5}` becomes `S S R`, with R a chain of three rules. Its checks examine these rules,
so ours do too: `_Expansion` makes them (here called inner rules) and counts them, as llama.cpp would.

Whether a rule derives a finite text, or the empty text, depends on other rules. So a property of one rule is a
`Condition` on the others; `fixpoint.forward_chaining` decides it for all rules together.

Properties depend only on the rule's text and are cached by it (`PerRule`), so a keystroke costs one rule.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.traversal import bottom_up

TERMINAL = None
"""A character or a token: never empty."""
AGAIN = -1
"""The rule itself at the end of a repetition, or the next rule of its chain: it can always be empty."""
Element: TypeAlias = str | int | None
"""A rule's name, an inner rule by its place, `TERMINAL` or `AGAIN`."""
Option: TypeAlias = tuple[Element, ...]
InnerRule: TypeAlias = tuple[Option, ...]
"""The alternatives of a rule that llama.cpp makes; in a list of inner rules, each follows those it refers to."""
Conjunction: TypeAlias = tuple[str | int, ...]
"""Rules, by name, and inner rules, by place, that must all have a property."""
Condition: TypeAlias = tuple[tuple[Conjunction, ...], ...] | bool
"""When a rule has a property: True or False if its text alone decides that. Otherwise, for each relevant inner rule,
the rule's body last, the conjunctions of which one must be true."""

MAX_REPETITIONS = 2_000
"""llama.cpp's MAX_REPETITION_THRESHOLD: the limit of a minimum, and of the rules made by a repetition."""


class Loop(NamedTuple):
    """An unbounded repetition of an item that is empty if all `names` are. Places count from the rule's start."""

    start: int
    end: int
    names: tuple[str, ...]


class LargeRepetition(NamedTuple):
    """`times` repetitions of an item that makes `rules` rules, plus one for each of `names` that did not occur earlier.

    llama.cpp multiplies the two numbers and rejects more than MAX_REPETITIONS.
    """

    start: int
    end: int
    rules: int
    times: int
    names: tuple[str, ...]


class RuleProperties(NamedTuple):
    """The inner rules, ending with the rule's body, and their consequences; places count from the rule's start."""

    inner: tuple[InnerRule, ...]
    productive: Condition
    """When it derives a finite text."""
    nullable: Condition
    """When it derives the empty text."""
    rejected_loops: tuple[Loop, ...]
    """The loops that llama.cpp rejects if it recognises the rules they name as nullable."""
    nullable_loops: tuple[Loop, ...]
    """All loops in which an item can be empty if the rules they name can."""
    large_repetitions: tuple[LargeRepetition, ...]
    empty_repetitions: tuple[tuple[int, int], ...]
    """The operators that repeat an empty item."""
    names: tuple[str, ...]
    """The rules that it refers to, in the order of the text."""

    @property
    def directly_empty(self) -> bool:
        """Whether an alternative is empty: the only sign by which llama.cpp recognises a nullable rule."""
        return () in self.inner[-1]


_MAX_LARGE = 1_000
"""The maximum number of large repetitions that are reported for one rule."""


class _Weight(NamedTuple):
    """The counts for repeating an item: its rules, its names (from, to), and its repetitions so far."""

    rules: int = 1
    first: int = 0
    last: int = 0
    times: int = 1


_LIGHT = _Weight()


class _Expanded(NamedTuple):
    """An item as elements of an inner rule's alternative, and the counts for repeating it."""

    option: Option
    weight: _Weight


_EMPTY, _TERMINAL = _Expanded((), _LIGHT), _Expanded((TERMINAL,), _LIGHT)


class _Expansion:
    """Collects the inner rules of a rule, and the number of rules that llama.cpp makes of it, in one pass."""

    def __init__(self, rule: syntax.RuleSyntax) -> None:
        self.rule = rule
        self.inner: list[InnerRule] = []
        self.loops: list[tuple[syntax.Repetition, Option]] = []
        self.large_repetitions: list[LargeRepetition] = []
        self.empty_repetitions: list[tuple[int, int]] = []
        self.rules = 0  # made by llama.cpp so far
        self.names: list[str] = []
        self.open_groups: list[tuple[int, int]] = []  # the number of rules and names before each
        body: syntax.Part = rule.body
        bottom_up(body, self._entered, self._expanded)

    def _entered(self, node: syntax.Part) -> tuple[syntax.Part, ...]:
        checkpoint()
        if isinstance(node, syntax.GroupItem):
            self.open_groups.append((self.rules, len(self.names)))
            self.rules += 1
        return node.inner

    def _expanded(self, node: syntax.Part, parts: list[_Expanded]) -> _Expanded:
        if isinstance(node, syntax.Alternatives):
            options = (
                tuple(chain.from_iterable(o for o, _ in item)) for item in syntax.by_option(node, parts)
            )
            self.inner.append(tuple(options))
            return _EMPTY  # the rule's body, or a group, which knows its place in `inner`
        if isinstance(node, syntax.GroupItem):
            rules, names = self.open_groups.pop()
            return _Expanded((len(self.inner) - 1,), _Weight(self.rules - rules, names, len(self.names)))
        if isinstance(node, syntax.Repetition):
            return self._repeated(node, *parts[0])
        if isinstance(node, syntax.Reference):
            self.names.append(node.name)
            return _Expanded((node.name,), _LIGHT)
        if (isinstance(node, syntax.Quoted) and not node.text) or (
            isinstance(node, syntax.Class) and not node.ranges
        ):
            return _EMPTY
        return _TERMINAL

    def _repeated(self, node: syntax.Repetition, body: Option, weight: _Weight) -> _Expanded:
        minimum, maximum = node.minimum, node.maximum
        if maximum is not None and maximum > MAX_REPETITIONS:
            maximum = None  # as in llama.cpp
        start = self.rule.start
        if not body:
            self.empty_repetitions.append((node.operator - start, node.end - start))
        rules, first, last, times = weight
        times *= maximum or minimum or 1
        reported = minimum > MAX_REPETITIONS  # already, because of the number alone
        if (
            (rules + last - first) * times > MAX_REPETITIONS
            and not reported
            and len(self.large_repetitions) < _MAX_LARGE
        ):
            before = set(self.names[:first])
            names = tuple(name for name in dict.fromkeys(self.names[first:last]) if name not in before)
            self.large_repetitions.append(
                LargeRepetition(node.operator - start, node.end - start, rules, times, names)
            )
        elements: Option = () if not minimum else body if minimum == 1 else body + body
        if maximum is None or maximum > minimum:
            self.rules += 1 if maximum is None else maximum - minimum
            if maximum is None and body:
                self.loops.append((node, body))
            again = (AGAIN,) if maximum is None or maximum - minimum > 1 else ()
            self.inner.append((body + again, ()))
            elements += (len(self.inner) - 1,)
        # nested operators double the elements, and the checks need only both ends
        ends = elements if len(elements) <= 6 else elements[:3] + elements[-3:]
        return _Expanded(ends, _Weight(rules, first, last, min(times, MAX_REPETITIONS + 1)))

    def properties(self) -> RuleProperties:
        start, inner = self.rule.start, self.inner
        directly_empty = [() in options for options in inner]
        when_nullable = _conditions(inner, of_terminal=False)
        names_needed = [_single(condition) for condition in when_nullable] if self.loops else []
        rejected_loops, nullable_loops = [], []
        for node, body in self.loops:
            place = (node.item.start - start, node.end - start)
            direct = [e for e in body if not (e == AGAIN or (isinstance(e, int) and directly_empty[e]))]
            if all(isinstance(element, str) for element in direct):
                rejected_loops.append(Loop(*place, tuple(e for e in direct if isinstance(e, str))))
            if (names := _names_needed(body, names_needed)) is not None:
                nullable_loops.append(Loop(*place, names))
        return RuleProperties(
            tuple(inner),
            _of_the_last(_conditions(inner, of_terminal=True)),
            _of_the_last(when_nullable),
            tuple(rejected_loops),
            tuple(nullable_loops),
            tuple(self.large_repetitions),
            tuple(self.empty_repetitions),
            tuple(dict.fromkeys(self.names)),
        )


_InnerCondition: TypeAlias = tuple[Conjunction, ...] | bool
"""When one inner rule has a property: True or False, or the conjunctions of which one must be true."""


def _conditions(inner: list[InnerRule], *, of_terminal: bool) -> list[_InnerCondition]:
    """When each inner rule derives a finite text (`of_terminal`: terminals do), or the empty text (they do not).

    An inner rule's condition is inlined where the rule is used, if it has only one conjunction.
    """
    conditions: list[_InnerCondition] = []
    for options in inner:
        alternatives: list[Conjunction] = []
        certain = False
        for option in options:
            checkpoint(1 + len(option))
            needs: dict[str | int, None] = {}
            for element in option:
                if element == AGAIN or (element is TERMINAL and of_terminal):
                    continue
                if element is TERMINAL:
                    break
                condition = conditions[element] if isinstance(element, int) else ((element,),)
                if condition is False:
                    break
                if condition is not True:
                    needs.update(dict.fromkeys(condition[0] if len(condition) == 1 else (element,)))
            else:
                certain = certain or not needs
                alternatives.append(tuple(needs))
        conditions.append(True if certain else tuple(alternatives) or False)
    return conditions


def _of_the_last(conditions: list[_InnerCondition]) -> Condition:
    """The condition of the last inner rule, after the conditions of the inner rules that it needs."""
    last = conditions[-1]
    if isinstance(last, bool):
        return last
    needed: dict[int, tuple[Conjunction, ...]] = {}
    waiting = [len(conditions) - 1]
    while waiting:
        checkpoint()
        at = waiting.pop()
        if at not in needed:
            condition = conditions[at]
            assert not isinstance(condition, bool)
            needed[at] = condition
            waiting += {element for option in condition for element in option if isinstance(element, int)}
    places = {at: place for place, at in enumerate(sorted(needed))}
    return tuple(
        tuple(tuple(places[e] if isinstance(e, int) else e for e in option) for option in needed[at])
        for at in places
    )


def _single(condition: _InnerCondition) -> Conjunction | bool:
    """The condition if it is a single conjunction; False if there is a choice."""
    if isinstance(condition, bool):
        return condition
    return condition[0] if len(condition) == 1 else False


def _names_needed(body: Option, needed: list[Conjunction | bool]) -> tuple[str, ...] | None:
    """The rules that must all be empty for the body to be empty, given what each inner rule needs.

    None if it cannot be empty, or can be in several ways.
    """
    names: list[str] = []
    for element in body:
        if element is TERMINAL:
            return None
        if isinstance(element, str):
            names.append(element)
        elif element != AGAIN:
            inner = needed[element]
            if inner is False:
                return None
            if inner is not True:
                if any(isinstance(e, int) for e in inner):
                    return None
                names += [e for e in inner if isinstance(e, str)]
    return tuple(dict.fromkeys(names))


Result = TypeVar("Result")

_MAX_REMEMBERED = 50_000  # rules
_MAX_LENGTH = 20_000
"""Rules longer than this (code points) are not cached: the memory is meant for many short ones."""


class PerRule(Generic[Result]):
    """A cached function of a rule and its document's text; it may read only the rule's part, which is the cache key.

    Places in its result count from the rule's start, because the rule may move within the document.
    """

    def __init__(self, compute: Callable[[syntax.RuleSyntax, str], Result]) -> None:
        self._compute = compute
        self._remembered: dict[tuple[str, str], Result] = {}

    def __call__(self, rule: syntax.RuleSyntax, text: str) -> Result:
        if rule.end - rule.start > _MAX_LENGTH:
            return self._compute(rule, text)
        # with the name, because the reader may have given the rule a name that is not in its text
        key = (rule.name, text[rule.start : rule.end])
        result = self._remembered.get(key)
        if result is None:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            result = self._remembered[key] = self._compute(rule, text)
        return result


properties_of = PerRule(lambda rule, text: _Expansion(rule).properties())
"""The properties of a rule."""
