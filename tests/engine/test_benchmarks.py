"""The bench: one run of the command, the fairness of its comparisons, and commits beside each other. Not the speed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cli_command import command as glyphscope
from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.events import NOTATIONS, LoadOptions, Message, Notation
from glyphscope.models import open_model
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope_benchmarks import (
    command,
    documents,
    editor,
    evaluating,
    grammars,
    installed_baselines,
    large,
    reading,
    start,
    validators,
    window,
)
from glyphscope_benchmarks.baseline_process import started
from glyphscope_benchmarks.decoding import convertible
from glyphscope_benchmarks.environments import Environment
from glyphscope_benchmarks.figures import Row, Target, at_least, at_most
from glyphscope_benchmarks.history import change, entry
from glyphscope_benchmarks.report import Machine, report
from glyphscope_benchmarks.timing import QUICK, Stamped, interleaved
from untrained_models import Pair, model_file

TINY = replace(QUICK, sizes=(100, 1000, 2000), prompts=1, call_tokens=12, text_tokens=6)
MACHINE = Machine(system="Linux", processor="a processor", cores=2, load=0.5)
TIME = Row("time", "ms", "", at_most(5.0))


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_figure_is_measured_or_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise ModelError("The embedded model is not installed.")

    for module in (window, start):
        monkeypatch.setattr(module, "figures", refuse)
    monkeypatch.setattr(command, "QUICK", TINY)
    monkeypatch.setattr(command, "opened", refuse)
    for name in ("US_PER_CHAR", "GROWTH"):
        monkeypatch.setattr(validators, name, at_most(1e6))
    for module in (grammars, editor):
        monkeypatch.setattr(module, "KEYSTROKE", replace(module.KEYSTROKE, target=at_most(1e6)))
    done = glyphscope("bench", "--quick", "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == 0 and answer["met"] is True and answer["model"] is None
    figures = answer["figures"]
    assert len({figure["name"] for figure in figures}) == len(figures)
    missing = [figure for figure in figures if figure["measured"] is None]
    assert [figure["note"] for figure in missing] == [
        *["not measured: no model: The embedded model is not installed."] * len(command.MODEL_ROWS),
        *[f"not measured: {large.NO_FILE}"] * len(large.ROWS),
        *["not measured: The embedded model is not installed."] * (len(window.ROWS) + len(start.ROWS)),
    ]
    assert all(figure["verdict"] is None for figure in missing)
    measured = [figure for figure in figures if figure not in missing]
    assert len(measured) >= len(NOTATIONS) * (len(TINY.sizes) + 1)
    assert all(figure["measured"] > 0 for figure in measured)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the history of runs without a model."""
    monkeypatch.setenv("GLYPHSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(command, "_open", lambda *_: (None, "no model"))
    return tmp_path


@pytest.mark.parametrize(
    ("repeats", "code", "shown"),
    [([4.0, 1.0, 9.0], 0, "✓ yes"), ([9.0, 1.0, 8.0], 0, "? undecidable"), ([7.0, 6.0, 8.0], 1, "✗ no")],
)
def test_only_a_clearly_missed_target_is_exit_code_1_and_only_a_full_run_is_saved(
    home: Path, monkeypatch: pytest.MonkeyPatch, repeats: list[float], code: int, shown: str
) -> None:
    monkeypatch.setattr(command, "measure", lambda *_: iter([TIME.of(repeats)]))
    assert glyphscope("bench", "--quick").exit_code == code
    assert not (home / "bench.jsonl").exists()
    done = glyphscope("bench")
    low, middle, high = sorted(repeats)
    assert done.exit_code == code
    assert re.search(
        rf"time +{low:.2f} +{middle:.2f} ms +{high:.2f} +≤ 5 ms +{re.escape(shown)}", done.stdout
    )
    saved = json.loads((home / "bench.jsonl").read_text(encoding="utf-8"))
    (figure,) = saved["figures"]
    assert (figure["minimum"], figure["measured"], figure["maximum"]) == (low, middle, high)
    assert saved["machine"]["cores"] >= 1 and "python" in saved["versions"]


def test_commits_are_shown_beside_each_other_and_a_damaged_line_is_named(home: Path) -> None:
    assert "make bench" in glyphscope("bench", "--compare").stdout
    lines = [
        msgspec.structs.replace(
            entry(report([TIME.of(times)], quick=False, seconds=1.0, machine=machine, model=None)),
            commit=name,
        )
        for name, machine, times in (
            ("a" * 40, MACHINE, [1.0, 2.0]),
            ("c" * 40, msgspec.structs.replace(MACHINE, processor="another"), [1.0]),
            ("b" * 40 + "+", MACHINE, [3.0, 4.0]),
        )
    ]
    (home / "bench.jsonl").write_bytes(b"\n".join([*map(msgspec.json.encode, lines), b"damaged", b""]))
    done = glyphscope("bench", "--compare")
    assert done.exit_code == 0 and "line 4" in done.stderr and "cccc" not in done.stdout
    for text in ("aaaaaaaa", "bbbbbbbb+", "1.50 ms", "3.00–4.00", "slower", "load 0.5"):
        assert text in done.stdout
    assert json.loads(glyphscope("bench", "--compare", "--json").stdout)["changes"] == {"time": ["slower"]}


@pytest.mark.parametrize(
    ("target", "repeats", "verdict"),
    [
        (at_most(2.0), [2.0], "met"),
        (at_most(2.0), [2.1, 2.2, 2.3], "missed"),
        (at_most(2.0), [1.9, 2.2, 2.3], "undecidable"),
        (at_least(2.0), [1.7, 1.8, 1.9], "missed"),
        (at_least(2.0), [1.7, 1.8, 2.0], "undecidable"),
        (at_least(2.0), [1.7, 2.1, 2.2], "met"),
    ],
)
def test_a_missed_target_that_a_repeat_meets_is_undecidable(
    target: Target, repeats: list[float], verdict: str
) -> None:
    assert Row("r", "ms", "", target).of(repeats).verdict == verdict


@pytest.mark.parametrize(
    ("before", "after", "target", "expected"),
    [
        ([1.0, 2.0], [2.0, 3.0], at_most(5.0), "not significant"),
        ([1.0, 2.0], [2.1, 3.0], at_most(5.0), "slower"),
        ([1.0, 2.0], [2.1, 3.0], at_least(5.0), "faster"),
        ([1.0, 4.0], [2.0, 3.0], at_most(5.0), "not significant"),
    ],
)
def test_a_change_is_significant_where_the_spreads_do_not_overlap(
    before: list[float], after: list[float], target: Target, expected: str
) -> None:
    one, other = (
        entry(
            report(
                [replace(TIME, target=target).of(times)], quick=False, seconds=1, machine=MACHINE, model=None
            )
        )
        for times in (before, after)
    )
    assert change(one.figures[0], other.figures[0]) == expected
    assert change(None, other.figures[0]) is None


# -- fair comparisons ------------------------------------------------------------------------------------------------


def test_interleaved_work_alternates_its_order() -> None:
    seen: list[str] = []
    interleaved({"a": lambda: seen.append("a"), "b": lambda: seen.append("b")}, 2)
    assert seen == ["a", "b", "b", "a"]


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


def test_an_evaluation_with_other_results_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """With prompts on disk and without, and by two jobs, the samples have to be the same ones."""

    def run_step(command: list[str], failing: str, environment: dict[str, str]) -> bytes:
        jobs = command[command.index("--jobs") + 1]
        results = dict.fromkeys(evaluating._RESULTS, differing * (jobs == "2"))
        folder = Path(command[command.index("--out") + 1]) / "time"
        folder.mkdir()
        (folder / "samples.jsonl").write_text(json.dumps({"id": "a/1", **results}), encoding="utf-8")
        return b""

    monkeypatch.setattr(evaluating, "run_step", run_step)
    monkeypatch.setattr(evaluating, "_code_before", lambda folder: "")
    differing = ""
    figures = evaluating.figures(ScriptedModel("{a=1}"), TINY)
    assert [figure.name for figure in figures] == [row.name for row in evaluating.ROWS]
    differing = "other"
    with pytest.raises(GlyphscopeError, match="samples differ"):
        evaluating.figures(ScriptedModel("{a=1}"), TINY)


ANSWERING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"start": 1.0, "stamps": [1.5, 1.5, 1.5, 2.0], "text": asked["prompt"]}), flush=True)
"""


@pytest.mark.slow
def test_a_baseline_that_cannot_be_measured_has_its_reason_and_the_others_their_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The baselines are a few lines of Python, with four tokens in a second."""

    def python(self: Environment) -> Path:
        if self.name == "outlines":
            raise GlyphscopeError("the packages of outlines cannot be installed: no network")
        return Path(sys.executable)

    def no_compiler() -> Path:
        raise GlyphscopeError("no compiler")

    def requests(model: Model, plan: object) -> Iterator[tuple[Any, dict[str, Any]]]:
        yield SimpleNamespace(prompt="p"), {}

    (tmp_path / "script.py").write_text(ANSWERING, encoding="utf-8")
    monkeypatch.setattr(Environment, "python", python)
    monkeypatch.setattr(installed_baselines, "llama_tools", no_compiler)
    monkeypatch.setattr(installed_baselines, "_SCRIPT", tmp_path / "script.py")
    monkeypatch.setattr(installed_baselines, "_calls", requests)
    monkeypatch.setattr(installed_baselines, "stamped", lambda *_: Stamped(5.0, ((5.5, 4), (6.0, 2))))
    found = {figure.name: figure for figure in installed_baselines.figures(ScriptedModel("{a=1}"), TINY)}
    assert [*found] == [row.name for row in installed_baselines.ROWS]
    over = "tokens/s, our mask over "
    guidance = found[f"{over}guidance"]
    assert guidance.measured == found[f"{over}llama_cpp.server"].measured == 1.5
    assert guidance.samples["ours_tokens"] == 6 and guidance.samples["baseline_tokens"] == 4
    assert "no network" in found[f"{over}Outlines"].note
    for name in (f"{over}llama-server", reading.OVER_LLAMA_BENCH.name):
        assert found[name].note == "not measured: no compiler"


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    opened = open_model("embedded", options=LoadOptions(context=1024))
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.model
def test_the_bare_loop_and_every_mask_decode_the_same_tokens(model: Model) -> None:
    prompt = model.render_chat([Message("user", documents.STORY)]).text
    ours = [
        step.id
        for output in model.generate(GenerateRequest(prompt=prompt, max_tokens=8))
        if isinstance(output, tuple)
        for step in output
    ]
    registry = default_registry()
    (text, *_) = grammars._calls(registry)
    with started(model.info.path, LoadOptions(context=model.info.context)) as baseline:
        arrived, bare = baseline.ask_bare(prompt, 8)
        constrained = baseline.ask(task="grammar", prompt=prompt, schema=convertible(registry), max_tokens=8)
        spent = {
            way: grammars._ask(baseline, way, "json", registry, text).spent
            for way in ("mask", "schema", "gbnf", "converter")
        }
        with pytest.raises(ModelError, match="no such task"):
            baseline.ask(task="dance")
    assert bare.ids == ours and arrived.tokens == len(bare.spent) == 8
    assert constrained.text.startswith("{") and constrained.stamped.tokens == 8
    assert sum(bare.spent) < arrived.seconds and constrained.start < constrained.stamps[0]
    assert {len(each) for each in spent.values()} == {len(model.tokenize(text))}


@pytest.mark.slow
def test_the_cost_of_a_vocabulary_is_measured_beside_a_bare_loop(llama_data: Path) -> None:
    opening, token = large.figures(model_file(llama_data, Pair("llama-spm")), TINY)
    assert 0 < opening.samples["bare_s"] < opening.samples["ours_s"]
    assert opening.measured == pytest.approx(opening.samples["ours_s"] - opening.samples["bare_s"])
    assert token.samples["vocabulary"] == 32_000
