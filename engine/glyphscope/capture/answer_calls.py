"""The documents of an answer: its calls as one JSON text, which a person edits in place of the pieces of a stream, and
its items, which continue a conversation at the server.

Only the documents of a paused answer that have a changed call are written again; all others keep their bytes.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.json_values import as_object, json_object
from glyphscope.capture.requests import api_of
from glyphscope.models.remote.apis import API_NAMES, RESPONSE_CALLS, ChatApi, full_name, response_in

_HINT = "Correct it, or edit the whole text."


class Document(NamedTuple):
    """A JSON document of an answer: the characters `start` to `end` (exclusive), from `column` of `line` on."""

    line: int
    column: int
    start: int
    end: int


def documents(kind: str, text: str) -> Iterator[Document]:
    """The documents of a body of that content type: all of it, the data of each event, or each line."""
    events = "event-stream" in kind
    if not events and "ndjson" not in kind:
        yield Document(1, 1, 0, len(text))
        return
    at = 0
    for number, line in enumerate(text.split("\n"), 1):
        begin = len("data:") if events else 0
        data = line[begin:].strip()
        if data and data != "[DONE]" and (not events or line.startswith("data:")):
            yield Document(number, begin + 1, at + begin, at + len(line))
        at += len(line) + 1


class _Slot(NamedTuple):
    """The place of a call's arguments: `member` of the object `of`. A `piece` has a part of their text, any other
    place all of them, as a text or as an object. The slots of a call have the same `key`; a server may write it
    in two forms, of which the first has `form` 0.
    """

    key: tuple[Any, Any]
    of: dict[str, Any]
    member: str
    piece: bool = False
    name: str = ""
    form: int = 0


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    return (
        (n, each) for n, each in enumerate(value if isinstance(value, list) else ()) if isinstance(each, dict)
    )


def _chat(document: dict[str, Any], _: int) -> Iterator[_Slot]:
    for place, choice in _objects(document.get("choices")):
        piece = "delta" in choice
        message, at = (
            as_object(choice.get("delta" if piece else "message")),
            choice.get("index", place),
        )
        for number, call in _objects(message.get("tool_calls")):
            custom = isinstance(call.get("custom"), dict)
            inner = as_object(call.get("custom" if custom else "function"))
            key = at, call.get("index", number)
            yield _Slot(key, inner, "input" if custom else "arguments", piece, str(inner.get("name") or ""))
        if old := as_object(message.get("function_call")):
            yield _Slot((at, 0), old, "arguments", piece, str(old.get("name") or ""), 1)


def _responses(document: dict[str, Any], _: int) -> Iterator[_Slot]:
    kind, at = str(document.get("type")), document.get("output_index", 0)
    if kind.startswith(("response.function_call_arguments", "response.custom_tool_call_input")):
        piece = kind.endswith(".delta")
        yield _Slot(
            (at, 0), document, "delta" if piece else "input" if "custom" in kind else "arguments", piece
        )
    items = [(at, as_object(document.get("item"))), *_objects(response_in(document).get("output"))]
    for number, item in items:
        if member := RESPONSE_CALLS.get(str(item.get("type"))):
            yield _Slot((number, 0), item, member, name=full_name(item))


def _messages(document: dict[str, Any], _: int) -> Iterator[_Slot]:
    at = document.get("index", 0)
    blocks = [(at, as_object(document.get("content_block"))), *_objects(document.get("content"))]
    for number, block in blocks:
        if block.get("type") == "tool_use":
            yield _Slot((number, 0), block, "input", name=str(block.get("name") or ""))
    delta = as_object(document.get("delta"))
    if delta.get("type") == "input_json_delta":
        yield _Slot((at, 0), delta, "partial_json", piece=True)


def _ollama(document: dict[str, Any], before: int) -> Iterator[_Slot]:
    for number, call in _objects(as_object(document.get("message")).get("tool_calls")):
        function = as_object(call.get("function"))
        yield _Slot((before + number, 0), function, "arguments", name=str(function.get("name") or ""))


_SLOTS: dict[ChatApi, Callable[[dict[str, Any], int], Iterator[_Slot]]] = {
    "chat": _chat, "responses": _responses, "messages": _messages, "ollama": _ollama
}  # fmt: skip
"""The slots of a document, with the number of slots in those before it."""


class _Answer:
    """A body with its documents, and the slots of each call."""

    def __init__(self, path: str, kind: str, body: bytes) -> None:
        """Raises UnicodeDecodeError."""
        api = api_of(path)
        self.text = body.decode()
        self.documents = [
            (each, json_object(self.text[each.start : each.end])) for each in documents(kind, self.text)
        ]
        self.slots: dict[str, list[tuple[int, _Slot]]] = {}
        """By their keys as texts, as a server may send any value."""
        before = 0
        for number, (_, document) in enumerate(self.documents):
            for slot in _SLOTS[api](document, before) if api else ():
                self.slots.setdefault(str(slot.key), []).append((number, slot))
                before += 1
        self.slots = {key: slots for key, slots in self.slots.items() if any(slot.name for _, slot in slots)}

    def calls(self) -> list[dict[str, Any]]:
        return [_call([slot for _, slot in slots]) for slots in self.slots.values()]

    def set(self, key: str, value: Any) -> set[int]:
        """Set the arguments of a call. Returns the numbers of the documents that changed."""
        changed, begun = set[int](), set[int]()
        slots = self.slots[key]
        written = {slot.form for _, slot in slots if slot.piece and slot.of.get(slot.member)}
        streamed = any(slot.piece for _, slot in slots)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for number, slot in slots:
            old = slot.of.get(slot.member)
            if not old and (slot.form in written if slot.piece else streamed):
                continue  # the beginning of a call whose pieces follow
            new = value if isinstance(old, dict) else text
            if slot.piece:
                new = "" if slot.form in begun else text
                begun.add(slot.form)
            slot.of[slot.member] = new
            changed |= {number} if new != old else set()
        return changed


def _call(slots: list[_Slot]) -> dict[str, Any]:
    """A call as a person edits it. Arguments that are not JSON are a text."""
    form = min(slot.form for slot in slots)
    pieces = [slot.of.get(slot.member) for slot in slots if slot.piece and slot.form == form]
    wholes = [slot.of.get(slot.member) for slot in slots if not slot.piece]
    value: Any = "".join(map(str, filter(None, pieces))) or next(filter(None, wholes), {})
    is_text = any(slot.member == "input" and isinstance(slot.of.get("input"), str) for slot in slots)
    if isinstance(value, str) and not is_text:
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return {"name": next(slot.name for slot in slots if slot.name), "arguments": value}


def calls_text(path: str, kind: str, body: bytes) -> str:
    """The calls of an answer to a request for `path` as JSON: the name and the arguments of each. Empty without any."""
    try:
        calls = _Answer(path, kind, body).calls()
    except UnicodeDecodeError:
        return ""
    return json.dumps(calls, ensure_ascii=False, indent=2) if calls else ""


def with_calls(path: str, kind: str, body: bytes, text: str) -> bytes:
    """The answer with the arguments of the edited `text` of `calls_text`: the same object if none of them changed.

    Raises GlyphscopeError with the place of what is not valid.
    """
    try:
        edited = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise GlyphscopeError(
            f"The calls are not valid JSON: {error.msg}.", where=place, hint=_HINT
        ) from None
    except RecursionError:
        raise GlyphscopeError(
            "The calls are not valid JSON: they are nested too deeply.", hint=_HINT
        ) from None
    answer = _Answer(path, kind, body)
    calls = answer.calls()
    given = edited if isinstance(edited, list) else []
    if [as_object(each).get("name") for each in given] != [call["name"] for call in calls] or any(
        set(each) != {"name", "arguments"} for each in given
    ):
        raise GlyphscopeError(
            "Only the arguments of the calls can be changed here: not their names, their number or their order.",
            hint="Edit the whole text for that.",
        )
    changed = set[int]()
    for key, call, new in zip(answer.slots, calls, given):
        if new["arguments"] != call["arguments"]:
            if isinstance(call["arguments"], dict) and not isinstance(new["arguments"], dict):
                raise GlyphscopeError(f"The arguments of {call['name']} are not a JSON object.", hint=_HINT)
            changed |= answer.set(key, new["arguments"])
    if not changed:
        return body
    parts, end = list[str](), 0
    for number, (found, document) in enumerate(answer.documents):
        if number in changed:
            old = answer.text[found.start : found.end]
            parts += [answer.text[end : found.start], " " * old.startswith(" ")]
            parts += [json.dumps(document, ensure_ascii=False), "\r" * old.endswith("\r")]
            end = found.end
    return "".join([*parts, answer.text[end:]]).encode()


class Conversations:
    """The conversations that servers keep between requests, of which a request names the answer before it and has only
    what is new: by the id of each answer, the last ones with all messages.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[int, dict[str, Any], int]] = OrderedDict()
        """The number of the request, its body with the answer as a message, and the size of that."""

    def whole(self, api: ChatApi, body: bytes) -> tuple[dict[str, Any], str]:
        """The body with the messages before it, in Messages also with system prompt and tools, and a note on that."""
        document = json_object(body)
        thread = as_object(document.get("thread"))
        before = thread.get("previous_message_id") if thread else document.get("previous_response_id")
        if not before:
            return document, ""
        if (known := self._known.get(f"{api} {before}")) is None:
            return document, "The messages before these are at the server, from before this capture."
        number, earlier, _ = known
        key = API_NAMES[api].messages
        kept = ("system", "tools") if api == "messages" else ()
        joined = {**{member: earlier[member] for member in kept if member in earlier}, **document}
        joined[key] = [*earlier[key], *_listed_messages(document.get(key))]
        for member in ("thread", "previous_response_id"):
            joined.pop(member, None)
        return joined, f"The messages before these are those of request {number}, which the server keeps."

    def keep(
        self, number: int, api: ChatApi, document: dict[str, Any], size: int, kind: str, answer: bytes
    ) -> None:
        """Remember the whole body and the answer that ends it. `size` is what both add."""
        if api not in _KEPT:
            return
        key = API_NAMES[api].messages
        name, items = _answer_items(api, kind, answer)
        if not name or not items:
            return
        document = {**document, key: [*_listed_messages(document.get(key)), *items]}
        self._known[f"{api} {name}"] = number, document, size
        while len(self._known) > 1 and (
            len(self._known) > _MOST_ANSWERS or sum(size for _, _, size in self._known.values()) > _MOST_BYTES
        ):
            self._known.popitem(last=False)


