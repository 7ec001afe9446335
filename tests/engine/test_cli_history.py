"""`glyphscope history`: runs of the window are listed, described and saved."""

from __future__ import annotations

import json

import msgspec
import pytest

from cli_command import command as glyphscope
from glyphscope.events import ModelInfo, RunRequest, RunStarted, Sampling
from glyphscope.store import History, places
from glyphscope.store.bundle import read_run
from glyphscope.store.records import read_record
from made_runs import finished


@pytest.fixture
def command():
    history = History(places().history)
    for run, prompt in (("abc", "AI news"), ("xyz", "Weather\x1b[31m")):
        started = RunStarted(
            run=run, request=RunRequest(prompt=prompt, registry={}), model=ModelInfo(name="smol"), versions={},
            time="2026-01-01T00:00:00Z",
        )  # fmt: skip
        history.add([started, finished(run=run)])
    return lambda *arguments: glyphscope("history", *arguments)


def test_runs_are_described_and_found_by_tags_and_score(command):
    said = command("describe", "ab", "--tags", "slow #Bug", "--score", "2", "--name", "First", "--json")
    assert json.loads(said.stdout)["tags"] == ["slow", "bug"]
    (found,) = json.loads(command("list", "#bug", "score<3", "--json").stdout)["runs"]
    assert (found["id"], found["score"], found["name"]) == ("abc", 2, "First")
    assert command("list", "score>2").exit_code == 1
    listed = command("list")
    assert listed.exit_code == 0 and "#slow" in listed.stdout and "\x1b[31m" not in listed.stdout


def test_runs_of_a_series_are_listed_with_temperature_and_seed(command):
    history = History(places().history)
    (started, end) = history.events("abc")
    for seed in (7, 8):
        sampling = Sampling(temperature=0.9, seed=seed)
        request = msgspec.structs.replace(started.request, sampling=sampling)
        history.add([msgspec.structs.replace(started, run=f"s{seed}", request=request), end])
    lines = command("list", "AI").stdout.splitlines()[1:]
    assert {" ".join(line.split()).partition(" valid ")[2] for line in lines} == {
        "temperature 0 smol",
        "temperature 0.9, seed 7 smol",
        "temperature 0.9, seed 8 smol",
    }
    found = json.loads(command("list", "AI", "--json").stdout)["runs"]
    assert {run["sampling"]["seed"] for run in found} == {1, 7, 8}


def test_a_run_is_saved_as_a_record_or_a_bundle(command, tmp_path):
    for name, read in (("run.jsonl", read_record), ("run.glyphrun", read_run)):
        assert command("save", "xyz", "-o", str(tmp_path / name)).exit_code == 0
        assert read(tmp_path / name).events[0].run == "xyz"
