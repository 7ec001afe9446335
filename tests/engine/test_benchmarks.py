"""The bench's structure: its measurements and targets, and the texts for unavailable ones. Not the speed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli_command import command as glyphscope
from glyphscope.base.errors import GlyphscopeError, ModelDied, ModelError
from glyphscope.events import NOTATIONS, LoadOptions, Message, Notation
from glyphscope.models import GenerateRequest, Model, ScriptedModel, open_model
from glyphscope.registry import default_registry
from glyphscope_benchmarks import (
    command,
    documents,
    evaluating,
    grammars,
    large,
    report,
    start,
    validators,
    window,
)
from glyphscope_benchmarks.baseline_process import started
from glyphscope_benchmarks.decoding import convertible, stamped
from glyphscope_benchmarks.figures import Row, Target, at_least, at_most
from glyphscope_benchmarks.timing import (
    QUICK,
    Plan,
    Stamped,
    interleaved,
    interleaved_by_prompt,
    rates,
    ratios,
)
from untrained_models import Pair, model_file

Measuring = Callable[..., Any]
TINY = replace(QUICK, sizes=(100, 1000, 2000), prompts=1, call_tokens=12, text_tokens=6)


@pytest.fixture
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(plan: Plan) -> list[object]:
        raise GlyphscopeError("there is no window here")

    monkeypatch.setattr(window, "figures", refuse)
    monkeypatch.setattr(start, "figures", refuse)


def test_a_target_is_met_at_its_own_value() -> None:
    assert Row("r", "×", "", at_most(2.0)).of([2.0]).verdict == "met"
    assert Row("r", "×", "", at_most(2.0)).of([2.1]).verdict == "missed"
    assert Row("r", "×", "", at_least(2.0)).of([1.9]).verdict == "missed"
    assert Row("r", "×", "").of([9.0]).verdict is None


def test_a_figure_has_the_spread_of_its_repeats() -> None:
    figure = Row("r", "ms", "").of([3.0, 1.0, 9.0])
    assert (figure.minimum, figure.measured, figure.maximum, figure.repeats) == (1.0, 3.0, 9.0, 3)
    missing = Row("r", "ms", "").missing("no model")
    assert (missing.minimum, missing.measured, missing.maximum, missing.repeats) == (None, None, None, 0)


@pytest.mark.parametrize(
    ("target", "repeats", "verdict"),
    [
        (at_most(2.0), [2.1, 2.2, 2.3], "missed"),
        (at_most(2.0), [1.9, 2.2, 2.3], "undecidable"),
        (at_most(2.0), [1.8, 1.9, 2.3], "met"),
        (at_least(2.0), [1.7, 1.8, 1.9], "missed"),
        (at_least(2.0), [1.7, 1.8, 2.0], "undecidable"),
        (at_least(2.0), [1.7, 2.1, 2.2], "met"),
    ],
)
def test_a_missed_target_that_a_repeat_meets_is_undecidable(
    target: Target, repeats: list[float], verdict: str
) -> None:
    assert Row("r", "ms", "", target).of(repeats).verdict == verdict


def test_higher_is_better_for_a_target_to_reach_or_where_the_row_says_so() -> None:
    assert Row("r", "×", "", at_least(2.0)).of([1.0]).better == "higher"
    assert Row("r", "×", "", higher_is_better=True).missing("no model").better == "higher"
    assert Row("r", "ms", "", at_most(2.0)).of([1.0]).better == "lower"


def test_a_ratio_is_taken_round_by_round() -> None:
    assert ratios([1.0, 4.0], [2.0, 2.0]) == [0.5, 2.0]


def test_interleaved_work_alternates_its_order() -> None:
    seen: list[str] = []
    interleaved({"a": lambda: seen.append("a"), "b": lambda: seen.append("b")}, 2)
    assert seen == ["a", "b", "b", "a"]


def test_all_rounds_of_a_prompt_come_before_those_of_the_next() -> None:
    seen: list[tuple[str, int]] = []
    keys = [(way, prompt) for prompt in (0, 1) for way in "ab"]
    results = interleaved_by_prompt({key: partial(seen.append, key) for key in keys}, 2)
    assert seen == [(way, prompt) for prompt in (0, 1) for way in "abba"]
    assert list(results) == keys and all(len(rounds) == 2 for rounds in results.values())


def test_a_rate_covers_all_generations_of_a_round() -> None:
    slow, usual = Stamped(0.0, ((1.0, 2), (6.0, 2))), Stamped(0.0, ((1.0, 2), (2.0, 2)))
    assert rates([[usual, slow], [usual, usual]]) == [2.0, 1.0]
    assert rates([[Stamped(0.0, ())]]) == [0.0]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_the_documents_are_valid_calls(notation: Notation) -> None:
    for registry, text in (
        (default_registry(), documents.long_string(notation, 500)),
        (documents.BOUND, documents.bound_string(notation, 500)),
        (documents.MEMBERS, documents.many_members(notation, 500)),
    ):
        assert 400 < len(text) < 700
        validators.ours(registry, notation)(text, documents.tokens(text))


def test_the_baseline_validators_read_their_documents() -> None:
    text = documents.head_form(300)
    validators.glyph_py(text, documents.tokens(text))
    with pytest.raises(AssertionError):  # otherwise a baseline that reads nothing would be the fastest
        validators.glyph_py(text, documents.tokens(text[:-1]))


@pytest.mark.slow
def test_every_validator_figure_has_its_own_name_and_the_projects_have_targets() -> None:
    figures = list(validators.figures(TINY))
    assert len({figure.name for figure in figures}) == len(figures)
    targeted = [figure for figure in figures if figure.target is not None]
    assert len(targeted) == len(NOTATIONS) * (len(TINY.sizes) + 1)
    assert all(figure.measured is not None and figure.measured > 0 for figure in targeted)


def test_the_baseline_schema_names_every_allowed_tool_and_has_no_pattern() -> None:
    schema = convertible(default_registry())
    names = [one["properties"]["action"]["const"] for one in schema["oneOf"]]
    assert names == [tool.name for tool in default_registry().allowed]
    assert '"pattern"' not in json.dumps(schema)


def test_a_step_is_one_arrival_of_all_its_tokens() -> None:
    generation = stamped(ScriptedModel("{a=1}"), GenerateRequest(prompt="p"))
    assert generation.tokens == sum(count for _, count in generation.arrivals) > 0
    assert generation.seconds >= sum(generation.intervals) >= 0


@pytest.mark.slow
def test_figures_that_need_a_model_are_reported_as_not_measured_without_one(
    monkeypatch: pytest.MonkeyPatch, no_window: None
) -> None:
    def nothing(name: str, **_: object) -> Model:
        raise ModelError("The embedded model is not installed.")

    monkeypatch.setattr(command, "QUICK", TINY)
    monkeypatch.setattr(command, "opened", nothing)
    monkeypatch.setattr(validators, "US_PER_CHAR", at_most(1e6))
    monkeypatch.setattr(validators, "GROWTH", at_most(1e6))
    monkeypatch.setattr(grammars, "KEYSTROKE", replace(grammars.KEYSTROKE, target=at_most(1e6)))
    done = glyphscope("bench", "--quick", "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == 0 and answer["met"] is True and answer["model"] is None
    missing = [figure for figure in answer["figures"] if figure["measured"] is None]
    notes = [figure["note"] for figure in missing]
    assert notes == [
        *["not measured: no model: The embedded model is not installed."] * len(command.MODEL_ROWS),
        *[f"not measured: {large.NO_FILE}"] * len(large.ROWS),
        *["not measured: there is no window here"] * (len(window.ROWS) + len(start.ROWS)),
    ]
    assert all(figure["verdict"] is None for figure in missing)
    assert answer["machine"]["cores"] >= 1 and "python" in answer["versions"]


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Measuring:
    """Runs the bench with these repeats as its only figure, whose target is at most 1 ms."""

    def run(repeats: Sequence[float], *options: str) -> Any:
        figure = Row("slow", "ms", "", at_most(1.0)).of(repeats)
        monkeypatch.setattr(command, "measure", lambda *_: iter([figure]))
        monkeypatch.setattr(command, "_open", lambda *_: (None, "no model"))
        return glyphscope("bench", *options)

    return run


def test_a_clearly_missed_target_is_exit_code_1_and_a_no_in_the_table(measuring: Measuring) -> None:
    done = measuring([2.0, 1.5, 3.0])
    assert done.exit_code == 1
    assert re.search(r"slow +1\.50 +2\.00 ms +3\.00 +≤ 1 ms +✗ no", done.stdout)


def test_an_undecidable_target_is_exit_code_0_and_said_in_table_and_json(measuring: Measuring) -> None:
    done = measuring([2.0, 0.5, 3.0])
    assert done.exit_code == 0
    assert "? undecidable" in done.stdout and report.UNDECIDABLE in done.stdout
    answer = json.loads(measuring([2.0, 0.5, 3.0], "--json").stdout)
    (figure,) = answer["figures"]
    assert answer["met"] is True and figure["verdict"] == "undecidable"
    assert (figure["minimum"], figure["measured"], figure["maximum"], figure["repeats"]) == (0.5, 2.0, 3.0, 3)


@pytest.mark.parametrize(("load", "text"), [(None, "load unknown"), (3.25, "load 3.2")])
def test_the_footnotes_name_the_machine_and_its_load(load: float | None, text: str) -> None:
    machine = report.Machine(system="Linux", processor="a processor", cores=2, load=load)
    found = report.report([], quick=True, seconds=9.0, machine=machine, model=None)
    notes = [str(note) for note in report.footnotes(found)]
    assert notes[0] == f"no model; a processor, 2 cores, {text}; 9 s"
    assert len(notes) == (2 if load else 1)


def test_a_model_that_computes_nothing_is_rejected() -> None:
    done = glyphscope("bench", "--quick", "--model", "scripted:{a=1}")
    assert done.exit_code == 2 and "GGUF" in done.stderr


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (
            b'{"p50_ms": 1, "p90_ms": 2, "p99_ms": 7.5, "max_ms": 20.0, "tokens": 2000, "seconds": 1.0,'
            b'"longest_ms": {"end of the run": 20, "change theme": 80}}',
            "",
        ),
        (b"", "boom"),
        (b"{}", "boom"),
    ],
)
def test_the_windows_figure_is_read_or_its_error_is_reported(
    monkeypatch: pytest.MonkeyPatch, printed: bytes, words: str
) -> None:
    monkeypatch.setattr(window, "find_spec", lambda name: object())
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, printed, b"a\nboom\n")
    )
    if words:
        with pytest.raises(GlyphscopeError, match=words):
            window.figures(TINY)
    else:
        busy, longest = window.figures(TINY)
        assert busy.measured == 7.5 and busy.verdict == "met" and busy.samples["tokens_per_second"] == 2000
        assert (longest.measured, longest.verdict, longest.note) == (80, "missed", "change theme")


def test_a_window_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "find_spec", lambda name: None)
    with pytest.raises(GlyphscopeError, match="PySide6"):
        window.figures(TINY)


@pytest.mark.slow
def test_the_starts_are_measured_with_their_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_MIN_ROUNDS", 1)
    figures = start.figures(TINY)
    assert [figure.name for figure in figures] == [row.name for row in start.ROWS]
    for figure in figures:
        assert figure.measured is not None, figure.note
        assert figure.minimum is not None and figure.minimum <= figure.measured
        assert figure.samples["cpu_s"] > 0


def test_a_start_that_fails_is_reported_with_its_last_line() -> None:
    with pytest.raises(GlyphscopeError, match="boom"):
        start._ended(dict(os.environ), [sys.executable, "-c", "raise SystemExit('boom')"])


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    opened = open_model("embedded", options=LoadOptions(context=1024))
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.model
def test_a_baseline_that_cannot_load_the_file_is_a_model_error(tmp_path: object) -> None:
    with started(f"{tmp_path}/none.gguf", LoadOptions(context=512)) as baseline, pytest.raises(ModelError):
        baseline.ask_bare("x", 1)


@pytest.mark.slow
@pytest.mark.model
def test_the_bare_loop_decodes_the_same_tokens(model: Model) -> None:
    prompt = model.render_chat([Message("user", documents.STORY)]).text
    ours = [
        step.id
        for output in model.generate(GenerateRequest(prompt=prompt, max_tokens=8))
        if isinstance(output, tuple)
        for step in output
    ]
    with started(model.info.path, LoadOptions(context=model.info.context)) as baseline:
        arrived, bare = baseline.ask_bare(prompt, 8)
        constrained = baseline.ask(
            task="grammar", prompt=prompt, schema=convertible(default_registry()), max_tokens=8
        )
        with pytest.raises(ModelError, match="no such task"):
            baseline.ask(task="dance")
    assert bare.ids == ours and arrived.tokens == len(bare.spent) == 8
    assert constrained.text.startswith("{") and constrained.stamped.tokens == 8
    assert sum(bare.spent) < arrived.seconds and constrained.start < constrained.stamps[0]


@pytest.mark.slow
def test_the_cost_of_a_vocabulary_is_measured_beside_a_bare_loop(llama_data: Path) -> None:
    opening, token = large.figures(model_file(llama_data, Pair("llama-spm")), TINY)
    assert 0 < opening.samples["bare_s"] < opening.samples["ours_s"]
    assert opening.measured == pytest.approx(opening.samples["ours_s"] - opening.samples["bare_s"])
    assert token.samples["vocabulary"] == 32_000
    assert {"mask_ms", "choice_and_evidence_ms", "bare_ms_per_token", "ours_ms_per_token"} <= set(
        token.samples
    )


@pytest.mark.slow
def test_a_file_without_a_model_is_reported_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, no_window: None, tmp_path: Path
) -> None:
    for module in (validators, grammars):
        monkeypatch.setattr(module, "figures" if module is validators else "keystroke", lambda *_: iter([]))
    figures = list(command.measure(TINY, None, "no model", str(tmp_path / "none.gguf")))
    notes = {figure.name: figure.note for figure in figures}
    assert all(
        notes[row.name].startswith("not measured: ") and "--large" not in notes[row.name]
        for row in large.ROWS
    )


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Evaluations, none of which runs: the home and the jobs of each. Those with two jobs answer `differing`."""
    seen: list[tuple[str, str]] = []

    def run_step(command: list[str], failing: str, environment: dict[str, str]) -> bytes:
        home, jobs = environment["GLYPHSCOPE_HOME"], command[command.index("--jobs") + 1]
        seen.append((home, jobs))
        results = dict.fromkeys(evaluating._RESULTS, os.environ.get("DIFFERING", "") * (jobs == "2"))
        folder = Path(command[command.index("--out") + 1]) / "time"
        folder.mkdir()
        (folder / "samples.jsonl").write_text(json.dumps({"id": "a/1", **results}), encoding="utf-8")
        return b""

    monkeypatch.setattr(evaluating, "run_step", run_step)
    monkeypatch.setattr(evaluating, "_code_before", lambda folder: "")
    return seen


