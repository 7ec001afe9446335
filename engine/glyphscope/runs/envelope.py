"""The message to the model about a call: one compact JSON object; and the size of the tool's answer.

`{"ok":true,"result":…}`, or `{"ok":false,"error":{"code":…,"message":…}}`; `edited` contains the arguments of the
executed call if a person changed them. Binary content is never included, only its kind, type and size.

A tool's answer is untrusted text, and a chat's control tokens work wherever they appear in a prompt. So the first
character of anything that may be one is escaped as JSON allows: an answer cannot end its message and begin another.
"""

from __future__ import annotations

import json
import re
from typing import Any

from glyphscope.base.shorten import shorten
from glyphscope.events import ToolContent, ToolResult
from glyphscope.events.encoding import whole_text
from glyphscope.tools import Outcome

MAX_MESSAGE = 2_000
"""Characters of an error's message that are sent to the model: a server may send any text."""

_CONTROL = re.compile(
    r"<(?=[|\uff5c][^<>\n]{1,60}[|\uff5c]>)"
    r"|<(?=/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|start_of_role|end_of_role|end_of_text|extra_id_\d+)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK|IMG)\])"
    r"|<(?=</?SYS>>)"
)
"""Where a control token of the templates in use begins: ChatML, Llama, Qwen, DeepSeek, Gemma, Mistral, Granite."""

_CODES = {"denied": "DENIED", "timeout": "TIMEOUT", "cancelled": "CANCELLED", "unknown": "UNKNOWN_TOOL"}


def envelope(result: ToolResult, edited: dict[str, Any] | None = None) -> str:
    """The text for the model, not escaped yet. Raises ValueError for an answer that is not JSON."""
    document: dict[str, Any] = {"ok": result.ok}
    if result.ok:
        document["result"] = answer(result.content, result.structured)
    else:
        code = result.code or _CODES.get(result.fault, "TOOL_ERROR")
        document["error"] = {"code": code, "message": _cut(result.message)}
    if edited is not None:
        document["edited"] = edited
    return compact(document)


def escaped(document: str) -> str:
    r"""The same JSON with the `<` or `[` of each possible control token written as `\u003c` or `\u005b`."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", document)


def answer(content: tuple[ToolContent, ...], structured: Any) -> Any:
    """A tool's answer as one JSON value: its structured content, or its only text, or all of its pieces."""
    if structured is not None:
        return structured
    pieces = [_piece(piece) for piece in content]
    return pieces[0] if len(pieces) == 1 else pieces


def size(outcome: Outcome) -> int:
    """The bytes of an answer: of its pieces, or of its structured form if that is larger.

    They are not added up: a server of the Model Context Protocol sends the same answer in both forms.
    Raises ValueError for an answer that is not JSON.
    """
    pieces = sum(
        len(piece.text.encode("utf-8", "surrogatepass"))
        + (max(piece.size, len(piece.data)) if piece.kind != "text" else 0)
        for piece in outcome.content
    )
    return pieces if outcome.structured is None else max(pieces, len(compact(outcome.structured).encode()))


def json_bytes(value: Any) -> int:
    """The number of bytes of the value as compact JSON in UTF-8; NaN and Infinity, which JSON lacks, count as words."""
    return len(_dumped(value, allow_nan=True).encode())


def compact(value: Any) -> str:
    """Compact JSON; half a surrogate pair, which is not in UTF-8, becomes U+FFFD. Raises ValueError."""
    return _dumped(value, allow_nan=False)


def _dumped(value: Any, *, allow_nan: bool) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return whole_text(text)


def _piece(piece: ToolContent) -> Any:
    if piece.kind == "text":
        return piece.text
    document: dict[str, Any] = {"kind": piece.kind}
    document |= {key: value for key in ("name", "uri", "mime", "text") if (value := getattr(piece, key))}
    return document | {"bytes": max(piece.size, len(piece.data))}


def _cut(message: str) -> str:
    if len(message) <= MAX_MESSAGE:
        return message
    return f"{shorten(message, MAX_MESSAGE + 1)} ({len(message) - MAX_MESSAGE} more characters)"
