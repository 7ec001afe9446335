"""One chunk of a streamed chat completion, in all the forms that servers send."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from glyphscope.base.errors import ModelError
from glyphscope.base.json_values import as_object
from glyphscope.base.shorten import excerpt
from glyphscope.models.interface import Usage
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.failures import message_of, not_understood

_MAX_COUNT = 2**53
"""More than any count or number of tokens of an endpoint; a record can still represent it."""
UNSAID = "unsaid"
"""The end of an answer of a server that calls those complete that its token limit cut."""


class Likely(NamedTuple):
    """A token with its natural log-probability as the endpoint reports it; `id` is -1 if it reports none."""

    data: bytes
    logprob: float
    id: int = -1
    others: tuple[Likely, ...] = ()


class CallPiece(NamedTuple):
    """A piece of a tool call: pieces of its name and of its arguments, which are JSON text; of a custom tool, they are
    its text (`custom`).
    """

    number: int | None
    name: str
    arguments: str
    id: str = ""
    custom: bool = False


class Chunk(NamedTuple):
    """The content of one event. `finish` is the reason why the answer ended, empty before that."""

    text: str = ""
    tokens: tuple[Likely, ...] = ()
    calls: tuple[CallPiece, ...] = ()
    finish: str = ""
    usage: Usage | None = None
    reasoning: str = ""

    @property
    def substance(self) -> bool:
        """Whether the chunk shows progress of the answer."""
        return bool(self.text or self.tokens or self.calls or self.finish or self.reasoning)

    @property
    def characters(self) -> int:
        """The number of all characters, including those outside the answer's text."""
        calls = sum(len(piece.name) + len(piece.arguments) for piece in self.calls)
        return len(self.text) + len(self.reasoning) + calls


def read_chunk(data: bytes, address: Address) -> Chunk:
    """The chunk. Raises ModelError for anything but a JSON chunk, with the text of an error that was sent instead."""
    try:
        document = json.loads(data)
    except UnicodeDecodeError:
        raise not_understood("The endpoint sent text that is not UTF-8.", address, data) from None
    except (ValueError, RecursionError):
        raise not_understood("The endpoint sent no JSON.", address, data) from None
    if not isinstance(document, dict):
        raise not_understood("The endpoint sent JSON that is not a chunk of an answer.", address, data)
    if document.get("error"):
        raise ModelError(
            f"The endpoint aborted its answer: {excerpt(message_of(document))}",
            where=str(address),
            hint="See the server's log.",
        )
    usage = _usage(document)
    choice = next((each for each in _list(document.get("choices")) if _index(each) == 0), None)
    if choice is None:
        return Chunk(usage=usage)
    delta = as_object(choice.get("delta") or choice.get("message"))
    text = _text(delta.get("content")) or _text(choice.get("text"))
    return Chunk(
        text=text,
        tokens=likely_tokens(as_object(choice.get("logprobs")).get("content")),
        calls=tuple(_calls(delta)),
        finish=str(choice.get("finish_reason") or ""),
        usage=usage,
        reasoning=_reasoning(delta),
    )


def chat_chunks(data: bytes, address: Address) -> tuple[Chunk, ...]:
    """The chunk as the only one of its event. Raises ModelError as `read_chunk`."""
    return (read_chunk(data, address),)


def likely_tokens(logprobs: Any) -> tuple[Likely, ...]:
    """The tokens with their figures; those without a usable one are left out."""
    return tuple(found for each in _list(logprobs) if (found := _likely(each)) is not None)


def _calls(delta: dict[str, Any]) -> list[CallPiece]:
    """The calls in a list, in a single object in its place, or in the older `function_call`."""
    given = delta.get("tool_calls")
    pieces = []
    for each in [given] if isinstance(given, dict) else _list(given):
        function = as_object(each.get("function"))
        # some servers send an empty `custom` with each function
        custom = {} if function else as_object(each.get("custom"))
        if custom:
            function = {"name": custom.get("name"), "arguments": custom.get("input")}
        index, id = each.get("index"), each.get("id")
        number = index if isinstance(index, int) else None
        id = id if isinstance(id, str) else ""
        pieces.append(CallPiece(number, *_function(function or each), id, bool(custom)))
    if not pieces and isinstance(delta.get("function_call"), dict):  # some servers send a call in both forms
        pieces.append(CallPiece(0, *_function(delta["function_call"])))
    return pieces


def _function(function: dict[str, Any]) -> tuple[str, str]:
    name, arguments = function.get("name"), function.get("arguments")
    if isinstance(arguments, dict | list):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return name if isinstance(name, str) else "", arguments if isinstance(arguments, str) else ""


def _likely(entry: dict[str, Any], *, alone: bool = False) -> Likely | None:
    token, logprob = entry.get("token"), _finite(entry.get("logprob"))
    if not isinstance(token, str) or logprob is None:
        return None
    data, id = entry.get("bytes"), whole_number(entry.get("id"))
    try:
        raw = bytes(data) if isinstance(data, list) else token.encode("utf-8", "replace")
    except (TypeError, ValueError):
        raw = token.encode("utf-8", "replace")
    others = [] if alone else [_likely(each, alone=True) for each in _list(entry.get("top_logprobs"))]
    # some servers round the value of a certain token to more than 0
    return Likely(raw, min(0.0, logprob), -1 if id is None else id, tuple(each for each in others if each))


def _usage(document: dict[str, Any]) -> Usage | None:
    usage, timings = as_object(document.get("usage")), as_object(document.get("timings"))
    if usage:
        details = as_object(usage.get("prompt_tokens_details"))
        return Usage(
            whole_number(usage.get("prompt_tokens")),
            whole_number(details.get("cached_tokens")),
            whole_number(usage.get("completion_tokens")),
        )
    if timings:  # llama-server's fields: tokens evaluated, tokens from its cache, tokens written
        evaluated, cached = whole_number(timings.get("prompt_n")), whole_number(timings.get("cache_n"))
        prompt = None if evaluated is None or cached is None else evaluated + cached
        return Usage(prompt, cached, whole_number(timings.get("predicted_n")))
    return None


def _reasoning(delta: dict[str, Any]) -> str:
    """Reasoning in a separate field, or as parts of the content (Mistral's API)."""
    apart = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
    if apart:
        return apart
    return "".join(_text(part.get("thinking")) for part in _list(delta.get("content")))


def _text(content: Any) -> str:
    if isinstance(content, list):  # a list of parts; only text parts count
        return "".join(text for part in _list(content) if isinstance(text := part.get("text"), str))
    return content if isinstance(content, str) else ""


def _index(choice: dict[str, Any]) -> Any:
    return choice.get("index") or 0


def whole_number(value: Any) -> int | None:
    """The value if it is a valid count; otherwise None."""
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT
    return value if known else None


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _list(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