def test_an_evaluation_is_measured_with_and_without_prompts_on_disk(evaluated: list[tuple[str, str]]) -> None:
    figures = evaluating.figures(ScriptedModel("{a=1}"), TINY)
    assert [figure.name for figure in figures] == [row.name for row in evaluating.ROWS]
    assert all(figure.samples["before_s"] > 0 and figure.samples["now_s"] > 0 for figure in figures)
    (before, _), *now = evaluated[2:]  # after one short evaluation of each version
    assert [jobs for _, jobs in now] == ["1", "1", "2", "2"]
    first, again, parallel, parallel_again = (home for home, _ in now)
    assert first == again and parallel == parallel_again and len({before, first, parallel}) == 3


def test_an_evaluation_with_other_results_has_no_figure(
    evaluated: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFERING", "other")
    with pytest.raises(GlyphscopeError, match="samples differ"):
        evaluating.figures(ScriptedModel("{a=1}"), TINY)


@pytest.mark.slow
def test_the_version_before_is_read_from_the_repository(tmp_path: Path) -> None:
    try:
        engine, assets = map(Path, evaluating._code_before(tmp_path).split(os.pathsep))
    except GlyphscopeError as error:
        pytest.skip(error.message)  # a copy without the history
    assert (engine / "glyphscope").is_dir() and (assets / "glyphscope_assets").is_dir()


def test_a_repository_without_the_version_before_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "BEFORE", "0" * 40)
    with pytest.raises(GlyphscopeError, match="commit 0000000, to compare with, cannot be read"):
        evaluating._code_before(tmp_path)


@pytest.mark.slow
@pytest.mark.model
def test_a_call_that_one_grammar_masks_is_a_model_error(model: Model) -> None:
    registry = default_registry()
    (text, *_) = grammars._calls(registry)
    with started(model.info.path, LoadOptions(context=256)) as baseline:
        spent = {
            way: grammars._ask(baseline, way, "json", registry, text).spent
            for way in ("mask", "schema", "gbnf", "converter")
        }
        with pytest.raises(ModelError, match="no way"):
            grammars._ask(baseline, "dance", "json", registry, text)
    assert {len(each) for each in spent.values()} == {len(model.tokenize(text))}


def test_tools_of_two_suffixes_have_different_digests() -> None:
    first, second = documents.many_tools(9, "_a"), documents.many_tools(9, "_b")
    assert len({tool.name for tool in (*first.tools, *second.tools)}) == 18
    assert first.digest != second.digest


@pytest.mark.slow
@pytest.mark.model
def test_a_baseline_that_died_is_named(model: Model) -> None:
    with started(model.info.path, LoadOptions(context=256)) as baseline:
        baseline._process.kill()
        with pytest.raises(ModelDied, match="exit code -9"):
            baseline.ask_bare("x", 1)
