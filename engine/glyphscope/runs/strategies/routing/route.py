"""The route-execute strategy: one prompt chooses a tool by its name, another writes the call of that tool alone.

The router sees names, never schemas, and answers in JSON, whatever the notation of calls: a tool, a question, or none.
None is an answer like the others, and the run succeeds; so are several requests in one prompt, if the settings allow
that answer. A question is put to the user, and the router runs again with
the answer, as often as the settings allow; an unanswered question ends the run without a result. The executor sees one
tool with its whole schema, and runs under that tool's grammar.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import msgspec

from glyphscope.events import (
    AnyEvent,
    CandidatesFound,
    NameCandidate,
    QuestionAnswered,
    QuestionAsked,
    Routed,
    RouterSettings,
)
from glyphscope.grammar.builder.tools import build_value_grammar
from glyphscope.prompting.strategies import Exchange, render_executor, render_router
from glyphscope.registry import ToolRegistry
from glyphscope.registry.making import object_schema
from glyphscope.runs.context import Context, Ending
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.strategies.decode import Generated, ending_of
from glyphscope.runs.strategies.generate import GenerationTask, call_task
from glyphscope.runs.strategies.repair import generate_repaired
from glyphscope.runs.strategies.request import generate_under
from glyphscope.runs.strategies.routing.candidates import find_candidates, library
from glyphscope.runs.strategies.turns import expected_calls
from glyphscope.turns import TurnOptions
from glyphscope.validation.reasons import LocatedReason, Reason, no_tool, values_in_words
from glyphscope.validation.value import ValueValidator

ROUTER: Literal["router"] = "router"
EXECUTOR: Literal["executor"] = "executor"
"""The names of the two stages."""
MAX_QUESTION = 200
"""Characters: the limit for a router that does not end its question."""


class Choices(NamedTuple):
    """The answers of a router beside a tool and none: a question, and that there are several requests."""

    clarify: bool = True
    multi_intent: bool = False


QUESTIONS = Choices()
"""A tool, a question, or none."""


def allowed_choices(settings: RouterSettings, asked: int) -> Choices:
    """The choices after `asked` questions."""
    return Choices(asked < settings.max_questions, settings.multi_intent)


def choice_schema(registry: ToolRegistry, choices: Choices = QUESTIONS) -> dict[str, Any]:
    """The router's answers as a JSON Schema: each choice with the tool and the question that belong to it."""
    names = [tool.name for tool in registry.allowed]
    null = {"type": "null"}
    question = {"type": "string", "minLength": 1, "maxLength": MAX_QUESTION}
    answers = [_answer("call_tool", {"enum": names}, null)] if names else []
    answers += [_answer("clarify", null, question)] if choices.clarify else []
    answers += [_answer("multi_intent", null, null)] if choices.multi_intent else []
    return {"anyOf": [*answers, _answer("none", null, null)]}


