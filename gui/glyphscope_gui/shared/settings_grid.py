"""A compact form in pairs of columns, and its fields: user edits emit `edited`, showing a value emits no signal.

`setting_field` makes the field of a setting; its title, hint, bounds and choices are stated with the setting. Beside a
field that does not have the setting's default is a button that restores it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QLabel, QSizePolicy, QWidget

from glyphscope.base.figures import percent
from glyphscope.events import Choice, Field, pairs_line, settings_of, wrong_value
from glyphscope.runs.sampling import text_lines, typed_texts
from glyphscope_gui.shared.fields import DecimalBox, WholeBox
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.labels import PlainLabel, named, set_role
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.layouts import LeavesWheel, Part, grid_layout, hbox, holder
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit
from glyphscope_gui.theme.mixin import WidgetMixin
from glyphscope_gui.theme.sizes import letters

_MOST = 2**31 - 1
"""The largest number of Qt's own field."""
_GAP = 10
"""Pixels between a label and its field, and between columns of the form."""
_NARROW = 112
"""Pixels of a number's field that are enough for eight digits."""
_FIRST_LINE = 7
"""Pixels from the edge of a multi-line field to its first line."""


class FormRow(NamedTuple):
    """`make` makes the field, one of this module's."""

    title: str
    make: Callable[[], Any]
    tip: str


class _Row(NamedTuple):
    """The widgets of one row, in `columns` columns of the form: `beside` is absent for a check box and for a `note`."""

    field: QWidget
    first: QWidget
    beside: QWidget | None = None
    columns: int = 1
    note: QLabel | None = None

    @property
    def has_words(self) -> bool:
        return self.note is None or bool(self.note.text())


