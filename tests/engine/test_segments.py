"""The parts of an answer: reasoning, text and calls, collected from events, with the cost of each."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console

from glyphscope.cli.run_printer import RunView
from glyphscope.events import (
    Alternative,
    CallReady,
    FieldClosed,
    FieldOpened,
    RunRequest,
    SegmentClosed,
    SegmentOpened,
    Token,
    TokenStep,
    ToolKnown,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.explain.segments import counted, earlier_call, part_costs, part_of, reasoning_tokens
from glyphscope.notation.write import call_sizes, sum_of
from glyphscope.runs import RunState, StageState, reduce_event, run_state
from made_runs import BAD, GOOD, MARKER, THOUGHT, parts_run

REQUEST = RunRequest(prompt="x", registry={}, form={"reasoning": {"open": "<think>", "close": "</think>"}})


def opened(kind, start, call=0):
    return SegmentOpened(kind=kind, start=start, call_index=call)


def closed(kind, start, end, call=0):
    return SegmentClosed(kind=kind, start=start, end=end, call_index=call)


def texts(stage: StageState):
    return [(part.kind, part.call_index, stage.text[part.start : part.end]) for part in stage.segments]


def test_segments_have_the_text_between_their_markers():
    stage = run_state(parts_run()).present
    assert texts(stage) == [
        ("reasoning", 0, THOUGHT),
        ("text", 0, "I will look both up."),
        ("call", 0, GOOD),
        ("call", 1, BAD),
    ]


def test_each_call_has_its_own_fields_tool_and_verdict():
    stage = run_state(parts_run()).present
    first, second = stage.call_at(0), stage.call_at(1)
    assert (first.status, second.status) == ("holds", "impossible")
    assert stage.fields is first.fields and stage.tool is first.tool
    assert first.fields["/max_results"].value == 10
    start, end = second.fields["/max_results"].start, second.fields["/max_results"].end
    assert stage.text[start:end] == "500"
    assert [violation.call_index for violation in stage.violations] == [1]


def test_events_of_the_second_call_leave_the_first():
    events = [
        FieldOpened(path="/q", start=1),
        FieldClosed(path="/q", start=1, end=4, status="holds", value=1),
        ToolKnown(name="a", allowed=True, char=0),
        FieldOpened(path="/q", start=20, call_index=1),
        ToolKnown(name="b", allowed=True, char=19, call_index=1),
    ]
    state = run_state(events)
    assert state.fields["/q"].start == 1 and state.tool.name == "a"
    assert state.call_at(1).fields["/q"].start == 20


def test_a_call_is_valid_once_it_is_closed_and_the_answer_lists_all_that_are_ready():
    ready = [CallReady(tool="t", arguments={}, text="{}", call_index=index) for index in (0, 1)]
    state = run_state([opened("call", 0)])
    assert state.call_at(0).status == "open"
    reduce_event(state, closed("call", 0, 2))
    assert state.call_at(0).status == "holds"
    run_state(ready, state)
    assert state.present.calls == ready and state.present.call is ready[1]


def test_a_violation_makes_a_closed_call_invalid():
    wrong = Violation(code="SYNTAX", message="no", path="", char=1, token=0)
    state = run_state([opened("call", 0), wrong, closed("call", 0, 2)])
    assert state.call_at(0).status == "impossible"


KINDS = st.sampled_from(["reasoning", "text", "call"])
PLACES = st.integers(-5, 60)
SEGMENTS = st.one_of(
    st.builds(opened, KINDS, PLACES, st.integers(0, 3)),
    st.builds(closed, KINDS, PLACES, PLACES, st.integers(0, 3)),
)


@given(st.lists(SEGMENTS, max_size=12), st.integers(0, 20))
def test_segments_of_any_record_are_in_order_and_do_not_overlap(events, tokens):
    state = RunState()
    for index in range(tokens):
        reduce_event(
            state,
            Token(
                step=TokenStep(index=index, id=1, data=b"ab", text="ab"), start=2 * index, end=2 * index + 2
            ),
        )
    run_state(events, state)
    at = 0
    for part in state.segments:
        assert part.start >= at
        at = part.start if part.end is None else part.end
        assert at >= part.start
    assert all(part.end is not None for part in state.segments[:-1])
    costs = part_costs(state.present)
    assert sum(cost.tokens for cost in costs.values()) == (tokens if state.segments else 0)


def test_every_token_belongs_to_a_part_or_to_a_marker():
    stage = run_state(parts_run()).present
    for token in stage.tokens:
        part = part_of(stage, token)
        if token.step.text.strip() in (MARKER, "</tool_call>", "</think>"):
            assert part is None
        elif part is not None:
            assert part.start <= token.start and token.end <= part.end
    costs = part_costs(stage)
    assert list(costs) == ["reasoning", "marker", "text", "call"]
    assert sum(cost.tokens for cost in costs.values()) == len(stage.tokens)
    assert costs["marker"].forced == stage.forced
    assert reasoning_tokens(stage) == costs["reasoning"].tokens


def test_parts_of_an_endpoint_s_answer_have_no_tokens_unless_one_part_is_all_of_it():
    stage = run_state(parts_run()).present
    assert stage.finished is not None
    stage.finished = replace(stage.finished, tokens=len(stage.tokens) + 7)  # the endpoint's own count
    (reasoning,) = [part for part in stage.segments if part.kind == "reasoning"]
    assert counted(stage, stage.tokens_between(reasoning.start, reasoning.end)) is None
    assert counted(stage, range(len(stage.tokens))) == len(stage.tokens) + 7
    assert part_costs(stage) == {} and reasoning_tokens(stage) == 0


def test_pieces_that_an_endpoint_writes_are_not_called_tokens_before_it_has_counted_them():
    stage = run_state(parts_run()).present
    ended = stage.finished
    stage.finished = None
    assert counted(stage, range(2)) == 2
    stage.tokens[:] = [replace(token, step=replace(token.step, piece=True)) for token in stage.tokens]
    assert counted(stage, range(2)) is counted(stage, range(len(stage.tokens))) is None
    assert part_costs(stage) == {} and reasoning_tokens(stage) == 0
    stage.finished = replace(ended, tokens=len(stage.tokens))
    assert counted(stage, range(2)) == 2


def test_a_text_without_parts_has_no_part_costs():
    assert part_costs(StageState()) == {} and reasoning_tokens(StageState()) == 0


def test_the_most_likely_place_of_an_earlier_call_is_found_with_its_raw_probability():
    state = run_state(parts_run(words="", early=0.124))
    found = earlier_call(state.present, state.segments[0], state.started.request)
    assert (found.share, found.token) == (0.124, 4)


def test_without_evidence_or_a_call_no_earlier_place_is_known():
    for events in (parts_run(early=None), parts_run(calls=())):
        state = run_state(events)
        assert earlier_call(state.present, state.segments[0], state.started.request) is None


def test_a_call_without_markers_is_found_by_its_own_first_token():
    def token(index, text, start, *others):
        alternatives = tuple(Alternative(ord(o[0]), o.encode(), o, p, p, True) for o, p in others)
        step = TokenStep(
            index=index, id=ord(text[0]), data=text.encode(), text=text, alternatives=alternatives
        )
        return Token(step=step, start=start, end=start + len(text))

    state = run_state([
        token(0, "a", 0, ("a", 0.9), ("{", 0.1)),
        token(1, "b", 1, ("b", 0.7), ("{", 0.3)),
        token(2, "</think>", 2),
        token(3, "\n", 10),
        token(4, "{}", 11),
        opened("reasoning", 0),
        closed("reasoning", 0, 2),
        opened("call", 11),
    ])  # fmt: skip
    found = earlier_call(state.present, state.segments[0], REQUEST)
    assert (found.share, found.token) == (0.3, 1)


def test_segment_events_are_read_back_from_a_record():
    for event in parts_run()[1:]:
        assert decode_event(encode_event(event)) == event


def test_sizes_of_several_calls_are_their_sum():
    one = call_sizes("search", {"query": "x"}, "flat", len)
    two = call_sizes("search", {"query": "xyz"}, "flat", len)
    both = sum_of([one, two])
    assert [size.style for size in both] == [size.style for size in one]
    assert all(s.tokens == a.tokens + b.tokens for s, a, b in zip(both, one, two, strict=True))
    assert sum_of([call_sizes("search", {}, "flat")])[0].tokens is None


# -- in a terminal -------------------------------------------------------------------------------------------------


def shown(events, **looks):
    out = Console(file=io.StringIO(), width=120, **looks)
    out.print(RunView(run_state(events)))
    return out.file.getvalue()


def test_a_terminal_shows_each_call_with_its_verdict_and_the_tokens_of_reasoning():
    text = shown(parts_run())
    assert "✓ call 1 of 2: search" in text
    assert "✗ call 2 of 2: search, CONSTRAINT_MAX: max_results is at most 100" in text
    assert " of reasoning, 0 forced)" in text
    assert text.count("/max_results") == 2


def test_reasoning_is_dim_in_a_terminal():
    assert "\x1b[2mThe user wants" in shown(parts_run(), force_terminal=True, color_system="standard")


def test_all_calls_of_a_valid_answer_are_listed_at_its_end():
    assert shown(parts_run(calls=(GOOD, GOOD))).count('✓ {"name":"search"') == 2


def test_a_run_without_parts_counts_no_reasoning():
    assert "of reasoning" not in shown([])
