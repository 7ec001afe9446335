"""The uses of each kind of file that is not trusted: each ends in a result or a GlyphscopeError, in time.
`hostile_files.py` makes the files.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from glyphscope.base import resources
from glyphscope.base.errors import GlyphscopeError
from glyphscope.cli.bundle import repeated
from glyphscope.cli.running import show
from glyphscope.evals.results import changes_between, export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import publish
from glyphscope.evals.suites import IMPORTERS
from glyphscope.evals.suites.reading import check_suite, load_suite
from glyphscope.events import AnyEvent, LoadOptions, Message, RunRequest
from glyphscope.explain.impact import loss_words, mask_impact, worst_words
from glyphscope.explain.relaxing import cost_words, relaxation_cost
from glyphscope.explain.segments import earlier_call, part_costs
from glyphscope.grammar import (
    MaskReader,
    build_value_grammar,
    fitting_shape,
    registry_contradictions,
    to_lark,
    uncallable,
)
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.grammar.regular.pattern import found
from glyphscope.grammar.tree import Grammar
from glyphscope.lessons import LessonPlace, check_lesson
from glyphscope.lessons.website import website
from glyphscope.models import GrammarProbe, TemplateSource, open_model, render_template
from glyphscope.models.inspection import inspect_template, with_proof
from glyphscope.models.scripted import ScriptedModel
from glyphscope.processes import limited
from glyphscope.prompting.messages import example_calls, render_messages
from glyphscope.registry import ToolRegistry, load_registry, make_tool, to_json, to_openai
from glyphscope.runs import branch_request, branch_tree, run_state
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.running import first_prompt
from glyphscope.store import first_difference, load_project, pack, save_project
from glyphscope.store.bundle import make_bundle, parse_bundle, redacted
from glyphscope.store.exports import EXPORTS, RecordedRun, export
from glyphscope.store.exports.run_page import html_page
from glyphscope.store.records import encode_record, parse_record
from glyphscope.turns import TurnOptions, build_call_grammar
from glyphscope.validation import CallValidator
from glyphscope_plugins.bfcl.questions import import_bfcl
from glyphscope_plugins.spans import run_spans, spans_json
from schema_mutants import objects_in

CALLS = (
    '{action="search" query="AI news" max_results=10}', '{"action":"browse","url":"https://a.example"}', "{a=[1 {b=",
    '{action="calculate" expression="1" precision=3}', '{action="" a=1 b="x" c={d=[t _ 1e5]}}',
)  # fmt: skip
CALL = CALLS[0]


class Judge:
    """Tries the uses of a file: `outcomes` are their results, `broken` the rules that it breaks."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.broken: list[str] = []

    def tried(
        self,
        name: str,
        use: Callable[[], Any],
        seconds: float = 20.0,
        clock: Callable[[], float] = time.process_time,
    ) -> Any:
        """Return the result, or None after an error; a use takes at most so many seconds, of this process's time."""
        start = clock()
        result = None
        try:
            result = use()
            self.outcomes[f"{name}: done"] += 1
        except GlyphscopeError as error:
            self.outcomes[f"{name}: {type(error).__name__}"] += 1
            if (
                not error.message
                or "None" in error.message
                or "Traceback" in str(error)
                or len(str(error)) > 100_000
            ):
                self.broken.append(f"{name}: a useless message: {str(error)[:500]!r}")
        except Exception:
            self.broken.append(f"{name}: {traceback.format_exc()}")
        if (spent := clock() - start) > seconds:
            self.broken.append(f"{name} took {spent:.1f} s")
        return result


# registries


def use_registry(judge: Judge, path: Path, rng: random.Random) -> None:
    registry = judge.tried("read", lambda: load_registry(path))
    if registry is not None:
        for name in rng.sample(list(REGISTRY_USES), 3):
            judge.tried(name, lambda: REGISTRY_USES[name](registry))  # noqa: B023 - called at once


def _validated(registry: ToolRegistry) -> None:
    for text in CALLS:
        for notation in ("glyph", "json"):
            validator = CallValidator(registry, notation, "flat")
            for start in range(0, len(text), 3):
                validator.feed(text[start : start + 3])
            validator.finish()
            validator.report()


def _asked(registry: ToolRegistry) -> RunRequest:
    return RunRequest(prompt="Hi", registry=registry.to_document(), model="s")


