"""*Capture…*: asks which server to capture for, on which port, and with which breakpoints."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.capture.breakpoints import ALL, TOOL, VIOLATION
from glyphscope.capture.process import Begin
from glyphscope.models.remote import Address, read_address
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.run_words import model_name
from glyphscope_gui.shared.text_edits import LineEdit

SERVER = "server"
"""The choice of the server itself as the model that counts."""

MESSAGE_LINES = 3
"""Lines that are kept for a message below the fields, with the gap above it."""


class CaptureDialog(PlainDialog):
    """`begun` carries a Begin like the one that is shown; the dialog stays open until the capture has begun."""

    begun = Signal(object)

    def __init__(self, begin: Begin, models: Sequence[str] = (), parent: QWidget | None = None) -> None:
        """`models` are files that can count tokens."""
        super().__init__("captureDialog", tr("Capture"), parent)
        self.setMinimumWidth(520)
        self._begin = begin
        about = words_label(
            tr(
                "A proxy on this computer between an agent and its server. It forwards each request and each answer "
                "unchanged, and each becomes a run of the history, with the verdict on its calls. Keys are not stored."
            ),
            parent=self,
        )
        self.to_edit = named(LineEdit(begin.to, self), "captureToEdit")
        self.port_edit = named(LineEdit(str(begin.port), self), "capturePortEdit")
        models = list(dict.fromkeys(each for each in (begin.model, *models) if each and each != begin.to))
        self.model_box = choice_box(
            self,
            "captureModelBox",
            tr("Tokens of the prompt"),
            tip=tr(
                "Counts the tokens of tools and messages, if the server has the same template and tokenizer"
            ),
            choices=(
                ("", tr("the counts that the server sends"), ""),
                (
                    SERVER,
                    tr("the server’s own tokenizer"),
                    tr("llama-server and vLLM report it, by separate requests"),
                ),
                *((each, model_name(each).name, each) for each in models),
            ),
            least=24,
        )
        self.model_box.setCurrentIndex(
            self.model_box.findData(SERVER if begin.model == begin.to else begin.model)
        )
        self.requests_box = QCheckBox(tr("Pause each request"), self)
        self.requests_box.setChecked(ALL in begin.hold)
        self.violations_box = QCheckBox(tr("Pause answers with an invalid call"), self)
        self.violations_box.setChecked(VIOLATION in begin.hold)
        tools = [rule.removeprefix(TOOL) for rule in begin.hold if rule.startswith(TOOL)]
        self.tools_edit = LineEdit(", ".join(tools), self, placeholderText=tr("tool names, with commas"))
        named(self.tools_edit, "captureToolsEdit")
        self.seconds_edit = named(LineEdit(f"{begin.pause_seconds:g}", self), "captureSecondsEdit")
        paused = words_label(
            tr(
                "A paused request or answer waits for you to edit it, send it on or drop it. After the time limit the "
                "agent gets an error. If answers can be paused, each is read whole before it is sent on."
            ),
            parent=self,
        )
        form = QFormLayout(horizontalSpacing=14, verticalSpacing=9)
        form.addRow(tr("Server of the agent"), self.to_edit)
        form.addRow(tr("Port for the agent"), self.port_edit)
        form.addRow(tr("Tokens of the prompt"), self.model_box)
        form.addRow(tr("Breakpoints"), self.requests_box)
        form.addRow("", self.violations_box)
        form.addRow(tr("Pause answers that call"), self.tools_edit)
        form.addRow(tr("Time limit in seconds"), self.seconds_edit)
        self.elsewhere = words_label(role="problem", parent=self, name="captureElsewhere")
        self.problem = words_label(role="problem", parent=self, name="captureProblem")
        self.start_button = push_button(tr("Start capture"), self, role="primary")
        buttons = self.button_box(Standard.Cancel, (self.start_button, Role.AcceptRole))
        vbox(
            about,
            form,
            paused,
            self.elsewhere,
            self.problem,
            STRETCH,
            buttons,
            parent=self,
            margins=(18, 16, 18, 14),
            spacing=12,
        )
        for edit in (self.to_edit, self.port_edit, self.tools_edit, self.seconds_edit):
            edit.textChanged.connect(self._check)
        self.model_box.currentIndexChanged.connect(lambda _: self._check())
        self._check()
        room = QSize(0, MESSAGE_LINES * self.fontMetrics().lineSpacing())
        self.resize(self.size().expandedTo(self.sizeHint() + room))  # it does not grow while one types

    def accept(self) -> None:
        """Ask for the capture; `done` closes the dialog once it has begun."""
        begin = self._check()
        if begin is not None and self.start_button.isEnabled():
            self.start_button.setEnabled(False)
            self.start_button.setText(tr("Starting…"))
            self.begun.emit(begin)

    def show_failure(self, words: str) -> None:
        """Show why the capture did not begin."""
        self._check()
        self._show_problem(words)

    def _check(self, _text: str = "") -> Begin | None:
        """The capture as it is written; None if that is not possible, which is shown."""
        problem, begin = "", None
        try:
            begin = self._written()
        except GlyphscopeError as error:
            problem = str(error)
        show_words(self.elsewhere, "" if begin is None else _elsewhere(read_address(begin.to)))
        self._show_problem(problem)
        self.start_button.setText(tr("Start capture"))
        self.start_button.setEnabled(not problem)
        return begin

    def _show_problem(self, words: str) -> None:
        show_words(self.problem, words)
        self.resize(self.size().expandedTo(self.sizeHint()))

    def _written(self) -> Begin:
        to = read_address(self.to_edit.text())
        tools = [name.strip() for name in self.tools_edit.text().split(",")]
        rules = {ALL: self.requests_box.isChecked(), VIOLATION: self.violations_box.isChecked()}
        return Begin(
            to=str(to),
            folder=self._begin.folder,
            port=_number(self.port_edit.text(), tr("The port"), 0, 65535),
            history=self._begin.history,
            model=str(to) if self.model_box.currentData() == SERVER else self.model_box.currentData(),
            hold=(*(rule for rule in rules if rules[rule]), *(f"{TOOL}{name}" for name in tools if name)),
            pause_seconds=_number(self.seconds_edit.text(), tr("The time limit"), 1, 86400),
        )


def _elsewhere(address: Address) -> str:
    """The words about a server on another computer; empty for one on this computer."""
    if address.loopback:
        return ""
    if address.root.startswith("https"):
        return tr("The requests leave this computer.")
    return tr("The requests leave this computer, unencrypted.")


def _number(text: str, what: str, least: int, most: int) -> int:
    """The number in a field. Raises GlyphscopeError."""
    number = int(text) if text.strip().isascii() and text.strip().isdecimal() and len(text) < 9 else -1
    if not least <= number <= most:
        raise GlyphscopeError(
            tr("{what} is a number from {least:,} to {most:,}.", what=what, least=least, most=most)
        )
    return number
