"""Conversations of every shape that applications send: a table, from which templates are checked and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from glyphscope.turns.probe import SampleCall, TemplateDialect, assistant, result, with_function_ids

_FIND = SampleCall("find_train", {"station": "Olten Hammer", "hour": 17}, "callzq001")
_BOOK = SampleCall("book_seat", {"train": "IR 2175", "window": True}, "callzq002")
_BARE = SampleCall("list_stations", {}, "callzq003")
_ODD = SampleCall("seat-map.v2", {"car no.": "7b", "größe": "L"}, "callzq004")


class Said(NamedTuple):
    """A message of a conversation; a tool's answers the call `of`. `text` None is a call's content in OpenAI's API."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str | None = ""
    calls: tuple[SampleCall, ...] = ()
    reasoning: str = ""
    of: SampleCall = _FIND


class SampleConversation(NamedTuple):
    """A conversation: `key` is its name in reports, `usual` whether every application sends such ones.

    With `offers`, the tools are in the prompt: those that it calls, or all.
    """

    key: str
    title: str
    said: tuple[Said, ...]
    offers: bool = True
    usual: bool = True
    thinking: bool | None = None

    @property
    def has_calls(self) -> bool:
        return any(each.calls for each in self.said)

    @property
    def words(self) -> str:
        """The messages, one a line."""
        return "\n".join(f"{each.role}: {_words(each)}" for each in self.said)

    def messages(self, dialect: TemplateDialect) -> list[dict[str, Any]]:
        """The messages in OpenAI's form, as a template of that dialect accepts them."""
        made = [_message(each, dialect) for each in self.said]
        return with_function_ids(made) if dialect.ids == "functions" else made

    @property
    def tools(self) -> list[dict[str, Any]]:
        called = {call.name for each in self.said for call in each.calls}
        return [tool for tool in TOOLS if self.offers and (not called or tool["function"]["name"] in called)]


def _words(said: Said) -> str:
    calls = [f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in said.calls]
    reasoning = f"[{said.reasoning}]" if said.reasoning else ""
    return " ".join(filter(None, (reasoning, said.text, *calls))) or '""'


def _message(said: Said, dialect: TemplateDialect) -> dict[str, Any]:
    if said.role == "tool":
        return result(said.of, said.text or "")
    if said.role != "assistant":
        return {"role": said.role, "content": said.text}
    message = assistant(said.text or "", said.calls, said.reasoning, dialect)
    return message if said.text is not None else message | {"content": None}


