"""A tool with its JSON Schema, and the registry with its allow list."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from glyphscope.base.pointer import follow_reference
from glyphscope.registry.keywords import CUSTOM, IN_PLACE, children

VERSION = 1
"""The version of Glyphscope's form of a registry that this program writes, and the latest that it reads."""


CUSTOM_INPUT = "input"
"""The only argument of a custom tool, and the key of its text in OpenAI's calls."""


def custom_parameters(form: Any) -> dict[str, Any]:
    """The parameters of a custom tool with that `format`."""
    text = {"type": "string", CUSTOM: form}
    return {"type": "object", "properties": {CUSTOM_INPUT: text}, "required": [CUSTOM_INPUT]}


FACTS = ("strict", "input_examples", "output_schema", "annotations", "defer_loading")
"""The members of a tool beside its name, description and parameters, each written only if it is given."""


@dataclass(frozen=True)
class Tool:
    """`parameters` is a checked JSON Schema (draft 2020-12) of type object; `enabled` puts it on the allow list.

    `strict` asks endpoints to enforce the schema, and no call then has other arguments; None leaves both open.
    `input_examples` are arguments as an author would write them, `output_schema` is the JSON Schema of structured
    results, and `annotations` are those of MCP, which are claims. `defer_loading`: a conversation searches for the tool
    instead of having it in its prompt; None leaves that to the run. `kept` is the tool as its file has it
    (`registry/tool_forms.py`), by which it is saved in that form again; it decides nothing else.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    enabled: bool = True
    strict: bool | None = None
    input_examples: tuple[dict[str, Any], ...] = ()
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] = field(default_factory=dict)
    defer_loading: bool | None = None
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def facts(self) -> dict[str, Any]:
        """Those of `FACTS` that are given, as JSON has them."""
        given = {name: getattr(self, name) for name in FACTS if getattr(self, name) not in (None, (), {})}
        return given | ({"input_examples": list(self.input_examples)} if self.input_examples else {})

    @property
    def argument_names(self) -> frozenset[str]:
        """The names that its schema gives to arguments, in any alternative."""
        names: dict[str, None] = {}
        seen: dict[int, Any] = {}
        waiting: list[Any] = [self.parameters]
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen[id(schema)] = schema
            names |= dict.fromkeys((*schema.get("properties", ()), *schema.get("required", ())))
            waiting += (inner for step, inner in children(schema) if step[0] in IN_PLACE)
            target = follow_reference(self.parameters, str(schema.get("$ref", "")))
            waiting += () if target is None else (target[1],)
        return frozenset(names)

    @property
    def format(self) -> dict[str, Any] | None:
        """The `format` of a tool that OpenAI calls custom, whose only argument is a text of it. None for others."""
        form = self.parameters.get("properties", {}).get(CUSTOM_INPUT)
        form = form.get(CUSTOM) if isinstance(form, dict) else None
        return form if isinstance(form, dict) and self.parameters == custom_parameters(form) else None


@dataclass(frozen=True)
class ToolRegistry:
    """An ordered set of tools. `unknown_arguments`: whether top-level arguments that no schema names are allowed in
    calls of tools that are not strict.

    `kept` has the form of the file that they were read from, and what it has beside tools.
    """

    tools: tuple[Tool, ...] = ()
    unknown_arguments: Literal["refuse", "allow"] = "refuse"
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    @cached_property
    def allowed(self) -> tuple[Tool, ...]:
        """The allow list: the enabled tools, in order."""
        return tuple(tool for tool in self.tools if tool.enabled)

    @cached_property
    def _by_name(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def argument_names(self) -> frozenset[str]:
        """The names of the allowed tools' arguments."""
        return frozenset(name for tool in self.allowed for name in tool.argument_names)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, allowed or not."""
        return self._by_name.get(name)

    def is_closed(self, tool: Tool) -> bool:
        """Whether a call of the tool has no top-level arguments that its schema does not name."""
        return self.unknown_arguments == "refuse" or tool.strict is True

    def with_tool(self, tool: Tool, old_name: str | None = None) -> ToolRegistry:
        """The registry with `tool` in place of the tool named `old_name` (default: its own name), or at the end."""
        place = old_name or tool.name
        if place not in self._by_name:
            return replace(self, tools=(*self.tools, tool))
        return replace(self, tools=tuple(tool if t.name == place else t for t in self.tools))

    def without_tool(self, name: str) -> ToolRegistry:
        return replace(self, tools=tuple(t for t in self.tools if t.name != name))

    def to_document(self, *, kept: bool = True) -> dict[str, Any]:
        """The registry file's document, in Glyphscope's form; without what is only `kept` if that is False."""
        document: dict[str, Any] = {"glyphscope": VERSION}
        if self.unknown_arguments != "refuse":
            document["unknown_arguments"] = self.unknown_arguments
        if kept and self.kept:
            document["kept"] = self.kept
        document["tools"] = [
            {"name": t.name, "description": t.description, "enabled": t.enabled}
            | ({"parameters": t.parameters} if t.format is None else {"type": "custom", "format": t.format})
            | t.facts()
            | ({"kept": t.kept} if kept and t.kept else {})
            for t in self.tools
        ]
        return document

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the document: equal registries have equal digests."""
        return hashlib.sha256(
            json.dumps(self.to_document(kept=False), ensure_ascii=True).encode()
        ).hexdigest()
