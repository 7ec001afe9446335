"""The page of the chat template: the form's slots, the pairs that show them, markers as tokens, and the details:
thinking, notes, variables, values and lint. Its dialog parses an answer: by the form, strictly and leniently, and by
the notations of other models.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtWidgets import QSizePolicy, QSplitter, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import percent
from glyphscope.base.shorten import listed
from glyphscope.base.structs import ready
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.events import AnyEvent, RunRequest, TokenStep, pairs_line, read_pairs_line
from glyphscope.models.templates import TemplateSource
from glyphscope.models.turn_forms import template_turn_form
from glyphscope.runs import PreparedRequest, RunState, end_of, run_state
from glyphscope.runs.strategies.elsewhere import read_elsewhere
from glyphscope.turns import TurnForm
from glyphscope.turns.pairs import Pair
from glyphscope.turns.readers import Departed, Reading, departed, readings
from glyphscope_gui.model_picker.dialog import LoadPanel
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.fields import choice_box, field_label
from glyphscope_gui.shared.file_drops import TakesFiles
from glyphscope_gui.shared.labels import (
    ElidedLabel,
    PlainLabel,
    WrappedLabel,
    link,
    named,
    push_button,
    set_role,
    show_words,
    words_label,
)
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox, holder, splitter, stack, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_table import WholeRows
from glyphscope_gui.shared.run_words import value_words
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.settings_grid import TextSetting
from glyphscope_gui.shared.text_edits import WrappingEdit
from glyphscope_gui.shared.verdict import VERDICTS, Pill
from glyphscope_gui.template.marked_text import MarkedText, places_of
from glyphscope_gui.template.tables import (
    COMPARED,
    LINT,
    MARKERS,
    NOTES,
    READERS,
    SLOTS,
    THINKING,
    VALUES,
    VARIABLES,
    LateTable,
    Row,
    RowsTable,
    TextCell,
)
from glyphscope_gui.theme import mono_font, use_font
from glyphscope_gui.theme.sizes import GAP, PAD


class PairView(Card):
    """Two renderings side by side: both mark the differences, and the markers of the chosen slot.

    `moved` carries 1 for the next pair, -1 for the previous one.
    """

    moved = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        body = QWidget()
        words = tr("Previous test case")
        self.before_link = link("‹", words, spoken=words, clicked=lambda: self.moved.emit(-1))
        self.place = PlainLabel(role="hint")
        words = tr("Next test case")
        self.after_link = link("›", words, spoken=words, clicked=lambda: self.moved.emit(1))
        super().__init__(
            tr("Test case"),
            body,
            actions=(self.before_link, self.place, self.after_link),
            padded=False,
            parent=parent,
        )
        self.shows = ElidedLabel(body, Qt.TextElideMode.ElideRight, role="hint")
        self.names = (PlainLabel(body, role="title"), PlainLabel(body, role="title"))
        self.texts = (MarkedText(tr("First rendering"), body), MarkedText(tr("Second rendering"), body))
        self.sides = QSplitter(Qt.Orientation.Horizontal, body, childrenCollapsible=False)
        for name, text in zip(self.names, self.texts, strict=True):
            text.setToolTip(tr("Underlined: text only in this rendering. Dashed: the selected part."))
            name.setIndent(7)
            side = holder(vbox(name, (text, 1), margins=(PAD - 6, 0, 4, 0), spacing=2), body)
            self.sides.addWidget(side)
        line = vbox(self.shows, margins=(PAD - 5, 0))
        vbox(line, (self.sides, 1), parent=body, margins=(0, 6, 0, 2), spacing=6)

    def show_pair(self, pair: Pair | None, number: int, count: int, markers: tuple[str, ...] = ()) -> None:
        """Show a pair by its number from 1, with every occurrence of these markers."""
        self.before_link.setEnabled(number > 1)
        self.after_link.setEnabled(number < count)
        self.place.setText(tr("{number} of {count}", number=number, count=count) if count else "")
        lead = tr("Test case {number}", number=number) if count else tr("Test case")
        self.heading.title.set_title(f"{lead}: {pair.title}" if pair is not None else lead, upper=len(lead))
        same = tr("Both renderings are identical: the template ignores the difference.")
        self.shows.setText("" if pair is None else same if pair.same else pair.shows)
        for side, (name, text) in enumerate(zip(self.names, self.texts, strict=True)):
            if pair is None:
                name.setText("")
                text.show_text("")
                continue
            shown = pair.sides[side]
            name.setText(shown.name)
            text.show_text(shown.text, shown.marks, places_of(shown.text, markers))


DETAILS = (
    ("thinking", tr("Thinking"), tr("End of the prompt with thinking on, off and not set")),
    ("notes", tr("Notes"), tr("Warnings, and the corrections that apply, with their reasons")),
    (
        "variables",
        tr("Variables"),
        tr("Variables that can be set, each value with what it changes in a prompt"),
    ),
    ("values", tr("Values"), tr("Values of arguments that survive a round trip")),
    ("lint", tr("Lint"), tr("Errors that conversations of every shape show")),
    ("compared", tr("Compared"), tr("Conversations of every shape, as this template and another write them")),
)


class Details(Card):
    """One of the tables of `DETAILS`, in that order."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.thinking = LateTable(THINKING, tr("Prompt by thinking setting"))
        self.notes = LateTable(NOTES, tr("Warnings and corrections"))
        self.values = LateTable(VALUES, tr("Round trip of values"))
        tip = tr("Double-click or Enter sets a value for the next runs, and again leaves it out")
        words = tr("Variables of the template")
        self.variables = LateTable(VARIABLES, words, "templateVariables", tip=tip)
        self.given = named(TextSetting(read_pairs_line, pairs_line, tr("none")), "templateGiven")
        named(
            self.given,
            words=tr("Variables in use"),
            tip=tr("NAME=VALUE; NAME=VALUE: JSON, or text as values"),
        )
        given = hbox(field_label(tr("In use:"), self.given, "muted"), (self.given, 1), margins=(PAD - 5, 2))
        variables = holder(vbox((self.variables, 1), given, spacing=2))
        self.lint = LateTable(LINT, tr("Errors of the template"))
        self.compared = LateTable(COMPARED, tr("Comparison of two templates"))
        tip = tr("Write the response_template that follows from this template, for transformers")
        self.export_link = link(tr("Export response_template…"), tip, name="exportResponseButton")
        self.exported = ElidedLabel(role="hint")
        below = hbox(self.export_link, (self.exported, 1), margins=(PAD - 5, 2), spacing=GAP)
        lint = holder(vbox((self.lint, 1), below, spacing=2))
        self.stack = stack(self.thinking, self.notes, variables, self.values, lint, self.compared)
        self.views = named(Segmented(DETAILS, small=True), words=tr("Details of the template"))
        super().__init__("", self.stack, actions=(self.views,), padded=False, parent=parent)
        self.setAccessibleName(tr("Details of the template"))
        for part in (self.heading.title, self.heading.hint):  # the segments name it, and need the width
            part.hide()
        self.views.chosen.connect(self.show_view)

    def show_view(self, name: str) -> None:
        """Show the table of that name."""
        self.stack.setCurrentIndex(self.views.place(name))
        self.views.set_value(name)


