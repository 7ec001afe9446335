"""The rule that a token belongs to: its name leads to the grammar page, and beside it stands where it comes from."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope_gui.runs.token_rules import TokenRule
from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox


class RuleLine(QWidget):
    """Hidden while nothing is known. `chosen` carries the rule's name."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.link = ElidedLink(self)
        self.link.setObjectName("ruleLink")
        self.origin = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        hbox(self.link, (self.origin, 1), parent=self, spacing=8)
        self.link.clicked.connect(lambda: self.chosen.emit(self.link.words))
        self.hide()

    def show_rule(self, rule: TokenRule | None) -> None:
        """A token that no rule read is told so in words."""
        self.setVisible(rule is not None)
        if rule is None:
            return
        self.link.setVisible(bool(rule.rule))
        self.link.set_words(rule.rule)
        self.link.setToolTip(
            tr("{rule}\n{origin}\nClick to show it on the Grammar page.", rule=rule.rule, origin=rule.words)
        )
        self.origin.setText((rule.constraint or rule.words) if rule.rule else rule.words)
