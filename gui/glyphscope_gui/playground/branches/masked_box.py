"""Why the constraint rejects a token or text of the user, and which constraint can be relaxed for it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from glyphscope_gui.playground.branches.refusal_text import LOOKING, MaskReason
from glyphscope_gui.shared.labels import push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox


class MaskedBox(QFrame):
    """The reasons of a masked token or text, hidden while there is none. `relaxRequested` carries the
    constraint to relax, `unconstrainedRequested` drops all of it.

    The buttons are named after `name`, as there is one box for alternatives and one for typed texts.
    """

    relaxRequested = Signal(object)
    unconstrainedRequested = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("maskedBox")
        self._reason = MaskReason()
        self.reason = words_label(role="", parent=self, name=f"{name}Reason", selectable=True)
        self.relax_button = push_button(
            tr("Relax this constraint\nand continue"),
            self,
            name=f"{name}RelaxButton",
            clicked=lambda: self.relaxRequested.emit(self._reason.relax),
        )
        self.unconstrained_button = push_button(
            tr("Continue without\na constraint"),
            self,
            name=f"{name}UnconstrainedButton",
            tip=tr("The branch is unconstrained; violations are marked where they occur"),
            clicked=self.unconstrainedRequested,
        )
        vbox(self.reason, self.relax_button, self.unconstrained_button, parent=self, margins=8, spacing=6)
        self.hide()

    def show_masked(self, name: str, reason: MaskReason) -> None:
        """Show why a token or text is masked; `name` is its visible form."""
        self._reason = reason
        lines = [tr("{name} is masked:", name=name), *reason.why]
        self.reason.setText("\n".join(lines))
        self.setAccessibleName(" ".join(lines))
        self.relax_button.setVisible(reason.relax is not None)
        if reason.relax is not None:
            self.relax_button.setToolTip(
                tr(
                    "Without {constraint} ({tool}: {pointer}).\n"
                    "Everything else stays enforced; the branch continues with the masked token.",
                    constraint=reason.words,
                    tool=reason.relax.tool,
                    pointer=reason.relax.pointer,
                )
            )
        self.show()

    def focus_first(self) -> None:
        """Focus the first shown button; neither while the search for the constraint is not over."""
        if not self.relax_button.isHidden():
            self.relax_button.setFocus(Qt.FocusReason.OtherFocusReason)
        elif LOOKING not in self._reason.why:
            self.unconstrained_button.setFocus(Qt.FocusReason.OtherFocusReason)
