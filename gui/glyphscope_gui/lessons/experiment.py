"""An experiment of a lesson: its changes, the reader's settings, a live run, and a recorded one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractSpinBox, QFormLayout, QFrame, QWidget

from glyphscope.base.json_values import json_or_text
from glyphscope.base.shorten import capitalised
from glyphscope.base.visible import visible
from glyphscope.evals.alignment import align, difference_words
from glyphscope.events import AnyEvent, Field, RunRequest, Sampling, settings_of
from glyphscope.lessons.lesson import Experiment
from glyphscope.lessons.run_settings import MAX_TOKENS, answer_text, value_at
from glyphscope.runs import RunState, run_state
from glyphscope_gui.lessons.prose import LessonProse
from glyphscope_gui.lessons.run import LessonRun
from glyphscope_gui.runs.run_controller import BackgroundEvents
from glyphscope_gui.shared.fields import field_label
from glyphscope_gui.shared.labels import LessonLabel, named, push_button
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, holder, vbox
from glyphscope_gui.shared.settings_grid import NumberSetting, reset_of, setting_field
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit
from glyphscope_gui.theme import mono_font, use_font
from glyphscope_gui.theme.sizes import PAD

_SAMPLING, _REQUEST = settings_of(Sampling), settings_of(RunRequest)
_LINES = 12
"""The lines of a grammar that are shown without scrolling."""
_FOR_LIVE = tr("Changes apply to live runs; the recording uses the settings of the lesson.")


class LessonExperiment(QFrame):
    """An experiment changes the lesson's `request`; `recorded` has the events of a run with these changes, `base` the
    events of the run without them, for comparison.

    `liveRequested` carries the reader's further changes by name; `stopRequested` ends the running experiment.
    """

    liveRequested = Signal(object)
    stopRequested = Signal()

    def __init__(
        self,
        part: Experiment,
        request: RunRequest,
        recorded: tuple[AnyEvent, ...],
        base: tuple[AnyEvent, ...],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        named(self, "lessonExperiment", tr("Experiment: {title}", title=part.title))
        self.part = part
        self._request, self._recorded, self._base = request, recorded, base
        self._fields: dict[str, QWidget] = {}
        self._readers: dict[str, Callable[[], Any]] = {}
        """By setting, the function that reads its field."""
        self._events: list[AnyEvent] = []
        self._shown = self._is_low = False
        self.is_running = False
        self.title = LessonLabel(part.title, "heading", self)
        self.about = LessonProse(part.about, self)
        self.about.setVisible(bool(part.about))
        self.changes = LessonLabel("   ".join(part.change_words(tr)), "mono", self)
        self.live_button = push_button(tr("Run live"), self, name="lessonLiveButton", clicked=self._live)
        self.play_button = push_button(tr("Play the recording"), self, name="lessonRecordingButton")
        self.play_button.setToolTip(tr("The recording, made with the lesson’s model and settings"))
        self.settings_button = push_button(
            tr("Settings"), self, name="lessonSettingsButton", clicked=self._show_settings
        )
        self.settings_button.setToolTip(tr("Show the settings of the experiment in place of the run"))
        self.notice = LessonLabel("", "muted", self)
        self.run = LessonRun("", part.show, self)
        self.run.hide()
        self.difference = LessonLabel("", "title", self)
        self._lay_out()
        self.play_button.clicked.connect(self.play)

    # -- what can be done --------------------------------------------------------------------------------------

    def show_obstacle(self, words: str) -> None:
        """Show in `words` why nothing can run live; empty if it can."""
        if self.is_running:
            return
        self.live_button.setEnabled(not words)
        self.live_button.setToolTip(words or tr("Run your model with these settings"))
        for widget in self._fields.values():
            widget.setEnabled(not words)
        self.notice.set_words(f"{words} {_FOR_LIVE}" if words and self._fields else words, "muted")

    def play(self) -> None:
        """Play the recording from its beginning."""
        self._show_run(list(self._recorded))
        self.run.show_run(self._recorded)
        self.run.player.play()
        self.notice.set_words(tr("This is the recording, not a live run."), "muted")
        self._show_difference()

    def begin(self, request: RunRequest) -> None:
        """Begin to show a live run."""
        self._show_run([])
        self.run.begin_live(request)
        self.difference.set_words("")
        self.notice.set_words("")
        self._set_running(True)

    def _show_run(self, events: list[AnyEvent]) -> None:
        self._shown, self._events = True, events
        self.run.show()
        self._collapse()

    def take(self, background: BackgroundEvents) -> None:
        """Show new events of the live run."""
        if background.events:
            self._events.extend(background.events)
            self.run.player.grow(background.events)
        if background.ended:
            self._set_running(False)
            self._show_difference()

    def refuse(self, words: str) -> None:
        """Show why the experiment cannot be run with these settings."""
        self.notice.set_words(words, "problem")

    def changed(self) -> dict[str, Any]:
        """Return the values that the reader changed from the lesson's."""
        found: dict[str, Any] = {}
        for name, read in self._readers.items():
            value = read()
            if value != self._value(name):
                found[name] = value
        return found

    def advance(self) -> bool:
        """Do the next step of the lecture's key: play the recording, then jump to its end. False at the end."""
        if self.is_running:
            return False
        if not self._shown:
            self.play()
            return True
        return self.run.advance()

    def set_low(self, low: bool) -> None:
        """Save lines, in a low window: while a run is shown, its settings are collapsed."""
        self._is_low = low
        self._column.setSpacing(4 if low else 8)
        self._column.setContentsMargins(PAD + 2, 6 if low else 12, PAD + 2, 6 if low else 12)
        self.run.set_low(low)
        self._collapse()

    def _collapse(self) -> None:
        collapsed = self._is_low and self._shown
        self.settings_button.setVisible(collapsed)
        self._settings.setVisible(not collapsed)

    def _show_settings(self) -> None:
        """Show the settings again, in place of the run."""
        self.run.player.pause()
        self._shown = False
        self.run.hide()
        for each in (self.difference, self.notice):
            each.set_words("")
        self._collapse()

    def press(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        """Handle a key; False if it has no function here."""
        if key == Qt.Key.Key_L:
            if self.live_button.isEnabled():
                self._live()
            return True
        return self._shown and self.run.press(key, modifiers)

    @property
    def state(self) -> RunState:
        """Return the state at the end of the shown run."""
        return run_state(self._events)

    def _live(self) -> None:
        if self.is_running:
            self.stopRequested.emit()
        else:
            self.liveRequested.emit(self.changed())

    def _set_running(self, running: bool) -> None:
        self.is_running = running
        self.live_button.setText(tr("Stop") if running else tr("Run live"))
        self.play_button.setEnabled(not running)
        for widget in self._fields.values():
            widget.setEnabled(not running)

    def _show_difference(self) -> None:
        """Show the difference from the run without the changes, in a sentence."""
        state = self.state
        if state.finished is None:
            self.difference.set_words("")
            return
        words = difference_words(align([run_state(self._base), state]), ["previous run", "this run"])
        self.difference.set_words(capitalised(words))

    def _value(self, name: str) -> Any:
        if "/" in name:
            return value_at(self._request.registry, name)
        if name == "notation" and self._request.native:
            return "native"
        if name == "answer":
            return answer_text(self._request.answer)
        if name in _SAMPLING:
            return getattr(self._request.sampling, name)
        return getattr(self._request, name)

    def _field(self, name: str) -> tuple[QWidget, Callable[[], Any]]:
        """The field of a setting, and the function that reads it."""
        value = self._value(name)
        if name == "answer":
            text = GrowingEdit(_LINES, self)
            use_font(text, mono_font, -0.5)
            text.setPlainText(value.rstrip("\n"))
            return text, text.toPlainText
        setting = _setting_of(name)
        if setting is not None:
            field = setting_field(setting, self)
            field.show_value(value)
            field.set_usual(value)
            if name == "max_tokens" and isinstance(field, NumberSetting):
                field.setMaximum(MAX_TOKENS)
            return field, lambda: field.shown_value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31:
            whole = NumberSetting(-(2**31), 2**31)
            whole.show_value(value)
            return whole, whole.value
        line = LineEdit(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), self)
        line.returnPressed.connect(self._live)
        line.setCursorPosition(0)
        if isinstance(value, str):
            return line, line.text
        return line, lambda: _read(line.text(), value)  # the request's own check reports errors

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(14)
        form.setVerticalSpacing(6)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for name in self.part.vary:
            words = _title(name)
            field, self._readers[name] = self._field(name)
            named(field, words=tr("{setting} of the experiment", setting=words))
            field.setMaximumWidth(16_777_215 if name in ("prompt", "answer") else 260)
            label = field_label(visible(words, spaces=True), field, "muted")
            form.addRow(holder(hbox((label, 1), *reset_of(field), spacing=2), self), field)
            self._fields[name] = field
        buttons = hbox(self.live_button, self.play_button, self.settings_button, STRETCH, spacing=10)
        for field in self._fields.values():
            if isinstance(field, QAbstractSpinBox):
                field.lineEdit().setTextMargins(6, 0, 0, 0)
        settings = vbox(self.about, self.changes, spacing=8)
        if self.part.vary:
            settings.addLayout(form)
        self._settings = holder(settings, self)
        parts = (self.title, self._settings, buttons, self.notice, self.run, self.difference)
        self._column = vbox(*parts, parent=self)
        self.set_low(False)


def _read(text: str, usual: Any) -> Any:
    """The value that the text is in JSON. Where the lesson has a list of texts, other text is its only one."""
    read = json_or_text(text)
    is_texts = isinstance(usual, list) and bool(usual) and all(isinstance(each, str) for each in usual)
    return read if isinstance(read, list) or not is_texts else [text]


def _setting_of(name: str) -> Field | None:
    return _SAMPLING.get(name) or _REQUEST.get(name)


def _title(name: str) -> str:
    """The title of a setting; a place in the registry is its own."""
    field = _setting_of(name)
    if field is not None:
        return in_language(field.setting.title)
    return {"prompt": tr("Prompt"), "answer": tr("Answer")}.get(name, name)
