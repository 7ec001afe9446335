"""The pairs of tools that the model confuses, of the shown run and of those compared before it; and the controls of
what is scored between runs.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from glyphscope.base.figures import percent
from glyphscope.explain.ablation.pairs import ToolPair
from glyphscope.explain.ablation.scoring import AblationProgress
from glyphscope.explain.ablation.words import pair_words
from glyphscope.models.interface import same_model
from glyphscope_gui.shared.cells import LinesDelegate
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import CellLine, ListModel

_ROWS = 5
"""The most rows of pairs that are visible together."""


class ScoringControls(QWidget):
    """A button that starts scoring, in its place one that stops it, and the progress below."""

    stopRequested = Signal()

    def __init__(self, start: QPushButton, beside: QWidget | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start_button = start
        self.stop_button = push_button(
            tr("Stop"), self, name=f"{start.objectName()}Stop", tip=tr("End with what is scored so far")
        )
        self.bar = named(QProgressBar(self, textVisible=False), "scoringProgress", tr("Tokens evaluated"))
        row = (beside, 1) if beside is not None else STRETCH
        vbox(hbox(row, start, self.stop_button, spacing=8), self.bar, parent=self, spacing=8)
        self.stop_button.clicked.connect(self.stopRequested)
        self.show_progress(None)

    def show_progress(self, progress: AblationProgress | None) -> None:
        """Show how far the scores are; None while none are computed."""
        self.bar.setVisible(progress is not None)
        self.stop_button.setVisible(progress is not None)
        self.start_button.setVisible(progress is None)
        if progress is not None:
            self.bar.setRange(0, progress.total)
            self.bar.setValue(progress.done)


class ToolPairsModel(ListModel[ToolPair]):
    """The pairs, the most confused first."""

    key = "called other prompt"

    def words(self, row: ToolPair, column: int) -> str:
        return tr("{called} or {other}", called=row.called, other=row.other)

    def spoken(self, row: ToolPair, column: int) -> str:
        return pair_words(row, tr)

    def tip(self, row: ToolPair, column: int) -> str:
        return pair_words(row, tr)

    def lines(self, row: ToolPair) -> tuple[CellLine, ...]:
        """Both tools with the probability of the called one, and the prompt."""
        role = "impossible" if row.is_confused else "text-muted"
        name = CellLine(
            self.words(row, 0),
            "text" if row.is_confused else "text-muted",
            percent(row.probability),
            role,
            False,
        )
        return name, CellLine(row.prompt or "–", "text-muted")


class ToolPairsView(QWidget):
    """`compareRequested` asks for the pairs of the shown run. Pairs of other prompts for the same model stay."""

    compareRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        start = push_button(
            tr("Compare tools"), self, name="compareToolsButton",
            tip=tr("Offer the called tool and each other one alone, and score the call again"),
        )  # fmt: skip
        self.controls = ScoringControls(start, None, self)
        self.words = words_label(name="toolPairsWords", selectable=True)
        self.model = ToolPairsModel(self)
        self.list = PlainList(
            self.model,
            "toolPairs",
            tr("Pairs of tools, the most confused first"),
            self,
            uniformItemSizes=True,
        )
        self.list.setItemDelegate(LinesDelegate(self.list))
        self.detail = words_label(name="toolPairsDetail", selectable=True)
        vbox(self.words, self.list, self.detail, self.controls, parent=self, spacing=8)
        start.clicked.connect(self.compareRequested)
        self.list.selectionModel().currentChanged.connect(lambda now, _before: self._choose(now.row()))
        self.list.hide()
        self.detail.hide()
        self.offer(False)

    def offer(self, can: bool) -> None:
        """Offer to compare the tools of another run, or not: it called none."""
        self.controls.show_progress(None)
        self.controls.start_button.setEnabled(can)
        self.say(
            tr(
                "Which tools does the model confuse for this prompt? The called one is offered beside each other one."
            )
            if can
            else tr("Available when a run has called a tool.")
        )

    def say(self, words: str) -> None:
        show_words(self.words, words)

    def add(self, pair: ToolPair) -> None:
        """Show another pair, in place of an earlier result for it. Pairs of another model are dropped."""
        kept = [
            each
            for each in self.model.rows
            if self.model.key_of(each) != self.model.key_of(pair)
            and same_model(each.ablation.model, pair.ablation.model)
        ]
        self.model.show_rows(sorted([*kept, pair], key=lambda each: each.probability))
        rows = min(self.model.rowCount(), _ROWS)
        self.list.setFixedHeight(rows * self.list.sizeHintForRow(0) + 2)
        self.list.show()

    def show_end(self, count: int) -> None:
        """The pairs of the shown run are complete, or as many as were compared before Stop."""
        confused = sum(pair.is_confused for pair in self.model.rows)
        compared = tr("%n pair(s) compared.", "", count)
        shown = tr("Confused, of all that are listed: %n.", "", confused)
        self.say(f"{compared} {shown}" if self.model.rows else compared)
        if self.model.rows:
            self.list.setCurrentIndex(self.model.index(0, 0))
            self._choose(0)

    def _choose(self, row: int) -> None:
        pair = self.model.row(row)
        show_words(self.detail, "" if pair is None else pair_words(pair, tr))
