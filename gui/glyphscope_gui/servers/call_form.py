"""The arguments of a manual call: a field for each argument of the schema, or all as JSON; a verdict on each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QStackedWidget, QWidget

from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.registry import Tool
from glyphscope_gui.calls.arguments import (
    MISSING,
    ArgumentProblems,
    ArgumentRows,
    TextArgument,
    check_arguments,
)
from glyphscope_gui.project import argument_schema as schema
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.code_edit import TAB_WORDS
from glyphscope_gui.shared.completion_list import CompletionList
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.json_places import located, parse_object
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, ScrollArea, grid_layout, replace_content, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.theme.sizes import letters

LABEL = 98
"""Pixels of width of an argument's name, at the usual text size."""
JSON_HEIGHT = 160
"""Height of the arguments as JSON, in pixels."""
MAX_FIELDS = 60
"""Arguments shown as separate fields; a tool with more is called with JSON."""
MAX_TEXT = 200_000
"""Characters of arguments whose problems are located while the user types."""
CHECK_MS = 120
"""Delay after the last edit before the arguments are checked."""
_NO_OBJECT = parse_object("[]")
"""The error for JSON that is not an object, in the terms of a schema."""


class _Name(ElidedLabel):
    """As wide as all names, so that the fields are level."""

    def __init__(self, words: str, role: str = "") -> None:
        super().__init__(mode=Qt.TextElideMode.ElideRight, role=role)
        self.setText(words)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(round(LABEL * letters(self)), super().sizeHint().height())


