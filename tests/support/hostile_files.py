"""Damaged and hostile files of every kind, mutants of real ones: each ends in a result or a GlyphscopeError, in time.

    python tests/support/hostile_files.py KIND 10000 [--first N] [--seed N] [SOURCES…]

`KIND` is one of `BORDERS`. `SOURCES` are files, or folders of them, that are changed in place of the program's own:
templates (`.jinja`), or schemas (`.json`, also as the member `schema` of an object, and `.jsonl`). With each mutant,
what the program does with such a file is done (`hostile_uses.py`). Each mutant that breaks a rule is printed, and at
the end the outcomes, the longest time and the largest memory. The same seed and number make the same mutant.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import hostile_uses as uses
from glyphscope.base import resources
from glyphscope.events import Message, RouterSettings, RunRequest, ToolCall
from glyphscope.models import byte_vocabulary
from glyphscope.processes import limited
from glyphscope.registry import bundled_registries, bundled_registry, to_openai
from glyphscope.store import GrammarExample, GrammarWork, Project
from glyphscope.store.project import VERSION
from made_results import recorded_result
from mutants import damaged, json_value, lines_mutant, text_mutant, with_another_value, written
from schema_mutants import mutated
from suite_mutants import suite_mutant, suites
from tiny_gguf import encoder

# registries and schemas


def registries() -> list[Any]:
    """Documents of all forms that are read."""
    whole = [bundled_registry(name) for name in bundled_registries()]
    mcp = [
        {"tools": [{"name": t.name, "description": t.description, "inputSchema": t.parameters} for t in each]}
        for each in whole
    ]
    seeds = {
        "search": {
            "args": {"q": {"type": "str", "required": True, "maxLength": 9}, "n": {"type": "int", "max": 9}}
        }
    }
    return [
        *(each.to_document() for each in whole),
        *map(to_openai, whole),
        *mcp,
        seeds,
        {"t": whole[0].tools[0].parameters},
    ]


def registry_mutant(sources: Sequence[Any], place: Path, rng: random.Random) -> Path:
    document = rng.choice(sources)
    for _ in range(rng.choice((1, 1, 2, 3))):
        changed = mutated(document, sources, rng) if rng.random() < 0.6 else with_another_value(document, rng)
        document = changed
    return written(place / "registry.json", damaged(json_value(document), rng))


def schemas() -> list[Any]:
    return [tool.parameters for name in bundled_registries() for tool in bundled_registry(name).tools]


def schema_mutant(sources: Sequence[Any], place: Path, rng: random.Random) -> Path:
    schema = json.dumps(mutated(rng.choice(sources), sources, rng))
    return written(place / "schema.json", schema.encode())


# projects


def projects() -> list[Any]:
    """Projects as they are saved, of several strategies, with everything that a project can have."""
    tools = {name: bundled_registry(name).to_document() for name in ("default", "workspace")}
    call = ToolCall("search", {"query": "tea", "max_results": 3}, "a1")
    history = (
        Message("user", "Hello"),
        Message("assistant", "", tool_calls=(call,), reasoning="Hm."),
        Message("tool", "Nothing.", tool_call_id="a1", name="search"),
    )
    grammar = GrammarWork(
        source="text", text='root ::= "a" [0-9]+ | b\nb ::= "b"\n', use=True, examples=(GrammarExample("a1"),)
    )
    requests = (
        RunRequest(prompt="Search for AI news", registry=tools["default"]),
        RunRequest(prompt="p", registry=tools["workspace"], system="Tools: {{ tools | length }}", history=history),
        RunRequest(prompt="p", registry=tools["default"], strategy="loop", notation="json", constraint="gbnf"),
        RunRequest(prompt="p", registry=tools["default"], strategy="route-execute", system_prompt="Be brief."),
        RunRequest(prompt="p", registry=tools["default"], strategy="two-stage", constraint="gbnf"),
        RunRequest(prompt="p", registry=tools["default"], router=RouterSettings(rules=("a",))),
    )  # fmt: skip
    made = [Project(request=request, notes="n", grammar=grammar) for request in requests]
    made[1] = msgspec.structs.replace(made[1], grammar=None, drafts={"search": '{"type": "obj'})
    return [{"glyphscope_project": VERSION, **msgspec.to_builtins(each)} for each in made]


def project_mutant(sources: Sequence[Any], place: Path, rng: random.Random) -> Path:
    document = rng.choice(sources)
    for _ in range(rng.choice((1, 1, 2, 3))):
        changed = with_another_value(document, rng) if rng.random() < 0.8 else mutated(document, sources, rng)
        document = changed
    return written(place / "mutant.glyphscope", damaged(json_value(document), rng))


# lessons and templates


def _texts(folder: str, suffix: str) -> Callable[[], list[str]]:
    return lambda: [resources.read_text(f"{folder}/{name}") for name in resources.names(folder, suffix)]


LESSON_PIECES = (
    "```run\n", "```question\n", "```\n", "---\n", "# ", "## ", "+++\n", "[[", "]]", "= ", '"""', "\0", "\t", "](",
    "<b>", "![x](y)", "𝄞", "a" * 5000, "*" * 3000, "[" * 2000, "> " * 500, "- " * 500, "1e999", "-1", "`" * 99,
)  # fmt: skip


