"""The cost of grammars: for building, per token in both engines, and for checking after a keystroke."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from glyphscope.events import Notation
from glyphscope.grammar.builder.json_schema import call_schema
from glyphscope.grammar.gbnf.check import check_gbnf
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.generate.example import example_arguments
from glyphscope.notation.write import write_call
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.turns import build_call_grammar
from glyphscope_benchmarks import documents
from glyphscope_benchmarks.baseline_process import Answer, Baseline
from glyphscope_benchmarks.decoding import convertible
from glyphscope_benchmarks.figures import Figure, Row, at_most
from glyphscope_benchmarks.timing import Plan, interleaved, ratios, seconds

TOOLS = (10, 100, 1000)
RULES = 1000

_WAYS: dict[str, Notation] = {"GLYPH": "glyph", "JSON": "json"}
_BUILT = "from the tools' schemas to the first tokens allowed, on the model's vocabulary, nothing cached"
_LED = "the same compact calls, one of each of the seven tools, token by token"

GROWTH = tuple(
    Row(
        f"a {name} grammar of {TOOLS[2]:,} tools over one of {TOOLS[1]:,}, a tool",
        "ratio",
        f"{_BUILT}, divided by the number of tools; 1 is linear",
        at_most(1.3),
    )
    for name in _WAYS
)
BASELINES = (
    Row(f"llguidance's JSON Schema compiler, {TOOLS[1]:,} tools", "ms", f"{_BUILT}; the same calls as oneOf"),
    Row(
        f"llama-cpp-python's json_schema_to_gbnf, {TOOLS[1]:,} tools",
        "ms",
        "the conversion alone, to text that no engine has read yet; patterns taken out, which it refuses",
    ),
)
MASK = tuple(
    Row(
        f"mask of a token, our grammar over llguidance's JSON Schema, {name}",
        "ratio",
        f"the same schemas, {_LED}, each with its commitment",
        at_most(1.5),
    )
    for name in ("median", "99th percentile")
)
ORDER = Row(
    "mask of a token, arguments in any order over the schema's",
    "ratio",
    f"our grammar both times, {_LED}, each with its commitment, medians; the samples have what building both takes",
    at_most(1.5),
)
SAMPLER = Row(
    "llama.cpp's sampler, our GBNF over its own converter's",
    "ratio",
    f"its walk of the whole vocabulary, {_LED}; the converter's grammar enforces less",
    at_most(1.0),
)
KEYSTROKE = Row(
    f"a grammar of {RULES:,} rules, checked again after a keystroke",
    "ms",
    "read whole and diagnosed whole, in our own GBNF of many tools",
    at_most(50.0),
)
ROWS = (*GROWTH, *BASELINES, *MASK, ORDER, SAMPLER)


def figures(baseline: Baseline, plan: Plan) -> list[Figure]:
    """The figures that need a vocabulary. Raises ModelError."""
    return [*_building(baseline, plan), *_leading(baseline, plan), _in_any_order(baseline, plan)]


def edited_grammar(times: int) -> list[str]:
    """A grammar of `RULES` rules, and the same after each of so many keystrokes in the middle."""
    text = _grammar_of(RULES)
    middle = len(text) // 2
    return [text[:middle] + "x" * size + text[middle:] for size in range(times + 1)]


def keystroke(plan: Plan) -> Iterator[Figure]:
    """The figures that need only the text."""
    edits = edited_grammar(plan.rounds)
    check_gbnf(edits[0])
    taken = [seconds(partial(check_gbnf, edit)) for edit in edits[1:]]
    yield KEYSTROKE.of(
        [each * 1000 for each in taken], samples={"rules": float(len(check_gbnf(edits[0]).document.rules))}
    )


def _building(baseline: Baseline, plan: Plan) -> Iterator[Figure]:
    marks = count()
    runs: dict[tuple[str, int], Callable[[], float]] = {}
    for tools in TOOLS[: 3 if plan.rounds > 1 else 2]:
        for name, notation in _WAYS.items():
            runs[name, tools] = partial(_built, baseline, "mask", notation, tools, marks)
    runs["schema", TOOLS[1]] = partial(_built, baseline, "schema", "json", TOOLS[1], marks)
    runs["converter", TOOLS[1]] = partial(_built, baseline, "converter", "json", TOOLS[1], marks)
    _built(baseline, "mask", "json", 1, marks)  # one-time work per model is done here
    taken = interleaved(runs, plan.rounds)
    for row, name in zip(GROWTH, _WAYS):
        samples = {
            f"{tools}_tools_ms": statistics.median(taken[name, tools]) * 1000
            for tools in TOOLS
            if (name, tools) in taken
        }
        small, large = TOOLS[1:] if (name, TOOLS[2]) in taken else TOOLS[:2]
        growth = [ratio * small / large for ratio in ratios(taken[name, large], taken[name, small])]
        note = "" if large == TOOLS[2] else f"quick: {TOOLS[1]} tools over {TOOLS[0]}"
        yield row.of(growth, note=note, samples=samples)
    for row, way in zip(BASELINES, ("schema", "converter")):
        yield row.of([each * 1000 for each in taken[way, TOOLS[1]]])


def _leading(baseline: Baseline, plan: Plan) -> Iterator[Figure]:
    registry = default_registry()
    runs = {
        (way, text): partial(_ask, baseline, way, "json", registry, text)
        for text in _calls(registry)
        for way in ("mask", "schema", "gbnf", "converter")
    }
    answers = interleaved(runs, plan.rounds)
    spent = {way: _spent(answers, way) for way in ("mask", "schema", "gbnf", "converter")}
    for row, share in zip(MASK, (50, 99)):
        ours, theirs = (
            [float(np.percentile(times, share)) for times in spent[way]] for way in ("mask", "schema")
        )
        samples = {"ours_us": statistics.median(ours) * 1e6, "llguidance_us": statistics.median(theirs) * 1e6}
        yield row.of(ratios(ours, theirs), samples=samples)
    ours, theirs = ([statistics.mean(times) for times in spent[way]] for way in ("gbnf", "converter"))
    samples = {"ours_ms": statistics.median(ours) * 1000, "converter_ms": statistics.median(theirs) * 1000}
    yield SAMPLER.of(ratios(ours, theirs), samples=samples)


def _in_any_order(baseline: Baseline, plan: Plan) -> Figure:
    registry, marks = default_registry(), count()
    ways = {"schema": "mask", "any": "any"}
    led = {
        (order, text): partial(_ask, baseline, way, "json", registry, text)
        for text in _calls(registry)
        for order, way in ways.items()
    }
    answers, tools = interleaved(led, plan.rounds), TOOLS[1]
    built = interleaved(
        {order: partial(_built, baseline, way, "json", tools, marks) for order, way in ways.items()},
        plan.rounds,
    )
    samples, medians = {}, {}
    for order in ways:
        spent = _spent(answers, order)
        medians[order] = [statistics.median(times) for times in spent]
        samples[f"{order}_us"] = statistics.median(medians[order]) * 1e6
        samples[f"{order}_99th_percentile_us"] = (
            statistics.median(float(np.percentile(times, 99)) for times in spent) * 1e6
        )
        samples[f"{order}_{tools}_tools_built_ms"] = statistics.median(built[order]) * 1000
    return ORDER.of(ratios(medians["any"], medians["schema"]), samples=samples)


def _spent(answers: dict[tuple[str, str], list[Answer]], way: str) -> list[list[float]]:
    """For each round, the seconds of all tokens that were read in that way."""
    rounds = zip(*(answers[key] for key in answers if key[0] == way), strict=True)
    return [[each for answer in texts for each in answer.spent] for texts in rounds]


def _built(baseline: Baseline, way: str, notation: Notation, tools: int, marks: Iterator[int]) -> float:
    registry = documents.many_tools(tools, f"_{next(marks)}")
    return _ask(baseline, way, notation, registry, "").built


def _ask(baseline: Baseline, way: str, notation: Notation, registry: ToolRegistry, text: str) -> Answer:
    schema: dict[str, Any] | None = None
    if way == "schema":
        schema = call_schema(registry, "flat")
    elif way == "converter":
        schema = convertible(registry)
    return baseline.ask(
        task="constraint",
        way=way,
        notation=notation,
        registry=registry.to_document(),
        schema=schema,
        text=text,
    )


def _calls(registry: ToolRegistry) -> list[str]:
    """A call of each tool, in the only spelling that all the grammars allow."""
    examples = ((tool.name, example_arguments(tool.parameters) or {}) for tool in registry.allowed)
    return [write_call(name, arguments, style="json") for name, arguments in examples]


def _grammar_of(rules: int) -> str:
    """Our GBNF of as many tools as are needed for that many rules."""
    tools = 1
    while (text := emit_gbnf(build_call_grammar(documents.many_tools(tools), "json", "flat")).text).count(
        "::="
    ) < rules:
        tools *= 2
    return text
