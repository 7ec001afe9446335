import json
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cli_command import mcp_command as command
from glyphscope.registry import load_registry
from mcp_servers import SCRIPT

PLAIN = shlex.join((sys.executable, str(SCRIPT)))


@pytest.fixture
def config(tmp_path):
    """A file of servers: each behaves as its arguments say."""

    def write(**servers):
        path = tmp_path / "servers.json"
        entries = {
            name: entry
            if isinstance(entry, dict)
            else {"command": sys.executable, "args": [str(SCRIPT), *entry.split()]}
            for name, entry in servers.items()
        }
        path.write_text(json.dumps({"mcpServers": entries}))
        return str(path)

    return write


def test_a_file_of_servers_is_started_only_after_consent_that_shows_the_command_line(config):
    file = config(one="")
    for refused in (command("list", file), command("call", file, "echo"), command("import", file, "-o", "-")):
        assert refused.exit_code == 2
        assert f"one would start: {PLAIN}" in refused.stderr and "--yes" in refused.stderr
    assert command("list", file, "--yes").exit_code == 0


def test_a_file_without_servers_and_an_invalid_address_are_reported(config):
    none = command("list", config())
    assert none.exit_code == 1 and "names no server" in none.stderr
    for words in ("ftp://somewhere/mcp", 'echo "open'):
        result = command("list", words)
        assert result.exit_code == 2 and "do: " in result.stderr and words in result.stderr


def test_a_command_line_with_invisible_characters_is_shown_with_signs(config):
    file = config(one={"command": "echo", "args": ["\x1b[2K\rharmless"]})
    assert "'␛[2K␍harmless'" in command("list", file).stderr
    turned = config(one={"command": "echo", "args": ["\u202e\x9b2Kelbmul\u200b"]})
    assert "'⟨U+202E⟩⟨U+009B⟩2Kelbmul⟨U+200B⟩'" in command("list", turned).stderr


def test_servers_are_listed_with_their_tools_and_problems(config):
    result = command("list", config(good="bad-schemas", off={"command": "x", "disabled": True}), "--yes")
    assert result.exit_code == 0
    assert (
        "✓ good: " in result.stdout and "Says it again." in result.stdout and "readOnlyHint" in result.stdout
    )
    assert "– off: disabled" in result.stdout
    assert "! remote: skipped: " in result.stderr


def test_a_server_that_names_itself_nowhere_is_listed_by_its_protocol(config):
    lines = command("list", config(new="modern empty-cursor"), "--yes").stdout.splitlines()
    assert lines[1] == "  MCP 2026-07-28, 2 tools"


def test_the_list_as_json_has_every_server(config):
    file = config(good="", bad="exit=4", sse={"type": "sse", "url": "https://x.test"})
    result = command("list", file, "--yes", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    good, bad = document["servers"]
    assert (good["state"], good["identity"], good["about"]["name"]) == ("ready", PLAIN, "scripted")
    assert good["tools"][0]["name"] == "echo" and good["tools"][0]["claims"]["readOnlyHint"] is True
    assert (bad["state"], bad["tools"]) == ("failed", [])
    assert "exit code 4" in bad["error"]["message"] and bad["error"]["log"] == "cannot find my configuration"
    assert document["problems"][0]["pointer"] == "/mcpServers/sse/type"


def test_a_server_may_be_given_as_a_command():
    result = command("list", "--json", "--", sys.executable, str(SCRIPT), "tools=3")
    (server,) = json.loads(result.stdout)["servers"]
    assert (server["name"], len(server["tools"])) == ("scripted_server", 3)


def test_a_call_by_hand_prints_the_result():
    result = command("call", PLAIN, "echo", "-a", '{"text": "hi"}')
    assert (result.exit_code, result.stdout) == (0, '{"text": "hi"}\n')
    assert command("call", PLAIN, "echo", "-a", "-", text='{"text": "in"}').stdout == '{"text": "in"}\n'


def test_a_call_by_hand_shows_content_of_every_kind_and_progress():
    shown = command("call", PLAIN, "rich").stdout
    for line in (
        "a picture",
        "[image: image/png, 5 bytes]",
        "[link: a, file:///a, text/plain, 3 bytes]",
        "bb",
    ):
        assert line in shown.splitlines()
    assert "… 2 of 3 step 2" in command("call", PLAIN, "wait").stderr


def test_a_call_as_json_is_the_outcome():
    result = command("call", PLAIN, "wrong-structure", "--json")
    outcome = json.loads(result.stdout)
    assert (outcome["ok"], outcome["structured"], outcome["content"][0]["text"]) == (
        True,
        {"degrees": 99},
        "99",
    )
    assert outcome["schema_problems"] == ["/degrees: 99 is greater than the maximum of 60"]


@pytest.mark.parametrize(
    ("tool", "code", "words"),
    [
        ("failing", 1, "the tool failed"),
        ("refused", 1, "no city given"),
        ("leave", 1, "exit code 3"),
        ("no-such-tool", 2, "has no tool"),
        ("no-such-tool", 2, "do: Choose one that it has: "),
    ],
)
def test_a_call_without_a_result_is_explained(tool, code, words):
    result = command("call", PLAIN, tool)
    assert result.exit_code == code and words in result.stderr


def interrupted(numbers, *words):
    """Run that command once for each signal, send them while a server runs, and return its errors and exit codes."""
    words = [sys.executable, "-m", "glyphscope", *words]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in numbers]
    deadline = time.monotonic() + 30
    while not all(found := [children(each.pid) for each in running]) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)  # until the server ignores signals, or the run waits for it
    for each, number in zip(running, numbers, strict=True):
        each.send_signal(number)
    ended = [(each.communicate(timeout=240)[1], each.returncode) for each in running]
    assert all(found)
    assert not [pid for pids in found for pid in pids if Path(f"/proc/{pid}").exists()]
    return ended


