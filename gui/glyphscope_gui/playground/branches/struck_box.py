"""Why the constraint refuses what the user wants to put somewhere, and what can be given up for it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QVBoxLayout, QWidget

from glyphscope_gui.playground.branches.refusal_text import LOOKING, Struck
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.text_label import words_label


class StruckBox(QFrame):
    """Hidden while nothing is refused. `relaxWanted` carries what is to be relaxed, `freeWanted` means all of it.

    The buttons are called after `name`, as there is one box for alternatives and one for typed texts.
    """

    relaxWanted = Signal(object)
    freeWanted = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("struckBox")
        self._struck = Struck()
        self.reason = words_label(role="", parent=self, name=f"{name}Reason", selectable=True)
        self.relax_button = QPushButton(tr("Relax this constraint\nand continue"), self)
        self.relax_button.setObjectName(f"{name}RelaxButton")
        self.relax_button.clicked.connect(lambda _checked=False: self.relaxWanted.emit(self._struck.relax))
        self.free_button = QPushButton(tr("Continue without\na constraint"), self)
        self.free_button.setObjectName(f"{name}FreeButton")
        self.free_button.setToolTip(tr("The branch is unconstrained; violations are marked where they occur"))
        self.free_button.clicked.connect(lambda _checked=False: self.freeWanted.emit())
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        for part in (self.reason, self.relax_button, self.free_button):
            column.addWidget(part)
        self.hide()

    def show_struck(self, name: str, struck: Struck) -> None:
        """`name` is what was refused, in sight."""
        self._struck = struck
        lines = [tr("{name} is masked:", name=name), *struck.why]
        self.reason.setText("\n".join(lines))
        self.setAccessibleName(" ".join(lines))
        self.relax_button.setVisible(struck.relax is not None)
        if struck.relax is not None:
            self.relax_button.setToolTip(
                tr(
                    "Without {constraint} ({tool}: {pointer}).\n"
                    "Everything else stays enforced; the branch continues with the masked token.",
                    constraint=struck.words,
                    tool=struck.relax.tool,
                    pointer=struck.relax.pointer,
                )
            )
        self.show()

    def focus_first(self) -> None:
        """The focus goes to the smaller of the two, once it is known which are there."""
        if not self.relax_button.isHidden():
            self.relax_button.setFocus(Qt.FocusReason.OtherFocusReason)
        elif LOOKING not in self._struck.why:
            self.free_button.setFocus(Qt.FocusReason.OtherFocusReason)