def _tool(name: str, about: str, properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


TOOLS = [
    _tool(
        "find_train",
        "Finds the next departure.",
        {
            "station": {"type": "string", "description": "Where it departs."},
            "hour": {"type": "integer", "description": "Not before this hour."},
            "class": {"type": "string", "enum": ["firstclass", "secondclass"], "description": "The class."},
        },
        ["station"],
    ),
    _tool(
        "book_seat",
        "Reserves a place on board.",
        {
            "train": {"type": "string", "description": "Its number."},
            "window": {"type": "boolean", "description": "Beside the window."},
            "traveller": {
                "type": "object",
                "description": "Who travels.",
                "properties": {"surname": {"type": "string", "description": "As in the passport."}},
                "required": ["surname"],
            },
            "stops": {
                "type": "array",
                "description": "Where it halts.",
                "items": {"type": "string", "description": "One halt."},
            },
        },
        ["train"],
    ),
    _tool("list_stations", "Lists all of them.", {}),
    _tool(
        "seat-map.v2",
        "Draws a carriage.",
        {
            "car no.": {"type": "string", "description": "Painted on it."},
            "größe": {"type": "string", "description": "Of the drawing."},
        },
    ),
]
"""Tools with nested arguments, none, and odd characters in names."""

_SYSTEM = Said("system", "You plan journeys by rail.")
_ASKED = Said("user", "When can I leave Olten?")
_ANSWERED = Said("assistant", "You can leave at a quarter past five.")
_NEXT = Said("user", "And who sells the ticket?")
_CALL = Said("assistant", "", (_FIND,))
_RESULT = Said("tool", "Departure at 17:14, platform 7.")
_BOOKED = Said("tool", "Seat 61 is reserved.", of=_BOOK)
_REASON = "A timetable knows that."


def _talk(key: str, title: str, *said: Said, **more: Any) -> SampleConversation:
    return SampleConversation(key, title, said, **more)


PLAIN = _talk("question", "A question", _ASKED, offers=False)
ANSWERED = _talk("answered", "A question after an answer", _ASKED, _ANSWERED, _NEXT, offers=False)
CONVERSATIONS = (
    PLAIN,
    ANSWERED,
    _talk("system", "A system message first", _SYSTEM, _ASKED, offers=False),
    _talk(
        "system in the middle",
        "A system message after an answer",
        *(_SYSTEM, _ASKED, _ANSWERED, Said("system", "From now on, answer in verse."), _NEXT),
        offers=False,
        usual=False,
    ),
    _talk(
        "two system messages",
        "Two system messages first",
        *(_SYSTEM, Said("system", "Answer in verse."), _ASKED),
        offers=False,
        usual=False,
    ),
    _talk("two questions", "Two messages of the user in a row", _ASKED, _NEXT, offers=False, usual=False),
    _talk("empty question", "An empty message of the user", Said("user", ""), offers=False, usual=False),
    _talk(
        "empty answer",
        "An empty answer before a question",
        *(_ASKED, Said("assistant", ""), _NEXT),
        offers=False,
        usual=False,
    ),
    _talk("tools", "Tools and a question", _SYSTEM, _ASKED),
    _talk("result", "The result of a call is last", _ASKED, _CALL, _RESULT),
    _talk("result and question", "A question after a result", _ASKED, _CALL, _RESULT, _NEXT, usual=False),
    _talk("result and answer", "An answer after a result", _ASKED, _CALL, _RESULT, _ANSWERED, _NEXT),
    _talk(
        "two results",
        "The results of two calls in one message",
        *(_ASKED, Said("assistant", "", (_FIND, _BOOK)), _RESULT, _BOOKED),
    ),
    _talk(
        "two turns",
        "A call after the result of another",
        *(_ASKED, _CALL, _RESULT, Said("assistant", "", (_BOOK,)), _BOOKED),
    ),
    _talk(
        "text and call",
        "Text next to a call",
        *(_ASKED, Said("assistant", "I look it up first.", (_FIND,)), _RESULT),
    ),
    _talk("empty result", "An empty result", _ASKED, _CALL, Said("tool")),
    _talk(
        "null",
        "A call with null in place of a text",
        *(_ASKED, Said("assistant", None, (_FIND,)), _RESULT),
        usual=False,
    ),
    _talk(
        "no arguments",
        "A call without arguments",
        *(_ASKED, Said("assistant", "", (_BARE,)), Said("tool", "Aarau, Dulliken", of=_BARE)),
    ),
    _talk(
        "odd names",
        "Names with a dash, dots, a space and an umlaut",
        *(_ASKED, Said("assistant", "", (_ODD,)), Said("tool", "Seven rows.", of=_ODD)),
    ),
    _talk(
        "reasoning before a result",
        "Reasoning before a call whose result is last",
        *(_ASKED, Said("assistant", "", (_FIND,), _REASON), _RESULT),
        thinking=True,
    ),
    _talk(
        "reasoning before a question",
        "Reasoning of an earlier turn",
        *(_ASKED, Said("assistant", _ANSWERED.text, (), _REASON), _NEXT),
        offers=False,
        thinking=True,
    ),
    _talk(
        "tools withdrawn",
        "Earlier calls, and no tools",
        *(_ASKED, _CALL, _RESULT, _NEXT),
        offers=False,
        usual=False,
    ),
    _talk(
        "no question",
        "Calls and no message of the user",
        *(_SYSTEM, _CALL, _RESULT),
        usual=False,
    ),
)
"""Every shape, the simple ones first."""
CALLED = _talk("call", "A call without a result", _ASKED, _CALL)
"""Shows what a result adds."""
BY_KEY = {each.key: each for each in CONVERSATIONS}
