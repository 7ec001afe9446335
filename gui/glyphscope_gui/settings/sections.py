"""The sections of the settings dialog, with rows of words and a field; search finds both. Each field shows a setting,
and changes it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QBoxLayout, QFrame, QListWidget, QPushButton, QWidget

from glyphscope.events import settings_of
from glyphscope.store import Places, Settings
from glyphscope.store.folders import HOME_VARIABLE
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.dialogs import ask_for_folder
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.settings_grid import ChoiceSetting, FlagSetting, reset_of, setting_row
from glyphscope_gui.theme import mono_font, use_font
from glyphscope_gui.theme.fonts import MONO_FAMILIES, fixed_families
from glyphscope_gui.theme.sizes import PAD, is_crowded

FIELD_WIDTH = 18
"""The width of a field in multiples of an M's, so that fields line up."""
_ANY_WIDTH = 16_777_215
"""Qt's own largest width."""


class SettingRow(QWidget):
    """Words and an explanation on the left, the field on the right, or below if there is no room.

    `follow` shows the settings in the field.
    """

    def __init__(
        self,
        words: str,
        field: QWidget,
        about: str = "",
        parent: QWidget | None = None,
        *,
        wide: bool = False,
    ) -> None:
        super().__init__(parent)
        self.field = field
        self.follow: Callable[[Settings], None] = lambda _settings: None
        self._text = f"{words} {about}".casefold()
        self._wide = wide
        title = PlainLabel(words, self, wordWrap=True)
        title.setBuddy(field)
        if not field.accessibleName():
            field.setAccessibleName(words)
        field.setAccessibleDescription(about)
        words_column = vbox(title, spacing=2)
        if about:
            words_column.addWidget(words_label(about, parent=self))
        words_column.addStretch(1)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 7, 0, 7)
        self._row.setSpacing(18)
        self._row.addLayout(words_column, 1)
        for reset in reset_of(field):
            self._row.addWidget(reset, 0, Qt.AlignmentFlag.AlignTop)
        self._row.addWidget(field)
        self.fit()

    def matches(self, word: str) -> bool:
        return word.casefold() in self._text

    def fit(self) -> None:
        """Fit the row after a change of the window's size or the text size."""
        below = self._wide or is_crowded(self)
        direction = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
        if self._row.direction() != direction:
            self._row.setDirection(direction)
        self._row.setSpacing(6 if below else 18)
        top = Qt.AlignmentFlag.AlignTop
        self._row.setAlignment(self.field, Qt.AlignmentFlag(0) if below else top)
        if not self._wide:
            width = round(self.fontMetrics().horizontalAdvance("M") * FIELD_WIDTH)
            self.field.setMinimumWidth(0 if below else width)
            self.field.setMaximumWidth(_ANY_WIDTH if below else width)


