"""The guide inside the program: its pages at the left, the chosen one at the right; links lead from page to page. The
pages are those of docs/, which are bundled, and the keys of the menus.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from PySide6 import QtGui
from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, QUrl
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QSplitter, QTextBrowser, QWidget

from glyphscope.base.resources import docs_folder, read_page
from glyphscope_gui.help.commands import Command
from glyphscope_gui.shared.labels import PlainLabel, named, push_button, show_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, holder, vbox
from glyphscope_gui.shared.markdown import set_markdown
from glyphscope_gui.shared.plain_dialog import PlainDialog
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme import FollowsLooks
from glyphscope_gui.theme.sizes import GAP, letters

SIZE = QSize(1000, 700)
"""In pixels, at the usual size of letters."""
LARGER = 1.0
"""Points by which the text is larger than the interface's."""
_PAGE_ROLE = Qt.ItemDataRole.UserRole
"""The name of the page of an item."""


class GuideText(FollowsLooks, QTextBrowser):
    """One page. Its pictures are those of docs/; nothing is fetched."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._markdown = ""
        named(self, "guideText", tr("Page of the guide"))
        self.setOpenLinks(False)
        # a bar that comes and goes while the page is set would change its width, and so set it again
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._again = QTimer(self, singleShot=True, interval=0)
        self._again.timeout.connect(self._restyle)
        self.document().setDocumentMargin(2 * GAP)

    def show_markdown(self, markdown: str) -> None:
        self._markdown = markdown
        set_markdown(self.document(), markdown, larger=LARGER)
        self.moveCursor(QtGui.QTextCursor.MoveOperation.Start)

    def go_to(self, slug: str) -> None:
        """Scroll to the heading of that slug, to the row of a table that begins with it, or to the top."""
        found = None
        block = self.document().begin()
        while slug and block.isValid():
            if slug_of(block.text()) == slug:
                found = block if found is None or block.blockFormat().headingLevel() else found
                if block.blockFormat().headingLevel():
                    break
            block = block.next()
        if found is None:
            self.verticalScrollBar().setValue(0)
            return
        cursor = QtGui.QTextCursor(found)
        if not found.blockFormat().headingLevel():
            cursor.movePosition(
                QtGui.QTextCursor.MoveOperation.EndOfBlock, QtGui.QTextCursor.MoveMode.KeepAnchor
            )
        self.setTextCursor(cursor)
        top = self.document().documentLayout().blockBoundingRect(found).top()
        self.verticalScrollBar().setValue(round(top) - GAP)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        url = name if isinstance(name, QUrl) else QUrl(name)
        if kind != QtGui.QTextDocument.ResourceType.ImageResource.value or url.scheme():
            return None
        try:
            image = QtGui.QImage.fromData(docs_folder().joinpath(*url.path().split("/")).read_bytes())
        except OSError:
            return None
        width = self.viewport().width() - 6 * GAP
        return (
            image.scaledToWidth(width, Qt.TransformationMode.SmoothTransformation)
            if 0 < width < image.width()
            else image
        )

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width() and "](images/" in self._markdown:
            self._again.start()  # pictures have the width of the page

    def _restyle(self) -> None:
        """Render again in the current sizes and colours, and restore the approximate scroll position."""
        bar = self.verticalScrollBar()
        share = bar.value() / max(bar.maximum(), 1)
        self.show_markdown(self._markdown)
        bar.setValue(round(share * bar.maximum()))


class GuideDialog(PlainDialog):
    """Stays beside the window; it deletes itself. Typing in the field finds a text in all pages."""

    def __init__(self, commands: Sequence[Command], parent: QWidget) -> None:
        super().__init__("guideDialog", tr("Guide"), parent)
        self._commands = commands
        self._history: list[tuple[str, str]] = []
        """The pages to go back to, each with a heading."""
        self.page = ""
        self.setModal(False)
        self._make()
        self.resize((SIZE * letters(self)).boundedTo(self.screen().availableSize()))

    def show_page(self, name: str, heading: str = "") -> None:
        """Show a page of `PAGES` or of docs/, at a heading."""
        if self.page:
            self._history.append((self.page, ""))
        self._show(name, heading)

    def _make(self) -> None:
        self.field = LineEdit(self, placeholderText=tr("Search the guide"), clearButtonEnabled=True)
        named(self.field, "guideField", tr("Text to find in the guide"))
        self.list = named(QListWidget(self), "guidePages", tr("Pages of the guide"))
        self.found = PlainLabel(self, role="hint")
        self.back = push_button(tr("Back"), self, name="guideBack", clicked=self._go_back)
        self.back.setShortcut(QtGui.QKeySequence("Alt+Left"))
        self.text = GuideText(self)
        left = holder(vbox(self.field, self.list, self.found, self.back, spacing=GAP // 2), self)
        split = QSplitter(self)
        split.addWidget(left)
        split.addWidget(self.text)
        split.setSizes([round(230 * letters(self)), round(770 * letters(self))])
        split.setStretchFactor(1, 1)
        hbox(split, parent=self, margins=None)
        self._fill("")
        self.field.textChanged.connect(self._fill)
        self.list.currentItemChanged.connect(self._chosen)
        self.text.anchorClicked.connect(self._follow)
        QtGui.QShortcut(QtGui.QKeySequence.StandardKey.Find, self, self.field.setFocus)

    def _fill(self, typed: str) -> None:
        """List all pages, or those that have the typed text."""
        with QSignalBlocker(self.list):
            self.list.clear()
            for name, title in PAGES:
                if not typed or self._has(name, typed):
                    item = QListWidgetItem(title, self.list)
                    item.setData(_PAGE_ROLE, name)
                    if name == self.page:
                        self.list.setCurrentItem(item)
        count = self.list.count()
        show_words(self.found, tr("%n page(s) with this text", "", count) if typed else "")
        if typed and self.page:
            self._find(typed)

    def _has(self, name: str, typed: str) -> bool:
        """Whether the text is on that page; a page that is missing has none."""
        try:
            return typed.casefold() in page_text(name, self._commands).casefold()
        except OSError:
            return False

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.show_page(item.data(_PAGE_ROLE))
            if self.field.text():
                self._find(self.field.text())

    def _find(self, typed: str) -> None:
        self.text.moveCursor(QtGui.QTextCursor.MoveOperation.Start)
        self.text.find(typed)

    def _follow(self, url: QUrl) -> None:
        if url.scheme() in ("http", "https"):
            QtGui.QDesktopServices.openUrl(url)
            return
        self.show_page(url.path() or self.page, unquote(url.fragment()))

    def _go_back(self) -> None:
        if self._history:
            self._show(*self._history.pop())

    def _show(self, name: str, heading: str) -> None:
        if name != self.page:
            try:
                markdown = page_text(name, self._commands)
            except OSError:
                self.found.setText(tr("{page} is not part of the program's guide.", page=name))
                self.found.show()
                return
            self.page = name
            self.text.show_markdown(markdown)
        self.text.go_to(heading)
        self.back.setEnabled(bool(self._history))
        places = range(self.list.count())
        row = next((place for place in places if self.list.item(place).data(_PAGE_ROLE) == name), -1)
        with QSignalBlocker(self.list):
            self.list.setCurrentRow(row)


SHORTCUTS = "shortcuts"
"""The page that is made of the menus."""
PAGES = (
    ("guide.md", tr("User guide")),
    (SHORTCUTS, tr("Keyboard shortcuts")),
    ("glossary.md", tr("Glossary")),
    ("strategies.md", tr("Strategies")),
    ("sampling.md", tr("Sampling")),
    ("schemas.md", tr("JSON Schema")),
    ("prompts.md", tr("Prompts")),
    ("native-forms.md", tr("Native forms")),
    ("template-lint.md", tr("Lint of chat templates")),
    ("branches.md", tr("Branches")),
    ("explaining.md", tr("Explaining a run")),
    ("grammar-diagnostics.md", tr("Grammar diagnostics")),
    ("lark.md", tr("Lark grammars")),
    ("mcp.md", tr("MCP servers")),
    ("models.md", tr("Models")),
    ("endpoints.md", tr("Endpoints")),
    ("evaluation.md", tr("Evaluation")),
    ("suites.md", tr("Suites")),
    ("lessons.md", tr("Lessons")),
    ("bundles.md", tr("Bundles")),
    ("settings.md", tr("Settings")),
    ("commands.md", tr("Command line")),
    ("python.md", tr("Python interface")),
    ("formats.md", tr("File formats")),
    ("events.md", tr("Events")),
)
_ROW = "| {command} | {keys} |"


def page_text(name: str, commands: Sequence[Command]) -> str:
    """Its Markdown. Raises FileNotFoundError for a page that there is not."""
    return _shortcuts(commands) if name == SHORTCUTS else read_page(name)


def slug_of(title: str) -> str:
    """As on the web pages of repositories: small letters, hyphens for blanks, no other signs."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).strip().replace(" ", "-")


def _shortcuts(commands: Sequence[Command]) -> str:
    """All keys of the menus, a table for each menu; then those of the parts of pages, from the guide."""
    lines = ["# " + tr("Keyboard shortcuts")]
    menu = ""
    for command in commands:
        if not command.keys:
            continue
        if command.path[0] != menu:
            menu = command.path[0]
            lines += ["", f"## {menu}", "", _ROW.format(command=tr("command"), keys=tr("keys")), "|---|---|"]
        name = " › ".join(command.path[1:])
        lines.append(_ROW.format(command=name, keys=f"`{command.keys}`"))
    parts = [row for row in read_page("guide.md").partition("## Keyboard")[2].splitlines() if _is_part(row)]
    lines += ["", "## " + tr("In parts of pages"), "", _ROW.format(command=tr("keys"), keys=tr("action"))]
    return "\n".join([*lines, "|---|---|", *parts])


def _is_part(row: str) -> bool:
    return re.match(r"\| [A-Z][\w, ]+: ", row) is not None
