"""The variables of a chat template that a user may set: their values, and what each changes in a rendered prompt.

A variable is a name that the template reads and that no prompt sets (`template_uses.py`). Its values are those that the
template compares it with, otherwise samples of the type that it uses. Each is given to some conversations, and the
first rendering that differs from the one without it shows what it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.lines import common_length
from glyphscope.base.shorten import shorten
from glyphscope.events import Message, ToolCall, written_pairs
from glyphscope.models.chat import ChatTemplate
from glyphscope.models.chat_probe import PROBE_TOOLS
from glyphscope.models.template_environment import copied
from glyphscope.models.template_uses import EFFORTS, Uses, VariableKind, numbers, texts
from glyphscope.models.templates import TemplateSource, compiled_chat, limited_work
from glyphscope.processes.limited import ProcessLimitReached

MAX_SHOWN = 200
"""Characters of a difference."""
_CONTEXT = 24
"""Characters of the common text that a difference is extended by, at most."""
_TO_EDGE, _FROM_EDGE = re.compile(r"(?:<[^<>\s]*|[^<>\s]+)\Z"), re.compile(r"[^<>\s]*>?")
ANY_TEXT = "any text"
_ANY_NUMBER = 512
_EFFORTS = ("low", "medium", "high")
"""The values of OpenAI's setting, for a template that writes any text."""
_DOCUMENT = {"title": "A title", "text": "A text"}
_SAMPLES: dict[str, tuple[Any, ...]] = {
    "documents": ([_DOCUMENT | {"doc_id": "1"}],),
    "available_tools": (list(PROBE_TOOLS),),
    "custom_tools": (list(PROBE_TOOLS),),
    "builtin_tools": (["browser", "python", "brave_search"],),
    "response_format": ({"type": "json_object"}, {"type": "json_schema", "json_schema": {"type": "object"}}),
}
"""Samples of values with a structure that several templates and servers agree on."""


class VariableValue(msgspec.Struct, frozen=True):
    """A value that was tried: the first `conversation` in which it changes the prompt, and there the text without it
    (`before`) and with it (`after`), without their common beginning and end. All are empty if it changes nothing;
    `error` is why the template rejects it. `in_runs` is false for a conversation that no run sends, such as one with an
    image; `beside` has the value of another variable without which this one changes nothing.
    """

    value: Any
    conversation: str = ""
    before: str = ""
    after: str = ""
    error: str = ""
    in_runs: bool = True
    beside: dict[str, Any] = {}

    @property
    def changes(self) -> bool:
        return bool(self.conversation)

    @property
    def where(self) -> str:
        """The conversation, and what else the change needs."""
        beside = "".join(f", with {each}" for each in written_pairs(self.beside))
        return f"{self.conversation}{beside}{'' if self.in_runs else ' (in no run)'}"


