"""Actions on tools: add, duplicate, remove, move, import, paste, export; each can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QMessageBox, QWidget

from glyphscope.base.json_values import json_file
from glyphscope.base.shorten import listed, shorten
from glyphscope.prompting.request_bodies import api_of
from glyphscope.registry import (
    Tool,
    ToolRegistry,
    bundled_registries,
    bundled_registry,
    load_registry,
    to_json,
)
from glyphscope.registry.document import parse_text, read_registry_file
from glyphscope.registry.saving import Unused, name_problems, to_form, unused
from glyphscope.registry.tool import custom_parameters
from glyphscope.registry.tool_forms import FORMS
from glyphscope.store import atomic_write
from glyphscope_gui.project import RegistryDocument
from glyphscope_gui.project import argument_schema as schema
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import Role, ask, ask_for_file, ask_where_to_save, open_once
from glyphscope_gui.shared.errors import show_error
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.tools.tree import Item

_FILTER = tr("Tools: registry, OpenAI, Anthropic, Gemini, MCP, OpenAPI (*.json);;All files (*)")
_UNUSED = tr("Parts of the file that are not used")
_MAX_UNUSED = 12
"""Parts of an imported file that a dialog lists."""


_Loaded: TypeAlias = tuple[ToolRegistry, Sequence[Unused]]
"""Tools, and the parts of their file that are not used."""


class ToolActions(QObject):
    """The actions over a document. `selectRequested` carries the Item that an action made or moved; `added`: the last
    selected item is new. `requestFound` carries the Path of a request's body, to be opened as a project.
    """

    selectRequested = Signal(object)
    added = Signal()
    requestFound = Signal(object)

    def __init__(self, document: RegistryDocument, owner: QWidget) -> None:
        super().__init__(owner)
        self._document = document
        self._owner = owner
        self._item: Item | None = None
        self.background = Background(self)
        self.add_tool = self._action(tr("Add a tool"), self._add_tool, "Ctrl+Shift+A")
        self.add_custom = self._action(tr("Add a custom tool"), self._add_custom)
        self.add_argument = self._action(tr("Add an argument"), self._add_argument, "Ctrl+Shift+G")
        self.duplicate = self._action(tr("Duplicate"), self._duplicate, "Ctrl+D")
        self.remove = self._action(tr("Remove"), self._remove, "Del")
        self.move_up = self._action(tr("Move up"), lambda: self._move(-1), "Alt+Up")
        self.move_down = self._action(tr("Move down"), lambda: self._move(1), "Alt+Down")
        self.allow_all = self._action(tr("Allow all tools"), lambda: document.set_all_enabled(True))
        self.forbid_all = self._action(tr("Forbid all tools"), lambda: document.set_all_enabled(False))
        self.import_file = self._action(tr("Import tools…"), self._ask_for_file)
        self.import_file.setToolTip(tr("Add tools from a file, which can also be dropped on the window"))
        self.bundled = QAction(tr("Bundled tools"), self)
        menu = QMenu(owner)
        menu.addActions([self._action(name, partial(self.read_file, name)) for name in bundled_registries()])
        self.bundled.setMenu(menu)
        self.paste = self._action(tr("Paste tools"), self._paste, "Ctrl+Shift+V")
        self.export_file = self._action(tr("Export the registry…"), lambda: self._ask_where_to(to_json))
        self.export_as = QAction(tr("Export as"), self)
        forms = QMenu(owner)
        forms.addActions(
            [self._action(f"{form.title}…", partial(self._export_as, name)) for name, form in FORMS.items()]
        )
        self.export_as.setMenu(forms)
        self.show_unused = self._action(tr("Parts of the file that are not used…"), self._show_unused)
        self.undo = document.undo_stack.createUndoAction(self, tr("&Undo"))
        self.undo.setShortcuts(QKeySequence.StandardKey.Undo)
        self.redo = document.undo_stack.createRedoAction(self, tr("&Redo"))
        self.redo.setShortcuts([QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")])
        self.set_item(None)

    def set_item(self, item: Item | None) -> None:
        """Set the tool or argument that the actions apply to."""
        self._item = item
        for action in (self.add_argument, self.duplicate, self.remove, self.move_up, self.move_down):
            action.setEnabled(item is not None)
        self.show_unused.setEnabled("form" in self._document.registry.kept)

    def read_file(self, source: Path | str) -> None:
        """Read a file of tools, or the bundled ones of that name, in the background; then ask what to do with them."""
        name = source if isinstance(source, str) else source.name
        self.background.start(
            "import",
            partial(_read, source),
            lambda found: self._ask_about_request(Path(source)) if found is None else self._take(found, name),
            self._show_error,
        )

    def _ask_about_request(self, path: Path) -> None:
        """Ask whether to open the body of a request as a project, or to import only its tools."""

        def import_tools() -> None:
            self.background.start(
                "import",
                partial(_tools_of, path),
                lambda found: self._take(found, path.name),
                self._show_error,
            )

        ask(
            self._owner,
            "requestQuestion",
            tr("{name} is a whole request", name=path.name),
            tr("Open it as a project, with its messages, tools and settings, or import only its tools?"),
            (tr("Open as a project"), Role.AcceptRole, lambda: self.requestFound.emit(path)),
            (tr("Import its tools"), Role.AcceptRole, import_tools),
            title=tr("Import tools"),
        )

    def _action(self, text: str, slot: Callable[[], object], shortcut: str = "") -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda _checked=False: slot())
        if shortcut:
            action.setShortcut(shortcut)
            action.setShortcutVisibleInContextMenu(True)
        action.setToolTip(f"{text} ({shortcut})" if shortcut else text)
        return action

    # -- one tool or argument ----------------------------------------------------------------------------------

    def _add_custom(self) -> None:
        """A tool as OpenAI's custom ones: its only argument is a text, of a grammar to be edited."""
        grammar = {"type": "grammar", "syntax": "lark", "definition": "start: WORD\nWORD: /[a-z]+/\n"}
        self._add_tool(custom_parameters(grammar))

    def _add_tool(self, parameters: dict[str, Any] | None = None) -> None:
        tool = Tool("new_tool") if parameters is None else Tool("new_tool", parameters=parameters)
        names = [tool.name for tool in self._document.registry]
        at = names.index(self._item.tool) + 1 if self._item and self._item.tool in names else None
        self.selectRequested.emit(Item(self._document.add(tool, at)))
        self.added.emit()

    def _add_argument(self) -> None:
        if self._item is None:
            return
        parameters = self._document.shown_parameters(self._item.tool)
        name = schema.free_name("argument", schema.arguments(parameters))
        self._document.set_parameters(self._item.tool, schema.added(parameters, name, {"type": "string"}))
        self.selectRequested.emit(Item(self._item.tool, name))
        self.added.emit()

    def _duplicate(self) -> None:
        item = self._item
        tool = self._document.registry.get(item.tool) if item else None
        if item is None or tool is None:
            return
        if item.argument is None:
            index = self._document.registry.tools.index(tool)
            self.selectRequested.emit(Item(self._document.add(replace(tool), index + 1)))
            return
        parameters = self._document.shown_parameters(item.tool)
        values = schema.arguments(parameters)
        name = schema.free_name(item.argument, values)
        changed = schema.added(parameters, name, values[item.argument])
        changed = schema.moved(changed, name, list(values).index(item.argument) + 1)
        self._document.set_parameters(item.tool, changed)
        self.selectRequested.emit(Item(item.tool, name))

    def _remove(self) -> None:
        item = self._item
        if item is None:
            return
        if item.argument is None:
            self._document.remove(item.tool)
        else:
            parameters = self._document.shown_parameters(item.tool)
            self._document.set_parameters(item.tool, schema.removed(parameters, item.argument))

    def _move(self, by: int) -> None:
        item = self._item
        if item is None:
            return
        if item.argument is None:
            names = [tool.name for tool in self._document.registry]
            self._document.move(item.tool, names.index(item.tool) + by)
        else:
            parameters = self._document.shown_parameters(item.tool)
            place = list(schema.arguments(parameters)).index(item.argument) + by
            self._document.set_parameters(item.tool, schema.moved(parameters, item.argument, max(place, 0)))
        self.selectRequested.emit(item)

    # -- many tools --------------------------------------------------------------------------------------------

    def _ask_for_file(self) -> None:
        ask_for_file(self._owner, tr("Import tools"), self.read_file, _FILTER)

    def _paste(self) -> None:
        text = QGuiApplication.clipboard().text()
        self.background.start(
            "import",
            partial(_loaded, text),
            lambda found: self._take(found, tr("the clipboard")),
            self._show_error,
        )

    def _take(self, read: _Loaded, source: str) -> None:
        """Add the tools at once if the registry is empty; otherwise ask whether to add or to replace."""
        registry, found = read
        name = tr("import {source}", source=source)
        if not len(self._document.registry):
            self._document.replace_registry(registry, name)
            if found:
                show_unused(self._owner, found, _UNUSED, kept=True)
            return
        one = len(registry) == 1
        ask(
            self._owner,
            "importQuestion",
            tr("One tool from {source}", source=source)
            if one
            else tr("%n tools from {source}", "", len(registry), source=source),
            (
                tr("Add it to your tools, or replace all your tools? You can undo either.")
                if one
                else tr("Add them to your tools, or replace all your tools? You can undo either.")
            )
            + unused_words(found, kept=True, beside="form" in self._document.registry.kept),
            (tr("Add"), Role.AcceptRole, lambda: self._document.add_all(registry, name)),
            (tr("Replace"), Role.DestructiveRole, lambda: self._document.replace_registry(registry, name)),
            title=tr("Import tools"),
        )

    def _show_unused(self) -> None:
        """List the parts of the imported file that are not used."""
        show_unused(
            self._owner, unused(self._document.registry), tr("Parts of the file that are not used"), kept=True
        )

    def _export_as(self, form: str) -> None:
        """Export in another program's form, after a question about names that its API rejects."""
        write = partial(self._ask_where_to, lambda registry: json_file(to_form(registry, form)))
        names = name_problems(self._document.registry, form)
        if not names:
            write()
            return
        ask(
            self._owner,
            "namesQuestion",
            tr("{form} rejects %n of the names", "", len(names), form=FORMS[form].title),
            tr(
                "It accepts {limit}. Rejected: {names}.",
                limit=FORMS[form].limit,
                names=listed([shorten(name, 40) for name in names], 5),
            ),
            (tr("Export anyway"), Role.AcceptRole, write),
            title=tr("Export tools"),
        )

    def _ask_where_to(self, text_of: Callable[[ToolRegistry], str]) -> None:
        text = partial(text_of, self._document.registry)
        ask_where_to_save(
            self._owner,
            tr("Export tools"),
            lambda path: self._write(path, text),
            "JSON (*.json)",
            start="tools.json",
            suffix="json",
        )

    def _write(self, path: Path, text: Callable[[], str]) -> None:
        self.background.start(
            "export", lambda: atomic_write(path, text().encode()), lambda _: None, self._show_error
        )

    def _show_error(self, error: BaseException) -> None:
        show_error(self._owner, error)


