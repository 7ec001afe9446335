"""The existing results as a Qt list: the time, the suites and the number of samples."""

from __future__ import annotations

from glyphscope.evals.results.folder import ResultRow
from glyphscope_gui.history.model import when
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import ListModel


class EvalResultsModel(ListModel[ResultRow]):
    """The listed rows, the newest first."""

    def words(self, row: ResultRow, column: int) -> str:
        return result_words(row)

    def tip(self, row: ResultRow, column: int) -> str:
        return "\n".join(part for part in (str(row.path), row.problem) if part)

    def color(self, row: ResultRow, column: int) -> str:
        return "impossible" if row.problem else ""


def result_words(row: ResultRow) -> str:
    """A result in a line."""
    manifest = row.manifest
    if manifest is None:
        return f"{row.path.name}: {row.problem}"
    suites = ", ".join(suite.name for suite in manifest.suites)
    state = "" if manifest.finished else tr(", not finished")
    arms = tr("%n arm(s)", "", len(manifest.arms))
    return tr(
        "{started}  {suites}  ·  {arms}, {samples}{state}",
        started=when(manifest.started),
        suites=suites,
        arms=arms,
        samples=tr("%n sample(s)", "", manifest.planned),
        state=state,
    )
