"""A disk that is really full: a small one for these tests, filled to the last byte, under everything that is saved."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eval_suite import suite_file

pytestmark = pytest.mark.slow

SCRIPT = r"""
import json, os, sys
from pathlib import Path
import msgspec
from glyphscope.base.errors import StorageError
from glyphscope.events import ModelInfo, RunRequest, RunStarted, Token, TokenStep
from glyphscope.store import *
from glyphscope.store.records import read_record

disk = Path(sys.argv[1])
request = RunRequest(prompt="old", registry={"glyphscope": 1, "tools": [{"name": "a"}]})
noise = os.urandom(60_000).hex()  # does not become smaller when it is packed
large = msgspec.structs.replace(request, prompt=noise)
history, journal, writer = History(disk / "h.sqlite3"), Journal(disk / "journal"), RecordWriter(disk / "run.jsonl")

def started(run, request):
    return RunStarted(run=run, request=request, model=ModelInfo(name="m"), versions={}, time=run)

def record(path, *events):
    with RecordWriter(path) as writing:
        for event in events:
            writing.write(event)

# what is there before
save_project(disk / "p", Project(request=request))
save_settings(disk / "s", Settings(model="old"))
history.add([started("old", request)])
journal.write(Project(request=request))
record(disk / "r.jsonl", started("old", request))
writer.write(started("torn", request))

def fill(name):
    with open(disk / name, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 1000)
        except OSError:
            pass

fill("filler")
outcomes = {}

def full(name, save):
    try:
        save()
        outcomes[name] = "saved"
    except StorageError as error:
        outcomes[name] = str(error)

def writing():
    step = TokenStep(index=0, id=0, data=b"x", text="x" * 100_000)
    for number in range(9):
        writer.write(Token(step=step, start=0, end=1))

full("project", lambda: save_project(disk / "p", Project(request=large)))
full("settings", lambda: save_settings(disk / "s", Settings(model=noise)))
full("history", lambda: history.add([started("new", large)]))
full("journal", lambda: journal.write(Project(request=large)))
full("record", lambda: record(disk / "r.jsonl", started("new", large)))
full("recording", writing)
full("recording's end", writer.close)
there = {
    "project": load_project(disk / "p").project.request.prompt,
    "settings": load_settings(disk / "s").settings.model,
    "journal": json.loads(journal.file.read_text())["project"]["request"]["prompt"],
    "record": read_record(disk / "r.jsonl").events[0].run,
    "leavings": sorted(p.name for p in disk.rglob("*.tmp")),
}
(disk / "filler").unlink()
there["history"] = [row.id for row in history.rows()]
there["part"] = [event.run for event in read_record(disk / "run.jsonl.part").events][:1]
history.add([started("new", large)])
there["history again"] = len(history.rows())
print(json.dumps([outcomes, there]))
"""


EVALUATION = r"""
import json, sys
from pathlib import Path
from eval_suite import AnsweringModel
from glyphscope.base.errors import StorageError
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.running import evaluate
from glyphscope.evals.running.progress import Begun

disk, suite = Path(sys.argv[1]), sys.argv[2]
(disk / "filler").write_bytes(b"x" * 600_000)
plan = plan_of(Matrix(suites=(suite,), models=("m",), constraints=("off",), trials=20))

def made(resume):
    folder = None
    try:
        for event in evaluate(plan, disk / "out", resume=resume, opener=AnsweringModel):
            if isinstance(event, Begun):
                folder = event.folder
        return folder, "made"
    except StorageError as error:
        return folder, str(error)

folder, outcomes = made(None)
before = len(ResultFolder.open(folder).samples())
(disk / "filler").unlink()
again = []
for _ in range(30):  # the room is small still: each time the records make way
    for record in folder.rglob("runs/**/*.jsonl"):
        record.unlink()
    again.append(made(folder)[1])
    if again[-1] == "made":
        break
samples = ResultFolder.open(folder).samples()
for record in folder.rglob("runs/**/*.jsonl"):
    record.unlink()
print(json.dumps([outcomes, before, again[-1], len(samples), len({s.id for s in samples})]))
"""


def on_a_small_disk(tmp_path: Path, text: str, *arguments: str) -> Any:
    """Run the script and return its output, parsed as JSON. Its first argument is a disk of 1 MiB."""
    unshare = shutil.which("unshare")
    script, disk = tmp_path / "script.py", tmp_path / "disk"
    script.write_text(text)
    disk.mkdir()
    words = shlex.join([sys.executable, str(script), str(disk), *arguments])
    mounting = f"mount -t tmpfs -o size=1m tmpfs '{disk}' || exit 77; exec {words}"
    if unshare is None:
        pytest.skip("no way here to have a small disk")
    command = [unshare, "--map-root-user", "--mount", "sh", "-c", mounting]
    support = [str(Path(__file__).parents[1] / "support"), os.environ.get("PYTHONPATH", "")]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, support))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=paths)
    if done.returncode == 77 or done.stderr.startswith("unshare"):
        pytest.skip("no way here to have a small disk")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_evaluation_on_a_full_disk_stops_with_an_error_and_resumes(tmp_path):
    reported, before, after, samples, different = on_a_small_disk(tmp_path, EVALUATION, suite_file(tmp_path))
    assert "full" in reported and "room" in reported
    assert 0 < before < 80 and after == "made"
    assert samples == different == 80


def test_a_full_disk_is_reported_and_leaves_saved_files(tmp_path):
    reported, there = on_a_small_disk(tmp_path, SCRIPT)
    assert set(reported) == {
        "project", "settings", "history", "journal", "record", "recording", "recording's end",
    }  # fmt: skip
    assert all("full" in words and "room" in words for words in reported.values()), reported
    assert there == {
        "project": "old",
        "settings": "old",
        "journal": "old",
        "record": "old",
        "leavings": [],
        "history": ["old"],
        "part": ["torn"],
        "history again": 2,
    }
