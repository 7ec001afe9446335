"""Resources and prompts of servers on the official SDK, and of hostile ones."""

import json
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.tools.mcp import (
    Completion,
    McpServer,
    OfferReader,
    ServerConfig,
    read_completion,
    read_prompt,
    read_resource,
)
from mcp_servers import call, opened

SDK = Path(__file__).parent.parent / "support" / "sdk_server.py"


def until(holds):
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert holds()


@contextmanager
def offering(asked=None):
    config = ServerConfig(name="offering", command=sys.executable, args=(str(SDK),))
    server = McpServer(config, asked=asked, start_seconds=60)
    try:
        server.open()
        until(lambda: server.offers.is_complete)
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def server():
    with offering() as server:
        yield server


def fetch(server, offer, **arguments):
    method, params = offer.request(arguments)
    return server.fetch(method, params, seconds=20, cancel=threading.Event())


def by_address(offers):
    return {offer.address: offer for offer in offers}


@pytest.mark.slow
def test_resources_templates_and_prompts_are_listed(server):
    offers = server.offers
    assert list(by_address(offers.resources)) == ["note://today", "note://broken", "image://dot"]
    today = offers.resources[0]
    assert (today.title, today.description, today.mime) == ("Today", "A note.", "text/plain")
    assert [each.name for each in offers.templates[0].arguments] == ["day", "topic"]
    review = by_address(offers.prompts)["review"]
    assert [(each.name, each.required) for each in review.arguments] == [("code", True), ("style", False)]
    assert review.form.parameters["required"] == ["code"]
    assert offers.problems == ()


def test_a_completion_has_the_usable_values_and_says_that_there_are_more():
    odd = read_completion({"completion": {"values": ["a", 1, "a", None, "b" * 3_000], "total": True}})
    assert odd == Completion(("a",))
    many = read_completion({"completion": {"values": [str(n) for n in range(150)], "total": -1}})
    assert len(many.values) == 100 and many.has_more and many.total is None
    for broken in (None, {}, {"completion": []}, {"completion": {"values": "a"}}):
        assert read_completion(broken).problem and read_completion(broken).values == ()


@pytest.mark.slow
def test_a_resource_is_read_with_findings_where_it_contradicts_its_declaration(server):
    found = by_address(server.offers.resources)
    text = fetch(server, found["note://today"])
    assert text.ok and text.content[0].text.startswith("buy milk") and text.findings == ()
    broken = fetch(server, found["note://broken"])
    assert broken.ok and "application/json, but not JSON" in broken.findings[0]
    dot = fetch(server, found["image://dot"]).content[0]
    assert dot.data.startswith(b"\x89PNG") and dot.mime == "image/png"


@pytest.mark.slow
def test_a_template_is_filled_in_and_a_prompt_gets_its_arguments(server):
    note = fetch(server, server.offers.templates[0], day="1 May", topic="tea/milk")
    assert (note.content[0].uri, note.fault) == ("note://1%20May/tea%2Fmilk", "")
    prompt = fetch(server, by_address(server.offers.prompts)["review"], code="x = 1", style="kind")
    assert (prompt.roles, prompt.content[0].text) == (("user",), "Review this in a kind way: x = 1")
    refused = fetch(server, by_address(server.offers.prompts)["review"])
    assert refused.fault == "protocol" and "code" in refused.message


@pytest.mark.slow
def test_lists_that_change_are_read_again():
    with offering() as server:
        assert call(server, "grow").ok
        until(lambda: "note://new" in by_address(server.offers.resources))
        until(lambda: "newer" in by_address(server.offers.prompts))
        methods = [entry.method for entry in server.log.entries]
    for name in ("resources/list_changed", "prompts/list_changed", "message", "progress"):
        assert f"notifications/{name}" in methods


def test_a_server_without_resources_and_prompts_is_not_asked_for_them():
    with opened() as server:
        assert server.offers.kinds == frozenset() and server.offers.is_complete
        assert "resources/list" not in [entry.method for entry in server.log.entries]


@pytest.mark.slow
def test_invalid_entries_are_reported_and_the_others_stay():
    with opened("offers=bad") as server:
        until(lambda: server.offers.is_complete)
        assert [offer.address for offer in server.offers.resources] == ["note://good", "a:\u202e\x1f"]
        assert [offer.address for offer in server.offers.prompts] == ["good"]
        problems = [problem for _kind, problem in server.offers.problems]
        assert "resource 1: it has no uri." in problems and any("uriTemplate" in each for each in problems)
        assert call(server, "echo", {"text": "x"}).ok


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["endless", "silent"])
def test_a_list_that_is_endless_or_missing_affects_no_call(behaviour):
    with opened(f"offers={behaviour}") as server:
        assert call(server, "echo", {"text": "x"}).ok
        if behaviour == "endless":
            until(lambda: server.offers.is_complete)
            assert any("would never end" in problem for _kind, problem in server.offers.problems)


OBJECTS = st.dictionaries(
    st.sampled_from(
        ["uri", "name", "uriTemplate", "arguments", "mimeType", "size", "text", "blob", "role", "content"]
    ),
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=6)
    | st.lists(st.text(max_size=3), max_size=2),
)


@pytest.mark.slow
@at_most(60)
@given(
    st.lists(OBJECTS | st.text(max_size=3), max_size=5), st.sampled_from(["resource", "template", "prompt"])
)
def test_any_entry_is_an_offer_or_a_problem(entries, kind):
    reader = OfferReader(kind)
    for entry in entries:
        reader.take(entry)
    assert len(reader.offers) + len(reader.problems) == len(entries)
    json.dumps([offer.form.parameters for offer in reader.offers])


@pytest.mark.slow
@at_most(60)
@given(st.dictionaries(st.sampled_from(["contents", "messages"]), st.lists(OBJECTS | st.none(), max_size=4)))
def test_any_result_of_a_resource_or_a_prompt_is_an_outcome(result):
    for outcome in (read_resource(result, "a:b"), read_prompt(result)):
        assert outcome.fault in ("", "protocol")
