"""Requests of a server to the user: elicitation and sampling. They wait for the user; no answer is automatic."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from glyphscope.base.errors import RegistryError
from glyphscope.events import ToolContent
from glyphscope.registry import Tool, make_tool
from glyphscope.tools.mcp.content import read_item

QuestionKind: TypeAlias = Literal["form", "link", "sampling"]
Action: TypeAlias = Literal["accept", "decline", "cancel"]

MAX_OPEN = 8
"""The maximum number of waiting requests of one server; more are rejected."""
MAX_QUESTION_BYTES = 1_000_000
"""The maximum size of a request; larger ones are rejected."""
_PRIMITIVES = ("string", "number", "integer", "boolean")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`content` fills a form; `text`, `model` and `stop_reason` answer a request for sampling."""

    action: Action
    content: dict[str, Any] | None = None
    text: str = ""
    model: str = ""
    stop_reason: str = "endTurn"


@dataclass(frozen=True, kw_only=True)
class SamplingMessage:
    role: str
    content: tuple[ToolContent, ...]


@dataclass(frozen=True, kw_only=True)
class SamplingRequest:
    """A server's prompt for a model. `temperature` is None if the server does not state one."""

    messages: tuple[SamplingMessage, ...]
    system: str = ""
    max_tokens: int = 0
    temperature: float | None = None
    stop: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether a text model can answer it."""
        return all(piece.kind == "text" for message in self.messages for piece in message.content)


@dataclass(eq=False, kw_only=True)
class Question:
    """One request. `number` counts the server's requests; `params` is the request as plain JSON.

    `answer` may be called from any thread; the first answer counts. A question that the server withdrew, or whose
    connection ended, is no longer open.
    """

    number: int
    server: str
    kind: QuestionKind
    params: dict[str, Any]
    deliver: Callable[[Answer], None]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    is_open: bool = True

    @property
    def message(self) -> str:
        words = self.params.get("message")
        return words if isinstance(words, str) else ""

    @property
    def url(self) -> str:
        address = self.params.get("url")
        return address if isinstance(address, str) else ""

    @cached_property
    def form(self) -> Tool | None:
        """The requested fields; None for another kind, and for an unusable schema."""
        return self._form[0]

    @property
    def problem(self) -> str:
        """The reason why the form cannot be shown; "" if it can."""
        return self._form[1]

    @cached_property
    def _form(self) -> tuple[Tool | None, str]:
        if self.kind != "form":
            return None, ""
        schema = self.params.get("requestedSchema")
        if not isinstance(schema, dict):
            return None, "The requested schema is not an object."
        try:
            return make_tool("form", "", schema), ""
        except RegistryError as error:
            first = error.problems[0] if error.problems else None
            return None, f"{first.pointer or '/'}: {first.message}" if first else error.message
        except RecursionError:
            return None, "The requested schema is nested too deep."

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """Where the requested schema exceeds the subset that MCP allows: top-level properties of primitive types."""
        schema = self.params.get("requestedSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if self.kind != "form" or not isinstance(properties, dict):
            return ()
        odd = [str(name)[:60] for name, value in properties.items() if not _is_flat(value)]
        names = ", ".join(odd[:5])
        return (f"Not a primitive property, which MCP does not allow here: {names}.",) if odd else ()

    @cached_property
    def sampling(self) -> SamplingRequest | None:
        """The sampling request; None for another kind."""
        return _sampling(self.params) if self.kind == "sampling" else None

    def answer(self, answer: Answer) -> bool:
        """Answer the question. Returns False if it was already answered or withdrawn."""
        if not self.close():
            return False
        self.deliver(answer)
        return True

    def close(self) -> bool:
        """Withdraw the question. Returns False if it was already closed."""
        with self._lock:
            was, self.is_open = self.is_open, False
        return was


def _is_flat(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    if kind == "array":  # a choice of several values
        items = schema.get("items")
        return isinstance(items, dict) and ("enum" in items or "anyOf" in items)
    return kind in _PRIMITIVES


def _sampling(params: dict[str, Any]) -> SamplingRequest:
    messages = []
    for each in params.get("messages") or ():
        items = each.get("content")
        pieces = items if isinstance(items, list) else [items]
        messages.append(SamplingMessage(role=str(each.get("role")), content=tuple(map(read_item, pieces))))
    system, tokens = params.get("systemPrompt"), params.get("maxTokens")
    temperature, stop = params.get("temperature"), params.get("stopSequences")
    return SamplingRequest(
        messages=tuple(messages),
        system=system if isinstance(system, str) else "",
        max_tokens=tokens if isinstance(tokens, int) else 0,
        temperature=float(temperature) if isinstance(temperature, int | float) else None,
        stop=tuple(text for text in stop if isinstance(text, str)) if isinstance(stop, list) else (),
    )