REGISTRY_USES: dict[str, Callable[[ToolRegistry], Any]] = {
    "write": lambda registry: (to_json(registry), json.dumps(to_openai(registry)), registry.digest),
    "check": _validated,
    "examples": example_calls,
    "prompt": lambda registry: render_messages(_asked(registry), registry),
    "uncallable": uncallable,
    "contradictions": registry_contradictions,
    "gbnf": lambda registry: emit_gbnf(build_call_grammar(registry, "json", fitting_shape(registry, "flat"))),
    "lark": lambda registry: to_lark(build_call_grammar(registry, "glyph", fitting_shape(registry, "flat"))),
    "run": lambda registry: tuple(run(_asked(registry), ScriptedModel(CALL))),
}


# schemas


TEXTS = ("", "a", "aaaaaaaaaaaaaaaaaaaaaaaa!", "Zürich 😀 \ud800", "https://example.org/a?b=c")
BUILD_SECONDS = 10.0
"""The processor time of a build, at most; the compilers' process has another limit."""


def use_schema(judge: Judge, path: Path, rng: random.Random) -> None:
    """Build it in a notation and an order, for llguidance and for llama.cpp; match its patterns."""
    schema = json.loads(path.read_bytes())
    notation, order = rng.choice(("json", "glyph")), rng.choice(("any", "schema"))

    def build(order: str) -> Grammar:
        if isinstance(schema, dict) and schema.get("type") == "object":
            tools = ToolRegistry((make_tool("tool", "", schema),))
            return build_call_grammar(tools, notation, "tool-args", TurnOptions(order=order))
        return build_value_grammar(schema, notation, order=order)

    def match() -> None:
        for place in objects_in(schema):
            for pattern in (place.get("pattern"), *(place.get("patternProperties") or ())):
                if isinstance(pattern, str):
                    found(pattern, rng.choice(TEXTS))

    judge.tried("lark", lambda: to_lark(build(order)), BUILD_SECONDS)
    if rng.random() < 0.3:
        judge.tried("gbnf", lambda: emit_gbnf(build("schema")), BUILD_SECONDS)
    judge.tried("patterns", match, BUILD_SECONDS)
    judge.tried("llguidance", lambda: MaskReader(schema=schema), BUILD_SECONDS)


# projects, lessons and suites


def use_project(judge: Judge, path: Path, _rng: random.Random) -> None:
    stored = judge.tried("read", lambda: load_project(path))
    if stored is None:
        return

    def saved() -> None:
        save_project(path, stored.project, stored.digest)
        assert load_project(path).project == stored.project

    request = stored.project.request
    judge.tried("save", saved)
    judge.tried("prompt", lambda: first_prompt(request, ScriptedModel(CALL)))
    judge.tried("run", lambda: tuple(run(request, ScriptedModel(CALL))))


def use_lesson(judge: Judge, path: Path, _rng: random.Random) -> None:
    lesson = LessonPlace(path.name, path)
    judge.tried("read", lesson.read)
    judge.tried("check", lambda: check_lesson(lesson))
    judge.tried("website", lambda: website([lesson]))


SUITE_SECONDS = 10.0
"""Of one file; patterns and paths are compiled in another process, which has its own limits."""


def use_suite(judge: Judge, path: Path, _rng: random.Random) -> None:
    """Read it as the program whose name it has does, and as a suite."""
    importers = {"config": "promptfoo", "data": "inspect"}
    if path.name.startswith("BFCL"):
        suites = [judge.tried("import", lambda: import_bfcl(path).suite, SUITE_SECONDS, time.perf_counter)]
    else:
        suites = [judge.tried("read", lambda: load_suite(path), SUITE_SECONDS, time.perf_counter)]
        if path.stem in importers:
            importer = IMPORTERS.get(importers[path.stem])
            use = lambda: importer.read(path, "default").suite  # noqa: E731
            suites.append(judge.tried("import", use, SUITE_SECONDS, time.perf_counter))
    judge.broken += [f"{check_suite(suite)}" for suite in suites if suite is not None and check_suite(suite)]


# records


def _show(events: tuple[AnyEvent, ...]) -> None:
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):
        show(events, as_json=False)
        show(events, as_json=True)


def _explain(events: tuple[AnyEvent, ...]) -> None:
    state = run_state(events)
    for stage in state.stages:
        impact = mask_impact(state, stage)
        for field in impact.conflicts:
            loss_words(field)
            list(worst_words(field, state.registry))
        part_costs(stage)
        for part in stage.segments:
            if state.started is not None and part.kind == "reasoning":
                earlier_call(stage, part, state.started.request)


