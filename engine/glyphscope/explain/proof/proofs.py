"""The proof of enforcement: each constraint's boundary examples, read by the real engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.pointer import follow
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.explain.proof.boundary import Boundary, Unreached, boundary_examples
from glyphscope.explain.proof.engines import ENGINES, OURS, Answer, Cancelled, Engine, EngineCalls, EngineName
from glyphscope.explain.proof.renderings import (
    Order,
    as_written,
    required_first,
    required_names,
    reversed_members,
    texts,
)
from glyphscope.grammar.builder.notes import judged_late, unwritten
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.lark.emit import lark_unenforced
from glyphscope.grammar.shapes import fitting_shape
from glyphscope.grammar.tree import Ordered
from glyphscope.models.grammar_probe import GrammarProbe
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.validation.call import CallValidator

_SPELLED = 3
"""The number of examples per constraint that are written in every spelling; the others have only Glyphscope's."""

Status: TypeAlias = Literal["enforced", "checked", "unsupported"]


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour of one engine with one constraint.

    `enforced`: it rejected all texts (their number is `examples`) that break it, and accepted one that does not; `why`
    names valid values that it does not write, and texts that the validator judges late, if there are any.
    `checked`: it accepted `witness`, which the validator rejects; `what` describes how it breaks the constraint.
    `unsupported`: the validator also accepts it, or nothing was shown; `why` explains. `alone`: the texts do not break
    other constraints. `unproved`: there is no example, or the engine failed on one.
    """

    tool: str
    pointer: str
    keyword: str
    engine: EngineName
    status: Status
    examples: int = 0
    witness: str = ""
    what: str = ""
    why: str = ""
    alone: bool = True
    unproved: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All proofs of a registry. `counts` has the number of proofs with each status, by engine.

    `ordered` names, by engine, the objects with members only in the schema's order, though any order was requested.
    """

    registry: str
    notation: Notation
    shape: Shape
    engines: tuple[EngineName, ...]
    proofs: tuple[Proof, ...]
    counts: dict[str, dict[str, int]]
    cancelled: bool = False
    order: ArgumentOrder = "schema"
    ordered: dict[str, tuple[Ordered, ...]] = {}


_Reasons: TypeAlias = dict[tuple[str, str], str]
"""Why our grammar does not enforce a constraint, by tool and JSON Pointer."""

TOGETHER = 50
"""The number of tools in a grammar whose constraints are proved."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished tools and the number of all tools."""


def prove(
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    engines: Sequence[EngineName] = ENGINES,
    *,
    order: ArgumentOrder = "schema",
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    outside: Path | None = None,
) -> Report:
    """The proofs for every allowed tool; once `cancelled` returns True, only those made so far.

    With `order` any, our grammars allow any order, and they read each example in two orders. `outside` is the folder of
    engines in separate environments.
    """
    shape = fitting_shape(registry, shape)
    stopped = [False]

    def is_cancelled() -> bool:
        stopped[0] = cancelled()
        return stopped[0]

    proofs = tuple(
        iterate_proofs(
            registry,
            notation,
            shape,
            engines,
            order=order,
            progress=progress,
            cancelled=is_cancelled,
            outside=outside,
        )
    )
    calls = EngineCalls(registry, notation, shape, order)
    ours = [engine for engine in engines if engine in OURS and order == "any"]
    return Report(
        registry=registry.digest,
        notation=notation,
        shape=shape,
        engines=tuple(engines),
        proofs=proofs,
        counts=count(proofs, engines),
        cancelled=stopped[0],
        order=order,
        ordered={engine: _claims(engine, calls).ordered for engine in ours},
    )


def count(proofs: Sequence[Proof], engines: Sequence[EngineName]) -> dict[str, dict[str, int]]:
    """The number of proofs with each status, by engine."""
    counted = Counter((proof.engine, proof.status) for proof in proofs)
    statuses: tuple[Status, ...] = ("enforced", "checked", "unsupported")
    return {engine: {status: counted[engine, status] for status in statuses} for engine in engines}


