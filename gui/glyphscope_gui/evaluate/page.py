"""The page that runs suites of prompts under several arms: set-up, progress, and results."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, Qt, Signal
from PySide6.QtWidgets import QFrame, QMenu, QProgressBar, QSizePolicy, QWidget

from glyphscope.base.figures import estimate, percent
from glyphscope.base.visible import visible
from glyphscope.evals.running.progress import EvaluationState
from glyphscope_gui.evaluate.evaluations import EvalPhase
from glyphscope_gui.evaluate.setup_lists import TicksModel
from glyphscope_gui.evaluate.setup_view import EvalAxes, EvalSetupView
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, stack, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.slices import Steps, import_charts
from glyphscope_gui.theme.sizes import GAP, PAD

SETUP, RESULT = "setup", "result"


class EvalProgressBar(QFrame):
    """The progress of the running evaluation, its current sample, Pause and Stop. Hidden while none runs.

    `pauseRequested` carries whether to pause, or to resume.
    """

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
        line = hbox((self.words, 1), (self.now, 1), spacing=16)
        texts = vbox(line, self.bar, spacing=5)
        hbox((texts, 1), self.pause_button, self.stop_button, parent=self, margins=(PAD, 8), spacing=12)
        self.hide()

    def show_phase(self, phase: EvalPhase) -> None:
        self._phase = phase
        self.setVisible(phase is not EvalPhase.IDLE)
        self.pause_button.setText(tr("Resume") if phase is EvalPhase.PAUSED else tr("Pause"))
        self.pause_button.setEnabled(phase in (EvalPhase.RUNNING, EvalPhase.PAUSED))
        self.stop_button.setEnabled(phase is not EvalPhase.STOPPING)

    def show_progress(self, progress: EvaluationState) -> None:
        self.bar.setRange(0, max(progress.planned, 1))
        self.bar.setValue(progress.done)
        words = _progress_words(progress, self._phase)
        self.words.setText(words)
        self.bar.setAccessibleDescription(words)
        self.now.setText(_sample_words(progress, self._phase))


def _progress_words(progress: EvaluationState, phase: EvalPhase) -> str:
    """Such as `120 of 400 samples, 78% correct, about 3 min left`."""
    parts = [tr("{done:,} of {planned:,} samples", done=progress.done, planned=progress.planned)]
    if progress.workers:
        parts.append(tr("%n worker(s)", "", len(progress.workers)))
    if progress.done:
        parts.append(tr("{share} correct", share=percent(progress.ok / progress.done, 0)))
    if phase is EvalPhase.PAUSED:
        parts.append(tr("paused"))
    elif phase is EvalPhase.STOPPING:
        parts.append(tr("stopping…"))
    elif progress.left is not None and progress.done < progress.planned:
        parts.append(tr("about {time} left", time=estimate(progress.left)))
    elif not progress.model:
        parts.append(tr("loading the model…"))
    return ", ".join(parts)


def _sample_words(progress: EvaluationState, phase: EvalPhase) -> str:
    """Such as `first · GLYPH: 12 tokens  {action="sea`, of the first of the samples that are being made."""
    if not progress.now or phase is EvalPhase.STOPPING:
        return ""
    sample, more = next(iter(progress.now.values())), len(progress.now) - 1
    words = tr("{sample} and %n more", "", more, sample=sample.name) if more else sample.name
    if sample.judge:
        words = tr("{sample}, judge {model}", sample=words, model=visible(sample.judge))
    if not sample.tokens:
        return tr("{sample}: reading the prompt…", sample=words)
    written = tr("%n token(s)", "", sample.tokens)
    return f"{words}: {written}  {visible(' '.join(sample.text.split()))}"


class EvalPage(FollowsSize, QWidget):
    """Arranges the parts; `presenter.py` connects them.

    Empty until `make` has run, when the page is first shown, so that it does not delay the program's start.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "evalPage", tr("Evaluate"))
        self._made = False

    def make(self, results: QAbstractItemModel) -> Steps:
        """Make everything on the page."""
        yield from import_charts()
        from glyphscope_gui.evaluate.result_view import EvalResultView

        yield
        self.suites_model, self.models_model = TicksModel(self), TicksModel(self)
        self.notice = NoticeBanner(self)
        self.progress = EvalProgressBar(self)
        self.views = Segmented(
            (
                (SETUP, tr("Set up"), tr("Choose suites and configurations, and start")),
                (RESULT, tr("Result"), tr("The open result")),
            ),
            parent=self,
        )
        self.views.setAccessibleName(tr("Set up or result"))
        self.title = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.resume_button = push_button(
            tr("Resume"), self, name="evalResumeButton", tip=tr("Run the remaining samples")
        )
        self.resume_button.hide()
        self.open_button = push_button(
            tr("Open result…"), self, name="evalOpenButton", tip=tr("Open the folder of a result")
        )
        self.report_button = push_button(
            tr("Open report"),
            self,
            name="evalReportButton",
            tip=tr("Save the result as an HTML report and open it in a browser"),
        )
        self.export_button = push_button(
            tr("Export…"), self, name="evalExportButton", tip=tr("Export all samples as CSV or Parquet")
        )
        self.compare_button = push_button(
            tr("Compare with…"),
            self,
            name="evalCompareButton",
            tip=tr("Changes from an earlier result, regressions first"),
        )
        self.compare_menu = QMenu(self)
        self.compare_button.setMenu(self.compare_menu)
        yield
        self.stack = stack(parent=self)
        axes = EvalAxes(self.stack)
        yield
        self.setup = EvalSetupView(self.suites_model, self.models_model, axes, results, self.stack)
        yield
        yield from self.setup.lay_out()
        yield
        self.result = EvalResultView(self.stack)
        yield
        self.result.lay_out()
        yield
        words = tr(
            "No result is open.\n\nSet up an evaluation and press Evaluate, or open an earlier result."
        )
        self.nothing = PlainLabel(words, self.stack, role="muted", alignment=Qt.AlignmentFlag.AlignCenter)
        for part in (self.setup, self.result, self.nothing):
            self.stack.addWidget(part)
        self.views.chosen.connect(self.show_view)
        self._made = True
        self._lay_out()
        self.show_has_result("")
        self.setFocusProxy(self.views.button(SETUP))
        self.result.arrange(self.width())

    def show_view(self, name: str) -> None:
        """Show the set-up or the result: SETUP or RESULT."""
        self.views.set_value(name)
        for button in (self.report_button, self.export_button, self.compare_button):
            button.setVisible(name == RESULT)
        shown = self.setup if name == SETUP else self.result if self._has_result else self.nothing
        policies = QSizePolicy.Policy
        for part in (self.setup, self.result, self.nothing):  # the page is as small as what it shows allows
            policy = policies.Preferred if part is shown else policies.Ignored
            part.setSizePolicy(policy, policy)
        self.stack.setCurrentWidget(shown)

    def show_has_result(self, title: str) -> None:
        """Show the title of the open result; "" if none is open."""
        self._has_result = bool(title)
        self.title.setText(title)
        for button in (self.report_button, self.export_button, self.compare_button):
            button.setEnabled(bool(title))
        self.show_view(self.views.value)

    def _fit(self) -> None:
        if self._made:
            self.result.arrange(self.width())

    def _lay_out(self) -> None:
        head = hbox(
            self.views,
            (self.title, 1),
            self.resume_button,
            self.open_button,
            self.compare_button,
            self.report_button,
            self.export_button,
            spacing=10,
        )
        vbox(head, self.progress, (self.stack, 1), parent=self, margins=GAP, spacing=GAP)
