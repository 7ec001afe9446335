"""`glyphscope mcp`: roots, log messages, updates of a resource, and any request."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from cli_command import mcp_command as command
from mcp_servers import SCRIPT

LIVE = shlex.join((sys.executable, str(SCRIPT), "offers=good", "live"))
TOUCHING = shlex.join((sys.executable, str(SCRIPT), "offers=good", "live=2"))

pytestmark = pytest.mark.slow


def test_a_root_given_on_the_command_line_is_listed_to_the_server(tmp_path):
    called = command("call", LIVE, "roots", "--root", str(tmp_path))
    assert json.loads(called.stdout)["roots"][0]["uri"] == tmp_path.as_uri()
    missing = command("call", LIVE, "roots", "--root", str(tmp_path / "none"))
    assert missing.exit_code == 2 and "A root must be an existing folder" in missing.stderr


def test_log_messages_of_the_level_that_was_asked_for_are_printed():
    called = command("call", LIVE, "logs", "--log-level", "alert")
    assert called.stdout == "logged\n"
    assert "[alert db] a alert message" in called.stderr and "critical" not in called.stderr
    plain = command("call", shlex.join((sys.executable, str(SCRIPT))), "logs", "--log-level", "alert")
    assert plain.exit_code == 0 and "does not declare logging" in plain.stderr


def test_a_watched_resource_is_printed_again_after_an_update():
    watched = command("resources", TOUCHING, "note://good", "--watch", "1")
    assert watched.exit_code == 0 and watched.stdout.count("note://good") == 2, watched.output
    refused = command("resources", LIVE, "note://refused", "--watch", "1")
    assert refused.exit_code == 1 and "no such resource" in refused.stderr
    assert command("resources", LIVE, "--watch", "1").exit_code == 2


def test_any_request_prints_its_result_unchanged():
    assert json.loads(command("request", LIVE, "ping").stdout) == {}
    read = command("request", LIVE, "resources/read", "-a", '{"uri": "note://good"}')
    assert json.loads(read.stdout) == {"contents": [{"uri": "note://good", "text": "read"}]}
    refused = command("request", LIVE, "tools/call", "-a", '{"name": "refused"}')
    assert refused.exit_code == 1 and "-32602" in refused.stderr