def _branch(events: tuple[AnyEvent, ...]) -> None:
    branch_tree([events])
    for token in (0, 3, len(run_state(events).tokens)):
        with contextlib.suppress(GlyphscopeError):
            branch_request(events, token)


def _compare(events: tuple[AnyEvent, ...]) -> None:
    first_difference(events, RELATED)
    first_difference(RELATED, events, 0.1)
    for one, other in ((events, RELATED), (RELATED, events)):
        with contextlib.suppress(GlyphscopeError):
            cost_words(relaxation_cost(one, other))


def _bundle(events: tuple[AnyEvent, ...]) -> None:
    made = make_bundle(events)
    assert parse_bundle(pack(made.files)).files == made.files
    assert parse_record(encode_record(made.record.events)).events == made.record.events


RELATED = parse_record(resources.read_bytes("runs/search-mask.jsonl")).events
RECORD_USES: dict[str, Callable[[tuple[AnyEvent, ...]], Any]] = {
    "show": _show,
    "explain": _explain,
    "branch": _branch,
    "compare": _compare,
    "bundle": _bundle,
    "replay": repeated,
    "compare pages": lambda events: html_page([RecordedRun(redacted(events)), RecordedRun(RELATED)]),
    "spans": lambda events: spans_json(run_spans([RecordedRun(redacted(events))], content=True)),
    **{f"export {form}": lambda events, form=form: export(RecordedRun(events), form) for form in EXPORTS},
}


def use_record(judge: Judge, path: Path, rng: random.Random) -> None:
    use_record_in(judge, path.read_bytes(), rng.sample(list(RECORD_USES), 5))


def use_record_in(judge: Judge, data: bytes, uses: Sequence[str] = tuple(RECORD_USES)) -> None:
    """Read the record, and use it in each of these ways."""
    read = judge.tried("read", lambda: parse_record(data, "run.jsonl"))
    for name in uses if read is not None else ():
        judge.tried(name, lambda: RECORD_USES[name](read.events))  # noqa: B023 - called at once


# results


def _changes(folder: ResultFolder) -> None:
    changes_between((folder.manifest, folder.samples()), (folder.manifest, folder.samples()))


def _records(folder: ResultFolder) -> None:
    for sample in folder.samples():
        for name in sample.runs:
            if folder.has_record(name):
                folder.record(name)


RESULT_USES: dict[str, Callable[[Path], Any]] = {
    "publish": publish,
    "changes": lambda path: _changes(ResultFolder.open(path)),
    "records": lambda path: _records(ResultFolder.open(path)),
    **{
        f"to {form}": lambda path, form=form: export_samples(
            ResultFolder.open(path), path.parent / f"out.{form}"
        )
        for form in ("csv", "parquet", "eval", "json")
    },
}


def use_result(judge: Judge, path: Path, _rng: random.Random) -> None:
    for name, use in RESULT_USES.items():
        judge.tried(name, lambda: use(path))  # noqa: B023 - called at once


# templates and models, in separate processes

TALK = [Message("system", "Be brief."), Message("user", "Hello")]
SPARE = 8.0
"""Seconds that a process may take to start, besides the limits of its work."""


def use_template(judge: Judge, path: Path, rng: random.Random) -> None:
    template = TemplateSource(path.read_bytes().decode("utf-8", "surrogatepass"), where=path.name)
    # the limits of an inspection and of its proof, on a machine that gives them a third of its time
    seconds = 9 * limited.SECONDS + SPARE
    judge.tried("render", lambda: render_template(template, TALK), seconds, time.monotonic)
    if rng.random() < 0.3:
        inspect = lambda: with_proof(inspect_template(template), template, 5)  # noqa: E731
        judge.tried("inspect", inspect, seconds, time.monotonic)


def use_model(judge: Judge, path: Path, _rng: random.Random) -> None:
    """Open it, and read its vocabulary."""

    def probe() -> None:
        with GrammarProbe(path) as grammars:
            grammars.tokens(["Hello"])

    judge.tried(
        "open",
        lambda: open_model(str(path), options=LoadOptions(context=64)).close(),
        60 + SPARE,
        time.monotonic,
    )
    judge.tried("probe", probe, 60 + SPARE, time.monotonic)