def lesson_mutant(sources: Sequence[str], place: Path, rng: random.Random) -> Path:
    text = text_mutant(sources, LESSON_PIECES, rng)
    for name in resources.names(
        "lessons/runs", ".jsonl"
    ):  # without its recordings, no lesson is checked to its end
        if name.removesuffix(".jsonl") in text:
            written(place / "runs" / name, resources.read_bytes(f"lessons/runs/{name}"))
    return written(place / "07-mutant.md", damaged(text.encode(errors="surrogatepass"), rng))


LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
TEMPLATE_PIECES = (
    LOOP, "{{ 'x' * 10 ** 9 }}", "{{ 'x' * 10 ** 7 }}", "{{ 7 ** (10 ** 8) }}", "{{ messages * 10 ** 8 }}",
    "{% set n = namespace(x='ab') %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
    "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{{ ('\\n' * 10 ** 6) | indent(10 ** 6) }}", "{{ '%999999999d' % 1 }}", "{{ '{:999999999}'.format(1) }}",
    "{{ (range(99999) | list * 999) | sort | unique | list | length }}", "{{ ('a.' * 10 ** 6) | urlize }}",
    "{% for i in messages %}{% set x = i %}" * 40 + "{% endfor %}" * 40, "{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}",
    "{{ 1" + " + 1" * 20_000 + " }}", "{% if a %}" * 900 + "{% endif %}" * 900, "{{ " + "-" * 20_000 + "1 }}",
    "{{ " + "[" * 90 + "]" * 90 + " }}", "{{ raise_exception('no') }}",
    "{{ messages[0].content.format_map(messages[0]) }}",
    "{{ messages | map(attribute='content') | join(messages[0].content * 10 ** 6) }}", "{{ 1 // 0 }}", "{%", "{{", "#}",
)  # fmt: skip
"""Most of them are hostile."""


def template_mutant(sources: Sequence[str], place: Path, rng: random.Random) -> Path:
    text = text_mutant(
        sources, TEMPLATE_PIECES, rng, "{%"
    )  # between two statements, where it is most often valid
    return written(place / "mutant.jinja", text.encode(errors="surrogatepass"))


# records and results


def records() -> list[bytes]:
    folders = ("runs", "lessons/runs")
    names = [f"{folder}/{name}" for folder in folders for name in resources.names(folder, ".jsonl")]
    return [resources.read_bytes(name) for name in names]


def record_mutant(sources: Sequence[bytes], place: Path, rng: random.Random) -> Path:
    return written(place / "run.jsonl", lines_mutant(rng.choice(sources), rng))


def results() -> list[Path]:
    return [recorded_result(Path(tempfile.mkdtemp()))]


def result_mutant(sources: Sequence[Path], place: Path, rng: random.Random) -> Path:
    """A copy of a result whose samples, manifest or a record are changed."""
    result = Path(shutil.copytree(rng.choice(sources), place / "result"))
    path = rng.choice(
        [*[result / "samples.jsonl"] * 3, *[result / "manifest.json"] * 2, *result.rglob("*.jsonl")]
    )
    data = path.read_bytes()
    if path.name == "manifest.json":
        with contextlib.suppress(ValueError):
            data = json_value(json.loads(data))
    path.write_bytes(lines_mutant(data, rng))
    return result


# models


def models() -> list[bytes]:
    """Small files that llama.cpp reads."""
    return [byte_vocabulary(), encoder("bert"), encoder("t5encoder")]


