"""A lesson's words: Markdown, well set, as high as it is. It shows no HTML and loads no picture from anywhere."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, QUrl
from PySide6.QtGui import (
    QFont,
    QImage,
    QResizeEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QTextEdit, QWidget

from glyphscope_gui.shared.language import tr
from glyphscope_gui.theme import Looks, mono_font, theme, ui_font

LARGER = 1.5
"""Points that it is larger than the interface's letters: it is read, not looked up."""
LINE_HEIGHT = 142
_HEADINGS = {1: 4.0, 2: 2.5, 3: 1.0}


class LessonProse(QTextEdit):
    """Read-only; its words can be selected with the mouse."""

    def __init__(self, markdown: str = "", parent: QWidget | None = None, *, quiet: bool = False) -> None:
        super().__init__(parent)
        self._quiet = quiet
        self._markdown = ""
        self.setObjectName("lessonProse")
        self.setAccessibleName(tr("Text of the lesson"))
        self.setReadOnly(True)
        self.setFrameShape(QTextEdit.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(self.wordWrapMode().WrapAtWordBoundaryOrAnywhere)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.show_markdown(markdown)

    def show_markdown(self, markdown: str) -> None:
        self._markdown, self._looks = markdown, Looks()
        document = self.document()
        document.setDefaultFont(ui_font(0 if self._quiet else LARGER))
        safe = markdown.replace("![", "!\u2060[")  # a picture would be read from wherever the text says
        document.setMarkdown(safe, QTextDocument.MarkdownFeature.MarkdownNoHTML | _DIALECT)
        self._set_type()
        self.setAccessibleDescription(self.toPlainText()[:300])
        self._fit()

    def loadResource(self, _kind: int, _name: QUrl | str) -> QImage:
        """Nothing is read or fetched for a text."""
        return QImage(1, 1, QImage.Format.Format_ARGB32)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The page scrolls, not the text."""
        event.ignore()

    def changeEvent(self, event: QEvent) -> None:
        """In another theme, or other letters."""
        super().changeEvent(event)
        if hasattr(self, "_looks") and self._looks.changed(event):
            self.show_markdown(self._markdown)

    # -- inside ------------------------------------------------------------------------------------------------

    def _fit(self, _size: object = None) -> None:
        height = round(self.document().size().height()) + 2
        if height != self.height():
            self.setFixedHeight(height)

    def _set_type(self) -> None:
        """Line height, distances, and what a model reads or writes in its own letters."""
        document, colors = self.document(), theme()
        size = document.defaultFont().pointSizeF()
        code = mono_font(0 if self._quiet else LARGER - 0.5)
        block = document.begin()
        while block.isValid():
            fenced = block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence)
            level = block.blockFormat().headingLevel()
            shape = QTextBlockFormat()
            shape.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            shape.setTopMargin(size * (1.0 if level else 0))
            after = block.next()
            inside = (
                fenced
                and after.isValid()
                and after.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence)
            )
            item = block.textList() is not None and after.isValid() and after.textList() is not None
            shape.setBottomMargin(0 if inside or not after.isValid() else size * (0.3 if item else 0.75))
            if fenced:
                shape.setBackground(colors.color("track"))
                shape.setLeftMargin(size)
                shape.setNonBreakableLines(False)  # what does not fit would be out of sight
            cursor = QTextCursor(block)
            cursor.mergeBlockFormat(shape)
            if level:
                self._merge(cursor, _heading(size + _HEADINGS.get(level, 0.5)))
            elif fenced:
                self._merge(cursor, _code(code, None))
            else:
                self._mark_code(block, code)
            block = after

    def _mark_code(self, block: QTextBlock, code: QFont) -> None:
        """Code within a line, on a ground of its own."""
        spans = []
        walk = block.begin()
        while not walk.atEnd():
            piece = walk.fragment()
            if piece.isValid() and piece.charFormat().fontFixedPitch():
                spans.append((piece.position(), piece.length()))
            walk += 1
        for start, length in spans:
            cursor = QTextCursor(self.document())
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(_code(code, "track"))

    @staticmethod
    def _merge(cursor: QTextCursor, look: QTextCharFormat) -> None:
        cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
        cursor.mergeCharFormat(look)


_DIALECT = QTextDocument.MarkdownFeature.MarkdownDialectGitHub


def _heading(points: float) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setFontPointSize(points)
    look.setFontWeight(QFont.Weight.DemiBold)
    return look


def _code(font: QFont, ground: str | None) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setFont(font)
    if ground is not None:
        look.setBackground(theme().color(ground))
    return look
