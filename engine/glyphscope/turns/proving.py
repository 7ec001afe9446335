"""The proof of a form: random turns, rendered by the template, must be read back equal.

Before that, each kind of value is tried separately: values that a template writes in a way that cannot be read back (a
null as an empty text, `True` for `true`, a text that closes its own tag) are reported with an example, and excluded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from glyphscope.registry import parse_document
from glyphscope.registry.keywords import OTHERS
from glyphscope.turns.derive import Derived
from glyphscope.turns.form import TurnForm
from glyphscope.turns.probe import Probe, Renders, SampleCall
from glyphscope.turns.read import Turn, read_turn
from glyphscope.turns.tools import TurnTools

_SCHEMAS: dict[str, Any] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "nullable": {"type": ["string", "null"]},
    "array": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object", "additionalProperties": {"type": "string"}},
}
_UNNAMED = frozenset(name for names in OTHERS.values() for name in names)
_KINDS: tuple[tuple[str, str, Any], ...] = (  # the kind in words, its type in _SCHEMAS, an example
    ("a text", "string", "plain words"),
    ("an empty text", "string", ""),
    ("a text with spaces around", "string", "  two spaces  "),
    ("a text of several lines", "string", "one\n\n  two\n"),
    ("a text with quotation marks and backslashes", "string", "say \"no\" or 'yes' \\ \\n"),
    ("a text in other scripts", "string", "Übung 漢字 🙂"),
    ("a text with markup", "string", "<b>x</b> & </i> {y} [z]"),
    ("a text that looks like a number", "string", "12"),
    ("a text that looks like JSON", "string", '{"a": [1, null]}'),
    ("a text that looks like null", "string", "null"),
    ("an integer", "integer", 3),
    ("a negative integer", "integer", -40),
    ("a large integer", "integer", 9007199254740993),
    ("a number", "number", 2.5),
    ("a small number", "number", 1.5e-07),
    ("true", "boolean", True),
    ("false", "boolean", False),
    ("null", "nullable", None),
    ("a text where null may be", "nullable", "words"),
    ("a list", "array", ["x", 2, 2.5]),
    ("an empty list", "array", []),
    ("a list with true and null", "array", [True, None]),
    ("a list of objects", "array", [{"a": "b"}, {"c": [1]}]),
    ("an object", "object", {"k": "v", "n": 2}),
    ("an empty object", "object", {}),
    ("a nested object", "object", {"k": {"m": ["x", {"p": "q"}]}}),
)
_SCHEMA_OF = {kind: schema for kind, schema, _ in _KINDS}


class Transcription(msgspec.Struct, frozen=True):
    """A kind of value: whether the form can express it; if not, `read` is the value that was read for `example`."""

    kind: str
    expressible: bool = msgspec.field(name="carried")
    example: Any = None
    read: Any = None


class Failure(msgspec.Struct, frozen=True):
    """A rendered turn that was not read back equal."""

    text: str
    expected: Any = msgspec.field(name="wanted")
    read: Any


class FormProof(msgspec.Struct, frozen=True, kw_only=True):
    """The proof of a form: of `turns` rendered turns, `equal` were read back equal, `strict` without any departure.

    `counts` are the turns by content. `refused` turns were not rendered, because the template raised an error.
    `left_out` are types of arguments with which the template cannot describe a tool.
    """

    turns: int = 0
    equal: int = 0
    strict: int = 0
    refused: int = 0
    counts: dict[str, int] = {}
    values: tuple[Transcription, ...] = ()
    failures: tuple[Failure, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether there were turns with values, and all of them were read back equal."""
        expressible = any(value.expressible for value in self.values)
        return self.turns > 0 and expressible and self.equal == self.turns


class RandomTurn(NamedTuple):
    """A turn to render; `kind` describes its content, as in `FormProof.counts`.

    `body` is the turn as written by the template, and `turn` as read back; None if the template raises an error.
    """

    text: str
    calls: tuple[SampleCall, ...]
    reasoning: str
    kind: str
    body: str = ""
    turn: Turn | None = None


def prove(
    renderer: Renders, derived: Derived, form: TurnForm, *, turns: int = 100, seed: int = 0
) -> FormProof:
    """The proof of a form by that many random turns. A template that does not write calls has no turns for a proof."""
    if "calls" in derived.drops or not form.calls:
        return FormProof()
    return Prover(renderer, derived, form, seed).prove(turns)