class ServerCallForm(QStackedWidget):
    """`changed` after every edit and for another tool. Soon after it, `checked` carries ArgumentProblems, which it also
    shows; or `unreadable`, at once, why the arguments cannot be parsed. `messageChanged` carries words about the
    arguments as a whole. `valuesRequested` carries the name of an argument, and whether the user requested values
    (Ctrl+Space), if the form `suggests` any.
    """

    changed = Signal()
    checked = Signal(object)
    unreadable = Signal(str)
    messageChanged = Signal(str)
    valuesRequested = Signal(str, bool)

    def __init__(self, parent: QWidget | None = None, *, suggests: bool = False) -> None:
        super().__init__(parent)
        self._suggests = suggests
        named(self, "callForm", tr("Arguments of the call"))
        self._tool: Tool | None = None
        self.rows = ArgumentRows(self._edited)
        self._suggestions: dict[str, Suggestions] = {}
        """By argument, if the form `suggests` values."""
        self._scroll = ScrollArea(parent=self)
        self.editor = named(JsonEditor(self), "callJsonEdit", tr("Arguments as JSON"), description=TAB_WORDS)
        self._background = Background(self)
        self._check_later = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._check_later.timeout.connect(self._check)
        self.editor.textEdited.connect(lambda _text: self._edited())
        self.addWidget(self._scroll)
        self.addWidget(self.editor)

    @property
    def is_json(self) -> bool:
        return self.currentWidget() is self.editor

    @property
    def preferred_height(self) -> int:
        """The height that all fields need, in pixels."""
        box = self._scroll.widget()
        layout = box.layout() if box is not None else None
        if self.is_json or box is None or layout is None:
            return JSON_HEIGHT
        height = layout.totalHeightForWidth(max(self._scroll.viewport().width(), 100))
        return (height if height > 0 else box.sizeHint().height()) + 6

    def show_tool(self, tool: Tool | None, arguments: dict[str, Any] | None = None) -> None:
        """Show a tool, with these arguments or none."""
        self._tool = tool
        given = dict(arguments or {})
        names = list(schema.arguments(tool.parameters)) if tool is not None else []
        fields = bool(names) and len(names) <= MAX_FIELDS and not set(given) - set(names)
        plain = tool is None or (not names and not given)
        self._make_rows(names if fields else [], given, tr("No arguments.") if plain and tool else "")
        self.editor.show_text(json.dumps(given, indent=2, ensure_ascii=False))
        self.setCurrentWidget(self._scroll if fields or plain else self.editor)
        self._edited()

    def set_json(self, as_json: bool) -> bool:
        """Show the arguments as JSON, or in fields; False if they do not fit into fields, which a message says."""
        if self._tool is None or as_json == self.is_json:
            return True
        if as_json:
            self.editor.show_text(json.dumps(self.filled(), indent=2, ensure_ascii=False))
            self.setCurrentWidget(self.editor)
            self._edited()
        else:
            try:
                given = self.arguments()
            except ValueError as error:
                self.messageChanged.emit(str(error))
                return False
            names = schema.arguments(self._tool.parameters)
            foreign = [name for name in given if name not in names]
            if foreign or len(names) > MAX_FIELDS:
                self.messageChanged.emit(
                    tr("“{name}” has no field here: edit the arguments as JSON.", name=foreign[0][:60])
                    if foreign
                    else tr("Too many arguments for a form: edit them as JSON.")
                )
                return False
            self.show_tool(self._tool, given)
        return True

    def arguments(self) -> dict[str, Any]:
        """Return the arguments as they would be sent. Raises ValueError, with a message, for invalid JSON."""
        if self.is_json:
            found = parse_object(self.editor.toPlainText())
            if isinstance(found, dict):
                return found
            if found == _NO_OBJECT:
                raise ValueError(tr("Arguments are a JSON object: it starts with “{”."))
            raise ValueError(found.message)
        return self.rows.values()

    def filled(self) -> dict[str, Any]:
        """The values of the fields; the text of a field that is not valid JSON."""
        given = {}
        for name, row in self.rows.by_name.items():
            try:
                value = row.field.value()
            except ValueError:
                assert isinstance(row.field, TextArgument), "only a text may not be JSON"
                value = row.field.toPlainText()
            if value is not MISSING:
                given[name] = value
        return given

    @property
    def is_empty(self) -> bool:
        """Whether all arguments are empty."""
        try:
            return not self.arguments()
        except ValueError:
            return False

    @property
    def needed(self) -> list[str]:
        """The required arguments."""
        return list(schema.required(self._tool.parameters)) if self._tool is not None else []

    def offer_values(self, name: str, values: Sequence[str]) -> None:
        """Show values that the server proposes for an argument."""
        if (suggestions := self._suggestions.get(name)) is not None:
            suggestions.offer(values)

    def _edited(self) -> None:
        """Announce other arguments, and check them soon."""
        self.changed.emit()
        self._check_later.stop()
        self._background.drop("check")
        if self._tool is None:
            return
        try:
            self.arguments()
        except ValueError as error:
            self._show_unreadable()
            self.unreadable.emit(str(error))
        else:
            self._check_later.start()

    def _check(self) -> None:
        if self._tool is not None:
            work = partial(check_arguments, self._tool, self.arguments())
            self._background.start("check", work, self._checked)

    def _checked(self, check: ArgumentProblems) -> None:
        self._show_check(check)
        self.checked.emit(check)

    def _show_unreadable(self) -> None:
        """Mark the fields whose JSON is invalid, or the position of the error in the JSON text."""
        if self.is_json:
            found = parse_object(self.editor.toPlainText())
            self.editor.set_problems([] if isinstance(found, dict) else [found])
        else:
            self.rows.show_unreadable()

    def _show_check(self, check: ArgumentProblems) -> None:
        if self.is_json:
            text = self.editor.toPlainText()
            known = len(text) <= MAX_TEXT and isinstance(parse_object(text), dict)
            problems = ((to_pointer((name,)), words) for name, words in check.by_name.items())
            self.editor.set_problems(located(text if known else "", problems))
        else:
            self.rows.show_check(check)

    def _make_rows(self, names: list[str], given: dict[str, Any], words: str) -> None:
        box = QWidget()
        grid = grid_layout(box, spacing=(12, 5), margins=(0, 2, 6, 2), stretch=1)
        self.rows.clear()
        self._suggestions.clear()
        for index, name in enumerate(names):
            self._add_row(grid, 2 * index, name, given.get(name, MISSING))
        if words:
            label = PlainLabel(words, box, role="muted")
            grid.addWidget(label, 0, 0, 1, 3)
        grid.setRowStretch(2 * len(names) + 1, 1)
        replace_content(self._scroll, box)

    def _add_row(self, grid: QGridLayout, line: int, name: str, value: Any) -> None:
        assert self._tool is not None
        about = schema.arguments(self._tool.parameters).get(name)
        needed = name in schema.required(self._tool.parameters)
        label = _Name(f"{name} *" if needed else name)
        hint = _Name(schema.summary(about, self._tool.parameters), "faint")
        row = self.rows.add(name, about, value)
        field = row.field
        words = about.get("description") if isinstance(about, dict) else None
        words = f"{words[:600]}\n" if isinstance(words, str) else ""
        words += tr("Required in every call.") if needed else tr("Optional: a call may omit it.")
        if self._suggests:
            words += "\n" + tr("Ctrl+Space shows values that the server proposes.")
        field.setToolTip(plain_tip(words))
        field.setAccessibleDescription(visible(words, lines=True))
        label.setBuddy(field)
        column = vbox(label, hint, STRETCH, spacing=0)
        grid.addLayout(column, line, 0)
        grid.addWidget(field, line, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(row.pill, line, 2, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(row.problem, line + 1, 1, 1, 2)
        if self._suggests and isinstance(field, TextArgument):
            suggestions = self._suggestions[name] = Suggestions(field)
            suggestions.requested.connect(lambda asked: self.valuesRequested.emit(name, asked))


TYPED_MS = 250
"""Delay after the last key press before the request to the server."""
MAX_LENGTH = 120
"""Characters of a value in the list; the whole value is inserted."""


class Suggestions(QObject):
    """`requested` carries whether the user pressed Ctrl+Space; `offer` shows the received values."""

    requested = Signal(bool)

    def __init__(self, field: TextArgument) -> None:
        super().__init__(field)
        self._field = field
        self._values: tuple[str, ...] = ()
        self.list: CompletionList | None = None
        self._later = QTimer(self, singleShot=True, interval=TYPED_MS)
        self._later.timeout.connect(lambda: self.requested.emit(False))
        field.installEventFilter(self)
        field.textChanged.connect(self._typed)

    def offer(self, values: Sequence[str]) -> None:
        """Show these values, if the field still has the focus."""
        text = self._field.toPlainText()
        self._values = tuple(values)
        if not self._field.hasFocus() or not values or self._values == (text,):
            self._close()
            return
        if self.list is None:
            self.list = CompletionList(tr("Values proposed by the server"), self._field.window())
            self.destroyed.connect(self.list.deleteLater)
            self.list.taken.connect(self._take)
        corner = self._field.mapTo(self._field.window(), QPoint(0, 0))
        shown = [shorten(visible(value, spaces=True), MAX_LENGTH) for value in values]
        self.list.offer(shown, QRect(corner, self._field.size()))

    def eventFilter(self, _field: QObject, event: QEvent) -> bool:
        """Pass keys to the open list, Esc before any shortcut."""
        kind = event.type()
        if kind in (QEvent.Type.FocusOut, QEvent.Type.Hide, QEvent.Type.Move, QEvent.Type.Resize):
            self._close()
        if not isinstance(event, QKeyEvent) or kind not in (
            QEvent.Type.KeyPress,
            QEvent.Type.ShortcutOverride,
        ):
            return False
        if kind == QEvent.Type.ShortcutOverride:
            if self._is_open and event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
            return False
        if self.list is not None and self.list.takes(event):
            return True
        if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self._later.stop()
            self.requested.emit(True)
            return True
        return False

    @property
    def _is_open(self) -> bool:
        return self.list is not None and self.list.isVisible()

    def _close(self) -> None:
        self._later.stop()
        if self.list is not None:
            self.list.hide()

    def _typed(self) -> None:
        if self._field.hasFocus():
            self._later.start()

    def _take(self, row: int) -> None:
        self._field.setPlainText(self._values[row])
        self._field.moveCursor(QTextCursor.MoveOperation.End)
        self._later.stop()
