"""A run in a lesson: the stream, the chosen token's alternatives, and the controls to play it token by token."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QSlider, QWidget

from glyphscope.base.figures import rate
from glyphscope.base.shorten import capitalised
from glyphscope.events import Alternative, AnyEvent, RunRequest, SegmentOpened, Token
from glyphscope.lessons.lesson import View
from glyphscope.runs.endings import end_of
from glyphscope_gui.lessons.player import FASTEST, SLOWEST, LessonPlayer
from glyphscope_gui.lessons.words import place_words, source_words, token_title, token_words
from glyphscope_gui.runs.abort_banner import AbortBanner
from glyphscope_gui.runs.alternatives_table import AlternativesModel, AlternativesTable
from glyphscope_gui.runs.field_table import DECIDED, TOKENS, VERDICT, FieldTable, FieldTableModel
from glyphscope_gui.runs.stage_choice import ShownRun, ShownStage, StageChoice
from glyphscope_gui.runs.stream_view import StreamView
from glyphscope_gui.runs.token_table import TokenTable, TokenTableModel
from glyphscope_gui.shared.card import SectionLabel
from glyphscope_gui.shared.labels import ElidedLabel, LessonLabel, PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, grid_layout, hbox, holder, vbox
from glyphscope_gui.shared.verdict import VERDICTS
from glyphscope_gui.theme import mono_font, ui_font, use_font
from glyphscope_gui.theme.sizes import PAD, scale

WIDE = 640
"""Width in pixels, at the usual text size, from which the alternatives are beside the stream."""
ROOMY = 860
"""Width from which the fields are only below the text, to the left of the alternatives."""
SIDE = 300
"""The minimum width of the alternatives beside the stream, in pixels."""
MAX_ROWS, LOW_ROWS = 7, 4
"""Number of alternatives that are shown, and in a low window."""
MAX_LINES, LOW_LINES = 8, 4
"""Number of lines of the stream before it scrolls, and in a low window."""
TOKENS_HEIGHT, LOW_TOKENS = 220, 120
"""Height of the table of tokens in pixels, and in a low window."""
LOW_FIELDS = 3
"""Number of fields that are shown in a low window before their table scrolls."""
_PACES = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 50.0)
"""Tokens per second: the steps of the slider."""


def shown_rows(token: Token, most: int = MAX_ROWS) -> tuple[Alternative, ...]:
    """Return the most likely alternatives, including the sampled token at any rank."""
    ranked = token.step.alternatives
    rows = ranked[:most]
    came = [each for each in ranked[most:] if (each.id, each.data) == (token.step.id, token.step.data)]
    return (*rows[: most - 1], *came) if came else rows


class LessonStream(FollowsSize, StreamView):
    """As high as the complete run, so that nothing moves while it is played."""

    LARGER = 3

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "lessonStream", tr("The text of the run"))
        self._characters = self._headings = 0
        self._most = MAX_LINES

    def set_low(self, low: bool) -> None:
        self._most = LOW_LINES if low else MAX_LINES
        self._fit()

    def make_room(self, characters: int, headings: int = 0) -> None:
        """Make room for that many characters and headings."""
        self._characters, self._headings = characters, headings
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.height())

    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    def _fit(self) -> None:
        metrics = QFontMetrics(mono_font(self.LARGER))
        a_line = max((self.viewport().width() - 24) // max(metrics.horizontalAdvance("m"), 1), 8)
        lines = min(max(-(-self._characters // a_line) + 1, 2) + 2 * self._headings, self._most)
        height = round(lines * metrics.height() * 1.65) + 14
        if height != self.height():
            self.setFixedHeight(height)


class LessonRun(FollowsSize, QFrame):
    """`player` moves it; `caption` is shown above, the source of the run below. `show` lists the views that the lesson
    requests besides the stream.
    """

    def __init__(self, caption: str, show: tuple[View, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "card", caption or tr("A run"))
        self.setAccessibleDescription(tr("Space plays, Left and Right move by one token"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._views = show
        self._characters = 0
        self._is_low, self._rows = False, MAX_ROWS
        self.player = LessonPlayer(self)
        self.choice = StageChoice(self)
        self.caption = LessonLabel(caption, "title", self)
        self.stage_label = LessonLabel("", "muted", self)
        self.source = LessonLabel("", "hint", self)
        self.outcome = LessonLabel("", "muted", self)
        self.stream = LessonStream(self)
        self.banner = AbortBanner(self)
        self.token_title = SectionLabel(tr("Alternatives"), self)
        self.token_note = LessonLabel("", "muted", self)
        self.alternatives_model = AlternativesModel(self)
        self.alternatives = AlternativesTable(self.alternatives_model, self)
        self.alternatives.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it has no actions
        self.fields_model = FieldTableModel(self)
        self.fields = FieldTable(self.fields_model, self)
        use_font(self.fields, ui_font)
        self.fields.fit_rows(11)
        impossible = VERDICTS["impossible"]
        for column, widest in (
            (VERDICT, f"{impossible.sign} {impossible.words} "),
            (DECIDED, tr("character {char}", char="000")),
            (TOKENS, "0000"),
        ):
            self.fields.fit_column(column, widest)  # in the text size of a lecture
        self.tokens_model = TokenTableModel(self)
        self.tokens = TokenTable(self.tokens_model, self)
        self._make_transport()
        self._lay_out()
        self._connect()

    # -- what is shown -----------------------------------------------------------------------------------------

    def show_run(
        self, events: tuple[AnyEvent, ...], first: int = 0, last: int | None = None, token: int | None = None
    ) -> None:
        """Show a recorded run, from its token `first` to `last`; with a `token`, only up to it, with it chosen."""
        self._characters = sum(len(event.step.text) for event in events if isinstance(event, Token))
        parts = sum(isinstance(event, SegmentOpened) for event in events)
        self.stream.make_room(self._characters, parts)
        self.player.show(events, first, last, at=None if token is None else token + 1)

    def begin_live(self, request: RunRequest) -> None:
        """Begin to show a live run."""
        self.stream.make_room(max(self._characters, 60))
        self.player.begin_live()
        self.source.set_words(source_words(request, None, live=True))

    def set_pace(self, pace: float) -> None:
        """Play at the offered pace that is nearest to `pace`, in tokens per second."""
        nearest = min(range(len(_PACES)), key=lambda n: abs(_PACES[n] - min(max(pace, SLOWEST), FASTEST)))
        self.pace_slider.setValue(nearest)
        self._change_pace(nearest)

    def advance(self) -> bool:
        """Do the next step of the lecture's key: play, then jump to the end. False at the end."""
        player = self.player
        if player.last <= player.first or (player.at_end and not player.is_playing):
            return False
        if player.is_playing:
            player.go(player.last)
        else:
            player.play()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space plays and pauses, Left and Right move by a token."""
        if not self.press(event.key(), event.modifiers()):
            super().keyPressEvent(event)

    def press(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        """Handle a key; False if it has no function here."""
        if modifiers & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        player = self.player
        match key:
            case Qt.Key.Key_Space:
                self._toggle()
            case Qt.Key.Key_Right:
                player.step(1)
            case Qt.Key.Key_Left:
                player.step(-1)
            case Qt.Key.Key_Home:
                player.go(player.first)
            case Qt.Key.Key_End:
                player.go(player.last)
            case _:
                return False
        return True

    def set_low(self, low: bool) -> None:
        """Show fewer rows, in a low window."""
        self._is_low = low
        self._column.setContentsMargins(PAD, 6 if low else 10, PAD, 6 if low else 10)
        self._column.setSpacing(5 if low else 8)
        self.stream.set_low(low)
        self.tokens.setFixedHeight(LOW_TOKENS if low else TOKENS_HEIGHT)
        self.fields.setMaximumHeight(self.fields.height_of(LOW_FIELDS) if low else 16_777_215)
        self._fit()
        if (rows := LOW_ROWS if low else MAX_ROWS) != self._rows:
            self._rows = rows
            self._moved()

    def _fit(self) -> None:
        self._arrange(self.width() / scale())

    # -- the run -----------------------------------------------------------------------------------------------

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the run and in its stage, or all of another one."""
        run, stage = shown.run, shown.stage
        if run.started is not None:
            started = run.started
            self.source.set_words(source_words(started.request, started.model, live=self.player.is_live))
        several = len([each for each in run.stages if each.tokens or each.name]) > 1
        self.stage_label.set_words((stage.title or stage.name) if several else "")
        for view in (self.stream, self.fields, self.tokens):
            view.show_stage(shown)
        self.banner.show_aborted(stage.aborted)
        words = ""
        if run.failed is not None:
            words = f"{run.failed.code}: {run.failed.message} {run.failed.hint}".rstrip()
        elif run.finished is not None:
            words = capitalised(end_of(run, tr).words)
        if self._is_low and stage.aborted is not None:
            self.banner.hide()
            words = self.banner.accessibleName()
        self.outcome.set_words(words)

    def _moved(self) -> None:
        player = self.player
        with QSignalBlocker(self.slider):
            self.slider.setRange(player.first, max(player.last, player.first))
            self.slider.setValue(player.place)
        self.place.setText(place_words(player.place, player.first, player.last))
        self.slider.setAccessibleDescription(self.place.text())
        self.back_button.setEnabled(player.place > player.first)
        self.forward_button.setEnabled(not player.at_end)
        tokens = self.choice.stage.tokens
        self._choose(len(tokens) - 1 if tokens else None)

    # -- one token ---------------------------------------------------------------------------------------------

    def _choose(self, index: int | None) -> None:
        """Show the alternatives of that token of the stage."""
        stage, started = self.choice.stage, self.player.state.started
        if index is None or index >= len(stage.tokens) or started is None:
            self.stream.select_token(None)
            self.alternatives_model.show((), (), -1)
            self.token_title.setText(tr("No token yet"))
            self.token_note.set_words(tr("Play the run or step through it: the alternatives appear here."))
            self.alternatives.hide()
            return
        token = stage.tokens[index]
        self.stream.select_token(token)
        rows = shown_rows(token, self._rows)
        self.alternatives_model.show_token(stage, token, rows, started.request, self.player.state.registry)
        self.alternatives.setVisible(bool(rows) and "alternatives" in self._views)
        self.token_title.setText(token_title(token))
        self.token_note.show_literally(token_words(token, started.request))
        if not self.player.is_playing:
            self.alternatives_model.explain(stage, index, started.request, self.player.state.registry)

    def _toggle(self) -> None:
        if self.player.is_playing:
            self.player.pause()
        else:
            self.player.play()

    def _playing_changed(self, playing: bool) -> None:
        self.play_button.setText(tr("Pause") if playing else tr("Play"))
        if not playing and self.choice.stage.tokens:
            self._choose(len(self.choice.stage.tokens) - 1)

    def _change_pace(self, index: int) -> None:
        self.player.set_pace(_PACES[index])
        self.pace_label.setText(rate(_PACES[index]))

    def _make_transport(self) -> None:
        self.play_button = push_button(
            tr("Play"), self, name="lessonPlayButton", tip=tr("Play the run at its recorded speed (Space)")
        )
        tip, words = tr("Back one token (Left)"), tr("Back one token")
        self.back_button = push_button("‹", self, tip=tip, spoken=words)
        tip, words = tr("Forward one token (Right)"), tr("Forward one token")
        self.forward_button = push_button("›", self, tip=tip, spoken=words)
        words = tr("Tokens shown")
        self.slider = named(QSlider(Qt.Orientation.Horizontal, self), "lessonSlider", words, tip=words)
        self.slider.setPageStep(5)
        self.slider.setMinimumWidth(80)
        self.place = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        self.place.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.pace_slider = named(QSlider(Qt.Orientation.Horizontal, self), "", tr("Tokens per second"))
        self.pace_slider.setToolTip(tr("Playback speed"))
        self.pace_slider.setRange(0, len(_PACES) - 1)
        self.pace_slider.setPageStep(1)
        self.pace_slider.setFixedWidth(70)
        self.pace_label = PlainLabel(self, role="hint")
        self.set_pace(3.0)

    def _connect(self) -> None:
        player = self.player
        player.reduced.connect(lambda run: self.choice.show_run(ShownRun(run, over=run.finished is not None)))
        player.moved.connect(self._moved)
        player.playingChanged.connect(self._playing_changed)
        self.choice.shown.connect(self.show_stage)
        self.play_button.clicked.connect(self._toggle)
        self.back_button.clicked.connect(lambda: player.step(-1))
        self.forward_button.clicked.connect(lambda: player.step(1))
        self.slider.valueChanged.connect(player.go)
        self.pace_slider.valueChanged.connect(self._change_pace)
        self.stream.tokenChosen.connect(self._choose)
        self.tokens.tokenChosen.connect(self._choose)

    def _lay_out(self) -> None:
        self._side = holder(
            vbox(self.token_title, self.alternatives, self.token_note, STRETCH, spacing=4), self
        )
        self._side.setVisible("alternatives" in self._views)
        left = vbox(self.stage_label, self.stream, self.banner, self.outcome, STRETCH, spacing=6)
        self._grid = grid_layout(spacing=(20, 10))
        self._grid.addLayout(left, 0, 0)
        self._placed: tuple[bool, bool] | None = None
        self._column = vbox(self.caption, self._transport(), self._grid, parent=self)
        self.fields.setVisible("fields" in self._views)
        self.tokens.setVisible("tokens" in self._views)
        self._column.addWidget(self.tokens)
        self._column.addWidget(self.source)
        self.set_low(False)
        self._arrange(0)

    def _transport(self) -> QHBoxLayout:
        return hbox(
            self.play_button,
            self.back_button,
            self.forward_button,
            (self.slider, 1),
            self.place,
            10,
            self.pace_slider,
            self.pace_label,
            spacing=8,
        )

    def _arrange(self, width: float) -> None:
        """Place the alternatives beside or below the text, and the fields below the text or below both."""
        wide, roomy = width >= WIDE, width >= (WIDE if self._is_low else ROOMY)
        self._side.setMinimumWidth(round(SIDE * scale()) if wide else 0)
        if (wide, roomy) == self._placed:
            return
        self._placed = (wide, roomy)
        for widget in (self._side, self.fields):
            self._grid.removeWidget(widget)
        self._grid.addWidget(self.fields, 1, 0, 1, 2 if wide and not roomy else 1)
        if wide:
            self._grid.addWidget(self._side, 0, 1, 2 if roomy else 1, 1)
        else:
            self._grid.addWidget(self._side, 2, 0)
        self._grid.setColumnStretch(0, 1)
        self._grid.setRowStretch(1, 1)
