"""The prompt word for word, in which the chosen part and the part under the mouse are marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from glyphscope.base.visible import visible
from glyphscope.events import ControlText
from glyphscope.prompting.changes import ChangedPiece, Changes, loss_words
from glyphscope_gui.prompt.watch import ShownPrompt
from glyphscope_gui.shared.code_edit import CodeEdit, to_utf16
from glyphscope_gui.shared.labels import ElidedLink, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_text import shown_part
from glyphscope_gui.shared.text_edits import marked
from glyphscope_gui.theme import mono_font, theme, use_font

Spans = Sequence[tuple[int, int]]
_MAX_SPANS = 100
"""Stretches that are marked; if a part has more, the first ones."""


class RenderedPromptView(CodeEdit):
    """Characters are code points of the prompt. `placeChosen` carries the character at the cursor after a click or a
    key, `placeHovered` the one under the mouse, or None.
    """

    placeChosen = Signal(object)
    placeHovered = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._spans: Spans = ()
        self._hovered: Spans = ()
        self._controls: Sequence[tuple[tuple[int, int], bool]] = ()
        self._reports_cursor = True
        self._text = ""
        super().__init__(parent)
        self.setObjectName("renderedPromptView")
        self.setAccessibleName(tr("The prompt as sent to the model"))
        self.setAccessibleDescription(tr("The part at the cursor is selected in the costs below."))
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setTabChangesFocus(True)
        self.setLineWrapMode(CodeEdit.LineWrapMode.WidgetWidth)
        self.viewport().setMouseTracking(True)
        self.cursorPositionChanged.connect(self._cursor_moved)

    def show_prompt(self, text: str, controls: Sequence[ControlText] = ()) -> None:
        """Show another prompt, in which texts that read like control tokens are marked."""
        self._reports_cursor = False
        self._spans, self._hovered = (), ()
        self._text = visible(shown_part(text), lines=True, single=True)
        places = self._places([(each.start, each.end) for each in controls])
        self._controls = [(span, each.plain) for span, each in zip(places, controls)]
        self.show_text(self._text)
        self._mark()
        self._reports_cursor = True

    def mark(self, spans: Spans) -> None:
        """Mark these characters, and scroll to the first of them."""
        self._spans = self._places(spans)
        self._mark()
        if spans and not self.hasFocus():
            cursor = self.textCursor()
            cursor.setPosition(self._spans[0][0])
            self._reports_cursor = False
            self.setTextCursor(cursor)
            self.ensureCursorVisible()
            self._reports_cursor = True

    def hover(self, spans: Spans) -> None:
        """Mark these characters lightly, while the mouse is over them."""
        places = self._places(spans)
        if places != self._hovered:
            self._hovered = places
            self._mark()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if event.buttons() == Qt.MouseButton.NoButton:
            self.placeHovered.emit(self._character(self.cursorForPosition(event.position().toPoint())))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.placeHovered.emit(None)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            return QWidget.event(self, event)  # the tip describes the part under the mouse
        return super().event(event)

    def _cursor_moved(self) -> None:
        if self._reports_cursor and self.hasFocus() and not self._showing:
            self.placeChosen.emit(self._character(self.textCursor()))

    def _bracket_selections(self) -> list[QTextEdit.ExtraSelection]:
        """Return no brackets, as the marks in this view are parts."""
        return []

    def _mark(self) -> None:
        super()._mark()
        colors = theme()
        marks = [
            self._span(span, colors.color("hover"), colors.color("border-strong")) for span in self._hovered
        ]
        marks += [self._span(span, colors.color("selection"), colors.color("accent")) for span in self._spans]
        for span, plain in self._controls:
            role = "open" if plain else "impossible"
            wave = QTextCharFormat.UnderlineStyle.WaveUnderline, colors.color(f"{role}-line")
            marks.append(marked(self.document(), *span, ground=colors.color(f"{role}-soft"), line=wave))
        if marks:
            self.setExtraSelections([*self.extraSelections(), *marks])

    def _span(self, span: tuple[int, int], ground: QColor, line: QColor) -> QTextEdit.ExtraSelection:
        """Mark by a background and an underline, as colour alone may not be seen."""
        under = QTextCharFormat.UnderlineStyle.SingleUnderline, line
        return marked(self.document(), *span, ground=ground, line=under)

    def _places(self, spans: Spans) -> Spans:
        """Return the document's positions of these characters, in one pass over the text."""
        text = self._text
        if text.isascii():
            return [(min(a, len(text)), min(b, len(text))) for a, b in spans[:_MAX_SPANS]]
        found, units, at = [], 0, 0
        for start, end in spans[:_MAX_SPANS]:  # in the order of the text
            units += to_utf16(text[at:start], start - at)
            width = to_utf16(text[start:end], end - start)
            found.append((units, units + width))
            units, at = units + width, end
        return found

    def _character(self, cursor: QTextCursor) -> int:
        text = self._text
        at = cursor.position()
        if text.isascii():
            return at
        return len(text.encode("utf-16-le", "surrogatepass")[: 2 * at].decode("utf-16-le", "ignore"))


_AROUND = 60
"""Number of characters of unchanged text that are shown beside a change."""
_MAX_LENGTH = 20_000
"""Characters of a single change that are shown."""


