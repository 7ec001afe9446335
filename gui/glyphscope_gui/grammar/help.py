"""GBNF and the editor's keys on one card, for beginners."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QWidget

from glyphscope_gui.shared.labels import PlainLabel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.sizes import PAD

LANGUAGE = (
    ('root ::= "{" pair "}"', tr("A rule: its name and its definition. The start rule is root.")),
    (
        '"text"',
        tr(
            'This text literally. Escapes: \\" \\\\ \\n \\t, and \\x41 or \\u0041 for a character by '
            "its code point."
        ),
    ),
    ("[a-z0-9_]", tr("One of these characters; [^…] is any other character, . is any character.")),
    ("a b", tr("A sequence.")),
    ("a | b", tr("Alternatives. A rule may continue on a new line only after | and inside ( ).")),
    ("(a b)", tr("A group.")),
    ("x?  x*  x+", tr("Zero or one, zero or more, one or more.")),
    ("x{3}  x{2,}  x{2,5}", tr("Exactly m times, at least m times, or m to n times.")),
    ("# words", tr("A comment, to the end of the line.")),
)
KEYS = (
    ("Ctrl+.", tr("apply the fix for the problem at the cursor")),
    ("F8", tr("next problem; Shift+F8: previous problem")),
    ("Ctrl+Space", tr("complete a rule name")),
    ("F12", tr("go to a rule’s definition; also Ctrl+click")),
    ("F2", tr("rename a rule everywhere")),
    ("Esc, Tab", tr("move to the next part of the page; Tab alone works before you type")),
)


class GrammarHelp(QDialog):
    """Stays open beside the window while the user writes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("grammarHelp")
        self.setWindowTitle(tr("GBNF reference"))
        self.setModal(False)
        self.label = PlainLabel(self, wordWrap=True, accessibleName=tr("GBNF and keys of the editor"))
        self.label.setTextFormat(Qt.TextFormat.RichText)
        self.label.setMinimumWidth(36 * self.fontMetrics().averageCharWidth() * 2)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        vbox(self.label, parent=self, margins=PAD)

    def showEvent(self, event: QShowEvent) -> None:
        self.label.setText(f"{_table(LANGUAGE, 'json-string')}<br>{_table(KEYS, 'accent')}")
        self.adjustSize()
        super().showEvent(event)


def _table(rows: tuple[tuple[str, str], ...], role: str) -> str:
    family, color = mono_font().families()[0], theme().color(role).name()
    look = f"font-family:'{family}'; color:{color}"
    cells = "".join(
        f'<tr><td style="white-space:pre; padding:3px 18px 3px 0"><span style="{look}">{escape(left)}</span></td>'
        f'<td style="padding:3px 0">{escape(right)}</td></tr>'
        for left, right in rows
    )
    return f"<table>{cells}</table>"
