"""The fields of the argument form: each shows one value of a schema and reports the user's edits; and their rows of
label, field and badge.

A field emits `edited` with the new value (None removes the keyword), a LineField also `valueRejected` with the reason;
it never rewrites the typed text while that has the same value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from glyphscope.base.json_values import json_or_text
from glyphscope.base.visible import visible
from glyphscope_gui.shared.code_edit import is_undo_key
from glyphscope_gui.shared.json_places import TextProblem, parse_object
from glyphscope_gui.shared.labels import PlainLabel, named, set_role
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout
from glyphscope_gui.shared.plain_text import MAX_FIELD, MAX_ITEMS, MAX_WORDS, cut_at, is_long, plain_tip
from glyphscope_gui.shared.settings_grid import ChoiceSetting, FlagSetting
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit
from glyphscope_gui.shared.verdict import EnforcementBadge
from glyphscope_gui.theme.mixin import WidgetMixin


class _UndoPassedUp(WidgetMixin):
    """A mixin for Qt's fields: passes undo to the registry, as tree, form and text share one history."""

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and is_undo_key(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_undo_key(event):
            event.ignore()
        else:
            super().keyPressEvent(event)


class LineField(_UndoPassedUp, LineEdit):
    """A text on one line."""

    edited = Signal(object)
    valueRejected = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.textEdited.connect(self._edited)

    def show_value(self, value: Any) -> None:
        """Show `value`, unless the present text already has that value. Of one that is too long for a field, the
        beginning is shown, which cannot be edited.
        """
        part = self.part(value)
        self.setReadOnly(part is not None)
        if part is not None:
            self.setText(part)
            self.setCursorPosition(0)
            return
        try:
            if self.text() and self.read(self.text()) == value:
                return
        except ValueError:
            if self.hasFocus():
                return
        self.setText(self.write(value))
        if not self.hasFocus():
            self.setCursorPosition(0)  # show the start of a long text
        self.set_refused(False)

    def read(self, text: str) -> Any:
        """Return the value of a text. Raises ValueError with the reason in words."""
        return text

    def write(self, value: Any) -> str:
        return "" if value is None else str(value)

    def part(self, value: Any) -> str | None:
        """The beginning of a value that is too long for a field; None if all of it can be shown."""
        return cut_at(value, MAX_FIELD) if isinstance(value, str) and len(value) > MAX_FIELD else None

    def set_refused(self, refused: bool) -> None:
        """Mark the field as invalid, for style sheets and screen readers."""
        set_role(self, refused or None, key="refused")

    def _edited(self, text: str) -> None:
        try:
            value = self.read(text) if text else None
        except ValueError as error:
            self.set_refused(True)
            self.valueRejected.emit(str(error))
        else:
            self.set_refused(False)
            self.edited.emit(value)


class NumberField(LineField):
    """A JSON number; with `whole`, a count from 0."""

    def __init__(self, whole: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = whole

    def read(self, text: str) -> int | float:
        text = text.strip()
        try:
            value = json.loads(text, parse_constant=float)
        except ValueError:
            value = None
        if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
            raise ValueError(tr("Not a number."))
        if self._whole and (not isinstance(value, int) or value < 0):
            raise ValueError(tr("Not a count: enter 0 or more."))
        return value


MAX_VALUES = 1_000
"""Values that a field can edit."""


class ValuesField(LineField):
    """A list of values: words separated by commas, or JSON values; `a, b` and `"a", "b"` are the same."""

    def read(self, text: str) -> list[Any]:
        try:
            values: list[Any] = json.loads(f"[{text}]")
        except ValueError:
            values = [json_or_text(part.strip()) for part in text.split(",")]
        if not values or any(value == "" for value in values):
            raise ValueError(tr("A value is missing between commas."))
        return values

    def part(self, value: Any) -> str | None:
        if not isinstance(value, list) or not (len(value) > MAX_VALUES or is_long(value, MAX_WORDS)):
            return None
        shown = cut_at(self.write(value[:MAX_ITEMS]), MAX_FIELD)
        if len(value) <= MAX_ITEMS:
            return shown
        return tr("{values}, … and {count:,} more", values=shown, count=len(value) - MAX_ITEMS)

    def write(self, value: Any) -> str:
        if not isinstance(value, list):
            return ""
        return ", ".join(
            v if isinstance(v, str) and _is_plain(v) else json.dumps(v, ensure_ascii=False) for v in value
        )


def _is_plain(text: str) -> bool:
    """Whether a text without quotes is read unchanged."""
    return text.strip() == text != "" and "," not in text and json_or_text(text) == text


class TextField(_UndoPassedUp, GrowingEdit):
    """A text on up to four lines."""

    edited = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(4, parent)
        self.setUndoRedoEnabled(False)
        self._showing = False
        self.textChanged.connect(self._edited)

    def show_value(self, value: Any) -> None:
        text = cut_at(value, MAX_WORDS) if isinstance(value, str) else ""
        self.setReadOnly(isinstance(value, str) and len(value) > MAX_WORDS)
        if text != self.toPlainText():
            self._showing = True
            self.setPlainText(text)
            self._showing = False

    def _edited(self) -> None:
        if not (self._showing or self.isReadOnly()):
            self.edited.emit(self.toPlainText() or None)


class ObjectField(TextField):
    """A JSON object on up to four lines; empty is None."""

    valueRejected = Signal(object)

    def show_value(self, value: Any) -> None:
        """Show `value`, unless the text has that value, or is being written."""
        try:
            if self.read(self.toPlainText()) in ((value, None) if self.hasFocus() else (value,)):
                return
        except ValueError:
            if self.hasFocus():
                return
        super().show_value(None if value is None else json.dumps(value, ensure_ascii=False))

    def read(self, text: str) -> dict[str, Any] | None:
        """Raises ValueError with the reason in words."""
        if not text.strip():
            return None
        document = parse_object(text)
        if isinstance(document, TextProblem):
            raise ValueError(document.message)
        return document

    def _edited(self) -> None:
        if self._showing or self.isReadOnly():
            return
        try:
            self.edited.emit(self.read(self.toPlainText()))
        except ValueError as error:
            self.valueRejected.emit(str(error))


class ChoiceField(ChoiceSetting):
    """A choice among a few words; the first, `none`, removes the keyword if given. Another value is shown too; choosing
    it again changes nothing.
    """

    def __init__(self, choices: Sequence[str], none: str = "", parent: QWidget | None = None) -> None:
        first = [(None, none, "")] if none else []
        super().__init__([*first, *((choice, choice, "") for choice in choices)], parent)
        self._own = self.count()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(4)

    def _chosen(self, index: int) -> None:
        if index < self._own:
            super()._chosen(index)

    def show_value(self, value: Any, words: str = "") -> None:
        """Show a value; `words` describe one that is not a choice."""
        while self.count() > self._own:
            self.removeItem(self._own)
        place = self.findData(value) if value is None or isinstance(value, str) else -1
        if place < 0:
            words = words or (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            self.addItem(tr("another value") if value is None else words)
            place = self._own
        self.setCurrentIndex(place)


Field: TypeAlias = LineField | TextField | FlagSetting | ChoiceField


FieldT = TypeVar("FieldT", bound=QWidget)


@dataclass(frozen=True)
class KeywordRow(Generic[FieldT]):
    """One row; its parts are shown and hidden together."""

    label: QLabel
    field: FieldT
    badge: EnforcementBadge

    def fit_label(self) -> None:
        """Make the label as high as the field's first line in the present style."""
        self.label.setMinimumHeight(self.field.sizeHint().height())

    def set_visible(self, visible: bool) -> None:
        self.label.setVisible(visible)
        self.field.setVisible(visible)
        if not visible:
            self.badge.set_kind(None)


class FormGrid(QWidget):
    """A form of FormRows. A label is the field's accessible name, and the field is its buddy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[KeywordRow[Any]] = []
        self._grid = grid_layout(self, spacing=(0, 7), stretch=1)
        self._grid.setColumnMinimumWidth(0, 78)

    def add_row(self, text: str, field: FieldT, hint: str = "", *, wide: bool = False) -> KeywordRow[FieldT]:
        """Add a row; a `wide` field also takes the badge's room, for texts that no grammar enforces."""
        label = PlainLabel(text, self, role="muted", toolTip=plain_tip(hint))
        label.setBuddy(field)
        label.setContentsMargins(0, 0, 8, 0)
        named(field, words=text, tip=plain_tip(hint), description=visible(hint, lines=True))
        field.setMinimumWidth(64)
        badge = EnforcementBadge(self)
        row = self._grid.rowCount()
        self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(field, row, 1, 1, 2 if wide else 1)
        self._grid.addWidget(badge, row, 2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._rows.append(form_row := KeywordRow(label, field, badge))
        form_row.fit_label()
        return form_row

    def changeEvent(self, event: QEvent) -> None:
        """Fit the labels: the style decides the height of a one-line field; others are as high as their text."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            for form_row in getattr(self, "_rows", ()):  # Qt may send the event before there are rows
                if not isinstance(form_row.field, GrowingEdit):
                    form_row.fit_label()
