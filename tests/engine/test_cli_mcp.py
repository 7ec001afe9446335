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


def interrupted(numbers, *words):
    """Run that command once for each signal, send them while a server runs, and return its errors and exit codes."""
    words = [sys.executable, "-m", "glyphscope", *words]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in numbers]
    deadline = time.monotonic() + 200  # on a busy machine; a command that ended is not waited for
    while not all(found := [children(each.pid) for each in running]) and time.monotonic() < deadline:
        if any(each.poll() is not None for each in running):
            break
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


def test_tools_that_changed_since_the_last_connection_or_differ_from_a_registry_are_shown(tmp_path):
    def config(**env):
        entry = {"command": sys.executable, "args": [str(SCRIPT)], "env": env}
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"one": entry}}))
        return tmp_path / "servers.json"

    tools = tmp_path / "tools.json"
    assert command("import", config(), "--yes", "-o", tools).exit_code == 0
    same = command("changes", config(), "--yes")
    assert same.exit_code == 0 and "✓ one: 29 tools, unchanged since 20" in same.stdout
    changed = command("changes", config(SHIFTED="1"), "--yes")
    assert changed.exit_code == 1
    assert "changed echo: description; added new; removed wait" in changed.stdout
    assert '+  "description": "Says it twice.",' in changed.stdout.splitlines()
    again = command("changes", config(SHIFTED="1"), "--yes")
    assert again.exit_code == 0 and "changed echo: description" in again.stdout, (
        "the earlier change stays listed"
    )
    pinned = command("changes", config(SHIFTED="1"), "--yes", "--registry", tools, "--json")
    (found,) = json.loads(pinned.stdout)
    assert (
        pinned.exit_code == 1
        and found["changed"] == {"echo": ["description"]}
        and found["removed"] == ["wait"]
    )
    assert "! one: since" in command("list", config(), "--yes").stderr
