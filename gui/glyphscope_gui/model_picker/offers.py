"""The models that can be had, as Qt tables: those on this computer, and those of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from glyphscope.models import FoundModel
from glyphscope.models.hub import Choice, Hit
from glyphscope.text.figures import byte_size
from glyphscope_gui.model_picker.words import name_words, source_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.theme import theme

NAME, QUANTISATION, SIZE, SOURCE = range(4)
FITS, DOWNLOADS = 3, 4
"""Of the repositories that were found."""


class FoundModelsModel(TableModel):
    """Those that can be opened first; the others say why not."""

    titles = (tr("Model"), tr("Quantisation"), tr("Size"), tr("Source"))
    tips = (
        "",
        tr("The number format of the weights: fewer bits are smaller and less accurate"),
        tr("Size on disk"),
        "",
    )
    figures = frozenset({SIZE})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[FoundModel] = ()

    def show(self, found: Sequence[FoundModel]) -> None:
        self.beginResetModel()
        self._rows = sorted(found, key=lambda model: bool(model.problem))
        self.endResetModel()

    def model(self, row: int) -> FoundModel:
        return self._rows[row]

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        model, column = self._rows[index.row()], index.column()
        words = (
            f"{name_words(model)}  ✗ {model.problem}" if model.problem else name_words(model),
            model.quantisation,
            byte_size(model.bytes),
            source_words(model),
        )
        if role == Qt.ItemDataRole.DisplayRole:
            return words[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text" if column == NAME and not model.problem else "text-muted")
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(f"{model.path}\n{model.problem}".strip())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.titles[column]}: {words[column]}"
        return None


class HitsModel(TableModel):
    """Repositories found by words, most downloaded first, each with the file that suits the free memory."""

    titles = (tr("Repository"), tr("Quantisation"), tr("Size"), tr("Memory"), tr("Downloads"))
    tips = (
        "",
        tr("The suggested file: the largest common quantisation that fits in the free memory"),
        tr("Size of the suggested file"),
        tr("Whether the suggested file fits in the free memory, without the KV cache"),
        tr("Downloads in the last month"),
    )
    figures = frozenset({SIZE, DOWNLOADS})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Hit] = ()

    def show(self, hits: Sequence[Hit]) -> None:
        self.beginResetModel()
        self._rows = hits
        self.endResetModel()

    def hit(self, row: int) -> Hit:
        return self._rows[row]

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        hit, column = self._rows[index.row()], index.column()
        choice = hit.pick.choice if hit.pick is not None else None
        fits = {True: tr("fits"), False: tr("too large"), None: tr("unknown")}[hit.fits]
        words = (
            hit.repo,
            choice.quantisation if choice else "",
            byte_size(choice.bytes) if choice and choice.bytes else "",
            fits if choice else tr("choose a file") if hit.listing and hit.listing.choices else "",
            f"{hit.downloads:,}",
        )
        if role == Qt.ItemDataRole.DisplayRole:
            return words[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text" if column == NAME and hit.fits is not False else "text-muted")
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(f"{hit.repo}\n{hit.problem.message}" if hit.problem else hit.repo)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.titles[column]}: {words[column]}"
        return None


class ChoicesModel(TableModel):
    """The models of one repository, small ones first."""

    titles = (tr("File"), tr("Quantisation"), tr("Size"))
    tips = FoundModelsModel.tips[:3]
    figures = frozenset({SIZE})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Choice] = ()

    def show(self, choices: Sequence[Choice]) -> None:
        self.beginResetModel()
        self._rows = choices
        self.endResetModel()

    def choice(self, row: int) -> Choice:
        return self._rows[row]

    def row_of(self, choice: Choice) -> int:
        """-1 where it is not among them."""
        return next((row for row, other in enumerate(self._rows) if other is choice), -1)

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        choice, column = self._rows[index.row()], index.column()
        name = choice.name
        if len(choice.files) > 1 or choice.missing:
            parts = len(choice.files)
            name = (
                tr(
                    "{name} ({parts} parts, {missing} missing)",
                    name=name,
                    parts=parts,
                    missing=choice.missing,
                )
                if choice.missing
                else tr("{name} ({parts} parts)", name=name, parts=parts)
            )
        words = (name, choice.quantisation, byte_size(choice.bytes) if choice.bytes else tr("unknown"))
        if role == Qt.ItemDataRole.DisplayRole:
            return words[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text" if column == NAME and not choice.missing else "text-muted")
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(name)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.titles[column]}: {words[column]}"
        return None
