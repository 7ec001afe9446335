"""The actions at a token of a run: continue with another token, with a typed text, or without the token.

For a masked alternative or text, it shows the reason and the constraint that can be relaxed.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QFrame, QMenu, QPushButton, QWidget

from glyphscope.base.shorten import shorten
from glyphscope.base.visible import unseen
from glyphscope.events import Alternative, Token
from glyphscope_gui.playground.branches.words import LOOKING, MaskReason, visible_token
from glyphscope_gui.shared.labels import link, named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import Flow, hbox, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import is_masked
from glyphscope_gui.shared.text_edits import LineEdit

BUSY = tr("Stop the run, or wait until it finishes, to branch.")
_CHOOSE = tr("Select an alternative to continue with it.")
_MAX_NAME, _MAX_TEXT = 16, 20_000
"""Characters of a token on a button, and of a typed text: no call is longer."""
_ASK_MS = 150
"""Milliseconds after the last key press before the tokens of a text are requested."""


class MaskedBox(QFrame):
    """The reasons of a masked token or text, hidden while there is none. `relaxRequested` carries the constraint to
    relax; `unconstrainedRequested` requests a run without any.

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
        """Focus the first shown button; there is none until the search for the constraint is over."""
        if not self.relax_button.isHidden():
            self.relax_button.setFocus(Qt.FocusReason.OtherFocusReason)
        elif LOOKING not in self._reason.why:
            self.unconstrained_button.setFocus(Qt.FocusReason.OtherFocusReason)


class _Edit(LineEdit):
    """An edit that emits `left` when Escape is pressed in it."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class BranchField(QWidget):
    """A field for the text that replaces a token, with the tokens that the model splits it into; hidden until it is
    opened. `typed` carries the text; `tokensRequested` a text to tokenize.
    """

    typed = Signal(str)
    tokensRequested = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("branchField")
        self.edit = named(_Edit(self), "branchTextEdit", tr("Replacement text for the token"), role="mono")
        self.edit.setAccessibleDescription(
            tr("Enter lets the model continue from this text. Escape closes the field.")
        )
        self.edit.setPlaceholderText(tr("Replacement text"))
        self.edit.setMaxLength(_MAX_TEXT)
        tip = tr("Let the model continue from the typed text (Enter)")
        self.go_button = push_button(tr("Continue"), self, name="branchTypeButton", tip=tip, clicked=self._go)
        self.pieces = words_label(role="hint", parent=self, name="branchPieces")
        self._later = QTimer(self, singleShot=True, interval=_ASK_MS)
        self._later.timeout.connect(lambda: self.tokensRequested.emit(self.edit.text()))
        self.edit.textChanged.connect(self._changed)
        self.edit.returnPressed.connect(self._go)
        self.edit.left.connect(self.closed)
        row = hbox((self.edit, 1), self.go_button, spacing=6)
        vbox(row, self.pieces, parent=self, spacing=4)
        self.hide()

    def open(self) -> None:
        """Show the field, empty."""
        self.edit.setText("")
        self._changed("")
        self.show()
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def close_field(self) -> None:
        self._later.stop()
        self.hide()

    def show_pieces(self, text: str, words: str) -> None:
        """Show the tokens of `text`, unless the field's text has changed."""
        if text == self.edit.text():
            hidden = unseen(text)
            lines = [words, tr("Invisible characters: {characters}", characters=hidden) if hidden else ""]
            self.pieces.setText("\n".join(line for line in lines if line))
            self.pieces.setToolTip(plain_tip(self.pieces.text()))

    def _changed(self, text: str) -> None:
        self.go_button.setEnabled(bool(text))
        self.pieces.setText(tr("The model splits the text into tokens.") if not text else "…")
        if text:
            self._later.start()
        else:
            self._later.stop()

    def _go(self) -> None:
        if self.edit.text():
            self.typed.emit(self.edit.text())


