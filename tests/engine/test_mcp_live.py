"""Changes while a server runs: roots, log level, subscriptions, the list of tools, and any other request."""

from __future__ import annotations

import json
import threading
import time

import msgspec
import pytest

from glyphscope.store import MAX_LISTS, SeenTools
from glyphscope.tools.mcp import McpServer, read_servers
from glyphscope.tools.mcp.log import KEPT, TEXT_LIMIT, WHOLE_BUDGET, WHOLE_LIMIT, ProtocolLog, log_message
from mcp_servers import call, opened, scripted

pytestmark = pytest.mark.slow
NOW = {"seconds": 20.0}


def never():
    return threading.Event()


def wait(holds, seconds=10.0):
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "timed out"
        time.sleep(0.02)


def roots_of(server, times=1):
    return json.loads(call(server, "roots", {"times": times}).content[0].text)


# -- roots


def test_a_server_gets_no_root_unless_one_is_configured(tmp_path):
    with opened() as server:
        assert roots_of(server) == {"roots": []}
        folder = tmp_path / "ä b"
        server.set_roots((str(folder),))
        wait(lambda: "roots changed" in server.stderr)
        assert roots_of(server) == {"roots": [{"uri": folder.as_uri(), "name": "ä b"}]}
    with opened(roots=("/",)) as server:
        assert roots_of(server) == {"roots": [{"uri": "file:///", "name": "/"}]}


def test_roots_are_read_from_the_configuration_without_an_effect_on_consent():
    entry = {"command": "x", "roots": ["/srv/data/", "~/work", "/srv/data"]}
    file = read_servers(json.dumps({"mcpServers": {"a": entry, "b": {"command": "x", "roots": ["here"]}}}))
    (server,) = file.servers
    assert server.roots[0] == "/srv/data" and server.roots[1].startswith("/") and len(server.roots) == 2
    assert server.digest == read_servers('{"command": "x"}').servers[0].digest
    assert [problem.pointer for problem in file.problems] == ["/mcpServers/b/roots/0"]


def test_requests_for_roots_do_not_delay_closing():
    with opened() as server:
        threading.Thread(target=call, args=(server, "roots", {"times": 150}), daemon=True).start()
        start = time.monotonic()
        server.close()
        assert time.monotonic() - start < 5 and server.state == "stopped"


# -- log messages


def test_the_log_level_is_set_and_the_log_messages_are_read():
    with opened("live") as server:
        call(server, "logs")
        assert server.set_log_level("error", cancel=never(), **NOW).ok and server.log_level == "error"
        call(server, "logs")
        found = [said for entry in server.log.entries if (said := log_message(entry))]
    assert [said.level for said in found[:6]] == ["warning", "error", "critical", "alert", "emergency", ""]
    assert [said.level for said in found[6:]] == ["error", "critical", "alert", "emergency", ""]
    assert found[0].text == "a warning message" and found[0].logger == "db"
    assert [said.reaches("critical") for said in found[6:]] == [False, True, True, True, True]


def test_a_server_without_log_messages_or_subscriptions_is_not_asked_for_them():
    with opened("offers=good") as server:
        for outcome in (
            server.set_log_level("info", cancel=never(), **NOW),
            server.subscribe("note://good", cancel=never(), **NOW),
        ):
            assert outcome.fault == "protocol" and "does not declare" in outcome.message
        assert not any(entry.method == "logging/setLevel" for entry in server.log.entries)


# -- subscriptions


def test_updates_of_a_subscribed_resource_are_counted_until_the_subscription_ends():
    with opened("offers=good", "live") as server:
        call(server, "touch")
        assert server.subscriptions == {}
        assert server.subscribe("note://good", cancel=never(), **NOW).ok
        call(server, "touch", {"times": 3})
        call(server, "touch", {"uri": "note://good/part"})
        call(server, "touch", {"uri": "note://other"})
        wait(lambda: server.subscriptions["note://good"].times == 4)
        assert server.subscriptions["note://good"].last > 0
        assert server.subscribe("note://good", cancel=never(), on=False, **NOW).ok
        assert server.subscriptions == {}
        refused = server.subscribe("note://refused", cancel=never(), **NOW)
        assert "no such resource" in refused.message and server.subscriptions == {}


def test_a_flood_of_updates_affects_neither_calls_nor_memory():
    with opened("offers=good", "live") as server:
        server.subscribe("note://good", cancel=never(), **NOW)
        call(server, "touch", {"times": 20_000})
        assert 1 <= server.subscriptions["note://good"].times < 5_000
        assert call(server, "echo", {"text": "x"}).ok and len(server.log.entries) <= KEPT


def test_a_resource_that_is_too_large_or_not_utf_8_fails_by_itself():
    with opened("offers=good", "live") as server:
        large = server.fetch("resources/read", {"uri": "note://large"}, cancel=never(), seconds=60.0)
        assert large.fault == "protocol" and "100 MB" in large.message
        odd = server.fetch("resources/read", {"uri": "note://bytes"}, cancel=never(), **NOW)
        assert odd.fault == "protocol" and "not UTF-8" in odd.message
        assert server.fetch("resources/read", {"uri": "note://good"}, cancel=never(), **NOW).ok