WIDE = 1180
"""Width in pixels from which the right column gets a larger share."""
LOADING, TEMPLATE = "loading", "template"
_VIEWS = (
    (
        LOADING,
        tr("Facts and loading"),
        tr("The open model’s facts, its load options and the memory that it needs"),
    ),
    (TEMPLATE, tr("Chat template"), tr("The form of a turn, its test cases, variables and errors")),
)


class TemplatePage(FollowsSize, TakesFiles, QWidget):
    """Places the parts; `presenter.py` connects them. `fileDropped` carries a path, `slotChosen` a slot's row."""

    fileDropped = Signal(str)
    endings = (".jinja", ".gguf", ".txt")
    slotChosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "templatePage", tr("Model"))
        self.setAcceptDrops(True)
        self.source = named(ElidedLabel(self, role="title"), "templateSource")
        self.pill = Pill(self)
        tip = tr("Open a chat template (.jinja) or a model (.gguf); you can also drop one here")
        self.open_link = link(tr("Open…"), tip, self, name="openTemplateButton")
        tip = tr("Show the template of the open model")
        self.model_link = link(tr("From the model"), tip, self, name="modelTemplateButton")
        tip = tr("Use this template in runs instead of the model’s own")
        self.use_link = link(tr("Use this template"), tip, self, name="useTemplateButton")
        tip = tr("Runs use another template: return to the one that the model uses")
        self.own_link = link(tr("Use the model’s own"), tip, self, name="ownTemplateButton")
        self.names = choice_box(self, "templateNames", tr("Template in the file"), least=8)
        self.names.setToolTip(tr("The file has several templates"))
        self.prove_link = link(
            tr("Test again"), tr("Render 1,000 random turns with the template and parse them again"), self
        )
        tip = tr(
            "Show where another template, such as that of the model’s source, writes conversations otherwise"
        )
        self.compare_link = link(tr("Compare…"), tip, self, name="compareTemplateButton")
        tip = tr("Parse an answer strictly and leniently by this form, and by the notations of other models")
        self.readers_button = push_button(tr("Parse an answer…"), self, name="readersButton", tip=tip)
        self.views = named(Segmented(_VIEWS, parent=self), "modelViews", tr("Facts or chat template"))
        self.loading = LoadPanel()
        self.no_facts = words_label(tr("The open model has no file: there are no facts and no load options."))
        self.slots = RowsTable(SLOTS, tr("Parts of the chat template"), "templateSlots")
        self.pair = PairView(self)
        self.markers = RowsTable(MARKERS, tr("Markers as tokens"), "templateMarkers")
        self.ends = named(WrappedLabel(self), role="hint")
        self.details = Details(self)
        self.empty = words_label(parent=self, name="templateEmpty")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setMargin(30)
        self._wide: bool | None = None
        self._lay_out()
        self.slots.clicked.connect(self._slot_clicked)
        self.slots.selectionModel().currentRowChanged.connect(self._slot_clicked)
        self.setFocusProxy(self.slots)

    def show_words(self, words: str) -> None:
        """Show the state, or the possible actions, in place of a form."""
        self.empty.setText(words)
        self._show(self.empty)
        self.pill.set_words("", "open")
        self.prove_link.setEnabled(False)
        self.use_link.setEnabled(False)
        self.compare_link.setEnabled(False)

    def _show(self, part: QWidget) -> None:
        hidden = self.parts if part is self.empty else self.empty
        hidden.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)  # it needs no room
        part.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.stack.setCurrentWidget(part)

    def show_error(self, error: BaseException) -> None:
        """Show why there is no form, where, and how to fix it."""
        if isinstance(error, GlyphscopeError):
            parts = (error.message, error.where, error.hint)
        else:
            parts = (tr("The template cannot be inspected."), "", str(error))
        self.show_words("\n".join(visible(part, spaces=True) for part in parts if part))

    def show_form(self) -> None:
        self._show(self.parts)
        self.prove_link.setEnabled(True)
        self.compare_link.setEnabled(True)

    def files_dropped(self, paths: list[Path]) -> None:
        self.fileDropped.emit(str(paths[0]))

    def _slot_clicked(self, index: QModelIndex, _before: QModelIndex | None = None) -> None:
        if index.isValid():
            self.slotChosen.emit(index.row())

    def _lay_out(self) -> None:
        top = hbox(self.views, (self.source, 1), self.readers_button, spacing=GAP)
        links = (
            self.open_link,
            self.model_link,
            self.use_link,
            self.own_link,
            self.compare_link,
            self.prove_link,
        )
        line = hbox(self.names, *links, STRETCH, self.pill, spacing=GAP)
        self.slots_card = Card(tr("Chat template"), WholeRows(self.slots), padded=False)
        self.slots_card.heading.setMinimumHeight(self.pair.heading.sizeHint().height())
        ends = hbox((self.ends, 0, Qt.AlignmentFlag.AlignTop), margins=(PAD - 5, 6, PAD - 5, 2))
        tokens = holder(vbox((WholeRows(self.markers), 1), ends, spacing=2), self)
        self.markers_card = Card(tr("Markers as tokens"), tokens, padded=False)
        self.markers_card.heading.setMinimumHeight(self.details.heading.sizeHint().height())
        self.left = splitter(Qt.Orientation.Vertical, (self.slots_card, self.markers_card), (3, 2))
        self.right = splitter(Qt.Orientation.Vertical, (self.pair, self.details), (3, 2))
        self.parts = splitter(Qt.Orientation.Horizontal, (self.left, self.right), (4, 5))
        for column_of in (self.left, self.right):
            column_of.setSizes([300, 200])
        self.stack = stack(self.empty, self.parts)
        facts = holder(vbox(self.no_facts, self.loading, STRETCH))
        loading = Card(tr("Facts and loading"), facts)
        template = holder(vbox(line, (self.stack, 1), spacing=GAP))
        self._views = stack(loading, template)
        vbox(top, (self._views, 1), parent=self, margins=GAP, spacing=GAP)
        self.views.chosen.connect(self.show_view)
        self.show_view(TEMPLATE)

    def show_view(self, name: str) -> None:
        """Show the facts and load options of the open model, or the chat template."""
        self.views.set_value(name)
        self._views.setCurrentIndex(self.views.place(name))

    def _fit(self) -> None:
        wide = self.width() >= WIDE
        if wide == self._wide:
            return
        self._wide = wide
        width = self.width() - 2 * GAP
        share = 0.42 if wide else 0.48
        self.parts.setSizes([round(width * share), round(width * (1 - share))])


