"""A configured server in a run: started on demand, never without the user's consent, and always ended."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager

import pytest

from glyphscope.registry import Tool
from glyphscope.tools import Outcome
from glyphscope.tools.mcp import ServerConfig
from glyphscope_gui.mcp.server_source import Alias, RunSources, ServerSource, source_key
from mcp_servers import SCRIPT


@contextmanager
def source(*behaviour, may_run=True, **more):
    config = ServerConfig(name="mine", command=sys.executable, args=(str(SCRIPT), *behaviour), **more)
    reported, logged = [], []
    made = ServerSource(config, may_run=may_run, changed=reported.append, logged=logged.append)
    made.reported, made.logged = reported, logged
    try:
        yield made
    finally:
        made.close()


def call(made, tool="echo", arguments=None, seconds=20.0, cancel=None):
    return made.call(tool, arguments or {"text": "hi"}, seconds=seconds, cancel=cancel or threading.Event())


@pytest.mark.parametrize(
    ("may_run", "disabled", "words"), [(False, False, "allowed"), (True, True, "disabled")]
)
def test_a_command_does_not_run_without_consent_or_if_it_is_disabled(tmp_path, may_run, disabled, words):
    witness = tmp_path / "ran"
    config = ServerConfig(name="mine", command="touch", args=(str(witness),), disabled=disabled)
    made = ServerSource(config, may_run=may_run, changed=lambda _name: None, logged=lambda _name: None)
    assert not made.start()
    outcome = call(made)
    assert (outcome.fault, made.phase) == ("protocol", "stopped") and words in outcome.message
    assert not witness.exists()
    made.close()


@pytest.mark.slow
def test_a_run_starts_a_server_that_it_needs():
    with source() as made:
        assert made.phase == "stopped"
        assert made.tools() == ()
        outcome = call(made)
        assert outcome.ok
        assert outcome.content[0].text == '{"text": "hi"}'
        assert made.phase == "ready"
        assert made.claims("echo")["readOnlyHint"] is True
        assert "mine" in made.reported
        assert "mine" in made.logged
        first = made.server
        made.restart()
        assert call(made).ok and made.server is not first and first.state == "stopped"
    assert made.phase == "stopped"
    assert made.server.log.entries, "the log of the last process is gone"
    assert not made.start(), "one that was closed starts again"
    assert call(made).fault == "protocol"


def test_a_failed_server_is_tried_again_by_the_next_call():
    with source("exit=3") as made:
        first = call(made)
        assert (first.fault, made.phase) == ("protocol", "failed")
        assert "exit code 3" in first.message
        call(made)
        assert made.phase == "failed"


@pytest.mark.slow
def test_a_call_to_a_deaf_server_ends_by_timeout_or_cancellation():
    with source("deaf") as made:
        began = time.monotonic()
        assert call(made, seconds=0.5).fault == "timeout"
        cancel = threading.Event()
        threading.Timer(0.2, cancel.set).start()
        assert call(made, cancel=cancel).fault == "cancelled"
        assert time.monotonic() - began < 10


class _Source:
    name = identity = "other"

    def tools(self):
        return (Tool("echo"),)

    def claims(self, tool):
        return {"title": tool}

    def call(self, tool, arguments, **_more):
        return Outcome(message=tool)

    def close(self):
        raise AssertionError("an alias closed a server that it does not own")


def test_a_tool_under_another_name_is_found():
    sources = RunSources({"other": _Source()})
    assert (list(sources), len(sources)) == (["other"], 1)
    alias = sources.get(source_key("echo_2", "other", "echo"))
    assert isinstance(alias, Alias)
    assert alias.call("echo_2", {}, seconds=1, cancel=threading.Event()).message == "echo"
    assert (alias.name, alias.identity, alias.claims("echo_2")) == ("other", "other", {"title": "echo"})
    assert [tool.name for tool in alias.tools()] == ["echo"]
    alias.close()
    assert source_key("echo", "other", "echo") == "other"
    assert sources.get("nobody") is None
    assert sources.get("nobody/echo") is None
