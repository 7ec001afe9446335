"""How a template writes calls, reasoning and results: found by rendering conversations with marked contents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from glyphscope.base.errors import PromptError
from glyphscope.events import Message, ToolCall
from glyphscope.models.chat_messages import CallStyle, fit_calls, link_results
from glyphscope.processes.limited import ProcessLimitReached
from glyphscope.turns.probe import spoils

Loss: TypeAlias = Literal["", "left out", "refused"]
"""Empty if the template writes the part."""
Render: TypeAlias = Callable[[Sequence[Message], CallStyle], str]
"""A rendering of linked messages with `PROBE_TOOLS`. Raises PromptError."""


def _tool(number: int) -> dict[str, Any]:
    properties = {
        "zqkey": {"type": "string", "description": "A key."},
        "zqnumber": {"type": "integer", "description": "A number."},
        "zqflag": {"type": "boolean", "description": "A choice."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["zqkey"]}
    function = {"name": f"zqtool{number}", "description": "Does something.", "parameters": parameters}
    return {"type": "function", "function": function}


PROBE_TOOLS = (_tool(1), _tool(2))
_CALLS = tuple(
    ToolCall(f"zqtool{n}", {"zqkey": f"zqvalue{n}", "zqnumber": 7, "zqflag": True}) for n in (1, 2)
)
_RESULTS = (Message("tool", "zqresult1"), Message("tool", "zqresult2"))
_USER, _NEXT = Message("user", "zquser"), Message("user", "zqnext")
_STYLES = (
    CallStyle("object", ""),
    CallStyle("object", None),
    CallStyle("string", ""),
    CallStyle("string", None),
    CallStyle("object", " "),  # for templates that reject a message without text
    CallStyle("string", " "),
    CallStyle("object", "", ids="functions"),
    CallStyle("string", "", ids="functions"),
)


def _talks(message: Message, ends: Sequence[Sequence[Message]] = ()) -> list[list[Message]]:
    """Conversations with that message: templates differ in the last role and the order of roles that they accept."""
    results = list(_RESULTS[: len(message.tool_calls)])
    return [[_USER, message, *end] for end in ends or ([*results], [*results, _NEXT], [], [_NEXT])]


def find_style(render: Render) -> CallStyle:
    """The form in which the template accepts calls."""
    style, calls = _call_style(render)
    if calls:
        return style._replace(as_text=True)
    both = _talks(Message("assistant", "", _CALLS))[:2]
    single = style._replace(single=True)
    if _loss(render, both, style, "zqvalue1", "zqvalue2") and not _loss(
        render, both, single, "zqvalue1", "zqvalue2"
    ):
        style = single
    beside = Message("assistant", "zqtext", _CALLS[:1])
    if _loss(render, _talks(beside), style, "zqtext", "zqvalue1"):
        # with an answer, or the order of roles would not be checked
        whole = _talks(beside, [[_RESULTS[0], Message("assistant", "zqanswer"), _NEXT]])
        apart = style._replace(text="apart")
        lost = _loss(render, whole, apart, "zqtext", "zqvalue1")
        style = style._replace(text="left out") if lost else apart
    thought = _talks(Message("assistant", "zqtext", _CALLS[:1], "zqreason"))
    joined = style._replace(joined=True)
    if _loss(render, thought, style) == "refused" and not _loss(render, thought, joined):
        style = joined
    return style


def _call_style(render: Render) -> tuple[CallStyle, Loss]:
    """The form of calls that the template writes best, and whether it writes calls at all."""
    talks = _talks(Message("assistant", "", _CALLS[:1]))
    spoilt: CallStyle | None = None
    losses: list[Loss] = []
    for style in _STYLES:
        for text in _texts(render, talks, style):
            if text is None or "zqvalue1" not in text:
                losses.append("refused" if text is None else "left out")
            elif not spoils(text, "zqkey", "zqflag") and _names_the_call(text):
                return style, ""
            else:
                spoilt = spoilt or style
    if spoilt is not None:
        return spoilt, ""
    return CallStyle(), "left out" if "left out" in losses else "refused"


def _names_the_call(text: str) -> bool:
    """Whether the tool's name is before the call's value; a result may also contain it."""
    before = text[: text.index("zqvalue1")]
    return "zqtool1" in before.rpartition("zquser")[2]


def _loss(render: Render, talks: Sequence[Sequence[Message]], style: CallStyle, *marks: str) -> Loss:
    """Empty if one of the conversations is rendered with all the marks."""
    loss: Loss = "refused"
    for text in _texts(render, talks, style):
        if text is not None:
            if all(mark in text for mark in marks):
                return ""
            loss = "left out"
    return loss


def _texts(render: Render, talks: Sequence[Sequence[Message]], style: CallStyle) -> list[str | None]:
    return [_text(render, talk, style) for talk in talks]


def _text(render: Render, talk: Sequence[Message], style: CallStyle) -> str | None:
    """The rendered conversation; None if the template rejects it. Raises PromptError if it exceeds its limits."""
    try:
        return render(fit_calls(link_results(talk, ids=style.ids), style)[0], style)
    except PromptError as error:
        if isinstance(error.__cause__, ProcessLimitReached):
            raise
        return None
