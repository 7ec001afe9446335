"""The surroundings of a command: streams that are closed or full, files with a byte order mark, unusual folders."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys

import pytest

from cli_command import command as glyphscope
from glyphscope.cli.mcp.requests import answer_to
from glyphscope.cli.signals import closing_when_ended
from glyphscope.events import AnyEvent, Token, encode_event
from glyphscope.store.records import read_record
from glyphscope.tools.mcp import Question

CALL = '{action="search" query="AI news" max_results=10}'
MODEL = ["--constraint", "off", "--model", f"scripted:{CALL}"]


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run it in a shell, which can close streams: Python's subprocess module cannot."""
    command = line.replace("glyphscope", f"{sys.executable} -m glyphscope", 1)
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=240)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["check -", "sizes -", "run --model scripted:x --constraint off -", "keys set http://127.0.0.1:1/v1"],
)
def test_a_closed_standard_input_is_an_error_with_a_hint(command):
    done = shell(f"glyphscope {command} <&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Standard input is closed" in done.stderr and "do: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_that_is_not_text_is_an_error_with_a_hint():
    done = glyphscope("keys", "set", "http://127.0.0.1:1/v1", text=b"\xff\n")
    assert done.exit_code == 2 and "not UTF-8" in done.stderr


@pytest.mark.slow
def test_an_answer_that_is_not_text_is_a_wrong_one():
    done = shell("glyphscope lesson run mask < /dev/urandom")
    assert done.returncode == 0, done.stderr


def test_a_servers_question_is_cancelled_where_standard_input_is_closed(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    question = Question(number=1, server="s", kind="link", params={"url": "http://x/"}, deliver=print)
    assert answer_to(question, None).action == "cancel"


def test_a_servers_text_that_is_cut_says_its_length(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)
    params = {"message": "m" * 5000, "url": "http://x/" + "u" * 5000}
    answer_to(Question(number=1, server="s", kind="link", params=params, deliver=print), None)
    shown = capsys.readouterr().err
    assert "… (5,000 characters)" in shown and "… (5,009 characters)" in shown


@pytest.mark.slow
def test_a_closed_output_is_tolerated_and_records_are_complete(tmp_path):
    call, record = tmp_path / "call", tmp_path / "run.jsonl"
    call.write_text(CALL)
    done = shell(f"glyphscope check {call} >&-")
    assert (done.returncode, done.stderr) == (0, "")
    arguments = " ".join(f"'{argument}'" for argument in (*MODEL, "--record", str(record), "--json", "x"))
    assert shell(f"glyphscope run {arguments} <&- >&- 2>&-").returncode == 0
    assert not read_record(record).torn


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["check --json -", "check -", "grammar build", "--version"])
def test_a_full_output_is_exit_code_2(command):
    done = shell(f"echo '{CALL}' | glyphscope {command} > /dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: The disk is full."
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_a_byte_order_mark_of_a_file_is_ignored(tmp_path):
    for name in ("call", "calls.jsonl", "system"):
        content = {"call": CALL, "calls.jsonl": json.dumps({"text": CALL}), "system": "Be brief."}[name]
        (tmp_path / name).write_text(content, encoding="utf-8-sig")
    report = json.loads(glyphscope("check", "--json", tmp_path / "call").stdout)
    assert (report["valid"], report["chars"]) == (True, len(CALL))
    assert glyphscope("check", "--lines", tmp_path / "calls.jsonl").exit_code == 0
    ran = glyphscope("run", *MODEL, "--json", "--system", tmp_path / "system", "x")
    assert json.loads(ran.stdout.splitlines()[0])["request"]["system"] == "Be brief."
    inside = glyphscope("check", "--json", "-", text="\ufeff\ufeff" + CALL)
    assert json.loads(inside.stdout)["errors"][0]["code"] == "LEADING_TEXT", (
        "one in the text is the model's own"
    )


def test_a_file_without_lines_is_not_a_success():
    done = glyphscope("check", "--lines", "-", text="\n \n")
    assert done.exit_code == 2 and "nothing to check" in done.stderr and "standard input" in done.stderr


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("grammar", "build", "--schema"), '{"items": {"type": "string", "type": "integer"}}'),
        (("prompt", "--messages"), '[{"role": "user", "content": "a", "content": "b"}]'),
    ],
)
def test_a_duplicate_key_of_a_schema_or_a_conversation_is_an_error(tmp_path, command, text):
    (tmp_path / "x.json").write_text(text)
    done = glyphscope(*command, tmp_path / "x.json")
    assert done.exit_code == 2 and "Duplicate key" in done.stderr and "x.json" in done.stderr


