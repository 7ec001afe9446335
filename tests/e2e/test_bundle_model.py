"""Sharing a run of the embedded model: its bundle verifies in another home, and its tests pass."""

import json
import os
import subprocess
import sys

import pytest

from glyphscope.events import Token, decode_event
from glyphscope.store.records import read_record

pytestmark = [pytest.mark.model, pytest.mark.slow]

PROMPT = "Search for AI news, 10 results"


@pytest.fixture
def command(tmp_path):
    """Run Glyphscope in an empty folder, in the home of that name."""
    (tmp_path / "there").mkdir()

    def started(*arguments, module="glyphscope", home="here"):
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            capture_output=True,
            text=True,
            timeout=240,
            cwd=tmp_path / "there",
            env={**os.environ, "GLYPHSCOPE_HOME": str(tmp_path / home)},
            check=False,
        )

    return started


def handed_on(command, record):
    """The record as a bundle, in another home: it verifies, and its exports pass."""
    assert command("bundle", str(record), "-o", "x.glyphrun").returncode == 0
    record.unlink()
    verified = command("replay", "x.glyphrun", "--verify", "--json", home="clean")
    assert (verified.returncode, json.loads(verified.stdout)["difference"]) == (0, "")
    made = command("export", "x.glyphrun", "--to", "pytest", "-o", "test_run.py", home="clean")
    assert made.returncode == 0, made.stderr
    passed = command("-q", "-p", "no:cacheprovider", "test_run.py", module="pytest", home="clean")
    assert passed.returncode == 0 and "2 passed" in passed.stdout, passed.stdout


@pytest.mark.parametrize("constraint", ["mask", "off"])
def test_a_bundle_replays_in_a_clean_home_and_its_exported_tests_pass(tmp_path, command, constraint):
    record = tmp_path / "run.jsonl"
    done = command("run", "--constraint", constraint, "--record", str(record), "--json", PROMPT)
    finished = decode_event(done.stdout.splitlines()[-1])
    assert finished.valid is (constraint == "mask"), done.stderr
    handed_on(command, record)


def test_a_branch_from_a_masked_alternative_is_shared_like_any_run(tmp_path, command):
    record, branch = tmp_path / "run.jsonl", tmp_path / "branch.jsonl"
    assert command("run", "--record", str(record), "--json", PROMPT).returncode == 0
    steps = [event.step for event in read_record(record).events if isinstance(event, Token)]
    at, masked = next(
        (step.index, other)
        for step in steps
        for other in step.alternatives
        if other.allowed is False and other.text.strip()
    )
    done = command(
        "branch", str(record), "--at", str(at), "--take", f"#{masked.id}", "--constraint", "off",
        "--max-tokens", "24", "--record", str(branch), "--json",
    )  # fmt: skip
    written = [
        event.step for event in map(decode_event, done.stdout.splitlines()) if isinstance(event, Token)
    ]
    assert [step.id for step in written if step.origin == "written"] == [masked.id], done.stderr
    handed_on(command, branch)
