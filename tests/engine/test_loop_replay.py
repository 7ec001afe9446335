"""A record of a conversation replays without model, tools and people, event for event."""

import pytest

from glyphscope.cli.bundle import repeated
from glyphscope.events import ApprovalGiven, ApprovalRule, RunFinished, Token, ToolContent
from glyphscope.runs import Decision, NonInteractive
from glyphscope.runs.recorded import RecordedInteraction
from glyphscope.runs.strategies import run
from glyphscope.store import first_difference
from glyphscope.store.records import encode_record, parse_record
from glyphscope.tools import Outcome
from talks import BAD, BROWSE, SEARCH, Clock, Talker, box, numbered, request_of, talk
from toolbox import DENY, Box, Leaving, Person, of


def replays(events):
    record = parse_record(encode_record(events)).events
    assert first_difference(*repeated(record)) == ""


IMAGE = Outcome(content=(ToolContent(kind="image", data=b"123", mime="image/png"),), message="a picture")


@pytest.mark.parametrize(
    ("turns", "settings"),
    [
        ([SEARCH, "Done."], {}),
        ([BAD, SEARCH, "", "Done."], {}),
        ([SEARCH], {}),
        (["Hello."], {"tool_use": "enforced"}),
        (["Hello."], {"tool_use": "disabled"}),
        ([SEARCH + BROWSE + BAD, "Done."], {"parallel_tool_calls": True}),
        ([SEARCH, "Done."], {"max_tool_args_bytes": 5}),
        ([SEARCH, "Done."], {"max_tool_output_bytes": 2, "tool_use": "enforced"}),
        ([SEARCH, BROWSE, "Done."], {"deny": ("search",)}),
        ([SEARCH, "Done."], {"sources": {"search": "files"}}),
        (["word " * 99], {"max_tokens": 7}),
        (numbered(9), {"max_total_tokens": 30}),
        (
            ['<tool_call>{"name": "search", "arguments": ""}</tool_call>', "Done."],
            {"transforms": ("content-tags", "blank-arguments", "plain-results", "short-descriptions")},
        ),
    ],
)
@pytest.mark.parametrize("constraint", ["off", "mask"])
def test_every_conversation_replays_identically(turns, settings, constraint):
    replays(talk(*turns, constraint=constraint, **settings))


@pytest.mark.parametrize(
    "outcome",
    [
        IMAGE,
        Outcome(fault="tool", content=(ToolContent(text="no"),)),
        Outcome(fault="protocol", message="gone"),
        Outcome(fault="timeout", message="late"),
        Outcome(fault="unknown", message="none"),
        Outcome(structured={"a": float("nan")}),
        Outcome(structured=[1], schema_problems=("/0: is no string",)),
        Outcome(content=(ToolContent(text="x" * 300_000),)),
    ],
)
def test_every_outcome_of_a_tool_is_replayed(outcome):
    replays(talk(SEARCH, "Done.", interaction=NonInteractive({"demo": box(search=lambda query: outcome)})))


@pytest.mark.parametrize(
    "decisions",
    [
        [DENY],
        [Decision(action="allow", scope="tool")],
        [Decision(action="allow", arguments={"query": "y"}), DENY],
        [Decision(action="allow", arguments={"query": ""}), Decision(action="allow")],
        [],
    ],
)
def test_decisions_of_the_user_are_replayed(decisions):
    events = talk(*numbered(2), "Done.", interaction=Person(box(), *decisions), approvals=())
    assert len(of(ApprovalGiven, events)) == 2
    replays(events)


def test_rules_bound_to_a_command_line_are_replayed():
    source = Box("files", "uvx files --all", search=lambda query: "found")
    rules = (
        ApprovalRule(source="files", identity="another", action="deny"),
        ApprovalRule(source="files", identity="uvx files --all", action="allow"),
    )
    events = talk(SEARCH, "Done.", interaction=Person(source), approvals=rules, sources={"search": "files"})
    assert of(ApprovalGiven, events)[0].by == "rule" and of(ApprovalGiven, events)[0].action == "allow"
    replays(events)


@pytest.mark.slow
def test_a_stop_is_replayed_at_its_place():
    interaction = Person(box(search=lambda query: interaction.cancelled.set()))
    between = talk(SEARCH, "Done.", interaction=interaction)

    while_asked = talk(SEARCH, "Done.", interaction=Leaving(box()), approvals=())
    at_work = talk(
        SEARCH, interaction=Person(box(search=lambda query: Outcome(fault="cancelled", message="stopped")))
    )
    model, writing = Talker(SEARCH, "word " * 50), []
    for event in run(request_of(), model, Person(box())):
        writing.append(event)
        if isinstance(event, Token) and event.stage == "turn-2":
            model.cancel()
    for events in (between, while_asked, at_work, writing):
        assert of(RunFinished, events)[0].reason == "cancelled"
        replays(events)


def test_a_time_limit_is_replayed_at_its_place():
    clock = Clock()

    def slow(query):
        clock.seconds += 40

    between = talk(*numbered(9), interaction=Person(box(search=slow)), max_seconds=100, clock=clock)
    clock.step = 1.0
    inside = talk(SEARCH, "word " * 500, max_seconds=clock.seconds + 300, max_tokens=9999, clock=clock)
    for events in (between, inside):
        assert of(RunFinished, events)[0].reason == "limit"
        replays(events)


def test_a_recorded_interaction_has_nothing_beyond_its_record():
    interaction = RecordedInteraction([])
    assert (
        interaction.source("demo") is None
        and interaction.answer("?") is None
        and interaction.elapsed(3) == 0.0
    )
    assert interaction.next_outcome().fault == "unknown"


@pytest.mark.slow
def test_a_truncated_record_equals_its_replay_up_to_its_end():
    events = talk(SEARCH, BROWSE, "Done.", approvals=(ApprovalRule(action="allow", tool="search"),))
    for count in range(1, len(events)):
        record = parse_record(encode_record(events[:count])).events
        if isinstance(record[-1], ApprovalGiven):
            continue  # otherwise the tool's owner would be asked next
        then, again = repeated(record)
        assert first_difference(then, again, whole=False) == ""
    assert "one more" in first_difference(then, again)
