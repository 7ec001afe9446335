"""Two tools at a time: the pairs that a model confuses for some prompts, and the parts that separate them.

For each other tool, the tool that was called and this one are the only ones that the prompt offers and the mask allows.
The probability of the call's name is then that of one of two names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from glyphscope.base.errors import ModelError, PromptError
from glyphscope.explain.ablation.choice import written_choice
from glyphscope.explain.ablation.scoring import Report, ablate_prompt
from glyphscope.explain.ablation.types import OmissionEffect, OmissionKind, PromptAblation
from glyphscope.models.interface import Model
from glyphscope.runs.prepared import prepare
from glyphscope.runs.state import RunState

SURE = 0.9
"""The least probability of the called tool with which a pair does not count as confused."""
_SEPARATING: tuple[OmissionKind, ...] = ("description", "example")


@dataclass(frozen=True)
class ToolPair:
    """The called tool beside one `other`. `ablation` is that of the prompt that offers only these two; it has effects
    only for a confused pair. `prompt` is the user's.
    """

    called: str
    other: str
    prompt: str
    ablation: PromptAblation

    @property
    def probability(self) -> float:
        """That of the called tool's name, of two."""
        return self.ablation.base.probability

    @property
    def is_confused(self) -> bool:
        return self.probability < SURE

    @property
    def separating(self) -> tuple[OmissionEffect, ...]:
        """The parts without which the called tool is less probable, the largest fall first."""
        return tuple(each for each in self.ablation.ranked if (self.ablation.change(each) or 0.0) < 0)


def tool_pairs(
    state: RunState,
    model: Model,
    *,
    report: Report = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[ToolPair]:
    """The pairs of the tool that the run called and each other tool that it was offered, until `stopped` returns True.

    Raises PromptError for a run that called none, or was offered only one; otherwise as `ablate_prompt`.
    """
    choice = written_choice(state, "tool")
    assert state.started is not None, "it has a call"
    request = state.started.request
    others = [tool.name for tool in prepare(request).registry.allowed if tool.name != choice.name]
    if not others:
        raise PromptError(
            f"The run was offered only the tool {choice.name}, so there is no other to compare it with.",
            where=f"run {state.started.run}",
            hint="Give a run with several tools.",
        )
    for other in others:
        if stopped():
            return
        tools = {choice.name, other}
        score = partial(ablate_prompt, state, model, choice, tools=tools, report=report, stopped=stopped)
        try:
            found = score(kinds=())
            if found.base.probability < SURE:
                found = score(kinds=_SEPARATING)
        except ModelError:
            if stopped():  # before this pair was scored
                return
            raise
        yield ToolPair(choice.name, other, request.prompt, found)
