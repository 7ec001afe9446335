"""The examples of a grammar, texts that it must accept or reject: edited in place, checked while the user types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QSignalBlocker,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QStyleOptionViewItem, QWidget

from glyphscope.store import GrammarExample
from glyphscope_gui.grammar.work import ExampleVerdict
from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.cells import PillDelegate, TextDelegate, WordsDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import MARK_ROLE, NO_INDEX, PILL_ROLE, Index, TableModel
from glyphscope_gui.shared.text_edits import WrappingEdit
from glyphscope_gui.theme import mono_font, use_font

MAX_MEASURED = 200
RESULT_SHARE = 0.4


class _TextField(WrappingEdit):
    """A text being edited; Shift+Enter inserts a line end."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("exampleField")
        self.setAccessibleName(tr("Text of the example"))
        use_font(self, mono_font, -1)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(2)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)


class _EditableText(TextDelegate):
    """Enter ends editing, Escape restores the old text; every edit is committed at once."""

    def createEditor(self, parent: QWidget, _option: QStyleOptionViewItem, _index: Index) -> QWidget:
        field = _TextField(parent)
        field.textChanged.connect(lambda: self.commitData.emit(field))
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, _TextField)
        text = index.data(Qt.ItemDataRole.EditRole) or ""
        if editor.property("before") is None:
            editor.setProperty("before", text)
        if editor.toPlainText() != text:
            with QSignalBlocker(editor):
                editor.setPlainText(text)
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, _TextField)
        text = editor.toPlainText()
        if text != model.data(index, Qt.ItemDataRole.EditRole):
            model.setData(index, text)

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        if (
            isinstance(editor, _TextField)
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            plain = not event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
                self.commitData.emit(editor)
                self.closeEditor.emit(editor)
                return True
            if event.key() == Qt.Key.Key_Escape:
                editor.setPlainText(editor.property("before") or "")
                self.commitData.emit(editor)
                self.closeEditor.emit(editor)
                return True
        return super().eventFilter(editor, event)


class GrammarExamples(PlainTable):
    """`chosen` carries the text of the selected example, `stepRequested` one to step through."""

    chosen = Signal(str)
    stepRequested = Signal(str)

    def __init__(self, model: GrammarExamplesModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=TEXT, parent=parent)
        self._model = model
        self._new = -1
        self._tidying = QTimer(self, singleShot=True, interval=0)
        self._tidying.timeout.connect(self._tidy)
        self.setObjectName("grammarExamples")
        self.setWordWrap(True)
        self.setAccessibleName(tr("Examples: texts that must match or must not match"))
        self.setAccessibleDescription(
            tr("Enter edits the text, Space toggles match and no match, Delete removes it.")
        )
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setItemDelegateForColumn(SHOULD, WordsDelegate(self))
        texts = _EditableText(self)
        texts.closeEditor.connect(lambda *_how: self._tidying.start())  # once the field is closed
        self.setItemDelegateForColumn(TEXT, texts)
        self.setItemDelegateForColumn(RESULT, PillDelegate(self))
        self.clicked.connect(self._clicked)
        self.selectionModel().currentChanged.connect(self._chosen)
        for signal in (model.dataChanged, model.rowsInserted, model.modelReset):
            signal.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() == Qt.Key.Key_Delete:
            self._remove(index.row())
        elif event.key() == Qt.Key.Key_Space:
            self._model.toggle(index.row())
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and index.isValid():
            self.edit(self._model.index(index.row(), TEXT))
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        row = self.indexAt(event.pos()).row()
        example = self._model.row(row)
        if example is None:
            return
        pop_up(
            QMenu(self),
            event.globalPos(),
            (tr("Step through"), lambda: self.stepRequested.emit(example.text)),
            (
                tr("It must not match") if example.matches else tr("It must match"),
                lambda: self._model.toggle(row),
            ),
            (tr("Edit"), lambda: self.edit(self._model.index(row, TEXT))),
            (tr("Remove"), lambda: self._remove(row)),
        )

    def edit_new(self) -> None:
        """Begin a new example, unless one is being edited."""
        if self.state() == QAbstractItemView.State.EditingState:
            return
        self.setCurrentIndex(self._model.index(len(self._model.examples), TEXT))
        self.edit(self.currentIndex())

    def edit(self, index: QModelIndex, *how: object) -> object:  # type: ignore[override] # Qt's has two forms
        """Edit a row, and remember whether it is new: a new row that stays empty is removed again."""
        if index.column() == TEXT:
            self._new = index.row() if index.row() >= len(self._model.examples) else -1
        return super().edit(index, *how)

    def _tidy(self) -> None:
        row, self._new = self._new, -1
        example = self._model.row(row)
        if example is not None and not example.text:
            self._model.remove(row)

    def _clicked(self, index: QModelIndex) -> None:
        if index.row() >= len(self._model.examples):
            self.edit(self._model.index(index.row(), TEXT))
        elif index.column() == SHOULD:
            self._model.toggle(index.row())

    def _chosen(self, index: QModelIndex, _before: QModelIndex) -> None:
        example = self._model.row(index.row())
        if example is not None:
            self.chosen.emit(example.text)

    def _remove(self, row: int) -> None:
        self._model.remove(row)
        self.selectRow(min(row, self._model.rowCount() - 1))

    def _fit(self, *_what: object) -> None:
        width = self.viewport().width()
        rows = range(min(self._model.rowCount(), MAX_MEASURED))
        self.fit_column(SHOULD, NO_MATCH)
        result = min(max(self.widest(RESULT, MAX_MEASURED) + 38, 64), round(width * RESULT_SHARE))
        self.setColumnWidth(RESULT, result)
        self.setColumnWidth(TEXT, max(width - self.columnWidth(SHOULD) - self.columnWidth(RESULT), 60))
        for row in rows:
            self.resizeRowToContents(row)


SHOULD, TEXT, RESULT = range(3)
"""The columns: the expected result, the text, and the result."""
MATCH, NO_MATCH = tr("match"), tr("no match")
MAX_WORDS = 2
"""Number of expectations that a result names."""


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
        return ("✓" if verdict.accepted else tr("✓ {where}, as expected", where=_where(verdict))), "holds"
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
    return tr("rejected at {char}", char=verdict.failed_at)


def _expected(verdict: ExampleVerdict) -> str:
    shown = tr(" or ").join(verdict.expected[:MAX_WORDS])
    return shown + (" …" if len(verdict.expected) > MAX_WORDS else "")
