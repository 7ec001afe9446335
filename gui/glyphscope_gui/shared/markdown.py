"""Markdown in a text document, with line height, spacing, headings and a font for code."""

from __future__ import annotations

from PySide6 import QtGui

from glyphscope_gui.theme import mono_font, theme, ui_font

LINE_HEIGHT = 142
_HEADINGS = {1: 4.0, 2: 2.5, 3: 1.0}
_FENCE = QtGui.QTextFormat.Property.BlockCodeFence


def set_markdown(document: QtGui.QTextDocument, markdown: str, *, larger: float) -> None:
    """Show a text without its HTML; `larger` is in points relative to the interface's font."""
    document.setDefaultFont(ui_font(larger))
    features = QtGui.QTextDocument.MarkdownFeature
    document.setMarkdown(markdown, features.MarkdownNoHTML | features.MarkdownDialectGitHub)
    size = document.defaultFont().pointSizeF()
    code = mono_font(larger - 0.5 if larger else 0)
    block = document.begin()
    while block.isValid():
        _set_block(block, size, code)
        block = block.next()


def _set_block(block: QtGui.QTextBlock, size: float, code: QtGui.QFont) -> None:
    fenced = block.blockFormat().hasProperty(_FENCE)
    level = block.blockFormat().headingLevel()
    shape = QtGui.QTextBlockFormat()
    shape.setLineHeight(LINE_HEIGHT, QtGui.QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    after = block.next()
    cursor = QtGui.QTextCursor(block)
    in_table = cursor.currentTable() is not None
    inside = in_table or (fenced and after.isValid() and after.blockFormat().hasProperty(_FENCE))
    item = block.textList() is not None and after.isValid() and after.textList() is not None
    shape.setTopMargin(size * (1.0 if level else 0))
    shape.setBottomMargin(0 if inside or not after.isValid() else size * (0.3 if item else 0.75))
    if fenced:
        shape.setBackground(theme().color("track"))
        shape.setLeftMargin(size)
        shape.setNonBreakableLines(False)  # otherwise long lines would be cut off
    cursor.mergeBlockFormat(shape)
    if level:
        _merge(cursor, _heading(size + _HEADINGS.get(level, 0.5)))
    elif fenced:
        _merge(cursor, _code(code, None))
    else:
        _mark_code(block, code)


def _mark_code(block: QtGui.QTextBlock, code: QtGui.QFont) -> None:
    """Put a separate background behind code within a line."""
    spans = []
    walk = block.begin()
    while not walk.atEnd():
        piece = walk.fragment()
        if piece.isValid() and piece.charFormat().fontFixedPitch():
            spans.append((piece.position(), piece.length()))
        walk += 1
    for start, length in spans:
        cursor = QtGui.QTextCursor(block)
        cursor.setPosition(start)
        cursor.setPosition(start + length, QtGui.QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(_code(code, "track"))


def _merge(cursor: QtGui.QTextCursor, look: QtGui.QTextCharFormat) -> None:
    cursor.select(QtGui.QTextCursor.SelectionType.BlockUnderCursor)
    cursor.mergeCharFormat(look)


def _heading(points: float) -> QtGui.QTextCharFormat:
    look = QtGui.QTextCharFormat()
    look.setFontPointSize(points)
    look.setFontWeight(QtGui.QFont.Weight.DemiBold)
    return look


def _code(font: QtGui.QFont, ground: str | None) -> QtGui.QTextCharFormat:
    look = QtGui.QTextCharFormat()
    look.setFont(font)
    if ground is not None:
        look.setBackground(theme().color(ground))
    return look
