"""The tool loop: the model writes, its calls are executed and their results sent back to it, until it answers.

`enforced` requires a call until there was one. The outcome is reported at the end: with the policy `fatal`, the last
call of every tool must have succeeded, so that a model can recover from an error; with `tolerated`, one call must have
succeeded. Everything that changes the course is an event: ignored, changed and denied calls, and limits.

If a turn has to call, the grammar of calls is enforced; if words are allowed too, the grammar of words or calls
(`turns/own_text.py`). Two kinds of turns never have a constraint, and their titles say so: one of words only, and
one that allows words too although the request has a custom grammar, which describes only calls.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

import msgspec

from glyphscope.base.errors import ContextOverflow
from glyphscope.events import (
    AnyEvent,
    CallReady,
    FinalAnswer,
    LimitReached,
    RunRequest,
    StageKind,
    StopOn,
    ToolsDeferred,
    Violation,
)
from glyphscope.registry import ToolRegistry
from glyphscope.runs.context import Context, Ending
from glyphscope.runs.deferral import DeferredTools, deferral, first_offered
from glyphscope.runs.envelope import escaped
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.recorded import RecordedInteraction
from glyphscope.runs.strategies.decode import Decoding, Generated, stopping_on
from glyphscope.runs.strategies.loop.guards import Guards, calls_per_turn
from glyphscope.runs.strategies.loop.history_policy import EMPTY_NOTE, LoopHistory, fault_note, with_system
from glyphscope.runs.strategies.request import generate_request, priced_prompt, special_tokens, with_messages
from glyphscope.runs.strategies.routing.route import route, with_query
from glyphscope.runs.strategies.turns import expected_answer, expected_calls
from glyphscope.runs.tool_access import visible_registry, without_tools
from glyphscope.runs.tool_execution import execute
from glyphscope.runs.tool_search import SearchError
from glyphscope.runs.transforming import Chain, chain_of
from glyphscope.turns import AnswerValidator, Expected, TurnOptions, own_form
from glyphscope.turns.form import Choice

_OUTGROWN = (
    "The conversation no longer fits: allow smaller results (max_tool_output_bytes, the "
    "preset small-context) or fewer turns, or load the model with a larger context."
)

_SEARCH = "Let the model search for tools (tool_search, defer_tools), or "


def loop(context: Context) -> Generator[AnyEvent, None, Ending]:
    """The whole conversation. Raises errors that `run` reports as the end of a run."""
    return (yield from _Loop(context).events())


class _Loop:
    """One conversation. Its state is the plan of the next turn, and the outcomes of the calls."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._emitter = context.emitter
        self._settings = context.request.loop
        self._native = context.request.native == "template"
        self._chain, self._tools = chain_of(
            context.request, visible_registry(self._settings, context.registry)
        )
        self._conversation = LoopHistory(context.request, self._chain)
        self._guards = Guards(context)
        self._enforced = self._settings.tool_use == "enforced"
        self._turns = 0
        self._asking_again = self._asked_again = False  # requesting the last answer again, which was empty
        self._outcomes: dict[str, bool] = {}  # by tool, whether its last call succeeded
        self._any_ok = False
        self._deferred: DeferredTools | None = None

    def events(self) -> Generator[AnyEvent, None, Ending]:
        try:
            return (yield from self._conversed())
        except ContextOverflow as error:
            if self._turns > 1:
                error.hint = _OUTGROWN
            elif self._deferred is None and self._tools.registry.allowed:
                error.hint = f"{_SEARCH}{error.hint[:1].lower()}{error.hint[1:]}"
            raise

    def _conversed(self) -> Generator[AnyEvent, None, Ending]:
        for event in self._tools.acted:
            yield self._emitter.stamp(event)
        yield from self._defer()
        ending: Ending | None = None
        while ending is None:
            if self._context.interaction.cancelled.is_set():
                return Ending("cancelled", False)
            limit = self._guards.before_turn(self._turns, last=self._asking_again)
            if limit is not None:
                return (yield from self._stopped(limit))
            self._turns += 1
            plan = self._plan()
            said = yield from take_turn(
                self._context, self._conversation, self._chain, self._guards, plan, self._turns
            )
            ending = yield from self._after(plan, said)
        return ending

    @property
    def _recorded(self) -> RecordedInteraction | None:
        interaction = self._context.interaction
        return interaction if isinstance(interaction, RecordedInteraction) else None

    def _defer(self) -> Generator[AnyEvent, None, None]:
        """Leave tools out of the prompt if they are to be searched for; in a replay, if they were."""
        request, tools, model = with_system(self._context.request), self._tools.registry, self._context.model
        recorded = self._recorded
        event = recorded.deferred if recorded is not None else deferral(request, tools, model)
        if event is not None:
            yield self._emitter.stamp(event)
            self._deferred = DeferredTools(request, tools, event, model)

    def _plan(self) -> TurnPlan:
        """The plan of the next turn."""
        settings = self._settings
        registry = self._tools.registry if self._deferred is None else self._deferred.next_turn()
        if self._asking_again and settings.fix_empty_final_disable_tools:
            return TurnPlan(without_tools(registry), 0, words=True, last=True)
        words = not self._enforced or bool(self._outcomes)
        most = calls_per_turn(settings) if registry.allowed else 0
        return TurnPlan(registry, most, words=words, last=self._asking_again)

    def _after(self, plan: TurnPlan, said: TurnResult) -> Generator[AnyEvent, None, Ending | None]:
        """The ending after a turn; None for another turn."""
        if said.generated.reason == "cancelled":
            late = self._guards.late(self._turns)
            return (yield from self._stopped(late)) if late else Ending("cancelled", False)
        if said.calls:
            return (yield from self._executed(plan, said))
        if said.fault is not None and not plan.last:
            return (yield from self._without_progress(plan, said.fault))
        if said.fault is not None or not said.text.strip():
            return (yield from self._empty(said.fault))
        return (yield from self._answered(plan, said))

    def _executed(self, plan: TurnPlan, said: TurnResult) -> Generator[AnyEvent, None, Ending | None]:
        self._asking_again = False
        self._guards.used_turn()
        if plan.most_calls is not None and said.found > plan.most_calls:
            yield self._emitter.stamp(self._guards.ignored(said.found, plan.most_calls))
        ready = [self._ready(call) for call in said.calls]
        if self._native:
            self._conversation.called(said.content, said.reasoning, ready)
        else:
            self._conversation.said(said.text[: said.calls_end])
        yield from (call for call in ready if not self._is_search(call))
        for call in ready:
            if (limit := self._guards.call(call.tool, call.arguments)) is not None:
                return (yield from self._stopped(limit))
            if self._is_search(call):
                if (yield from self._searched(call)):
                    return Ending("cancelled", False)
                continue
            result = yield from execute(self._context, call, turn=self._turns, rewrite=self._chain.result)
            self._conversation.answered(result.sent, call if self._native else None)
            self._outcomes[call.tool] = result.ok
            self._any_ok = self._any_ok or result.ok
            if result.fault == "cancelled":
                return Ending("cancelled", False)
        if said.fault is not None:
            self._conversation.note(fault_note(said.fault, may_answer=True))
        return None

    def _ready(self, call: CallReady) -> CallReady:
        """The call by the tool's own name, which a transform may have changed for the model."""
        own_name = self._tools.own_names.get(call.tool, call.tool)
        return self._emitter.stamp(msgspec.structs.replace(call, tool=own_name, call=self._emitter.call_id()))

    def _is_search(self, call: CallReady) -> bool:
        return self._deferred is not None and call.tool == self._deferred.name

    def _searched(self, call: CallReady) -> Generator[AnyEvent, None, bool]:
        """Search for tools, and add what the model gets to the conversation. Returns whether the run was stopped."""
        deferred, query = self._deferred, str(call.arguments["query"])
        assert deferred is not None
        matches: list[str] = []
        problem = ""
        if deferred.event.by == "router":
            asked = with_query(self._context, deferred.routed(query), query)
            routed, generated = yield from route(asked, (), [])
            if generated.reason == "cancelled":
                return True
            matches = [routed.tool] if routed is not None and routed.tool else []
        else:
            try:
                matches = deferred.index.ranked(query)
            except SearchError as error:
                problem = str(error)
        recorded = None if self._recorded is None else self._recorded.next_search()
        event = deferred.load(query, matches, problem, recorded)
        sent, acted = self._chain.result(event.sent)
        for each in acted:
            yield self._emitter.stamp(each)
        sent = escaped(sent)
        yield self._emitter.stamp(msgspec.structs.replace(event, sent=sent))
        self._conversation.answered(sent, call if self._native else None)
        return False

    def _without_progress(self, plan: TurnPlan, fault: Violation) -> Generator[AnyEvent, None, Ending | None]:
        """A turn without a valid call: the model gets the error, unless there were too many such turns."""
        self._conversation.note(fault_note(fault, may_answer=plan.words))
        limit = self._guards.unused_turn(fault.message)
        if limit is None:
            return None
        yield self._emitter.stamp(limit)
        return Ending("refused" if self._missed() else "limit", False)

    def _empty(self, fault: Violation | None) -> Generator[AnyEvent, None, Ending | None]:
        """The last answer is empty, or still a call although nothing can be called: request it once more."""
        if self._settings.fix_empty_final and not self._asked_again:
            self._asking_again = self._asked_again = True
            self._conversation.note(EMPTY_NOTE)
            return None
        asked = int(self._asked_again)
        again = ", also when it was asked for once more" if asked else ""
        message = f"The model's last answer was empty{again}."
        if fault is not None:
            message = f"The model's last answer is not text: {fault.message}."
        yield self._emitter.stamp(
            LimitReached(limit="fix_empty_final", allowed=asked, used=asked, message=message)
        )
        return Ending("refused", False)

    def _answered(self, plan: TurnPlan, said: TurnResult) -> Generator[AnyEvent, None, Ending]:
        if said.generated.reason == "length":
            if self._guards.tokens_left <= 0:
                return (yield from self._stopped(self._guards.tokens()))
            yield self._emitter.stamp(self._guards.cut_answer(said.generated.tokens))
        text = said.content if self._native else said.text
        yield self._emitter.stamp(FinalAnswer(text=text.strip(), recovered=plan.last))
        missed = self._missed()
        if missed is None:
            return Ending("answered", True)
        yield self._emitter.stamp(missed)
        return Ending("refused", False)

    def _missed(self) -> LimitReached | None:
        """The reason why an enforced call did not succeed."""
        if not self._enforced:
            return None
        if not self._outcomes:
            message = "A call was required, but none was made."
            return LimitReached(limit="tool_use", allowed=1, used=0, message=message)
        failed = [tool for tool, ok in self._outcomes.items() if not ok]
        if self._settings.failure_policy == "tolerated":
            if self._any_ok:
                return None
            message = "A call was required, but none succeeded."
            return LimitReached(limit="failure_policy", allowed=1, used=0, message=message)
        if not failed:
            return None
        message = f"A call was required, but the last one of {', '.join(failed)} failed."
        return LimitReached(limit="failure_policy", allowed=0, used=len(failed), message=message)

    def _stopped(self, limit: LimitReached) -> Generator[AnyEvent, None, Ending]:
        yield self._emitter.stamp(limit)
        return Ending("limit", False)


