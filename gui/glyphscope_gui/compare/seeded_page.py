"""The common part of the pages that run requests with several seeds: the fields of both, their buttons, and words."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from glyphscope_gui.shared.labels import ElidedLabel, FittedLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.run_words import MAX_TEMPERATURE
from glyphscope_gui.shared.settings_grid import DecimalSetting
from glyphscope_gui.shared.text_edits import LineEdit


class SeededPage(QWidget):
    """`prefix` begins the objects' names; `run` are the words and the tip of the button. The label `words` has the
    results in sentences, before the first run `first_words`.
    """

    def __init__(
        self, prefix: str, title: str, run: tuple[str, str], first_words: str, parent: QWidget | None
    ) -> None:
        super().__init__(parent)
        named(self, f"{prefix}Page", title)
        self._first_words = first_words
        self.seeds = named(LineEdit(self), f"{prefix}Seeds", tr("Seeds"))
        self.seeds.setMaximumWidth(120)
        tip = tr("At 0 all seeds give the same tokens, so one is run.")
        self.temperature = named(
            DecimalSetting(0, MAX_TEMPERATURE), f"{prefix}Temperature", tr("Temperature"), tip=tip
        )
        self.turn = named(ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted"), f"{prefix}Turn")
        """Shows the current run, or why none could start."""
        name, (words, tip) = f"{prefix}RunButton", run
        self.run_button = push_button(words, self, name=name, role="primary", tip=tip)
        self.stop_button = push_button(
            tr("Stop"), self, name=f"{prefix}StopButton", tip=tr("Stop and keep the finished runs (Esc)")
        )
        self.words = named(FittedLabel(self), f"{prefix}Words")
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.show_words("")

    def show_turn(self, words: str) -> None:
        self.turn.setText(words)

    def show_words(self, words: str) -> None:
        """Show the results; empty before the first run."""
        self.words.setText(words or self._first_words)

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(QSize(400, 360))

    def _run_line(self) -> QHBoxLayout:
        return hbox((self.turn, 1), self.stop_button, self.run_button, spacing=10)
