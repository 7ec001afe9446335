"""Real schemas, mutated, as in the list of tools of a server: no build may crash its caller or take long.

    python tests/support/schema_mutants.py 10000 [--seed N] SCHEMAS…

`SCHEMAS` are JSON files (a schema, or an object with one as `schema`), folders of them, or files of JSON lines. Each
mutant becomes a grammar in a notation and an order, for llguidance and for llama.cpp, its patterns are matched, and
llguidance compiles it by itself. Mutants rejected with an error are counted; any other exception, and a build that
takes more than ten seconds of CPU time, is printed with its number: the same seed and number make the same mutant.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glyphscope.compilers import service
from glyphscope.errors import GlyphscopeError
from glyphscope.events import ArgumentOrder, Notation
from glyphscope.grammar import GrammarOptions, MaskReader, build_call_grammar, build_value_grammar, to_lark
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.grammar.regular import found
from glyphscope.grammar.tree import Grammar
from glyphscope.registry import ToolRegistry, make_tool

SECONDS = 10.0
"""For each build."""
MAX_BYTES = 60_000
"""Characters of a mutant; larger ones take longer to mutate than to reject."""

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 7, 63, 64, 65, 300, 5_000, 100_000, 2**31, 2**32, 2**63, 2**64, 10**30, -(10**30), 0.1, 1e-9, 1e308,
)  # fmt: skip
COUNTED = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
PATTERNS = (
    "^(a+)+$", "(a|b)*a(a|b){300}", "^.{0,5000}$", "^(.{1,100}){1,100}$", "(?=a)b", r"(\w+)\1", "a{1000}{1000}",
    "(" * 200 + "a" + ")" * 200, "^([a-z]{2,40}[.]){1,60}$", "[^\\s]*", "\\p{L}{1,2000}", "^$", "(", "[z-a]", "\ud800",
    "^(?:x|(?:y|(?:z|w){1,50}){1,50}){1,50}$", "|".join(f"word{i}" for i in range(800)),
)  # fmt: skip
TEXTS = ("", "a", "aaaaaaaaaaaaaaaaaaaaaaaa!", "Zürich 😀 \ud800", "https://example.org/a?b=c")
NAMES = (
    "",
    '"',
    "\\",
    "a b",
    "\x00",
    "\x7f",
    "é" * 40,
    "\ud83d",
    "action",
    "x" * 3_000,
    "</tool_call>",
    "{",
    "$ref",
)


def mutated(schema: Any, others: Sequence[Any], rng: random.Random, largest: int = MAX_BYTES) -> Any:
    """A copy with one to six changes; some of it may come from the other schemas."""
    text = json.dumps(schema)
    for _ in range(rng.choice((1, 1, 2, 3, 4, 6))):
        mutant = json.loads(text)
        places = list(_places(mutant))
        if not places:
            break
        schemas = [place for place in places if not _SAYS.isdisjoint(place)]
        places = schemas if schemas and rng.random() < 0.9 else places
        try:
            rng.choice(_CHANGES)(rng.choice(places), mutant, others, rng)
            changed = json.dumps(mutant)
        except RecursionError:  # deeper than any JSON parser reads
            continue
        if len(changed) <= largest:
            text = changed
    return json.loads(text)


_SAYS = {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "properties"}


def _places(schema: Any) -> Iterator[dict[str, Any]]:
    """The objects in the document; most of them are schemas."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _number(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    place[rng.choice(COUNTED)] = rng.choice(NUMBERS)