# one turn: its constraint, and the calls and text parsed from it


def first_turn(
    prepared: PreparedRequest, deferred: ToolsDeferred | None = None
) -> tuple[PreparedRequest, Expected]:
    """The first turn of a loop as one direct request, and its expected answer, for whoever scores it again. Its prompt
    is the loop's unless a transform changes messages. Raises PromptError and RegistryError.
    """
    settings, registry = (
        prepared.request.loop,
        first_offered(prepared.described, deferred, prepared.request.prompt),
    )
    most = calls_per_turn(settings) if registry.allowed else 0
    plan = TurnPlan(registry, most, words=settings.tool_use != "enforced")
    request = plan_request(with_system(prepared.request), plan)
    alone = PreparedRequest(msgspec.structs.replace(request, strategy="direct"), registry)
    return alone, plan_expects(request, plan)


@dataclass(frozen=True)
class TurnPlan:
    """The plan of a turn. `most_calls` 0 is text only, None any number; `words` False requires a call."""

    registry: ToolRegistry
    most_calls: int | None
    words: bool
    last: bool = False

    @property
    def calls(self) -> bool:
        return self.most_calls != 0

    @property
    def text_only(self) -> bool:
        """Whether all of its text is an answer, whatever it contains."""
        return not self.calls and not self.last


