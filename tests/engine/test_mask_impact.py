"""Expected and actual values: changes by the mask are summed by field, named with their keyword, and never guessed."""

import json
import math
from dataclasses import replace

import msgspec
import pytest

from cli_command import command
from glyphscope.events import Alternative, RunRequest, Token
from glyphscope.explain.constraint_attribution import Attribution, Attributor
from glyphscope.explain.impact import (
    AROUND,
    FieldImpact,
    attribution_words,
    field_name,
    head,
    loss_words,
    mask_impact,
    worst_words,
)
from glyphscope.explain.in_prompt import prompt_places
from glyphscope.grammar import MatchLimit, compile_grammar
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import branch_request, run_state
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.turns import expected_answer
from glyphscope.store.records import encode_record

REGISTRY = default_registry()
PIECES = ['{action="', 'search"', " query", '="', "AI", '"', " max_results=", "10", "}"]


def alternative(text, raw, allowed, id=900):
    return Alternative(id, text.encode(), text, raw, raw if allowed else 0.0, allowed)


def made(figures, pieces=PIECES, **changes):
    """Yield the events of a run of these pieces; `figures` are fields of the steps, by place."""
    asked = RunRequest(
        **{
            "prompt": "x",
            "registry": REGISTRY.to_document(),
            "constraint": "mask",
            "stop_on": "never",
            **changes,
        }
    )
    place = -1
    for event in run(asked, ScriptedModel(pieces)):
        if isinstance(event, Token):
            place += 1
            more = {"feasible": 1.0, "logprob": math.log(0.9), "allowed": 5, **figures.get(place, {})}
            event = msgspec.structs.replace(event, step=msgspec.structs.replace(event.step, **more))
        yield event


def impact(figures, **more):
    return mask_impact(run_state(made(figures, **more)))


def by_path(found):
    return {conflict.path: conflict for conflict in found.fields}


CONFLICT = {
    8: {
        "feasible": 0.2,
        "logprob": math.log(0.1),
        "alternatives": (alternative("1", 0.7, False), alternative("}", 0.1, True)),
    }
}


def test_masked_probability_is_attributed_to_its_field():
    found = by_path(impact({0: {"feasible": 0.5}, 4: {"feasible": 0.75}, 7: {"feasible": 0.9}, **CONFLICT}))
    assert list(found) == [AROUND, "/action", "/query", "/max_results"]
    assert found[AROUND].lost == pytest.approx(0.5) and found["/query"].lost == pytest.approx(0.25)
    limit = found["/max_results"]
    assert (limit.value, limit.tokens, limit.most_token) == ("10", 2, 8)
    assert (limit.lost, limit.most) == (pytest.approx(0.9), pytest.approx(0.8))


def test_the_constraint_that_masked_the_preferred_token_is_named():
    found = impact(CONFLICT)
    (conflict,) = found.conflicts
    masked = conflict.worst
    assert (masked.token, masked.before, masked.preferred, masked.sampled) == (8, "10", "1", "}")
    assert (masked.preferred_raw, masked.sampled_raw) == (0.7, pytest.approx(0.1))
    assert masked.attribution == Attribution("search", "/properties/max_results/maximum", "maximum")
    lines = worst_words(conflict, REGISTRY)
    assert lines[0] == 'token 8: preferred 10▸"1" (raw 70.0%), sampled 10▸"}" (raw 10.0%)'
    assert lines[1] == "blocked by maximum 100 (search:/properties/max_results/maximum)"
    assert "max_results" in head(found)


def test_a_masked_token_counts_although_other_tokens_spell_the_same():
    forced = {
        "feasible": 0.1,
        "forced": True,
        "allowed": 1,
        "alternatives": (alternative(" que", 0.6, False), alternative(" query", 0.1, True, 2)),
    }
    found = by_path(impact({2: forced}))[AROUND]
    assert found.lost == pytest.approx(0.3) and found.other_tokens == pytest.approx(0.6)
    assert found.worst is None and found.masked == 0
    assert "not counted: 0.60 for the same text in other tokens" in loss_words(found)


def test_an_unknown_figure_is_reported_as_unknown():
    unreported = {place: {"feasible": None, "logprob": None, "alternatives": ()} for place in range(9)}
    found = impact(unreported)
    assert found.constrained is None and "does not contain" in head(found)
    partly = impact({**unreported, 8: CONFLICT[8]})
    limit = by_path(partly)["/max_results"]
    assert (limit.tokens, limit.unknown, limit.lost) == (2, 1, pytest.approx(0.8))
    assert "Unknown for 8 tokens." in head(partly) and "unknown for 1 more" in loss_words(limit)
    assert by_path(partly)["/query"].unknown == by_path(partly)["/query"].tokens
    assert loss_words(by_path(partly)["/query"]).startswith("unknown")


