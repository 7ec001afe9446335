"""The last answer as readers get it: its text, its tokens, the tools, and the form of the run."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from glyphscope.events import TokenStep
from glyphscope.registry import ToolRegistry
from glyphscope.runs import RunState
from glyphscope.turns import TurnForm

_STATES: dict[str, bool | None] = {"on": True, "off": False, "auto": None}


class Answer(NamedTuple):
    """`text` is what the model wrote after a prompt that was rendered with that state of `thinking`.

    `steps` are its tokens. `form` is None where the run has none.
    """

    text: str = ""
    thinking: bool | None = None
    steps: tuple[TokenStep, ...] = ()
    registry: ToolRegistry | None = None
    form: TurnForm | None = None


def last_answer(state: RunState) -> Answer:
    """The answer of the run that is shown; an empty one where there is none."""
    if state.started is None:
        return Answer()
    steps = tuple(token.step for token in state.tokens)
    request = state.started.request
    try:
        form = msgspec.convert(request.form, TurnForm) if request.form else None
    except msgspec.ValidationError:
        form = None  # of a later version
    text = "".join(step.text for step in steps)
    return Answer(text, _STATES.get(request.thinking), steps, state.whole_registry, form)
