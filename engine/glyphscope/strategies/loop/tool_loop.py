"""The tool loop: the model writes, its calls are executed and their results sent back to it, until it answers.

`enforced` requires a call until there was one. The outcome is reported at the end: with the policy `fatal`, the last
call of every tool must have succeeded, so that a model can recover from an error; with `tolerated`, one call must have
succeeded. Everything that changes the course is an event: ignored, changed and denied calls, and limits.
"""

from __future__ import annotations

from collections.abc import Generator

from glyphscope.errors import ContextOverflow
from glyphscope.events import AnyEvent, CallReady, FinalAnswer, LimitReached, Violation
from glyphscope.execution.tool_execution import execute
from glyphscope.runs.context import Context, Ending
from glyphscope.runs.tool_access import visible_registry, without_tools
from glyphscope.runs.transforms.registry import chain_of
from glyphscope.strategies.loop.guards import Guards, calls_per_turn
from glyphscope.strategies.loop.history_policy import EMPTY_NOTE, Conversation, fault_note
from glyphscope.strategies.loop.turn import FoundCall, Plan, TurnResult, take_turn

_OUTGROWN = (
    "The conversation no longer fits: allow smaller results (max_tool_output_bytes, the "
    "preset small-context) or fewer turns, or load the model with a larger context."
)


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
        self._conversation = Conversation(context.request, self._chain)
        self._guards = Guards(context)
        self._enforced = self._settings.tool_use == "enforced"
        self._turns = 0
        self._asking_again = self._asked_again = False  # requesting the last answer again, which was empty
        self._outcomes: dict[str, bool] = {}  # by tool, whether its last call succeeded
        self._any_ok = False

    def events(self) -> Generator[AnyEvent, None, Ending]:
        try:
            return (yield from self._conversed())
        except ContextOverflow as error:
            if self._turns > 1:
                error.hint = _OUTGROWN
            raise

    def _conversed(self) -> Generator[AnyEvent, None, Ending]:
        for event in self._tools.acted:
            yield self._emitter.stamp(event)
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

    def _plan(self) -> Plan:
        """The plan of the next turn."""
        registry, settings = self._tools.registry, self._settings
        if self._asking_again and settings.fix_empty_final_disable_tools:
            return Plan(without_tools(registry), 0, words=True, last=True)
        words = not self._enforced or bool(self._outcomes)
        most = calls_per_turn(settings) if registry.allowed else 0
        return Plan(registry, most, words=words, last=self._asking_again)

    def _after(self, plan: Plan, said: TurnResult) -> Generator[AnyEvent, None, Ending | None]:
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

    def _executed(self, plan: Plan, said: TurnResult) -> Generator[AnyEvent, None, Ending | None]:
        self._asking_again = False
        self._guards.used_turn()
        if plan.most_calls is not None and said.found > plan.most_calls:
            yield self._emitter.stamp(self._guards.ignored(said.found, plan.most_calls))
        ready = [self._ready(call, index) for index, call in enumerate(said.calls)]
        if self._native:
            self._conversation.called(said.content, said.reasoning, ready)
        else:
            self._conversation.said(said.text[: said.calls[-1].end])
        yield from ready
        for call in ready:
            if (limit := self._guards.call(call.tool, call.arguments)) is not None:
                return (yield from self._stopped(limit))
            result = yield from execute(self._context, call, turn=self._turns, rewrite=self._chain.result)
            self._conversation.answered(result.sent, call if self._native else None)
            self._outcomes[call.tool] = result.ok
            self._any_ok = self._any_ok or result.ok
            if result.fault == "cancelled":
                return Ending("cancelled", False)
        if said.fault is not None:
            self._conversation.note(fault_note(said.fault, may_answer=True))
        return None

    def _ready(self, call: FoundCall, index: int) -> CallReady:
        """The call by the tool's own name, which a transform may have changed for the model."""
        return self._emitter.stamp(
            CallReady(
                tool=self._tools.own_names[call.tool],
                arguments=call.arguments,
                text=call.text,
                call=self._emitter.call_id(),
                call_index=index,
            )
        )

    def _without_progress(self, plan: Plan, fault: Violation) -> Generator[AnyEvent, None, Ending | None]:
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

    def _answered(self, plan: Plan, said: TurnResult) -> Generator[AnyEvent, None, Ending]:
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
