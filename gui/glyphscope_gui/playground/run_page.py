"""The playground's centre: the prompt, the timeline, the stream, the fields, the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from glyphscope.events import PromptRendered, RunStarted, Token, ToolResult
from glyphscope.runs import RunState
from glyphscope.runs.state import StageState
from glyphscope_gui.playground.asking import MAX_HEIGHT, ApprovalCard, QuestionCard, ReplyBar
from glyphscope_gui.playground.branches.tree import BranchCard
from glyphscope_gui.playground.notes_view import NotesView, notes_of
from glyphscope_gui.playground.timeline import Timeline
from glyphscope_gui.playground.timeline_model import TimelineRow
from glyphscope_gui.project.prompt_document import PromptDocument
from glyphscope_gui.runs.abort_banner import AbortBanner
from glyphscope_gui.runs.copy_menu import CopyMenu
from glyphscope_gui.runs.field_table import FieldTable, FieldTableModel
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.stream_view import StreamView
from glyphscope_gui.runs.token_table import TokenTable, TokenTableModel
from glyphscope_gui.runs.user_prompt_edit import UserPromptEdit
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, holder, splitter, stack, vbox, visible_height
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.shared.run_words import cached_words
from glyphscope_gui.shared.verdict import VerdictLegend
from glyphscope_gui.theme.sizes import GAP, PAD, is_crowded

_NOT_COUNTED = tr("Tokens are counted when the prompt runs.")
_COUNTING = tr("Counting tokens…")
LOW = 660
"""Pixels of height below which the page hides headings to save lines."""
_KEYS = tr("Ctrl+Enter runs")


class RunPage(FollowsSize, QWidget):
    """Shows one run: its timeline, and one stage's stream, fields and tokens, or the details of a row of the timeline.

    `tokenChosen` carries the index of the selected token in that stage, or None.
    """

    tokenChosen = Signal(object)

    def __init__(self, prompt: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("centre")
        self.fields_model = FieldTableModel(self)
        self.tokens_model = TokenTableModel(self)
        self.notice = NoticeBanner(self)
        self.prompt_edit = UserPromptEdit(prompt, self)
        self.approval = ApprovalCard(self)
        self.question = QuestionCard(self)
        self.timeline = Timeline(self)
        self.branches = BranchCard(self)
        self.stream = StreamView(self)
        self.notes = NotesView(self)
        self.banner = AbortBanner(self)
        self.reply = ReplyBar(self)
        self.difference = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.difference.setContentsMargins(PAD, 4, PAD, 0)
        self.difference.hide()
        self.legend = VerdictLegend(self)
        self._make_copying()
        self.fields = FieldTable(self.fields_model, self)
        self.tokens = TokenTable(self.tokens_model, self)
        self.costs = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.costs.setText(_NOT_COUNTED)
        self.rendered_link = push_button(tr("Show the rendered prompt"), self, role="link")
        tip = tr("Show and edit the earlier messages of the conversation")
        self.history_link = named(ElidedLink(self), "historyLink", tip=tip)
        tip = tr("Start a new conversation: send this message without the earlier ones")
        self.new_link = named(ElidedLink(self), "newConversationLink", tip=tip)
        self.new_link.set_words(tr("New conversation"))
        self._border_was_moved = self._asking = False
        self._costs_of_run = self._has_other_model = False
        """Whether the figures below the prompt are the shown run's, and whether another model was opened since."""
        self._lay_out()
        self.stream.tokenChosen.connect(self.tokens.choose)
        self.tokens.tokenChosen.connect(self._choose)
        self.timeline.appeared.connect(self._share_room)
        self.branches.appeared.connect(self._share_room)
        self._state = RunState()
        self.stage = self._state.present
        self._started: RunStarted | None = None
        self._prompt: PromptRendered | None = None
        """The prompt of the shown stage."""
        self._notes = 0
        """The number of prompts with a note."""
        self._parts = self.stage.parted
        self._row: TimelineRow | None = None
        """The row of the timeline whose details are shown in place of the stream."""
        self._ended = False
        """Whether the views of the shown stage are complete."""

    # -- the run -----------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the run and in its stage, or all of another one."""
        is_other = shown.stage is not self.stage
        if shown.run is not self._state:
            self._begin(shown.run)
        self.stage = shown.stage
        self._show_run(shown)
        for view in (self.tokens, self.fields, self.stream):
            view.show_stage(shown)
        if is_other:
            self._ended = False
            self._choose(None)  # Qt has no signal for a selected row that is removed from its model
            self.token_card.heading.hint.setText("")
            self._show_cards()
            self.show_stream()
        if (parts := self.stage.parted) != self._parts:
            self._parts = parts
            self._share_room()
        if not (self._ended or shown.is_growing):
            self._stage_ended()

    def _begin(self, state: RunState) -> None:
        """Begin to show another run."""
        self._state, self._notes = state, 0
        self._row = None  # a row of the run before
        if (prepared := state.prepared) is None or prepared.request.branch_of is None:
            self._costs_of_run, self._has_other_model = prepared is not None, False
        self.notice.hide()
        self.show_difference(())

    def _show_run(self, shown: ShownStage) -> None:
        """Show what is new of the run around the text of the stage."""
        run, request = shown.run, shown.request
        if run.started is not self._started:
            self._started = run.started
            self._run_started(run.started)
        notes = [stage.prompt.note for stage in run.stages if stage.prompt is not None and stage.prompt.note]
        if len(notes) > self._notes:
            self._notes = len(notes)
            self.notice.show_words(notes[-1])
        if self.stage.prompt is not self._prompt:
            self._prompt = self.stage.prompt
            if self._prompt is not None and self._costs_of_run:
                self._show_costs(self._prompt)
        alone = request is None or (request.strategy == "direct" and not request.repair.attempts)
        self.banner.show_aborted(self.stage.aborted, may_continue=alone)
        self.timeline.show_run(run, over=shown.over)
        if self._row is None and not self.timeline.isHidden():
            self._show_current_row()
        self._show_notes()

    def forget_costs(self, *, counted: bool, other_model: bool = False) -> None:
        """Remove the figures below the prompt, as it has changed; `counted`: others follow."""
        self._costs_of_run = False
        self._has_other_model |= other_model
        self.costs.setText(_COUNTING if counted else _NOT_COUNTED)

    def show_next_costs(self, prompt: PromptRendered | None) -> None:
        """Show the tokens of the next run's prompt; None if they are not known. They are the run's while it is the
        same prompt.
        """
        if self._costs_of_run:
            return
        own = None if self._has_other_model else self.stage.prompt
        self._costs_of_run = own is not None and prompt is not None and own.text == prompt.text
        if prompt is None:
            self.costs.setText(_NOT_COUNTED)
        else:
            self._show_costs(own if self._costs_of_run and own is not None else prompt)

    def _show_costs(self, event: PromptRendered) -> None:
        sums: dict[str, int] = {}
        for part in event.parts:
            sums[part.name] = sums.get(part.name, 0) + part.tokens
        words = [tr("%n token(s)", "", event.tokens) + cached_words(event)]
        named = (("tools", tr("tools")), ("examples", tr("examples")), ("user", tr("prompt")))
        costs = [f"{title} {sums[name]:,}" for name, title in named if name in sums]
        if costs:
            words.append(", ".join(costs))
        self.costs.setText("     ".join(words))

    def show_row(self, row: TimelineRow) -> None:
        """Show a row of the timeline: its stage's text, or its details."""
        stage = self._state.stages[row.stage]
        if not row.events and stage.kind != "tool":
            self.show_stream(row)
            return
        self._row = row
        self.stream_card.heading.set_title(row.title)
        self._show_notes()
        self._show_details(True)

    def show_stream(self, row: TimelineRow | None = None) -> None:
        """Show the text of the stage, from the row's part on, instead of a row's details."""
        self._row = None
        self.stream_card.heading.set_title(tr("Stream"))
        self._show_details(False)
        if row is None or row.part is None:
            self._show_current_row()
        else:
            self.stream.show_character(row.part.start)

    def show_record(self, started: RunStarted | None) -> None:
        """Show a record's prompt, marked and read-only; None shows the project's again."""
        self.prompt_edit.show_record(None if started is None else started.request.prompt)
        self.prompt_card.heading.set_title(tr("Prompt") if started is None else tr("Prompt of the record"))
        self._costs_of_run = started is not None
        shown = self._state.started
        if shown is not None:
            self._show_run_prompt(shown)

    def show_difference(self, settings: Sequence[str]) -> None:
        """Show the settings of the run that differ from the next run's, none for a run with the same settings, and its
        prompt if that differs.
        """
        words = tr("This run: {settings}", settings=" · ".join(settings)) if settings else ""
        self.difference.setText(words)
        self.difference.setVisible(bool(settings))
        if self._state.started is not None:
            self._show_run_prompt(self._state.started)

    def show_asking(self, asking: bool) -> None:
        """Set whether a card asks the user: it replaces the fields and, in a low window, the prompt and the tokens."""
        self._asking = asking
        self._show_cards()

    def show_reply(self, shown: bool) -> None:
        """Show or hide the reply field, with which the run's conversation can be continued."""
        self.reply.setVisible(shown)
        self._share_room()

    def current_token(self) -> Token | None:
        return self.tokens_model.row(self.tokens.currentIndex().row())

    def copy_shown(self) -> None:
        """Copy the shown text to the clipboard: the stage's, or a row's results, else its notes."""
        if self._row is None:
            copy_text(self.stage.text)
            return
        results = [event.sent or event.message for event in self._row.events if isinstance(event, ToolResult)]
        copy_text("\n\n".join(results) or self.notes.toPlainText())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Divide the height again when a card above the splitter appears or disappears."""
        if watched is self.splitter and event.type() == QEvent.Type.Resize:
            self._share_room()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        """Hide the headings of tables in a low window: the titles of their columns suffice."""
        roomy = not self._is_low
        for card in (self.field_card, self.token_card):
            card.show_heading(roomy)
        self.timeline.set_low(not roomy)
        self.approval.set_room(MAX_HEIGHT if roomy else round(MAX_HEIGHT * 0.7))
        self.show_asking(self._asking)
        self.copy_button.setVisible(not is_crowded(self))  # the context menu copies too
        self._share_room()

    @property
    def _is_low(self) -> bool:
        """Whether the visible part of the page has little height; a low page scrolls."""
        return visible_height(self) < LOW

    def _make_copying(self) -> None:
        self.copy_menu = CopyMenu(self)
        shown = named(QAction(tr("Copy what is &shown"), self), "copyShown")
        shown.triggered.connect(self.copy_shown)
        self.stream.copying = (shown, self.copy_menu.menuAction())
        self.notes.addActions([shown, self.copy_menu.menuAction()])
        menu = QMenu(self)
        menu.addAction(shown)
        menu.addSeparator()
        menu.addActions(self.copy_menu.actions())
        words = tr("Copy the answer, a call, the prompt")
        tip = tr("Copy the answer, a call, the prompt, or a curl command")
        self.copy_button = named(IconButton("duplicate", None, self), "copyButton", words, tip=tip)
        self.copy_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.copy_button.setMenu(menu)
        self.copy_button.setEnabled(False)

    def _share_room(self) -> None:
        """Divide the height among timeline, branches, stream, fields and tokens, until the user moves a border.

        The fields get at most the height of a usual call's fields. The shares are tuned by eye: the stream of an answer
        of several parts, which has many lines, gets more, and the timeline and the fields less.
        """
        if self._border_was_moved:
            return
        parts = bool(self.stage.segments)
        handles = 4 - sum(card.isHidden() for card in (self.timeline, self.branches, self.field_card))
        room = self.splitter.height() - handles * self.splitter.handleWidth()
        timeline = _height_of_rows(self.timeline, self.timeline.table, most=room * (0.27 if parts else 0.34))
        branches = _preferred_height(self.branches, most=room * 0.26)
        reply = 0 if self.reply.isHidden() else self.reply.sizeHint().height()
        room -= branches + reply
        if self.token_card.isHidden():
            self.splitter.setSizes([timeline, branches, room - timeline + reply, 0, 0])
            return
        most = (room - timeline) * (0.28 if parts else 0.36)
        fields = _height_of_rows(self.field_card, self.fields, most)
        rest = room - timeline - fields
        share = 0.66 if parts else 0.4 if not self._is_low else 0.57 if reply else 0.47
        stream = round(rest * share)
        self.splitter.setSizes([timeline, branches, stream + reply, fields, rest - stream])

    def _border_moved(self, _place: int, _border: int) -> None:
        self._border_was_moved = True

    def _place(self) -> int:
        """The index of the shown stage in its run."""
        return next((n for n, stage in enumerate(self._state.stages) if stage is self.stage), 0)

    def _show_details(self, details: bool) -> None:
        """Show the details of a row in place of the views of a stage's text, or those views again."""
        if details == self._shows_details:
            return
        self.stack.setCurrentWidget(self.notes if details else self.stream_page)
        self.legend.setVisible(not details)
        self._show_cards()

    @property
    def _shows_details(self) -> bool:
        return self.stack.currentWidget() is self.notes

    def _show_cards(self) -> None:
        """Show the cards that have content; in a low window, hide the fields of an answer without a call."""
        details, crowded = self._shows_details, self._asking and self._is_low
        no_fields = self._ended and self._is_low and not self.fields_model.rowCount()
        self.prompt_card.setVisible(not crowded)
        self.field_card.setVisible(not (details or self._asking or no_fields))
        self.token_card.setVisible(not (details or crowded))
        self._share_room()

    def _show_current_row(self) -> None:
        self.timeline.table.show_row(self.timeline.model.row_of_stage(self._place()))

    def _stage_ended(self) -> None:
        """Complete the views of the shown stage, which has ended."""
        stage, self._ended = self.stage, True
        self._show_cards()
        forced, total = stage.forced, len(stage.tokens)
        if total:
            self.token_card.heading.hint.setText(
                tr("{forced} of {total} forced", forced=forced, total=total)
                if forced
                else tr("{total} decoded", total=total)
            )
            self.tokens.choose(notable_token(stage))

    def _show_notes(self) -> None:
        row = self._row
        if row is not None:
            stage = self._state.stages[row.stage]
            own = (*stage.outline, *((stage.finished,) if stage.finished is not None else ()))
            self.notes.show_blocks(notes_of(own if row.is_stage else row.events))

    def _run_started(self, event: RunStarted | None) -> None:
        self.copy_button.setEnabled(event is not None)
        if event is not None:
            self._show_run_prompt(event)
            self.legend.show_forced(event.request.constraint != "off")

    def _show_run_prompt(self, event: RunStarted) -> None:
        """Show the run's prompt if it differs from the field's."""
        other = event.request.prompt != self.prompt_edit.toPlainText()
        self.prompt_card.heading.hint.setText(
            tr("The run below: “{prompt}”", prompt=event.request.prompt) if other else self._keys()
        )

    def _keys(self) -> str:
        return tr("Read-only") if self.prompt_edit.isReadOnly() else _KEYS

    def _choose(self, index: int | None) -> None:
        self.stream.select_token(None if index is None else self.tokens_model.row(index))
        self.tokenChosen.emit(index)

    def _lay_out(self) -> None:
        line = hbox((self.costs, 1), self.rendered_link, spacing=12)
        prompt = holder(vbox(self.prompt_edit, line, spacing=8), self)

        self.stream_page = QWidget(self)
        self.stack = stack(self.stream_page, self.notes)
        vbox((self.stream, 1), self.banner, parent=self.stream_page, margins=(8, 2, 8, 4), spacing=8)

        self.token_card = Card(tr("Tokens"), self.tokens, padded=False)
        answer = holder(vbox(self.difference, (self.stack, 1), self.reply, spacing=0), self)
        self.stream_card = Card(tr("Stream"), answer, actions=(self.legend, self.copy_button), padded=False)
        self.field_card = Card(tr("Fields"), self.fields, padded=False)
        parts = (self.timeline, self.branches, self.stream_card, self.field_card, self.token_card)
        self.splitter = splitter(Qt.Orientation.Vertical, parts, (0, 0, 3, 0, 5))
        self.splitter.splitterMoved.connect(self._border_moved)
        self.splitter.installEventFilter(self)

        self.prompt_card = Card(tr("Prompt"), prompt, hint=_KEYS, actions=(self.history_link, self.new_link))
        items = (self.notice, self.prompt_card, self.approval, self.question, (self.splitter, 1))
        vbox(*items, parent=self, margins=(GAP + 4, GAP), spacing=GAP)


