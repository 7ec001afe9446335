"""A lesson's words: Markdown, as high as its content. It shows no HTML and loads no pictures."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QSizePolicy, QTextEdit, QWidget

from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, LeavesWheel
from glyphscope_gui.shared.markdown import set_markdown
from glyphscope_gui.theme import FollowsLooks

LARGER = 1.5
"""Points added to the interface's text size, as lessons are for continuous reading."""


_LONG = 600
"""Characters of a text above which it can be on several screens."""


def pieces(markdown: str) -> list[str]:
    """The paragraphs, lists and code blocks of a long text; a short one is one piece."""
    if len(markdown) <= _LONG:
        return [markdown]
    found: list[list[str]] = [[]]
    fence = ""
    for line in markdown.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        if line.strip() or fence:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


class LessonProse(FollowsSize, FollowsLooks, LeavesWheel, QTextEdit):
    """Read-only; its text can be selected with the mouse."""

    def __init__(self, markdown: str = "", parent: QWidget | None = None, *, quiet: bool = False) -> None:
        super().__init__(parent)
        self._quiet = quiet
        self._markdown = ""
        named(self, "lessonProse", tr("Text of the lesson"))
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
        self._markdown = markdown
        safe = markdown.replace("![", "!\u2060[")  # otherwise the text could load a picture from anywhere
        set_markdown(self.document(), safe, larger=0 if self._quiet else LARGER)
        self.setAccessibleDescription(self.toPlainText()[:300])
        self._fit()

    def loadResource(self, _kind: int, _name: QUrl | str) -> QImage:
        """Load nothing: a text must not read files or fetch addresses."""
        return QImage(1, 1, QImage.Format.Format_ARGB32)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.height())

    def _restyle(self) -> None:
        self.show_markdown(self._markdown)

    def _fit(self, _size: object = None) -> None:
        height = round(self.document().size().height()) + 2
        if height != self.height():
            self.setFixedHeight(height)