def _answer(choice: str, tool: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    return object_schema({"choice": {"const": choice}, "tool": tool, "question": question})


def choice_validator(registry: ToolRegistry, choices: Choices = QUESTIONS) -> ValueValidator:
    """The validator of a router's answer. A name that no allowed tool has is an UNKNOWN_TOOL, as in a call."""
    names = [tool.name for tool in registry.allowed]

    def explain(reason: Reason, path: str, typed: str, possible: int | None) -> LocatedReason:
        """`typed` is the value's text so far, of which the first `possible` characters may begin a name."""
        if path != "/tool" or reason.code != "CONSTRAINT_ENUM":
            return LocatedReason(reason, path)
        fitting, wrong = (typed, typed) if possible is None else (typed[:possible], typed[: possible + 1])
        left = values_in_words(name for name in names if name.startswith(fitting))
        message = no_tool(wrong, whole=wrong == fitting)
        return LocatedReason(Reason("UNKNOWN_TOOL", message, reason.rule, left), path)

    schema = choice_schema(registry, choices)
    return ValueValidator(schema, subject="the router's answer", explain=explain)


def route_execute(context: Context) -> Generator[AnyEvent, None, Ending]:
    """The router, repeated after each of its questions; then the executor, if a tool was chosen."""
    request = context.request
    candidates = find_candidates(request.prompt, request.router.names)
    exchanges: list[Exchange] = []
    while True:
        routed, generated = yield from route(context, candidates, exchanges)
        if routed is None:
            return Ending(generated.reason, False)
        if routed.choice == "none":
            return Ending("no-tool", True)
        if routed.choice == "multi_intent":
            return Ending("multi-intent", True)
        if routed.choice == "call_tool":
            return (yield from _execute(context, routed.tool, candidates, exchanges))
        answer = yield from _answer_of_user(context, routed.question, len(exchanges))
        if context.interaction.cancelled.is_set():
            return Ending("cancelled", False)
        if answer is None:
            return Ending("unanswered", False)
        exchanges.append(Exchange(generated.text, routed.question, answer))


def route(
    context: Context, candidates: tuple[NameCandidate, ...], exchanges: list[Exchange]
) -> Generator[AnyEvent, None, tuple[Routed | None, Generated]]:
    """The router's stage: its choice, None for an invalid one, and its text."""
    settings = context.request.router
    yield context.emitter.enter(ROUTER, "Router", ROUTER)
    if settings.names and not exchanges:
        yield context.emitter.stamp(CandidatesFound(candidates=candidates, library=library()))
    generated = yield from generate_repaired(context, _routing_task(context, candidates, exchanges))
    if not generated.valid:
        return None, generated
    chosen: dict[str, Any] = generated.arguments or {}
    routed = Routed(choice=chosen["choice"], tool=chosen["tool"] or "", question=chosen["question"] or "")
    yield context.emitter.stamp(routed)
    return routed, generated


def with_query(context: Context, registry: ToolRegistry, query: str) -> Context:
    """The context of a router that chooses among those tools for a query, without a question and an earlier turn."""
    asked = context.request
    router = msgspec.structs.replace(asked.router, max_questions=0, names={}, multi_intent=False)
    request = msgspec.structs.replace(asked, prompt=query, history=(), router=router, native="", form={})
    return replace(context, prepared=PreparedRequest(request, registry))


def _routing_task(
    context: Context, candidates: tuple[NameCandidate, ...], exchanges: list[Exchange]
) -> GenerationTask:
    registry, settings = context.registry, context.request.router
    sampling = msgspec.structs.replace(context.request.sampling, temperature=settings.temperature)
    request = msgspec.structs.replace(context.request, sampling=sampling)
    choices = allowed_choices(settings, len(exchanges))
    schema = choice_schema(registry, choices)

    return GenerationTask(
        messages=render_router(request, registry, candidates, exchanges, may_ask=choices.clarify),
        generation=lambda prompt: generate_under(
            request, prompt, lambda: build_value_grammar(schema, "json"), schema
        ),
        validator=lambda: choice_validator(registry, choices),
        bare_validator=lambda: choice_validator(registry, choices),
        notation="json",
        key="choice",
        deterministic=settings.temperature == 0,
    )


def _answer_of_user(context: Context, question: str, asked: int) -> Generator[AnyEvent, None, str | None]:
    """The user's answer, or the one in the request; None for a blank one."""
    yield context.emitter.stamp(QuestionAsked(question=question))
    given = context.request.router.answers
    answer = given[asked] if asked < len(given) else context.interaction.answer(question)
    answer = answer if answer is not None and answer.strip() else None
    yield context.emitter.stamp(QuestionAnswered(answer=answer))
    return answer


def _execute(
    context: Context, name: str, candidates: tuple[NameCandidate, ...], exchanges: list[Exchange]
) -> Generator[AnyEvent, None, Ending]:
    """The call of that tool, the only one in this stage."""
    yield context.emitter.enter(EXECUTOR, f"Executor of {name}", EXECUTOR)
    alone = only(context.registry, name)
    messages = render_executor(context.request, alone, candidates, exchanges)
    expected = expected_calls(context.request, TurnOptions(tool=name, free_text=context.request.free_text))
    generated = yield from generate_repaired(context, call_task(context.request, alone, messages, expected))
    return (yield from ending_of(generated, context.emitter))


def only(registry: ToolRegistry, name: str) -> ToolRegistry:
    """The registry with only that tool."""
    return replace(registry, tools=tuple(tool for tool in registry.allowed if tool.name == name))
