"""The registry being edited: the last valid one, the texts being typed, and the undo history.

Everything that is built from the registry (prompt, validator, mask) is built from `registry`, which is always valid. A
text or a form that is not valid yet is kept beside it, word for word, until it is valid, so that no input is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QElapsedTimer, QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from glyphscope.base.errors import RegistryError
from glyphscope.base.visible import escaped
from glyphscope.registry import Tool, ToolRegistry, check_tool, normalise
from glyphscope_gui.project.argument_schema import free_name
from glyphscope_gui.shared.json_places import TextProblem, located, parse_object
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import MAX_DOCUMENT, document_part, is_long

MERGE_MS = 1000
"""Edits of one field that follow each other faster than this are one undo step."""

UNDO_LIMIT = 1000
"""Number of steps that are kept; with 2,000 tools a step takes about 16 kB, as all but the edited tool is shared."""

Problems = Mapping[str, tuple[TextProblem, ...]]


@dataclass(frozen=True)
class RegistryState:
    """A state in the edit history.

    `texts` are the raw schema texts as typed, by tool name; `problems` the errors that prevent the use of a text. A
    tool without a text shows its schema, indented.
    """

    registry: ToolRegistry
    texts: Mapping[str, str] = field(default_factory=dict)
    problems: Problems = field(default_factory=dict)


class _Edit(QUndoCommand):
    """Changes one state to another; quick edits of the same place (`key`) are merged."""

    def __init__(self, document: RegistryDocument, label: str, after: RegistryState, key: str) -> None:
        super().__init__(label)
        self.document = document
        self.before = document.state
        self.after = after
        self.key = key

    def id(self) -> int:
        return 1 if self.key else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _Edit) or other.key != self.key or not self.document.is_typing():
            return False
        self.after = other.after
        return True

    def redo(self) -> None:
        self.document.show_state(self.after)

    def undo(self) -> None:
        self.document.show_state(self.before)


class RegistryDocument(QObject):
    """`changed` carries the new ToolRegistry, `problemsChanged` the problems by tool; both after every edit."""

    changed = Signal(object)
    problemsChanged = Signal(object)
    textChanged = Signal(object)
    """The name of a tool whose raw schema text changed."""

    def __init__(self, registry: ToolRegistry, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = RegistryState(registry)
        self.undo_stack = QUndoStack(self, undoLimit=UNDO_LIMIT)
        self._since_edit = QElapsedTimer()
        self._long: dict[str, tuple[dict[str, Any], bool]] = {}
        self._drafts: dict[str, tuple[Tool, str | None, Tool]] = {}
        """By name, a tool with a typed schema that is not valid: the valid tool, the text, and the tool as shown."""

    @property
    def registry(self) -> ToolRegistry:
        """The last valid registry, which is in use."""
        return self.state.registry

    @property
    def problems(self) -> Problems:
        return self.state.problems

    def schema_text(self, name: str) -> str:
        """The tool's schema as typed, or otherwise indented; the beginning of one that `is_long`."""
        typed, tool = self.state.texts.get(name), self.registry.get(name)
        if self.is_long(name):
            return document_part(tool.parameters) if typed is None and tool else (typed or "")[:MAX_DOCUMENT]
        if typed is not None:
            return typed
        return "" if tool is None else escaped(json.dumps(tool.parameters, indent=2, ensure_ascii=False))

    def is_long(self, name: str) -> bool:
        """Whether the tool's schema is too long to be edited here."""
        typed, tool = self.state.texts.get(name), self.registry.get(name)
        if typed is not None:
            return len(typed) > MAX_DOCUMENT
        if tool is None:
            return False
        known = self._long.get(name)
        if known is None or known[0] is not tool.parameters:
            known = self._long[name] = tool.parameters, is_long(tool.parameters)
        return known[1]

    def shown_parameters(self, name: str) -> dict[str, Any]:
        """The schema that a form shows: the typed one while it is JSON, otherwise the one in use."""
        typed = self.state.texts.get(name)
        if typed is not None and len(typed) <= MAX_DOCUMENT:
            document = parse_object(typed)
            if isinstance(document, dict):
                return document
        tool = self.registry.get(name)
        return {} if tool is None else tool.parameters

    def shown_tools(self) -> tuple[Tool, ...]:
        """The tools with their typed schemas, as `shown_parameters`; only to show, never to run."""
        drafts = self.problems
        return tuple(self._draft(tool) if tool.name in drafts else tool for tool in self.registry)

    def _draft(self, tool: Tool) -> Tool:
        """The tool with its typed schema; the same object until either changes, by which the tree recognises it."""
        text, known = self.state.texts.get(tool.name), self._drafts.get(tool.name)
        if known is None or known[0] is not tool or known[1] != text:
            shown = replace(tool, parameters=self.shown_parameters(tool.name))
            known = self._drafts[tool.name] = tool, text, shown
        return known[2]

    def name_problem(self, old: str, new: str) -> str:
        """Why a tool cannot be named `new`; "" if it can."""
        if new != old and self.registry.get(new) is not None:
            return tr("Another tool has this name.")
        probe = Tool(new)
        return next((p.message for p in check_tool(probe) if p.pointer.startswith("/name")), "")

    # -- edits -------------------------------------------------------------------------------------------------

    def set_schema_text(self, name: str, text: str) -> None:
        """Set the raw schema as typed. It is used as soon as it is valid; until then it is kept with its problems."""
        tool = self.registry.get(name)
        if tool is None or self.is_long(name) or text == self.schema_text(name):
            return
        self._put_text(tool, text, tr("edit the schema of {name}", name=name), f"text {name}", keep_text=True)

    def set_parameters(self, name: str, parameters: dict[str, Any], key: str = "") -> None:
        """Set the schema from a form, with the same rule as for text. Edits with the same `key` merge while typing."""
        tool = self.registry.get(name)
        if tool is None or self.is_long(name) or _same(parameters, self.shown_parameters(name)):
            return
        text = json.dumps(parameters, indent=2, ensure_ascii=False)
        self._put_text(
            tool, text, tr("edit {name}", name=name), f"form {name} {key}" if key else "", keep_text=False
        )

    def example(self, name: str) -> dict[str, Any] | None:
        """The tool's own example of its arguments; None if the prompt has a generated one."""
        tool = self.registry.get(name)
        given: Any = tool.input_examples if tool is not None else ()
        own = given or self.shown_parameters(name).get("examples")
        return own[0] if isinstance(own, list | tuple) and own and isinstance(own[0], dict) else None

    def set_example(self, name: str, arguments: dict[str, Any] | None) -> None:
        """Set the tool's own example, in its schema if that has some; None removes all, so that one is generated."""
        tool, parameters = self.registry.get(name), dict(self.shown_parameters(name))
        others = parameters.pop("examples", [])
        if arguments is not None and others and tool is not None and not tool.input_examples:
            self.set_parameters(name, {**parameters, "examples": [arguments, *others[1:]]}, "example")
            return
        if arguments is None and others:
            self.set_parameters(name, parameters, "example")
            tool = self.registry.get(name)
        if tool is not None:
            given = () if arguments is None else (arguments, *tool.input_examples[1:])
            if given != tool.input_examples:
                registry = self.registry.with_tool(replace(tool, input_examples=given))
                words = tr("edit {name}", name=name)
                self._push(words, replace(self.state, registry=registry), f"form {name} example")

    def set_description(self, name: str, description: str) -> None:
        self._set(name, tr("describe {name}", name=name), f"description {name}", description=description)

    def set_strict(self, name: str, strict: bool | None) -> None:
        """Set whether the tool is strict; None: not stated."""
        self._set(name, tr("edit {name}", name=name), strict=strict)

    def _set(self, name: str, words: str, key: str = "", **members: Any) -> None:
        tool = self.registry.get(name)
        if tool is not None and (changed := replace(tool, **members)) != tool:
            self._push(words, replace(self.state, registry=self.registry.with_tool(changed)), key)

    def rename(self, old: str, new: str) -> None:
        """Raises RegistryError if `new` is not a valid name or is taken."""
        tool = self.registry.get(old)
        if tool is None or old == new:
            return
        problem = self.name_problem(old, new)
        if problem:
            raise RegistryError(problem, where=old)
        state = RegistryState(
            self.registry.with_tool(replace(tool, name=new), old),
            {new if name == old else name: text for name, text in self.state.texts.items()},
            {new if name == old else name: found for name, found in self.state.problems.items()},
        )
        index = self.registry.tools.index(tool)
        self._push(tr("rename {old}", old=old), state, f"name {index}")

    def add(self, tool: Tool, at: int | None = None) -> str:
        """Insert a tool at place `at` (by default the end), under an unused name. Returns the name."""
        tool = replace(tool, name=free_name(tool.name, {t.name for t in self.registry}))
        tools = list(self.registry.tools)
        tools.insert(len(tools) if at is None else at, tool)
        self._set_tools(tr("add {name}", name=tool.name), tools)
        return tool.name

    def remove(self, name: str) -> None:
        if self.registry.get(name) is not None:
            state = replace(self._without_text(name), registry=self.registry.without_tool(name))
            self._push(tr("remove {name}", name=name), state)

    def move(self, name: str, to: int) -> None:
        """Move the tool to place `to` among the others; a place out of range means the nearest end."""
        tool = self.registry.get(name)
        if tool is None:
            return
        tools = [t for t in self.registry if t is not tool]
        tools.insert(max(0, min(to, len(tools))), tool)
        if tuple(tools) != self.registry.tools:
            self._set_tools(tr("move {name}", name=name), tools)

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Add the tool to the allow list, or remove it."""
        tool = self.registry.get(name)
        if tool is not None and tool.enabled != enabled:
            registry = self.registry.with_tool(replace(tool, enabled=enabled))
            label = tr("allow {name}", name=name) if enabled else tr("forbid {name}", name=name)
            self._push(label, replace(self.state, registry=registry))

    def set_all_enabled(self, enabled: bool) -> None:
        tools = [replace(t, enabled=enabled) for t in self.registry]
        if tuple(tools) != self.registry.tools:
            self._set_tools(tr("allow all tools") if enabled else tr("forbid all tools"), tools)

    def replace_registry(self, registry: ToolRegistry, label: str = tr("replace the tools")) -> None:
        """Replace the registry, as one undo step; what is kept of an opened request belongs to the project."""
        own = {name: part for name, part in self.registry.kept.items() if name == "request"}
        self._push(label, RegistryState(replace(registry, kept={**registry.kept, **own})))

    def add_all(self, registry: ToolRegistry, label: str = tr("add tools")) -> None:
        """Add every tool of another registry; a tool of the same name is replaced."""
        state = self.state
        names = {tool.name for tool in registry}
        kept = [registry.get(tool.name) or tool for tool in self.registry]
        new = [tool for tool in registry if self.registry.get(tool.name) is None]
        merged = replace(self.registry, tools=(*kept, *new), kept={**registry.kept, **self.registry.kept})
        texts = {name: text for name, text in state.texts.items() if name not in names}
        problems = {name: found for name, found in state.problems.items() if name not in names}
        self._push(label, RegistryState(merged, texts, problems))

    def reset(self, state: RegistryState) -> None:
        """Start over without undo history, as after opening a project."""
        self.undo_stack.clear()
        self.show_state(state)

    def is_typing(self) -> bool:
        """Whether the last edit is so recent that another one at the same place would merge with it."""
        return self._since_edit.isValid() and self._since_edit.elapsed() < MERGE_MS

    def show_state(self, state: RegistryState) -> None:
        """Make `state` the present state and emit signals; only edits and `reset` call this."""
        old, self.state = self.state, state
        if state.registry is not old.registry:
            self.changed.emit(state.registry)
        for name in {*old.texts, *state.texts}:
            if old.texts.get(name) != state.texts.get(name):
                self.textChanged.emit(name)
        if state.problems != old.problems:
            self.problemsChanged.emit(state.problems)

    def _put_text(self, tool: Tool, text: str, label: str, key: str, *, keep_text: bool) -> None:
        parameters, problems = _check(tool, text)
        state = self._without_text(tool.name)
        if problems:
            state = replace(
                state,
                texts={**state.texts, tool.name: text},
                problems={**state.problems, tool.name: problems},
            )
        else:
            if keep_text:
                state = replace(state, texts={**state.texts, tool.name: text})
            if not _same(parameters, tool.parameters):
                state = replace(state, registry=self.registry.with_tool(replace(tool, parameters=parameters)))
        self._push(label, state, key)

    def _without_text(self, name: str) -> RegistryState:
        return replace(
            self.state,
            texts={n: text for n, text in self.state.texts.items() if n != name},
            problems={n: found for n, found in self.state.problems.items() if n != name},
        )

    def _set_tools(self, label: str, tools: list[Tool]) -> None:
        self._push(label, replace(self.state, registry=replace(self.registry, tools=tuple(tools))))

    def _push(self, label: str, state: RegistryState, key: str = "") -> None:
        self.undo_stack.push(_Edit(self, label, state, key))
        self._since_edit.start()


def draft_state(registry: ToolRegistry, texts: Mapping[str, str]) -> RegistryState:
    """The state from a project file or a journal; problems are found again from the texts."""
    problems = {name: found for name, text in texts.items() if (found := _check(Tool(name), text)[1])}
    return RegistryState(registry, dict(texts), problems)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether both are equal and in the same order, as the grammar writes the arguments in this order."""
    return json.dumps(one) == json.dumps(other)


def _check(tool: Tool, text: str) -> tuple[dict[str, Any], tuple[TextProblem, ...]]:
    """The schema of a text in the current draft, and its problems, with which the schema is empty."""
    document = parse_object(text)
    if isinstance(document, TextProblem):
        return {}, (document,)
    problems = [
        p for p in check_tool(replace(tool, parameters=document)) if not p.pointer.startswith("/name")
    ]
    if not problems:
        schema = normalise(document)
        assert isinstance(schema, dict), "the parameters of a tool that is checked are an object"
        return schema, ()
    return {}, located(text, ((p.pointer.removeprefix("/parameters"), p.message) for p in problems))
