"""The command line over the embedded model: the whole way from a prompt to a call, and back from its record."""

import json
import signal
import subprocess
import sys
from itertools import cycle

import pytest

from glyphscope.events import NOTATIONS, SHAPES, Aborted, CallReady, PromptRendered, RunRequest, decode_event
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import continue_aborted, run

pytestmark = [pytest.mark.model, pytest.mark.slow]

PROMPT = "Search for AI news, 10 results"
REGISTRY = default_registry().to_document()


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "glyphscope", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_under_the_mask_a_prompt_ends_in_a_valid_search_and_its_record_verifies(tmp_path):
    record = tmp_path / "run.jsonl"
    done = command("run", "--constraint", "mask", "--seed", "1", "--record", str(record), "--json", PROMPT)
    events = [decode_event(line) for line in done.stdout.splitlines()]
    call, finished = events[-2:]
    assert (done.returncode, done.stderr) == (0, "")
    assert (call.tool, finished.valid, finished.reason) == ("search", True, "complete")
    verified = command("replay", str(record), "--verify", "--json")
    assert (verified.returncode, json.loads(verified.stdout)["difference"]) == (0, "")


def test_without_a_constraint_the_run_stops_at_a_deciding_character_and_its_record_verifies(tmp_path):
    record = tmp_path / "run.jsonl"
    done = command("run", "--constraint", "off", "--seed", "1", "--record", str(record), "--json", PROMPT)
    events = [decode_event(line) for line in done.stdout.splitlines()]
    aborted = next(event for event in events if isinstance(event, Aborted))
    finished = events[-1]
    assert (done.returncode, finished.reason) == (1, "aborted")
    assert aborted.code and 0 <= aborted.char <= len(run_state(events).text)
    assert finished.tokens == aborted.tokens_decoded == len(run_state(events).tokens)
    assert command("replay", str(record), "--verify").returncode == 0


@pytest.mark.parametrize(("notation", "shape"), list(zip(cycle(NOTATIONS), SHAPES)))
def test_the_mask_gives_a_valid_call_in_any_notation_and_shape(model, notation, shape):
    request = RunRequest(prompt=PROMPT, registry=REGISTRY, notation=notation, shape=shape)
    events = list(run(request, model))
    assert isinstance(events[-2], CallReady), events[-1]


def test_the_continuation_of_an_aborted_run_equals_an_unstopped_run(model):
    request = RunRequest(prompt=PROMPT, registry=REGISTRY, constraint="off", max_tokens=24)
    aborted = list(run(request, model))
    reported = list(continue_aborted(request, aborted, model))
    whole = list(
        run(
            RunRequest(prompt=PROMPT, registry=REGISTRY, constraint="off", max_tokens=24, stop_on="never"),
            model,
        )
    )
    assert run_state([*aborted, *reported]).text == run_state(whole).text
    assert reported[-1].tokens == whole[-1].tokens > aborted[-1].tokens


def test_a_second_run_evaluates_only_what_is_new(model):
    request = RunRequest(prompt=PROMPT, registry=REGISTRY)
    list(run(request, model))
    prompt = next(event for event in run(request, model) if isinstance(event, PromptRendered))
    assert prompt.cached >= prompt.tokens - 1
    assert sum(part.tokens for part in prompt.parts) == prompt.tokens


def test_ctrl_c_ends_the_run_with_its_last_event_and_exit_code_130():
    arguments = ["run", "--constraint", "off", "--stop-on", "never", "--json", PROMPT]
    process = subprocess.Popen(
        [sys.executable, "-m", "glyphscope", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout and process.stderr
        for line in process.stdout:
            if '"prompt_evaluated"' in line:
                process.send_signal(signal.SIGINT)
                break
        last = json.loads(process.stdout.read().splitlines()[-1])
        assert (last["type"], last["reason"]) == ("run_finished", "cancelled")
        assert (process.wait(20), process.stderr.read()) == (130, "")
