"""Microseconds per character: our validator, and alternatives to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

from glyph import StreamingValidator
from glyph import ToolRegistry as GlyphRegistry

from glyphscope.events import NOTATIONS, Notation
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.validation.call import CallValidator
from glyphscope_benchmarks import documents
from glyphscope_benchmarks.figures import Figure, Row, at_most
from glyphscope_benchmarks.timing import Plan, interleaved, ratios, seconds

US_PER_CHAR = at_most(1.5)
GROWTH = at_most(1.3)

_LABELS: dict[Notation, str] = {"glyph": "GLYPH", "json": "JSON"}
_FED = f"a whole call in {documents.TOKEN}-character tokens, from the first to the final verdict"
_REPEATED = 50_000
"""The minimum number of characters per timing: short texts are judged repeatedly."""

Judge = Callable[[str, list[str]], object]


def figures(plan: Plan) -> Iterator[Figure]:
    """Our validator on long strings, with targets, then on harder texts, then the alternatives."""
    short, long, huge = plan.sizes
    registry = default_registry()
    for notation in NOTATIONS:
        texts = {size: documents.long_string(notation, size) for size in plan.sizes}
        costs = _costs({str(size): (ours(registry, notation), text) for size, text in texts.items()}, plan)
        name = f"validator, {_LABELS[notation]}, a long string"
        for size in plan.sizes:
            row = Row(f"{name}, {size:,} characters", "µs/char", _FED, US_PER_CHAR)
            yield row.of(costs[str(size)])
        growth = Row(f"{name}, {huge:,} over {long:,}", "ratio", "the cost of a character in both", GROWTH)
        yield growth.of(ratios(costs[str(huge)], costs[str(long)]))
    yield from _harder(plan, long)
    yield from _others(plan, short, long)


def _harder(plan: Plan, size: int) -> Iterator[Figure]:
    for notation in NOTATIONS:
        shown = {
            "a string bound by a pattern": (documents.BOUND, documents.bound_string(notation, size)),
            "many members": (documents.MEMBERS, documents.many_members(notation, size)),
        }
        runs = {name: (ours(registry, notation), text) for name, (registry, text) in shown.items()}
        for name, cost in _costs(runs, plan).items():
            row = Row(f"validator, {_LABELS[notation]}, {name}, {size:,} characters", "µs/char", _FED)
            yield row.of(cost, note="shown without a target; jsonschema's final word is part of it")


def _others(plan: Plan, short: int, long: int) -> Iterator[Figure]:
    runs: dict[str, tuple[Judge, str]] = {
        f"glyph-py StreamingValidator, {size:,} characters": (glyph_py, documents.head_form(size))
        for size in (short, long)
    }
    partial: dict[str, tuple[Judge, str]] = {
        f"jiter, all parsed again for each token, {size:,} characters": (
            jiter,
            documents.long_string("json", size),
        )
        for size in (short, 10 * short, long)
    }
    there = find_spec("jiter") is not None
    for name, cost in _costs(runs | partial if there else runs, plan).items():
        yield Row(name, "µs/char", _FED).of(cost, note="shown for comparison")
    if not there:
        yield from (Row(name, "µs/char", _FED).missing("jiter is not installed") for name in partial)


def _costs(runs: dict[str, tuple[Judge, str]], plan: Plan) -> dict[str, list[float]]:
    """Microseconds per character of each run in each round."""
    return interleaved({name: _timed(judge, text) for name, (judge, text) in runs.items()}, plan.rounds)


def _timed(judge: Judge, text: str) -> Callable[[], float]:
    pieces = documents.tokens(text)
    times = max(1, _REPEATED // len(text))

    def repeatedly() -> None:
        for _ in range(times):
            judge(text, pieces)

    return lambda: seconds(repeatedly) / times / len(text) * 1e6


def ours(registry: ToolRegistry, notation: Notation) -> Judge:
    """Validate with our validator; a text that it rejects is an error of the bench."""

    def judge(_: str, pieces: list[str]) -> None:
        validator = CallValidator(registry, notation, "flat")
        for piece in pieces:
            validator.feed(piece)
        validator.finish()
        assert validator.valid, validator.violations

    return judge


def glyph_py(_: str, pieces: list[str]) -> None:
    """Judge with glyph-py's validator."""
    registry = GlyphRegistry()
    registry.add_tool("write_file", {name: {"type": "str", "required": True} for name in ("path", "content")})
    validator = StreamingValidator(registry)
    for piece in pieces:
        result = validator.push_token(piece)
    assert result.complete and result.valid, result.errors


def jiter(text: str, pieces: list[str]) -> None:
    """Parse the whole text so far again for each piece, like a partial parser without state."""
    from jiter import from_json  # a development tool, not a dependency

    data = text.encode()
    for count in range(1, len(pieces) + 1):
        from_json(data[: count * documents.TOKEN], partial_mode="trailing-strings")
