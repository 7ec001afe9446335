"""Shows a text of any length: a tool's result, a message of a server, an argument.

Only a part is laid out at a time, so that a text of many megabytes, even on a single line, costs no more than a page.
Slow work (making the text, indenting, counting hidden characters) is done in the background.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.visible import one_line, unseen, visible
from glyphscope.store.files import atomic_write
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.labels import PlainLabel, named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.shared.text_edits import LineEdit, WrappingEdit
from glyphscope_gui.theme import mono_font, use_font

PART = 100_000
"""Characters that are laid out at a time; a part ends at a line end if there is one in its last tenth."""
MAX_TITLE = 120
"""Characters of the window's title."""
MAX_FORMATTED = 200_000_000
"""Characters of indented JSON; a small text with deep nesting can become very long."""
_JSON = re.compile(r'"(?:[^"\\]++|\\.)*+"|[][{},]', re.DOTALL)


@dataclass(frozen=True)
class WholeText:
    """`text` is the text, or makes it in the background. `note` says what bounds its length, `name` is for a file."""

    title: str
    text: str | Callable[[], str] = field(compare=False)
    note: str = ""
    name: str = "result.txt"


def show_whole(whole: WholeText, parent: QWidget) -> WholeTextDialog:
    """Open a text in a separate window."""
    dialog = WholeTextDialog(whole, parent.window())
    dialog.show()
    return dialog


@dataclass(frozen=True)
class _Ready:
    """A text to show. `lower` has the same length, for the search; `hidden` names its invisible characters; `parts` are
    the positions at which its parts begin.
    """

    text: str
    lower: str
    hidden: str
    parts: tuple[int, ...]


