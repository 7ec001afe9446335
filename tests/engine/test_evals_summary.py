"""A summary: its figures and notes, the arms that it compares, and its export to a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from expected_texts import as_in_file
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results import Machine, Manifest, Summary, WorkerFacts, by_scenario, csv_text, summarise
from glyphscope.evals.results.sample import Sample, SampleFailure
from made_samples import MadeResult, made_arms

FORMULAS = ('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", " =1", 'a,"b"\nc', "\ud800")


def _of(made: MadeResult) -> Summary:
    return summarise(made.manifest, made.samples())


def test_a_result_without_samples_has_a_summary() -> None:
    reported = summarise(Manifest(planned=10), [])
    assert (reported.samples, reported.arms, reported.comparisons) == (0, (), ())
    assert "0 of 10 planned samples" in " ".join(reported.notes)
    assert csv_text(Manifest(), by_scenario(Manifest(), [])).startswith("arm,model")


CASES = Path(__file__).with_name("evals_notes.txt")


def _notes(folder: Path) -> Iterator[tuple[str, Manifest, Iterable[Sample]]]:
    """A title, a result and its samples."""
    yield "No samples", Manifest(planned=10), []
    one, other = (WorkerFacts(machine=Machine(processor=name, cores=8)) for name in "AB")
    alike = Manifest(workers={"tcp://a:1": one, "tcp://b:1": one})
    yield "Workers on machines of one kind", alike, []
    yield "Workers on two kinds of machines", Manifest(workers={**alike.workers, "tcp://c:1": other}), []
    arms = made_arms(("a.gguf", "b.gguf"))
    missing = MadeResult(arms=arms, without=("b.gguf",), finished="", scenarios=12, trials=2)
    yield "A model is missing, and the result is not finished", missing.manifest, missing.samples()
    made = MadeResult(scenarios=12, savings=0)
    yield "No savings were measured", made.manifest, made.samples()
    made = MadeResult(scenarios=12, savings=1.0)
    none = [msgspec.structs.replace(sample, saved=None) for sample in made.samples()]
    yield "No abort could be continued", made.manifest, none
    made = MadeResult(arms=made_arms()[:2], scenarios=2, trials=1)
    silent = [
        msgspec.structs.replace(each, ok=False, failures=(SampleFailure(reason="TIMEOUT"),))
        for each in made.samples()
    ]
    yield "Two arms failed alike", made.manifest, silent
    greedy = MadeResult(arms=made_arms(profiles=("deterministic",)), scenarios=12)
    unknown = msgspec.structs.replace(greedy.manifest, profiles={})
    yield "An arm without a known profile is not called greedy", unknown, greedy.samples()
    made = MadeResult(arms=made_arms()[:2], trials=1, scenarios=40)
    yield "One trial, and one comparison", made.manifest, made.samples()
    made = MadeResult(arms=made_arms()[:1], suites=("tool-calls",), scenarios=40)
    samples = list(made.samples())
    samples[1] = msgspec.structs.replace(samples[1], text="something else")
    yield "A greedy model with different texts", made.manifest, samples
    stranger = [msgspec.structs.replace(each, id=f"x{each.id}", arm="stranger") for each in made.samples()]
    yield "Samples of an unknown arm", made.manifest, [*made.samples(), *stranger]
    plain = {"id": "plain", "prompt": "x", "expect": {}}
    looping = {**plain, "id": "looping", "request": {"strategy": "loop"}}
    suite = {"glyphscope_suite": 1, "name": "own", "about": "Two.", "scenarios": [plain, looping]}
    (folder / "own.json").write_text(json.dumps(suite))
    for strategy in ("two-stage", None):
        plan = plan_of(Matrix(suites=(str(folder / "own.json"),), models=("m",), strategies=(strategy,)))
        used = tuple(suite.used for suite in plan.suites)
        yield f"A scenario with its own strategy, under {strategy}", Manifest(arms=plan.arms, suites=used), []


def test_the_notes_of_results_are_those_of_the_file(tmp_path) -> None:
    as_in_file(
        CASES,
        (
            "\n".join((title, *summarise(manifest, samples).notes))
            for title, manifest, samples in _notes(tmp_path)
        ),
    )


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