@pytest.mark.slow
@pytest.mark.usefixtures("unforked")  # it looks for the server among the command's children
def test_an_interrupted_command_leaves_no_server():
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    ended = interrupted(numbers, "mcp", "call", f"{PLAIN} ignore-signals", "silent")
    assert [code for _errors, code in ended] == [130] * 3


@pytest.mark.slow
@pytest.mark.usefixtures("unforked")
def test_a_run_stopped_while_its_server_starts_leaves_no_server(config):
    file = config(slow={"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]})
    ended = interrupted(
        (signal.SIGTERM, signal.SIGINT), "run", "--model", "scripted:x", "--mcp", file, "--yes", "p"
    )
    assert ended == [(b"", 130)] * 2


def children(pid: int) -> list[int]:
    with suppress(OSError):
        return [
            int(n) for path in Path(f"/proc/{pid}/task").glob("*/children") for n in path.read_text().split()
        ]
    return []


def test_arguments_that_violate_the_schema_are_reported_and_sent():
    result = command("call", PLAIN, "echo", "-a", json.dumps({"text": "x" * 30}))
    assert result.exit_code == 0 and "! /text: " in result.stderr and "x" * 30 in result.stdout


@pytest.mark.parametrize("arguments", ["", "{", "[]", "3", "[" * 100_000])
def test_arguments_that_are_not_an_object_are_bad_input(arguments):
    assert command("call", PLAIN, "echo", "-a", arguments).exit_code == 2


def test_the_server_of_a_call_must_be_named_among_several(config):
    file = config(one="", two="tools=1")
    several = command("call", file, "tool-0", "--yes")
    assert several.exit_code == 2 and "one, two" in several.stderr
    assert (
        command("call", file, "tool-0", "--yes", "--server", "two").exit_code == 1
    )  # which lists it, and crashes on it
    assert command("call", file, "echo", "--yes", "--server", "three").exit_code == 2


def test_tools_are_imported_into_a_registry_that_loads(config, tmp_path):
    file, registry = config(one="bad-schemas", two="", three="exit=1"), tmp_path / "tools.json"
    result = command("import", file, "--yes", "-o", str(registry))
    assert result.exit_code == 1
    names = [tool.name for tool in load_registry(registry)]
    assert (
        names[0] == "echo"
        and "odd-output" in names
        and "remote" not in names
        and len(names) == len(set(names))
    )
    for words in (
        "remote: skipped",
        "skipped from two, because one has a tool",
        "three: The server ended",
        "written to",
    ):
        assert words in result.stderr


@pytest.mark.slow
def test_an_import_with_report_says_what_is_enforced(config):
    result = command("import", config(one="tools=1"), "--yes", "--report")
    assert result.exit_code == 0
    (line,) = (line for line in result.stdout.splitlines() if "maxLength" in line)
    assert line.split() == ["/properties/text/maxLength", "✓", "enforced", "✓", "enforced"]


def test_an_import_prints_the_registry_to_standard_output(config):
    result = command("import", config(one="tools=2"), "--yes", "-o", "-")
    assert [tool.name for tool in load_registry(result.stdout)] == ["tool-0", "tool-1"]


@pytest.mark.parametrize("more", [[], ["-o", "-", "--report"]])
def test_an_import_without_a_destination_is_bad_usage(config, more):
    assert command("import", config(one=""), "--yes", *more).exit_code == 2


@pytest.mark.parametrize("words", [["none.json"], ["no-such-command-anywhere"], ["https://"], [""]])
def test_an_invalid_server_is_reported(words):
    result = command("list", *words)
    assert result.exit_code in (1, 2) and result.stderr
