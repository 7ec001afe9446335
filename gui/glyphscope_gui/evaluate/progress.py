"""The progress of an evaluation: a bar, the time left, the current sample, Pause and Stop."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QProgressBar, QWidget

from glyphscope.text.figures import estimate, percent
from glyphscope.visible import visible
from glyphscope_gui.evaluate.evaluations import EvalPhase, EvalProgress
from glyphscope_gui.shared.labels import ElidedLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.theme.sizes import PAD


class EvalProgressBar(QFrame):
    """Hidden while no evaluation runs. `pauseRequested` carries whether to pause, or to resume."""

    pauseRequested = Signal(bool)
    stopRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._phase = EvalPhase.IDLE
        self.bar = named(QProgressBar(self, textVisible=False), "evalProgress")
        self.bar.setAccessibleName(tr("Progress of the evaluation"))
        self.words = ElidedLabel(self)
        self.now = ElidedLabel(self, role="muted")
        self.pause_button = push_button(tr("Pause"), self, name="evalPauseButton")
        self.pause_button.setAccessibleDescription(tr("Pause after the current sample, or resume"))
        self.stop_button = push_button(tr("Stop"), self, name="evalStopButton", clicked=self.stopRequested)
        self.stop_button.setAccessibleDescription(tr("Stop; finished samples are kept and you can resume"))
        self.pause_button.clicked.connect(lambda: self.pauseRequested.emit(self._phase is EvalPhase.RUNNING))
        line = hbox((self.words, 3), (self.now, 4), spacing=16)
        texts = vbox(line, self.bar, spacing=5)
        hbox((texts, 1), self.pause_button, self.stop_button, parent=self, margins=(PAD, 8), spacing=12)
        self.hide()

    def show_phase(self, phase: EvalPhase) -> None:
        self._phase = phase
        self.setVisible(phase is not EvalPhase.IDLE)
        self.pause_button.setText(tr("Resume") if phase is EvalPhase.PAUSED else tr("Pause"))
        self.pause_button.setEnabled(phase in (EvalPhase.RUNNING, EvalPhase.PAUSED))
        self.stop_button.setEnabled(phase is not EvalPhase.STOPPING)

    def show_progress(self, progress: EvalProgress) -> None:
        self.bar.setRange(0, max(progress.planned, 1))
        self.bar.setValue(progress.done)
        words = progress_words(progress, self._phase)
        self.words.setText(words)
        self.bar.setAccessibleDescription(words)
        self.now.setText(_now(progress, self._phase))


def progress_words(progress: EvalProgress, phase: EvalPhase) -> str:
    """Such as `120 of 400 samples, 78% correct, about 3 min left`."""
    parts = [tr("{done:,} of {planned:,} samples", done=progress.done, planned=progress.planned)]
    if progress.done:
        parts.append(tr("{share} correct", share=percent(progress.ok / progress.done, 0)))
    if phase is EvalPhase.PAUSED:
        parts.append(tr("paused"))
    elif phase is EvalPhase.STOPPING:
        parts.append(tr("stopping…"))
    elif progress.left is not None and progress.done < progress.planned:
        parts.append(tr("about {time} left", time=estimate(progress.left)))
    elif not progress.model:
        parts.append(tr("opening the model…"))
    return ", ".join(parts)


def _now(progress: EvalProgress, phase: EvalPhase) -> str:
    """Describe the current sample, with its text so far."""
    if not progress.now or phase is EvalPhase.STOPPING:
        return ""
    sample, more = next(iter(progress.now.values())), len(progress.now) - 1
    words = tr("{sample} and %n more", "", more, sample=sample.words) if more else sample.words
    if sample.judge:
        words = tr("{sample}, judge {model}", sample=words, model=visible(sample.judge))
    if not sample.tokens:
        return tr("{sample}: reading the prompt…", sample=words)
    written = tr("%n token(s)", "", sample.tokens)
    return f"{words}: {written}  {visible(' '.join(sample.text.split()))}"
