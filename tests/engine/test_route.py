"""Route-execute: the input of each stage, the handling of each answer, and questions to the user."""

from __future__ import annotations

import json
from functools import partial

import pytest

from glyphscope.events import (
    AnyEvent,
    CandidatesFound,
    QuestionAsked,
    RepairSettings,
    Routed,
    RouterSettings,
    RunFinished,
    RunRequest,
    Sampling,
    Violation,
)
from glyphscope.grammar import build_value_grammar, match_text
from glyphscope.models import RecordedModel
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import ToolRegistry, default_registry, make_tool
from glyphscope.runs import outcome_of, outcome_words, run_state
from glyphscope.runs.recorded import RecordedInteraction
from glyphscope.runs.strategies import Choices, choice_schema, choice_validator, run
from glyphscope.store import first_difference
from talks import NONE, Answering, Talker, chosen, question
from toolbox import of

REGISTRY = default_registry()
CALL = '{action="search" query="AI news"}'


request = partial(
    RunRequest,
    prompt="Search for AI news",
    registry=REGISTRY.to_document(),
    constraint="off",
    strategy="route-execute",
)


def test_the_router_sees_only_the_names_of_the_tools() -> None:
    model = Talker(NONE)
    list(run(request(), model))
    system = model.asked[0][0].content
    for tool in REGISTRY.allowed:
        assert tool.name in system
        assert tool.description not in system
        assert not [name for name in tool.parameters["properties"] if f'"{name}"' in system]


def test_the_executor_sees_one_tool_with_its_whole_schema_and_the_query() -> None:
    model = Talker(chosen("search"), CALL)
    list(run(request(), model))
    system, user = model.asked[1]
    assert json.dumps(REGISTRY.get("search").parameters, ensure_ascii=False) in system.content
    assert not [tool.name for tool in REGISTRY if tool.name != "search" and tool.name in system.content]
    assert user.content == "Search for AI news"


def test_a_disabled_tool_is_not_offered() -> None:
    document = REGISTRY.to_document()
    document["tools"][0]["enabled"] = False
    model = Talker(chosen("search"))
    events = list(run(request(registry=document), model))
    assert of(Violation, events)[0].code == "UNKNOWN_TOOL"
    assert "search\n" not in model.asked[0][0].content


@pytest.mark.parametrize(
    "answer",
    [
        '{"choice": "call_tool", "tool": null, "question": null}',
        '{"choice": "none", "tool": "search", "question": null}',
        '{"choice": "clarify", "tool": null, "question": null}',
        '{"choice": "clarify", "tool": null, "question": ""}',
        '{"choice": "call_tool", "tool": "search", "question": "which?"}',
        '{"choice": "call_tool", "tool": "search"}',
        '{"choice": "both", "tool": "search", "question": null}',
        "search",
        "",
    ],
)
def test_choice_tool_and_question_must_fit_together(answer: str) -> None:
    events = list(run(request(), Talker(answer)))
    assert not of(Routed, events)
    assert not of(RunFinished, events)[0].valid


def test_the_grammar_of_the_choice_agrees_with_the_validator() -> None:
    grammar = build_value_grammar(choice_schema(REGISTRY), "json")
    compact = [
        text.replace(": ", ":").replace(", ", ",") for text in (chosen("search"), question("Which?"), NONE)
    ]
    for text in compact:
        assert match_text(grammar, text).accepted
        validator = choice_validator(REGISTRY)
        validator.feed(text)
        assert validator.valid
    assert not match_text(grammar, compact[0].replace("search", "serch")).prefix_ok
    assert not match_text(
        build_value_grammar(choice_schema(REGISTRY, Choices(clarify=False)), "json"), compact[1]
    ).prefix_ok


SEVERAL = '{"choice": "multi_intent", "tool": null, "question": null}'


@pytest.mark.parametrize("constraint", ["off", "mask"])
def test_several_requests_in_one_prompt_are_an_answer_only_where_the_settings_allow_it(
    constraint: str,
) -> None:
    model = Talker(SEVERAL)
    asked = request(router=RouterSettings(multi_intent=True), constraint=constraint)
    events = list(run(asked, model))
    (finished,) = of(RunFinished, events)
    assert (finished.reason, finished.valid) == ("multi-intent", True)
    assert of(Routed, events)[0].choice == "multi_intent" and "multi_intent: " in model.asked[0][0].content
    state = run_state(events)
    assert (outcome_of(state), outcome_words("multi-intent")) == (
        "multi-intent",
        "several requests in one prompt",
    )
    model = Talker(SEVERAL)
    (violation, *_) = of(Violation, run(request(), model))
    assert violation.path == "/choice" and "multi_intent" not in model.asked[0][0].content
    compact = SEVERAL.replace(": ", ":").replace(", ", ",")
    assert match_text(
        build_value_grammar(choice_schema(REGISTRY, Choices(multi_intent=True)), "json"), compact
    ).accepted


def test_without_an_allowed_tool_no_call_can_be_chosen() -> None:
    document = ToolRegistry((make_tool("search", "", {"type": "object"}, enabled=False),)).to_document()
    model = Talker(NONE)
    events = list(run(request(registry=document), model))
    assert of(RunFinished, events)[0].reason == "no-tool"
    assert "call_tool" not in model.asked[0][0].content


# questions