def test_lines_in_another_notation_than_glyph_are_named_with_the_options_for_them(tmp_path):
    call = '{"name": "search", "arguments": {"query": "a"}}'
    lines = [{"text": call}, {"text": call}, {"text": call, "notation": "json", "shape": "name-arguments"}]
    (tmp_path / "calls.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = glyphscope("check", "--lines", tmp_path / "calls.jsonl")
    assert [json.loads(line)["valid"] for line in done.stdout.splitlines()] == [False, False, True]
    assert done.stderr.count("it is a valid call with --notation json --shape name-arguments") == 1
    asked = ("--notation", "json", "--shape", "name-arguments")
    assert glyphscope("check", "--lines", tmp_path / "calls.jsonl", *asked).exit_code == 0


@pytest.mark.parametrize("place", ["/", ".", "/dev/null/run.jsonl", "x" * 300])
def test_a_record_place_that_cannot_be_written_is_reported_before_the_run(place):
    result = glyphscope("run", *MODEL, "--json", "--record", place, "x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "do: " in result.stderr


def test_a_disk_that_fills_up_under_a_record_leaves_the_older_record(tmp_path, monkeypatch):
    def full(event: AnyEvent) -> bytes:
        if isinstance(event, Token):
            raise OSError(errno.ENOSPC, "No space left on device")
        return encode_event(event)

    path = tmp_path / "run.jsonl"
    recording = ["run", *MODEL, "--json", "--record", str(path)]
    assert glyphscope(*recording, "older").exit_code == 0
    monkeypatch.setattr("glyphscope.store.records.encode_event", full)
    result = glyphscope(*recording, "x")
    assert json.loads(result.stdout.splitlines()[-1])["valid"], "the run itself continues to its end"
    assert result.exit_code == 2
    assert "The disk is full" in result.stderr and "run.jsonl.part" in result.stderr
    assert read_record(path).events[0].request.prompt == "older"
    assert read_record(tmp_path / "run.jsonl.part").events[0].request.prompt == "x"


@pytest.mark.slow
def test_commands_that_write_nothing_work_without_a_writable_home(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GLYPHSCOPE_HOME", str(tmp_path / "file"))  # not even root can make a folder in it
    monkeypatch.setattr("glyphscope.cli.probes._broken", lambda modules: {})  # takes seconds
    assert glyphscope("check", "-", text=CALL).exit_code == 0
    assert glyphscope("run", *MODEL, "x").exit_code == 0
    assert glyphscope("models").exit_code in (0, 1)
    doctor = json.loads(glyphscope("doctor", "--json").stdout)
    wrong = {each["name"]: each["fix"] for each in doctor["findings"] if not each["ok"]}
    assert "GLYPHSCOPE_HOME" in wrong["history"]


def test_ctrl_c_while_the_program_is_loading_ends_quietly():
    code = """
import sys
class Stops:
    def find_spec(self, name, path=None, target=None):
        if name == "glyphscope.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stops())
from glyphscope.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "models"], capture_output=True, timeout=240, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"")


def test_under_nohup_a_closed_terminal_does_not_end_a_command():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with closing_when_ended():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_answers_are_utf8_whatever_the_locale_and_a_closed_pipe_is_quiet():
    line = json.dumps({"text": '{action="search" query="é😀"}'}) + "\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "glyphscope", "check", "--lines", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    )
    with process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(line.encode())
        process.stdin.close()
        assert json.loads(process.stdout.readline().decode("utf-8"))["arguments"] == {"query": "é😀"}
        assert process.wait(20) == 0


@pytest.mark.slow
def test_a_closed_pipe_ends_the_command_quietly():
    process = subprocess.Popen(
        [sys.executable, "-m", "glyphscope", "check", "--lines", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write((json.dumps({"text": CALL}) + "\n").encode() * 50)
        process.stdin.close()
        assert process.stderr.read() == b""


@pytest.mark.slow
def test_a_place_hundreds_of_levels_deep_is_shortened_on_the_screen(tmp_path):
    registry = tmp_path / "any.json"
    registry.write_text(json.dumps({"p": {"type": "object", "properties": {"deep": {}}}}))
    text = "{action=p deep=" + "{a=" * 300
    shown = glyphscope("check", "--registry", registry, "-", text=text).stdout
    assert "nested deeper than 256 levels" in shown and "levels): nested" in shown
    assert all(len(line) < 220 for line in shown.splitlines())
    assert (
        "/a" * 200
        in json.loads(glyphscope("check", "--json", "-r", registry, "-", text=text).stdout)["errors"][0][
            "path"
        ]
    ), "JSON has it whole"
