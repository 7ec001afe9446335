"""The cards in which a run asks the user, for the approval of a call or in words, and the field for a reply to the
model's answer.

Nothing is preselected in a call that waits for approval, and no key allows it by accident: Enter in a field is a new
line, and the card itself initially has the focus. Esc undoes an edit; without one, it stops the run, as everywhere in
the window.
"""

from __future__ import annotations

import re
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QLabel, QMenu, QPushButton, QSizePolicy, QWidget

from glyphscope.base.visible import one_line, unseen, visible
from glyphscope.events import ApprovalNeeded
from glyphscope.registry import Tool
from glyphscope.runs import Decision
from glyphscope_gui.calls.arguments import (
    MISSING,
    ArgumentProblems,
    ArgumentRows,
    TextArgument,
    check_arguments,
)
from glyphscope_gui.calls.call_texts import argument_text, claim_words, json_text
from glyphscope_gui.shared import labels
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, ScrollArea, grid_layout, hbox, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import LineEdit, SubmitEdit
from glyphscope_gui.shared.whole_text import WholeText, show_whole
from glyphscope_gui.theme.sizes import letters

MAX_ARGUMENTS = 60
"""Arguments that are shown; the rest are sent unchanged, which the card says."""
MAX_IDENTITY = 600
"""Characters of a command line or an address; its hint has all."""
_MAX_SHOWN = 300
"""Characters of a value that is shown a second time, with signs for invisible characters."""
MAX_HEIGHT = 210
"""Height of the arguments, in pixels, before they scroll."""


