"""The available models as Qt tables: models on this computer, repositories, and the models of a repository."""

from __future__ import annotations

from collections.abc import Sequence

from glyphscope.base.figures import byte_size
from glyphscope.models.finding import FoundModel
from glyphscope.models.hub.files import FileChoice
from glyphscope.models.hub.jobs import HubHit
from glyphscope_gui.model_picker.words import name_words, source_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel

NAME, QUANTISATION, SIZE, SOURCE = range(4)
"""The columns of the models on this computer; the other tables share the first three."""
FITS, DOWNLOADS = 3, 4
"""The other columns of the repositories."""


class FoundModelsModel(TableModel[FoundModel]):
    """Models that can be opened first; the others say why not."""

    speaks_titles = True
    titles = (tr("Model"), tr("Quantisation"), tr("Size"), tr("Source"))
    tips = (
        "",
        tr("The number format of the weights: fewer bits are smaller and less accurate"),
        tr("Size on disk"),
        "",
    )
    figures = frozenset({SIZE})

    def show(self, found: Sequence[FoundModel]) -> None:
        self.show_rows(sorted(found, key=lambda model: bool(model.problem)))

    def words(self, row: FoundModel, column: int) -> str:
        return (
            f"{name_words(row)}  ✗ {row.problem}" if row.problem else name_words(row),
            row.quantisation,
            byte_size(row.bytes),
            source_words(row),
        )[column]

    def tip(self, row: FoundModel, column: int) -> str:
        return f"{row.path}\n{row.problem}".strip()

    def color(self, row: FoundModel, column: int) -> str:
        return "text" if column == NAME and not row.problem else "text-muted"


class HitsModel(TableModel[HubHit]):
    """Repositories found by a search, most downloaded first, each with the file that suits the free memory."""

    speaks_titles = True
    titles = (tr("Repository"), tr("Quantisation"), tr("Size"), tr("Memory"), tr("Downloads"))
    tips = (
        "",
        tr("The suggested file: the largest common quantisation that fits in the free memory"),
        tr("Size of the suggested file"),
        tr("Whether the suggested file fits in the free memory, without the KV cache"),
        tr("Downloads in the last month"),
    )
    figures = frozenset({SIZE, DOWNLOADS})

    def words(self, row: HubHit, column: int) -> str:
        choice = row.pick.choice if row.pick is not None else None
        fits = {True: tr("fits"), False: tr("too large"), None: tr("unknown")}[row.fits]
        return (
            row.repo,
            choice.quantisation if choice else "",
            byte_size(choice.bytes) if choice and choice.bytes else "",
            fits if choice else tr("choose a file") if row.listing and row.listing.choices else "",
            f"{row.downloads:,}",
        )[column]

    def tip(self, row: HubHit, column: int) -> str:
        return f"{row.repo}\n{row.problem.message}" if row.problem else row.repo

    def color(self, row: HubHit, column: int) -> str:
        return "text" if column == NAME and row.fits is not False else "text-muted"


class ChoicesModel(TableModel[FileChoice]):
    """The models of one repository, small ones first."""

    speaks_titles = True
    titles = (tr("File"), tr("Quantisation"), tr("Size"))
    tips = FoundModelsModel.tips[:3]
    figures = frozenset({SIZE})

    def words(self, row: FileChoice, column: int) -> str:
        size = byte_size(row.bytes) if row.bytes else tr("unknown")
        return (_file_words(row), row.quantisation, size)[column]

    def tip(self, row: FileChoice, column: int) -> str:
        return _file_words(row)

    def color(self, row: FileChoice, column: int) -> str:
        return "text" if column == NAME and not row.missing else "text-muted"


def _file_words(choice: FileChoice) -> str:
    parts = len(choice.files)
    if choice.missing:
        return tr(
            "{name} ({parts} parts, {missing} missing)", name=choice.name, parts=parts, missing=choice.missing
        )
    return tr("{name} ({parts} parts)", name=choice.name, parts=parts) if parts > 1 else choice.name
