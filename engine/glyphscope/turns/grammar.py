"""The grammar of a whole turn in a form: reasoning, text, calls, and the turn's end.

There is only one state machine: this grammar. Markers that are tokens of the vocabulary are required by their ids, all
others as text; free text contains none of them. `read_turn` reads every text of the grammar of a model's own form
strictly, and the validators every one in GLYPH and JSON, as calls that are valid except for the constraints in
`unenforced`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from glyphscope.base.errors import GrammarError
from glyphscope.events import Notation, Shape
from glyphscope.grammar.builder.tools import ToolRules, chosen_tools
from glyphscope.grammar.regular.strings import ANYTHING
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.shapes import fitting_shape
from glyphscope.grammar.time_limit import limited, note_made
from glyphscope.grammar.tree import NEVER, Grammar, Node, RuleRef, alt, optional, seq
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.turns.answers import answer_grammar, answer_rules
from glyphscope.turns.form import DEFAULT_OPTIONS, TurnForm, TurnOptions, state_of
from glyphscope.turns.grammar_calls import CallRules, OwnCalls
from glyphscope.turns.grammar_markers import (
    SOME_TEXT,
    SPACE,
    Markers,
    call_stops,
    half_markers,
    stops_of,
    text_stops,
    text_to_end,
)
from glyphscope.turns.own import OwnCall, own_call, own_form
from glyphscope.turns.tools import TurnTools


def build_turn_grammar(
    form: TurnForm,
    registry: ToolRegistry,
    options: TurnOptions = DEFAULT_OPTIONS,
    names: Mapping[str, int] | None = None,
) -> Grammar:
    """The grammar of the turns that the options allow; `names` are the vocabulary's special tokens, by their texts.

    A tool that cannot be called at all is left out, and listed in `unenforced`. Raises GrammarError, with tool and JSON
    Pointer, if that is the only one or a tool cannot be written in the form, and for a form without calls. The last
    few grammars are cached.
    """
    with limited():
        return note_made(
            _build(_Key(form, registry), options, tuple(used_names(form, options, names or {}).items()))
        )


def build_call_grammar(
    registry: ToolRegistry, notation: Notation, shape: Shape, options: TurnOptions = DEFAULT_OPTIONS
) -> Grammar:
    """The grammar of the registry's calls in a notation and shape."""
    return build_turn_grammar(own_form(notation, shape), registry, options)