def unused_words(found: Sequence[Unused], *, kept: bool, beside: bool = False) -> str:
    """The parts of a file that are not used, each in a line; empty without any. `beside`: the project keeps those of
    another file, and has no place for more.
    """
    if not found:
        return ""
    lines = [f"• {each}" for each in found[:_MAX_UNUSED]]
    if len(found) > _MAX_UNUSED:
        lines.append(tr("and {count:,} more", count=len(found) - _MAX_UNUSED))
    head = tr("Not used:")
    if kept and beside:
        head = tr(
            "Not used. Only Replace keeps them in the project, so that an export in the same form has them again: "
            "the project already keeps the rest of another file."
        )
    elif kept:
        head = tr("Not used, and kept in the project, so that an export in the same form has them again:")
    return "\n\n" + head + "\n" + "\n".join(lines)


def show_unused(owner: QWidget, found: Sequence[Unused], title: str, *, kept: bool = False) -> None:
    """List the parts of a file that are not used."""
    words = unused_words(found, kept=kept) or tr("Everything in the file is used.")
    box = named(QMessageBox(owner, text=title, informativeText=words.strip()), "unusedParts")
    box.setTextFormat(Qt.TextFormat.PlainText)
    if len(found) > _MAX_UNUSED:
        box.setDetailedText("\n".join(map(str, found)))
    box.setWindowTitle(tr("Import"))
    open_once(box)


def _read(source: Path | str) -> _Loaded | None:
    """The tools of a file or of the bundled registry of that name, as `_loaded`; None for the body of a request."""
    if isinstance(source, str):
        return bundled_registry(source), ()
    return None if api_of(parse_text(read_registry_file(source), str(source))) else _loaded(source)


def _tools_of(path: Path) -> _Loaded:
    """The tools of the body of a request, without the rest of it, as `_loaded`."""
    body = parse_text(read_registry_file(path), str(path))
    registry = load_registry(body.get("tools") or body.get("functions") or [])
    return registry, unused(registry)


def _loaded(source: Path | str) -> _Loaded:
    """The tools of a file or a text, and the parts of it that are not used."""
    registry = load_registry(source)
    return registry, unused(registry)
