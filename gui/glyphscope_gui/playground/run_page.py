"""The playground's centre: the prompt, the run's verdict and transcript, and a panel of tabs with its details."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QMenu, QTabWidget, QWidget

from glyphscope.base.shorten import excerpt
from glyphscope.events import PromptRendered, RunStarted, Token
from glyphscope.runs import RunState
from glyphscope.runs.stage_words import prompt_tokens
from glyphscope.runs.state import StageState
from glyphscope_gui.playground.asking import MAX_HEIGHT, ApprovalCard, QuestionCard, ReplyBar
from glyphscope_gui.playground.branches.tree import BranchPanel
from glyphscope_gui.playground.chart_views import SizesView, StepsView
from glyphscope_gui.playground.mask_impact_view import MaskImpactView
from glyphscope_gui.playground.transcript import Transcript
from glyphscope_gui.playground.verdict_line import VerdictLine, budgets
from glyphscope_gui.project.prompt_document import PromptDocument
from glyphscope_gui.runs.copy_menu import CopyMenu
from glyphscope_gui.runs.field_table import FieldTable, FieldTableModel
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.token_table import TokenTable, TokenTableModel
from glyphscope_gui.runs.user_prompt_edit import UserPromptEdit
from glyphscope_gui.shared import layouts
from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink, PlainLabel, link, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_table import WholeRows
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.shared.run_words import cached_words
from glyphscope_gui.shared.verdict import VerdictLegend
from glyphscope_gui.theme.sizes import PAD, letters

_NOT_COUNTED = tr("Tokens are counted when the prompt runs."), tr("Tokens: counted by a run")
_COUNTING = tr("Counting tokens…")
_REPORTED = tr("An endpoint reports token counts only with its answer.")
_TOKENS = tr("Tokens")
MOVED_MS = 400
"""Delay after the last movement of the border before its place is kept."""
LOW = 660
"""Pixels of height below which the page saves lines."""
TRANSCRIPT_SHARE, LOW_SHARE = 0.72, 0.75
"""The transcript's share of the height that it has with the panel below it, and in a low window."""
LEAST_TRANSCRIPT, DETAILS = 0.394, 132
"""The share of the window's height that the transcript keeps where the panel needs room for two rows of a table, and
that height of the panel in pixels, at the usual text size.
"""
LEAST = 56
"""The least height of a tab in pixels: the title of a table and a row."""
PROMPT_LINES, MAX_PROMPT_LINES = 2, 4
"""Lines of the prompt's field before it scrolls: while a run is shown, and before the first."""


