"""Wanted X, got Y: what the constraint took of each field, which keyword did, and what of the prompt speaks of it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.explain.mask_impact import FieldImpact, MaskImpact
from glyphscope.explain.mask_impact_report import head, loss_words, worst_words
from glyphscope.explain.prompt_places import PromptPlace
from glyphscope.explain.retokenization import Boundaries, boundary_diff_words, boundary_words
from glyphscope.registry import ToolRegistry
from glyphscope.registry.pointer import steps_of
from glyphscope_gui.playground.mask_impact_model import FIELD, MASKED, TAKEN, MaskImpactModel
from glyphscope_gui.shared.card import section_label
from glyphscope_gui.shared.labels import link, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_table import PlainTable

_PLACES = 4
"""Places of other tokens that are told; the token table marks them all."""


class MaskImpactTable(PlainTable):
    """As high as its rows: the column it stands in scrolls."""

    def __init__(self, model: MaskImpactModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=MASKED, parent=parent)
        self.setObjectName("wantedTable")
        self.setAccessibleName(tr("Preferred and sampled tokens, by field"))
        self.setAccessibleDescription(tr("Up and Down select a field; Enter goes to its token."))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.fit_column(TAKEN, "100%")
        self.fit_column(FIELD, "max_res")
        model.modelReset.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        rows = sum(self.rowHeight(row) for row in range(self.model().rowCount()))
        return QSize(220, self.horizontalHeader().sizeHint().height() + rows + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())


class MaskImpactView(QWidget):
    """`tokenChosen` carries a token's index, `placeChosen` a tool and an argument (or None) whose description could be
    changed, `promptChosen` that the prompt could.
    """

    tokenChosen = Signal(int)
    placeChosen = Signal(str, object)
    promptChosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._registry: ToolRegistry | None = None
        self.model = MaskImpactModel(self)
        self.words = words_label(role="muted", name="wantedWords", selectable=True)
        self.table = MaskImpactTable(self.model, self)
        self.fight = words_label(role="", name="wantedFight", selectable=True)
        self.detail = words_label(role="muted", name="wantedDetail", selectable=True)
        self.place = link("", tr("Show it where you can edit it"), self, name="wantedPlace")
        self.boundaries = words_label(role="muted", name="boundaryWords", selectable=True)
        self.boundaries_heading = section_label(tr("Token boundaries"), self)
        self.boundaries_heading.setContentsMargins(0, 8, 0, 0)
        vbox(
            self.words,
            self.table,
            self.fight,
            self.detail,
            (self.place, 0, Qt.AlignmentFlag.AlignLeft),
            self.boundaries_heading,
            self.boundaries,
            parent=self,
            spacing=8,
        )
        self.table.selectionModel().currentRowChanged.connect(lambda now, _before: self._show(now.row()))
        for told in (self.table.clicked, self.table.activated):
            told.connect(lambda index: self._go(index.row()))
        self.place.clicked.connect(self._go_to_place)
        self.clear()

    def clear(self) -> None:
        """Nothing is known yet."""
        self.model.show(())
        for part in (
            self.table,
            self.fight,
            self.detail,
            self.place,
            self.boundaries_heading,
            self.boundaries,
        ):
            part.hide()
        self.words.setText(tr("Available when the run has finished."))

    def show_impact(self, wanted: MaskImpact, registry: ToolRegistry | None) -> None:
        """`registry` is what held the run."""
        self._registry = registry
        self.words.setText(head(wanted))
        self.model.show(wanted.fields if wanted.constrained else ())
        self.table.setVisible(bool(wanted.constrained) and bool(wanted.fields))
        worst = self.model.worst() if wanted.constrained else None
        for part in (self.fight, self.detail, self.place):
            part.hide()
        if worst is not None:
            self.table.setCurrentIndex(self.model.index(worst, FIELD))

    def show_boundaries(self, boundaries: Boundaries) -> None:
        """Where the text is not in the model's own tokens, or why that is unknown."""
        lines = [boundary_words(boundaries)]
        lines += [
            tr("Token {index}: {about}", index=one.first, about=boundary_diff_words(one))
            for one in boundaries.otherwise[:_PLACES]
        ]
        if len(boundaries.otherwise) > _PLACES:
            lines.append(tr("All of them are marked in the token table."))
        self.boundaries.setText("\n".join(lines))
        self.boundaries_heading.show()
        self.boundaries.show()

    def _show(self, row: int) -> None:
        if not 0 <= row < self.model.rowCount():
            return
        want = self.model.want(row)
        first, *lines = [_sentence(line) for line in worst_words(want, self._registry)] or [""]
        self.fight.setText(first)
        self.fight.setVisible(bool(first))
        self.detail.setText("\n".join([*lines, _sentence(loss_words(want))]))
        self.detail.show()
        words = self._place_words(want)
        self.place.setText(words)
        self.place.setAccessibleName(words)
        self.place.setVisible(bool(words) and want.worst is not None)

    def _place_words(self, want: FieldImpact) -> str:
        place = _first(want)
        if place is None:
            return ""
        if place.kind == "format":
            return tr("Show the prompt")
        if place.kind == "description":
            return tr("Show the description of {argument}", argument=steps_of(place.of)[3])
        return tr("Show the tool")

    def _go(self, row: int) -> None:
        want = self.model.want(row)
        token = want.worst.token if want.worst is not None else want.most_token
        if token is not None:
            self.tokenChosen.emit(token)

    def _go_to_place(self) -> None:
        row = self.table.currentIndex().row()
        place = _first(self.model.want(row)) if 0 <= row < self.model.rowCount() else None
        if place is None:
            return
        steps = steps_of(place.of)
        if not steps:
            self.promptChosen.emit()
        else:
            self.placeChosen.emit(steps[0], steps[3] if place.kind == "description" else None)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _first(want: FieldImpact) -> PromptPlace | None:
    return want.places[0] if want.places else None