def parts_of(text: str) -> tuple[int, ...]:
    """The positions at which the parts of a text begin."""
    starts, at = [0], PART
    while at < len(text):
        end = text.rfind("\n", at - PART // 10, at)
        at = end + 1 if end >= 0 else at
        starts.append(at)
        at += PART
    return tuple(starts)


def formatted(text: str) -> str | None:
    """JSON indented by two spaces, numbers and keys unchanged; None for other texts, and if the result is too long."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
        return msgspec.json.format(text, indent=2) if _indents(text) + len(text) <= MAX_FORMATTED else None
    except (ValueError, RecursionError):
        return None


def _indents(text: str) -> int:
    """The number of spaces and line ends that indenting adds; counting stops above the limit."""
    depth = total = 0
    for found in _JSON.finditer(text):
        sign = found[0]
        if sign[0] == '"':
            continue
        depth += 1 if sign in "[{" else -1 if sign in "]}" else 0
        total += 2 * depth + 1
        if total > MAX_FORMATTED:
            break
    return total


class WholeTextDialog(PlainDialog):
    """Opened with `show()`; it deletes itself. The text is there once `is_ready`."""

    def __init__(self, whole: WholeText, parent: QWidget | None = None) -> None:
        super().__init__("wholeText", one_line(whole.title)[:MAX_TITLE], parent)
        self._whole = whole
        self._sent = _ready("")
        self._formatted: _Ready | None = None
        """The text as indented JSON; None if it is not JSON, or not yet known to be."""
        self._shown = self._sent
        self._part = 0
        self._found = -1
        """The position of the current match in the whole text; -1 for none."""
        self.is_ready = False
        self._background = Background(self)
        self._make_parts(whole.note)
        self._lay_out()
        self._connect()
        self.resize(820, 600)
        self._show_counts()
        self._background.start("text", lambda: _made(whole.text), self._show_text, self._failed)

    @property
    def text(self) -> str:
        """The text for Copy and Save: whole, as sent or formatted."""
        return self._shown.text

    @property
    def is_busy(self) -> bool:
        return self._background.is_busy

    def find_text(self, step: int = 1) -> None:
        """Show the next or previous match; the search wraps around at either end."""
        query, lower = self.search.text().lower(), self._shown.lower
        if not query:
            return
        if step > 0:
            found = lower.find(query, self._found + 1)
            found = found if found >= 0 else lower.find(query)
        else:
            found = lower.rfind(query, 0, max(self._found, 0) + len(query) - 1) if self._found > 0 else -1
            found = found if found >= 0 else lower.rfind(query)
        self._found = found
        if found >= 0:
            self._show_place(found, len(query))
        self._show_matches()

    def show_part(self, part: int) -> None:
        """Show the beginning of a part, counted from 0."""
        self._part = min(max(part, 0), len(self._shown.parts) - 1)
        start, end = self._bounds()
        self.view.setPlainText(visible(self._shown.text[start:end], lines=True))
        self._show_counts()

    def save(self, path: str) -> None:
        """Write the whole text to that file."""
        text = self.text.encode("utf-8", "replace").decode()
        self._background.start(
            "save",
            lambda: atomic_write(Path(path), text),
            lambda _none: self.counts.setText(tr("Saved: {name}", name=Path(path).name)),
            self._failed,
        )

    def _make_parts(self, note: str) -> None:
        self.search = LineEdit(self, placeholderText=tr("Find"), clearButtonEnabled=True)
        named(self.search, "wholeTextSearch", tr("Find in the whole text"))
        self.matches = PlainLabel(self, role="hint")
        tip = tr("Previous match (Shift+F3)")
        self.before_button = push_button("‹", self, tip=tip, spoken=tr("Previous match"))
        self.after_button = push_button("›", self, tip=tr("Next match (Enter, F3)"), spoken=tr("Next match"))
        self.json_box = named(QCheckBox(tr("Format JSON"), self), "formatJsonBox")
        self.json_box.setToolTip(tr("Indent the JSON; numbers, keys and their order stay as sent"))
        self.json_box.setEnabled(False)
        self.view = named(WrappingEdit(self), "wholeTextView", tr("The text"), readOnly=True)
        use_font(self.view, mono_font, -0.5)
        self.view.setTabChangesFocus(True)
        self.hidden = words_label(role="problem", parent=self)
        self.hidden.hide()
        self.note = words_label(role="hint", parent=self)
        show_words(self.note, note)
        self.counts = PlainLabel(self, role="hint")
        self.previous_button = QPushButton(tr("Previous part"), self)
        self.next_button = QPushButton(tr("Next part"), self)
        self.buttons = self.button_box(Standard.Close)
        self.save_button = self.buttons.addButton(tr("&Save as…"), Role.ActionRole)
        self.copy_button = self.buttons.addButton(tr("&Copy"), Role.ActionRole)
        self.copy_button.setToolTip(tr("Copy the whole text"))
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)

    def _lay_out(self) -> None:
        top = hbox(
            (self.search, 1), self.before_button, self.after_button, self.matches, self.json_box, spacing=8
        )
        foot = hbox((self.counts, 1), self.previous_button, self.next_button, spacing=8)
        parts = (top, (self.view, 1), self.hidden, foot, self.note, self.buttons)
        vbox(*parts, parent=self, margins=(16, 14), spacing=8)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._search_changed)
        self.search.returnPressed.connect(self.find_text)
        self.after_button.clicked.connect(lambda: self.find_text(1))
        self.before_button.clicked.connect(lambda: self.find_text(-1))
        self.json_box.toggled.connect(self._toggle)
        self.previous_button.clicked.connect(lambda: self.show_part(self._part - 1))
        self.next_button.clicked.connect(lambda: self.show_part(self._part + 1))
        self.copy_button.clicked.connect(self._copy)
        self.save_button.clicked.connect(self._ask_where)
        self.buttons.rejected.connect(self.reject)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.search.setFocus)
        QShortcut(QKeySequence(QKeySequence.StandardKey.FindNext), self, self.find_text)
        QShortcut(QKeySequence(QKeySequence.StandardKey.FindPrevious), self, lambda: self.find_text(-1))

    def _show_text(self, ready: _Ready) -> None:
        self.is_ready = True
        self._sent = self._shown = ready
        words = tr("Contains invisible characters: {characters}", characters=ready.hidden)
        show_words(self.hidden, words if ready.hidden else "")
        self.show_part(0)
        if ready.text[:64].lstrip()[:1] in ("{", "["):
            self._background.start("json", lambda: _formatted(ready.text), self._can_format, self._failed)

    def _can_format(self, ready: _Ready | None) -> None:
        self._formatted = ready
        self.json_box.setEnabled(ready is not None)

    def _toggle(self, on: bool) -> None:
        self._shown = self._formatted if on and self._formatted is not None else self._sent
        self._found = -1
        self.show_part(0)
        self._show_matches()

    def _bounds(self) -> tuple[int, int]:
        parts = (*self._shown.parts, len(self._shown.text))
        return parts[self._part], parts[self._part + 1]

    def _show_counts(self) -> None:
        parts, length = len(self._shown.parts), len(self._shown.text)
        start, end = self._bounds()
        if not self.is_ready:
            words = tr("Loading…")
        elif parts == 1:
            words = tr("%n character(s)", "", length)
        else:
            words = tr(
                "Part {part:,} of {parts:,}: characters {start:,} to {end:,} of {length:,}",
                part=self._part + 1,
                parts=parts,
                start=start + 1,
                end=end,
                length=length,
            )
        self.counts.setText(words)
        for button, can in (
            (self.previous_button, self._part > 0),
            (self.next_button, self._part + 1 < parts),
        ):
            button.setVisible(parts > 1)
            button.setEnabled(can)
        for each in (self.copy_button, self.save_button, self.search):
            each.setEnabled(self.is_ready)

    def _search_changed(self) -> None:
        self._found = -1
        self.find_text()
        self._show_matches()

    def _show_matches(self) -> None:
        searched, lower = self.search.text().lower(), self._shown.lower
        total = lower.count(searched) if searched else 0
        at = lower.count(searched, 0, self._found + len(searched)) if self._found >= 0 else 0
        self.matches.setText(
            "" if not searched else tr("{at:,} of {total:,}", at=at, total=total) if total else tr("No match")
        )
        for button in (self.before_button, self.after_button):
            button.setEnabled(total > 0)

    def _show_place(self, at: int, length: int) -> None:
        part = next(n for n in reversed(range(len(self._shown.parts))) if self._shown.parts[n] <= at)
        if part != self._part:
            self.show_part(part)
        start, text = self._bounds()[0], self._shown.text
        cursor = self.view.textCursor()
        cursor.setPosition(_units(text[start:at]))
        cursor.setPosition(_units(text[start : at + length]), QTextCursor.MoveMode.KeepAnchor)
        self.view.setTextCursor(cursor)
        self.view.centerCursor()

    def _copy(self) -> None:
        copy_text(self.text)
        self.counts.setText(tr("Copied"))

    def _ask_where(self) -> None:
        suffix = ".json" if self._formatted is not None else ".txt"
        name = str(Path(self._whole.name).with_suffix(suffix))
        ask_where_to_save(
            self,
            tr("Save the text"),
            lambda path: self.save(str(path)),
            tr("All files (*)"),
            start=name,
            name="saveTextDialog",
        )

    def _failed(self, error: BaseException) -> None:
        self.hidden.setText(error.message if isinstance(error, GlyphscopeError) else str(error))
        self.hidden.show()
        if not isinstance(error, GlyphscopeError):
            raise error  # an internal error is reported like any other


def _made(text: str | Callable[[], str]) -> _Ready:
    return _ready(text if isinstance(text, str) else text())


def _formatted(text: str) -> _Ready | None:
    found = formatted(text)
    return None if found is None else _ready(found)


def _ready(text: str) -> _Ready:
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become two in lower case
        lower = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return _Ready(text, lower, unseen(text), parts_of(text))


def _units(text: str) -> int:
    """The length of a text in UTF-16 units, with the signs for its invisible characters."""
    return len(visible(text, lines=True).encode("utf-16-le", "surrogatepass")) // 2
