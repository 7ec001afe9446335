"""The expected answer of a prompt: a dialog in which the user picks, edits or pastes it, and its presenter."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QWidget

from glyphscope.base.lines import line_and_column
from glyphscope.base.shorten import shorten
from glyphscope.evals.suites.expected_text import ExpectedTextError, expected_text, read_expected
from glyphscope.events import ExpectedAnswer, ExpectedCall, FinalText, RunRequest
from glyphscope.registry import ToolRegistry
from glyphscope.runs import RunState
from glyphscope.runs.endings import end_of, is_unexpected
from glyphscope.turns.form import read_form
from glyphscope_gui.context import AppContext
from glyphscope_gui.history.presenter import ask_for_suite
from glyphscope_gui.playground.verdict_line import VerdictLine
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.code_edit import CodeEdit
from glyphscope_gui.shared.json_places import TextProblem
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard

_LINES = 5
_MAX_CHOICE = 90
"""Characters of an answer in the list of the run's answers."""


class ExpectedDialog(PlainDialog):
    """Asks for the right answer to a request, as text in any notation. `chosen` carries the ExpectedAnswer, or None.

    `answers` are those that the user can pick, with their titles; the first one is shown.
    """

    chosen = Signal(object)

    def __init__(
        self,
        request: RunRequest,
        registry: ToolRegistry,
        answers: list[tuple[str, ExpectedAnswer]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("expectedDialog", tr("Expected answer"), parent)
        self.setMinimumWidth(560)
        self._request, self._registry = request, registry
        self._form = read_form(request.form) if request.native == "template" else None
        self._read: ExpectedAnswer | None = None
        self._background = Background(self)
        about = words_label(
            tr(
                "The right answer to this prompt. From now on, a valid answer that differs from it is marked in the "
                "transcript, the history, Compare, and on pages."
            ),
            parent=self,
        )
        self.answers = named(QComboBox(self), "expectedAnswers", tr("Answers to begin with"))
        for title, answer in answers:
            self.answers.addItem(title, answer)
        self.answers.setVisible(len(answers) > 1)
        words = tr("Expected answer: GLYPH or JSON in any shape, OpenAI’s wrapper, or the model’s notation")
        self.edit = named(CodeEdit(self), "expectedEdit", words)
        self.edit.setLineWrapMode(CodeEdit.LineWrapMode.WidgetWidth)
        self.edit.setMinimumHeight(self.edit.fontMetrics().lineSpacing() * _LINES + 12)
        self.problem = words_label(role="problem", parent=self)
        self.set_button = push_button(tr("Expect this"), self, name="expectButton", role="primary")
        self.clear_button = push_button(tr("Expect nothing"), self, clicked=partial(self._choose, None))
        self.clear_button.setEnabled(request.expected is not None)
        buttons = self.button_box(
            Standard.Cancel, (self.set_button, Role.AcceptRole), (self.clear_button, Role.ActionRole)
        )
        vbox(
            about,
            self.answers,
            (self.edit, 1),
            self.problem,
            buttons,
            parent=self,
            margins=(18, 16, 18, 14),
            spacing=12,
        )
        self.answers.activated.connect(lambda _place: self._show_answer())
        self.edit.textChanged.connect(self._check)
        self._show_answer()
        self._check()
        self.edit.setFocus()

    def accept(self) -> None:
        if self._read is not None:
            self._choose(self._read)

    def _choose(self, expected: ExpectedAnswer | None) -> None:
        self.chosen.emit(expected)
        super().accept()

    def _show_answer(self) -> None:
        answer = self.answers.currentData()
        if answer is not None:
            self.edit.show_text(expected_text(answer, self._request.notation, self._request.shape))

    def _check(self) -> None:
        """Read the text in the background: it is judged by the schemas of all tools."""
        self._read = None
        self.set_button.setEnabled(False)
        text, request = self.edit.toPlainText(), self._request
        read = partial(read_expected, text, self._registry, request.answer, self._form)
        self._background.start("read", read, self._show_read, partial(self._show_problem, text))

    def _show_read(self, expected: ExpectedAnswer) -> None:
        self._read = expected
        self.edit.set_problems(())
        show_words(self.problem, "")
        self.set_button.setEnabled(True)

    def _show_problem(self, text: str, error: BaseException) -> None:
        if not isinstance(error, ExpectedTextError):
            raise error
        line, column = line_and_column(text, error.char)
        where = tr("Line {line}, column {column}: ", line=line, column=column) if text.strip() else ""
        end = min(error.char + 1, len(text))
        self.edit.set_problems(
            [TextProblem(error.message, "", line, column, max(end - 1, 0), end)] if text else ()
        )
        show_words(self.problem, f"{where}{error.words}")


class ExpectedPresenter(QObject):
    """The dialog sets the expected answer of the project's prompt, and of the shown run if that has the same prompt; of
    a record, only of its run. A run whose answer was compared can be added to a suite with the expected one.
    """

    def __init__(self, context: AppContext, verdict: VerdictLine) -> None:
        super().__init__(verdict)
        self._context, self._runs, self._verdict = context, context.runs, verdict
        self._background = Background(self)
        self._offered: object = None
        self.action = QAction(tr("E&xpected answer…"), self)
        self.action.setObjectName("expectedAction")
        self.action.triggered.connect(lambda _checked=False: self.ask())
        self.suite_action = QAction(tr("Add the run to a &suite…"), self)
        self.suite_action.setObjectName("addToSuiteAction")
        self.suite_action.triggered.connect(lambda _checked=False: self._add_to_suite())
        verdict.expected_link.clicked.connect(self.ask)
        context.runs.phaseChanged.connect(lambda _phase: self._enable())
        self._enable()

    def ask(self) -> None:
        """Open the dialog."""
        request, registry = self._subject()
        dialog = ExpectedDialog(
            request, registry, list(_answers(request, self._runs.state)), self._context.window
        )
        dialog.chosen.connect(self._expect)
        dialog.open()

    def _subject(self) -> tuple[RunRequest, ToolRegistry]:
        """The request of the shown run, or of the next one, with its tools."""
        state = self._runs.state
        if state.started is not None and (registry := state.whole_registry) is not None:
            return state.started.request, registry
        following = self._context.project.next_request()
        return following.request, following.registry

    def _expect(self, expected: ExpectedAnswer | None) -> None:
        prompt, started = self._context.project.prompt, self._runs.state.started
        shown = None if started is None else started.request.prompt
        if self._context.record.started is None and shown in (None, prompt.user):
            prompt.set_expected(expected)
        if started is not None and self._runs.expect(expected):
            self._context.recorder.keep_again(tuple(self._runs.events))

    def show_run(self, shown: ShownRun) -> None:
        """Offer to keep a run whose answer was compared with the expected one, once it is over."""
        started = shown.run.started
        self._verdict.show_expected(None if started is None else started.request.expected)
        if not shown.over or started is self._offered:
            return
        self._offered = started
        end = end_of(shown.run, tr)
        is_expected = started is not None and started.request.expected is not None and end.status == "holds"
        if is_expected or is_unexpected(end.outcome):
            self._verdict.offer(end.hint, tr("Add to a suite…"), self._add_to_suite)

    def _add_to_suite(self) -> None:
        events = tuple(self._runs.events)
        ask_for_suite(self._context, self._background, lambda then: then(events))

    def _enable(self) -> None:
        self.suite_action.setEnabled(self._runs.state.started is not None and not self._runs.is_busy)
        for each in (self.action, self._verdict.expected_link):
            each.setEnabled(not self._runs.is_busy)


def _answers(request: RunRequest, state: RunState) -> list[tuple[str, ExpectedAnswer]]:
    """The expected answer, and those of the run, with their titles."""
    found: list[tuple[str, ExpectedAnswer]] = []
    if request.expected is not None:
        found.append((tr("Expected so far: {answer}", answer=request.expected), request.expected))
    calls = [
        ExpectedCall(tools=(call.tool,), arguments=call.arguments)
        for stage in state.stages
        for call in stage.calls
    ]
    if len(calls) > 1:
        found.append((tr("All calls of the run"), ExpectedAnswer(calls=tuple(calls))))
    for number, call in enumerate(calls, 1):
        title = tr("Call {number} of the run: {call}", number=number, call=call)
        found.append((shorten(title, _MAX_CHOICE), ExpectedAnswer(calls=(call,))))
    if not request.answer.is_call and state.answer is not None:
        final = FinalText(equals=state.answer.text.strip())
        found.append((tr("The answer of the run"), ExpectedAnswer(final=final)))
    return found