def test_a_run_without_a_constraint_has_no_impact():
    found = impact({8: {"feasible": 1.0}}, constraint="off")
    assert found.constrained is False and not found.conflicts and head(found).startswith("No constraint")


def test_the_worst_conflict_is_named_first():
    worse = {
        4: {"feasible": 0.01, "alternatives": (alternative("\n", 0.9, False), alternative("AI", 0.01, True))}
    }
    assert [conflict.path for conflict in impact({**CONFLICT, **worse}).conflicts] == [
        "/query",
        "/max_results",
    ]


def test_a_keyword_that_was_not_searched_is_reported_as_such():
    events = list(made(CONFLICT))
    other = msgspec.structs.replace(events[0].request, strategy="two-stage")
    (conflict,) = mask_impact(
        run_state([msgspec.structs.replace(events[0], request=other), *events[1:]])
    ).conflicts
    assert (
        conflict.worst.attribution is None
        and "only for the strategy direct" in worst_words(conflict, REGISTRY)[1]
    )


def other_order(order):
    """Return the impact where the model prefers `max_results` to `query`, which the schema lists first and requires."""
    figures = {
        2: {
            "feasible": 0.2,
            "alternatives": (alternative(" max", 0.7, False), alternative(" query", 0.1, True)),
        }
    }
    return impact(figures, order=order).conflicts[0]


def test_a_key_in_another_order_is_attributed_to_the_order():
    conflict = other_order("schema")
    assert conflict.worst.attribution is None and conflict.worst.unexplained == "order"
    assert "--order any" in worst_words(conflict, REGISTRY)[1]


def test_under_any_order_no_key_is_masked_for_its_place():
    registry = default_registry()
    for order, fits in (("schema", False), ("any", True)):
        asked = RunRequest(prompt="x", registry=registry.to_document(), order=order)
        refusals = Attributor(asked, registry)
        assert refusals.unrelated('{action="search"', " max_results=") == ("" if fits else "order")
        assert (
            compile_grammar(expected_answer(asked).grammar(registry))
            .start()
            .feed('{action="search" max_results=')
            .alive
            is fits
        )
    assert not refusals.unrelated('{action="search"', " no_such=")


def test_before_a_tool_is_known_no_schema_is_named():
    early = {
        0: {**CONFLICT[8], "alternatives": (alternative("Sure", 0.7, False), alternative("{", 0.1, True))}
    }
    (conflict,) = impact(early).conflicts
    assert (
        conflict.worst.unexplained == "early" and "no tool is known yet" in worst_words(conflict, REGISTRY)[1]
    )
    assert impact(CONFLICT).conflicts[0].worst.unexplained == ""


def test_a_custom_grammar_is_named_as_the_cause():
    (conflict,) = impact(CONFLICT, grammar='root ::= "x"').conflicts
    assert conflict.worst.attribution is None and "the custom grammar" in worst_words(conflict, REGISTRY)[1]


@pytest.mark.parametrize("too_much", ["time", "ways"])
def test_an_explanation_that_takes_too_long_is_reported(monkeypatch, too_much):
    if too_much == "time":
        monkeypatch.setattr("glyphscope.explain.constraint_attribution.SECONDS", -1.0)
    else:

        def feed(*_, **__):
            raise MatchLimit("The grammar reads the text in too many ways: more than 9 steps.")

        monkeypatch.setattr("glyphscope.explain.constraint_attribution.Attributor._lets_through", feed)
    (conflict,) = impact(CONFLICT).conflicts
    assert conflict.worst.attribution is None and "takes too long" in worst_words(conflict, REGISTRY)[1]


def test_incomplete_characters_belong_to_their_step():
    robot = "🤖".encode()
    pieces = ['{action="search" query="', robot[:2], robot[2:], '"}']
    found = by_path(impact({1: {"feasible": 0.5}, 2: {"feasible": 0.5}}, pieces=pieces))
    assert found["/query"].lost == pytest.approx(1.0)
    assert sum(conflict.tokens for conflict in found.values()) == 4


def test_arguments_inside_a_shape_have_their_places():
    pieces = ['{"name":"', "search", '","arguments":{"query":"', "AI", '"}}']
    asked = {"notation": "json", "shape": "name-arguments", "pieces": pieces}
    found = by_path(impact({3: {"feasible": 0.5}}, **asked))
    assert found["/arguments/query"].lost == pytest.approx(0.5)
    assert found["/arguments/query"].places[0].of == "/search/parameters/properties/query/description"
    assert found["/name"].places[0].of == "/search/description"


# -- what could change --------------------------------------------------------------------------------------------


def places(path, refused=None, prompt=None, registry=REGISTRY, **changes):
    events = list(made({}, **changes))
    state = run_state(events)
    reported = state.prompt if prompt is None else msgspec.structs.replace(state.prompt, text=prompt)
    return prompt_places(path, "search", state.started.request, registry, reported, refused)


