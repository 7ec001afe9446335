"""An editable table of texts that a grammar must accept or reject, with the grammar's verdict on each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from PySide6.QtCore import Qt

from glyphscope.sessions import GrammarExample
from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import MARK_ROLE, NO_INDEX, PILL_ROLE, Index, TableModel

SHOULD, TEXT, RESULT = range(3)
"""The columns: the expected result, the text, and the result."""
MATCH, NO_MATCH = tr("match"), tr("no match")
MAX_WORDS = 2
"""Number of expectations that a result names."""


class ExampleVerdict(NamedTuple):
    """The grammar's verdict on a text; `failed_at` counts code points, None if every character matches."""

    accepted: bool
    failed_at: int | None
    length: int
    expected: tuple[str, ...]


class GrammarExamplesModel(TableModel[GrammarExample | None]):
    """The document's examples, and a last row, None, in which a new one begins."""

    titles = (tr("Expected"), tr("Text"), tr("Result"))

    def __init__(self, document: GrammarDocument) -> None:
        super().__init__(document)
        self._document = document
        self._verdicts: Mapping[str, ExampleVerdict] = {}
        self.examples = document.work.examples
        self._rows = (*self.examples, None)
        document.examplesChanged.connect(self._follow)

    def show_verdicts(self, verdicts: Mapping[str, ExampleVerdict]) -> None:
        """Show the verdicts, by text; a text without one has not been checked."""
        self._verdicts = verdicts
        self._changed(0, len(self.examples))

    def passing(self) -> int:
        """The number of examples that have the expected result."""
        return sum(
            self._verdicts[example.text].accepted == example.matches
            for example in self.examples
            if example.text in self._verdicts
        )

    def add(self, text: str, matches: bool = True) -> None:
        self._document.set_examples((*self.examples, GrammarExample(text, matches)))

    def remove(self, row: int) -> None:
        if 0 <= row < len(self.examples):
            self._document.set_examples((*self.examples[:row], *self.examples[row + 1 :]))

    def toggle(self, row: int) -> None:
        """Require that the text is rejected instead of matched, or vice versa."""
        if 0 <= row < len(self.examples):
            self._set(row, GrammarExample(self.examples[row].text, not self.examples[row].matches))

    # -- the cells ---------------------------------------------------------------------------------------------

    def words(self, row: GrammarExample | None, column: int) -> str:
        if row is None:
            return tr("Add a text…") if column == TEXT else ""
        shown = row.text.replace("\n", "⏎").replace("\t", "→") or tr("(empty text)")
        return (MATCH if row.matches else NO_MATCH, shown, "")[column]

    def spoken(self, row: GrammarExample | None, column: int) -> str:
        if row is None:
            return self.words(row, column)
        expected = tr("should match") if row.matches else tr("should not match")
        return (expected, row.text, result_words(row, self._verdicts.get(row.text)))[column]

    def tip(self, row: GrammarExample | None, column: int) -> str:
        if row is None:
            return tr("A text that the grammar must accept. Click “match” to require that it is rejected.")
        if column == SHOULD:
            return tr("Click or press Space to toggle match and no match")
        return row.text if column == TEXT else result_words(row, self._verdicts.get(row.text))

    def color(self, row: GrammarExample | None, column: int) -> str:
        return "text-faint" if row is None else ""

    def extra(self, row: GrammarExample | None, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.EditRole:
            return (row.text if row else "") if column == TEXT else None
        verdict = self._verdicts.get(row.text) if row else None
        if row is None or verdict is None:
            return None
        if role == PILL_ROLE and column == RESULT:
            return result_pill(row, verdict)
        wrong = role == MARK_ROLE and column == TEXT and verdict.accepted != row.matches
        return verdict.failed_at if wrong else None

    # -- Qt ----------------------------------------------------------------------------------------------------

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == TEXT else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or index.column() != TEXT:
            return False
        text = str(value)
        if index.row() >= len(self.examples):
            if text:
                self.add(text)
            return bool(text)
        self._set(index.row(), GrammarExample(text, self.examples[index.row()].matches))
        return True

    def _set(self, row: int, example: GrammarExample) -> None:
        """Change one row in place, so that an editor in it stays open."""
        examples = (*self.examples[:row], example, *self.examples[row + 1 :])
        if examples == self.examples:
            return
        self._put(examples)
        self._changed(row, row + 1)
        self._document.set_examples(examples)

    def _put(self, examples: tuple[GrammarExample, ...]) -> None:
        self.examples = examples
        self._rows = (*examples, None)

    def _follow(self) -> None:
        examples = self._document.work.examples
        if examples == self.examples:
            return
        before = len(self.examples)
        # the row for a new example becomes that example, with its open editor
        if examples[:before] == self.examples:
            self.beginInsertRows(NO_INDEX, before + 1, len(examples))
            self._put(examples)
            self.endInsertRows()
            self._changed(before, before + 1)
        else:
            self.examples = examples
            self.show_rows((*examples, None))


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
    result = _verdict_words(verdict)
    if verdict.accepted == example.matches:
        return tr("Pass: {result}", result=result)
    return tr("Fail: {result}", result=result)


def _verdict_words(verdict: ExampleVerdict) -> str:
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
    shown = tr(" or ").join(verdict.expected[:MAX_WORDS])
    return shown + (" …" if len(verdict.expected) > MAX_WORDS else "")
