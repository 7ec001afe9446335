"""The few settings there are: looks, where models are, how much context they get. What is set holds at once."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QListWidget,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from glyphscope_gui.settings.settings_store import SettingsStore

THEMES = (("system", "As the system"), ("light", "Light"), ("dark", "Dark"))
CONTEXTS = (512, 131_072)
"""Tokens; models of today have up to 128 k, and less than 512 holds no prompt with tools."""


class SettingsDialog(QDialog):
    """Edits a SettingsStore directly; open it with `open()`, it deletes itself."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.setObjectName("settingsDialog")
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.theme_combo = QComboBox(self)
        for name, words in THEMES:
            self.theme_combo.addItem(words, name)
        self.font_spin = QSpinBox(self, minimum=0, maximum=32, specialValueText="as the system", suffix=" pt")
        self.context_spin = QSpinBox(
            self,
            minimum=CONTEXTS[0],
            maximum=CONTEXTS[1],
            singleStep=512,
            groupSeparatorShown=True,
            suffix=" tokens",
        )
        self.folder_list = QListWidget(self)
        self.folder_list.setAccessibleName("Folders with models")
        self.folder_list.setMaximumHeight(110)
        self._lay_out()
        self._show()
        self.theme_combo.activated.connect(self._set_theme)
        self.font_spin.valueChanged.connect(self._set_font_size)
        self.context_spin.valueChanged.connect(self._set_context)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(18)
        form.setVerticalSpacing(12)
        form.addRow("Colours", self.theme_combo)
        form.addRow("Text size", self.font_spin)
        form.addRow("Context", self.context_spin)
        self.context_spin.setToolTip(
            "How many tokens of prompt and answer a model is opened for; more takes memory."
        )
        form.addRow("Model folders", self.folder_list)
        row = QHBoxLayout()
        row.setSpacing(8)
        add, remove = QPushButton("Add a folder…", self), QPushButton("Remove", self)
        add.clicked.connect(self._ask_for_folder)
        remove.clicked.connect(self._remove_folder)
        row.addWidget(add)
        row.addWidget(remove)
        row.addStretch(1)
        form.addRow("", row)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 18)
        layout.setSpacing(16)
        layout.addLayout(form)
        layout.addWidget(buttons)
        self.setMinimumWidth(440)

    def _show(self) -> None:
        value = self._store.value
        self.theme_combo.setCurrentIndex(self.theme_combo.findData(value.theme))
        self.font_spin.setValue(value.font_size)
        self.context_spin.setValue(value.context)
        self.folder_list.clear()
        self.folder_list.addItems(list(value.model_folders))

    def _set_theme(self, place: int) -> None:
        self._store.update(theme=self.theme_combo.itemData(place))

    def _set_font_size(self, size: int) -> None:
        self._store.update(font_size=size)

    def _set_context(self, tokens: int) -> None:
        self._store.update(context=tokens)

    def _ask_for_folder(self) -> None:
        dialog = QFileDialog(self, "A folder with models")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self.add_folder)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def add_folder(self, folder: str) -> None:
        """One more folder to look for models in."""
        folder = str(Path(folder))
        if folder not in self._store.value.model_folders:
            self._store.update(model_folders=(*self._store.value.model_folders, folder))
            self._show()

    def _remove_folder(self) -> None:
        entry = self.folder_list.currentItem()
        if entry is not None:
            folders = tuple(f for f in self._store.value.model_folders if f != entry.text())
            self._store.update(model_folders=folders)
            self._show()