@dataclass(frozen=True)
class TurnResult:
    """The outcome of a turn. `calls` are the valid calls to execute, without ids and timestamps, `found` is the number
    of calls that were begun; `fault` is the error in a call to execute, or about a missing call. `text` is the text
    after the transforms; `calls_end` is the position after the last call to execute; `content` and `reasoning` are its
    parts other than calls.
    """

    generated: Generated
    text: str
    calls: tuple[CallReady, ...]
    found: int
    fault: Violation | None
    calls_end: int = 0
    content: str = ""
    reasoning: str = ""


def take_turn(
    context: Context, conversation: LoopHistory, chain: Chain, guards: Guards, plan: TurnPlan, number: int
) -> Generator[AnyEvent, None, TurnResult]:
    """The events of a turn, to the end of its stage and the transforms that acted."""
    emitter, request = context.emitter, plan_request(context.request, plan)
    kind: StageKind = "final" if plan.last else "turn"
    yield emitter.enter(kind, _title(context.request, plan, number), kind, number)
    messages, acted = conversation.messages(plan.registry)
    for event in acted:
        yield emitter.stamp(event)
    prompt = priced_prompt(messages, context.model, request)
    expected, names = plan_expects(request, plan), special_tokens(request, context.model)
    generation = with_messages(
        generate_request(request, plan.registry, prompt.text, expected, names=names),
        messages,
        plain=prompt.plain,
    )
    most = max(1, min(request.max_tokens, guards.tokens_left))
    generation = msgspec.structs.replace(generation, max_tokens=most)
    validator = expected.validator(plan.registry)
    stop_on: StopOn = "never" if chain.reads and request.constraint == "off" else stopping_on(request)
    decoding = Decoding(context, generation, prompt, validator, stop_on=stop_on)
    generated = yield from _in_time(context, decoding, guards)
    validator.finish()  # if the text was broken off, the last call is still open
    if plan.text_only:
        return TurnResult(generated, generated.text, (), 0, None)
    text, acted = chain.response(generated.text)
    if acted:
        for event in acted:
            yield emitter.stamp(event)
        validator = expected._replace(enforced="nothing").validator(plan.registry)
        validator.feed(text)
        validator.finish()
    return _read(generated, text, validator, plan)


