"""GBNF and the editor's keys on one card, for who has never seen either."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QLabel, QVBoxLayout, QWidget

from glyphscope_gui.shared.language import tr
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.sizes import PAD

LANGUAGE = (
    ('root ::= "{" pair "}"', tr("A rule: its name, and what stands for it. The text begins with root.")),
    (
        '"text"',
        tr('Exactly this. Inside: \\" \\\\ \\n \\t, and \\x41 or \\u0041 for a character by its number.'),
    ),
    ("[a-z0-9_]", tr("One character out of these; [^…] is any but these, and . is any at all.")),
    ("a b", tr("One after the other.")),
    ("a | b", tr("One or the other. Only after | and inside ( ) may a rule go on in a new line.")),
    ("(a b)", tr("Belongs together.")),
    ("x?  x*  x+", tr("At most once, any number of times, at least once.")),
    ("x{3}  x{2,}  x{2,5}", tr("So many times.")),
    ("# words", tr("For people; ends with the line.")),
)
KEYS = (
    ("Ctrl+.", tr("correct the mistake at the cursor, as its tip says")),
    ("F8", tr("next mistake; Shift+F8 the one before")),
    ("Ctrl+Space", tr("complete a rule’s name")),
    ("F12", tr("go to a rule’s definition; Ctrl+click too")),
    ("F2", tr("rename a rule everywhere")),
    ("Esc, Tab", tr("on to the next part of the page; before anything is typed, Tab alone")),
)


class GrammarHelp(QDialog):
    """Stays beside the window while one writes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("grammarHelp")
        self.setWindowTitle(tr("GBNF in short"))
        self.setModal(False)
        self.label = QLabel(self)
        self.label.setTextFormat(Qt.TextFormat.RichText)
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(36 * self.fontMetrics().averageCharWidth() * 2)
        self.label.setAccessibleName(tr("GBNF and the keys of the editor"))
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = QVBoxLayout(self)
        column.setContentsMargins(PAD, PAD, PAD, PAD)
        column.addWidget(self.label)

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
