"""*Parse an answer*: by its form, strictly and leniently, and by the notations of other models."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec
from PySide6.QtCore import QModelIndex, QTimer
from PySide6.QtWidgets import QWidget

from glyphscope.events import TokenStep
from glyphscope.registry import ToolRegistry
from glyphscope.runs import RunState
from glyphscope.structs import ready
from glyphscope.text.figures import percent
from glyphscope.text.shorten import listed
from glyphscope.text.tokens import token_text
from glyphscope.turns import TurnForm
from glyphscope.turns.readers import Departed, Reading, departed, readings
from glyphscope.visible import visible
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Standard
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.text_edits import WrappingEdit
from glyphscope_gui.template.marked_text import MarkedText
from glyphscope_gui.template.tables import READERS, Cell, Row, RowsTable
from glyphscope_gui.theme import mono_font


class Answer(NamedTuple):
    """`text` is the model's output after a prompt that was rendered with that state of `thinking`.

    `steps` are its tokens. `form` is None if the run has none.
    """

    text: str = ""
    thinking: bool | None = None
    steps: tuple[TokenStep, ...] = ()
    registry: ToolRegistry | None = None
    form: TurnForm | None = None


def last_answer(state: RunState) -> Answer:
    """The answer of the shown run; an empty one if there is none."""
    if state.started is None:
        return Answer()
    steps = tuple(token.step for token in state.tokens)
    request = state.started.request
    try:
        form = msgspec.convert(request.form, ready(TurnForm)) if request.form else None
    except msgspec.ValidationError:
        form = None  # from a later version
    text = "".join(step.text for step in steps)
    return Answer(text, {"on": True, "off": False}.get(request.thinking), steps, state.whole_registry, form)


PAUSE_MS = 150
"""Delay after the last key press before the text is parsed."""
MAX_LENGTH = 50_000
"""Characters of an answer that are parsed while the user types."""
_STATES: dict[str, bool | None] = {"on": True, "off": False, "undefined": None}
_WHY = tr("Strict accepts only the exact form. Lenient parses like servers do, which tolerate deviations.")


class ReadersDialog(PlainDialog):
    """`found` are the readings of the current text."""

    def __init__(
        self, form: TurnForm | None, registry: ToolRegistry, answer: Answer, parent: QWidget | None = None
    ) -> None:
        super().__init__("readersDialog", tr("Parse an answer"), parent)
        self.found: tuple[Reading, ...] = ()
        self._form, self._registry, self._answer = form, registry, answer
        self._background = Background(self)
        self._timer = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._timer.timeout.connect(self._read)
        self.edit = named(WrappingEdit(self), "readersText", tr("The answer"))
        self.edit.setPlaceholderText(tr("The model's text after the prompt"))
        self.edit.setFont(mono_font(-0.5))
        self.edit.setTabChangesFocus(True)
        self.edit.setPlainText(answer.text)
        self.states = Segmented(
            (
                ("on", tr("on"), tr("The prompt was rendered with thinking on")),
                ("off", tr("off"), tr("The prompt was rendered with thinking off")),
                ("undefined", tr("not set"), tr("The prompt was rendered without the switch")),
            ),
            small=True,
            parent=self,
        )
        self.states.setAccessibleName(tr("Thinking in the prompt"))
        self.states.set_value(next(name for name, value in _STATES.items() if value is answer.thinking))
        self.table = RowsTable(READERS, tr("Parsers"), "readersTable", self)
        self.text = MarkedText(tr("Deviation from the form of the selected parser"), self)
        self.about = PlainLabel(self, wordWrap=True, objectName="readersAbout", role="muted")
        self._lay_out()
        self.edit.textChanged.connect(self._timer.start)
        self.states.chosen.connect(self._timer.start)
        self.table.selectionModel().currentRowChanged.connect(self._show_reading)
        self._read()

    @property
    def is_busy(self) -> bool:
        """Whether the text is being read."""
        return self._background.is_busy or self._timer.isActive()

    def _lay_out(self) -> None:
        thinking = PlainLabel(tr("Thinking in the prompt:"), self, role="muted")
        line = hbox(thinking, self.states, STRETCH)
        buttons = self.button_box(Standard.Close)
        parts = ((self.edit, 2), line, (self.table, 4), self.about, (self.text, 2), buttons)
        vbox(*parts, parent=self, margins=(20, 18, 20, 16), spacing=10)
        self.resize(860, 640)

    def _read(self) -> None:
        text = self.edit.toPlainText()
        if self._form is None:
            self._say(tr("No form: open a chat template on the Template page first."))
            return
        if not text.strip():
            self._say(tr("Write or paste an answer."))
            return
        if len(text) > MAX_LENGTH:
            self._say(
                tr("The answer is too long: at most {count:,} characters are parsed.", count=MAX_LENGTH)
            )
            return
        work = partial(readings, text, self._form, self._registry, _STATES[self.states.value])
        self._background.start("read", work, self._show, self._failed)

    def _failed(self, error: BaseException) -> None:
        self._say(str(error))

    def _say(self, words: str) -> None:
        self.found = ()
        self.table.rows.show_rows([])
        self.about.setText(words)
        self.text.hide()

    def _show(self, found: tuple[Reading, ...]) -> None:
        self.found = tuple(each for each in found if each.calls or each.kind != "other")
        rest = len(found) - len(self.found)
        self.table.rows.show_rows([*(_row(each) for each in self.found), *([_rest(rest)] if rest else [])])
        self.table.selectRow(0)
        self._show_reading(self.table.currentIndex())

    def _show_reading(self, index: QModelIndex, _before: QModelIndex | None = None) -> None:
        if not 0 <= index.row() < len(self.found):
            return
        reading = self.found[index.row()]
        text = self.edit.toPlainText()
        at = reading.left_at
        self.text.setVisible(at is not None)
        if at is None:
            whole = (
                tr("The text matches this form.")
                if reading.complete
                else tr("The text matches this form but is incomplete.")
            )
            self.about.setText(f"{whole} {_WHY}" if reading.kind != "other" else whole)
            return
        self.text.show_text(text, [(at, min(at + 1, len(text)))] if at < len(text) else [(at - 1, at)])
        parts = [
            tr(
                "Deviates from the form at character {at}: {why}.",
                at=at,
                why=visible(reading.left_why, lines=True),
            )
        ]
        if text == self._answer.text and (token := departed(reading, self._answer.steps)) is not None:
            parts.append(_token_words(token))
        if reading.sources:
            parts.append(tr("Derived from {names}.", names=", ".join(reading.sources[:4])))
        self.about.setText(" ".join(parts))


def _row(reading: Reading) -> Row:
    names = [call.name if call.valid else tr("{name} (not valid)", name=call.name) for call in reading.calls]
    calls = listed(names, 5) if names else tr("none")
    if reading.reads:
        pill = Cell(tr("yes"), pill="holds") if reading.calls else Cell(tr("as text"), pill="open")
    else:
        pill = Cell(tr("no"), pill="impossible")
    left = "" if reading.complete else tr("incomplete")
    if reading.left_at is not None:
        left = tr("character {at}: {why}", at=reading.left_at, why=reading.left_why)
    return (
        Cell(_name(reading), "\n".join(reading.sources)),
        pill,
        Cell(visible(calls, lines=True)),
        Cell(visible(left, lines=True)),
    )


def _rest(count: int) -> Row:
    """The readers that find no call, in one row."""
    words = tr("%n other notation(s)", "", count)
    return Cell(words), Cell(tr("no call"), pill="open"), Cell(tr("none")), Cell("")


def _name(reading: Reading) -> str:
    if reading.kind == "strict":
        return tr("this form, strictly")
    return tr("servers, leniently") if reading.kind == "lenient" else visible(reading.reader, lines=True)


def _token_words(token: Departed) -> str:
    """The probabilities of the token that left the form and of the correct one."""
    written = tr(
        "The token {token} had a probability of {share}.",
        token=token_text(token.text.encode(), token.text),
        share=percent(token.probability),
    )
    if token.right_probability is None:
        rest = tr("No recorded alternative matches the form.")
    else:
        right = token_text(token.right.encode(), token.right)
        share = percent(token.right_probability)
        rest = tr("{token} matches the form: {share}.", token=right, share=share)
    return f"{written} {rest}"