class BranchBar(QWidget):
    """Shows one token and, once it is chosen, one of its alternatives.

    The signals are requests of the user: `tokenRequested` carries the Alternative, `textRequested` a text,
    `relaxRequested` either and the constraint to relax, `unconstrainedRequested` either. `grown`: the bar shows more
    than before, and may not be fully visible.
    """

    tokenRequested = Signal(object)
    textRequested = Signal(str)
    deleteRequested = Signal()
    keepRequested = Signal()
    relaxRequested = Signal(object, object)
    unconstrainedRequested = Signal(object)
    grown = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("branchBar")
        self._token: Token | None = None
        self._chosen: Alternative | None = None
        self._masked_text: str | None = None
        """The typed text, if it is masked."""
        self._why_not = ""
        self._special: frozenset[int] = frozenset()
        self.words = words_label(name="branchWords")
        self.field = BranchField(self)
        self.take_button = push_button(
            "", self, name="branchTakeButton", clicked=lambda _checked=False: self._take()
        )
        self.box = MaskedBox("branch", self)
        self.box.relaxRequested.connect(lambda relax: self.relaxRequested.emit(self._chosen, relax))
        self.box.unconstrainedRequested.connect(lambda: self.unconstrainedRequested.emit(self._chosen))
        self.typed_box = MaskedBox("typed", self)
        self.typed_box.relaxRequested.connect(
            lambda relax: self.relaxRequested.emit(self.field.edit.text(), relax)
        )
        self.typed_box.unconstrainedRequested.connect(
            lambda: self.unconstrainedRequested.emit(self.field.edit.text())
        )
        self.actions_ = self._make_actions()
        self.links = Flow(self, gap=10)
        self.link_buttons = [self._link(name) for name in self.actions_]
        for button in self.link_buttons:
            self.links.add(button)
        self.field.typed.connect(self._typed)
        self.field.edit.textChanged.connect(lambda _text: self.show_typed("", None))
        self.field.closed.connect(self._field_closed)
        self._lay_out()
        self.show_token(None)

    # -- shown values ------------------------------------------------------------------------------------------

    def show_token(self, token: Token | None) -> None:
        """Show a token of the run; None if none is chosen."""
        self._token, self._chosen = token, None
        self.box.hide()
        self._hide_field()
        self._show()

    def show_why_not(self, words: str) -> None:
        """Show why nothing can be done here, such as a run in progress; "" if something can."""
        self._why_not = words
        self._show()

    def show_alternative(self, chosen: Alternative | None, reason: MaskReason | None = None) -> None:
        """Show the chosen alternative, and the reason if it is masked."""
        if chosen != self._chosen:
            self._hide_field()
        self._chosen = chosen
        masked = chosen is not None and is_masked(chosen)
        if chosen is not None and masked:
            self.box.show_masked(self._name(chosen), reason or MaskReason())
        self._show()
        if masked and not self.box.isHidden():
            self.grown.emit()

    def show_typed(self, text: str, reason: MaskReason | None) -> None:
        """Show why a typed text is masked, or None if it is not, unless the field's text has changed."""
        if reason is not None and (text != self.field.edit.text() or self.field.isHidden()):
            return
        self._masked_text = text if reason is not None else None
        if reason is not None:
            self.typed_box.show_masked(tr("Typed text"), reason)
            self.grown.emit()
        else:
            self.typed_box.hide()

    def show_special(self, special: frozenset[int]) -> None:
        """Set the ids of special tokens, once they are known."""
        self._special = special

    def show_words(self, words: str) -> None:
        """Show why a request cannot be fulfilled."""
        self.words.setText(words)
        self.words.show()

    def _show(self) -> None:
        able, chosen = self.can_branch, self._chosen
        self.setVisible(self._token is not None)
        masked = chosen is not None and is_masked(chosen)
        self.words.setText(self._why_not or ("" if chosen is not None else _CHOOSE))
        self.words.setVisible(bool(self._why_not) or (able and chosen is None and bool(self._alternatives())))
        self.take_button.setVisible(able and chosen is not None and not masked)
        self.box.setVisible(able and masked and self.field.isHidden())
        self.links.setVisible(able)
        for action in self.actions_.values():
            action.setEnabled(able)
        end = self._token is not None and self._token.step.end
        self.actions_["keep"].setEnabled(able and not end)
        if not able:
            self._hide_field()
        if chosen is not None:
            self.take_button.setText(tr("Continue with {name}", name=self._name(chosen)))
            self.take_button.setToolTip(tr("Replace the token with it, and let the model continue (Enter)"))

    def _name(self, one: Alternative) -> str:
        name = visible_token(one.data, one.text, special=one.id in self._special)
        return shorten(name, _MAX_NAME)

    def _alternatives(self) -> tuple[Alternative, ...]:
        return self._token.step.alternatives if self._token is not None else ()

    # -- requests ----------------------------------------------------------------------------------------------

    def open_field(self) -> None:
        if self.can_branch:
            self.box.hide()
            self.field.open()
            self.grown.emit()

    @property
    def can_branch(self) -> bool:
        return self._token is not None and not self._why_not

    def go(self) -> None:
        """Take the chosen alternative; for a masked one, focus the button that relaxes its constraint."""
        if not self.can_branch or self._chosen is None:
            return
        if is_masked(self._chosen):
            self.box.focus_first()
        else:
            self._take()

    def menu(self, parent: QWidget) -> QMenu:
        """The available actions, as a menu."""
        menu = QMenu(parent)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        boxed = () if self.box.isHidden() else (self.box.relax_button, self.box.unconstrained_button)
        for button in (self.take_button, *boxed):
            if not button.isHidden():
                menu.addAction(button.text().replace("&", "&&").replace("\n", " ")).triggered.connect(
                    button.click
                )
        menu.addActions(list(self.actions_.values()))
        return menu

    def _take(self) -> None:
        if self._chosen is not None:
            self.tokenRequested.emit(self._chosen)

    def _typed(self, text: str) -> None:
        """Request a branch with the text; for a masked one, focus the button that relaxes its constraint."""
        if text == self._masked_text:
            self.typed_box.focus_first()
        else:
            self.textRequested.emit(text)

    def _hide_field(self) -> None:
        self.field.close_field()
        self._masked_text = None
        self.typed_box.hide()

    def _field_closed(self) -> None:
        self._hide_field()
        self._show()
        self.link_buttons[0].setFocus(Qt.FocusReason.OtherFocusReason)

    # -- parts -------------------------------------------------------------------------------------------------

    def _make_actions(self) -> dict[str, QAction]:
        return {
            "type": self._action(
                tr("&Type instead…"), "T", tr("Type text to replace this token"), self.open_field
            ),
            "delete": self._action(
                tr("&Cut here and continue"),
                "Del",
                tr("Delete this token and everything after it, and let the model continue"),
                self.deleteRequested.emit,
            ),
            "keep": self._action(
                tr("Continue &from here"),
                "",
                tr("Keep this token, delete everything after it, and let the model continue"),
                self.keepRequested.emit,
            ),
        }

    def _action(self, words: str, keys: str, tip: str, slot: Callable[[], None]) -> QAction:
        action = QAction(words, self)
        action.setShortcut(keys)
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.setToolTip(f"{tip} ({keys})" if keys else tip)
        action.triggered.connect(lambda _checked=False: slot())
        return action

    def _link(self, name: str) -> QPushButton:
        action = self.actions_[name]
        whole = action.text().replace("&", "")
        words = tr("Cut here") if name == "delete" else whole
        button = link(words, action.toolTip(), self, spoken=whole, clicked=action.trigger)
        button.setObjectName(f"branch{name.capitalize()}Link")
        action.changed.connect(lambda: button.setEnabled(action.isEnabled()))
        return button

    def _lay_out(self) -> None:
        parts = (self.words, self.take_button, self.box, self.links, self.field, self.typed_box)
        vbox(*parts, parent=self, spacing=6)