class TemplateVariable(msgspec.Struct, frozen=True):
    """A variable that a template reads, with the values that were tried. `default` is the one that the template uses if
    it is not given, in a list of one; empty if there is none.
    """

    name: str
    kind: VariableKind
    values: tuple[VariableValue, ...]
    default: tuple[Any, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether any value changes a prompt."""
        return any(each.changes for each in self.values)


class _Conversation(NamedTuple):
    """Messages of a run, or ones in OpenAI's form that no run sends (`foreign`)."""

    title: str
    messages: tuple[Message, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    foreign: tuple[dict[str, Any], ...] = ()

    def text(self, chat: ChatTemplate, thinking: bool | None, given: Mapping[str, Any]) -> str:
        """The prompt, or the text without a place for an answer after one at the end. May raise any exception."""
        if not self.foreign:
            return chat.render(self.messages, self.tools, thinking=thinking, variables=given)[0]
        prompted = {"add_generation_prompt": self.foreign[-1]["role"] == "user"}
        variables = chat.variables(thinking=thinking, variables={**prompted, **given})
        return chat.write({**copied(variables), "messages": copied(list(self.foreign))})


_USER, _NEXT = Message("user", "Question?"), Message("user", "Next question?")
_ANSWER = Message("assistant", "Answer.", (), "A thought.")
_CALL = Message("assistant", "", (ToolCall("zqtool1", {"zqkey": "zqvalue"}),), "A thought.")
_RESULT = Message("tool", "Result.")
_THOUGHT = Message("assistant", "<think>A thought.</think>Answer.")
_ASKED = {"role": "user", "content": "Question?"}
_SEEN = _ASKED | {"content": [{"type": "image"}, {"type": "video"}, {"type": "text", "text": "Question?"}]}
CONVERSATIONS = (
    _Conversation("a question", (_USER,)),
    _Conversation("a system message and tools", (Message("system", "Instructions."), _USER), PROBE_TOOLS),
    _Conversation("an earlier answer with reasoning", (_USER, _ANSWER, _NEXT)),
    _Conversation("a call and its result", (_USER, _CALL, _RESULT), PROBE_TOOLS),
    _Conversation("an earlier call with reasoning", (_USER, _CALL, _RESULT, _ANSWER, _NEXT), PROBE_TOOLS),
    _Conversation("earlier answers with reasoning in their text", (_USER, _THOUGHT, _NEXT, _ANSWER, _NEXT)),
    _Conversation("an answer at the end", foreign=(_ASKED, {"role": "assistant", "content": "Answer."})),
    _Conversation("an image and a video", foreign=(_SEEN,)),
)
_TRIALS = tuple(
    (talk, state)
    for foreign in (False, True)
    for state in (None, True, False)
    for talk in CONVERSATIONS
    if bool(talk.foreign) is foreign
)
"""Every conversation in the three states of thinking, those of runs first."""


def find_variables(template: TemplateSource) -> tuple[TemplateVariable, ...]:
    """The variables in the order in which the template reads them, without those that it is given already.

    Takes some tenths of a second. Raises PromptError and Stopped.
    """
    return limited_work(variables_of, template)


def variables_of(template: TemplateSource) -> tuple[TemplateVariable, ...]:
    """As `find_variables`, in this process."""
    chat = compiled_chat(template)
    renderings = _Renderings(chat)
    found = [_variable(name, uses, renderings) for name, uses in chat.uses.items()]
    others = [(each.name, tried) for each in found for tried in each.values if not tried.error]
    others.sort(key=lambda other: not other[1].changes)  # two may change something only together
    return tuple(each if each.changes else _beside(each, others, renderings) for each in found)


def _beside(
    variable: TemplateVariable, others: Sequence[tuple[str, VariableValue]], renderings: _Renderings
) -> TemplateVariable:
    """The variable, whose values change nothing, with what they change beside the value of another one."""
    for name, other in others:
        if name == variable.name:
            continue
        beside = {name: other.value}
        values = tuple(renderings.of(variable.name, each.value, beside) for each in variable.values)
        if any(each.changes for each in values):
            return msgspec.structs.replace(variable, values=values)
    return variable


class _Renderings:
    """The renderings of all conversations in the three states of thinking, the ones without a variable kept."""

    def __init__(self, chat: ChatTemplate) -> None:
        self._chat = chat
        self._plain: dict[tuple[str, bool | None, str], str | None] = {}
        self.given = frozenset(chat.variables())
        """The variables that every prompt sets, such as the date."""

    def of(self, name: str, value: Any, beside: dict[str, Any] | None = None) -> VariableValue:
        """The first change of a value, with `beside` given too; of one that is always rejected, the reason."""
        error, accepted, beside = "", False, beside or {}
        for talk, state in _TRIALS:
            if beside and state is not None:
                continue  # it would take seconds
            key = talk.title, state, repr(beside)
            if key not in self._plain:
                self._plain[key] = self._text(talk, state, beside)[0]
            before = self._plain[key]
            after, why = self._text(talk, state, {**beside, name: value})
            accepted = accepted or after is not None
            error = error or (why if before is not None else "")
            if before is not None and after is not None and before != after:
                title = talk.title
                if state is not None:
                    title += f", thinking {'on' if state else 'off'}"
                changed = _difference(before, after)
                return VariableValue(value, title, *changed, in_runs=not talk.foreign, beside=beside)
        return VariableValue(value, error="" if accepted else error)

    def _text(
        self, talk: _Conversation, state: bool | None, given: Mapping[str, Any]
    ) -> tuple[str | None, str]:
        try:
            return talk.text(self._chat, state, given), ""
        except Exception as error:  # of a template: any
            if isinstance(error, ProcessLimitReached) or isinstance(error.__cause__, ProcessLimitReached):
                raise
            return None, str(error.__cause__ or getattr(error, "message", error))


def _variable(name: str, uses: Uses, renderings: _Renderings) -> TemplateVariable:
    kind = uses.kind(name)
    values = [renderings.of(name, value) for value in _values(name, kind, uses)]
    if not any(each.changes for each in values):
        values += [each for value in _others(values) if (each := renderings.of(name, value)).changes]
    default = () if name in renderings.given else tuple(uses.defaults[:1])
    return TemplateVariable(name, kind, tuple(values), default)


def _values(name: str, kind: VariableKind, uses: Uses) -> Iterator[Any]:
    known = texts(uses.known)
    match kind:
        case _ if name in _SAMPLES:
            yield from _SAMPLES[name]
        case "switch":
            yield from (True, False)
        case "choice":
            usual = name in EFFORTS and not texts(uses.values)
            yield from dict.fromkeys((*(_EFFORTS if usual else ()), *known))
        case "number":
            yield from (*numbers(uses.known), _ANY_NUMBER)
        case "text":
            yield from (*known, ANY_TEXT)
        case "list":
            item = dict.fromkeys(sorted(uses.members), ANY_TEXT) if uses.members else ANY_TEXT
            yield uses.holds or [item]
        case "object":
            yield dict.fromkeys(sorted(uses.members), ANY_TEXT) or _ANY_OBJECT


_ANY_OBJECT = {"text": ANY_TEXT, **{tool["function"]["name"]: ANY_TEXT for tool in PROBE_TOOLS}}


def _others(tried: list[VariableValue]) -> Iterator[Any]:
    """Values of other types, for a variable whose use is not understood; the object also has the names of tools."""
    known = [each.value for each in tried]
    for value in (True, False, ANY_TEXT, _ANY_NUMBER, [ANY_TEXT], _ANY_OBJECT):
        if value not in known:
            yield value


def _difference(before: str, after: str) -> tuple[str, str]:
    """The parts that differ, from and to the edges of words and tags."""
    start = common_length(before, after)
    end = common_length(before[start:][::-1], after[start:][::-1])
    lead = _TO_EDGE.search(before[max(0, start - _CONTEXT) : start])
    start -= len(lead[0]) if lead else 0
    tail = _FROM_EDGE.match(before[len(before) - end :][:_CONTEXT])
    end -= tail.end() if tail else 0
    return shorten(before[start : len(before) - end], MAX_SHOWN), shorten(
        after[start : len(after) - end], MAX_SHOWN
    )
