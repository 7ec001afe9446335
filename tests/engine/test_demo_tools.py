"""The demo tools: each does what its schema says and reports errors as tool errors."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_calls import NEVER, call, refused, said
from examples import at_most
from glyphscope.events import ToolResult, decode_event, encode_event
from glyphscope.registry import default_registry
from glyphscope.tools.demo import DemoTools, Mail, bundled_corpus, demo_tools


class TestTheSource:
    def test_every_tool_of_the_default_registry_exists(self, demo: DemoTools) -> None:
        names = {tool.name for tool in demo.tools()}
        assert {tool.name for tool in default_registry()} < names
        assert {"state_get", "state_patch", "conjugate"} < names
        assert (demo.name, demo.identity) == ("demo", "demo")

    def test_every_example_of_a_schema_works(self, demo: DemoTools) -> None:
        for tool in demo.tools():
            for example in tool.parameters["examples"]:
                outcome = call(demo, tool.name, **example)
                if tool.name in ("execute", "read_file"):
                    assert outcome.fault == "tool"  # this process has no shell, and no file was written yet
                else:
                    assert outcome.ok, (tool.name, outcome.message)

    def test_every_outcome_can_be_recorded(self, demo: DemoTools) -> None:
        call(demo, "write_file", path="a", content="x")
        for tool, arguments in (
            ("calculate", {"expression": "9**99"}),
            ("read_file", {"path": "a", "encoding": "binary"}),
            ("state_get", {"workspace_id": "trip-1"}),
            ("search", {"query": "ai"}),
        ):
            outcome = call(demo, tool, **arguments)
            assert outcome.ok, outcome.message
            event = ToolResult(
                call="1",
                tool=tool,
                source="demo",
                ok=True,
                content=outcome.content,
                structured=outcome.structured,
            )
            assert decode_event(encode_event(event)) == event

    def test_an_unknown_tool_and_a_cancelled_call_are_not_the_tools_fault(self, demo: DemoTools) -> None:
        assert call(demo, "rm").fault == "unknown"
        cancelled = threading.Event()
        cancelled.set()
        arguments = {"path": "a.txt", "content": "x"}
        assert demo.call("write_file", arguments, seconds=5, cancel=cancelled).fault == "cancelled"
        assert demo.scratch.files() == ()

    @pytest.mark.parametrize(
        ("tool", "arguments", "words"),
        [
            ("calculate", {}, "expression is missing, for example"),
            ("calculate", {"expression": 5}, "expression is 5, and must be a text"),
            ("calculate", {"expression": "1", "precision": 16}, "at most 15"),
            ("calculate", {"expression": "1", "precision": -1}, "at least 0"),
            ("calculate", {"expression": "1", "precision": "2"}, "must be a whole number"),
            ("calculate", {"expression": "1", "precision": True}, "must be a whole number"),
            ("calculate", {"expression": "1", "precision": 10**5000}, "too large"),
            ("search", {"query": ""}, "too short"),
            ("search", {"query": "x", "limit": 3}, "limit is not an argument of search"),
            ("search", {"query": "x", "sources": "news"}, "must be a list"),
            ("browse", {"url": "file:///etc/passwd"}, "does not fit"),
            ("read_file", {"path": "a", "encoding": "latin1"}, "one of utf8, base64, binary"),
            ("send_email", {"to": "a@b.c"}, "subject is missing"),
            ("state_patch", {"workspace_id": "trip-1", "ops": []}, "ops"),
            ("state_patch", {"workspace_id": "trip-1", "ops": [{"op": "set"}]}, "ops.0.path is missing"),
        ],
    )
    def test_invalid_arguments_are_a_tool_error(
        self, demo: DemoTools, tool: str, arguments: dict[str, Any], words: str
    ) -> None:
        assert words in refused(demo, tool, **arguments)

    @at_most(300)
    @given(
        st.sampled_from(
            [tool.name for tool in demo_tools() if tool.name not in ("write_file", "send_email")]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
            ),
            max_leaves=6,
        ),
        st.data(),
    )
    def test_arguments_of_any_kind_are_a_result_or_a_tool_error(
        self, tool: str, value: Any, data: st.DataObject
    ) -> None:
        demo = DemoTools()
        known = next(t for t in demo.tools() if t.name == tool)
        arguments = dict(known.parameters["examples"][0])
        arguments[data.draw(st.sampled_from([*known.parameters["properties"], "more"]))] = value
        assert demo.call(tool, arguments, seconds=5, cancel=NEVER).fault in ("", "tool")
        assert demo.call(tool, value, seconds=5, cancel=NEVER).fault in ("", "tool")

    def test_deeply_nested_arguments_are_a_tool_error(self, demo: DemoTools) -> None:
        value: list[Any] = []
        for _ in range(100_000):
            value = [value]
        operation = {"op": "set", "path": "/note", "value": value}
        assert refused(demo, "state_patch", workspace_id="trip-1", ops=[operation])
        assert refused(demo, "calculate", expression=value)

    def test_a_change_is_announced_when_it_is_visible(self, demo: DemoTools) -> None:
        seen: list[Any] = []
        look = {
            "scratch": lambda: demo.scratch.files()[0].path,
            "outbox": lambda: demo.outbox[-1].subject,
            "workspace": lambda: demo.workspace["title"],
        }
        demo.changed = lambda place: seen.append((place, look[place]()))
        call(demo, "write_file", path="a.txt", content="x")
        call(demo, "send_email", to="ann@example.com", subject="Hi", body="x")
        ops = [{"op": "set", "path": "/title", "value": "Porto"}]
        call(demo, "state_patch", workspace_id="trip-1", ops=ops)
        call(demo, "state_patch", workspace_id="nowhere", ops=ops)
        call(demo, "read_file", path="a.txt")
        assert seen == [("scratch", "a.txt"), ("outbox", "Hi"), ("workspace", "Porto")]

    def test_changes_of_several_threads_are_all_applied(self, demo: DemoTools) -> None:
        reported: Counter[str] = Counter()
        lock = threading.Lock()

        def changed(place: str) -> None:
            with lock:
                reported[place] += 1

        def work(number: int) -> None:
            for turn in range(10):
                call(demo, "write_file", path="log", content=f"{number}.{turn}\n", mode="append")
                call(demo, "send_email", to="ann@example.com", subject=f"{number}.{turn}", body="")
                ops = [{"op": "append", "path": "/todo", "value": f"{number}.{turn}"}]
                call(demo, "state_patch", workspace_id="trip-1", ops=ops)

        demo.changed = changed
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert reported == {"scratch": 40, "outbox": 40, "workspace": 40}
        assert len(set(said(demo, "read_file", path="log").split())) == 40
        assert [mail.number for mail in demo.outbox] == list(range(1, 41))
        assert len(demo.workspace["todo"]) == 42


class TestExecute:
    def test_a_command_is_refused_by_policy(self, demo: DemoTools, tmp_path: Path) -> None:
        assert "Refused by policy" in refused(demo, "execute", command=f"touch {tmp_path}/ran")
        assert not (tmp_path / "ran").exists()
        assert demo.claims("execute")["destructiveHint"] is True


class TestCalculate:
    def test_the_precision_of_a_result_is_applied(self, demo: DemoTools) -> None:
        assert said(demo, "calculate", expression="15 * 230 / 100") == "34.5"
        assert said(demo, "calculate", expression="15 * 230 / 100", precision=2) == "34.50"
        assert said(demo, "calculate", expression="2/3", precision=2.0) == "0.67"
        assert call(demo, "calculate", expression="7/2").structured == {"result": 3.5, "exact": True}
        assert "divides by zero" in refused(demo, "calculate", expression="1/0")


class TestCorpus:
    def test_the_corpus_has_at_least_forty_complete_pages(self) -> None:
        pages = bundled_corpus().documents
        assert len(pages) >= 40 and len({page.url for page in pages}) == len(
            {page.title for page in pages}
        ) == len(pages)
        for page in pages:
            assert page.url.startswith(f"https://example.org/{page.source}/")
            assert 150 < len(page.text) < 1000
            assert page.invented == (page.source in ("news", "weather"))
            assert page.date or page.source not in ("news", "weather", "blogs")

    @pytest.mark.parametrize(
        ("query", "first"),
        [
            ("AI news", "https://example.org/news/ai-news"),
            ("weather in London", "https://example.org/weather/london"),
            ("What will the weather be like in Tokyo?", "https://example.org/weather/tokyo"),
            ("how do plants make sugar", "https://example.org/science/photosynthesis"),
            ("black holes", "https://example.org/science/black-holes"),
            ("pancake recipe", "https://example.org/cooking/pancakes"),
            ("first people on the moon", "https://example.org/history/moon-landing"),
            ("Gutenberg", "https://example.org/history/printing"),
            ("SAO JORGE", "https://example.org/travel/lisbon"),
            ("grammar probability token", "https://example.org/blogs/constrained-decoding"),
        ],
    )
    def test_the_best_page_is_first(self, demo: DemoTools, query: str, first: str) -> None:
        found = call(demo, "search", query=query).structured["results"]
        assert found[0]["url"].startswith(first)
        assert len(found) <= 5

    def test_every_page_is_found_by_its_title(self) -> None:
        corpus = bundled_corpus()
        for page in corpus.documents:
            assert corpus.search(page.title, 1)[0].document == page
            assert corpus.page(page.url) is page

    def test_results_are_limited_in_number_and_to_the_requested_sources(self, demo: DemoTools) -> None:
        assert len(call(demo, "search", query="weather", max_results=3).structured["results"]) == 3
        only = call(
            demo, "search", query="the moon", max_results=100, sources=["History", "nowhere"]
        ).structured
        assert {result["source"] for result in only["results"]} == {"history"}
        assert "It has blogs, cooking" in refused(demo, "search", query="x", sources=["wikipedia"])
        assert call(demo, "search", query="zzzzzz").structured == {"results": []}
        assert "at most 1,000" in refused(demo, "search", query="a " * 1_000_000)

    def test_only_bundled_pages_are_shown(self, demo: DemoTools) -> None:
        text = said(demo, "browse", url="http://www.example.org/weather/oslo/?x=1#top")
        assert text.startswith("Weather in Oslo this week (2026-05-04, weather, invented for this demo)")
        assert "offline" in refused(demo, "browse", url="https://example.net")
        near = refused(demo, "browse", url="https://en.wikipedia.org/wiki/Photosynthesis")
        assert "https://example.org/science/photosynthesis" in near
        assert "offline" in refused(demo, "browse", url="https://[::1")
        assert "offline" in refused(demo, "browse", url="https://" + "a" * 10_000_000)

    def test_every_page_can_be_reached_from_the_first_one(self, demo: DemoTools) -> None:
        home = said(demo, "browse", url="https://example.com")
        assert home == said(demo, "browse", url="http://example.org/")
        parts = [line for line in home.splitlines() if line.startswith("https://")]
        listed = "".join(said(demo, "browse", url=url) for url in parts)
        assert all(page.url in listed for page in bundled_corpus().documents)
        assert {hit.document.source for hit in bundled_corpus().search("pages offline corpus", 100)} <= set(
            bundled_corpus().sources
        )


class TestOutbox:
    def test_a_mail_is_stored_and_not_sent(self, demo: DemoTools) -> None:
        outcome = call(
            demo,
            "send_email",
            to="ann@example.com",
            subject="Hi",
            body="Hello\nthere",
            cc=["bob@example.com"],
        )
        assert "nothing leaves this machine" in outcome.content[0].text
        assert outcome.structured["sent"] is False
        (mail,) = demo.outbox
        assert isinstance(mail, Mail)
        assert (mail.number, mail.to, mail.cc, mail.body) == (
            1,
            "ann@example.com",
            ("bob@example.com",),
            "Hello\nthere",
        )
        with pytest.raises(AttributeError):
            mail.to = "x"  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"to": "ann"}, "not an e-mail address"),
            ({"to": "ann@example.com, bob@example.com"}, "others in cc"),
            ({"to": "ann@example.com\nBcc: all@example.com"}, "not an e-mail address"),
            ({"to": "a" * 10_000_000 + "@example.com"}, "not an e-mail address"),
            ({"cc": ["bob"]}, "cc:"),
            ({"cc": ["a@b.cd"] * 50}, "too many recipients"),
            ({"subject": "a\r\nBcc: all@example.com"}, "line break"),
            ({"subject": "a" * 999}, "at most 998"),
            ({"body": "a" * 200_001}, "at most 200,000"),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_an_invalid_mail_is_rejected(self, demo: DemoTools, change: Any, words: str) -> None:
        mail = {"to": "ann@example.com", "subject": "Hi", "body": "x"} | change
        assert words in refused(demo, "send_email", **mail)
        assert demo.outbox == ()