def _preferred_height(widget: QWidget, most: float) -> int:
    """The preferred height of a widget in pixels, limited to `most`; 0 while it is hidden."""
    return 0 if widget.isHidden() else min(widget.sizeHint().height(), round(most))


def _height_of_rows(card: QWidget, table: PlainTable, most: float) -> int:
    """As `_preferred_height` for a card with a table, rounded down to whole rows."""
    row = table.verticalHeader().defaultSectionSize()
    excess = max(card.sizeHint().height() - most, 0)
    least = card.minimumSizeHint().height()
    return 0 if card.isHidden() else max(card.sizeHint().height() - ceil(excess / row) * row, least)


def notable_token(state: StageState) -> int:
    """The index of the token to select in an ended stage: the token that made it invalid, otherwise the last one that
    was not forced.
    """
    last = len(state.tokens) - 1
    if state.aborted is not None:
        return min(state.aborted.token, last)
    within = last
    if state.segments:  # text after the last part is a marker
        part = next((part for part in reversed(state.segments) if part.kind == "call"), state.segments[-1])
        within = max(state.tokens_between(part.start, part.end), default=last)
        broken = next(iter(state.violations), None)
        if broken is not None and 0 <= broken.token <= within:
            return broken.token
    chosen = (
        t.step.index for t in reversed(state.tokens[: within + 1]) if not t.step.forced and not t.step.end
    )
    return next(chosen, last)
