"""The centre: the prompt, the stream with what stopped it, the fields, the tokens."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QVBoxLayout, QWidget

from glyphscope.calling import RunState
from glyphscope.events import Aborted, PromptRendered, RunFailed, RunStarted, Token
from glyphscope_gui.controllers.run_controller import Applied, Saving
from glyphscope_gui.models.field_table_model import FieldTableModel
from glyphscope_gui.models.prompt_document import PromptDocument
from glyphscope_gui.models.run_registry import registry_of
from glyphscope_gui.models.token_table_model import TokenTableModel
from glyphscope_gui.theme.sizes import GAP
from glyphscope_gui.widgets.abort_banner import AbortBanner
from glyphscope_gui.widgets.card import Card
from glyphscope_gui.widgets.elided_label import ElidedLabel
from glyphscope_gui.widgets.field_table import FieldTable
from glyphscope_gui.widgets.notice_banner import NoticeBanner
from glyphscope_gui.widgets.stream_view import StreamView
from glyphscope_gui.widgets.token_table import TokenTable
from glyphscope_gui.widgets.user_prompt_edit import UserPromptEdit
from glyphscope_gui.widgets.verdict import VerdictLegend

_NOT_COUNTED = "Tokens are counted when it runs."
NARROW = 560
"""Pixels of width below which the legend is short."""
LOW = 660
"""Pixels of height below which every line counts."""
_KEYS = "Ctrl + Enter runs"


class RunPage(QWidget):
    """Shows one run. `tokenChosen` carries a token's index or None; the wishes are the user's."""

    tokenChosen = Signal(object)
    runWanted = Signal()
    continueWanted = Signal()
    renderedWanted = Signal()

    def __init__(self, prompt: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("centre")
        self.fields_model = FieldTableModel(self)
        self.tokens_model = TokenTableModel(self)
        self.notice = NoticeBanner(self)
        self.prompt_edit = UserPromptEdit(prompt, self)
        self.stream = StreamView(self)
        self.banner = AbortBanner(self)
        self.legend = VerdictLegend(self)
        self.fields = FieldTable(self.fields_model, self)
        self.tokens = TokenTable(self.tokens_model, self)
        self.costs = ElidedLabel(self, Qt.TextElideMode.ElideRight)
        self.costs.setText(_NOT_COUNTED)
        self.costs.setProperty("role", "muted")
        self.rendered_link = QPushButton("Show the rendered prompt", self)
        self.rendered_link.setProperty("role", "link")
        self._moved = False
        self._lay_out()
        self.prompt_edit.runRequested.connect(self.runWanted)
        self.rendered_link.clicked.connect(self.renderedWanted)
        self.banner.continueWanted.connect(self.continueWanted)
        self.stream.tokenChosen.connect(self.tokens.choose)
        self.tokens.tokenChosen.connect(self._choose)
        self._state = RunState()

    # -- the run -----------------------------------------------------------------------------------------------

    def begin(self, state: RunState) -> None:
        self._state = state
        self.banner.hide()
        self.notice.hide()
        self.tokens_model.clear()
        self.fields_model.begin(None, "flat")
        self.stream.begin(state)
        self.token_card.heading.hint.setText("")

    def apply(self, applied: Applied) -> None:
        if applied.kind == "continuation":
            text = "".join(event.step.text for event in applied.events if isinstance(event, Token))
            self.stream.say(text)
            return
        state = applied.state
        for event in applied.events:
            match event:
                case RunStarted():
                    self._started(event)
                case PromptRendered():
                    self._show_costs(event)
                    if event.note:
                        self.notice.tell(event.note)
                case Aborted():
                    self.banner.show_abort(event)
                case RunFailed():
                    self.notice.tell(" ".join(part for part in (event.message, event.hint) if part))
        self.tokens_model.append([event for event in applied.events if isinstance(event, Token)])
        self.fields_model.apply(state, applied.events)
        self.stream.apply(state, applied.events)
        self.tokens.follow()

    def finish(self, applied: Applied) -> None:
        if applied.kind == "continuation":
            return
        state = applied.state
        self.stream.finish()
        self.fields_model.add_missing(state)
        forced, total = state.forced, len(state.tokens)
        if total:
            self.token_card.heading.hint.setText(
                f"{forced} of {total} forced" if forced else f"{total} decoded"
            )
            self.tokens.choose(telling_token(state))

    def show_saving(self, saving: Saving) -> None:
        self.banner.show_saving(saving)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low window the tables go without headings: their columns have titles that say it too."""
        super().resizeEvent(event)
        roomy = event.size().height() >= LOW
        for card in (self.field_card, self.token_card):
            card.show_heading(roomy)
        self.legend.set_short(event.size().width() < NARROW)
        self._share_room()

    def _share_room(self) -> None:
        """Fields as high as those of a usual call; stream and tokens share the rest, until the user moves a border."""
        if self._moved:
            return
        heights = [self.splitter.widget(place).sizeHint().height() for place in range(3)]
        room = self.splitter.height() - 2 * self.splitter.handleWidth()
        fields = min(heights[1], round(room * 0.36))
        stream = round((room - fields) * (0.4 if self.height() >= LOW else 0.47))
        self.splitter.setSizes([stream, fields, room - fields - stream])

    def current_token(self) -> Token | None:
        index = self.tokens.currentIndex()
        return self.tokens_model.token(index.row()) if index.isValid() else None

    # -- inside ------------------------------------------------------------------------------------------------

    def _border_moved(self, _place: int, _border: int) -> None:
        self._moved = True

    def _started(self, event: RunStarted) -> None:
        self.fields_model.begin(registry_of(event.request), event.request.shape)
        other = event.request.prompt != self.prompt_edit.toPlainText()
        self.prompt_card.heading.hint.setText(f"The run below: “{event.request.prompt}”" if other else _KEYS)
        self.legend.show_forced(event.request.constraint != "off")

    def _show_costs(self, event: PromptRendered) -> None:
        sums: dict[str, int] = {}
        for part in event.parts:
            sums[part.name] = sums.get(part.name, 0) + part.tokens
        words = [f"{event.tokens:,} tokens" + (f", {event.cached:,} from the cache" if event.cached else "")]
        named = (("tools", "tools cost"), ("examples", "examples"), ("user", "your text"))
        costs = [f"{title} {sums[name]}" for name, title in named if name in sums]
        if costs:
            words.append(", ".join(costs))
        self.costs.setText("     ".join(words))

    def _choose(self, index: int | None) -> None:
        self.stream.select_token(None if index is None else self.tokens_model.token(index))
        self.tokenChosen.emit(index)

    def _lay_out(self) -> None:
        prompt = QWidget(self)
        column = QVBoxLayout(prompt)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.prompt_edit)
        line = QHBoxLayout()
        line.setSpacing(12)
        line.addWidget(self.costs, 1)
        line.addWidget(self.rendered_link)
        column.addLayout(line)

        stream = QWidget(self)
        column = QVBoxLayout(stream)
        column.setContentsMargins(8, 2, 8, 4)
        column.setSpacing(8)
        column.addWidget(self.stream, 1)
        column.addWidget(self.banner)

        self.token_card = Card("Tokens", self.tokens, padded=False)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.setObjectName("centreSplitter")
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(GAP)
        splitter.addWidget(Card("Stream", stream, actions=(self.legend,), padded=False))
        self.field_card = Card("Fields", self.fields, padded=False)
        splitter.addWidget(self.field_card)
        splitter.addWidget(self.token_card)
        for place, stretch in enumerate((3, 0, 5)):
            splitter.setStretchFactor(place, stretch)
        splitter.splitterMoved.connect(self._border_moved)
        self.splitter = splitter

        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP + 4, GAP, GAP + 4, GAP)
        layout.setSpacing(GAP)
        layout.addWidget(self.notice)
        self.prompt_card = Card("Prompt", prompt, hint=_KEYS)
        layout.addWidget(self.prompt_card)
        layout.addWidget(splitter, 1)


def telling_token(state: RunState) -> int:
    """The token worth a look when a run has ended: the one that broke it, else the last with a choice."""
    last = len(state.tokens) - 1
    if state.aborted is not None:
        return min(state.aborted.token, last)
    chosen = (t.step.index for t in reversed(state.tokens) if not t.step.forced and not t.step.end)
    return next(chosen, last)
