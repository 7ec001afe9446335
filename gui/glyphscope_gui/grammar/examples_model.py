"""Texts that a grammar must accept or refuse, as a table that can be edited, with what the grammar says to each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from glyphscope.sessions import GrammarExample
from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import MARK_ROLE, PILL_ROLE
from glyphscope_gui.theme import theme

_Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()
SHOULD, TEXT, RESULT = range(3)
MATCH, NO_MATCH = tr("match"), tr("no match")
MOST_WORDS = 2
"""Expected things that are named in a result."""


class ExampleVerdict(NamedTuple):
    """What the grammar says to a text; `failed_at` counts code points, None where every character fits."""

    accepted: bool
    failed_at: int | None
    length: int
    expected: tuple[str, ...]


class GrammarExamplesModel(QAbstractTableModel):
    """The document's examples, and a last row in which a new one begins."""

    def __init__(self, document: GrammarDocument) -> None:
        super().__init__(document)
        self._document = document
        self._verdicts: Mapping[str, ExampleVerdict] = {}
        self._shown = document.work.examples
        document.examplesChanged.connect(self._follow)

    @property
    def examples(self) -> tuple[GrammarExample, ...]:
        return self._shown

    def show_verdicts(self, verdicts: Mapping[str, ExampleVerdict]) -> None:
        """By text; a text that is not there has not been judged."""
        self._verdicts = verdicts
        if self._shown:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._shown) - 1, RESULT))

    def right(self) -> int:
        """How many examples come out as they should."""
        return sum(
            self._verdicts[example.text].accepted == example.matches
            for example in self._shown
            if example.text in self._verdicts
        )

    def add(self, text: str, matches: bool = True) -> None:
        self._document.set_examples((*self._shown, GrammarExample(text, matches)))

    def remove(self, row: int) -> None:
        if 0 <= row < len(self._shown):
            self._document.set_examples((*self._shown[:row], *self._shown[row + 1 :]))

    def turn(self, row: int) -> None:
        """Must match becomes must not match, and back."""
        if 0 <= row < len(self._shown):
            self._set(row, GrammarExample(self._shown[row].text, not self._shown[row].matches))

    # -- what a view asks --------------------------------------------------------------------------------------

    def rowCount(self, parent: _Index = _NONE) -> int:
        return 0 if parent.isValid() else len(self._shown) + 1

    def columnCount(self, parent: _Index = _NONE) -> int:
        return 0 if parent.isValid() else 3

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return (tr("Expected"), tr("Text"), tr("Result"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == TEXT else flags

    @plain_data
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = index.row(), index.column()
        if row >= len(self._shown):
            return self._new_row(column, role)
        example = self._shown[row]
        verdict = self._verdicts.get(example.text)
        if role == Qt.ItemDataRole.DisplayRole:
            shown = example.text.replace("\n", "⏎").replace("\t", "→") or tr("(empty text)")
            return (MATCH if example.matches else NO_MATCH, shown, "")[column]
        if role == Qt.ItemDataRole.EditRole:
            return example.text if column == TEXT else None
        if role == PILL_ROLE and column == RESULT:
            return result_pill(example, verdict)
        if role == MARK_ROLE and column == TEXT:
            return verdict.failed_at if verdict and verdict.accepted != example.matches else None
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self._tip(example, verdict, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return (
                tr("should match") if example.matches else tr("should not match"),
                example.text,
                result_words(example, verdict),
            )[column]
        return None

    def setData(self, index: _Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or index.column() != TEXT:
            return False
        text = str(value)
        if index.row() >= len(self._shown):
            if text:
                self.add(text)
            return bool(text)
        self._set(index.row(), GrammarExample(text, self._shown[index.row()].matches))
        return True

    # -- inside ------------------------------------------------------------------------------------------------

    def _new_row(self, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and column == TEXT:
            return tr("Add a text…")
        if role == Qt.ItemDataRole.ForegroundRole:
            return theme().color("text-faint")
        if role == Qt.ItemDataRole.EditRole and column == TEXT:
            return ""
        if role == Qt.ItemDataRole.ToolTipRole:
            return tr("A text that the grammar must accept. Click “match” to require that it is rejected.")
        return None

    def _tip(self, example: GrammarExample, verdict: ExampleVerdict | None, column: int) -> str:
        if column == SHOULD:
            return tr("Click or press Space to toggle match and no match")
        return example.text if column == TEXT else result_words(example, verdict)

    def _set(self, row: int, example: GrammarExample) -> None:
        """One row changes in place, so that an editor in it stays open."""
        examples = (*self._shown[:row], example, *self._shown[row + 1 :])
        if examples == self._shown:
            return
        self._shown = examples
        self.dataChanged.emit(self.index(row, 0), self.index(row, RESULT))
        self._document.set_examples(examples)

    def _follow(self) -> None:
        examples = self._document.work.examples
        if examples == self._shown:
            return
        before = len(self._shown)
        if (
            examples[:before] == self._shown
        ):  # the row for a new one becomes the example, with the editor that is in it
            self.beginInsertRows(_NONE, before + 1, len(examples))
            self._shown = examples
            self.endInsertRows()
            self.dataChanged.emit(self.index(before, 0), self.index(before, RESULT))
        else:
            self.beginResetModel()
            self._shown = examples
            self.endResetModel()


def result_pill(example: GrammarExample, verdict: ExampleVerdict | None) -> tuple[str, str] | None:
    """The result in a few words, and its colour."""
    if verdict is None:
        return None
    if verdict.accepted == example.matches:
        return ("✓" if verdict.accepted else f"✓ {_where(verdict)}"), "holds"
    if verdict.accepted:
        return tr("✕ is accepted"), "impossible"
    expected = _expected(verdict)
    return f"✕ {_where(verdict)}" + (f": {expected}" if expected else ""), "impossible"


def result_words(example: GrammarExample, verdict: ExampleVerdict | None) -> str:
    """The result in a sentence."""
    if verdict is None:
        return tr("Not checked: the grammar has errors")
    result = _said(verdict)
    if verdict.accepted == example.matches:
        return tr("Pass: {result}", result=result)
    return tr("Fail: {result}", result=result)


def _said(verdict: ExampleVerdict) -> str:
    if verdict.accepted:
        return tr("the grammar accepts the text.")
    expected = ", ".join(verdict.expected)
    if verdict.failed_at is None:
        return tr("the text is an incomplete match. Expected next: {expected}.", expected=expected)
    return tr(
        "no match from character {char} on. Expected there: {expected}.",
        char=verdict.failed_at,
        expected=expected or tr("nothing"),
    )


def _where(verdict: ExampleVerdict) -> str:
    if verdict.failed_at is None:
        return tr("incomplete")
    return tr("fails at {char}", char=verdict.failed_at)


def _expected(verdict: ExampleVerdict) -> str:
    shown = tr(" or ").join(verdict.expected[:MOST_WORDS])
    return shown + (" …" if len(verdict.expected) > MOST_WORDS else "")