class PromptChanges(QWidget):
    """Removed words are crossed out, added ones underlined, as colour alone is not enough. The link leads to both
    prompts on the same seeds.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = words_label(role="", parent=self, name="promptChangesWords")
        self.cache = words_label(role="", parent=self, name="promptCacheWords")
        self.advice = words_label(parent=self)
        self.view = named(QPlainTextEdit(self, readOnly=True, tabChangesFocus=True), "promptChangesView")
        self.view.setAccessibleName(tr("Changes in the prompt"))
        self.view.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        use_font(self.view, mono_font, -1)
        self.link = named(ElidedLink(self), "promptCompareLink")
        self.link.set_words(tr("Compare both prompts with the same seeds"))
        column = vbox(
            self.words,
            self.cache,
            self.advice,
            (self.view, 1),
            (self.link, 0, Qt.AlignmentFlag.AlignLeft),
            parent=self,
            margins=(14, 12),
            spacing=8,
        )
        column.addStretch(0)
        self.show_prompt(None)

    def show_prompt(self, shown: ShownPrompt | None) -> None:
        """Show the known changes of a prompt; None if nothing is known yet."""
        changes = shown.changes if shown is not None else None
        self.words.setText(self._changes_words(shown, changes))
        show_words(self.cache, self._cache_words(shown))
        show_words(self.advice, "\n".join(shown.advice) if shown is not None else "")
        differs = changes is not None and not changes.is_same
        self.view.setVisible(differs)
        self.link.setVisible(differs and shown is not None and shown.origin == "now")
        self._write(changes, shown.loss.char if shown is not None and shown.loss is not None else None)
        self.view.setAccessibleDescription(self.words.text())

    def _changes_words(self, shown: ShownPrompt | None, changes: Changes | None) -> str:
        if shown is None or changes is None:
            if shown is not None and shown.origin == "record":
                return tr("A recorded run: there is no earlier run to compare it with.")
            return tr("Differences from this run appear here after the next run.")
        if changes.is_same:
            return tr("The prompt is the same as in the previous run.")
        added, removed, unchanged = (changes.tokens(kind) for kind in ("added", "removed", "same"))
        since = tr("Since the last run") if shown.origin == "now" else tr("Since the previous run")
        if added is None or removed is None or unchanged is None:
            return tr("{since}, by words: the tokens are unknown.", since=since)
        return tr(
            "{since}, in tokens: {added:,} added, {removed:,} removed, {unchanged:,} unchanged.",
            since=since,
            added=added,
            removed=removed,
            unchanged=unchanged,
        )

    def _cache_words(self, shown: ShownPrompt | None) -> str:
        if shown is None:
            return ""
        if shown.loss is not None:
            return loss_words(shown.loss)
        if shown.origin == "now" and shown.common is not None and shown.prompt.tokens:
            left = shown.prompt.tokens - shown.common
            return tr(
                "The first {common:,} of {tokens:,} tokens match the prompt evaluated last; a run "
                "evaluates the other {left:,}.",
                common=shown.common,
                tokens=shown.prompt.tokens,
                left=left,
            )
        return ""

    def _write(self, changes: Changes | None, cache_end: int | None) -> None:
        self.view.clear()
        if changes is None or changes.is_same:
            return
        colors = theme()
        plain, faint = _format(colors.color("text")), _format(colors.color("text-faint"))
        cursor = QTextCursor(self.view.document())
        last = len(changes.pieces) - 1
        for number, piece in enumerate(changes.pieces):
            if number and piece.start == cache_end and piece.kind != "removed":
                cursor.insertText(self._cache_mark(), faint)
            if piece.kind == "same":
                self._write_same(cursor, piece, number, last, cache_end, plain, faint)
                continue
            added = piece.kind == "added"
            form = _format(colors.color("holds" if added else "impossible"))
            form.setBackground(colors.color("holds-soft" if added else "impossible-soft"))
            form.setFontUnderline(added)
            form.setFontStrikeOut(not added)
            cursor.insertText(visible(piece.text[:_MAX_LENGTH], lines=True, single=True), form)
        self.view.moveCursor(QTextCursor.MoveOperation.Start)

    def _write_same(
        self,
        cursor: QTextCursor,
        piece: ChangedPiece,
        number: int,
        last: int,
        cache_end: int | None,
        plain: QTextCharFormat,
        faint: QTextCharFormat,
    ) -> None:
        """Write the ends of an unchanged part, next to the changes, and mark the end of the cached part."""
        text = piece.text
        head = "" if number == 0 else text[:_AROUND]
        tail = "" if number == last else text[max(len(head), len(text) - _AROUND) :]
        left = len(text) - len(head) - len(tail)
        inside = cache_end is not None and piece.start < cache_end < piece.start + len(text)
        cursor.insertText(visible(head, lines=True, single=True), plain)
        if left:
            tokens = piece.tokens
            count = tr("%n character(s)", "", left) if tokens is None else tr("%n token(s)", "", tokens)
            cursor.insertText(f" … {count} … ", faint)
        if inside:
            cursor.insertText(self._cache_mark(), faint)
        cursor.insertText(visible(tail, lines=True, single=True), plain)

    def _cache_mark(self) -> str:
        return tr(" ▸ the cache ends here ▸ ")


def _format(color: QColor) -> QTextCharFormat:
    form = QTextCharFormat()
    form.setForeground(color)
    return form
