"""Reasoning before a call in GLYPH and JSON: separated in any chunking, and never a part of the call."""

from dataclasses import replace

import msgspec
import pytest

from glyphscope.events import SegmentClosed, SegmentOpened, ToolKnown
from glyphscope.registry import default_registry
from glyphscope.turns import Expected, TurnForm, TurnOptions, own_form
from glyphscope.turns.form import ReasoningForm, Wrap

REGISTRY = default_registry()
FORM = TurnForm(
    reasoning=ReasoningForm(
        open="<think>\n",
        close="\n</think>\n\n",
        prompt={"on": "opens", "off": "closes", "undefined": "leaves"},
    ),
    wraps=(Wrap("<answer>", "</answer>"),),
    ends=("<end>",),
)
CALL = '{"action":"search","query":"a < b"}'


THINKING = {"on": True, "off": False, "undefined": None}
ONE_CALL = TurnOptions()
WORDS = TurnOptions("auto", most_calls=None)


def judged(text, state="undefined", size=1, options=ONE_CALL, form=FORM):
    """Judge one call or, with `options`, a turn with any."""
    options = replace(options, thinking=THINKING[state])
    own = own_form("json", model=form, text_after=options.most_calls != 1)
    validator = Expected(own, options).validator(REGISTRY)
    events = [e for at in range(0, len(text), size) for e in validator.feed(text[at : at + size])]
    return validator, events + validator.finish()


def segments(events, kind="reasoning"):
    return [(e.start, e.end) for e in events if isinstance(e, SegmentClosed) and e.kind == kind]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "state", "reasoning"),
    [
        (f"<think>a < b </thi {{}}</think>{CALL}", "undefined", "a < b </thi {}"),
        (f"a {{b}}</think>{CALL}", "on", "a {b}"),
        (CALL, "undefined", ""),
        (CALL, "off", ""),
        (f" \n{CALL}", "undefined", ""),
        (f"<think>a</think>\n<answer>{CALL}</answer><end>", "undefined", "a"),
        (f"<answer>{CALL}\n</answer>", "undefined", ""),
    ],
)
def test_reasoning_is_separated_and_the_call_after_it_validated(text, state, reasoning, size):
    validator, events = judged(text, state, size)
    assert validator.valid and validator.complete and validator.tool == "search"
    assert [text[a:b] for a, b in segments(events)] == ([reasoning] if reasoning else [])
    assert [text[a:b] for a, b in segments(events, "call")] == ([CALL] if reasoning else [])
    known = next(e for e in events if isinstance(e, ToolKnown))
    assert known.char == text.index('search"') + len("search")
    (call,) = validator.calls
    assert text[call.start : call.end].strip().startswith(CALL)


@pytest.mark.parametrize("text", ["", "thinking", "thinking </thin", f"thinking {CALL}"])
def test_reasoning_that_is_never_closed_is_not_a_call(text):
    validator, events = judged(text, "on")
    assert not validator.valid and not validator.calls
    assert segments(events) == [(0, len(text))]
    assert len([e for e in events if isinstance(e, SegmentOpened)]) == 1


def test_several_calls_may_follow_reasoning():
    validator, events = judged(f"why</think>{CALL}\n{CALL}", "on", 4, TurnOptions(most_calls=2))
    assert [call.tool for call in validator.calls] == ["search", "search"] and validator.valid
    assert [e.kind for e in events if isinstance(e, SegmentClosed)] == ["reasoning", "call", "call"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_reasoning_may_begin_again_on_its_own_line_where_the_form_allows_it(size):
    form = msgspec.structs.replace(FORM, reasoning=msgspec.structs.replace(FORM.reasoning, again=True))
    text = f"<think>a</think>One <think> two.\n<think>\nb {CALL}</think>\nThree.\n{CALL}\n<think>\nc"
    validator, events = judged(text, "undefined", size, WORDS, form)
    assert [(e.kind, text[e.start : e.end].strip()) for e in events if isinstance(e, SegmentClosed)] == [
        ("reasoning", "a"), ("text", "One <think> two."), ("reasoning", f"b {CALL}"), ("text", "Three."),
        ("call", CALL), ("reasoning", "c"),
    ]  # fmt: skip
    assert validator.content == "One <think> two.\nThree." and len(validator.calls) == 1


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "parts", "content"),
    [
        (
            "Hm, { they want.</think>\nHello.",
            [("reasoning", "Hm, { they want."), ("text", "Hello.")],
            "Hello.",
        ),
        (f"Hm.</think>{CALL}", [("reasoning", "Hm."), ("call", CALL)], ""),
        ("</think>Hello.", [("text", "Hello.")], "Hello."),
        (f"{CALL}</think>Hello.", [("call", CALL), ("text", "</think>Hello.")], "</think>Hello."),
        ("Use <think> and </think>.", [("text", "Use <think> and </think>.")], "Use <think> and </think>."),
        ("Hm </thi", [("text", "Hm </thi")], "Hm </thi"),
        ("Hm</think>", [("reasoning", "Hm")], ""),
    ],
)
def test_text_before_a_lone_closing_marker_is_reasoning_unless_a_call_precedes_it(text, parts, content, size):
    validator, events = judged(text, "undefined", size, WORDS)
    closed = [(e.kind, text[e.start : e.end].strip()) for e in events if isinstance(e, SegmentClosed)]
    assert closed == parts and validator.content == content
    assert validator.valid == bool(content or validator.calls)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("order", ["", "reversed"])
def test_a_closing_marker_in_an_argument_is_a_part_of_it(order, size):
    text = '{"action":"search","query":"a </think> b"}'
    text = '{"query":"a </think> b","action":"search"}' if order else text
    validator, events = judged(text, "undefined", size)
    assert validator.valid and validator.arguments == {"query": "a </think> b"} and not segments(events)