def _pattern(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    if rng.random() < 0.7:
        place |= {"type": "string", "pattern": rng.choice(PATTERNS)}
    else:
        place.setdefault("patternProperties", {})[rng.choice(PATTERNS)] = {"type": "integer"}


def _spliced(place: dict[str, Any], mutant: Any, others: Sequence[Any], rng: random.Random) -> None:
    source = list(_places(rng.choice((mutant, rng.choice(others)))))
    taken = json.dumps(rng.choice(source) if source else {})
    if len(taken) < 100_000:
        place[rng.choice(("items", "additionalProperties", "not", "if", "contains", "propertyNames"))] = (
            json.loads(taken)
        )


def _deeper(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    inner = dict(place)
    for _ in range(rng.choice((3, 20, 120, 250))):
        inner = rng.choice(
            (
                {"type": "object", "properties": {"a": inner}, "required": ["a"]},
                {"type": "array", "items": inner},
                {"anyOf": [inner, {"type": "null"}]},
                {"allOf": [inner]},
            )
        )
    place.clear()
    place |= inner


def _wider(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    count = rng.choice((10, 10, 70, 70, 300, 600))
    like = {key: value for key, value in place.items() if key != "properties"} if rng.random() < 0.3 else {}
    if len(json.dumps(like)) * count > 100_000:
        like = {}
    properties = {
        f"p{i}": like or {"type": rng.choice(("string", "integer", "boolean"))} for i in range(count)
    }
    place.setdefault("type", "object")
    place["properties"] = properties
    place["required"] = rng.sample(sorted(properties), rng.choice((0, 1, count // 2)))


def _listed(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    count = rng.choice((1, 30, 30, 1_000, 3_000))
    values: tuple[Callable[[int], Any], ...] = (
        lambda i: f"value {i}",
        lambda i: i,
        lambda i: {"k": i, "l": [i]},
    )
    made = rng.choice(values)
    place["enum"] = [made(i) for i in range(count)]


def _recursive(place: dict[str, Any], mutant: Any, _others: Sequence[Any], rng: random.Random) -> None:
    pointers = ["#"]
    if isinstance(mutant, dict):
        pointers += [
            f"#/{part}/{key}".replace("~", "~0")
            for part in ("properties", "definitions", "$defs")
            if isinstance(mutant.get(part), dict)
            for key in mutant[part]
        ]
    for name in rng.choice((("a",), ("a", "b", "c"), tuple(f"q{i}" for i in range(60)))):
        place.setdefault("properties", {})[name] = {"$ref": rng.choice(pointers)}


def _multiplied(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    one = {"anyOf": [{rng.choice(COUNTED): i} for i in range(rng.choice((2, 6, 12)))]}
    place[rng.choice(("allOf", "anyOf", "oneOf"))] = [one] * rng.choice((2, 4, 6))


def _renamed(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    if place:
        key = rng.choice(sorted(place))
        place[rng.choice(NAMES)] = place.pop(key)


def _retyped(place: dict[str, Any], *rest: Any) -> None:
    rng = rest[-1]
    place["type"] = rng.choice(
        ("object", "array", "string", "number", "null", ["string", "object"], 3, "no type")
    )


_CHANGES: tuple[Callable[..., None], ...] = (
    _number, _number, _pattern, _spliced, _deeper, _wider, _listed, _recursive, _multiplied, _renamed, _retyped,
)  # fmt: skip


@dataclass
class Tally:
    """The results by outcome. `bad` are the mutants with a bug: their number, and the error."""

    counts: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(self.counts.items()))
        return f"{counts}; slowest build {self.slowest:.1f} s; bad {len(self.bad)}"


def try_mutants(schemas: Sequence[Any], numbers: range, seed: int = 0, largest: int = MAX_BYTES) -> Tally:
    """Build the mutants of those numbers."""
    tally = Tally()
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        _try(number, mutated(rng.choice(schemas), schemas, rng, largest), rng, tally)
    return tally


def _try(number: int, mutant: Any, rng: random.Random, tally: Tally) -> None:
    notation: Notation = rng.choice(("json", "glyph"))
    order: ArgumentOrder = rng.choice(("any", "schema"))

    def build(order: ArgumentOrder) -> Grammar:
        options = GrammarOptions(order=order)
        if isinstance(mutant, dict) and mutant.get("type") == "object":
            return build_call_grammar(
                ToolRegistry((make_tool("tool", "", mutant),)), notation, "tool-args", options
            )
        return build_value_grammar(mutant, notation, options)

    def grammar() -> None:
        to_lark(build(order))
        tally.counts["built"] += 1

    def gbnf() -> None:
        emit_gbnf(build("schema"))

    def patterns() -> None:
        for place in _places(mutant):
            for pattern in (place.get("pattern"), *(place.get("patternProperties") or ())):
                if isinstance(pattern, str):
                    found(pattern, rng.choice(TEXTS))

    def schema() -> None:
        MaskReader(schema=mutant)

    for step in (grammar, *((gbnf,) if rng.random() < 0.3 else ()), patterns, schema):
        start = (
            time.thread_time()
        )  # not wall time, as the machine may be busy; the compilers' process has its own limit
        try:
            step()
        except GlyphscopeError as error:
            kind = "crashed or timed out" if isinstance(error, service.CompilerDied) else _kind(str(error))
            tally.counts[f"{step.__name__} {kind}"] += 1
        except Exception as error:
            tally.bad.append((number, f"{step.__name__}: {type(error).__name__}: {str(error)[:200]}"))
        spent = time.thread_time() - start
        tally.slowest = max(tally.slowest, spent)
        if spent > SECONDS:
            tally.bad.append((number, f"{step.__name__} took {spent:.1f} s"))
    tally.counts["mutants"] += 1


def _kind(message: str) -> str:
    if "was ended by" in message or "did not finish within" in message:
        return "crashed or timed out"
    return "refused"


def read_schemas(paths: Sequence[Path]) -> list[Any]:
    """The schemas of files and folders; a damaged file is left out."""
    found: list[Any] = []
    for path in paths:
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            text = file.read_text(encoding="utf-8")
            for part in text.splitlines() if file.suffix == ".jsonl" else [text]:
                try:
                    document = json.loads(part)
                except ValueError:
                    continue
                found.append(document.get("schema", document) if isinstance(document, dict) else document)
    return found


def main() -> int:
    """Try the mutants, and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=MAX_BYTES)
    parser.add_argument("schemas", nargs="+", type=Path)
    given = parser.parse_args()
    schemas = read_schemas(given.schemas)
    whole, shown = Tally(), 0
    for start in range(given.first, given.first + given.count, 100):
        tally = try_mutants(
            schemas, range(start, min(start + 100, given.first + given.count)), given.seed, given.largest
        )
        whole.counts += tally.counts
        whole.bad += tally.bad
        whole.slowest = max(whole.slowest, tally.slowest)
        for number, what in whole.bad[shown:]:
            print(f"{number}: {what}", flush=True)
        shown = len(whole.bad)
        print(f"{whole}; compilers started {service._GRAMMARS.starts} times", flush=True)
    return 1 if whole.bad else 0


if __name__ == "__main__":
    sys.exit(main())