def test_no_more_questions_are_asked_than_allowed() -> None:
    interaction = Answering("rockets")
    model = Talker(question("What about?"), question("And more?"))
    events = list(run(request(), model, interaction))
    assert len(interaction.questions) == 1
    assert "clarify" in model.asked[0][0].content
    assert "clarify" not in model.asked[1][0].content
    assert of(Violation, events)[0].path == "/choice"
    assert not of(RunFinished, events)[0].valid
    model = Talker(question("What?"))
    events = list(run(request(router=RouterSettings(max_questions=0)), model, interaction))
    assert not of(QuestionAsked, events)


def test_a_run_that_is_stopped_while_it_waits_is_cancelled() -> None:
    class Stopping(Answering):
        def answer(self, question: str) -> str | None:
            self.cancelled.set()
            return None

    events = list(run(request(), Talker(question("What?")), Stopping()))
    assert of(RunFinished, events)[0].reason == "cancelled"


# settings


def test_the_router_is_greedy_unless_its_temperature_is_set() -> None:
    model = Talker(chosen("search"), CALL)
    list(run(request(sampling=Sampling(temperature=0.8, seed=7)), model))
    assert [asked.sampling.temperature for asked in model.requests] == [0.0, 0.8]
    model = Talker(NONE)
    list(run(request(router=RouterSettings(temperature=0.3)), model))
    assert model.requests[0].sampling.temperature == 0.3


def test_under_a_constraint_each_stage_has_its_own_grammar() -> None:
    model = Talker(chosen("search"), CALL)
    list(run(request(constraint="mask"), model))
    router, executor = (asked.grammar for asked in model.requests)
    assert "call_tool" in router and "send_email" in router
    assert "send_email" not in executor and "max_results" in executor
    model = Talker(chosen("search"), CALL)
    list(run(request(constraint="gbnf"), model))
    assert all("root ::=" in asked.grammar for asked in model.requests)


def test_rules_and_synonyms_are_in_the_routers_prompt() -> None:
    settings = RouterSettings(
        rules=("Questions about chess: always none.",),
        synonyms={"search": ("look up", 'find "it"'), "unknown_tool": ("zzz",)},
    )
    model = Talker(NONE)
    list(run(request(router=settings), model))
    system = model.asked[0][0].content
    assert "- Questions about chess: always none." in system
    assert '"look up", "find \\"it\\"" -> search' in system
    assert "zzz" not in system


def test_known_names_are_reported_first_and_given_to_the_router() -> None:
    settings = RouterSettings(names={"item": ("Gjallarhorn", "Ace of Spades"), "perk": ("Outlaw",)})
    model = Talker(NONE)
    events = list(run(request(prompt="Find gjalahorn with outlaw", router=settings), model))
    (found,) = of(CandidatesFound, events)
    assert [(one.name, one.kind, one.start, one.end) for one in found.candidates] == [
        ("Outlaw", "perk", 20, 26),
        ("Gjallarhorn", "item", 5, 14),
    ]
    assert found.library.startswith("rapidfuzz ")
    assert "Gjallarhorn (item)" in model.asked[0][0].content
    assert events.index(found) < next(
        i for i, event in enumerate(events) if event.stage == "router" and i > 2
    )


def test_both_prompts_can_be_the_users_own() -> None:
    settings = RouterSettings(
        router_system="Names: {% for tool in tools %}{{ tool.name }} {% endfor %}",
        executor_system="Only {{ tool.name }}: {{ schema }}",
    )
    model = Talker(chosen("search"), CALL)
    list(run(request(router=settings), model))
    assert model.asked[0][0].content.startswith("Names: search calculate")
    assert model.asked[1][0].content.startswith("Only search: {")


# errors in a stage


def test_a_cancelled_router_ends_the_run() -> None:
    model = ScriptedModel(NONE)
    events: list[AnyEvent] = []
    for event in run(request(), model):
        events.append(event)
        if type(event).__name__ == "Token":
            model.cancel()
    assert of(RunFinished, events)[0].reason == "cancelled"


@pytest.mark.parametrize(
    "texts", [(NONE,), (chosen("search"), CALL), (chosen("fly"), chosen("search"), "{action=x", CALL)]
)
def test_a_record_replays_to_the_same_events(texts: tuple[str, ...]) -> None:
    asked = request(repair=RepairSettings(attempts=1), router=RouterSettings(names={"topic": ("AI news",)}))
    events = list(run(asked, Talker(*texts)))
    assert first_difference(events[1:], list(run(asked, RecordedModel(events)))[1:]) == ""


def test_a_record_answers_the_questions_that_the_user_answered() -> None:
    settings = RouterSettings(answers=("one",), max_questions=3)
    asked = request(router=settings)
    turns = Talker(question("1?"), question("2?"), question("3?"), chosen("search"), CALL)
    events = list(run(asked, turns, Answering("two", "three")))
    assert of(RunFinished, events)[0].valid
    again = list(run(asked, RecordedModel(events), RecordedInteraction(events)))
    assert first_difference(events[1:], again[1:]) == ""


@pytest.mark.slow
def test_thousands_of_tools_and_names_are_routed() -> None:
    tools = tuple(make_tool(f"tool_{i}", "", {"type": "object"}) for i in range(3000))
    names = {"thing": tuple(f"Thing Number {i}" for i in range(5000))}
    asked = request(
        prompt="use thing number 77 " * 300,
        registry=ToolRegistry(tools).to_document(),
        router=RouterSettings(names=names),
    )
    events = list(run(asked, Talker(chosen("tool_2999"), '{action="tool_2999"}')))
    assert of(RunFinished, events)[0].valid
    assert of(CandidatesFound, events)[0].candidates[0].name == "Thing Number 77"
