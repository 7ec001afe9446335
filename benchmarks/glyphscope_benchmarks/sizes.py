"""Long runs, many tools, long contexts and the prompts of evaluations: what each costs at growing sizes, as a table.

    PYTHONPATH=benchmarks .venv/bin/python -m glyphscope_benchmarks.sizes run 25000 50000 100000 200000
    PYTHONPATH=benchmarks .venv/bin/python -m glyphscope_benchmarks.sizes tools 1000 2000 5000 10000
    PYTHONPATH=benchmarks .venv/bin/python -m glyphscope_benchmarks.sizes context 8192 32768 131072
    PYTHONPATH=benchmarks .venv/bin/python -m glyphscope_benchmarks.sizes prompts starter tool-calls

Each size is measured in a separate process, in its processor time unless the title says otherwise. `run` is a run of
a scripted model: so many tokens of reasoning with synthetic evidence, and a call. `tools` have five arguments each.
`context` opens copies of the embedded model whose header states that context, and evaluates a prompt in it. `prompts`
evaluates a suite twice by the embedded model, in one job: prompt tokens are needed once at each place of each prompt,
unless another prompt has the same tokens up to there.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from glyphscope.base.errors import GlyphscopeError, GrammarError
from glyphscope.base.figures import byte_size, duration
from glyphscope.events import LoadOptions, PromptRendered, RunRequest
from glyphscope.explain.proof import iterate_proofs
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.grammar.lark.emit import to_lark
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.models.memory import memory_needed, read_facts
from glyphscope.models.opening import installed_model, open_model
from glyphscope.models.prompt_cache import SUFFIX, PromptCache, stored_files
from glyphscope.models.scripted import ScriptedModel
from glyphscope.processes import own_command
from glyphscope.registry import ToolRegistry, load_registry
from glyphscope.runs import run_state
from glyphscope.runs.prepared import prepare
from glyphscope.runs.strategies.running import first_prompt
from glyphscope.runs.tool_search import ToolIndex
from glyphscope.store.bundle import redacted
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import html_page
from glyphscope.store.records import RecordWriter, read_record
from glyphscope.turns import TurnOptions
from glyphscope.turns.grammar import build_turn_grammar
from glyphscope.turns.own import own_form
from glyphscope_benchmarks.long_run import reasoning_run
from glyphscope_benchmarks.timing import model_processes, private

Cells: TypeAlias = Iterator[tuple[str, str]]
"""The titles of columns, and their cells."""
T = TypeVar("T")

_VERBS = ("create", "list", "update", "delete", "search")
_NOUNS = ("invoice", "customer", "order", "ticket", "branch", "user", "event", "file", "message", "note")
PROVED = 50
"""The tools whose constraints are tested: the time of all follows."""
PROMPT = 2_048
"""Tokens of the prompt that is evaluated in a long context."""
PATIENCE = 30.0
"""Seconds in which a prompt is stored."""


def timed(work: Callable[[], T], clock: Callable[[], float] = time.process_time) -> tuple[float, T]:
    """The seconds of the work, and its value."""
    begin = clock()
    made = work()
    return clock() - begin, made


def of_run(tokens: int, folder: Path) -> Cells:
    def each(seconds: float) -> str:
        return f"{seconds / tokens * 1e6:.0f} µs"

    command = [sys.executable, "-m", "glyphscope_benchmarks.frame_time", "--reasoning"]
    done = subprocess.run(
        [*command, "--tokens", str(tokens), "--rate", "20000"], capture_output=True, check=True
    )
    window: dict[str, Any] = json.loads(done.stdout)
    yield "replay, window's thread", f"{window['own_us_per_token']:.0f} µs"
    yield "window's memory", byte_size(round(window["bytes_per_token"]))
    yield "busy slices, 99%", f"{window['p99_ms']:.0f} ms"
    for name in ("end of the run", "open record", "change theme"):
        yield f"longest, {name}", f"{window['longest_ms'][name]:.0f} ms"
    before = private()
    took, events = timed(lambda: reasoning_run(tokens))
    yield "made, with evidence", each(took)
    yield "memory", byte_size((private() - before) // tokens)
    took, state = timed(lambda: run_state(events))
    assert len(state.tokens) >= tokens
    yield "state", each(took)

    def write() -> None:
        with RecordWriter(folder / "run.jsonl") as writer:
            for event in events:
                writer.write(event)

    yield "record written", each(timed(write)[0])
    yield "record", byte_size((folder / "run.jsonl").stat().st_size // tokens)
    before = private()
    took, record = timed(lambda: read_record(folder / "run.jsonl"))
    yield "record read", each(took)
    yield "memory of the record", byte_size((private() - before) // tokens)
    took, page = timed(lambda: html_page([RecordedRun(tuple(redacted(record.events)))]))
    yield "page made", each(took)
    yield "page", byte_size(len(page.encode()) // tokens)


def tool(number: int) -> dict[str, Any]:
    """A tool in OpenAI's form, with five arguments and eight constraints."""
    verb, noun = _VERBS[number % 5], _NOUNS[number // 5 % 10]
    properties = {
        "id": {
            "type": "string",
            "description": f"Identifier of the {noun}",
            "pattern": "^[a-z]{2}-[0-9]{4}$",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 100 + number % 50},
        "state": {"type": "string", "enum": ["open", "closed", "all"]},
        "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "note": {"type": "string", "maxLength": 200},
    }
    schema = {"type": "object", "properties": properties, "required": ["id"], "additionalProperties": False}
    about = f"{verb.capitalize()} one {noun} of the account number {number}, with its settings."
    name = f"{verb}_{noun}_{number:05}"
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


def of_tools(count: int, folder: Path) -> Cells:
    file = folder / "tools.json"
    file.write_text(json.dumps([tool(number) for number in range(count)]))
    before = private()
    took, registry = timed(lambda: load_registry(file))
    yield "import", duration(took)
    yield "memory", byte_size(private() - before)
    took, index = timed(lambda: ToolIndex(registry.tools, "bm25"))
    yield "index", duration(took)
    yield "search", duration(timed(lambda: index.ranked("delete an invoice"))[0])
    request = RunRequest(prompt="Delete an invoice", registry=registry.to_document())
    model = ScriptedModel()
    yield "prompt and its costs", duration(timed(lambda: first_prompt(prepare(request), model))[0])
    yield from _grammars(registry)
    proved: list[int] = []
    first: list[float] = []
    begin = time.monotonic()

    def progress(done: int, _all: int) -> None:
        proved.append(done)
        first.append(time.monotonic() - begin)

    proofs = iterate_proofs(
        registry, "glyph", "flat", progress=progress, cancelled=lambda: len(proved) >= min(PROVED, count)
    )
    deque(proofs, maxlen=0)
    yield "constraints of the first tool, elapsed", duration(first[0])
    yield f"of {PROVED} tools, elapsed", duration(first[-1])


def _grammars(registry: ToolRegistry) -> Cells:
    """The grammar of all tools, as far as it is within its limits."""
    try:
        form = own_form("glyph", "flat", "call")
        took, grammar = timed(lambda: build_turn_grammar(form, registry, TurnOptions()))
        yield "grammar", duration(took)
        took, gbnf = timed(lambda: emit_gbnf(grammar))
        yield "as GBNF", f"{duration(took)}, {byte_size(len(gbnf.text))}"
        took, lark = timed(lambda: to_lark(grammar), time.monotonic)
        yield "as Lark, compiled by llguidance, elapsed", f"{duration(took)}, {byte_size(len(lark))}"
    except GrammarError as error:
        yield "rejected", error.message


def with_context(model: Path, context: int, folder: Path) -> Path:
    """A copy of a model whose header states another context."""
    data, key = model.read_bytes(), b"llama.context_length"
    at = data.index(key) + len(key) + 4
    copy = folder / f"{context}.gguf"
    copy.write_bytes(data[:at] + context.to_bytes(4, "little") + data[at + 4 :])
    return copy


def of_context(context: int, folder: Path) -> Cells:
    path = with_context(installed_model(), context, folder)
    needed = memory_needed(read_facts(path), LoadOptions(context=context))
    yield "cache, computed", byte_size(needed.cache or 0)
    cache = PromptCache(str(folder / "prompts"), 500_000_000)
    text = " ".join(str(number) for number in range(PROMPT))
    options = LoadOptions(context=context)
    took, model = timed(lambda: open_model(str(path), options=options, prompts=lambda: cache), time.monotonic)
    with closing(model):
        yield "opened, elapsed", duration(took)
        yield "model's process", byte_size(private(*model_processes()))
        ids = model.tokenize(text)[:PROMPT]
        prompt = b"".join(model.vocabulary().tokens[each] for each in ids).decode()
        yield f"prompt of {PROMPT:,} tokens, elapsed", duration(_read(model, prompt))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not list(Path(cache.folder).glob(f"*{SUFFIX}")):
            time.sleep(0.1)
        yield "stored prompt", byte_size(sum(each.size for each in stored_files(Path(cache.folder))))
        yield "the same again, elapsed", duration(_read(model, prompt))
        yield "branch at its half, elapsed", duration(_read(model, prompt[: len(prompt) // 2]))
        yield "model's process then", byte_size(private(*model_processes()))
    model = open_model(str(path), options=options, prompts=lambda: cache)
    with closing(model):
        yield "read from disk, elapsed", duration(_read(model, prompt))
        events = list(_events(model, " ".join(str(number) for number in range(context))))
        yield "longer than the context", next((str(e) for e in events if isinstance(e, str)), "")
    try:
        open_model(str(path), options=LoadOptions(context=context, sequences=8)).close()
        yield "eight sequences", "opened"
    except GlyphscopeError as error:
        yield "eight sequences", f"{error.message} {error.hint}"


def _events(model: Model, prompt: str) -> Iterator[object]:
    try:
        yield from model.generate(GenerateRequest(prompt=prompt, max_tokens=1))
    except GlyphscopeError as error:
        yield f"{error.message} {error.hint}"


def _read(model: Model, prompt: str) -> float:
    """Seconds until the only token after a prompt."""
    return timed(lambda: list(_events(model, prompt)), time.monotonic)[0]


def of_prompts(suite: str, folder: Path) -> Cells:
    environment = {**os.environ, "GLYPHSCOPE_HOME": str(folder / "home")}
    with closing(open_model("embedded")) as model:
        for title in ("first", "again"):
            out = folder / title
            command = own_command(
                "eval", "run", suite, "--model", "embedded", "--jobs", "1", "--out", str(out)
            )
            subprocess.run(command, env=environment, capture_output=True, check=True)
            records = (read_record(each) for each in out.glob("*/runs/**/*") if each.is_file())
            prompts = [e for record in records for e in record.events if isinstance(e, PromptRendered)]
            beginnings: set[tuple[int, int]] = set()
            for prompt in prompts:
                digest = 0
                for place, token in enumerate(model.tokenize(prompt.text)):
                    digest = hash((digest, token))
                    beginnings.add((place, digest))
            if title == "first":
                yield "prompts", f"{len(prompts):,}"
                yield "tokens", f"{sum(each.tokens for each in prompts):,}"
                yield "needed", f"{len(beginnings):,}"
            yield f"evaluated, {title}", f"{sum(each.tokens - each.cached for each in prompts):,}"
        yield "of these, the last of a whole prompt", f"{sum(e.tokens - e.cached == 1 for e in prompts):,}"


PARTS: dict[str, Callable[[Any, Path], Cells]] = {
    "run": of_run,
    "tools": of_tools,
    "context": of_context,
    "prompts": of_prompts,
}


def main() -> None:
    """Measure each size in a separate process, and print the table: a row for each figure, a column for each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("sizes", nargs="+", help="the numbers of tokens or tools, or the names of suites")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = [int(size) if size.isdecimal() else size for size in given.sizes]
    if given.here:
        gc.set_threshold(200_000, 20, 20)  # as in every command
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(dict(PARTS[given.part](sizes[0], Path(folder)))))
        return
    columns: list[dict[str, str]] = []
    for size in given.sizes:
        command = [sys.executable, "-m", "glyphscope_benchmarks.sizes", given.part, str(size), "--here"]
        columns.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    titles = (f"{size:,}" if isinstance(size, int) else size for size in sizes)
    print(f"| {given.part} |", " | ".join(titles), "|")
    print("|---|" + "---|" * len(given.sizes))
    for title in dict.fromkeys(title for column in columns for title in column):
        print(f"| {title} |", " | ".join(column.get(title, "–") for column in columns), "|")


if __name__ == "__main__":
    main()
