import json
import signal

import msgspec
import pytest

from cli_command import command
from glyphscope.base.errors import ContextOverflow, GrammarError, ModelDied
from glyphscope.events import RunFailed, decode_event, encode_event
from glyphscope.models import ScriptedModel
from glyphscope.store import read_record

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


def test_no_valid_call_is_a_no_with_the_deciding_character():
    result = run("--json", "Search", model=BAD)
    aborted = json.loads(result.stdout.splitlines()[-3])
    assert (result.exit_code, aborted["type"], aborted["code"], aborted["char"]) == (
        1,
        "aborted",
        "UNKNOWN_TOOL",
        9,
    )


def test_stop_on_never_reads_to_the_end():
    result = run("--json", "--stop-on", "never", "Search", model=BAD)
    assert json.loads(result.stdout.splitlines()[-1])["reason"] == "end-of-text"


def test_fields_are_marked_without_colour_with_the_reason_and_the_call():
    good, bad = run("Search").stdout, run("Search", model=BAD).stdout
    assert 'query="AI news"✓ max_results=10✓}' in good and '"name":"search"' in good
    assert '{action="d⏹' in bad and "stopped at character 9" in bad and "UNKNOWN_TOOL" in bad


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
    "arguments",
    [
        ["--registry", "/nowhere.json", "p"],
        ["--system", "/nowhere", "p"],
        ["--constraint", "gbnf", "--grammar", "/nowhere", "p"],
        ["--constraint", "off", "--grammar", "/dev/null", "p"],
        ["--grammar", "/dev/null", "p"],
        ["--model", "/nowhere.gguf", "p"],
        ["--model", "recorded:/nowhere.jsonl", "p"],
        ["--strategy", "none", "p"],
        ["--temperature", "-1", "p"],
        [],
    ],
)
def test_bad_input_is_exit_code_2_with_a_reason_and_no_answer(arguments):
    result = run("--json", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.strip() and "Traceback" not in result.stderr


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_errors_of_a_grammar_are_reported_by_line_and_column_before_a_model_is_opened(tmp_path, constraint):
    grammar = tmp_path / "my.gbnf"
    grammar.write_text('root ::= "a" |\n  nothing\nother ::= [a-z\n')
    result = run("--constraint", constraint, "--grammar", str(grammar), "--model", "/nowhere.gguf", "p")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "my.gbnf" in result.stderr and "line 2, column 3" in result.stderr and "line 3" in result.stderr


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_a_custom_grammar_is_in_the_record(tmp_path, constraint):
    grammar = tmp_path / "my.gbnf"
    grammar.write_text('root ::= "a"')
    result = run("--json", "--constraint", constraint, "--grammar", str(grammar), "p")
    assert json.loads(result.stdout.splitlines()[0])["request"]["grammar"] == 'root ::= "a"'


def test_a_template_that_fails_is_bad_input_in_the_stream(tmp_path):
    system = tmp_path / "system"
    system.write_text("{{ nothing.at_all }}")
    result = run("--json", "--system", str(system), "p")
    assert (result.exit_code, json.loads(result.stdout.splitlines()[-1])["code"]) == (2, "PROMPT_FAILED")


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


def test_a_record_of_a_model_with_load_options_verifies(tmp_path):
    path = recorded(tmp_path / "run.jsonl")
    text = path.read_text()
    assert text.count('"kind":"scripted"') == 1
    path.write_text(text.replace('"kind":"scripted"', '"kind":"llama.cpp","load":{"context":4096}'))
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


def test_a_record_without_its_end_verifies_in_part_and_says_so(tmp_path):
    path = recorded(tmp_path / "run.jsonl", GOOD)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    result = command("replay", str(path), "--verify")
    assert result.exit_code == 0 and "as far as the record goes" in result.stdout
    reported = json.loads(command("replay", str(path), "--verify", "--json").stdout)
    assert (reported["equal"], reported["whole"]) == (True, False)


def test_a_violation_in_other_words_verifies_and_the_new_words_are_shown(tmp_path):
    path = recorded(tmp_path / "run.jsonl", BAD)
    older = path.read_text()
    assert older.count("no allowed tool has a name that starts with") == 2
    path.write_text(older.replace("no allowed tool has a name that starts with", "there is no tool called"))
    result = command("replay", str(path), "--verify")
    assert (result.exit_code, "worded differently" in result.stdout) == (0, True), result.stdout
    shown = json.loads(command("replay", str(path), "--verify", "--json").stdout)
    assert (shown["equal"], shown["difference"], "/message" in shown["reworded"]) == (True, "", True)
    path.write_text(older.replace("UNKNOWN_TOOL", "LEADING_TEXT"))
    assert command("replay", str(path), "--verify").exit_code == 1


def test_a_changed_record_is_a_no_with_the_first_difference(tmp_path):
    path = recorded(tmp_path / "run.jsonl", BAD)
    lines = path.read_bytes().splitlines()
    place = next(i for i, line in enumerate(lines) if b'"type":"violation"' in line)
    violation = decode_event(lines[place])
    lines[place] = encode_event(msgspec.structs.replace(violation, char=3))
    path.write_bytes(b"\n".join(lines) + b"\n")
    result = command("replay", str(path), "--verify")
    assert result.exit_code == 1 and "violation" in result.stdout and "/char was 3, is 9" in result.stdout


@pytest.mark.parametrize(
    "content", [None, b"", b"not json\n", b'{"glyphscope_record": 999}\n', b"\xff\xfe\x00"]
)
def test_a_record_that_cannot_be_read_is_exit_code_2(tmp_path, content):
    path = tmp_path / "run.jsonl"
    if content is not None:
        path.write_bytes(content)
    for arguments in ([], ["--verify"]):
        result = command("replay", str(path), *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Traceback" not in result.stderr and result.stderr


def test_an_incomplete_record_is_shown_with_a_warning(tmp_path):
    path = recorded(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes()[:-30])
    result = command("replay", str(path), "--json")
    assert result.exit_code == 0 and "is incomplete" in result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["type"] == "call_ready"


def test_a_recorded_run_is_a_model_too(tmp_path):
    path = recorded(tmp_path / "run.jsonl")
    result = run("--json", "p", model=f"recorded:{path}")
    assert (result.exit_code, json.loads(result.stdout.splitlines()[0])["model"]["kind"]) == (0, "recorded")


def test_replay_at_a_speed_waits_as_long_as_the_run_took(tmp_path, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("glyphscope.cli.bundle.time.sleep", waits.append)
    path = recorded(tmp_path / "run.jsonl")
    command("replay", str(path), "--speed", "0.5", "--json")
    assert len(waits) == len(read_record(path).events) and max(waits) > 0


def test_a_record_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("--json", "--record", str(tmp_path / "file" / "run.jsonl"), "p")
    assert (result.exit_code, result.stdout) == (2, "") and "run.jsonl" in result.stderr.replace("\n", "")


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