def iterate_proofs(
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    engines: Sequence[EngineName] = ENGINES,
    *,
    order: ArgumentOrder = "schema",
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    outside: Path | None = None,
) -> Iterator[Proof]:
    """Yield each proof, tool by tool. Calls `cancelled` between engines; closing the iterator ends its processes.

    The grammar that the engines read has `TOGETHER` tools, as each of its texts costs time for each of its tools.
    """
    shape, tools, finished = fitting_shape(registry, shape), registry.allowed, 0
    with ExitStack() as stack:
        probe: GrammarProbe | None = None
        if {"gbnf", "converter"} & set(engines):
            with suppress(ModelError):  # reported by each engine that needs it
                probe = stack.enter_context(GrammarProbe())
        for at in range(0, len(tools), TOGETHER):
            group = replace(registry, tools=tools[at : at + TOGETHER])
            calls = EngineCalls(group, notation, shape, order)
            opened = _opened(engines, calls, probe, cancelled, outside)
            unenforced = {engine: _claims(engine, calls).reasons for engine in engines if engine in OURS}
            for tool in group.tools:
                if cancelled():
                    return
                case = _Case(calls, tool, unenforced)
                for name, engine in opened.items():
                    if cancelled():
                        return
                    made = list(case.proofs(name, engine))
                    if cancelled():  # its proofs may then lack answers
                        return
                    yield from made
                finished += 1
                if progress is not None:
                    progress(finished, len(tools))


def _opened(
    engines: Sequence[EngineName],
    calls: EngineCalls,
    probe: GrammarProbe | None,
    cancelled: Cancelled,
    outside: Path | None,
) -> dict[EngineName, Engine | GlyphscopeError]:
    """The engines by name, or the reason why one cannot be used."""
    opened: dict[EngineName, Engine | GlyphscopeError] = {}
    for name in engines:
        try:
            opened[name] = Engine(name, calls, probe, cancelled, outside)
        except GlyphscopeError as error:
            opened[name] = error
    return opened


class _Claims(NamedTuple):
    """Our grammar's report: why it does not enforce some constraints, and where it keeps the schema's order."""

    reasons: _Reasons
    ordered: tuple[Ordered, ...]


def _claims(engine: EngineName, calls: EngineCalls) -> _Claims:
    try:
        grammar = calls.grammar()
        if engine == "mask":
            lost, ordered = lark_unenforced(grammar), grammar.ordered
        else:
            emitted = emit_gbnf(grammar)
            lost, ordered = emitted.unenforced, emitted.ordered
    except GlyphscopeError:
        return _Claims({}, ())
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for left in (*grammar.unenforced, *lost):
        reasons.setdefault((left.tool, left.pointer), {})[left.why] = None
    return _Claims({place: "; ".join(whys) for place, whys in reasons.items()}, ordered)


class _WrittenExample(NamedTuple):
    """An example as texts: those that break the constraint, and the valid ones, with the same order of members."""

    boundary: Boundary
    broken: tuple[str, ...]
    valid: str


