"""Fields of several runs side by side: their rows, their differences, and the first one."""

import dataclasses

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import ModelDied
from glyphscope.evals.alignment import (
    MAX_LENGTH,
    TOOL,
    align,
    call_fields,
    difference_words,
    first_difference,
)
from glyphscope.evals.costs import run_figures
from glyphscope.events import Answer, RunRequest, Token
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import RunState, reduce_event, run_state
from glyphscope.runs.strategies import run

REGISTRY = default_registry().to_document()
GLYPH = '{action="search" query="AI news" max_results=10}'


def events_of(script, **changes):
    turns = [script] if isinstance(script, str) else script
    request = RunRequest(prompt="p", registry=REGISTRY, constraint="off")
    return list(run(msgspec.structs.replace(request, **changes), ScriptedModel(turns=turns)))


def ran(script, **changes):
    return run_state(events_of(script, **changes))


def until(events, characters):
    """Return the run's state after so many characters."""
    state, at = RunState(), 0
    for event in events:
        at = event.end if isinstance(event, Token) else at
        if at > characters:
            break
        reduce_event(state, event)
    return state


def table(*states):
    return {row.name: (row.agreement, [c and c.text for c in row.cells]) for row in align(states).rows}


GLYPH_RUN = ran(GLYPH)
JSON_5 = ran(
    '{"tool": "search", "args": {"query": "AI news", "max_results": 5}}', notation="json", shape="tool-args"
)
STAGED = ran(['"search"', '{query="AI news" max_results=10}'], strategy="two-stage")


def test_an_argument_is_aligned_across_notations_shapes_and_stages():
    assert table(GLYPH_RUN, JSON_5, STAGED) == {
        TOOL: ("same", ['"search"'] * 3),
        "query": ("same", ['"AI news"'] * 3),
        "max_results": ("differs", ["10", "5", "10"]),
    }
    assert list(table(JSON_5, GLYPH_RUN)) == [TOOL, "query", "max_results"]


def test_an_argument_without_a_name_is_not_the_tool():
    schema = {"type": "object", "properties": {"": {"type": "integer"}, "tool": {"type": "integer"}}}
    tools = {"tools": [{"name": "odd", "description": "d", "parameters": schema}]}
    texts = ['{"action": "odd", "": 1, "tool": 2}', '{"action": "odd", "": 3, "tool": 2']
    rows = table(*(ran(text, registry=tools, notation="json") for text in texts))
    assert rows[TOOL] == ("same", ['"odd"'] * 2)
    assert rows[""] == ("differs", ["1", "3"])
    assert rows["tool"][1][0] == "2"


def test_the_first_difference_is_the_first_row_that_differs():
    other = ran('{action="search" query="ai news" max_results=5}')
    first = align([GLYPH_RUN, other]).first
    assert first is not None
    assert (first.name, first.place, first.char) == ("query", "", 0)
    assert align([GLYPH_RUN, STAGED]).first is None


def test_an_aborted_run_is_compared_with_its_incomplete_value():
    aborted = ran('{action="search" query="AI news" max_results=500}')
    assert aborted.outcome == "aborted"
    rows = table(GLYPH_RUN, aborted)
    assert rows["query"] == ("same", ['"AI news"'] * 2)
    assert rows["max_results"] == ("differs", ["10", "500"])
    assert difference_words(align([GLYPH_RUN, aborted]), ["mask", "off"]) == (
        "mask wrote max_results 10, off 500 (incomplete)."
    )


def test_arguments_of_two_stages_are_compared_without_a_complete_call():
    staged = ran(['"search"', '{query="AI news" max_results=500}'], strategy="two-stage")
    assert staged.call is None
    assert {name: cell.text for name, cell in call_fields(staged).items()} == {
        TOOL: '"search"',
        "query": '"AI news"',
        "max_results": "500",
    }


def test_an_unfinished_run_differs_only_in_what_it_has_written():
    events = events_of('{action="search" query="AI news" max_results=5}')
    middle = until(events, 30)
    rows = table(GLYPH_RUN, middle)
    assert rows[TOOL][0] == "same"
    assert rows["query"][0] == rows["max_results"][0] == "open"
    assert difference_words(align([GLYPH_RUN, middle]), ["one", "two"]) == "The same so far."
    whole = run_state(events)
    assert table(GLYPH_RUN, whole)["max_results"][0] == "differs"


def test_a_run_that_failed_without_a_field_is_not_compared():
    class Dying(ScriptedModel):
        def generate(self, request):
            raise ModelDied("The model's process was ended by SIGKILL.")
            yield

    request = RunRequest(prompt="p", registry=REGISTRY, constraint="off")
    dead = run_state(run(request, Dying()))
    found = align([GLYPH_RUN, dead, STAGED])
    assert found.compared == (True, False, True)
    assert {row.agreement for row in found.rows} == {"same"}
    words = difference_words(found, ["a", "b", "c"])
    assert words == "Both wrote the same: search, 2 arguments. Not compared: b."
    assert difference_words(align([GLYPH_RUN, None]), ["a", "b"]).startswith("Only a can be read")


def test_a_run_without_a_call_is_described():
    prose = ran("Sure! I will search.")
    words = difference_words(align([GLYPH_RUN, prose]), ["mask", "off"])
    assert words == "mask called search, off called no tool. 2 more fields differ: query, max_results."
    assert difference_words(align([prose, prose]), ["x", "y"]).startswith(
        "None of them wrote a readable field"
    )


