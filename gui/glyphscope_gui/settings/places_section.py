"""The places of files: the folders that are searched for models, and the program's folders, which can be opened."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QListWidget, QPushButton, QWidget

from glyphscope.sessions import Places
from glyphscope.sessions.places import HOME_VARIABLE
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.settings.rows import SettingRow, SettingSection
from glyphscope_gui.shared.dialogs import ask_for_folder
from glyphscope_gui.shared.labels import ElidedLabel, named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.theme import mono_font


class ModelFolders(QWidget):
    """The user's folders with models, which can be added and removed."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.list = named(QListWidget(self), "modelFolderList", tr("Folders with models"))
        self.list.setFont(mono_font(-0.5))
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
        self.path.setFont(mono_font(-0.5))
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
