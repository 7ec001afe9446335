"""The evaluation page's item models: figures, reasons, pairs and prices, without a window."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import get_args

import msgspec
import pytest
from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results import by_scenario, summarise
from glyphscope.evals.results.folder import ResultFolder, ResultRow
from glyphscope.evals.results.sample import Reason, SampleFailure
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope.evals.running.progress import Begun, EvaluationEnded, ModelOpened, SampleDone
from glyphscope.evals.suites.suite import Scenario, Suite
from glyphscope_gui.evaluate import (
    COUNT,
    MEASURES,
    ROW_ROLE,
    SHOWN_ROLE,
    EvalFailuresModel,
    EvalPairsModel,
    EvalResult,
    EvalTableModel,
    Growing,
    arm_labels,
    price,
    price_words,
    provenance,
    read_result,
    seconds_a_sample,
    summary_words,
    tokens_at_most,
)
from glyphscope_gui.evaluate.table import REASON, TEXT, VERDICT, EvalRunsModel, contrast, ground, ink
from glyphscope_gui.theme import ThemeManager
from made_results import four_arms, made_manifest, made_result, made_sample, many_samples


def shown(path, manifest, samples, summary=None):
    """The result of samples that are written to that folder."""
    (path / "samples.jsonl").write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in samples))
    return EvalResult(path, manifest, ResultFolder(path, manifest).table(), summary)


@pytest.fixture
def result(tmp_path):
    arms = four_arms()
    samples = list(many_samples(arms, 8, 3))
    manifest = made_manifest(arms, 8, 3)
    return shown(tmp_path, manifest, samples, summarise(manifest, samples))


@pytest.fixture
def table(qapp, result):
    model = EvalTableModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(result)
    return model


# -- figures -----------------------------------------------------------------------------------------------------


def test_a_cell_shows_the_share_and_interval_of_the_summary(result):
    rows = {(row.kind, row.name): row for row in result.rows()}
    for arm in result.summary.arms:
        for measure in ("ok", "parsed", "valid", "right_tool", "right_arguments", "valid_wrong"):
            for row, figures in (
                (rows["all", "All scenarios"], arm.tools),
                (rows["suite", "made"], arm.by_suite["made"]),
                (rows["group", "browse"], arm.by_group["browse"]),
            ):
                reported, shown = getattr(figures, measure), result.figure(row, arm.arm, measure)
                assert (shown.correct, shown.of) == (reported.correct, reported.n)
                assert (shown.value, shown.low, shown.high) == pytest.approx(
                    (reported.share, reported.low, reported.high)
                )
    for scenario in by_scenario(result.manifest, result.samples).scenarios:
        row = rows["scenario", scenario.scenario]
        for arm, figures in scenario.figures.items():
            shown = result.figure(row, arm, "ok")
            assert (shown.value, shown.low, shown.high) == pytest.approx(
                (figures.ok.share, figures.ok.low, figures.ok.high)
            )


def test_a_result_of_controls_alone_counts_them(tmp_path):
    arm = four_arms()[0]
    result = shown(
        tmp_path, made_manifest((arm,), 2, 1), [made_sample(arm, n, control=True) for n in range(2)]
    )
    assert [result.figure(row, arm.id, "ok").of for row in result.rows()] == [2, 2, 1, 1]
    assert (result.scenarios, result.controls, len(result.counted)) == (2, 0, 2)


def test_pairs_have_an_answer_in_both_arms_as_in_the_comparison(tmp_path):
    first, second, *_ = arms = four_arms()
    samples = [made_sample(arm, n) for arm in (first, second) for n in range(3)]
    samples[-1] = made_sample(second, 2, ok=False, failures=(SampleFailure(reason="TIMEOUT", detail=""),))
    manifest = made_manifest(arms, 3, 1)
    result = shown(tmp_path, manifest, samples, summarise(manifest, samples))
    pairs, count = result.pairs(first.id, second.id)
    assert count == 2 == result.summary.comparisons[0].pairs and not pairs


def test_a_model_that_died_counts_as_a_wrong_answer(tmp_path):
    arm = four_arms()[0]
    dead = made_sample(arm, 1, ok=False, failures=(SampleFailure(reason="MODEL_FAILED"),))
    result = shown(tmp_path, made_manifest((arm,), 2, 1), [made_sample(arm, 0), dead])
    figure = result.figure(result.rows()[0], arm.id, "ok")
    assert (figure.n, figure.of, figure.value) == (2, 1, 1.0)


def test_figures_with_new_samples_are_those_of_a_result_that_was_read_at_once(tmp_path):
    arms = four_arms()
    samples, manifest = list(many_samples(arms, 20, 5)), made_manifest(arms, 20, 5)
    result = shown(tmp_path, manifest, samples)
    before = [result.figure(row, arm.id, "ok") for row in result.rows() for arm in arms]
    new = [
        made_sample(arms[0], 3, trial=6),
        made_sample(arms[0], 20),
        made_sample(arms[1], 3, trial=2, ok=False),
    ]
    whole = shown(tmp_path, manifest, [*samples, *new])
    grown = EvalResult(tmp_path, manifest, ResultFolder(tmp_path, manifest).table(result.table))
    after = [grown.figure(row, arm.id, "ok") for row in grown.rows() for arm in arms]
    assert after != before and len(grown) == len(samples) + 2, "one was made again"
    assert after == [whole.figure(row, arm.id, "ok") for row in whole.rows() for arm in arms]
    assert list(grown.newest)[:3] == new[::-1]


def test_a_quantity_shows_its_spread(tmp_path):
    arm = four_arms()[0]
    samples = [made_sample(arm, n, decoded=decoded) for n, decoded in enumerate((10, 20, 90))]
    result = shown(tmp_path, made_manifest((arm,), 3, 1), samples)
    everything = result.rows()[0]
    figure = result.figure(everything, arm.id, "decoded")
    assert (figure.value, figure.low, figure.high) == (20, 10, 90)
    assert result.figure(everything, arm.id, "saved").value is None, "a missing measurement is not zero"


def test_samples_that_cannot_be_read_show_the_error_in_place_of_their_texts(tmp_path):
    result = read_result(made_result(tmp_path)).result
    (result.path / "samples.jsonl").write_text("changed")
    sample = result.samples[0]
    assert "cannot be read" in sample.text and sample.scenario and sample.arm in result.arms
    (result.path / "samples.jsonl").unlink()
    assert "no such file" in result.samples[1].text


def test_the_summary_of_a_large_result_is_read_unless_it_is_older_than_the_samples(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.evaluate.reading.INDEXED_FROM", 1)
    path = made_result(tmp_path)
    made = read_result(path).result.summary
    saved = msgspec.structs.replace(made, notes=("read",))
    (path / "summary.json").write_bytes(msgspec.json.encode(saved))
    assert read_result(path).result.summary == saved
    (path / "samples.jsonl").touch()
    os.utime(path / "summary.json", (1, 1))
    assert read_result(path).result.summary == made
    (path / "summary.json").write_text("{")
    assert read_result(path).result.summary == made


# -- the heat map ------------------------------------------------------------------------------------------------


def test_a_screen_reader_reads_all_figures_of_a_cell(table):
    words = table.index(0, 1).data(Qt.ItemDataRole.AccessibleTextRole)
    figure = table.result.figure(table.row(0), table.arm(1), "ok")
    assert "All scenarios, GLYPH · mask: all correct" in words
    assert f"{figure.correct} of {figure.of}" in words and "95% interval" in words


def test_a_group_collapses_with_its_rows_and_expands_as_it_was(table):
    names = [table.headerData(n, Qt.Orientation.Vertical) for n in range(table.rowCount())]
    place = names.index("browse")
    assert table.toggle(place) and table.rowCount() == len(names) - 2
    suite = names.index("made")
    assert table.toggle(suite) and table.rowCount() == 2
    assert table.toggle(suite) and table.rowCount() == len(names) - 2, "collapsed groups in it stay collapsed"
    table.toggle(place)
    assert [table.headerData(n, Qt.Orientation.Vertical) for n in range(table.rowCount())] == names
    assert not table.toggle(len(names) - 1), "a scenario has no children"


def test_a_growing_result_keeps_its_rows_and_the_cursor(qapp, tmp_path):
    arms = four_arms()[:2]
    samples = list(many_samples(arms, 8, 1))
    manifest = made_manifest(arms, 8, 1)
    model = EvalTableModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(shown(tmp_path, manifest, samples[:2]))
    looked_at = model.index(model.rowCount() - 1, 0)
    current = model.row(looked_at.row())
    cursor = QPersistentModelIndex(looked_at)
    for number in range(3, len(samples) + 1):
        result = shown(tmp_path, manifest, samples[:number])
        model.grow(result)
    assert model.row(cursor.row()) == current
    assert model.rowCount() == len(result.rows()) and result.figure(result.rows()[0], arms[1].id, "ok").n == 8


def test_a_result_that_was_read_is_shown_without_going_through_its_samples(qapp, tmp_path):
    result = read_result(made_result(tmp_path)).result
    result.table.rows = None
    model, failures = EvalTableModel(), EvalFailuresModel()
    model.show(result)
    failures.show(result, {})
    places = [n for n in range(model.rowCount()) if model.row(n).kind != "scenario"]
    assert all(model.index(n, column).data().endswith("%") for n in places for column in range(4))
    assert failures.rowCount() and not result.is_judged


def test_a_growing_result_is_read_again_at_intervals_and_at_its_end(tmp_path):
    path = made_result(tmp_path)
    manifest = ResultFolder.open(path).manifest
    sample = made_sample(four_arms()[0], trial=4)
    growing = Growing(path)
    assert len(growing.after(Begun(path, manifest, 96))) == 96
    with open(path / "samples.jsonl", "ab") as file:
        file.write(msgspec.json.encode(sample) + b"\n")
    assert growing.after(SampleDone(sample, 97, 0.0)) is None, "it was read a moment ago"
    assert growing.after(EvaluationEnded(path, True)).newest[0] == sample
    (path / "manifest.json").write_text("{")
    assert growing.after(ModelOpened("other")) is None, "the evaluation continues"


def test_every_measure_can_be_shown(table):
    for measure in MEASURES:
        table.set_measure(measure.name)
        for row in range(table.rowCount()):
            for column in range(table.columnCount()):
                shown = table.index(row, column).data(SHOWN_ROLE)
                assert shown.words and (shown.note or shown.strength is None)
                if shown.strength is not None:
                    assert (
                        0 <= shown.low <= shown.high <= 1 and 0 <= shown.at <= 1 and 0 <= shown.strength <= 1
                    )
    assert table.headerData(0, Qt.Orientation.Vertical, ROW_ROLE).kind == "all"


@pytest.mark.parametrize("name", ("light", "dark"))
def test_numbers_can_be_read_on_every_ground(qapp, name):
    owner = QObject()
    ThemeManager(qapp, name, parent=owner)
    grounds = [ground(n / 50) for n in range(51)]
    assert all(contrast(ink(each), each) >= 4.5 for each in grounds)
    greys = [0.2126 * g.redF() + 0.7152 * g.greenF() + 0.0722 * g.blueF() for g in grounds]
    steps = [b - a for a, b in pairwise(greys)]
    assert all(step < 0 for step in steps) or all(step > 0 for step in steps), "greyscale keeps the order"


# -- runs, failures, pairs ---------------------------------------------------------------------------------------


def test_verdicts_of_runs_are_shown_in_words(qapp):
    arm = four_arms()[0]
    model = EvalRunsModel()
    dead = made_sample(arm, 2, ok=False, failures=(SampleFailure(reason="MODEL_FAILED", detail="It died."),))
    model.show([made_sample(arm), made_sample(arm, 1, ok=False), dead], {})
    assert model.all_same(1) and not model.all_same(0), "a column with one value is hidden"
    verdicts = [model.index(row, VERDICT).data() for row in range(3)]
    assert verdicts == ["✓ correct", "✕ incorrect", "– no answer"]
    wrong = SampleFailure(reason="WRONG_ARGUMENTS", path="/max_results")
    unread = SampleFailure(reason="PARSE", code="LEADING_TEXT")
    model.show([made_sample(arm, ok=False, failures=(each,)) for each in (wrong, unread)], {})
    reasons = [model.index(row, REASON).data() for row in range(2)]
    assert reasons == ["Wrong arguments /max_results", "The text is not of the expected form (LEADING_TEXT)"]
    odd = msgspec.structs.replace(made_sample(arm), text="<b>bold</b>\nline")
    model.show([odd], {})
    assert model.index(0, TEXT).data() == "<b>bold</b> line"
    assert "&lt;b&gt;" in model.index(0, TEXT).data(Qt.ItemDataRole.ToolTipRole)


def test_failures_count_every_failed_sample_once(qapp, result):
    model = EvalFailuresModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(result, arm_labels(result.manifest.arms))
    roots = [model.index(row, 0) for row in range(model.rowCount())]
    found = [sample.id for root in roots for sample in model.samples(root)]
    assert sorted(found) == sorted(sample.id for sample in result.samples if not sample.ok)
    for root in roots:
        below = [model.samples(model.index(row, 0, root)) for row in range(model.rowCount(root))]
        assert sum(map(len, below)) == len(model.samples(root))
        assert model.index(root.row(), COUNT, QModelIndex()).data() == f"{len(model.samples(root)):,}"


def test_only_pairs_that_differ_are_listed(qapp, tmp_path):
    first, second, *_ = four_arms()
    samples = [
        made_sample(first, 0), made_sample(second, 0),
        made_sample(first, 1), made_sample(second, 1, ok=False),
        made_sample(first, 2, calls=()), made_sample(second, 2),
        made_sample(first, 3),
    ]  # fmt: skip
    result = shown(tmp_path, made_manifest((first, second), 4, 1), samples)
    pairs, count = result.pairs(first.id, second.id)
    assert count == 3
    assert [(pair.first.scenario, pair.first.ok != pair.second.ok) for pair in pairs] == [
        ("browse-01", True),
        ("calculate-02", False),
    ]
    model = EvalPairsModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(pairs, "one", "other")
    assert model.index(0, 3).data() == "✕ tool"


# -- words and prices --------------------------------------------------------------------------------------------


def test_arms_that_differ_have_different_names():
    arms = [*four_arms(), Arm(model="other.gguf"), Arm(model="x/other.gguf", profile="creative")]
    labels = arm_labels(arms)
    assert len(set(labels.values())) == len(arms)
    assert arm_labels(four_arms())[four_arms()[0].id] == "GLYPH · no constraint"


def test_every_failure_reason_has_words():
    assert set(REASON_WORDS) == set(get_args(Reason))


def test_figures_are_shown_with_their_provenance(result):
    words = provenance(result.manifest, 90)
    for part in (
        "SmolLM2-135M-Instruct",
        "Q4_1",
        "ab12cd34ef56",
        "seed 1",
        "n = 90 of 96",
        "glyphscope 0.1.0",
    ):
        assert part in words
    reported = " ".join(
        sentence
        for _title, sentences in summary_words(result.summary, result.manifest)
        for sentence in sentences
    )
    assert "McNemar" in reported and "points [" in reported and "p " in reported


def test_a_price_is_that_of_the_plan():
    plan = plan_of(
        Matrix(suites=("tool-calls",), models=("embedded",), notations=("glyph", "json"), trials=3)
    )
    made = price(plan)
    assert made.samples == plan.cost.samples == len(list(plan.samples())) == made.arms * made.scenarios * 3
    assert "unknown until the first samples are done" in price_words(made, None, 1)
    words = price_words(
        made._replace(arms=2, scenarios=24, trials=2, comparisons=1, cases=24, distinct=2), None, 1
    )
    assert "can be significant: 12%, if 6 scenarios differ" in words  # 6 of 48 samples: p = 2 / 2**6
    assert "needs at least 6" in price_words(made._replace(comparisons=1, cases=5), None, 1)
    assert "significant" not in price_words(made._replace(comparisons=0), None, 1)
    words = price_words(made._replace(comparisons=3, cases=24, distinct=1), None, 1)
    assert "among 3 comparisons: 29%, if 7 scenarios differ" in words  # Holm: p = 2 / 2**7 < 0.05 / 3
    assert (made.comparisons, made.distinct) == (1, 3)
    controls = sum(scenario.control for loaded in plan.suites for scenario in loaded.suite.scenarios)
    assert controls > 0 and made.cases == made.scenarios - controls
    greedy = msgspec.structs.replace(plan.matrix, profiles=("deterministic",))
    assert price(plan_of(greedy)).distinct == 1, "its trials are alike"
    assert "about 10 s" in price_words(made, 20 / made.samples, 2).lower()


def test_the_token_limit_includes_repairs_and_the_loop():
    arm, suite = Arm(model="m", repair=2), Suite(glyphscope_suite=1, name="s", about="")
    ask = {"id": "a", "prompt": "p", "expect": {}}
    direct = msgspec.convert({**ask, "request": {"max_tokens": 100}}, Scenario)
    loop = msgspec.convert(
        {**ask, "request": {"strategy": "loop", "loop": {"max_total_tokens": 700}}}, Scenario
    )
    assert tokens_at_most(arm, suite, direct) == 300
    assert tokens_at_most(arm, suite, loop) == 700
    routing = Suite(glyphscope_suite=1, name="s", about="", strategy="route-execute")
    assert tokens_at_most(arm, routing, direct) == 600
    assert tokens_at_most(Arm(model="m", repair=2, strategy="direct"), routing, direct) == 300


def test_a_time_is_estimated_from_finished_results_only(tmp_path):
    manifest = made_manifest(four_arms(), 10, 3)
    model = four_arms()[0].model
    assert seconds_a_sample([ResultRow(tmp_path, manifest)], [model]) == pytest.approx(600 / 120)
    unfinished = msgspec.structs.replace(manifest, finished="")
    assert seconds_a_sample([ResultRow(tmp_path, unfinished)], [model]) is None
    assert seconds_a_sample([ResultRow(tmp_path, manifest)], ["other"]) is None
    assert seconds_a_sample([ResultRow(tmp_path, None, "damaged")], [model]) is None