class Prover:
    """Random turns of a form with calls, for the tools of `document`: `tools`, with values of every kind in them."""

    def __init__(self, renderer: Renders, derived: Derived, form: TurnForm, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.drops = derived.drops
        self.form = form
        self.probe = Probe(renderer, derived.dialect)
        self.left_out: tuple[str, ...] = ()
        self.document = self._accepted()
        self.tools = TurnTools(parse_document(_open(self.document)))
        self.values = [self._transcribed(*kind) for kind in _KINDS if kind[1] not in self.left_out]

    def _accepted(self) -> list[dict[str, Any]]:
        """Random tools with every type of argument that the template can describe."""
        for without in ((), ("array",), ("array", "object", "nullable"), tuple(_SCHEMAS)[1:]):
            kinds = [kind for kind in _SCHEMAS if kind not in without]
            document = self._registry(kinds)
            self.probe.tools = document
            if self.probe.turn(calls=(SampleCall("lookup", {"str_0": "plain words"}),)) is not None:
                self.left_out = without
                return document
        return document

    def _registry(self, kinds: list[str]) -> list[dict[str, Any]]:
        out = []
        for place, name in enumerate(("lookup", "send_mail", "a", "math.add-2", "読む")):
            chosen = kinds if not place else self.random.sample(kinds, min(len(kinds), place + 1))
            properties = {f"{kind[:3]}_{place}": {**_SCHEMAS[kind], "description": kind} for kind in chosen}
            schema = {"type": "object", "properties": properties, "required": []}
            function = {"name": name, "description": "does it", "parameters": schema}
            out.append({"type": "function", "function": function})
        return out

    def prove(self, turns: int) -> FormProof:
        counts: dict[str, int] = {}
        failures: list[Failure] = []
        equal = strict = tried = refused = 0
        for made in self.turns(turns):
            turn = made.turn
            if turn is None:
                refused += 1
                continue
            tried += 1
            counts[made.kind] = counts.get(made.kind, 0) + 1
            expected = [made.text, made.reasoning, [[c.name, c.arguments] for c in made.calls]]
            read = [turn.content, turn.reasoning, [[c.name, c.arguments] for c in turn.calls]]
            same = same_values(expected, read)
            equal += same
            strict += same and turn.strict
            if not same and len(failures) < 3:
                failures.append(Failure(made.body[:2000], expected, read))
        return FormProof(
            turns=tried, equal=equal, strict=strict, refused=refused, counts=counts,
            values=tuple(self.values), failures=tuple(failures), left_out=self.left_out,
        )  # fmt: skip

    def turns(self, count: int) -> Iterator[RandomTurn]:
        """So many random turns, rendered and read back."""
        for _ in range(count):
            yield self._read(self._plan())

    def _transcribed(self, kind: str, schema: str, value: Any) -> Transcription:
        key = f"{schema[:3]}_0"
        call = SampleCall("lookup", {key: value})
        turn = self._read(RandomTurn("", (call,), "", "one call")).turn
        read = turn.calls[0].arguments if turn is not None and turn.calls else None
        same = read is not None and same_values(read, call.arguments)
        return Transcription(kind, same, value, None if same else (read or {}).get(key))

    def _plan(self) -> RandomTurn:
        kinds = ["one call", "no arguments"]
        if self.form.parallel:
            kinds.append("several calls")
        if "text beside a call" not in self.drops and "calls beside text" not in self.drops:
            kinds.append("text and call")
        if "reasoning" not in self.drops:
            kinds.append("reasoning and call")
        kind = self.random.choice(kinds)
        count = self.random.randint(2, 4) if kind == "several calls" else 1
        calls = tuple(self._call(place, kind == "no arguments") for place in range(count))
        text = self._words() if kind == "text and call" else ""
        return RandomTurn(text, calls, self._words() if kind == "reasoning and call" else "", kind)

    def _call(self, place: int, empty: bool) -> SampleCall:
        function = self.random.choice(self.document)["function"]
        properties = [p for p in function["parameters"]["properties"] if self._known(p.partition("_")[0])]
        count = self.random.randint(1, len(properties)) if properties and not empty else 0
        chosen = self.random.sample(properties, count)
        arguments = {name: self._value(name.partition("_")[0]) for name in sorted(chosen)}
        return SampleCall(function["name"], arguments, f"call{self.random.randrange(10**4):04}{place}")

    def _known(self, kind: str) -> list[Any]:
        """The examples of a kind that can be read back."""
        return [
            value.example
            for value in self.values
            if value.expressible and _SCHEMA_OF[value.kind].startswith(kind)
        ]

    def _value(self, kind: str) -> Any:
        value = self.random.choice(self._known(kind))
        plain = isinstance(value, str) and value.isascii() and value.isalpha()
        if isinstance(value, int) and not isinstance(value, bool):
            return self.random.randint(-(10**6), 10**6) if kind == "int" else value
        return self._words() if plain or value == "plain words" else value

    def _words(self) -> str:
        return " ".join(self.random.choices(("so", "then", "Paris", "x-1", "über", "why?", "3.5"), k=5))

    def _read(self, plan: RandomTurn) -> RandomTurn:
        thinking = True if plan.reasoning else None
        written = self.probe.turn(plan.text, plan.calls, plan.reasoning, thinking=thinking)
        if written is None:
            return plan
        body = written
        if self.form.header.strip() and self.form.header in written:
            body = written[written.index(self.form.header) + len(self.form.header) :]
        bare = replace(self.form, begun={})
        turn = read_turn(body, bare, self.tools)
        if plan.reasoning and turn.reasoning != plan.reasoning:
            # the history omits the text that the prompt writes
            turn = read_turn(body, self.form, self.tools, True)
        return plan._replace(body=body, turn=turn)


def _open(document: Any) -> Any:
    """The tools with unconstrained lists and objects, so that values of every type can be tried in them."""
    if isinstance(document, list):
        return [_open(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {key: _open(value) for key, value in document.items() if key not in _UNNAMED}


def same_values(one: Any, other: Any) -> bool:
    """Whether two values of JSON are equal, which distinguishes 1, 1.0 and true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_values(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_values, one, other))
    return type(one) is type(other) and bool(one == other)
