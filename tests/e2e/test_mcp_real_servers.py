"""Third-party MCP servers, installed once into the user's cache; skipped where that is impossible."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

from cli_command import command as glyphscope
from cli_command import mcp_command as command
from glyphscope.base.errors import ServerError
from glyphscope.registry import load_registry
from glyphscope.tools.mcp import McpServer, ServerConfig
from mcp_servers import call

pytestmark = pytest.mark.slow

CACHE = user_cache_path("glyphscope", appauthor=False) / "test-servers"
PYTHON = ("mcp-server-time", "mcp-server-git")
NODE = ("server-everything", "server-filesystem")
INSTALL_SECONDS = 150.0


def installed(command: list[str], made: Path) -> Path:
    """Return a path that the command creates; run it at most once."""
    if made.exists():
        return made
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"cannot be installed here: {error}")
    if done.returncode or not made.exists():
        pytest.skip(f"cannot be installed here: {done.stderr.strip()[-300:]}")
    return made


def python_server(name: str) -> Path:
    """Install the servers into another environment: they may need another version of the SDK than Glyphscope does."""
    home = CACHE / "python"
    python = installed([sys.executable, "-m", "venv", "--without-pip", str(home)], home / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    return installed([*pip, *PYTHON], home / "bin" / name)


def node_server(name: str) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm here")
    home = CACHE / "node"
    home.mkdir(parents=True, exist_ok=True)
    packages = (f"@modelcontextprotocol/{each}" for each in NODE)
    command = [npm, "install", "--prefix", str(home), "--no-audit", "--no-fund", *packages]
    return installed(command, home / "node_modules" / ".bin" / f"mcp-{name}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git = shutil.which("git")
    if git is None:
        pytest.skip("there is no git here")
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "hello.txt").write_text("hello\n")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.test"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "The first one"]):
        subprocess.run([git, *words], cwd=folder, check=True, capture_output=True)
    return folder


def config_of(name: str, repository: Path) -> dict[str, Any]:
    if name in PYTHON:
        more = ["-r", str(repository)] if name == "mcp-server-git" else ["--local-timezone=Europe/Berlin"]
        return {"command": str(python_server(name)), "args": more}
    return {
        "command": str(node_server(name)),
        "args": [str(repository)] if name == "server-filesystem" else [],
    }


CALLS: dict[str, list[tuple[str, dict[str, Any], str, str]]] = {
    "mcp-server-time": [
        ("get_current_time", {"timezone": "Asia/Tokyo"}, "", "+09:00"),
        ("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}, "", "21:00"),
        ("get_current_time", {"timezone": "Mars/Olympus"}, "tool", "Mars"),
    ],
    "mcp-server-git": [
        ("git_log", {"repo_path": "REPOSITORY"}, "", "The first one"),
        ("git_status", {"repo_path": "/"}, "tool", "outside"),
    ],
    "server-everything": [
        ("echo", {"message": "grüß"}, "", "grüß"),
        ("get-sum", {"a": 2, "b": 40}, "", "42"),
        ("get-tiny-image", {}, "", "logo"),
        ("get-structured-content", {"location": "Chicago"}, "", "temperature"),
        ("trigger-long-running-operation", {"duration": 1, "steps": 2}, "", "completed"),
        ("get-sum", {"a": 2}, "tool", "nvalid"),
    ],
    "server-filesystem": [
        ("list_directory", {"path": "REPOSITORY"}, "", "hello.txt"),
        ("read_text_file", {"path": "REPOSITORY/hello.txt"}, "", "hello"),
        ("read_text_file", {"path": "/etc/passwd"}, "tool", "denied"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [*PYTHON, *NODE])
def test_a_real_server_is_listed_imported_with_report_and_called_by_hand(name: str, repository: Path) -> None:
    file, registry = repository.parent / "servers.json", repository.parent / "tools.json"
    file.write_text(json.dumps({"mcpServers": {name: config_of(name, repository)}}))

    listed = command("list", str(file), "--yes", "--json")
    (server,) = json.loads(listed.stdout)["servers"]
    assert (listed.exit_code, server["state"]) == (0, "ready"), server["error"]
    assert {tool for tool, *_ in CALLS[name]} <= {tool["name"] for tool in server["tools"]}

    imported = command("import", str(file), "--yes", "-o", str(registry), "--report", "--json")
    assert imported.exit_code == 0, imported.stderr
    report = json.loads(imported.stdout)
    assert {tool.name for tool in load_registry(registry)} == {tool["name"] for tool in server["tools"]}
    assert set(report["counts"]) == {"mask", "gbnf"} and len(report["proofs"]) > len(server["tools"])
    assert {proof["status"] for proof in report["proofs"]} <= {"enforced", "checked", "unsupported"}

    for tool, arguments, fault, words in CALLS[name]:
        given = json.dumps(arguments).replace("REPOSITORY", str(repository))
        called = command("call", str(file), tool, "--yes", "--json", "-a", given)
        outcome = json.loads(called.stdout)
        assert (outcome["fault"], called.exit_code) == (fault, 1 if fault else 0), outcome
        assert any(words in content["text"] for content in outcome["content"]), outcome
        assert outcome["schema_problems"] == []


@pytest.mark.parametrize("name", [*PYTHON, *NODE])
def test_a_run_calls_a_real_server_and_replays_without_it(name: str, repository: Path) -> None:
    file, record = repository.parent / "servers.json", repository.parent / "run.jsonl"
    file.write_text(json.dumps({"mcpServers": {name: config_of(name, repository)}}))
    tool, arguments, _, words = CALLS[name][0]
    written = json.dumps({"action": tool, **arguments}).replace("REPOSITORY", str(repository))
    run = [
        *("run", "Call it.", "--notation", "json", "--model", f"scripted:{written}", "--json", "--dispatch"),
        *("--mcp", str(file), "--yes", "--approve", f"{name}/{tool}=allow", "--record", str(record)),
    ]
    done = glyphscope(*run)
    assert done.exit_code == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (result,) = (event for event in events if event["type"] == "tool_result")
    assert (result["ok"], result["source"]) == (True, name) and words in result["told"]
    file.unlink()
    replayed = glyphscope("replay", record, "--verify")
    assert replayed.exit_code == 0 and "the same" in replayed.stdout


def test_a_real_server_reports_progress_and_can_be_stopped(repository: Path) -> None:
    config = config_of("server-everything", repository)
    server = McpServer(ServerConfig(name="everything", command=config["command"]))
    try:
        server.open()
        seen: list[float] = []
        cancel = threading.Event()

        def progress(done: float, total: float | None, message: str) -> None:
            seen.append(done)
            cancel.set()

        start = time.monotonic()
        outcome = server.call(
            "trigger-long-running-operation",
            {"duration": 60, "steps": 600},
            seconds=60,
            cancel=cancel,
            progress=progress,
        )
        assert (outcome.fault, seen[:1]) == ("cancelled", [1.0]) and time.monotonic() - start < 20
        assert call(server, "echo", {"message": "still there"}).ok
    finally:
        server.close()


@pytest.fixture
def address(repository: Path) -> Iterator[str]:
    """A real server over HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [str(node_server("server-everything")), "streamableHttp"]
    process = subprocess.Popen(
        program, env={"PORT": str(port), "PATH": str(Path(shutil.which("node") or "/usr/bin/node").parent)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_a_real_server_over_http_is_listed_and_called(address: str) -> None:
    server = McpServer(ServerConfig(name="everything", url=address))
    deadline = time.monotonic() + 20
    try:
        while server.state != "ready":
            try:
                server.open()
            except ServerError:
                assert time.monotonic() < deadline, server.problem
                time.sleep(0.2)
        assert "echo" in [tool.name for tool in server.tools()]
        assert call(server, "echo", {"message": "hi"}).content[0].text == "Echo: hi"
        image = call(server, "get-tiny-image").content[1]
        assert (image.kind, image.data[:4]) == ("image", b"\x89PNG")
    finally:
        server.close()