_KEPT: tuple[ChatApi, ...] = ("responses", "messages")
"""The interfaces whose servers keep conversations."""
_MOST_ANSWERS, _MOST_BYTES = 256, 64_000_000


def _listed_messages(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [{"role": "user", "content": given}] if given else []


def _answer_items(api: ChatApi, kind: str, answer: bytes) -> tuple[str, list[Any]]:
    """The id of an answer, and its items as those of a request."""
    text = answer.decode("utf-8", "replace")
    read = [json_object(text[each.start : each.end]) for each in documents(kind, text)]
    name, items = "", list[Any]()
    blocks: dict[str, dict[str, Any]] = {}
    for document in read:
        about = str(document.get("type"))
        if api == "responses":
            whole = response_in(document)
            name = str(whole.get("id") or name)
            items = whole.get("output") or items
            if about == "response.output_item.done":
                items = [*items, document.get("item")]
            continue
        at, delta = str(document.get("index")), as_object(document.get("delta"))
        whole = document if about == "message" else as_object(document.get("message"))
        name = str(whole.get("id") or name)
        for number, block in enumerate(_listed_messages(whole.get("content"))):
            blocks[str(number)] = as_object(block)
        if about == "content_block_start":
            blocks[at] = dict(as_object(document.get("content_block")))
        for member, piece in delta.items() if at in blocks else ():
            if isinstance(piece, str) and member in ("text", "thinking", "signature", "partial_json"):
                blocks[at][member] = str(blocks[at].get(member, "")) + piece
    for block in blocks.values():
        if written := block.pop("partial_json", ""):
            block["input"] = json_object(written.encode())
    if blocks:
        items = [{"role": "assistant", "content": list(blocks.values())}]
    return name, items if isinstance(items, list) else []