def test_a_server_of_2026_reports_changes_after_a_request_to_listen():
    with opened("modern", "offers=good", "live") as server:
        assert server.about.protocol == "2026-07-28"
        wait(lambda: any("acknowledged" in entry.method for entry in server.log.entries))
        call(server, "change")
        wait(lambda: "notifications/tools/list_changed" in [entry.method for entry in server.log.entries])
        assert server.subscribe("note://good", cancel=never(), **NOW).ok
        wait(lambda: sum("acknowledged" in entry.method for entry in server.log.entries) == 2)
        call(server, "touch", {"times": 3})
        wait(lambda: server.subscriptions["note://good"].times == 3)
        assert server.set_log_level("error", cancel=never(), **NOW).ok
        call(server, "echo", {"text": "x"})
        sent = [entry.text for entry in server.log.entries if entry.direction == "sent"]
        assert "logLevel" in sent[-1] and "logging/setLevel" not in "".join(sent)
        assert server.subscribe("note://good", cancel=never(), on=False, **NOW).ok
        wait(lambda: sum("acknowledged" in entry.method for entry in server.log.entries) == 3)


def test_a_server_of_2026_that_cannot_listen_is_used_without_notifications():
    with opened("modern", "deaf-listen", "live") as server:
        assert server.subscribe("note://good", cancel=never(), **NOW).ok
        assert call(server, "echo", {"text": "x"}).ok and server.state == "ready"


# -- tools


def test_a_changed_list_of_tools_names_what_was_added_removed_and_changed():
    with opened() as server:
        assert not server.tool_changes
        call(server, "shift")
        wait(lambda: server.tool_changes)
        changes = server.tool_changes
        assert (changes.added, changes.removed, changes.changed) == (("new",), ("wait",), ("echo",))
        difference = changes.difference().splitlines()
        assert '-  "description": "Says it again.",' in difference
        assert '+  "description": "Says it twice.",' in difference
        assert call(server, "wait").fault == "unknown", "a run that still has it gets an error"


def changed_server(*behaviour):
    """The same server as the scripted one, by its name and command line, with other tools."""
    return msgspec.structs.replace(scripted("changed"), env={"SHIFTED": "yes"} if behaviour else {})


def connected(seen, *behaviour):
    server = McpServer(changed_server(*behaviour), seen=seen)
    try:
        return server.open().tool_changes
    finally:
        server.close()


def test_tools_that_changed_since_an_earlier_connection_are_named_with_what_changed(tmp_path):
    seen = SeenTools(tmp_path)
    assert not connected(seen) and not connected(seen)
    (first,) = seen.lists(changed_server())
    changes = connected(SeenTools(tmp_path), "shifted")
    assert (changes.added, changes.removed, changes.named) == (("new",), ("wait",), ("echo: description",))
    assert changes.since == first.at
    assert not connected(seen, "shifted"), "reported once"
    assert len(seen.lists(changed_server())) == 2
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("{")
    assert not connected(seen) and len(seen.lists(changed_server())) == 1, "a damaged file begins again"


def test_a_change_while_the_server_runs_is_not_reported_again_at_the_next_start(tmp_path):
    seen = SeenTools(tmp_path)
    server = McpServer(changed_server(), seen=seen).open()
    try:
        call(server, "shift")
        wait(lambda: server.tool_changes)
    finally:
        server.close()
    assert not connected(seen, "shifted")


def test_only_the_last_lists_of_a_server_are_stored(tmp_path):
    seen, config = SeenTools(tmp_path), changed_server()
    for number in range(MAX_LISTS + 5):
        seen(config, {"a": {"description": str(number)}})
    assert len(seen.lists(config)) == MAX_LISTS
    assert seen.lists(config)[-1].tools == {"a": {"description": str(MAX_LISTS + 4)}}
    assert not seen.lists(msgspec.structs.replace(config, name="another"))


# -- any request


def test_the_log_stores_long_messages_whole_within_its_budget():
    log = ProtocolLog(("hunter2!",))
    text = '{"result":"hunter2!' + "x" * TEXT_LIMIT + '"}'
    log.add("received", text, id="1")
    log.add("received", "x" * (WHOLE_LIMIT + 1), id="2")
    first, second = log.entries
    assert len(first.text) <= TEXT_LIMIT and first.whole == text.replace("hunter2!", "•••")
    assert not second.whole
    for number in range(40):
        log.add("received", b"y" * WHOLE_LIMIT, id=str(number))
    saved = [len(entry.whole) for entry in log.entries]
    assert sum(saved) <= WHOLE_BUDGET and saved[-1] == WHOLE_LIMIT and not saved[0]