def test_runs_that_wrote_the_same_are_named_together():
    words = difference_words(align([JSON_5, GLYPH_RUN, STAGED]), ["json", "glyph", "two-stage"])
    assert words == "json wrote max_results 5, glyph and two-stage 10."
    without = ran('{action="search" query="AI news"}')
    words = difference_words(align([without, GLYPH_RUN]), ["json", "glyph"])
    assert words == "glyph wrote max_results 10, json omitted it."


def test_the_place_inside_a_long_value_is_named():
    long = "x" * 40
    one, two = (ran(f'{{action="search" query="{long}{end}"}}') for end in "ab")
    assert difference_words(align([one, two]), ["one", "two"]).endswith("(they differ from character 40 on).")


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (10, 10.0, None),
        (1, True, ("", None)),
        (0, False, ("", None)),
        (10, "10", ("", None)),
        (None, None, None),
        (None, 0, ("", None)),
        ("abc", "abd", ("", 2)),
        ("ab", "abc", ("", 2)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        ({"a": 1}, {"a": 1, "b": None}, ("/b", None)),
        ({"a/b": {"~": [1, "xy"]}}, {"a/b": {"~": [1, "xz"]}}, ("/a~1b/~0/1", 1)),
        ([1, 2], [1], ("/1", None)),
        ([], {}, ("", None)),
    ],
)
def test_two_values_differ_at_their_first_difference(one, other, found):
    assert first_difference(one, other) == found


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@at_most(300)
@given(_VALUES, _VALUES)
def test_a_difference_is_the_same_from_both_sides(one, other):
    there, back = first_difference(one, other), first_difference(other, one)
    assert (
        (there is None)
        == (back is None)
        == (msgspec.json.encode(one, order="sorted") == msgspec.json.encode(other, order="sorted"))
    )
    assert first_difference(one, one) is None


def test_a_long_value_is_cut_off():
    state = ran('{action="search" query="%s"}' % ("x" * 1000))
    assert all(len(cell.text) <= MAX_LENGTH for cell in call_fields(state).values())


def test_figures_count_all_stages_and_leave_unknown_values_out():
    figures = run_figures(STAGED)
    assert figures.tokens == STAGED.finished.tokens
    assert figures.characters == len('"search"{query="AI news" max_results=10}') == figures.bytes
    assert figures.prompt_tokens == sum(stage.prompt.tokens for stage in STAGED.stages)
    assert figures.total_ms == STAGED.finished.total_ms
    assert figures.first_token_ms is not None and figures.first_token_ms <= figures.total_ms
    nothing = run_figures(RunState())
    assert (nothing.tokens, nothing.prompt_tokens, nothing.first_token_ms, nothing.total_ms) == (
        0,
        None,
        None,
        None,
    )
    assert run_figures(ran('{action="search" query="é"}')).bytes == 28


def test_only_tokens_that_the_model_wrote_in_this_run_count_for_its_speed():
    state = ran('{action="search" query="AI news" max_results=10}')
    (stage,) = state.stages
    kept = len(stage.tokens) - 11
    tokens = tuple(
        msgspec.structs.replace(
            token,
            step=msgspec.structs.replace(token.step, origin="kept" if n < kept else "model"),
            t=2.0 + max(0, n - kept + 1) * 0.05,  # kept ones are evaluated at once
        )
        for n, token in enumerate(stage.tokens)
    )
    branch = dataclasses.replace(state, stages=(dataclasses.replace(stage, tokens=tokens),))
    assert run_figures(branch).tokens == len(tokens)
    assert run_figures(branch).tokens_per_second == pytest.approx(20)


def test_an_answer_that_came_at_once_has_no_speed():
    state = ran('{action="search" query="AI news" max_results=10}')
    (stage,) = state.stages
    at_once = [msgspec.structs.replace(token, t=2.3) for token in stage.tokens]
    whole = dataclasses.replace(state, stages=[dataclasses.replace(stage, tokens=at_once, evaluated=None)])
    assert run_figures(whole).tokens == len(at_once) and run_figures(whole).tokens_per_second is None


PERSON = Answer(
    "schema", '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}'
)


@pytest.mark.parametrize(
    ("answer", "one", "other", "words"),
    [
        (Answer("choice", "yes\nno"), "yes", "no", 'a wrote answer "yes", b "no".'),
        (Answer("choice", "yes\nno"), " yes", "yes", "Both wrote the same."),
        (Answer("regex", "[0-9]+"), "12", "To", 'a wrote answer "12", b To (incomplete).'),
        (PERSON, '{"name": "Ann", "age": 3}', '{"name": "Bo", "age": 3}', 'a wrote name "Ann", b "Bo".'),
        (PERSON, '{"name": "Ann"}', "Ann", 'a wrote name "Ann", b omitted it.'),
        (Answer("schema", '{"type": "integer"}'), "12", "13", "a wrote answer 12, b 13."),
    ],
)
def test_answers_that_are_not_calls_are_compared_by_their_members_or_as_a_whole(answer, one, other, words):
    states = [ran(text, answer=answer, notation="json") for text in (one, other)]
    assert difference_words(align(states), ("a", "b")) == words


def test_a_prompt_whose_tokens_nobody_counted_is_unknown_and_not_empty():
    stages = tuple(
        dataclasses.replace(
            stage,
            prompt=msgspec.structs.replace(stage.prompt, tokens=0, cached=0),
            finished=msgspec.structs.replace(stage.finished, prompt_tokens=0, cached=0),
        )
        for stage in STAGED.stages
    )
    figures = run_figures(dataclasses.replace(STAGED, stages=stages))
    assert (figures.prompt_tokens, figures.cached) == (None, None)