class TemplateAnswer(NamedTuple):
    """`text` is the model's output after a prompt that was rendered with that state of `thinking`.

    `steps` are its tokens. `form` is None if the run has none.
    """

    text: str = ""
    thinking: bool | None = None
    steps: tuple[TokenStep, ...] = ()
    form: TurnForm | None = None


def last_answer(state: RunState) -> TemplateAnswer:
    """The answer of the shown run; an empty one if there is none."""
    if state.started is None:
        return TemplateAnswer()
    steps = tuple(token.step for token in state.tokens)
    request = state.started.request
    try:
        form = msgspec.convert(request.form, ready(TurnForm)) if request.form else None
    except msgspec.ValidationError:
        form = None  # from a later version
    text = "".join(step.text for step in steps)
    return TemplateAnswer(text, {"on": True, "off": False}.get(request.thinking), steps, form)


PAUSE_MS = 150
"""Delay after the last key press before the text is parsed."""
MAX_LENGTH = 50_000
"""Characters of an answer that are parsed while the user types."""
_NO_FORM = tr("With a chat template, the parsers of its form and those of other models are compared here.")
_STATES: dict[str, bool | None] = {"on": True, "off": False, "undefined": None}
_WHY = tr("Strict accepts only the exact form. Lenient parses like servers do, which tolerate deviations.")


