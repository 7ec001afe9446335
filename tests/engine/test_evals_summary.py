"""A summary: its figures and notes, the arms that it compares, and its export to a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import random
import re

import msgspec
import pytest

from glyphscope.evals.matrix import Arm, Matrix, plan_of
from glyphscope.evals.results import (
    Machine,
    Manifest,
    SampleFailure,
    Summary,
    WorkerFacts,
    by_scenario,
    csv_text,
    summarise,
)
from made_samples import MadeResult, made_arms

FORMULAS = ('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", " =1", 'a,"b"\nc', "\ud800")


def _of(made: MadeResult) -> Summary:
    return summarise(made.manifest, made.samples())


def test_a_result_without_samples_has_a_summary() -> None:
    reported = summarise(Manifest(planned=10), [])
    assert (reported.samples, reported.arms, reported.comparisons) == (0, (), ())
    assert "0 of 10 planned samples" in " ".join(reported.notes)
    assert csv_text(Manifest(), by_scenario(Manifest(), [])).startswith("arm,model")


def test_workers_on_different_machines_are_noted() -> None:
    one, other = (WorkerFacts(machine=Machine(processor=name, cores=8)) for name in "AB")
    same = Manifest(workers={"tcp://a:1": one, "tcp://b:1": one})
    differing = msgspec.structs.replace(same, workers={**same.workers, "tcp://c:1": other})
    assert "kinds of machines" not in " ".join(summarise(same, []).notes)
    assert "by 3 workers on 2 kinds of machines" in " ".join(summarise(differing, []).notes)


@pytest.mark.slow
def test_missing_data_is_noted_in_sentences() -> None:
    arms = made_arms(("a.gguf", "b.gguf"))
    notes = " ".join(_of(MadeResult(arms=arms, without=("b.gguf",), finished="", savings=0.5)).notes)
    assert "“b.gguf” could not be opened, so its 8 arms have no samples: There is no such file." in notes
    assert "not finished: 960 of 1,920 planned samples" in notes
    assert "have no answer from the model" in notes
    assert "sample greedily (temperature 0)" in notes
    assert "savings of early aborts were measured for" in notes
    assert "Holm's method" in notes
    unmeasured = _of(MadeResult(savings=0))
    assert "were not measured (`--savings` is 0)" in " ".join(unmeasured.notes)


@pytest.mark.slow
def test_aborts_that_could_not_be_continued_are_noted_as_requested() -> None:
    made = MadeResult(savings=1.0)
    none = [msgspec.structs.replace(sample, saved=None) for sample in made.samples()]
    notes = " ".join(summarise(made.manifest, none).notes)
    assert "`--savings` is 0" not in notes
    assert re.search(r"were measured for 0 of \d+ of them \(100% requested\)", notes)


def test_two_arms_that_failed_alike_are_noted_together() -> None:
    made = MadeResult(arms=made_arms()[:2], scenarios=2, trials=1)
    failed = (SampleFailure(reason="TIMEOUT"),)
    silent = [msgspec.structs.replace(s, ok=False, failures=failed) for s in made.samples()]
    notes = " ".join(summarise(made.manifest, silent).notes)
    assert "8 of 8 samples have no answer" in notes and "Most" not in notes
    assert f"No arm has more of them than {made.arms[0].id}: 4 of its 4" in notes


def test_an_arm_without_a_known_profile_is_not_called_greedy() -> None:
    made = MadeResult(arms=made_arms(profiles=("deterministic",)))
    manifest = msgspec.structs.replace(made.manifest, profiles={})
    assert "sample greedily" not in " ".join(summarise(manifest, made.samples()).notes)


def test_one_trial_and_one_comparison_need_no_note_about_many() -> None:
    notes = " ".join(_of(MadeResult(arms=made_arms()[:2], trials=1, scenarios=40)).notes)
    assert "Trials of one scenario" not in notes
    assert "Holm" not in notes
    assert "not finished" not in notes


def test_a_greedy_model_with_different_texts_is_noted() -> None:
    made = MadeResult(arms=made_arms()[:1], suites=("tool-calls",), scenarios=40)
    assert "not deterministic" not in " ".join(_of(made).notes)
    samples = list(made.samples())
    samples[1] = msgspec.structs.replace(samples[1], text="something else")
    assert "1 scenario still got different texts" in " ".join(summarise(made.manifest, samples).notes)


def test_a_scenario_with_its_own_strategy_is_noted(
    tmp_path,
) -> None:
    path = tmp_path / "own.json"
    scenarios = [
        {"id": "plain", "prompt": "x", "expect": {}},
        {"id": "looping", "prompt": "x", "expect": {}, "request": {"strategy": "loop"}},
    ]
    path.write_text(
        json.dumps({"glyphscope_suite": 1, "name": "own", "about": "Two.", "scenarios": scenarios})
    )
    for strategies, reported in ((("two-stage",), True), ((None,), False)):
        plan = plan_of(Matrix(suites=(str(path),), models=("m",), strategies=strategies))
        manifest = Manifest(arms=plan.arms, suites=tuple(suite.used for suite in plan.suites))
        notes = " ".join(summarise(manifest, []).notes)
        assert (
            "1 scenario of own (looping) has a strategy of its own and ran so in every arm" in notes
        ) is reported


@pytest.mark.slow
def test_a_duplicate_sample_counts_once_by_its_last_line() -> None:
    made = MadeResult(scenarios=10)
    samples = list(made.samples())
    again = [msgspec.structs.replace(samples[0], ok=not samples[0].ok), samples[0]]
    assert summarise(made.manifest, [*samples, *again]) == summarise(made.manifest, samples)


@pytest.mark.slow
def test_the_order_of_samples_changes_no_figure() -> None:
    made = MadeResult(scenarios=10)
    samples = list(made.samples())
    reported = summarise(made.manifest, samples)
    random.Random(1).shuffle(samples)
    again = summarise(made.manifest, samples)
    assert msgspec.json.encode(again) == msgspec.json.encode(reported)
    scenarios = [by_scenario(made.manifest, each) for each in (samples, made.samples())]
    assert msgspec.json.encode(scenarios[0]) == msgspec.json.encode(scenarios[1])


def test_arms_are_compared_that_differ_in_one_thing_and_any_two_arms() -> None:
    arms = made_arms()
    pairs = {
        (c.first, c.second): c.differ for c in _of(MadeResult(arms=arms)).comparisons if c.measure == "ok"
    }
    assert len(pairs) == 12  # a cube of three axes has twelve edges
    assert set(pairs.values()) == {"notation", "constraint", "profile"}
    for (first, second), differ in pairs.items():
        if differ == "constraint":
            assert (".off." in first, ".mask." in second) == (True, True)
        if differ == "notation":
            assert (".json." in first, ".glyph." in second) == (True, True)
    two = _of(MadeResult(arms=[arms[0], arms[-1]]))
    assert {c.differ for c in two.comparisons} == {"several"}


def test_the_shape_is_no_difference_for_a_notation_without_one() -> None:
    other = Arm(model="m", notation="glyph", shape="tool-args")
    for notation, differ in (("native", "notation"), ("json", "several")):
        compared = _of(MadeResult(arms=[Arm(model="m", notation=notation), other], scenarios=4)).comparisons
        assert {each.differ for each in compared} == {differ}


@pytest.mark.slow
def test_sensitivity_is_reported_with_chance_and_p() -> None:
    alike = _of(MadeResult(scenarios=60, seed=7)).sensitivity
    assert alike
    for each in alike:
        assert each.by_chance > 0
        assert 0 < each.p <= 1
        assert each.spread == each.most - each.least


def test_an_unknown_arm_is_counted_and_noted() -> None:
    made = MadeResult(arms=made_arms()[:1], suites=("tool-calls",))
    stranger = [msgspec.structs.replace(s, id=f"x{s.id}", arm="stranger") for s in made.samples()]
    reported = summarise(made.manifest, [*made.samples(), *stranger])
    assert [arm.arm for arm in reported.arms] == [made.arms[0].id, "stranger"]
    assert "does not contain stranger" in " ".join(reported.notes)


def test_a_huge_trial_number_does_not_fill_the_memory() -> None:
    made = MadeResult(arms=made_arms()[:2], trials=1)
    far = [msgspec.structs.replace(sample, trial=10**15) for sample in made.samples()]
    assert summarise(made.manifest, far).comparisons


def test_a_spreadsheet_gets_a_row_for_each_arm_and_scenario_and_no_formula() -> None:
    made = MadeResult(arms=made_arms()[:2], suites=("tool-calls",), scenarios=3)
    hostile = [
        msgspec.structs.replace(sample, id=f"{sample.id}{number}", scenario=text, group=text, failures=())
        for number, text in enumerate(FORMULAS)
        for sample in made.samples()
    ]
    text = csv_text(made.manifest, by_scenario(made.manifest, hostile))
    text.encode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 1 + 2 * 8
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if cell.lstrip(" ").startswith(tuple("=+-@\t\r\n"))]
    assert 'a,"b"\nc' in {cell for row in rows for cell in row}


def test_an_unknown_value_is_an_empty_cell() -> None:
    made = MadeResult(arms=made_arms()[:1], suites=("tool-calls",), scenarios=1, trials=1)
    dead = [
        msgspec.structs.replace(sample, failures=(SampleFailure(reason="MODEL_FAILED"),), ok=False)
        for sample in made.samples()
    ]
    rows = list(csv.DictReader(io.StringIO(csv_text(made.manifest, by_scenario(made.manifest, dead)))))
    assert (rows[0]["n"], rows[0]["answered"], rows[0]["ok_share"], rows[0]["total_ms_p50"]) == (
        "1",
        "0",
        "",
        "",
    )
    assert rows[0]["failures"] == "MODEL_FAILED 1"
