"""Shows the details of a row of the timeline: results, differences, denied calls, pictures."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import (
    QContextMenuEvent,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QTextBrowser, QTextEdit, QWidget

from glyphscope.visible import visible
from glyphscope_gui.calls.pictures import read_picture
from glyphscope_gui.playground.timeline_notes import Block
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.menus import pop_up
from glyphscope_gui.shared.text_edits import break_anywhere_if_needed, break_at_words_again
from glyphscope_gui.shared.whole_text import show_whole
from glyphscope_gui.theme import FollowsLooks, mono_font, theme, ui_font

IMAGE_ROOM = QSize(420, 4 * 420)
"""The largest size of a picture, in logical pixels."""
_ROLES = {"gone": "impossible", "new": "holds"}


class NotesView(FollowsLooks, QTextBrowser):
    """Read-only. Text from a tool is inserted only as plain text; links open only the view's own blocks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "notesView", tr("Details of this row of the timeline"))
        self.setReadOnly(True)
        self.setOpenLinks(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.anchorClicked.connect(self._open)
        self.setFrameShape(QTextEdit.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(self.wordWrapMode().WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(10)
        self.setStyleSheet("QTextEdit#notesView { background: transparent; border: none; padding: 0; }")
        self._blocks: list[Block] = []

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 60)

    def show_blocks(self, blocks: list[Block]) -> None:
        """Show these from the top; showing the same blocks again does not scroll the view."""
        before, self._blocks = self._blocks, list(blocks)
        if blocks != before:
            self._restyle()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        pop_up(self.createStandardContextMenu(), event.globalPos(), *self.actions())

    def _restyle(self) -> None:
        """Write the same text in the current colours."""
        text = "\n".join(
            f"{block.text}{''.join(piece for _, piece in block.pieces)}" for block in self._blocks
        )
        self.clear()
        break_anywhere_if_needed(self, text)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        for number, block in enumerate(self._blocks):
            shape = QTextBlockFormat()
            shape.setTopMargin(9 if number and block.kind == "heading" else 2 if number else 0)
            shape.setLineHeight(118, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            if number:
                cursor.insertBlock(shape)
            else:
                cursor.setBlockFormat(shape)
            self._insert(cursor, number, block)
        cursor.endEditBlock()
        break_at_words_again(self, text)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _open(self, link: QUrl) -> None:
        number = link.path()
        whole = (
            self._blocks[int(number)].whole if number.isdigit() and int(number) < len(self._blocks) else None
        )
        if whole is not None:
            show_whole(whole, self)

    def _insert(self, cursor: QTextCursor, number: int, block: Block) -> None:
        match block.kind:
            case "link":
                link = self._format("link")
                link.setAnchor(True)
                link.setAnchorHref(f"block:{number}")
                cursor.insertText(block.text, link)
            case "image":
                self._insert_image(cursor, block)
            case "difference":
                for kind, text in block.pieces:
                    cursor.insertText(visible(text, lines=True), self._piece_format(kind))
            case _:
                cursor.insertText(visible(block.text, lines=True), self._format(block.kind))

    def _format(self, kind: str) -> QTextCharFormat:
        format_ = QTextCharFormat()
        format_.setFont(mono_font(0) if kind == "text" else ui_font(0))
        if kind == "heading":
            format_.setFontWeight(QFont.Weight.DemiBold)
        role = {"problem": "impossible", "words": "text-muted", "link": "accent"}.get(kind, "text")
        format_.setForeground(theme().color(role))
        return format_

    def _piece_format(self, kind: str) -> QTextCharFormat:
        """Removed text is crossed out and new text underlined, as colour alone is not enough."""
        format_ = QTextCharFormat()
        format_.setFont(mono_font(0.5))
        role = _ROLES.get(kind)
        format_.setForeground(theme().color(role or "text"))
        if role is not None:
            format_.setBackground(theme().color(f"{role}-soft"))
            format_.setFontStrikeOut(kind == "gone")
            format_.setFontUnderline(kind == "new")
        return format_

    def _insert_image(self, cursor: QTextCursor, block: Block) -> None:
        image, why = read_picture(block.data, IMAGE_ROOM)
        if image is None:
            cursor.insertText(why, self._format("problem"))
        else:
            cursor.insertImage(image)
