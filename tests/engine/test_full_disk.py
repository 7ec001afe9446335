"""A disk that is really full: a small one of our own, filled to the last byte, under everything that is saved."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

SCRIPT = r"""
import json, os, sys
from pathlib import Path
import msgspec
from glyphscope.errors import StorageError
from glyphscope.events import ModelInfo, RunRequest, RunStarted, Token, TokenStep
from glyphscope.sessions import *

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
told = {}

def full(name, save):
    try:
        save()
        told[name] = "saved"
    except StorageError as error:
        told[name] = str(error)

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
print(json.dumps([told, there]))
"""


@pytest.mark.slow
def test_a_full_disk_takes_what_was_saved_or_is_not_told(tmp_path):
    unshare = shutil.which("unshare")
    script, disk = tmp_path / "script.py", tmp_path / "disk"
    script.write_text(SCRIPT)
    disk.mkdir()
    mounting = (
        f"mount -t tmpfs -o size=1m tmpfs '{disk}' || exit 77; exec '{sys.executable}' '{script}' '{disk}'"
    )
    if unshare is None:
        pytest.skip("no way here to have a small disk")
    command = [unshare, "--map-root-user", "--mount", "sh", "-c", mounting]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 77 or done.stderr.startswith("unshare"):
        pytest.skip("no way here to have a small disk")
    assert done.returncode == 0, done.stderr
    told, there = json.loads(done.stdout)
    assert set(told) == {
        "project", "settings", "history", "journal", "record", "recording", "recording's end",
    }  # fmt: skip
    assert all("full" in words and "room" in words for words in told.values()), told
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
