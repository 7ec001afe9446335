"""Two results of the same scenarios: scenarios that became wrong come first."""

from __future__ import annotations

import json

import msgspec
import pytest

from cli_command import command
from glyphscope.evals.results import Samples, changes_between
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import SampleFailure
from made_results import made_result


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = ResultFolder.open(made_result(tmp_path_factory.mktemp("before"), scenarios=8, trials=1))
    return folder.manifest, Samples.of(folder.samples())


def changed(samples, number, ok):
    failures = () if ok else (SampleFailure(reason="WRONG_TOOL"),)
    return Samples.of(
        msgspec.structs.replace(each, ok=ok, failures=failures) if place == number else each
        for place, each in enumerate(samples)
    )


def test_a_result_has_no_changes_against_itself(result):
    found = changes_between(result, result)
    assert not found.changes and not found.regressions and not found.notes
    assert len(found.arms) == 4 and all(arm.p == 1 for arm in found.arms)


def test_regressions_come_first_then_fixes_then_other_reasons(result):
    manifest, samples = result
    right = next(n for n, each in enumerate(samples) if each.ok)
    wrong = [
        n
        for n, each in enumerate(samples)
        if not each.ok and each.answered and each.failures[0].reason != "WRONG_TOOL"
    ]
    after = changed(changed(changed(samples, wrong[0], ok=True), wrong[1], ok=False), right, ok=False)
    found = changes_between(result, (manifest, after))
    assert [change.kind for change in found.changes] == ["regression", "fix", "other"]
    assert found.changes[0].before == samples[right] and found.regressions == 1
    assert sum(arm.right_after - arm.right_before for arm in found.arms) == 0


def test_only_the_samples_of_a_change_that_is_used_are_read(result):
    manifest, samples = result
    right = next(n for n, each in enumerate(samples) if each.ok)
    after, read = changed(samples, right, ok=False), []
    counted = [
        Samples(each.table, lambda rows, each=each: read.extend(rows) or each.at(rows))
        for each in (samples, after)
    ]
    found = changes_between(*((manifest, each) for each in counted))
    assert (len(found.changes), found.regressions, len(read)) == (1, 1, 0)
    assert found.changes[0].after.failures[0].reason == "WRONG_TOOL" and len(read) == 2


def test_arms_with_different_ids_are_a_pair_where_each_result_has_one(result):
    manifest, samples = result
    first, *rest = manifest.arms
    other = msgspec.structs.replace(first, profile="deterministic")
    of_first = [each for each in samples if each.arm == first.id]
    after = [msgspec.structs.replace(each, arm=other.id) for each in of_first]
    single = (msgspec.structs.replace(manifest, arms=(first,)), Samples.of(of_first))
    found = changes_between(single, (msgspec.structs.replace(manifest, arms=(other,)), Samples.of(after)))
    assert [(arm.before, arm.after, arm.pairs) for arm in found.arms] == [(first.id, other.id, len(of_first))]
    none = changes_between(single, (msgspec.structs.replace(manifest, arms=tuple(rest)), samples))
    assert not none.arms and "Only in the first result" in none.notes[0]


def test_another_seed_another_suite_and_other_sequences_are_noted(result):
    manifest, samples = result
    suites = tuple(msgspec.structs.replace(each, digest="other") for each in manifest.suites)
    other = msgspec.structs.replace(manifest, seed=99, suites=suites, sequences=8)
    found = changes_between(result, (other, samples))
    assert any("seeds differ" in note for note in found.notes)
    assert any("selected scenarios differ" in note for note in found.notes)
    assert any("batch sizes differ (1, 8)" in note for note in found.notes)


def test_another_model_under_the_same_name_and_other_versions_are_noted(result):
    manifest, samples = result
    first = manifest.arms[0]
    known = msgspec.structs.replace(manifest.models[first.model], sha256="1" * 64)
    facts = {"server": "vLLM 1", "sha256": "2" * 64}
    versions = {**manifest.versions, "glyphscope": "0.0"}
    one = msgspec.structs.replace(manifest, models={**manifest.models, first.model: known})
    other = {first.model: msgspec.structs.replace(known, **facts)}
    notes = changes_between(
        (one, samples), (msgspec.structs.replace(manifest, models=other, versions=versions), samples)
    ).notes
    assert any("(SHA-256 11111111; 22222222)" in note for note in notes)
    assert any("server" in note and "; vLLM 1)" in note for note in notes)
    assert any(note.startswith("The versions differ (glyphscope ") for note in notes)
    renamed = tuple(msgspec.structs.replace(each, model=f"elsewhere/{each.model}") for each in manifest.arms)
    assert renamed[0].id == first.id
    for sha256, differ in (("", True), ("1" * 64, False)):  # a file may be elsewhere
        known = msgspec.structs.replace(known, sha256=sha256)
        was = msgspec.structs.replace(manifest, models={first.model: known})
        now = msgspec.structs.replace(manifest, arms=renamed, models={renamed[0].model: known})
        notes = changes_between((was, samples), (now, samples)).notes
        assert any("models of the same name differ" in note for note in notes) == differ


def test_the_command_fails_on_a_regression_when_asked_to(tmp_path):
    before = made_result(tmp_path / "a", scenarios=4, trials=1)
    after = made_result(tmp_path / "b", scenarios=4, trials=1)
    lines = [json.loads(line) for line in (after / "samples.jsonl").read_text().splitlines()]
    right = next(line for line in lines if line.get("ok"))
    right.update(ok=False, failures=[{"reason": "WRONG_TOOL"}])
    (after / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = command("eval", "compare", before, after, "--fail-on-regression")
    assert done.exit_code == 1 and "regression" in done.stdout and right["scenario"] in done.stdout
    reported = command("eval", "compare", before, after, "--json")
    assert reported.exit_code == 0 and json.loads(reported.stdout)["changes"][0]["kind"] == "regression"
