"""Dialogs about servers: add or edit one by a form or as JSON, import several from a file or text, choose roots."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QListWidget, QVBoxLayout, QWidget

from glyphscope.base.errors import ServerError
from glyphscope.base.json_values import json_file
from glyphscope.base.visible import visible
from glyphscope.tools.mcp.config import MAX_ROOTS, ServerConfig, command_server, read_servers, server_entries
from glyphscope_gui.mcp.server_source import ServerSource
from glyphscope_gui.mcp.servers import DEMO, server_config
from glyphscope_gui.servers.words import secret_words
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file, ask_for_folder
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import PlainLabel, named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, ScrollArea, hbox, holder, replace_content, stack, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit, ReadBox, WrappingEdit
from glyphscope_gui.theme import mono_font, use_font
from glyphscope_gui.theme.sizes import letters


@dataclass(frozen=True)
class FoundServer:
    """A valid server: its configuration (`config`), and its original text (`entry`)."""

    name: str
    entry: dict[str, Any]
    config: ServerConfig


@dataclass(frozen=True)
class FoundServers:
    """`problems` has a line for each unusable server; `error` is why there are no servers at all."""

    servers: tuple[FoundServer, ...] = ()
    problems: tuple[str, ...] = ()
    error: str = ""


def find_servers(source: Path | str) -> FoundServers:
    """Return the servers in a text; never raises, for any text."""
    if isinstance(source, str) and not source.strip():
        return FoundServers()
    try:
        read, entries = read_servers(source), server_entries(source)
    except ServerError as error:
        return FoundServers(error=str(error))
    found = [FoundServer(config.name, entries[config.name], config) for config in read.servers]
    return FoundServers(tuple(found), tuple(f"{p.pointer}: {p.message}" for p in read.problems))


MAX_SHOWN = 100
"""Servers of a file that are listed; others are not imported."""
MAX_PROBLEMS = 8
READ_MS = 250
"""Delay after the last change of the pasted text before it is read."""
_FILTER = tr("Servers (*.json);;All files (*)")


FORM, JSON = "form", "json"
_WAYS = (
    (FORM, tr("Form"), tr("The server by its fields")),
    (JSON, tr("JSON"), tr("The server as in an mcp.json, with all of its keys")),
)
_FIELDS = ("command", "args", "cwd", "env", "url", "httpUrl", "headers", "type", "transport")
"""The keys of an entry that the form states; others, such as `roots`, are kept."""


class ServerDialog(PlainDialog):
    """Adds a server, or edits a known one, by a form or as JSON.

    `chosen` carries a name, an entry as in an mcpServers file, and whether the user typed the command line here: it may
    then be started without another question. `taken` are the names of other servers.
    """

    chosen = Signal(str, object, bool)

    def __init__(
        self, taken: Collection[str], parent: QWidget | None = None, server: ServerSource | None = None
    ) -> None:
        title = tr("Add a server") if server is None else tr("Edit {name}", name=server.name)
        super().__init__("addServerDialog", title, parent)
        self.setMinimumWidth(round(560 * min(letters(self), 1.6)))  # an example in a field is on one line
        self._taken, self._server = taken, server
        self._entry: dict[str, Any] = {} if server is None else dict(server.entry)
        self.ways = named(Segmented(_WAYS, small=True, parent=self), words=tr("Form or JSON"))
        self.command_edit = named(LineEdit(self), "serverCommandEdit")
        self.command_edit.setPlaceholderText(tr("uvx mcp-server-time   or   https://example.com/mcp"))
        self.name_edit = LineEdit(
            self, objectName="serverNameEdit", placeholderText=tr("default: its program or host")
        )
        self.folder_edit = LineEdit(self, placeholderText=tr("default: the current folder"))
        self.variables_edit = named(GrowingEdit(5, self), "serverVariablesEdit")
        self.variables_edit.setPlaceholderText(tr("NAME=value per line, or NAME=${env:NAME}"))
        self.headers_edit = named(GrowingEdit(5, self), "serverHeadersEdit")
        self.headers_edit.setPlaceholderText(tr("Authorization: Bearer ${env:TOKEN}, one per line"))
        self.json_edit = named(JsonEditor(self), "serverJsonEdit", tr("Server as JSON"))
        form = self._form = QFormLayout(horizontalSpacing=14, verticalSpacing=9)
        form.addRow(tr("Command or address"), self.command_edit)
        form.addRow(tr("Name"), self.name_edit)
        form.addRow(tr("Folder"), self.folder_edit)
        form.addRow(tr("Variables"), self.variables_edit)
        form.addRow(tr("Headers"), self.headers_edit)
        self._stack = stack(holder(form), self.json_edit)
        self.problem = words_label(role="problem", parent=self)
        self.save_button = push_button(tr("Add") if server is None else tr("Save"), self, role="primary")
        buttons = self.button_box(Standard.Cancel, (self.save_button, Role.AcceptRole))
        row = hbox(self.ways, STRETCH)
        vbox(row, (self._stack, 1), self.problem, buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        fields = (self.command_edit, self.name_edit, self.folder_edit, self.variables_edit, self.headers_edit)
        ends = (buttons.button(Standard.Cancel), self.save_button)
        for before, after in pairwise((self.ways.button(JSON), *fields, self.json_edit, *reversed(ends))):
            self.setTabOrder(before, after)  # they were moved into the stack
        code = (self.command_edit, self.variables_edit, self.headers_edit)
        for edit in code:
            use_font(edit, mono_font, -0.5)
        if server is not None:
            self._show_fields(server.name, self._entry)
        for edit in fields:
            edit.textChanged.connect(self._check)
        self.json_edit.textEdited.connect(self._check)
        self.ways.chosen.connect(self._show_way)
        if server is not None and server.problem:  # the form may not show what is wrong
            self._show_json(server.name, self._entry)
        self._check()
        (self.command_edit if self.ways.value == FORM else self.json_edit).setFocus()

    def sizeHint(self) -> QSize:
        return QSize(640, 420).expandedTo(super().sizeHint())

    def accept(self) -> None:
        try:
            name, entry = self.entry()
        except ServerError:
            return
        typed = self.ways.value == FORM
        if self._server is not None and not self._server.may_run:  # and not only another variable
            typed = typed and server_config(name, entry).identity != self._server.identity
        self.chosen.emit(name, entry, typed)
        super().accept()

    def entry(self) -> tuple[str, dict[str, Any]]:
        """Return the name, and the entry as in a file. Raises ServerError."""
        name, entry = self._of_json() if self.ways.value == JSON else self._of_form()
        if name == DEMO:
            raise ServerError(
                tr("“{name}” is reserved for the demo tools.", name=DEMO), hint=tr("Choose another name.")
            )
        if self._server is not None and name in self._taken:
            raise ServerError(tr("A server named {name} exists.", name=name))
        server_config(name, entry)
        return name, entry

    def _of_form(self) -> tuple[str, dict[str, Any]]:
        try:
            words = shlex.split(self.command_edit.text())
        except ValueError as error:
            raise ServerError(tr("The command line cannot be read: {error}.", error=error)) from None
        config = command_server(words, self.name_edit.text().strip())
        entry = {key: value for key, value in self._entry.items() if key not in _FIELDS}
        if config.url:
            entry["url"] = config.url
            if headers := self._headers():
                entry["headers"] = headers
        else:
            entry |= {"command": config.command, "args": list(config.args)}
            if folder := self.folder_edit.text().strip():
                entry["cwd"] = folder
            if variables := self._variables():
                entry["env"] = variables
        return config.name, entry

    def _of_json(self) -> tuple[str, dict[str, Any]]:
        text = self.json_edit.toPlainText()
        entries = server_entries(text or "{}")
        if len(entries) != 1:
            raise ServerError(tr("Write one server: here are %n.", "", len(entries)))
        ((name, entry),) = entries.items()
        if not isinstance(entry, dict):
            raise ServerError(tr("A server is an object with “command” or “url”."))
        return name, entry

    def _show_way(self, way: str) -> None:
        """Show the server in the other way; it stays in the first if that is not valid there."""
        other = self._of_form if way == JSON else self._of_json
        try:
            name, entry = other()
        except ServerError as error:
            if way == FORM:
                self.ways.set_value(JSON)
                self.problem.setText(error.message)
                return
            name, entry = self.name_edit.text().strip() or "name", self._entry or {"command": "", "args": []}
        if way == JSON:
            self._show_json(name, entry)
        else:
            self._show_fields(name, entry)
            self._stack.setCurrentIndex(0)
        self._check()

    def _show_json(self, name: str, entry: dict[str, Any]) -> None:
        self.ways.set_value(JSON)
        self.json_edit.show_text(json_file({"mcpServers": {name: entry}}))
        self._stack.setCurrentIndex(1)

    def _show_fields(self, name: str, entry: dict[str, Any]) -> None:
        self._entry = entry
        words = [entry.get("command"), *(entry.get("args") or ())]
        address = entry.get("url", entry.get("httpUrl"))
        self.command_edit.setText(str(address) if address else shlex.join(map(str, filter(None, words))))
        self.name_edit.setText(name)
        self.folder_edit.setText(str(entry.get("cwd") or ""))
        for edit, key, sign in ((self.variables_edit, "env", "="), (self.headers_edit, "headers", ": ")):
            pairs = entry.get(key)
            lines = pairs.items() if isinstance(pairs, dict) else ()
            edit.setPlainText("\n".join(f"{one}{sign}{value}" for one, value in lines))

    def _variables(self) -> dict[str, str]:
        return _pairs(self.variables_edit.toPlainText(), "=", tr("Write a variable as NAME=value."))

    def _headers(self) -> dict[str, str]:
        found = _pairs(self.headers_edit.toPlainText(), ":", tr("Write a header as Name: value."))
        return {name: value.strip() for name, value in found.items()}

    def _check(self, _text: str = "") -> None:
        words = ""
        is_address = "://" in self.command_edit.text()
        for edit in (self.folder_edit, self.variables_edit):
            self._form.setRowVisible(edit, not is_address)
        self._form.setRowVisible(self.headers_edit, is_address)
        try:
            name, _entry = self.entry()
            if name in self._taken:
                words = tr("A server named {name} exists: a number is appended to this name.", name=name)
            ok = True
        except ServerError as error:
            is_empty = self.ways.value == FORM and not self.command_edit.text().strip()
            words, ok = "" if is_empty else error.words, False
        self.problem.setText(words)
        self.save_button.setEnabled(ok)


def _pairs(text: str, sign: str, problem: str) -> dict[str, str]:
    """Parse a name and a value per line, separated by `sign`. Raises ServerError(problem)."""
    found = {}
    for line in filter(str.strip, text.splitlines()):
        name, between, value = line.partition(sign)
        if not between or not name.strip():
            raise ServerError(problem)
        found[name.strip()] = value
    return found


class ImportServersDialog(PlainDialog):
    """`chosen` carries the ticked FoundServers, whether they may be started, and whether they replace others of the
    same name.
    """

    chosen = Signal(object, bool, bool)

    def __init__(self, taken: Collection[str], parent: QWidget | None = None) -> None:
        super().__init__("importServersDialog", tr("Import servers"), parent)
        self.resize(640, 560)
        self._taken = taken
        self._background = Background(self)
        self._boxes: list[tuple[QCheckBox, FoundServer]] = []
        self.file_button = push_button(tr("Choose a file…"), self, clicked=self._ask_for_file)
        self.text_edit = named(WrappingEdit(self), "importServersText", tr("Servers as JSON"))
        use_font(self.text_edit, mono_font, -0.5)
        self.text_edit.setPlaceholderText(
            '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'
        )
        self.text_edit.setMinimumHeight(110)
        self.text_edit.setTabChangesFocus(True)
        self.problem = words_label(role="problem", parent=self)
        words = tr("I have read these command lines and allow them to run")
        self.allow_box = named(QCheckBox(words, self), "allowImportedBox")
        self.replace_box = QCheckBox(tr("Replace servers of the same name"), self)
        self.add_button = push_button(tr("Add"), self, role="primary")
        buttons = self.button_box(Standard.Cancel, (self.add_button, Role.AcceptRole))
        self._scroll = ScrollArea(parent=self)
        hint = PlainLabel(tr("Paste or choose an mcpServers file. Importing starts nothing."), self, "muted")
        row = hbox((hint, 1), self.file_button)
        vbox(
            row,
            (self.text_edit, 1),
            self.problem,
            (self._scroll, 2),
            self.replace_box,
            self.allow_box,
            buttons,
            parent=self,
            margins=(18, 14),
            spacing=10,
        )
        self._later = QTimer(self, singleShot=True, interval=READ_MS)
        self._later.timeout.connect(self._read_text)
        self.text_edit.textChanged.connect(self._later.start)
        self._show(FoundServers())

    def read_file(self, path: Path) -> None:
        """Read the file in the background."""
        self._later.stop()
        self._background.start("read", lambda: find_servers(path), self._show, self._failed)

    def accept(self) -> None:
        if self.ticked:
            self.chosen.emit(self.ticked, self.allow_box.isChecked(), self.replace_box.isChecked())
            super().accept()

    @property
    def ticked(self) -> tuple[FoundServer, ...]:
        return tuple(server for box, server in self._boxes if box.isChecked())

    def _read_text(self) -> None:
        text = self.text_edit.toPlainText()
        self._background.start("read", lambda: find_servers(text), self._show, self._failed)

    def _ask_for_file(self) -> None:
        ask_for_file(self, tr("Import servers"), self.read_file, _FILTER)

    def _failed(self, error: BaseException) -> None:
        self._show(FoundServers(error=str(error)))

    def _show(self, found: FoundServers) -> None:
        lines = [found.error] if found.error else list(found.problems[:MAX_PROBLEMS])
        if (more := len(found.problems) - MAX_PROBLEMS) > 0:
            lines.append(tr("… and {more} more", more=more))
        if (more := len(found.servers) - MAX_SHOWN) > 0:
            lines.append(tr("%n more servers are neither shown nor imported.", "", more))
        show_words(self.problem, "\n".join(lines))
        holder = QWidget()
        column = vbox(parent=holder, margins=(0, 0, 8, 0), spacing=4)
        self._boxes = []
        for server in found.servers[:MAX_SHOWN]:
            self._add_server(column, server)
        column.addStretch(1)
        replace_content(self._scroll, holder)
        self._scroll.setVisible(bool(self._boxes))
        self.replace_box.setVisible(any(server.name in self._taken for _box, server in self._boxes))
        self.allow_box.setVisible(any(not server.config.url for _box, server in self._boxes))
        self.allow_box.setChecked(False)
        self._show_count()

    def _add_server(self, column: QVBoxLayout, server: FoundServer) -> None:
        clash = tr("  · name in use") if server.name in self._taken else ""
        box = QCheckBox(f"{visible(server.name, spaces=True)}{clash}".replace("&", "&&"))
        box.setChecked(server.name != DEMO)
        box.toggled.connect(lambda _on: self._show_count())
        command = ReadBox(
            6,
            tr("Command or address of {name}", name=server.name),
            visible(server.config.identity, spaces=True),
        )
        column.addWidget(box)
        column.addWidget(command)
        if words := secret_words(server.config):
            column.addWidget(words_label(words, "hint"))
        column.addSpacing(8)
        self._boxes.append((box, server))

    def _show_count(self) -> None:
        count = len(self.ticked)
        self.add_button.setEnabled(count > 0)
        self.add_button.setText(tr("Add") if count < 2 else tr("Add %n server(s)", "", count))


class RootsDialog(PlainDialog):
    """The roots of one server: the folders that it gets when it lists them.

    `chosen` carries the folders as a tuple of absolute paths.
    """

    chosen = Signal(object)

    def __init__(self, server: str, roots: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__("rootsDialog", tr("Roots of {server}", server=server), parent)
        self._roots = list(roots)
        note = words_label(
            tr(
                "The server receives the paths of these folders when it lists the roots, and is notified of changes. "
                "They do not restrict what its process can read."
            ),
            parent=self,
        )
        self.list = named(QListWidget(self), "rootsList", tr("Roots"))
        self.problem = words_label(role="problem", parent=self)
        self.add_button = push_button(tr("Add a folder…"), self, clicked=self._ask)
        self.remove_button = push_button(tr("Remove"), self, name="removeRootButton", clicked=self._remove)
        buttons = self.button_box(Standard.Ok | Standard.Cancel)
        row = hbox(self.add_button, self.remove_button, STRETCH)
        parts = (note, (self.list, 1), row, self.problem, buttons)
        vbox(*parts, parent=self, margins=(18, 16, 18, 14), spacing=10)
        self.list.currentRowChanged.connect(lambda row: self.remove_button.setEnabled(row >= 0))
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(520, 340)

    def add(self, folder: str) -> None:
        """Add a folder, once."""
        path = Path(folder)
        if not path.is_dir():
            show_words(self.problem, tr("Not a folder: {path}", path=folder))
        elif len(self._roots) >= MAX_ROOTS:
            show_words(self.problem, tr("A server has at most {count} roots.", count=MAX_ROOTS))
        elif str(path.absolute()) not in self._roots:
            self._roots.append(str(path.absolute()))
            self._show()

    def accept(self) -> None:
        self.chosen.emit(tuple(self._roots))
        super().accept()

    def _show(self) -> None:
        self.list.clear()
        self.list.addItems([visible(root, spaces=True) for root in self._roots])
        self.remove_button.setEnabled(False)
        show_words(self.problem, "")

    def _remove(self) -> None:
        row = self.list.currentRow()
        if row >= 0:
            del self._roots[row]
            self._show()

    def _ask(self) -> None:
        ask_for_folder(self, tr("Add a root"), lambda path: self.add(str(path)))
