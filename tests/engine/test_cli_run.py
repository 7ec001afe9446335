import json
import signal
from pathlib import Path

import pytest

from cli_command import command
from glyphscope.base.errors import ContextOverflow, GrammarError, ModelDied
from glyphscope.events import RunFailed, decode_event
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store.records import read_record

ASSETS = Path(__file__).parents[2] / "assets"
GOOD = 'scripted:{action="search" query="AI news" max_results=10}'
BAD = 'scripted:{action="delete_database"} and so on'


def run(*arguments: str, model: str = GOOD, text: str | None = None):
    return command("run", "--model", model, "--constraint", "off", *arguments, text=text)


def recorded(path, model: str = GOOD, *arguments: str):
    run("--record", str(path), "--json", *arguments, "p", model=model)
    return path


def test_json_is_an_event_a_line_that_ends_in_a_finished_run():
    result = run("--json", "Search")
    events = [decode_event(line) for line in result.stdout.splitlines()]
    types = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert (types[0], types[-2:]) == ("run_started", ["call_ready", "run_finished"])
    assert (result.exit_code, result.stderr, events[-1].valid) == (0, "", True)
    assert events[0].request.prompt == "Search"


def test_the_options_are_in_the_request(tmp_path):
    system = tmp_path / "system"
    system.write_text("Only {{ notation }}.")
    result = run(
        "--json", "--system", str(system), "--seed", "7", "--temperature", "0.5", "--top-k", "3", "--top-p", "0.5",
        "--min-p", "0.1", "--max-tokens", "9", "--notation", "json", "--shape", "tool-args", "-", text="from stdin",
    )  # fmt: skip
    request = json.loads(result.stdout.splitlines()[0])["request"]
    assert (request["prompt"], request["system"], request["max_tokens"]) == (
        "from stdin",
        "Only {{ notation }}.",
        9,
    )
    assert (
        request["sampling"] | {"seed": 7, "temperature": 0.5, "top_k": 3, "top_p": 0.5, "min_p": 0.1}
        == request["sampling"]
    )
    assert (request["notation"], request["shape"]) == ("json", "tool-args")


@pytest.mark.parametrize(
    ("text", "options", "ticked"),
    [
        ("No.", ("--strategy", "loop"), []),  # no call, although a tool could have been called
        ("a", ("--answer", "choice:a|b"), ["✓ a valid answer"]),
        ("c", ("--answer", "choice:a|b"), []),
        (
            GOOD.removeprefix("scripted:"),
            (),
            ['✓ {"name":"search","arguments":{"query":"AI news","max_results":10}}'],
        ),
    ],
)
def test_only_a_valid_call_or_answer_has_a_tick(text, options, ticked):
    shown = run("--constraint", "off", *options, "p", model=f"scripted:{text}").stdout
    assert [line for line in shown.splitlines() if line.startswith("✓")] == ticked


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("--extra-body", "messages=[]", "Extra fields cannot set messages"),
        ("--logit-bias", "x", "x"),
    ],
)
def test_a_setting_that_no_model_can_have_is_rejected_before_one_is_opened(option, value, problem):
    result = run(option, value, "p", model="http://127.0.0.1:9/v1#m")
    assert (result.exit_code, problem in result.stderr, option in result.stderr) == (2, True, True)
    assert "reached" not in result.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('["\\ud800"]', "\\ud800 is half a character."),
        ('["\\ud83d\\ude00", "\\ud800"]', "\\ud800 is half a character."),
        (" ", "it is empty."),
        ('["\\ud83d\\ude00"', "Input data was truncated."),
    ],
)
def test_json_that_cannot_be_read_has_its_reason(tmp_path, text, why):
    file = tmp_path / "messages.json"
    file.write_text(text)
    assert f"Invalid JSON: {why}" in run("--messages", str(file)).stderr


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_a_custom_grammar_is_in_the_record(tmp_path, constraint):
    grammar = tmp_path / "my.gbnf"
    grammar.write_text('root ::= "a"')
    result = run("--json", "--constraint", constraint, "--grammar", str(grammar), "p")
    assert json.loads(result.stdout.splitlines()[0])["request"]["grammar"] == 'root ::= "a"'


@pytest.mark.parametrize("model", [GOOD, BAD, "scripted:prose", 'scripted:{action="search" query="日本'])
def test_a_recorded_run_verifies_and_replays_identically(tmp_path, model):
    path = recorded(tmp_path / "run.jsonl", model)
    result = command("replay", str(path), "--verify", "--json")
    assert (result.exit_code, json.loads(result.stdout)["equal"]) == (0, True)
    again = command("replay", str(path), "--json")
    assert again.exit_code == 0
    assert [decode_event(line) for line in again.stdout.splitlines()] == list(read_record(path).events)
    shown, live = command("replay", str(path)).stdout, run("p", model=model).stdout
    assert shown.splitlines()[0] == live.splitlines()[0]


@pytest.mark.parametrize("path", sorted(ASSETS.rglob("runs/*.jsonl")), ids=lambda path: path.stem)
def test_every_bundled_record_verifies(path):
    result = command("replay", str(path), "--verify")
    assert result.exit_code == 0, result.stdout


def test_a_lone_surrogate_is_recorded_and_verifies(tmp_path):
    path = recorded(
        tmp_path / "run.jsonl",
        'scripted:{"action":"search","query":"\\ud800"}',
        "--notation",
        "json",
        "--stop-on",
        "never",
    )
    assert read_record(path).events
    assert command("replay", str(path), "--verify").exit_code == 0


@pytest.mark.parametrize(
    "error",
    [
        ModelDied("The model's process was ended by SIGKILL.", signal="SIGKILL", stderr="killed"),
        ContextOverflow(5000, 4096),
        GrammarError("The constraint refuses token 5.", where="search", hint="Write something else there."),
    ],
)
@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_record_of_a_model_that_failed_verifies(tmp_path, monkeypatch, error, after):
    class Failing(ScriptedModel):
        def generate(self, request):
            for number, item in enumerate(super().generate(request)):
                if number == after:
                    raise error
                yield item

    monkeypatch.setattr(
        "glyphscope.store.named_models.open_model",
        lambda *_, **__: Failing(GOOD.removeprefix("scripted:")),
    )
    path = recorded(tmp_path / "run.jsonl")
    assert isinstance(read_record(path).events[-1], RunFailed)
    result = command("replay", str(path), "--verify")
    assert (result.exit_code, "✓" in result.stdout) == (0, True), result.stdout


def test_an_incomplete_record_is_shown_with_a_warning(tmp_path):
    path = recorded(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes()[:-30])
    result = command("replay", str(path), "--json")
    assert result.exit_code == 0 and "is incomplete" in result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["type"] == "call_ready"


def test_replay_at_a_speed_waits_as_long_as_the_run_took(tmp_path, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("glyphscope.cli.bundle.time.sleep", waits.append)
    path = recorded(tmp_path / "run.jsonl")
    command("replay", str(path), "--speed", "0.5", "--json")
    assert len(waits) == len(read_record(path).events) and max(waits) > 0


def test_ctrl_c_before_the_generation_began_cancels_it_too(monkeypatch):
    def interrupted(self, messages):
        signal.raise_signal(signal.SIGINT)
        return render(self, messages)

    render = ScriptedModel.render_chat
    monkeypatch.setattr(ScriptedModel, "render_chat", interrupted)
    before = signal.getsignal(signal.SIGINT)
    result = run("--json", "p")
    assert (result.exit_code, json.loads(result.stdout.splitlines()[-1])["reason"]) == (130, "cancelled")
    assert signal.getsignal(signal.SIGINT) is before
