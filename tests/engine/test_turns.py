"""Turns of a conversation: the grammar of words and calls, and the validator that finds the calls in them."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GrammarError
from glyphscope.events import (
    NOTATIONS,
    SHAPES,
    FieldChanged,
    FieldClosed,
    SegmentClosed,
    SegmentOpened,
    ToolKnown,
    Violation,
)
from glyphscope.grammar import MaskReader, match_text, to_lark
from glyphscope.grammar.gbnf import emit_gbnf, load_gbnf
from glyphscope.notation import write_call
from glyphscope.registry import default_registry, load_registry
from glyphscope.turns import Expected, TurnForm, TurnOptions, build_call_grammar, build_turn_grammar, own_form
from glyphscope.turns.form import ReasoningForm

REGISTRY = default_registry()
SEARCH = {"query": "x"}


def call_text(notation, shape="flat", **arguments):
    return write_call("search", arguments or SEARCH, style=notation, shape=shape)


def spaced(call, notation):
    """White space where a model may put it before the tool's name."""
    return call.replace("{", "{ \n", 1).replace(
        "=" if notation == "glyph" else ":", "\t=" if notation == "glyph" else "\t:", 1
    )


def validator(notation="glyph", shape="flat", enforced="nothing", **options):
    form = own_form(notation, shape, text_after=True)
    options = TurnOptions(**{"choice": "auto", "most_calls": None, **options})
    return Expected(form, options, enforced).validator(REGISTRY)


def read_all(judge, *pieces):
    events = [event for piece in pieces for event in judge.feed(piece)]
    return events + judge.finish()


def read(judge, *pieces):
    """Return the events without those of the parts of the answer, which every text has."""
    events = read_all(judge, *pieces)
    return [event for event in events if not isinstance(event, SegmentOpened | SegmentClosed)]


# the grammar


