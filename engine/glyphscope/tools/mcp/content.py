"""A server's answer to a call, read item by item: an invalid item does not affect the others."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import msgspec
from msgspec.structs import replace

from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import schema_error_words, shorten
from glyphscope.events import ToolContent
from glyphscope.registry import normalise
from glyphscope.registry.check import check_schema
from glyphscope.registry.document import plain
from glyphscope.tools.source import Outcome
from glyphscope.validation.checker import Checker

_MAX_MESSAGE = 300
"""The maximum length of an error message of a tool or its schema, in characters."""
_MAX_FINDINGS = 20
_NO_REASON = "The tool reported an error without a message."


class OutputSchema:
    """The output schema of a tool, checked with an engine whose patterns cannot hang.

    Raises ValueError, with the first error, for an unusable schema.
    """

    def __init__(self, schema: Any) -> None:
        copy, problems = plain(schema)
        if problems:
            raise ValueError(problems[0].message)
        if faults := check_schema(copy):
            path, reason = faults[0]
            raise ValueError(f"{to_pointer(path) or '(whole schema)'}: {reason}")
        self._checker = Checker(normalise(copy))

    def problems(self, value: Any) -> tuple[str, ...]:
        """The first few places where `value` violates the schema: JSON Pointer and reason."""
        try:
            errors = self._checker.errors(value, _MAX_FINDINGS)
        except RecursionError:
            return ("The structured content is nested too deep to be checked.",)
        return tuple(
            f"{to_pointer(tuple(e.absolute_path)) or '/'}: {schema_error_words(e, _MAX_MESSAGE)}"
            for e in errors
        )


def read_result(result: dict[str, Any], schema: OutputSchema | None) -> Outcome:
    """The outcome of an answered `tools/call`; its fault is `tool` if the answer reports that the tool failed."""
    if result.get("resultType", "complete") != "complete":
        return Outcome(
            fault="protocol",
            message="The server asks for input before it answers: not supported without someone to ask.",
        )
    items = result.get("content", [])
    if not isinstance(items, list):
        return Outcome(fault="protocol", message="The result's `content` is not a list.")
    content = tuple(map(read_item, items))
    structured = result.get("structuredContent")
    if result.get("isError") is True:
        words = next((c.text for c in content if c.kind == "text" and c.text.strip()), _NO_REASON).strip()
        return Outcome(
            content=content, structured=structured, fault="tool", message=shorten(words, _MAX_MESSAGE)
        )  # fmt: skip
    if schema is None:
        return Outcome(content=content, structured=structured)
    if "structuredContent" not in result:
        problems: tuple[str, ...] = ("The tool has an output schema, and its answer no structured content.",)
    else:
        problems = schema.problems(structured)
    return Outcome(content=content, structured=structured, schema_problems=problems)


def read_resource(result: dict[str, Any], uri: str) -> Outcome:
    """The outcome of a `resources/read` of that URI; deviations from its declaration are `findings`."""
    items = result.get("contents")
    if not isinstance(items, list):
        return Outcome(fault="protocol", message="The result's `contents` is not a list.")
    pieces = tuple(read_item({"type": "resource", "resource": item}) for item in items)
    found = [finding for piece in pieces if (finding := _misdeclared(piece))]
    if pieces and not any(piece.uri.startswith(uri) for piece in pieces):
        found.append(f"The contents have a different URI: {pieces[0].uri[:200] or '(none)'}.")
    return Outcome(content=pieces, findings=tuple(found[:_MAX_FINDINGS]))


def read_prompt(result: dict[str, Any]) -> Outcome:
    """The outcome of a `prompts/get`: one piece per message, and `roles` in the same order."""
    messages = result.get("messages")
    if not isinstance(messages, list):
        return Outcome(fault="protocol", message="The result's `messages` is not a list.")
    pieces, roles, found = [], [], []
    for number, message in enumerate(messages, 1):
        known = message if isinstance(message, dict) else {}
        role = known.get("role")
        if role not in ("user", "assistant"):
            found.append(f"Message {number} has an invalid role: {str(role)[:60]}.")
        pieces.append(read_item(known.get("content")))
        roles.append(str(role)[:60])
    return Outcome(content=tuple(pieces), roles=tuple(roles), findings=tuple(found[:_MAX_FINDINGS]))


def _misdeclared(piece: ToolContent) -> str:
    mime = piece.mime.partition(";")[0].strip().lower()
    if piece.text and (mime == "application/json" or mime.endswith("+json")):
        try:
            msgspec.json.decode(piece.text.encode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            return f"Declared as {mime}, but not JSON: {error}."
    if piece.data and mime.startswith("text/"):
        return f"Declared as {mime}, but sent as binary data."
    return ""


def content_bytes(content: ToolContent) -> bytes:
    """The bytes for saving this piece to a file: its binary data, or its text in UTF-8."""
    return content.data or content.text.encode("utf-8", "replace")


def read_item(item: Any) -> ToolContent:
    """One item of a content list; an item of an unknown kind becomes text, its JSON."""
    kind = item.get("type") if isinstance(item, dict) else None
    match kind:
        case "text" if isinstance(item.get("text"), str):
            return _with_text(item["text"], ToolContent())
        case "image" | "audio" if isinstance(item.get("data"), str):
            return _blob(item["data"], ToolContent(kind=kind, mime=_string(item, "mimeType")))
        case "resource_link" if isinstance(item.get("uri"), str):
            return ToolContent(
                kind="link", uri=item["uri"], mime=_string(item, "mimeType"),
                name=_string(item, "title") or _string(item, "name"), text=_string(item, "description"),
                size=size_of(item),
            )  # fmt: skip
        case "resource" if isinstance(item.get("resource"), dict):
            resource = item["resource"]
            known = ToolContent(
                kind="resource", uri=_string(resource, "uri"), mime=_string(resource, "mimeType")
            )
            if isinstance(resource.get("text"), str):
                return _with_text(resource["text"], known)
            if isinstance(resource.get("blob"), str):
                return _blob(resource["blob"], known)
    return _with_text(json.dumps(item, ensure_ascii=False), ToolContent())


def _with_text(text: str, known: ToolContent) -> ToolContent:
    return replace(known, text=text, size=len(text.encode("utf-8", "surrogatepass")))


def _blob(data: str, known: ToolContent) -> ToolContent:
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _with_text("(its data is not valid base64)", known)
    return replace(known, data=decoded, size=len(decoded))


def _string(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def size_of(item: dict[str, Any]) -> int:
    """The declared `size` in bytes; 0 if there is none."""
    size = item.get("size")
    return size if isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**63 else 0
