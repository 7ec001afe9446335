"""Hostile registries and prompts, and a killed model, through `glyphscope run` on the embedded model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from glyphscope.models import embedded_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.model,
    pytest.mark.skipif(embedded_path() is None, reason="the embedded model is not installed"),
]


def run(*arguments: str, text: str = "") -> tuple[int, list[dict], str]:
    """Return the exit code, the events, and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "glyphscope", "run", "--json", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def write(path: Path, document: object) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def nested(levels: int) -> dict:
    schema: dict = {"type": "integer", "maximum": 9}
    for _ in range(levels):
        schema = {
            "type": "object",
            "properties": {"a": schema},
            "required": ["a"],
            "additionalProperties": False,
        }
    return schema


@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_a_hostile_pattern_is_enforced_by_the_mask_in_time(tmp_path, notation):
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$", "maxLength": 9}}}
    registry = write(tmp_path / "r.json", {"p": {**schema, "required": ["a"]}})
    system = tmp_path / "system"
    system.write_text("Call a tool.")  # without the example, which the model would only copy
    arguments = ("--registry", registry, "--notation", notation, "--system", str(system))
    code, events, _ = run(*arguments, "Write a call.")
    assert (code, events[-1]["valid"]) == (0, True)
    (call,) = [event for event in events if event["type"] == "call_ready"]
    assert set(call["arguments"]["a"]) == {"a"}


def test_a_schema_200_levels_deep_can_be_called(tmp_path):
    registry = write(tmp_path / "r.json", {"p": nested(200)})
    code, events, error = run("--registry", registry, "--max-tokens", "2000", "Write a call.")
    assert (code, error, events[-1]["type"]) == (0, "", "run_finished")
    value, depth = next(event for event in events if event["type"] == "call_ready")["arguments"], 0
    while isinstance(value, dict):
        value, depth = value["a"], depth + 1
    assert depth == 200


def test_a_prompt_of_2000_tools_is_a_context_overflow_and_they_can_be_called(tmp_path):
    registry = write(
        tmp_path / "r.json", {f"tool_{i}": {"type": "object", "properties": {}} for i in range(2000)}
    )
    code, events, error = run("--registry", registry, "Write a call.")
    assert (code, events[-1]["code"], error) == (2, "CONTEXT_OVERFLOW", "")
    assert "fewer tools" in events[-1]["hint"]
    system = tmp_path / "system"
    system.write_text("Call a tool.")
    code, events, _ = run("--registry", registry, "--system", str(system), "Write a call.")
    assert (code, events[-1]["valid"]) == (0, True), (
        "with a prompt that does not list them they can be called"
    )


def test_a_prompt_longer_than_the_context_is_counted_and_not_decoded():
    code, events, error = run("-", text="word " * 9000)
    assert (code, error) == (2, "")
    failed = events[-1]
    assert failed["code"] == "CONTEXT_OVERFLOW" and "4,096" in failed["message"] and failed["hint"]
    assert not [event for event in events if event["type"] == "token"]


@pytest.mark.usefixtures("unforked")  # it looks for the model among its children
def test_a_killed_model_ends_the_command_with_its_last_event():
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "glyphscope",
            "run",
            "--json",
            "--constraint",
            "off",
            "--stop-on",
            "never",
            "x",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout and process.stderr
        for line in process.stdout:
            if '"type":"token"' in line:
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                (model,) = (
                    child
                    for child in children
                    if b"models.child" in Path(f"/proc/{child}/cmdline").read_bytes()
                )
                os.kill(int(model), signal.SIGKILL)
                break
        last = json.loads(process.stdout.read().splitlines()[-1])
        assert (last["type"], last["code"]) == ("run_failed", "MODEL_FAILED")
        assert "SIGKILL" in last["message"] and last["hint"]
        assert (process.wait(20), process.stderr.read()) == (1, "")