class Parsed(NamedTuple):
    """An answer as a run in the notation that fits it best, with that run's request and state; and the readings by
    other parsers, none without a form of turns.
    """

    events: tuple[AnyEvent, ...]
    request: RunRequest
    state: RunState
    readings: tuple[Reading, ...] = ()


def parse(
    text: str,
    asked: PreparedRequest,
    thinking: bool | None,
    form: TurnForm | None,
    template: Callable[[], TemplateSource] | None,
) -> Parsed:
    """Parse an answer by the tools of `asked`, and by the form or that of the template, which is opened for it."""
    source = None
    if template is not None:
        with suppress(GlyphscopeError):  # its page shows what is wrong with it
            source = template()
            form = template_turn_form(source) if form is None else form
    events, request = read_elsewhere(text, asked, None if source is None else source.source)
    found = () if form is None else readings(text, form, asked.registry, thinking)
    return Parsed(events, request, run_state(events), found)


class ReadersDialog(PlainDialog):
    """Parses the text while it is written. `found` are the readings of the current text.

    `chosen` carries the events of the text as a run.
    """

    chosen = Signal(object)

    def __init__(
        self,
        asked: PreparedRequest,
        answer: TemplateAnswer,
        template: Callable[[], TemplateSource] | None = None,
        form: TurnForm | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("readersDialog", tr("Parse an answer"), parent)
        self.found: tuple[Reading, ...] = ()
        self.parsed: Parsed | None = None
        self._asked, self._answer, self._form, self._template = asked, answer, form, template
        self._background = Background(self)
        self._timer = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._timer.timeout.connect(self._read)
        self.edit = named(WrappingEdit(self), "readersText", tr("The answer"))
        self.edit.setPlaceholderText(
            tr(
                "Paste an answer: a call in GLYPH or JSON, in any shape, or the text of a model in its own notation"
            )
        )
        use_font(self.edit, mono_font, -0.5)
        self.edit.setTabChangesFocus(True)
        self.edit.setPlainText(answer.text)
        self.text = MarkedText(tr("First character that the parser rejects"), self)
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
        self.verdict = named(PlainLabel(self, wordWrap=True), words=tr("Verdict of the tools"), role="title")
        self.table = RowsTable(READERS, tr("Parsers"), "readersTable", self)
        self.about = PlainLabel(self, wordWrap=True, objectName="readersAbout", role="muted")
        self.show_button = push_button(tr("Show in the transcript"), self, role="primary")
        self.show_button.setToolTip(tr("Show it as a run, with its fields and verdicts"))
        self._lay_out()
        self.edit.textChanged.connect(self._timer.start)
        self.states.chosen.connect(self._timer.start)
        self.table.selectionModel().currentRowChanged.connect(self._show_reading)
        self._read()

    @property
    def is_busy(self) -> bool:
        """Whether the text is being read."""
        return self._background.is_busy or self._timer.isActive()

    def accept(self) -> None:
        if self.parsed is not None:
            self.chosen.emit(self.parsed.events)
            super().accept()

    def _lay_out(self) -> None:
        thinking = PlainLabel(tr("Thinking in the prompt:"), self, role="muted")
        self._by_form = (thinking, self.states, self.table)
        line = hbox(thinking, self.states, STRETCH)
        buttons = self.button_box(Standard.Close, (self.show_button, Role.AcceptRole))
        parts = ((self.edit, 2), self.verdict, (self.text, 2), line, (self.table, 4), self.about, buttons)
        vbox(*parts, parent=self, margins=(20, 18, 20, 16), spacing=10)
        self.resize(860, 640)

    def _read(self) -> None:
        text = self.edit.toPlainText()
        if not text.strip():
            self._say(tr("Write or paste an answer."))
            return
        if len(text) > MAX_LENGTH:
            self._say(
                tr("The answer is too long: at most {count:,} characters are parsed.", count=MAX_LENGTH)
            )
            return
        work = partial(parse, text, self._asked, _STATES[self.states.value], self._form, self._template)
        self._background.start("read", work, self._show, self._failed)

    def _failed(self, error: BaseException) -> None:
        self._say(str(error))

    def _say(self, words: str) -> None:
        self.found, self.parsed = (), None
        self.table.rows.show_rows([])
        self.about.setText(words)
        show_words(self.verdict, "")
        self.text.hide()
        self.show_button.setEnabled(False)

    def _show(self, parsed: Parsed) -> None:
        self.parsed = parsed
        found = parsed.readings
        self.found = tuple(each for each in found if each.calls or each.kind != "other")
        rest = len(found) - len(self.found)
        self.table.rows.show_rows([*(_row(each) for each in self.found), *([_rest(rest)] if rest else [])])
        for part in self._by_form:
            part.setVisible(bool(found))
        self.show_button.setEnabled(True)
        self.text.hide()
        self.about.setText("" if found else _NO_FORM)
        if found:
            self.table.selectRow(0)
            self._show_reading(self.table.currentIndex())
        self._show_verdict(parsed)

    def _show_verdict(self, parsed: Parsed) -> None:
        """Show the verdict of the tools, and mark the deciding character."""
        end, request = end_of(parsed.state, tr), parsed.request
        written = [value_words(name, getattr(request, name)) for name in ("notation", "shape")]
        notation = tr("the model’s notation") if request.native else " · ".join(written)
        words = end.words
        if (
            broken := next(iter(parsed.state.present.violations), None)
        ) is not None and end.status != "holds":
            words = tr("character {char}: {why}", char=broken.char, why=broken.message)
            self._mark(broken.char, parsed.state.text)  # the call alone, of an API's text
        sign = VERDICTS[end.status].sign
        show_words(self.verdict, tr("{sign} {notation}: {words}", sign=sign, notation=notation, words=words))
        set_role(self.verdict, f"verdict-{end.status}")

    def _mark(self, at: int, text: str) -> None:
        self.text.show_text(text, [(at, min(at + 1, len(text)))] if at < len(text) else [(at - 1, at)])
        self.text.show()

    def _show_reading(self, index: QModelIndex, _before: QModelIndex | None = None) -> None:
        if not 0 <= index.row() < len(self.found):
            return
        reading = self.found[index.row()]
        text = self.edit.toPlainText()
        at = reading.left_at
        if at is None:
            whole = (
                tr("The text matches this form.")
                if reading.complete
                else tr("The text matches this form but is incomplete.")
            )
            self.about.setText(f"{whole} {_WHY}" if reading.kind != "other" else whole)
            self.text.hide()
            return
        self._mark(at, text)
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
        pill = TextCell(tr("yes"), pill="holds") if reading.calls else TextCell(tr("as text"), pill="open")
    else:
        pill = TextCell(tr("no"), pill="impossible")
    left = "" if reading.complete else tr("incomplete")
    if reading.left_at is not None:
        left = tr("character {at}: {why}", at=reading.left_at, why=reading.left_why)
    return (
        TextCell(_name(reading), "\n".join(reading.sources)),
        pill,
        TextCell(visible(calls, lines=True)),
        TextCell(visible(left, lines=True)),
    )


def _rest(count: int) -> Row:
    """The readers that find no call, in one row."""
    words = tr("%n other notation(s)", "", count)
    return TextCell(words), TextCell(tr("no call"), pill="open"), TextCell(tr("none")), TextCell("")


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