def model_mutant(sources: Sequence[bytes], place: Path, rng: random.Random) -> Path:
    """One of the files with changed bytes, most of them in numbers, or cut and lengthened."""
    data = bytearray(rng.choice(sources))
    for _ in range(rng.choice((1, 2, 4, 16))):
        at = rng.randrange(4, len(data))
        match rng.randrange(4):
            case 0:
                data[at] ^= rng.randrange(1, 256)
            case 1:
                data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                data[at : at + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, b"\xff" * 3 + b"\x7f" + b"\0" * 4))
            case 3:
                other = rng.randrange(len(data))
                data[at : at + 12] = data[other : other + 12]
    return written(place / "mutant.gguf", bytes(data))


# all of them


@dataclass(frozen=True)
class Border:
    """A kind of file that is not trusted: the real ones, how they are changed, and what is done with them."""

    sources: Callable[[], Sequence[Any]]
    make: Callable[[Sequence[Any], Path, random.Random], Path]
    use: Callable[[uses.Judge, Path, random.Random], None]


BORDERS = {
    "registries": Border(registries, registry_mutant, uses.use_registry),
    "schemas": Border(schemas, schema_mutant, uses.use_schema),
    "projects": Border(projects, project_mutant, uses.use_project),
    "lessons": Border(_texts("lessons", ".md"), lesson_mutant, uses.use_lesson),
    "templates": Border(_texts("forms", ".jinja"), template_mutant, uses.use_template),
    "suites": Border(suites, suite_mutant, uses.use_suite),
    "records": Border(records, record_mutant, uses.use_record),
    "results": Border(results, result_mutant, uses.use_result),
    "models": Border(models, model_mutant, uses.use_model),
}


class Mutants:
    """The mutants of one kind of file, in a folder that is removed with them."""

    def __init__(self, kind: str, seed: int | str = 0, sources: Sequence[Any] = ()) -> None:
        self._border, self._seed = BORDERS[kind], seed
        self._sources = sources or self._border.sources()

    def make(self, number: int, place: Path) -> tuple[Path, random.Random]:
        """Return the file, and the source of what is chosen next."""
        rng = random.Random(f"{self._seed} {number}")
        return self._border.make(self._sources, place, rng), rng

    def judge(self, number: int) -> uses.Judge:
        judge = uses.Judge()
        with tempfile.TemporaryDirectory() as place:
            self._border.use(judge, *self.make(number, Path(place)))
        return judge


def read_sources(paths: Iterable[Path]) -> list[Any]:
    """The templates and schemas of files and folders; a damaged one is left out."""
    found: list[Any] = []
    files = [file for path in paths for file in (sorted(path.glob("*.j*")) if path.is_dir() else [path])]
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jinja":
            found.append(text)
            continue
        for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
            with contextlib.suppress(ValueError):
                document = json.loads(part)
                found.append(document.get("schema", document) if isinstance(document, dict) else document)
    return found


def main() -> None:
    """Judge the mutants, and print the broken rules, then the number of each outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=BORDERS)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=limited.SECONDS, help="the limit of a template's process"
    )
    parser.add_argument("sources", nargs="*", type=Path)
    asked = parser.parse_intermixed_args()
    limited.SECONDS = asked.seconds
    outcomes: Counter[str] = Counter()
    slowest, faults = (0.0, 0), 0
    mutants = Mutants(asked.kind, asked.seed, read_sources(asked.sources))
    for number in range(asked.first, asked.first + asked.count):
        start = time.monotonic()
        judge = mutants.judge(number)
        slowest = max(slowest, (time.monotonic() - start, number))
        outcomes += judge.outcomes
        faults += bool(judge.broken)
        for what in judge.broken:
            print(f"{number}: {what}", flush=True)
        if number % 250 == 249:
            print(f"{number + 1} … slowest {slowest[0]:.1f} s ({slowest[1]}), {_memory()}", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"{count:6} {outcome}")
    print(f"{faults} broken; slowest {slowest[0]:.1f} s ({slowest[1]}); {_memory()}")


def _memory() -> str:
    own, others = (
        resource.getrusage(who).ru_maxrss / 1000 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return f"at most {own:.0f} MB here and {others:.0f} MB in a process of its own"


if __name__ == "__main__":
    main()