class SettingSection(QWidget):
    """A card of rows. `name` is its entry in the list."""

    def __init__(self, title: str, rows: tuple[SettingRow, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.rows = rows
        self._lines: list[QFrame] = []
        body = QWidget(self)
        column = vbox(parent=body, spacing=0)
        for number, row in enumerate(rows):
            if number:
                line = named(QFrame(body), "cardLine")
                self._lines.append(line)
                column.addWidget(line)
            column.addWidget(row)
        hbox(Card(title, body, parent=self), parent=self, margins=(PAD, 0))

    def show_matching(self, word: str) -> bool:
        """Show only the rows that contain the word, or all if the title does. Return whether there are any."""
        all_ = word.casefold() in self.title.casefold()
        shown = [all_ or row.matches(word) for row in self.rows]
        for row, seen in zip(self.rows, shown, strict=True):
            row.setVisible(seen)
        for line, before, after in zip(self._lines, range(len(shown)), shown[1:], strict=False):
            line.setVisible(after and any(shown[: before + 1]))
        self.setVisible(any(shown))
        return any(shown)


def appearance(store: SettingsStore) -> SettingSection:
    """Colours and fonts."""
    code = ChoiceSetting([("", _own_font(), ""), *((family, family, "") for family in fixed_families())])
    font = _followed(
        store, "code_font", tr("Font of code"), code, tr("For prompts, calls, tokens and grammars.")
    )
    return SettingSection(tr("Appearance"), (*_rows(store, "theme", "font_size"), font))


def new_projects(store: SettingsStore) -> SettingSection:
    """The defaults of File > New; the header changes an open project."""
    names = ("context", "read_ahead", "notation", "shape", "constraint", "seed", "temperature")
    return SettingSection(tr("Models and new projects"), _rows(store, *names))


def limits(store: SettingsStore) -> SettingSection:
    """Limits on amounts."""
    names = ("history_limit", "prompt_cache_mb", "alternatives", "max_tokens", "call_bytes", "result_bytes")
    return SettingSection(tr("Limits"), _rows(store, *names))


def _own_font() -> str:
    here = next((family for family in MONO_FAMILIES if family in fixed_families()), "")
    return tr("Auto: {font}", font=here) if here else tr("Automatic")


def _rows(store: SettingsStore, *names: str) -> tuple[SettingRow, ...]:
    """The rows of these settings."""
    rows = []
    for name in names:
        title, make, tip = setting_row(settings_of(Settings)[name])
        field = make()
        if isinstance(field, FlagSetting):  # the title is beside it
            field.setText(tr("On"))
        rows.append(_followed(store, name, title, field, f"{tip}." if tip else ""))
    return tuple(rows)


def _followed(store: SettingsStore, name: str, words: str, field: Any, about: str) -> SettingRow:
    """`field` shows the setting of that name, even after changes elsewhere, and sets it."""
    field.setObjectName(f"{name}Setting")

    def follow(settings: Settings) -> None:
        field.show_value(getattr(settings, name))

    follow(store.value)
    field.edited.connect(lambda value: store.update(**{name: value}))
    row = SettingRow(words, field, about)
    row.follow = follow
    return row


class ModelFolders(QWidget):
    """The user's folders with models, which can be added and removed."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.list = named(QListWidget(self), "modelFolderList", tr("Folders with models"))
        use_font(self.list, mono_font, -0.5)
        self.add_button = QPushButton(tr("&Add a folder…"), self)
        self.remove_button = QPushButton(tr("&Remove"), self)
        row = hbox(self.add_button, self.remove_button, STRETCH, spacing=8)
        vbox(self.list, row, parent=self, spacing=8)
        self.add_button.clicked.connect(self._ask)
        self.remove_button.clicked.connect(self._remove)
        self.list.itemSelectionChanged.connect(self._show_buttons)
        self._show()

    def add(self, folder: str) -> None:
        """Add a folder that is searched for models."""
        folder = str(Path(folder))
        if folder not in self._store.value.model_folders:
            self._store.update(model_folders=(*self._store.value.model_folders, folder))
            self._show()

    def _show(self) -> None:
        self.list.clear()
        self.list.addItems(list(self._store.value.model_folders))
        self.list.setVisible(self.list.count() > 0)
        lines = min(max(self.list.count(), 1), 4)
        self.list.setFixedHeight(lines * (self.list.sizeHintForRow(0) if self.list.count() else 0) + 8)
        self._show_buttons()

    def _show_buttons(self) -> None:
        self.remove_button.setEnabled(bool(self.list.selectedItems()))

    def _ask(self) -> None:
        ask_for_folder(self, tr("A folder with models"), lambda path: self.add(str(path)))

    def _remove(self) -> None:
        chosen = {item.text() for item in self.list.selectedItems()}
        self._store.update(model_folders=tuple(f for f in self._store.value.model_folders if f not in chosen))
        self._show()


class FolderLine(QWidget):
    """A path, and a button that opens its folder; an error replaces the path."""

    def __init__(self, name: str, path: Path, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self.path = ElidedLabel(self)
        self.path.setText(str(path))
        use_font(self.path, mono_font, -0.5)
        self.button = push_button(tr("Open folder"), self, spoken=tr("Open the folder: {name}", name=name))
        self.problem = words_label(role="problem", parent=self)
        self.problem.hide()
        row = hbox((self.path, 1), self.button, spacing=12)
        vbox(row, self.problem, parent=self, spacing=4)
        self.button.clicked.connect(self.open)

    def open(self) -> None:
        """Open the folder in the system's file manager; a missing folder is created."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._show_problem(tr("The folder cannot be created: {why}.", why=error.strerror or error))
            return
        if QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder))):
            self.problem.hide()
        else:
            self._show_problem(tr("No file manager was found."))

    def _show_problem(self, words: str) -> None:
        self.problem.setText(words)
        self.problem.show()


def places_section(store: SettingsStore, home: Places) -> SettingSection:
    """`home` has the places of this window's files."""
    about = tr("The environment variable {variable} moves all of them to one folder.", variable=HOME_VARIABLE)
    return SettingSection(
        tr("Folders"),
        (
            SettingRow(
                tr("Folders with models"),
                ModelFolders(store),
                tr(
                    "Searched in addition to Glyphscope’s folder and those of Hugging Face, LM Studio "
                    "and Ollama."
                ),
                wide=True,
            ),
            *(
                SettingRow(name, FolderLine(name, path, folder), hint, wide=True)
                for name, path, folder, hint in _lines(home)
            ),
            SettingRow(tr("Location"), words_label(about), wide=True),
        ),
    )


def _lines(home: Places) -> list[tuple[str, Path, Path, str]]:
    """The name, the shown path, the folder to open, and its content."""
    return [
        (tr("Models"), home.models, home.models, tr("GGUF files in this folder are listed as models.")),
        (tr("Results of evaluations"), home.results, home.results, ""),
        (
            tr("Files of the demo tools"),
            home.scratch,
            home.scratch,
            tr("The only files that the demo tools can read and write."),
        ),
        (tr("History"), home.history, home.history.parent, ""),
        (tr("Settings"), home.settings, home.settings.parent, ""),
        (tr("Evaluated prompts"), home.prompts, home.prompts, ""),
        (tr("Unsaved edits"), home.journal, home.journal, ""),
        (tr("Crash reports"), home.logs, home.logs, ""),
    ]
