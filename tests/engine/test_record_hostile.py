"""Hostile and damaged records and results: each ends in a result or a clear error, in bounded time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from glyphscope.base import resources
from glyphscope.base.errors import RecordError
from glyphscope.evals.results import export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.events import RepairSettings, RunFailed, RunRequest
from glyphscope.explain.impact import mask_impact
from glyphscope.models.scripted import ScriptedModel
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.store.exports import RecordedRun
from glyphscope.store.records import parse_record
from glyphscope_plugins.inspect_ai import log as inspect_log
from glyphscope_plugins.spans import run_spans, spans_json
from hostile_uses import RECORD_USES, Judge, use_record_in
from made_results import recorded_result

pytestmark = pytest.mark.slow

MASKED = "runs/search-mask.jsonl"
GUESSED = "lessons/runs/own-number.jsonl"


def changed(name: str, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return a bundled record with each event changed; None leaves one out."""
    head, *lines = resources.read_bytes(name).rstrip(b"\n").split(b"\n")
    events = [json.loads(line) for line in lines]
    kept = [event for event in events if change(event) is not False]
    return b"\n".join([head, *(json.dumps(event).encode() for event in kept)]) + b"\n"


def broken(data: bytes, uses: Sequence[str] = tuple(RECORD_USES)) -> list[str]:
    """The rules that a record breaks in these uses."""
    judge = Judge()
    use_record_in(judge, data, uses)
    return judge.broken


def test_a_record_that_lacks_tokens_is_explained() -> None:
    """The numbers of its tokens have gaps: they are not places in the list."""
    numbers = iter(range(1000))
    data = changed(MASKED, lambda event: event["type"] != "token" or next(numbers) % 3 == 2)
    state = run_state(parse_record(data).events)
    assert state.tokens[0].step.index == 2
    assert mask_impact(state).fields
    assert not broken(data)


def test_a_masked_token_behind_a_gap_is_explained() -> None:
    """Of the tokens, only the first and the last ones are left: their numbers exceed the length of the list."""
    numbers = iter(range(1000))
    tokens = len(run_state(parse_record(resources.read_bytes(GUESSED)).events).tokens)
    data = changed(
        GUESSED, lambda event: event["type"] != "token" or next(numbers) in (0, *range(tokens // 2, tokens))
    )
    (field,) = mask_impact(run_state(parse_record(data).events)).conflicts
    assert field.worst is not None and field.worst.reason


@pytest.mark.parametrize(
    ("kind", "member", "value"),
    [
        ("run_finished", "t", 1e308),
        ("token", "t", -1e12),
        ("run_finished", "total_ms", 1e300),
        ("prompt_rendered", "tokens", 2**63),
        ("prompt_rendered", "tokens", -1),
        ("token", "start", -(2**60)),
        ("field_closed", "end", 2**60),
        ("violation", "char", 2**60),
    ],
)
def test_a_time_or_place_that_no_run_has_is_an_error_with_the_line(
    kind: str, member: str, value: object
) -> None:
    data = changed(
        "runs/sources-abort.jsonl",
        lambda event: event.update({member: value}) if event["type"] == kind else None,
    )
    with pytest.raises(RecordError, match=rf"Line [0-9]+ is damaged: .*\.{member}"):
        parse_record(data)


PLACES = {
    "token": ("start", "end"), "field_opened": ("start",), "field_changed": ("end",), "field_closed": ("start", "end"),
    "violation": ("char",),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "member"), [(kind, each) for kind in PLACES for each in PLACES[kind]])
@pytest.mark.parametrize("place", [-(10**15), -1, 10**15])
@pytest.mark.parametrize("path", [None, ""])
def test_a_token_or_field_far_from_its_text_is_shown_in_bounded_time(
    kind: str, member: str, place: int, path: str | None
) -> None:
    def moved(event: dict[str, Any]) -> None:
        if event["type"] == kind:
            event |= {member: place} | ({"path": path} if path is not None and "path" in event else {})

    assert not broken(changed(MASKED, moved), ("show", "spans"))
    assert not broken(changed("runs/sources-abort.jsonl", moved), ("show", "compare pages", "spans"))


@pytest.mark.parametrize(
    "time", ["yesterday", "", "0001-01-01T00:00:00", "9999-12-31T23:59:59Z", "1969-01-01"]
)
def test_a_record_without_the_time_of_a_run_has_no_spans(time: str) -> None:
    data = changed(MASKED, lambda event: event.update(time=time) if event["type"] == "run_started" else None)
    with pytest.raises(RecordError, match="no valid time"):
        run_spans([RecordedRun(parse_record(data).events)])


def test_integers_that_spans_cannot_write_are_texts() -> None:
    def huge(event: dict[str, Any]) -> None:
        if event["type"] == "run_started":
            event["request"]["sampling"]["seed"] = 2**63

    spans = spans_json(run_spans([RecordedRun(parse_record(changed(MASKED, huge)).events)]))
    assert '"gen_ai.request.seed","value":{"stringValue":"9223372036854775808"}' in spans


@pytest.mark.parametrize("ending", ["eval", "json"])
@pytest.mark.parametrize(
    "damage",
    [
        {"started": "yesterday"},
        {"started": "", "finished": "2026"},
        {"suites": [{"name": "a\0b/../c", "about": "", "digest": "x", "scenarios": 1}]},
    ],
)
def test_a_damaged_result_becomes_a_log_of_inspect_or_an_error(
    damage: dict[str, Any], ending: str, tmp_path: Path
) -> None:
    path = recorded_result(tmp_path)
    manifest = path / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **damage}))
    exported = export_samples(ResultFolder.open(path), tmp_path / "out" / f"log.{ending}")
    assert exported.files and all(file.parent == tmp_path / "out" for file in exported.files)


@pytest.mark.parametrize("member", ["model", "profile"])
def test_an_arm_of_any_name_is_one_file_in_the_folder_of_the_export(member: str, tmp_path: Path) -> None:
    path = recorded_result(tmp_path)
    folder = ResultFolder.open(path)
    arms = tuple(
        msgspec.structs.replace(arm, **{member: f"../a/b\0{n}"}) for n, arm in enumerate(folder.manifest.arms)
    )
    exported = export_samples(
        ResultFolder(path, msgspec.structs.replace(folder.manifest, arms=arms)), tmp_path / "log.json"
    )
    assert len(exported.files) == 2 and all(file.parent == tmp_path for file in exported.files)


def test_a_result_that_inspect_cannot_have_names_the_member() -> None:
    from inspect_ai.log import EvalSample  # takes seconds: only the worker of this file imports it

    damaged = {"id": 1, "epoch": "x", "input": "", "target": ""}
    with pytest.raises(RecordError, match="epoch") as caught:
        inspect_log._validated(EvalSample, damaged, "the result")
    assert caught.value.where == "the result" and caught.value.hint


@pytest.mark.parametrize("attempts", [101, 10**9, -1])
def test_the_number_of_repair_attempts_is_bounded(attempts: int) -> None:
    request = RunRequest(
        prompt="x", registry={"glyphscope": 1, "tools": []}, repair=RepairSettings(attempts=attempts)
    )
    *_, last = run(request, ScriptedModel(""))
    assert isinstance(last, RunFailed) and "Repairs is from 0 to 100" in last.message