class SettingsGrid(QWidget):
    """Rows of label and field, `columns` of them side by side."""

    def __init__(self, columns: int = 2, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns = columns
        self._cells = 0
        self._rows: list[_Row] = []
        self._grid = grid_layout(self, spacing=(0, 6))  # a reset button is in the gap between label and field
        for column in range(columns):
            self._grid.setColumnStretch(column * 2 + 1, 1)
            if column:
                self._grid.setColumnMinimumWidth(column * 2, 20)

    def add(self, words: str, field: QWidget, tip: str = "", *, wide: bool = False) -> None:
        """Add a labelled field; a `wide` field gets a whole row."""
        label = PlainLabel(words, self, role="muted")
        label.setBuddy(field)
        field.setAccessibleName(words)
        for widget in (label, field):
            widget.setToolTip(tip)
        field.setAccessibleDescription(tip)
        place = Qt.AlignmentFlag.AlignVCenter
        if isinstance(field, GrowingEdit):
            place = Qt.AlignmentFlag.AlignTop
            label.setContentsMargins(0, _FIRST_LINE, 0, 0)
        self._add(field, (label, 1, place), reset_of(field), field, self._columns if wide else 1)

    def add_note(self, note: QLabel) -> QLabel:
        """Add a label for words beside the previous field, if there are any."""
        note.setProperty("role", "hint")
        self._add(self._rows[-1].field, (note, 1), (), note=note)
        return note

    def add_setting(self, setting: Field, field: QWidget) -> None:
        """Add the field of a setting with its title and hint."""
        self.add_field(in_language(setting.setting.title), field, setting_tip(setting))

    def add_field(self, words: str, field: QWidget, tip: str) -> None:
        """Add a field: a check box has its title beside it, and a text gets a whole row."""
        if isinstance(field, QCheckBox):
            self.add_check(field, tip)
        else:
            self.add(words, field, tip, wide=getattr(field, "is_wide", False))

    def add_check(self, field: QCheckBox, tip: str = "") -> None:
        """Add a check box with its words beside it."""
        named(field, tip=tip, description=tip)
        self._add(field, (field, 1), reset_of(field))

    def show_only(self, fields: Sequence[QWidget]) -> None:
        """Place the rows of these fields, in this order, with the notes that have words, and hide the others."""
        while self._grid.count():
            self._grid.takeAt(0)
        self._cells = 0
        for row in self._rows:
            for widget in filter(None, (row.first, row.beside)):
                widget.setVisible(row.field in fields and row.has_words)
        for field in fields:
            for row in self._rows:
                if row.field is field and row.has_words:
                    self._place(row)

    def _add(
        self,
        field: QWidget,
        part: Part,
        reset: tuple[QWidget, ...],
        beside: QWidget | None = None,
        columns: int = 1,
        note: QLabel | None = None,
    ) -> None:
        row = _Row(field, holder(hbox(part, *reset, spacing=0), self), beside, columns, note)
        self._rows.append(row)
        self._place(row)

    def _place(self, row: _Row) -> None:
        if row.columns > 1 and self._cells % self._columns:
            self._cells += self._columns - self._cells % self._columns
        line, column = divmod(self._cells, self._columns)
        layout = row.first.layout()
        assert layout is not None
        # a reset button, or a gap of nearly its width
        layout.setContentsMargins(_GAP * bool(column), 0, 0 if layout.count() > 1 else _GAP, 0)
        if row.beside is None:
            self._grid.addWidget(row.first, line, column * 2, 1, 2)
        else:
            self._grid.addWidget(row.first, line, column * 2)
            self._grid.addWidget(row.beside, line, column * 2 + 1, 1, row.columns * 2 - 1)
        self._cells += row.columns


class StructForm(QWidget):
    """A field for each of several members of a struct; `chosen` carries the struct after an edit."""

    chosen = Signal(object)

    def __init__(self, settings: msgspec.Struct, columns: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings: Any = settings
        self._fields: dict[str, Any] = {}
        self.grid = SettingsGrid(columns, self)

    @property
    def settings(self) -> Any:
        """The shown settings."""
        return self._settings

    def show_settings(self, settings: Any) -> None:
        """Show the settings without `chosen`."""
        self._settings = settings
        for name, field in self._fields.items():
            field.show_value(getattr(settings, name))

    def field(self, name: str) -> Any:
        """Return the field of that setting."""
        return self._fields[name]

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields by the names of their settings."""
        return self._fields

    def add_settings(self, *names: str) -> None:
        """Add the fields of these members; by default, of all that are settings."""
        fields = settings_of(type(self._settings))
        for name in names or fields:
            self.add_setting(fields[name])

    def add_setting(self, setting: Field) -> None:
        """Add the field of a member that is a setting."""
        field = setting_field(setting)
        self.grid.add_setting(setting, field)
        self._follow(setting.name, field)

    def _add(self, name: str, title: str, field: Any, tip: str) -> None:
        self.grid.add(title, field, tip)
        self._follow(name, field)

    def _follow(self, name: str, field: Any) -> None:
        self._fields[name] = field
        field.edited.connect(lambda value: self._set(name, value))

    def _set(self, name: str, value: Any) -> None:
        self._notify(msgspec.structs.replace(self._settings, **{name: value}))

    def _notify(self, settings: Any) -> None:
        self.show_settings(settings)
        self.chosen.emit(settings)


class ResetButton(IconButton):
    """Restores the usual value of a setting's field, and is visible while the field has another one."""

    def __init__(self, field: OfSetting, setting: Field) -> None:
        super().__init__("reset", None, field)
        self._title = in_language(setting.setting.title)
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.clicked.connect(field.restore)
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(16, 18) * letters(self)

    def show_usual(self, words: str, *, needed: bool) -> None:
        words = tr("Reset “{setting}” to {value}", setting=self._title, value=words)
        named(self, words=words, tip=plain_tip(words))
        self.setVisible(needed)


class OfSetting(WidgetMixin):
    """The common part of the fields that can show a setting, mixed into Qt's; subclasses have the signal `edited`."""

    edited: Any
    is_wide = False
    """Whether a form gives it a whole row."""
    _setting: Field | None = None
    _value: Any = None
    _usual: Any = None
    reset: ResetButton | None = None
    """The button that restores the usual value, which a form places; None for a field without a setting."""

    def of_setting(self, setting: Field) -> None:
        """Show and report values as the setting has them, such as None for no limit."""
        self._setting, self._value = setting, setting.default
        self.reset = ResetButton(self, setting)
        self.set_usual(setting.default)
        self.edited.connect(self._shows)

    @property
    def shown_value(self) -> Any:
        """The value that is shown, or was edited since."""
        return self._value

    def set_usual(self, value: Any) -> None:
        """Set the value that the button restores, by default the setting's own."""
        self._usual = value
        self._show_reset()

    def show_value(self, value: Any) -> None:
        """Show a value, without a signal."""
        raise NotImplementedError

    def restore(self) -> None:
        """Restore the usual value, as an edit."""
        self.show_value(self._usual)
        self.edited.emit(self._usual)
        self.setFocus(Qt.FocusReason.OtherFocusReason)  # the button is gone

    def _shows(self, value: Any) -> None:
        self._value = value
        self._show_reset()

    def _show_reset(self) -> None:
        if self.reset is not None and self._setting is not None:
            needed = self._value != self._usual and self.isEnabled()
            self.reset.show_usual(shown_words(self._setting, self._usual), needed=needed)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange:
            self._show_reset()


class _Number(OfSetting, LeavesWheel):
    """The common part of both number fields, mixed into one of Qt's spin boxes."""

    _shown: float

    def _set_up(self: Any) -> None:
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(5, 0, 0, 0)
        self._shown = self.value()
        self.valueChanged.connect(self._changed)

    def show_value(self: Any, value: Any) -> None:
        """Show the nearest value that the box can show, as a file may contain any; without a signal."""
        self._shows(value)
        value = self._written(value)
        value = min(max(value, self.minimum()), self.maximum())
        self._shown = round(value, self.decimals()) if isinstance(self, QDoubleSpinBox) else round(value)
        self.setValue(self._shown)

    def _changed(self, value: float) -> None:
        if value != self._shown:
            self._shown = value
            self.edited.emit(self._read(value))

    def _written(self, value: Any) -> Any:
        if self._setting is None:
            return value
        return value * 100 if self._setting.is_share else self._setting.written(value)

    def _read(self, value: Any) -> Any:
        if self._setting is None:
            return value
        return value / 100 if self._setting.is_share else self._setting.read(value)


class NumberSetting(_Number, WholeBox):
    """A whole number; `edited` is emitted after an edit by the user."""

    edited = Signal(object)

    def __init__(self, least: float, most: float, suffix: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(math.ceil(max(least, -_MOST)), math.floor(min(most, _MOST)))
        self.setSuffix(suffix)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._set_up()

    def minimumSizeHint(self) -> QSize:
        """Where there is little room, less than the greatest number needs: such as a seed of ten digits."""
        return super().minimumSizeHint().boundedTo(QSize(round(_NARROW * letters(self)), _MOST))


class DecimalSetting(_Number, DecimalBox):
    """A number with two decimal places; `edited` is emitted after an edit by the user."""

    edited = Signal(object)

    def __init__(self, least: float, most: float, step: float = 0.1, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(least, most)
        self.setSingleStep(step)
        self._set_up()


class ChoiceSetting(OfSetting, LeavesWheel, QComboBox):
    """One of a few choices; `choices` are the value, words and tip of each."""

    edited = Signal(object)

    def __init__(self, choices: Sequence[tuple[Any, str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        for value, words, tip in choices:
            self.addItem(words, value)
            self.setItemData(self.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.activated.connect(self._chosen)

    def _chosen(self, index: int) -> None:
        self.edited.emit(self.itemData(index))

    def show_value(self, value: Any) -> None:
        self._shows(value)
        index = next((index for index in range(self.count()) if self.itemData(index) == value), -1)
        if index < 0:  # from a project of a newer version
            self.addItem(str(value), value)
            index = self.count() - 1
        self.setCurrentIndex(index)


class FlagSetting(OfSetting, QCheckBox):
    """On or off; any value but True is off."""

    edited = Signal(object)

    def __init__(self, words: str = "", parent: QWidget | None = None) -> None:
        super().__init__(words, parent)
        self.clicked.connect(lambda checked: self.edited.emit(bool(checked)))

    def show_value(self, value: Any) -> None:
        self._shows(value)
        self.setChecked(value is True)


class TextSetting(OfSetting, LineEdit):
    """A line with a value: `edited` when editing ends; while invalid it is marked, with the reason as its hint."""

    edited = Signal(object)
    is_wide = True

    def __init__(self, read: Callable[[str], Any], write: Callable[[Any], str], hint: str = "") -> None:
        super().__init__()
        self._read, self._write = read, write
        self._shown = ""
        self.setPlaceholderText(hint)
        self.editingFinished.connect(self._finished)

    def show_value(self, value: Any) -> None:
        self._shows(value)
        self._shown = self._write(value)
        if not self.hasFocus() or not self.property("refused"):
            self.setText(self._shown)
            self.setCursorPosition(0)
            mark_refused(self, "")

    def _finished(self) -> None:
        if self.text() == self._shown:
            mark_refused(self, "")
            return
        try:
            value = self._read(self.text())
        except ValueError as error:
            mark_refused(self, str(error))
            return
        mark_refused(self, "")
        self._shown = self.text()
        self._shows(value)
        self.edited.emit(value)


class LinesSetting(OfSetting, GrowingEdit):
    """Lines with a value; `edited` while the user types, if the value is valid."""

    edited = Signal(object)
    is_wide = True

    def __init__(self, read: Callable[[str], Any], write: Callable[[Any], str], hint: str = "") -> None:
        super().__init__(5)
        self._read, self._write = read, write
        self._showing = self._was_shown = False
        self.setPlaceholderText(hint)
        self.textChanged.connect(self._changed)

    def show_value(self, value: Any) -> None:
        if value == self._value and self._was_shown and not self.property("refused"):
            return
        self._shows(value)
        self._was_shown = True
        self._showing = True
        self.setPlainText(self._write(value))
        self._showing = False
        mark_refused(self, "")

    def _changed(self) -> None:
        if self._showing:
            return
        try:
            value = self._read(self.toPlainText())
        except ValueError as error:
            mark_refused(self, str(error))
            return
        mark_refused(self, "")
        if value != self._value:
            self._shows(value)
            self.edited.emit(value)


SettingField: TypeAlias = NumberSetting | DecimalSetting | ChoiceSetting | FlagSetting | LinesSetting


def setting_field(setting: Field, parent: QWidget | None = None) -> SettingField:
    """The field for a setting's values; its title and hint are added with it to a form."""
    field = _field_of(setting, parent)
    field.of_setting(setting)
    return field


def _field_of(setting: Field, parent: QWidget | None) -> SettingField:
    stated = setting.setting
    if stated.choices:
        return ChoiceSetting(translated(stated.choices), parent)
    if setting.kind is bool:
        return FlagSetting(in_language(stated.title))
    if setting.is_list:
        lines = LinesSetting(partial(_read_texts, setting), _lines, tr("none; one per line"))
        lines.setParent(parent)
        return lines
    if setting.is_share:
        return NumberSetting(stated.least * 100, stated.most * 100, stated.unit, parent)
    if setting.kind is float and stated.step < 1:
        field: NumberSetting | DecimalSetting = DecimalSetting(
            stated.least, stated.most, stated.step or 0.1, parent
        )
    else:
        least = setting.least if stated.is_bounded else 0
        field = NumberSetting(least, stated.most, _unit(setting), parent)
        field.setSingleStep(round(stated.step) or 1)
    if _is_special(setting):
        field.setSpecialValueText(in_language(stated.special_words))
    return field


def _read_texts(setting: Field, typed: str) -> tuple[str, ...]:
    """The texts of a setting, one per line. Raises ValueError with the problem in words."""
    texts = typed_texts(typed.splitlines())
    if problem := wrong_value(setting, texts):
        raise ValueError(problem)
    return texts


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(text_lines(texts))


def _unit(setting: Field) -> str:
    return f" {in_language(setting.setting.unit)}" if setting.setting.unit else ""


def shown_words(setting: Field, value: Any) -> str:
    """A value of a setting in the words of its field: `512`, `no limit`, `30%`."""
    stated = setting.setting
    for choice in stated.choices:
        if choice.value == value:
            return in_language(choice.title)
    if setting.kind is bool:
        return tr("on") if value else tr("off")
    if stated.special is not UNSET and value == stated.special:
        return in_language(stated.special_words)
    if setting.is_list:
        return " ".join(text_lines(value)) or tr("none")
    if setting.is_mapping:
        return pairs_line(value) or tr("none")
    if setting.is_share:
        return percent(value, 0)
    return f"{value:,}{_unit(setting)}" if isinstance(value, int | float) else str(value)


def reset_of(field: QWidget) -> tuple[QWidget, ...]:
    """The button that restores the usual value of a setting's field, to place beside it; none for another field."""
    return (field.reset,) if isinstance(field, OfSetting) and field.reset is not None else ()


def setting_row(setting: Field) -> FormRow:
    """The row of a form for a setting."""
    return FormRow(in_language(setting.setting.title), partial(setting_field, setting), setting_tip(setting))


def setting_tip(setting: Field) -> str:
    """Its hint, with its special value if its field does not name it."""
    stated = setting.setting
    about = in_language(stated.about)
    if stated.special is UNSET or stated.choices or setting.is_list or _is_special(setting):
        return about
    return tr(
        "{about}; {value} is {state}",
        about=about,
        value=f"{stated.special:g}",
        state=in_language(stated.special_words),
    )


def translated(choices: Iterable[Choice]) -> list[tuple[Any, str, str]]:
    """The choices in the language of the window: the value, title and hint of each."""
    return [(each.value, in_language(each.title), in_language(each.about)) for each in choices]


def _is_special(setting: Field) -> bool:
    """Whether its lowest value is the special one, so that the field shows words in its place."""
    return setting.setting.special is not UNSET and setting.written(setting.setting.special) == setting.least


def mark_refused(field: QWidget, reason: str) -> None:
    """Mark a field as invalid, with `reason` as its hint; an empty `reason` restores its usual hint."""
    set_role(field, bool(reason), key="refused")
    field.setToolTip(plain_tip(reason or field.accessibleDescription()))