class RunPage(layouts.FollowsSize, QWidget):
    """Shows one run: its transcript, and below it one stage's fields, tokens, steps, sizes and mask impact.

    `tokenChosen` carries the index of the selected token in that stage, or None; `shareChosen` the transcript's
    share of the height after the user has moved the border below it; `detailChosen` the name of the chosen tab.
    """

    tokenChosen = Signal(object)
    shareChosen = Signal(float)
    detailChosen = Signal(str)

    def __init__(self, prompt: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("centre")
        self.fields_model = FieldTableModel(self)
        self.tokens_model = TokenTableModel(self)
        self.notice = NoticeBanner(self)
        self.prompt_edit = UserPromptEdit(prompt, self)
        self.approval = ApprovalCard(self)
        self.question = QuestionCard(self)
        self.branches = BranchPanel(self)
        self.stream = Transcript(self)
        self.reply = ReplyBar(self)
        self.legend = VerdictLegend(self)
        self._make_copying()
        self.verdict = VerdictLine(self, actions=(self.copy_button, self.share_button))
        self.fields = FieldTable(self.fields_model, self)
        self.tokens = TokenTable(self.tokens_model, self)
        self._field_rows, self._token_rows = WholeRows(self.fields), WholeRows(self.tokens)
        self.steps, self.sizes, self.impact = StepsView(self), SizesView(self), MaskImpactView(self)
        self.about_prompt = PlainLabel(tr("Read-only"), self, role="muted")
        self.costs = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.costs.set_forms(*_NOT_COUNTED)
        tip = tr("Show the rendered prompt")
        self.rendered_link = link(tr("rendered"), tip, self, spoken=tip)
        tip = tr("Show and edit the earlier messages of the conversation")
        self.history_link = named(ElidedLink(self), "historyLink", tip=tip)
        tip = tr("Start a new conversation: send this message without the earlier ones")
        self.new_link = named(ElidedLink(self), "newConversationLink", tip=tip)
        self.new_link.set_words(tr("New conversation"))
        self._detail: QWidget = self._field_rows
        """The tab that the user chose."""
        self._share = 0.0
        """The transcript's share that the user chose; 0 for the usual one."""
        self._moved = QTimer(self, singleShot=True, interval=MOVED_MS)
        self._moved.timeout.connect(lambda: self.shareChosen.emit(self._share))
        self._costs_of_run = self._has_other_model = False
        """Whether the figures below the prompt are the shown run's, and whether another model was opened since."""
        self._lay_out()
        self.stream.tokenChosen.connect(self.tokens.choose)
        self.tokens.tokenChosen.connect(self._choose)
        self.steps.tokenChosen.connect(self.tokens.choose)
        self.impact.tokenChosen.connect(self.tokens.choose)
        self.branches.appeared.connect(self._show_branches)
        self._state = RunState()
        self.stage = self._state.present
        self._started: RunStarted | None = None
        self._prompt: PromptRendered | None = None
        """The prompt of the shown stage."""
        self._notes = 0
        """The number of prompts with a note."""
        self._ended = self._lecture = False
        """Whether the views of the shown stage are complete, and whether a lecture shows the run."""

    # -- the run -----------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the run and in its stage, or all of another one."""
        is_other = shown.stage is not self.stage
        if shown.run is not self._state:
            self._begin(shown.run)
        self.stage = shown.stage
        self._show_run(shown)
        for view in (self.tokens, self.fields, self.stream, self.steps):
            view.show_stage(shown)
        limits = self.stream.rows.limits if shown.over or shown.run.stages[-1].outline else {}
        self.verdict.show_run(shown, budgets(shown.run, shown.run.now, limits))
        if (words := _token_words(self.stage)) != self._titles[self._token_rows][0]:
            self._titles[self._token_rows] = words, _TOKENS
            self._fit_tabs()
        if is_other:
            self._ended = False
            self._choose(None)  # Qt has no signal for a selected row that is removed from its model
        if not (self._ended or shown.is_growing):
            self._ended = True
            if self.stage.tokens:
                self.tokens.choose(notable_token(self.stage))

    def choose_newest(self) -> None:
        """Select the last token so far."""
        self.tokens.choose(self.tokens_model.rowCount() - 1)

    def focus_tokens(self) -> None:
        self.tabs.setCurrentWidget(self._token_rows)
        self.tokens.setFocus(Qt.FocusReason.OtherFocusReason)

    def _begin(self, state: RunState) -> None:
        """Begin to show another run."""
        self._state, self._notes = state, 0
        self.sizes.show_sizes(None)
        if (prepared := state.prepared) is None or prepared.request.branch_of is None:
            self._costs_of_run, self._has_other_model = prepared is not None, False
        self.notice.hide()

    def _show_run(self, shown: ShownStage) -> None:
        """Show what is new of the run around its transcript."""
        run = shown.run
        if run.started is not self._started:
            self._started = run.started
            self._run_started(run.started)
        notes = [stage.prompt.note for stage in run.stages if stage.prompt is not None and stage.prompt.note]
        if len(notes) > self._notes:
            self._notes = len(notes)
            self.notice.show_words(notes[-1])
        prompt = self.stage.prompt
        if prompt is not self._prompt or (
            prompt is not None and not prompt.tokens
        ):  # they come with the answer
            self._prompt = prompt
            if prompt is not None and self._costs_of_run:
                self._show_costs(prompt)

    def forget_costs(self, *, counted: bool, other_model: bool = False) -> None:
        """Remove the figures below the prompt, as it has changed; `counted`: others follow."""
        self._costs_of_run = False
        self._has_other_model |= other_model
        self.costs.set_forms(*((_COUNTING,) if counted else _NOT_COUNTED))

    def show_next_costs(self, prompt: PromptRendered | None) -> None:
        """Show the tokens of the next run's prompt; None if they are not known. They are the run's while it is the
        same prompt.
        """
        if self._costs_of_run:
            return
        own = None if self._has_other_model else self.stage.prompt
        self._costs_of_run = own is not None and prompt is not None and own.text == prompt.text
        if prompt is None:
            self.costs.set_forms(*_NOT_COUNTED)
        else:
            # what prefilling the prompt took from the cache says nothing of the run to come
            ahead = msgspec.structs.replace(prompt, cached=0, restored=0)
            self._show_costs(own if self._costs_of_run and own is not None else ahead)

    def _show_costs(self, event: PromptRendered) -> None:
        if not event.tokens and event is self.stage.prompt:
            tokens, cached = prompt_tokens(self.stage)
            event = msgspec.structs.replace(event, tokens=tokens, cached=cached)
        if not event.tokens:
            self.costs.set_forms(_REPORTED)
            return
        sums: dict[str, int] = {}
        for part in event.parts if any(part.tokens for part in event.parts) else ():
            sums[part.name] = sums.get(part.name, 0) + part.tokens
        whole = tr("%n token(s)", "", event.tokens)
        named = (("tools", tr("tools")), ("examples", tr("examples")), ("user", tr("prompt")))
        costs = ", ".join(f"{title} {sums[name]:,}" for name, title in named if name in sums)
        forms = ((whole + cached_words(event), costs), (whole, costs), (costs,), (whole,))
        self.costs.set_forms(*("     ".join(filter(None, form)) for form in forms))

    def show_record(self, started: RunStarted | None) -> None:
        """Show a record's prompt, marked and read-only; None shows the project's again."""
        self.prompt_edit.show_record(None if started is None else started.request.prompt)
        self.about_prompt.setVisible(started is not None)
        self._costs_of_run = started is not None
        self.show_difference(())

    def show_difference(self, settings: Sequence[str]) -> None:
        """Show the settings of the run that differ from the next run's, none for a run with the same settings, and its
        prompt if that differs.
        """
        words = [tr("This run: {settings}", settings=" · ".join(settings))] if settings else []
        started = self._state.started
        if started is not None and started.request.prompt != self.prompt_edit.toPlainText():
            words.append(tr("Its prompt: “{prompt}”", prompt=excerpt(started.request.prompt)))
        self.verdict.show_difference(" · ".join(words))

    def show_asking(self, asking: bool) -> None:
        """Set whether a card asks the user: it replaces the panel below the transcript."""
        self.tabs.setVisible(not asking)
        self._fit_tabs()
        self._share_room()

    def show_reply(self, shown: bool) -> None:
        """Show or hide the reply field, with which the run's conversation can be continued."""
        self.stream.set_foot(self.reply if shown else None)

    def current_token(self) -> Token | None:
        return self.tokens_model.row(self.tokens.currentIndex().row())

    def copy_shown(self) -> None:
        """Copy the results at the transcript's cursor to the clipboard, or the stage's text."""
        copy_text(self.stream.copied_text())

    def _fit(self) -> None:
        self.branches.setMinimumHeight(round(LEAST * letters(self)))
        self.approval.set_room(MAX_HEIGHT if layouts.visible_height(self) >= LOW else round(MAX_HEIGHT * 0.5))
        self._share_room()
        self._fit_tabs()

    def _fit_tabs(self) -> None:
        """Name the tabs, by short names where the whole ones do not fit, and place the legend at their right, as wide
        as they leave it.
        """
        bar = self.tabs.tabBar()
        for form in (0, 1):
            for tab, names in self._titles.items():
                self.tabs.setTabText(self.tabs.indexOf(tab), names[form])
            if bar.sizeHint().width() <= self._below.width() - 8:
                break
        room = self._below.width() - bar.sizeHint().width() - 2 * PAD
        wide = min(room, self.legend.sizeHint().width())
        self.legend.setGeometry(self._below.width() - wide - 8, 2, wide, bar.sizeHint().height())
        self.legend.setVisible(wide >= self.legend.minimumSizeHint().width() and not self.tabs.isHidden())
        self.legend.raise_()

    def _make_copying(self) -> None:
        self.copy_menu = CopyMenu(self)
        shown = named(QAction(tr("Copy what is &shown"), self), "copyShown")
        shown.triggered.connect(self.copy_shown)
        self.stream.copying = (shown, self.copy_menu.menuAction())
        menu = QMenu(self)
        menu.addAction(shown)
        menu.addSeparator()
        menu.addActions(self.copy_menu.actions())
        words = tr("Copy the answer, a call, the prompt")
        tip = tr("Copy the answer, a call, the prompt, or a curl command")
        self.copy_button = named(link(tr("Copy"), tip, self), "copyButton", words)
        self.copy_button.setMenu(menu)
        tip = tr("Save the run as a page, a bundle or a test, or in the form of another program")
        self.share_button = named(link(tr("Share…"), tip, self), "shareButton", tr("Share the run"))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Divide the height again where a line more of the verdict has changed it."""
        if event.type() == QEvent.Type.Resize:
            self._share_room()
        return super().eventFilter(watched, event)

    def _share_room(self) -> None:
        """Divide the height between transcript and panel."""
        room = self.splitter.height() - self.splitter.handleWidth()
        usual = TRANSCRIPT_SHARE if layouts.visible_height(self) >= LOW else LOW_SHARE
        above = round(room * (self._share or usual))
        if not self._share:
            kept = round(LEAST_TRANSCRIPT * self.window().height())
            above = min(above, max(room - round(DETAILS * letters(self)), kept))
        self.splitter.setSizes([above, room - above])

    def set_lecture(self, lecture: bool) -> None:
        """In a lecture, show only the prompt, the verdict and the transcript."""
        self._lecture = lecture
        self._show_below()

    def _show_below(self) -> None:
        self._below.setVisible(self._started is not None and not self._lecture)

    def prepare_details(self) -> None:
        """Lay out the panel below the transcript before a run needs it: that took 45 ms at the first token."""
        if self._below.isHidden():
            self.setUpdatesEnabled(False)
            self._below.show()
            self._column.activate()
            self._below.hide()
            self.setUpdatesEnabled(True)

    def show_detail(self, name: str) -> None:
        """Bring a tab to the front, by the name of its setting; an unknown one changes nothing."""
        self.tabs.setCurrentWidget(self._details.get(name, self.tabs.currentWidget()))

    def _tab_changed(self, _place: int) -> None:
        shown = self.tabs.currentWidget()
        for name, widget in self._details.items():
            if widget is shown and widget is not self._detail:
                self._detail = widget
                self.detailChosen.emit(name)

    def set_share(self, share: float) -> None:
        """Set the transcript's share of the height as the user chose it earlier; 0 for the usual one."""
        self._share = share
        self._share_room()

    def _border_moved(self, place: int, _border: int) -> None:
        self._share = round(place / max(self.splitter.height(), 1), 3)
        self._moved.start()

    def _show_branches(self, shown: bool) -> None:
        """Show or hide the tab of the run's branches; it comes to the front when the first branch appears."""
        place = self.tabs.indexOf(self.branches)
        if shown != self.tabs.isTabVisible(place):
            self.tabs.setTabVisible(place, shown)
            self.tabs.setCurrentWidget(self.branches if shown else self._detail)
            self._fit_tabs()

    def _run_started(self, event: RunStarted | None) -> None:
        self.prompt_edit.set_max_lines(MAX_PROMPT_LINES if event is None else PROMPT_LINES)
        self.show_difference(())
        self._show_below()
        if event is not None:
            self.legend.show_forced(event.request.constraint != "off")

    def _choose(self, index: int | None) -> None:
        self.steps.select(index)
        self.stream.select_token(None if index is None else self.tokens_model.row(index))
        self.tokenChosen.emit(index)

    def _lay_out(self) -> None:
        line = layouts.hbox(
            self.about_prompt,
            (self.costs, 1),
            self.history_link,
            self.new_link,
            self.rendered_link,
            spacing=12,
        )
        self.prompt_card = named(QFrame(self), "card", tr("Your prompt"))
        layouts.vbox(self.prompt_edit, line, parent=self.prompt_card, margins=(PAD, 7, PAD, 5), spacing=3)
        self.about_prompt.hide()
        card = named(QFrame(self), "card", tr("Transcript"))
        layouts.vbox(self.stream, parent=card, margins=(1, 2, 3, 2))
        self.tabs = named(QTabWidget(self), "runTabs", tr("Details of the shown stage"))
        self.tabs.setDocumentMode(True)
        impact = layouts.ScrollArea()
        layouts.replace_content(impact, self.impact)
        self._details: dict[str, QWidget] = {}
        self._titles: dict[QWidget, tuple[str, str]] = {
            self._token_rows: (_TOKENS, _TOKENS),
            impact: (tr("Mask impact"), tr("Mask")),
        }
        """The tabs with two names: the whole one, and one for a narrow page."""
        for name, widget, title in (
            ("fields", self._field_rows, tr("Fields")),
            ("tokens", self._token_rows, _TOKENS),
            ("steps", self.steps, tr("Steps")),
            ("sizes", self.sizes, tr("Sizes")),
            ("impact", impact, self._titles[impact][0]),
        ):
            self._details[name] = widget
            self.tabs.addTab(widget, title)
        self.tabs.addTab(self.branches, tr("Branches"))
        for tab in (*self._details.values(), self.branches):
            tab.setMinimumHeight(LEAST)  # the tab that needs most would set the height of all
        self.tabs.setTabVisible(self.tabs.indexOf(self.branches), False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setElideMode(Qt.TextElideMode.ElideRight)
        self.tabs.currentChanged.connect(self._tab_changed)
        self._below = below = named(QFrame(self), "card", tr("Details of the run"))
        layouts.vbox(self.approval, self.question, self.tabs, parent=below, margins=(3, 1, 3, 2), spacing=0)
        self.legend.setParent(below)
        below.hide()  # until there is a run
        self.splitter = layouts.splitter(Qt.Orientation.Vertical, (card, below), (3, 1))
        self.splitter.splitterMoved.connect(self._border_moved)
        self.splitter.installEventFilter(self)
        items = (self.prompt_card, self.verdict, (self.splitter, 1))
        self._column = layouts.vbox(*items, parent=self, margins=8, spacing=6)


def _token_words(stage: StageState) -> str:
    """The title of the tokens' tab, with their number."""
    return tr("Tokens {count}", count=f"{len(stage.tokens):,}") if stage.tokens else _TOKENS


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