def engines(notation, shape, options):
    grammar = build_call_grammar(REGISTRY, notation, shape, options)
    assert not grammar.unenforced
    mask = MaskReader(lark=to_lark(grammar))
    gbnf = load_gbnf(emit_gbnf(grammar).text)
    return [mask.accepts, *(lambda text, g=g: match_text(g, text).accepted for g in (grammar, gbnf))]


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_turn_is_text_or_text_and_a_call_and_nothing_after_it(notation, shape):
    call = call_text(notation, shape)
    spread = spaced(call, notation)
    taken = [
        "",
        "hello",
        "a { b",
        call[:3],
        "{{ ",
        call,
        "hi " + call,
        "hi " + spread,
        "{" + call,
        call[:-4] and "{x" + call,
    ]
    refused = [
        call + call,
        call + " hi",
        call[:-1],
        spread[:-1],
        call.replace("search", "sing"),
        "hi " + call[:-1] + "\n",
    ]
    for accepts in engines(notation, shape, TurnOptions(choice="auto")):
        assert [text for text in taken if not accepts(text)] == []
        assert [text for text in refused if accepts(text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_turn_has_as_many_calls_as_are_allowed(notation):
    call = call_text(notation)
    for most, words in ((2, True), (2, False), (None, True), (None, False)):
        for accepts in engines(
            notation, "flat", TurnOptions("auto" if words else "required", most_calls=most)
        ):
            assert accepts(call) and accepts(call + call) and accepts(f"{call}\n{call}")
            assert accepts(call * 3) is (most is None)
            assert (
                accepts("words") is words and not accepts(call + "words") and not accepts(f"{call}    {call}")
            )


def test_several_calls_need_one_spelling_of_their_beginning():
    with pytest.raises(GrammarError, match="one way"):
        form = own_form("json", white_space="any")
        build_turn_grammar(form, REGISTRY, TurnOptions("auto"))


@pytest.mark.parametrize("notation", NOTATIONS)
@at_most(300)
@given(
    text=st.lists(st.sampled_from(["{", '"', "action", "act", " ", "\n", ":", "=", "x"]), max_size=12).map(
        "".join
    )
)
def test_text_excludes_the_beginning_of_a_call_for_grammar_and_validator_alike(notation, text):
    begins = (
        re.search(r'\{\s*"action"\s*:' if notation == "json" else r'\{\s*("?)action\1\s*[:=]', text)
        is not None
    )
    mask, *_ = engines_of_words(notation)
    assert mask(text) is not begins
    judge = validator(notation, enforced="grammar")
    read(judge, *text)
    assert bool(judge.calls) is begins


_WORDS = {}


def engines_of_words(notation):
    if notation not in _WORDS:
        _WORDS[notation] = engines(notation, "flat", TurnOptions(choice="auto"))
    return _WORDS[notation]


# the validator


@pytest.mark.parametrize("notation", NOTATIONS)
@at_most(300)
@given(
    words=st.text('ab {"c', max_size=10),
    between=st.sampled_from(["", "\n", " and ", "{"]),
    cuts=st.lists(st.integers(0, 120), max_size=8),
    as_bytes=st.booleans(),
)
def test_calls_are_found_and_validated_in_any_chunking(notation, words, between, cuts, as_bytes):
    one, two = call_text(notation), call_text(notation, query="é}", max_results=500)
    whole = f"{words}{one}{between}{two}"
    data = whole.encode() if as_bytes else whole
    places = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    judge = validator(notation)
    events = read(judge, *(data[a:b] for a, b in pairwise(places)))
    first, second = judge.calls
    assert whole[first.start : first.end] == one and first.valid and first.arguments == SEARCH
    assert whole[second.start :].startswith("{") and [v.code for v in second.violations] == ["CONSTRAINT_MAX"]
    assert [event.name for event in events if isinstance(event, ToolKnown)] == ["search", "search"]
    violation = next(event for event in events if isinstance(event, Violation))
    assert whole[violation.char] == "0" and violation.path == "/max_results"
    closed = [whole[e.start : e.end] for e in events if isinstance(e, FieldClosed) and e.path == "/query"]
    assert closed == ['"x"', '"é}"']
    assert not judge.valid and judge.tool == "search" and judge.chars == len(whole)


@pytest.mark.parametrize(
    "text",
    [
        '{"action": "search", "query": "x"}',
        '{"action" = "search" "query" = "x"}',
        "{ action : search}",
        '{"action":1',
    ],
)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_without_a_constraint_every_spelling_of_a_call_is_a_call(notation, text):
    judge = validator(notation)
    read(judge, "Well: ", text)
    assert len(judge.calls) == 1


@pytest.mark.parametrize(
    "text", ["{", '{"', "{action", "{acti{", '{"actions": 1}', "if (x) { return }", "{ {} }"]
)
def test_text_with_braces_is_text(text):
    judge = validator("json")
    assert read(judge, *text) == [] and not judge.calls and judge.valid


def test_arguments_before_the_name_are_a_call_too():
    judge = validator("json", "tool-args")
    read(judge, 'So: {"args": {"query": "x"}, "tool": "search"}')
    assert judge.calls[0].valid


def test_a_missing_call_is_an_error_only_where_one_is_required():
    judge = validator(choice="required")
    assert [event.code for event in read(judge, "Hello.")] == ["NO_TOOL_CALL"] and not judge.valid
    judge = validator()
    assert read(judge, "Hello.") == [] and judge.valid


def test_an_empty_turn_is_invalid_without_a_violation():
    judge = validator()
    assert read(judge, " \n") == [] and not judge.valid


def test_an_incomplete_call_is_truncated():
    judge = validator()
    assert [e.code for e in read(judge, '{action="search" quer') if isinstance(e, Violation)] == ["TRUNCATED"]
    assert judge.calls[0].tool == "search" and not judge.calls[0].valid


def test_the_text_is_complete_after_the_last_allowed_call():
    judge = validator(most_calls=2, enforced="grammar")
    judge.feed(call_text("glyph"))
    assert not judge.complete
    judge.feed(call_text("glyph"))
    assert judge.complete


@pytest.mark.slow
def test_a_call_full_of_braces_is_read_in_linear_time():
    judge = validator("json", "tool-args")
    judge.feed('{"tool":"search","args":{"query":"' + "}" * 300_000 + '"}}')
    assert judge.calls[0].valid


def test_free_text_before_a_call_is_found_by_its_exact_beginning():
    judge = validator("json", choice="required", free_text=True, enforced="grammar")
    assert read(judge, 'So { "action": 1, ', '{"action":"search","query":"x"}') and judge.valid


@pytest.mark.slow
def test_a_flood_of_braces_or_spaces_is_read_in_linear_time():
    judge = validator()
    read(judge, *(["{" * 1000] * 200), "{", *([" " * 1000] * 200), 'action="search" query="x"}')
    assert judge.calls[0].valid


def test_the_number_of_calls_is_limited():
    judge = validator()
    read(judge, "{action=x}" * 3000)
    assert len(judge.calls) == 100


def test_calls_beyond_the_allowed_ones_are_counted_and_not_validated():
    one, bad = call_text("glyph"), call_text("glyph", query="x", max_results=500)
    judge = validator(most_calls=1)
    events = read(judge, one, bad, "{action=")
    assert len(judge.calls) == 3 and judge.valid and not judge.complete
    assert [event for event in events if isinstance(event, Violation)] == []
    assert len([event for event in events if isinstance(event, ToolKnown)]) == 1


# the parts of an answer


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_an_answers_parts_and_the_fields_of_each_call_are_known_in_any_chunking(size):
    first, second = '{"action":"search","query":"a"}', '{"action":"search","query":"b"}'
    text = f" See: {first}\n{second} done {{x}}"
    judge = validator("json", most_calls=None)
    events = read_all(judge, *(text[at : at + size] for at in range(0, len(text), size)))
    spans = [(e.kind, text[e.start : e.end], e.call_index) for e in events if isinstance(e, SegmentClosed)]
    assert spans == [("text", "See: ", 0), ("call", first, 0), ("call", second, 1), ("text", "done {x}", 0)]
    assert len([e for e in events if isinstance(e, SegmentOpened)]) == len(spans)
    fields = [(e.path, e.call_index, e.value) for e in events if isinstance(e, FieldClosed)]
    assert ("/query", 0, "a") in fields and ("/query", 1, "b") in fields
    assert judge.content == "See: \n done {x}"


# a lone call between the markers of a form known by name


def test_each_open_field_grows_once_with_each_piece_although_the_call_is_read_from_brace_to_brace():
    inner = {"type": "object", "properties": {"b": {"type": "object"}}}
    registry = load_registry({"nest": {"type": "object", "properties": {"a": inner, "c": {}}}})
    form = own_form("json", "name-arguments", native="hermes", text_before=True)
    judge = Expected(form).validator(registry)
    events = judge.feed('<tool_call>\n{"name": "nest", "arguments": {"a": {"b": {}}, "c"')
    assert [event.path for event in events if isinstance(event, FieldChanged)] == ["/arguments"]


@pytest.mark.parametrize(("reasoning", "token"), [(None, 1), (ReasoningForm("<think>", "</think>"), 0)])
def test_the_end_is_that_of_the_last_token_or_after_reasoning_of_the_last_one_with_text(reasoning, token):
    form = own_form("json", "name-arguments", native="llama", model=TurnForm(reasoning=reasoning))
    judge = Expected(form).validator(REGISTRY)
    assert read(judge, '{"name":', "")[-1].token == token
