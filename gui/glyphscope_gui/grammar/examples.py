"""The examples of a grammar: edited in place, checked while the user types."""

from __future__ import annotations

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

from glyphscope_gui.grammar.examples_model import NO_MATCH, RESULT, SHOULD, TEXT, GrammarExamplesModel
from glyphscope_gui.shared.cells import PillDelegate, TextDelegate, WordsDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.menus import pop_up
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import Index
from glyphscope_gui.shared.text_edits import WrappingEdit
from glyphscope_gui.theme import mono_font

MAX_MEASURED = 200
RESULT_SHARE = 0.4


class _TextField(WrappingEdit):
    """A text being edited; Shift+Enter inserts a line end."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("exampleField")
        self.setAccessibleName(tr("Text of the example"))
        self.setFont(mono_font(-1))
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
    """`stepRequested` carries a text to step through."""

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
            self.stepRequested.emit(example.text)

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