def used_names(form: TurnForm, options: TurnOptions, names: Mapping[str, int]) -> dict[str, int]:
    """The special tokens that the form contains, by their texts; none for a trigger, which is text even as a token."""
    if options.lazy or not names:
        return {}
    texts = list(_texts(msgspec.to_builtins(form)))
    return {name: names[name] for name in sorted(names) if name and any(name in text for text in texts)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def turn_triggers(form: TurnForm) -> tuple[str, ...]:
    """The texts at which the grammar of `TurnOptions(lazy=True)` begins, for llama.cpp's lazy grammars."""
    found = []
    for call in form.calls:
        if call.strict and not call.unmarked:
            found += [call.section_open + text for text in call.call_opens]
    return tuple(dict.fromkeys(text for text in found if text.strip()))


class _Key:
    """A form and a registry as a cache key."""

    def __init__(self, form: TurnForm, registry: ToolRegistry) -> None:
        self.form, self.registry = form, registry
        self._key = (msgspec.json.encode(form), registry.digest)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._key == self._key


@lru_cache(maxsize=8)
def _build(key: _Key, options: TurnOptions, names: tuple[tuple[str, int], ...]) -> Grammar:
    return _Turn(key.form, key.registry, options, Markers(dict(names))).grammar()


class _Turn:
    def __init__(
        self, form: TurnForm, registry: ToolRegistry, options: TurnOptions, markers: Markers
    ) -> None:
        self.ours = own_call(form)
        self.form = form if self.ours is None else replace(form, calls=())
        self.options, self.markers, self.registry = options, markers, registry
        self.book = RuleBook()
        self.tools = TurnTools(registry)
        self.free_text = options.free_text or options.constrain_from == "call"
        self.text_alone = options.choice in ("auto", "none")
        self.text_before = self.free_text or self.text_alone
        self.calls: dict[str, Node] = {}  # in the model's own form
        self.content: Node | None = None  # in GLYPH or JSON

    @cached_property
    def stops(self) -> Node:
        """Everything at which a text for the user stops."""
        return text_stops(self.form, sorted(self.tools.names))

    def grammar(self) -> Grammar:
        rules = ToolRules(self.book, self.options.order)
        if self.ours is not None and self.ours.part == "answer":
            self._wrap(answer_rules(self.ours, rules, after_text=self.free_text))
        elif self.options.choice != "none":
            of_one = None if self.ours is None else self.ours.fixed_name
            allowed = chosen_tools(self.registry, self.options.tool or of_one or None)
            if self.ours is None:
                self._make_calls(rules, allowed)
            else:
                self._make_own(self.ours, rules, allowed)
        body = self._begin()
        if self.ours is not None and isinstance(body, RuleRef):  # the turn is its content
            made = rules.grammar(body.name)
            if self.ours.answer.kind == "lark" and made.lark == (made.root, self.ours.answer.text):
                return answer_grammar(self.ours.answer)  # with its lexer
            return made
        root = self.book.reserve("turn")
        self.book.add(root, body)
        return rules.grammar(root)

    def _make_calls(self, rules: ToolRules, allowed: list[Tool]) -> None:
        """The calls in the model's own form."""
        if not self.form.calls:
            raise GrammarError(
                "This model's form has no calls.",
                where="form",
                hint="Use a notation of Glyphscope for the calls.",
            )
        most = self.options.most_calls if self.form.parallel else 1
        made = CallRules(self.form, rules, self.markers, self.tools, allowed, most).openings()
        after = self._after_calls()
        self.calls = {opening: self.book.inner("calls", seq(rest, after)) for opening, rest in made.items()}

    def _make_own(self, call: OwnCall, rules: ToolRules, allowed: list[Tool]) -> None:
        """The content with calls in GLYPH or JSON."""
        words = self.options.choice == "auto"
        fitting = replace(call, shape=fitting_shape(self.registry, call.shape))
        self._wrap(OwnCalls(fitting, rules, allowed, self.free_text, words, self.options.most_calls).root())

    def _wrap(self, root: RuleRef) -> None:
        """The content, after any marker of the model around text."""
        heads = [self.markers.written(wrap.open.strip()) for wrap in self.form.wraps if wrap.open.strip()]
        self.content = (
            self.book.shared("content", lambda: seq(optional(alt(*heads)), root)) if heads else root
        )
        self.text_alone = self.text_before = False

    # the parts of a turn

    def _begin(self) -> Node:
        if self.options.lazy:
            return alt(*(seq(self.markers.written(opening), rest) for opening, rest in self.calls.items()))
        opened, head = self._prompt()
        if opened == "inside":
            return self._inside()
        if head:
            return self._continued(head)
        content = self._content()
        reasoning = self.form.reasoning
        if opened != "before" or reasoning is None or self.options.constrain_from == "start":
            return content
        inside = seq(self._after_space(reasoning.open.strip()), self._inside())
        closed = reasoning.close.strip() in {text.strip() for text in self.form.begun.values()}
        lone = [seq(self._after_space(reasoning.close.strip()), content)] if closed else []
        return alt(inside, *lone, content)

    def _prompt(self) -> tuple[str, str]:
        """Where the prompt ends (before, inside or after reasoning), and the marker that it has begun."""
        begun = self.form.begun.get(state_of(self.options.thinking), "")
        reasoning = self.form.reasoning
        where = "before"
        if reasoning is not None:
            opening, closing = reasoning.open.strip(), reasoning.close.strip()
            if opening and opening in begun:
                where, begun = "inside", begun.rpartition(opening)[2]
            if closing and closing in begun:
                where, begun = "after", begun.rpartition(closing)[2]
        head = begun.strip()
        if where == "inside" or any(head.endswith(wrap.open.strip()) for wrap in self.form.wraps):
            head = ""
        return where, head

    def _inside(self) -> Node:
        """The grammar after the opening marker of reasoning."""
        reasoning = self.form.reasoning
        assert reasoning is not None
        close = reasoning.close.strip()
        after = self._after_message()
        if self.options.constrain_from == "start":
            return seq(self._after_space(close), after)
        ends = reasoning.call_ends and self.calls
        stops = alt(stops_of((reasoning.open, reasoning.close)), *([self._starts()] if ends else []))
        # a budget of reasoning counts the rules with this name, up to and including the marker that ends it
        followed = {close: after, **(self.calls if ends else {})}
        thoughts = ((self.markers.after_text(stops, marker), rest) for marker, rest in followed.items())
        return alt(*(seq(self.book.inner("reasoning", text), rest) for text, rest in thoughts))

    def _starts(self) -> Node:
        """The beginnings of calls in the model's own form."""
        return call_stops([call for call in self.form.calls if call.strict], sorted(self.tools.names))

    def _after_message(self) -> Node:
        """The grammar after a closed message: in a turn of several messages, the next one begins."""
        skips = [self.markers.written(skip.strip()) for skip in self.form.skips if skip.strip()]
        return seq(alt(*skips), self._content()) if skips else self._content()

    def _content(self) -> Node:
        """Text and calls."""
        return self.content or self.book.shared("content", self._made_content)

    def _made_content(self) -> Node:
        options: list[Node] = []
        for opening, rest in self.calls.items():
            start = self._after_text(opening) if self.text_before else self._after_space(opening)
            options.append(seq(start, rest))
        if self.text_alone:
            options.append(self._last_text())
        reasoning = self.form.reasoning
        if reasoning is not None and reasoning.again and self.options.constrain_from != "start":
            options.append(seq(self._after_space(reasoning.open.strip()), self._inside()))
        if self.text_before:
            content = self.book.shared("content", self._made_content)
            for wrap in self.form.wraps:
                options.append(seq(self._after_text(wrap.open.strip()), content))
                if close := wrap.close.strip():
                    options.append(seq(self._after_text(close), self._after_message()))
                    options += [self._after_text(close, SOME_TEXT)] if self.text_alone else []
        return alt(*options)

    def _after_text(self, marker: str, text: Node = ANYTHING) -> Node:
        return self.markers.after_text(self.stops, marker, text)

    def _after_space(self, marker: str) -> Node:
        return self.markers.after_space(self.stops, marker)

    def _last_text(self) -> Node:
        """A text at the end of the turn."""
        ends = [self._after_text(end, SOME_TEXT) for end in self._written_ends()]
        return alt(text_to_end(self.stops, half_markers(self.form)), *ends)

    def _after_calls(self) -> Node:
        if self.form.text_after and self.text_before:
            return optional(self.book.inner("after", self._last_text()))
        ends = (self.markers.after_space(NEVER, end) for end in self._written_ends())
        return optional(alt(SPACE, *ends))

    def _written_ends(self) -> list[str]:
        """The ends of a turn to be written in this vocabulary: texts, and tokens that do not end a generation."""
        names, known = self.markers.names, self.form.generation_ends
        ends = dict.fromkeys(end.strip() for end in self.form.ends)
        return [end for end in ends if end and (end not in names or (known and end not in known))]

    def _continued(self, head: str) -> Node:
        """The rest of a marker that the prompt has begun."""
        options = [
            seq(self.markers.written(opening[len(head) :]), rest)
            for opening, rest in self.calls.items()
            if opening.startswith(head)
        ]
        if self.text_before:
            options += [
                seq(self.markers.written(wrap.open[len(head) :]), self._content())
                for wrap in self.form.wraps
                if wrap.open.startswith(head)
            ]
        return alt(*options) if options else self._content()