class ApprovalCard(Card):
    """Hidden until `ask`. `decided` carries the user's Decision."""

    decided = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        body = QWidget()
        super().__init__(tr("Allow this tool call?"), body, padded=True, parent=parent)
        self.setProperty("asking", True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._background = Background(self)
        self._needed: ApprovalNeeded | None = None
        self._tool: Tool | None = None
        self._closed = True
        self.rows = ArgumentRows(self._edit)
        self._edited: dict[str, QLabel] = {}
        """The mark of an edited argument, by the argument's name."""
        self._unshown: dict[str, Any] = {}
        """The arguments beyond `MAX_ARGUMENTS`, which are sent unchanged."""
        self._settled = False
        """Whether the card keeps its height, as its call has been checked."""
        self.title = labels.PlainLabel(body, role="title")
        self.identity = labels.named(QLabel(body), role="mono")
        self.claims = labels.PlainLabel(body, role="hint")
        self.problem = labels.PlainLabel(body, role="problem")
        for label in (self.identity, self.claims, self.problem):
            label.setWordWrap(True)
        self._make_buttons(body)
        self._lay_out(body)
        self.hide()

    # -- what can be done --------------------------------------------------------------------------------------

    def ask(self, needed: ApprovalNeeded, tool: Tool | None, *, closed: bool = True) -> None:
        """Show a call. `tool` is None if its schema is unknown: the call is then not checked, as the card says.
        `closed`: arguments that the schema does not name are invalid.
        """
        self._needed, self._tool, self._closed = needed, tool, closed
        self.title.setText(
            tr(
                "{tool} of {source}",
                tool=visible(needed.tool, spaces=True)[:40],
                source=visible(needed.source, spaces=True)[:24],
            )
        )
        identity = needed.identity if needed.identity != needed.source else ""
        self.identity.setText(_breakable(visible(identity, spaces=True)[:MAX_IDENTITY]))
        self.identity.setAccessibleName(visible(identity, spaces=True))
        self.identity.setToolTip(
            plain_tip(visible(identity, spaces=True)) if len(identity) > MAX_IDENTITY else ""
        )
        self.identity.setVisible(bool(identity))
        words = [visible(claim, spaces=True) for claim in claim_words(needed.claims)]
        labels.show_words(
            self.claims, tr("Annotations (not verified): {claims}", claims=", ".join(words)) if words else ""
        )
        self.reason.clear()
        self._settled = False
        self._make_rows(needed, tool)
        self._fill_menu(needed)
        self.setAccessibleName(
            tr("Allow this tool call? {call}. {claims}", call=self.title.text(), claims=self.claims.text())
        )
        self._check()
        self.show()

    def dismiss(self) -> None:
        """Hide the card, as the call no longer waits."""
        self._background.wait("check")
        self._needed = None
        self.hide()

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as edited. Raises ValueError while a field is not JSON."""
        return self.rows.values() | self._unshown

    def set_room(self, height: int) -> None:
        """Set the height of the arguments, in pixels, before they scroll."""
        self._most = height
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the card's height once its call is checked: added content scrolls, so that no button moves."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize) and not self._settled:
            self._fit()
        return super().eventFilter(watched, event)

    def _make_buttons(self, body: QWidget) -> None:
        self.reason = LineEdit(body, placeholderText=tr("Reason, sent to the model"), maxLength=2000)
        self.reason.setAccessibleName(tr("Reason for the denial, sent to the model"))
        self.deny_button = QPushButton(tr("&Deny"), body)
        self.deny_button.setToolTip(tr("Do not execute the call; the model is informed"))
        self.wider_button = QPushButton(tr("Allow for…"), body)
        self.wider_button.setToolTip(tr("Allow this call, and further calls without approval"))
        self.menu = QMenu(self.wider_button)
        self.wider_button.setMenu(self.menu)
        self.allow_button = labels.push_button(
            tr("&Allow once"), body, role="primary", tip=tr("Execute this call with the arguments above")
        )
        for button in (self.deny_button, self.wider_button, self.allow_button):
            button.setAutoDefault(False)
        self.deny_button.clicked.connect(self._deny)
        self.allow_button.clicked.connect(lambda: self._allow("once"))
        self.reason.returnPressed.connect(self._deny)

    def _lay_out(self, body: QWidget) -> None:
        self._scroll = ScrollArea(parent=body)
        self._most = MAX_HEIGHT
        buttons = hbox((self.reason, 1), self.deny_button, self.wider_button, self.allow_button, spacing=8)
        column = vbox(self.title, self.identity, self.claims, self._scroll, buttons, parent=body, spacing=8)
        column.addWidget(self.problem)  # below the buttons, so that it does not move them

    def _make_rows(self, needed: ApprovalNeeded, tool: Tool | None) -> None:
        box = labels.named(QWidget(), "approvalArguments")
        grid = grid_layout(box, spacing=(10, 3), stretch=1)
        self.rows.clear()
        self._edited.clear()
        schemas = tool.parameters.get("properties", {}) if tool is not None else {}
        names = list(dict.fromkeys([*needed.arguments, *schemas]))
        self._unshown = {
            name: needed.arguments[name] for name in names[MAX_ARGUMENTS:] if name in needed.arguments
        }
        for index, name in enumerate(names[:MAX_ARGUMENTS]):
            self._add_row(grid, index * 3, name, schemas.get(name), needed.arguments.get(name, MISSING))
        if self._unshown:
            count = len(self._unshown)
            words = (
                tr("1 more argument, unchanged.")
                if count == 1
                else tr("%n more arguments, unchanged.", "", count)
            )
            more = labels.PlainLabel(words, box, role="hint")
            grid.addWidget(more, 3 * MAX_ARGUMENTS, 1)
        if not names:
            grid.addWidget(labels.PlainLabel(tr("No arguments."), box), 0, 0, 1, 4)
        old = self._scroll.takeWidget()
        if old is not None:
            old.removeEventFilter(self)
            old.deleteLater()
        self._scroll.setWidget(box)
        box.installEventFilter(self)
        self._fit()

    def _add_row(self, grid: QGridLayout, line: int, name: str, schema: Any, value: Any) -> None:
        label = labels.PlainLabel(visible(name, spaces=True)[:40])
        label.setToolTip(plain_tip(visible(name, spaces=True)) if len(name) > 40 else "")
        edited = self._edited[name] = labels.PlainLabel(tr("edited"), role="hint")
        room = edited.sizePolicy()
        room.setRetainSizeWhenHidden(True)
        edited.setSizePolicy(room)
        row = self.rows.add(name, schema, value)
        field = row.field
        label.setBuddy(field)
        label.setMinimumHeight(field.sizeHint().height())
        grid.addWidget(label, line, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(field, line, 1, Qt.AlignmentFlag.AlignTop)
        beside = vbox(edited, spacing=2)
        if isinstance(field, TextArgument) and field.is_cut:
            tip = tr("Show the whole argument, with search and Copy")
            open_link = labels.link(tr("Open"), tip, name="openArgumentButton")
            open_link.clicked.connect(lambda: self._open_argument(name, value))
            beside.addWidget(open_link)
        beside.addStretch(1)
        grid.addLayout(beside, line, 2)
        grid.addWidget(row.pill, line, 3, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
        grid.addWidget(row.problem, line + 1, 1, 1, 3)
        hidden = unseen(name + argument_text(value))
        if hidden and value is not MISSING:
            warning = labels.words_label(
                tr("Contains invisible characters: {characters}", characters=hidden)
                + f"\n{(visible(value) if isinstance(value, str) else one_line(json_text(value)))[:_MAX_SHOWN]}",
                "problem",
            )
            grid.addWidget(warning, line + 2, 1, 1, 3)
        edited.hide()

    def _open_argument(self, name: str, value: Any) -> None:
        note = tr("The call runs with all of it.")
        show_whole(WholeText(name, lambda: argument_text(value), note, "argument.txt"), self)

    def _fill_menu(self, needed: ApprovalNeeded) -> None:
        self.menu.clear()
        for scope, words in (
            ("run", tr("Every call of this run")),
            ("tool", tr("Every call of {tool} in this run", tool=visible(needed.tool, spaces=True)[:40])),
            (
                "source",
                tr("Every call to {source} in this run", source=visible(needed.source, spaces=True)[:40]),
            ),
        ):
            action = self.menu.addAction(words)
            action.triggered.connect(lambda _on=False, scope=scope: self._allow(scope))

    def _fit(self) -> None:
        box = self._scroll.widget()
        if box is None:
            return
        layout = box.layout()
        needed = layout.totalHeightForWidth(self._scroll.viewport().width()) if layout else 0
        needed = needed if needed > 0 else box.sizeHint().height()
        height = min(needed, self._most)
        if height != self._scroll.height():
            self._scroll.setFixedHeight(height)

    # -- verdicts ----------------------------------------------------------------------------------------------

    def _edit(self) -> None:
        """Mark edited arguments in place; from now on, the buttons do not move."""
        self._settled = True
        for name, row in self.rows.by_name.items():
            self._edited[name].setVisible(row.field.is_edited)
            labels.set_role(row.field, row.field.is_edited, key="edited")
        self._check()

    def _check(self) -> None:
        """Check the arguments as edited; until the result is known, the call cannot be allowed."""
        self._set_allowable(False)
        if self.rows.show_unreadable():
            self._background.wait("check")
            return
        tool, arguments, closed = self._tool, self.arguments, self._closed
        if tool is None:
            self._show_check(None)
            return
        self._background.start(
            "check",
            lambda: check_arguments(tool, arguments, closed=closed),
            self._show_check,
            self._not_checked,
        )

    def _show_check(self, check: ArgumentProblems | None) -> None:
        if self._needed is None:
            return
        self.rows.show_check(check)
        words = (
            check.whole
            if check is not None
            else tr("The tool has no schema here: its arguments are not checked.")
        )
        labels.show_words(self.problem, visible(words, lines=True))
        self._set_allowable(check is None or check.ok)

    def _not_checked(self, error: BaseException) -> None:
        self.problem.setText(visible(tr("The arguments could not be checked: {error}", error=error)))
        self.problem.show()
        raise error  # a bug is reported like any other

    def _set_allowable(self, allowable: bool) -> None:
        self.allow_button.setEnabled(allowable)
        self.wider_button.setEnabled(allowable)

    # -- decisions ---------------------------------------------------------------------------------------------

    def _allow(self, scope: Any) -> None:
        if self._needed is None or not self.allow_button.isEnabled():
            return
        edited = any(row.field.is_edited for row in self.rows.by_name.values())
        self.decided.emit(
            Decision(action="allow", arguments=self.arguments if edited else None, scope=scope, by="person")
        )

    def _deny(self) -> None:
        if self._needed is not None:
            self.decided.emit(Decision(action="deny", by="person", reason=self.reason.text().strip()))


def _breakable(text: str) -> str:
    """A command line that a label can wrap: labels break lines only at blanks, but the whole line must be visible."""
    return re.sub(r"(?=[/\\@])|(?<=[._=:-])|(?<=\w{24})", "\u200b", text)


MAX_LENGTH = 2000
"""Characters of a question that are shown, and of an answer."""


class QuestionCard(Card):
    """Hidden until `ask`. `answered` carries the answer, or None if the user skips the question."""

    answered = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        body = QWidget()
        super().__init__(tr("The model asks"), body, parent=parent)
        self.setProperty("asking", True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.question = labels.PlainLabel(body, wordWrap=True)
        self.question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.edit = LineEdit(body, placeholderText=tr("Your answer"), maxLength=MAX_LENGTH)
        self.answer_button = labels.push_button(
            tr("Answer"), body, role="primary", tip=tr("Continue the run with your answer (Enter)")
        )
        self.skip_button = labels.push_button(tr("Skip"), body, tip=tr("The run ends without an answer"))
        line = hbox((self.edit, 1), self.skip_button, self.answer_button, spacing=8)
        vbox(self.question, line, parent=body, spacing=8)
        self.edit.textChanged.connect(self._edited)
        self.edit.returnPressed.connect(self._answer)
        self.answer_button.clicked.connect(self._answer)
        self.skip_button.clicked.connect(lambda: self.answered.emit(None))
        self.hide()

    def ask(self, question: str) -> None:
        self.question.setText(question[:MAX_LENGTH])
        self.edit.clear()
        self._edited("")
        self.edit.setAccessibleName(tr("Your answer to: {question}", question=question[:MAX_LENGTH]))
        self.show()

    def dismiss(self) -> None:
        """Hide the question: the run no longer waits for it."""
        self.hide()

    def _edited(self, text: str) -> None:
        self.answer_button.setEnabled(bool(text.strip()))

    def _answer(self) -> None:
        if self.edit.text().strip():
            self.answered.emit(self.edit.text().strip())


_LINES = 3
_LEAST = 120
"""Pixels of width, at the usual text size, that the reply's field has beside its buttons."""


class ReplyBar(FollowsSize, QWidget):
    """Hidden until a run has an answer. `sendRequested` carries the text."""

    sendRequested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.edit = labels.named(SubmitEdit(_LINES, self), "replyEdit", tr("Reply"))
        self.edit.setAccessibleDescription(tr("Your next message. Control and Enter sends it."))
        self.edit.setPlaceholderText(tr("Reply…"))
        tip = tr("Run with the messages of this run, its answer and this message (Ctrl+Enter)")
        self.send_button = labels.push_button(tr("Send"), self, name="replySend", tip=tip, clicked=self._send)
        tip = tr(
            "Copy the messages and the answer of this run into the prompt, to edit them or to add a tool result"
        )
        self.edit_button = labels.link(tr("Edit messages"), tip, self, name="replyMessages")
        self._buttons = hbox(self.send_button, self.edit_button, STRETCH, spacing=8)
        self._parts = hbox((self.edit, 1), self._buttons, parent=self, margins=(8, 4, 8, 6), spacing=8)
        self.edit.textChanged.connect(self._show_whether)
        self.edit.submitted.connect(self._send)
        self._can_send = True
        self._show_whether()
        self.hide()

    def _fit(self) -> None:
        """Place the buttons below the field where there is no room for both, and below each other."""
        needed = self.send_button.sizeHint().width() + self.edit_button.sizeHint().width() + 24
        for box, least in ((self._parts, needed + _LEAST * letters(self)), (self._buttons, needed)):
            narrow = self.width() < least
            way = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
            if box.direction() != way:
                box.setDirection(way)

    def set_can_send(self, can_send: bool) -> None:
        """Set whether a run may start now."""
        self._can_send = can_send
        self._show_whether()

    def _show_whether(self) -> None:
        self.send_button.setEnabled(self._can_send and bool(self.edit.toPlainText().strip()))

    def _send(self) -> None:
        if self.send_button.isEnabled():
            self.sendRequested.emit(self.edit.toPlainText().strip())
