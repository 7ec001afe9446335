"""The dialog that tests what the open endpoint enforces: consent with the number of requests, then the results."""

from __future__ import annotations

from PySide6.QtWidgets import QDialogButtonBox, QWidget

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.shorten import excerpt
from glyphscope.explain.asked_endpoint import MAX_TOKENS, Found, TrialResult, ask, requests_of, trials
from glyphscope.models.interface import Model
from glyphscope_gui.runs.model_queries import ModelQueries
from glyphscope_gui.shared.background import this_task
from glyphscope_gui.shared.labels import named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import TableModel

_MAX_ANSWER = 80
_FOUND: dict[Found, str] = {
    "enforced": tr("enforced"),
    "not enforced": tr("not enforced"),
    "rejected": tr("rejected"),
    "no field": tr("no field"),
    "not shown": tr("not shown"),
}
_WHY: dict[Found, str] = {
    "enforced": tr("The answer without the constraint breaks it, the one under it does not"),
    "not enforced": tr("The answer under the constraint breaks it"),
    "rejected": tr("The server did not take the request"),
    "no field": tr("The server has no field for this constraint, so that it was not sent"),
    "not shown": tr("Neither answer breaks the constraint, or one has no end"),
}


class TrialsModel(TableModel[TrialResult]):
    """The results, in the order of the tests."""

    speaks_titles = True
    titles = (tr("Constraint"), tr("Result"), tr("Answer without it"), tr("Answer under it"))

    def words(self, row: TrialResult, column: int) -> str:
        under = row.why if row.found != "not shown" and row.why else row.under
        answers = (excerpt(row.without, _MAX_ANSWER), excerpt(under, _MAX_ANSWER))
        return (row.name, _FOUND[row.found], *answers)[column]

    def tip(self, row: TrialResult, column: int) -> str:
        texts = (row.sent, " ".join(filter(None, (f"{_WHY[row.found]}.", row.why))), row.without, row.under)
        return texts[column]

    def color(self, row: TrialResult, column: int) -> str:
        colors = {"enforced": "holds", "not enforced": "impossible"}
        return colors.get(row.found, "text-muted") if column == 1 else "text"


class EnforcementDialog(PlainDialog):
    """Sends nothing before the user agrees. The tests run in the model's thread, and end when the dialog is closed."""

    def __init__(self, queries: ModelQueries, endpoint: str, parent: QWidget | None = None) -> None:
        super().__init__("enforcementDialog", tr("Test what the endpoint enforces"), parent)
        self._queries = queries
        self._results: list[TrialResult] = []
        self._running = False
        count = requests_of([*trials()])
        about = tr(
            "{count} requests of at most {tokens} tokens each are sent to {endpoint}, with prompts for answers that a "
            "constraint excludes. The provider may charge for them.",
            count=count, tokens=MAX_TOKENS, endpoint=endpoint,
        )  # fmt: skip
        self.words = words_label(about, parent=self, name="enforcementWords")
        self.results = TrialsModel(self)
        self.table = named(PlainTable(self.results, stretch=3, parent=self), "enforcementResults")
        self.table.setAccessibleName(tr("Results of the tests"))
        self.send = push_button(
            tr("Send {count} requests", count=count),
            self,
            name="enforcementSend",
            role="primary",
            clicked=self._start,
        )
        buttons = self.button_box(
            QDialogButtonBox.StandardButton.Close, (self.send, QDialogButtonBox.ButtonRole.ActionRole)
        )
        vbox(self.words, (self.table, 1), buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.table.fit_column(0, "additionalProperties")
        self.table.fit_column(1, _FOUND["not enforced"])
        self.resize(860, 560)

    def done(self, result: int) -> None:
        if self._running:
            self._running = False
            self._queries.stop_scoring()
        super().done(result)

    def _start(self) -> None:
        self._results, self._running = [], True
        self.send.setEnabled(False)
        self._show([])
        self._queries.score(_work, self._ended, self._failed, self._show)

    def _show(self, results: list[TrialResult]) -> None:
        if not self._running:  # closed meanwhile
            return
        self._results += results
        self.results.show_rows([*self._results])
        self.words.setText(tr("{done} of {count} tests", done=len(self._results), count=len(trials())))

    def _ended(self, results: list[TrialResult]) -> None:
        if not self._running:
            return
        self._running = False
        self._results = results
        self.results.show_rows(results)
        enforced = sum(result.found == "enforced" for result in results)
        self.words.setText(
            tr("{enforced} of {count} constraints enforced", enforced=enforced, count=len(results))
        )
        self.send.setEnabled(True)

    def _failed(self, error: BaseException) -> None:
        if not self._running:
            return
        self._running = False
        self.send.setEnabled(True)
        self.words.setText(error.words if isinstance(error, GlyphscopeError) else str(error))


def _work(model: Model | None) -> list[TrialResult]:
    if model is None:
        raise ModelError(tr("No model is loaded yet."))
    task, results = this_task(), []
    for result in ask(model, cancelled=task.stopped.is_set):
        results.append(result)
        task.report(result)
    return results
