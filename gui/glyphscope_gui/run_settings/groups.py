"""A form of many settings in groups that fold, with a field that finds some. A row is made when it is first shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from glyphscope_gui.run_settings.options import Group
from glyphscope_gui.shared.card import FoldingSection
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.settings_grid import FormRow, SettingsGrid
from glyphscope_gui.shared.text_edits import LineEdit


class _Section(FoldingSection):
    """The rows of a group, with the group's changes beside its title; `unfolded` is what the user chose."""

    def __init__(self, group: Group, lead: QWidget | None, parent: QWidget) -> None:
        self.group, self.unfolded = group, group.is_open or not group.title
        self.grid = SettingsGrid(2)
        body = QWidget()
        vbox(*(part for part in (lead, self.grid) if part is not None), parent=body, spacing=8)
        super().__init__(group.title, body, indent=14 if group.title else 0, parent=parent)
        self.button.setVisible(bool(group.title))
        self.hint.setVisible(bool(group.title))


class SettingGroups(QWidget):
    """`made` carries the name of a row whose field was just made, `resized` says that other rows are shown."""

    made = Signal(str)
    resized = Signal()

    def __init__(
        self,
        groups: Iterable[Group],
        rows: Mapping[str, FormRow],
        *,
        leads: Mapping[str, QWidget] | None = None,
        noted: Collection[str] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._rows, self._noted = rows, noted
        self.names = frozenset(rows)
        self._relevant: Collection[str] = self.names
        self.fields: dict[str, QWidget] = {}
        """The fields that were made so far, by the names of their rows."""
        self.notes: dict[str, QLabel] = {}
        """The labels beside the fields that are `noted`."""
        self.finder = named(
            LineEdit(placeholderText=tr("Find a setting")), "settingsFilter", tr("Find a setting")
        )
        self.finder.setClearButtonEnabled(True)
        self.finder.textChanged.connect(self.refresh)
        self.nothing = PlainLabel(tr("No setting has these words."), role="muted")
        self._sections = [_Section(group, (leads or {}).get(group.title), self) for group in groups]
        for section in self._sections:
            section.button.clicked.connect(lambda is_open, each=section: self._unfold(each, is_open))
        vbox(*self._sections, self.nothing, parent=self, spacing=9)

    def show_names(self, names: Collection[str]) -> None:
        """Show only these rows while none are sought."""
        if names != self._relevant or not self.fields:
            self._relevant = names
            self.refresh()

    def show_changes(self, words: Mapping[str, str]) -> None:
        """Show the words for each changed setting beside the heading of its group."""
        for section in self._sections:
            section.set_hint(", ".join(words[name] for name in section.group.names if name in words))

    def field(self, name: str) -> QWidget:
        """The field of that row, which is made if it was not shown yet."""
        if name not in self.fields:
            section = next(each for each in self._sections if name in each.group.names)
            self._make(section, [name])
        return self.fields[name]

    def open(self, *names: str) -> None:
        """Unfold the groups of these settings."""
        for section in self._sections:
            section.unfolded |= not set(names).isdisjoint(section.group.names)
        self.refresh()

    def set_editable(self, editable: bool) -> None:
        """Enable the settings, or only show them: groups still fold, and settings are found."""
        for section in self._sections:
            section.body.setEnabled(editable)

    def _unfold(self, section: _Section, is_open: bool) -> None:
        section.unfolded = is_open
        self.refresh()

    def refresh(self) -> None:
        """Show the rows that are relevant or sought, and the notes that have words."""
        sought = self.finder.text().casefold().split()
        found = False
        for section in self._sections:
            names = [name for name in section.group.names if self._is_shown(section.group, name, sought)]
            section.setVisible(bool(names))
            found = found or bool(names)
            is_open = bool(names) and (section.unfolded or bool(sought))
            if is_open:
                self._make(section, names)
                section.grid.show_only([self.fields[name] for name in names])
            section.show_open(is_open)
        self.nothing.setVisible(not found)
        self.resized.emit()

    def _is_shown(self, group: Group, name: str, sought: list[str]) -> bool:
        if not sought:
            return name in self._relevant
        row = self._rows[name]
        words = f"{group.title} {row.title} {row.tip} {name}".casefold()
        return all(re.search(rf"(?<!\w){re.escape(each)}", words) for each in sought)

    def _make(self, section: _Section, names: Iterable[str]) -> None:
        for name in names:
            if name in self.fields:
                continue
            title, make, tip = self._rows[name]
            field = self.fields[name] = named(make(), f"option_{name}")
            section.grid.add_field(title, field, tip)
            if name in self._noted:
                self.notes[name] = section.grid.add_note(PlainLabel(self))
            self.made.emit(name)


def heading(groups: SettingGroups, *buttons: QPushButton) -> QWidget:
    """The line above the groups: the field that finds settings, and buttons."""
    line = QWidget()
    hbox((groups.finder, 1), *buttons, parent=line, spacing=10)
    return line