def plan_request(request: RunRequest, plan: TurnPlan) -> RunRequest:
    """The request with this turn's constraint; in the model's own form, also with its tool choice and call limit."""
    if request.native == "template":
        choice = "none" if not plan.calls else "auto" if plan.words else "required"
        most = plan.most_calls or None
        request = msgspec.structs.replace(request, tool_choice=choice, most_calls=most)
    if request.constraint == "off" or (plan.calls and (not plan.words or request.grammar is None)):
        return request
    return msgspec.structs.replace(request, constraint="off")


def _title(request: RunRequest, plan: TurnPlan, number: int) -> str:
    what = "words only" if not plan.calls else "a call or an answer" if plan.words else "a call"
    if request.constraint != "off" and plan_request(request, plan).constraint == "off":
        what += ", without the constraint"
    return (
        f"Turn {number}: {what}" if not plan.last else f"Turn {number}, asked for an answer once more: {what}"
    )


def plan_expects(request: RunRequest, plan: TurnPlan) -> Expected:
    """The expected turn. A last answer without tools is also searched: a leaked call is not an answer."""
    if plan.text_only:
        return Expected(own_form(request.notation, request.shape), TurnOptions("none"))
    if request.native == "template":
        return expected_answer(request)
    free_text, most = request.free_text and not plan.words, plan.most_calls or None
    choice: Choice = "auto" if plan.words else "required"
    return expected_calls(request, TurnOptions(choice, free_text=free_text, most_calls=most))


def _in_time(context: Context, decoding: Decoding, guards: Guards) -> Generator[AnyEvent, None, Generated]:
    """The generation, stopped when its time is over."""
    with closing(decoding.events()) as events:
        for event in events:
            yield event
            if guards.out_of_time:
                context.model.cancel()
    return decoding.generated


def _read(generated: Generated, text: str, validator: AnswerValidator, plan: TurnPlan) -> TurnResult:
    calls: list[CallReady] = []
    end = 0
    fault: Violation | None = next(iter(validator.violations), None) if not validator.calls else None
    for index, call in enumerate(validator.calls[: plan.most_calls or None]):
        if not call.valid or call.tool is None or call.arguments is None:
            fault = next(iter(call.violations), None) or Violation(
                code="TRUNCATED", message="the call is not complete", path="", char=call.end, token=-1
            )
            break
        end = call.end
        calls.append(
            CallReady(tool=call.tool, arguments=call.arguments, text=text[call.start : end], call_index=index)
        )
    found = len(validator.calls)
    return TurnResult(
        generated, text, tuple(calls), found, fault, end, validator.content, validator.reasoning
    )