MAXIMUM = Attribution("search", "/properties/max_results/maximum", "maximum")


def test_the_prompt_is_checked_for_the_constraint():
    assert places("/max_results", MAXIMUM)[0].states is True  # integer 1..100 in the signature
    assert places("/max_results", MAXIMUM, prompt="no tools at all")[0].states is False
    assert places("/max_results", MAXIMUM, prompt='"maximum": 1000, integer 1..1000')[0].states is False
    assert places("/max_results", MAXIMUM, prompt='{"type": "integer", "maximum": 100}')[0].states is True
    assert places("/max_results")[0].states is None
    either = default_registry().get("search")
    either = replace(either, parameters={"type": "object", "properties": {"q": {"enum": ["a", "date"]}}})
    registry = replace(REGISTRY, tools=(either,))
    named = Attribution("search", "/properties/q/enum", "enum")
    for prompt, states in (("update, as a date-time", False), ("q is a or date.", True)):
        words = {"type": "object", "properties": {"q": {"enum": ["a", "date"], "description": prompt}}}
        reported = replace(REGISTRY, tools=(replace(either, parameters=words),))
        assert places("/q", named, prompt=prompt, registry=reported)[0].states is states, prompt
    assert places("/q", named, prompt="nothing", registry=registry)[0].states is False
    unknown = Attribution("search", "/additionalProperties", "additionalProperties")
    assert places("/max_results", unknown)[0].states is None


def test_the_place_to_change_is_that_of_the_field():
    kinds = [(place.kind, place.of) for place in places("/query")]
    assert kinds == [
        ("description", "/search/parameters/properties/query/description"),
        ("example", "/search"),
    ]
    assert places("/query")[0].shown is False and places("/query")[1].shown is True
    assert [place.kind for place in places(AROUND)] == ["format"]
    assert places("/nothing")[0].text == ""
    masked = Attribution("search", "/additionalProperties", "additionalProperties")
    assert [place.kind for place in places(AROUND, masked)] == ["tool", "example"]
    assert places("/query", MAXIMUM)[0].of.endswith("/max_results/description")


def test_a_constraint_without_a_value_is_described():
    free = Attribution("search", "/additionalProperties", "additionalProperties")
    assert attribution_words(free, REGISTRY).startswith("additionalProperties (search:")
    assert attribution_words(free, None) == "additionalProperties (search:/additionalProperties)"
    one = Attribution("search", "/required/query", "required")
    assert attribution_words(one, REGISTRY) == 'required "query" (search:/required/query)'


def test_a_field_is_shown_by_its_decoded_path():
    assert field_name(FieldImpact("/args/a~1b", "")) == "args/a/b"


# -- the command --------------------------------------------------------------------------------------------------


def explained(tmp_path, events, *more):
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode_record(list(events)))
    return command("explain", path, *more)


def test_the_command_prints_the_impact_and_its_json(tmp_path):
    reported = explained(tmp_path, made(CONFLICT))
    assert reported.exit_code == 0, reported.output
    assert "Grammar and model conflict in: max_results" in reported.output
    assert "blocked by maximum 100 (search:/properties/max_results/maximum)" in reported.output
    assert "try: change the description of max_results" in reported.output
    assert "Token boundaries are unknown: a scripted model" in reported.output
    document = json.loads(explained(tmp_path, made(CONFLICT), "--json").stdout)
    (stage,) = document["stages"]
    assert stage["fights"] == ["/max_results"] and stage["tokens"]["canonical"] is None
    places = next(each["places"] for each in stage["fields"] if each["places"])
    assert {"kind", "of", "text", "tells", "shown"} == set(places[0])
    refused = next(each for each in stage["fields"] if each["path"] == "/max_results")["fight"]["refused"]
    assert refused == {"tool": "search", "pointer": "/properties/max_results/maximum", "keyword": "maximum"}


def test_the_command_compares_a_relaxed_branch_with_its_parent(tmp_path):
    events = list(made({}, constraint="off"))
    parent = tmp_path / "parent.jsonl"
    parent.write_bytes(encode_record(events))
    asked = branch_request(events, 7, text="500", relax=MAXIMUM[:2])
    reported = explained(tmp_path, run(asked, ScriptedModel([*PIECES[:7], "500", "}"])), "--of", str(parent))
    assert reported.exit_code == 0 and "max_results changed from 10 to 500." in reported.output, (
        reported.output
    )
    other = explained(tmp_path, made({}), "--of", str(parent))
    assert other.exit_code == 2 and "is not a branch of" in other.output


def test_a_damaged_record_is_an_error_of_the_command(tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_text("nothing of the kind\n")
    reported = command("explain", broken)
    assert reported.exit_code == 2 and "error:" in reported.output
    empty = explained(tmp_path, [event for event in made({}) if not isinstance(event, Token)], "--no-tokens")
    assert empty.exit_code == 0 and "has no tokens" in empty.output
