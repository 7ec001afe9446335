"""One turn of the model: its constraint, and the calls and text parsed from it.

If a call is required, the grammar of calls is enforced; if words are allowed too, the grammar of words or calls
(`grammar.builder.turn`). Two kinds of turns never have a constraint, and their titles say so: one of words only, and
one that allows words too although the request has a custom grammar, which describes only calls.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import msgspec

from glyphscope.events import AnyEvent, RunRequest, StageKind, StopOn, Violation
from glyphscope.grammar.builder.calls import GrammarOptions
from glyphscope.registry import ToolRegistry
from glyphscope.runs.context import Context
from glyphscope.runs.transforms.registry import Chain
from glyphscope.strategies.decode import Decoding, Generated, Validator, stopping_on
from glyphscope.strategies.loop.guards import Guards
from glyphscope.strategies.loop.history_policy import Conversation
from glyphscope.strategies.request import generate_request, priced_prompt, special_tokens, with_messages
from glyphscope.strategies.turns import form_validator, native_form
from glyphscope.turns.validator import FormValidator
from glyphscope.validation.free_text_answer import WordsValidator
from glyphscope.validation.turn import TurnValidator


@dataclass(frozen=True)
class Plan:
    """The plan of a turn. `most_calls` 0 is text only, None any number; `words` False requires a call."""

    registry: ToolRegistry
    most_calls: int | None
    words: bool
    last: bool = False

    @property
    def calls(self) -> bool:
        return self.most_calls != 0


@dataclass(frozen=True)
class FoundCall:
    """A valid call as it is written in the turn; `end` is the position after it in the turn's text."""

    tool: str
    arguments: dict[str, Any]
    text: str
    end: int


@dataclass(frozen=True)
class TurnResult:
    """The outcome of a turn. `calls` are the valid calls to execute, `found` is the number of calls that were begun;
    `fault` is the error in a call to execute, or about a missing call. `text` is the text after the transforms;
    `content` and `reasoning` are its parts other than calls.
    """

    generated: Generated
    text: str
    calls: tuple[FoundCall, ...]
    found: int
    fault: Violation | None
    content: str = ""
    reasoning: str = ""


def take_turn(
    context: Context, conversation: Conversation, chain: Chain, guards: Guards, plan: Plan, number: int
) -> Generator[AnyEvent, None, TurnResult]:
    """The events of a turn, to the end of its stage and the transforms that acted."""
    emitter, request = context.emitter, plan_request(context.request, plan)
    kind: StageKind = "final" if plan.last else "turn"
    yield emitter.enter(kind, _title(context.request, plan, number), kind, number)
    messages, acted = conversation.messages(plan.registry)
    for event in acted:
        yield emitter.stamp(event)
    prompt = priced_prompt(messages, context.model, thinking=request.thinking)
    options, names = plan_options(request, plan), special_tokens(request, context.model)
    generation = with_messages(
        generate_request(request, plan.registry, prompt.text, options, names=names), messages
    )
    most = max(1, min(request.max_tokens, guards.tokens_left))
    generation = msgspec.structs.replace(generation, max_tokens=most)
    validator = plan_validator(request, plan)
    stop_on: StopOn = "never" if chain.reads and request.constraint == "off" else stopping_on(request)
    decoding = Decoding(context, generation, prompt, validator, stop_on=stop_on)
    generated = yield from _in_time(context, decoding, guards)
    validator.finish()  # if the text was broken off, the last call is still open
    if not isinstance(validator, TurnValidator | FormValidator):
        return TurnResult(generated, generated.text, (), 0, None)
    text, acted = chain.response(generated.text)
    if acted:
        for event in acted:
            yield emitter.stamp(event)
        validator = _calls_validator(request, plan, constrained=False)
        validator.feed(text)
        validator.finish()
    return _read(generated, text, validator, plan)


def plan_request(request: RunRequest, plan: Plan) -> RunRequest:
    """The request with this turn's constraint; in the model's own form, also with its tool choice and call limit."""
    if request.native == "template":
        choice = "none" if not plan.calls else "auto" if plan.words else "required"
        most = plan.most_calls or None
        request = msgspec.structs.replace(request, tool_choice=choice, most_calls=most)
    if request.constraint == "off" or (plan.calls and (not plan.words or request.grammar is None)):
        return request
    return msgspec.structs.replace(request, constraint="off")


def _title(request: RunRequest, plan: Plan, number: int) -> str:
    what = "words only" if not plan.calls else "a call or an answer" if plan.words else "a call"
    if request.constraint != "off" and plan_request(request, plan).constraint == "off":
        what += ", without the constraint"
    return (
        f"Turn {number}: {what}" if not plan.last else f"Turn {number}, asked for an answer once more: {what}"
    )


def plan_options(request: RunRequest, plan: Plan) -> GrammarOptions | None:
    """None for the request's custom grammar, and for turns in the model's form."""
    if request.grammar is not None or request.native == "template":
        return None
    if plan.words:
        return GrammarOptions(words=True, most_calls=plan.most_calls)
    return GrammarOptions(free_text=request.free_text, most_calls=plan.most_calls)


def plan_validator(request: RunRequest, plan: Plan) -> Validator:
    if not plan.calls and not plan.last:
        return WordsValidator()
    return _calls_validator(
        request, plan, constrained=request.constraint != "off" and request.grammar is None
    )


def _calls_validator(request: RunRequest, plan: Plan, *, constrained: bool) -> TurnValidator | FormValidator:
    """The validator of a turn. A last answer without tools is also searched: a leaked call is not an answer."""
    if (form := native_form(request)) is not None:
        return form_validator(form, request, plan.registry)
    return TurnValidator(
        plan.registry,
        request.notation,
        request.shape,
        words=plan.words,
        constrained=constrained,
        spaced=plan.words or not request.free_text,
        most_calls=plan.most_calls or None,
        ends=request.constraint != "off",
    )


def _in_time(context: Context, decoding: Decoding, guards: Guards) -> Generator[AnyEvent, None, Generated]:
    """The generation, stopped when its time is over."""
    with closing(decoding.events()) as events:
        for event in events:
            yield event
            if guards.out_of_time:
                context.model.cancel()
    return decoding.generated


def _read(
    generated: Generated, text: str, validator: TurnValidator | FormValidator, plan: Plan
) -> TurnResult:
    calls: list[FoundCall] = []
    fault: Violation | None = next(iter(validator.violations), None) if not validator.calls else None
    for call in validator.calls[: plan.most_calls or None]:
        if not call.valid or call.tool is None or call.arguments is None:
            fault = next(iter(call.violations), None) or Violation(
                code="TRUNCATED", message="the call is not complete", path="", char=call.end, token=-1
            )
            break
        calls.append(FoundCall(call.tool, call.arguments, text[call.start : call.end], call.end))
    reasoning = validator.reasoning if isinstance(validator, FormValidator) else ""
    found = len(validator.calls)
    return TurnResult(generated, text, tuple(calls), found, fault, validator.content, reasoning)