class _Case:
    """One tool: its examples, written once for all engines."""

    def __init__(self, calls: EngineCalls, tool: Tool, unenforced: dict[EngineName, _Reasons]) -> None:
        self._calls, self._tool, self._unenforced = calls, tool, unenforced
        self._found = boundary_examples(tool, closed=calls.registry.is_closed(tool))
        self._written: dict[str, tuple[_WrittenExample, ...]] = {}  # by order: schema, required, reversed
        self._verdicts: dict[str, bool] = {}  # the validator's, by text

    def proofs(self, name: EngineName, engine: Engine | GlyphscopeError) -> Iterator[Proof]:
        """The engine's proof of each constraint, in the order of the schema."""
        orders = ["required" if name == "converter" else "schema"]
        if name in OURS and self._calls.order == "any":
            orders.append("reversed")
        examples = [one for order in orders for one in self._texts(order)]
        by_pointer: dict[str, list[_WrittenExample]] = {}
        for one in examples:
            by_pointer.setdefault(one.boundary.pointer, []).append(one)
        to_read = list(dict.fromkeys(text for one in examples for text in (one.valid, *one.broken)))
        reason = ""
        verdicts: dict[str, Answer] = {}
        if isinstance(engine, GlyphscopeError):
            reason = engine.message
        elif to_read:
            try:
                verdicts = dict(zip(to_read, engine.accepted(self._tool, to_read), strict=True))
            except GlyphscopeError as error:
                reason = str(error)
        for group in by_pointer.values():
            yield self._proof(name, group, verdicts, reason)
        for left in self._found.unreached:
            yield self._unreached(name, left)

    def _texts(self, order: str) -> tuple[_WrittenExample, ...]:
        if order not in self._written:
            self._written[order] = tuple(self._write(order))
        return self._written[order]

    def _write(self, name: str) -> Iterator[_WrittenExample]:
        order: Order = as_written
        if name == "required":
            order = required_first(required_names(self._tool.parameters))
        elif name == "reversed":
            order = reversed_members
        number: Counter[str] = Counter()
        for boundary in self._found.examples:
            number[boundary.pointer] += 1
            path = boundary.path if number[boundary.pointer] <= _SPELLED else None
            how = (self._calls.notation, self._calls.shape, order)
            broken = tuple(dict.fromkeys(texts(self._tool.name, boundary.arguments, path, *how)))
            valid = next(texts(self._tool.name, boundary.valid, None, *how), "")
            if broken and valid:
                yield _WrittenExample(boundary, broken, valid)

    def _proof(
        self, engine: EngineName, group: list[_WrittenExample], verdicts: dict[str, Answer], reason: str
    ) -> Proof:
        boundary = group[0].boundary
        texts = [text for one in group for text in one.broken]
        proof = Proof(
            tool=self._tool.name, pointer=boundary.pointer, keyword=boundary.keyword, engine=engine,
            status="unsupported", examples=len(set(texts)), alone=boundary.only, why=reason,
        )  # fmt: skip
        if reason:
            return proof
        leaks = [(text, one) for one in group for text in one.broken if verdicts[text] is True]
        if leaks:
            return self._leak(proof, leaks)
        broken = [verdicts[text] for text in texts]
        valid = [verdicts[one.valid] for one in group]
        unread = [answer for answer in broken if isinstance(answer, str)]
        if True not in valid and not unread:
            unread = [answer for answer in valid if isinstance(answer, str)]
        if unread:
            return msgspec.structs.replace(
                proof, why=f"unproved: {_engine_failure(unread, broken)}", unproved=True
            )
        if True not in valid:
            return msgspec.structs.replace(proof, witness=group[0].valid, why="it also rejects a valid call")
        return msgspec.structs.replace(proof, status="enforced", why=self._remarks(proof))

    def _remarks(self, proof: Proof) -> str:
        """The values that an enforced constraint allows and our grammars do not write, and those judged late."""
        place = follow(self._tool.parameters, proof.pointer.rpartition("/")[0])
        if place is None or proof.engine not in OURS:
            return ""
        words, late = unwritten(place[1], proof.keyword), judged_late(place[1], proof.keyword)
        return "; ".join(
            [f"it does not write {words}"] * bool(words)
            + [f"check judges {late} at the end of the text only"] * bool(late)
        )

    def _leak(self, proof: Proof, leaks: list[tuple[str, _WrittenExample]]) -> Proof:
        """The proof with the shortest broken text that the engine accepted, preferably one that is valid."""
        undecided = [(text, one) for text, one in leaks if self._valid(text)]
        text, one = min(undecided or leaks, key=lambda leak: len(leak[0]))
        return msgspec.structs.replace(
            proof,
            status="unsupported" if undecided else "checked",
            witness=text,
            what=one.boundary.what,
            why="the validator accepts it, too" if undecided
            else self._reported_reason(proof.engine, one.boundary),
        )  # fmt: skip

    def _reported_reason(self, engine: EngineName, boundary: Boundary) -> str:
        """The builder's reason why our grammar does not enforce the constraint, or a schema around it."""
        reasons = self._unenforced.get(engine, {})
        for start in (boundary.pointer, *reversed(boundary.choices)):
            place = start
            while place:
                if (self._tool.name, place) in reasons:
                    why = reasons[self._tool.name, place]
                    return why if place == boundary.pointer else f"{place}: {why}"
                place = place.rpartition("/")[0]
        return ""

    def _valid(self, text: str) -> bool:
        """Whether the validator accepts the text."""
        if text not in self._verdicts:
            validator = CallValidator(self._calls.registry, self._calls.notation, self._calls.shape)
            validator.feed(text)
            validator.finish()
            self._verdicts[text] = validator.valid
        return self._verdicts[text]

    def _unreached(self, engine: EngineName, left: Unreached) -> Proof:
        reason = self._unenforced.get(engine, {}).get((self._tool.name, left.pointer))
        return Proof(
            tool=self._tool.name, pointer=left.pointer, keyword=left.keyword, engine=engine, status="unsupported",
            why=reason or f"no example: {left.why}", unproved=True,
        )  # fmt: skip


def _engine_failure(unread: list[str], broken: list[Answer]) -> str:
    failure = f"the engine failed. {unread[0]}"
    rejected = broken.count(False)
    return f"{failure} It rejected the other {rejected:,} texts that break it." if rejected else failure
