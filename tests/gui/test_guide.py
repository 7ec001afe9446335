"""The user guide against the window that it describes."""

import re
from pathlib import Path

import pytest
from PySide6.QtGui import QAction, QKeySequence

from fake_context import scripted

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
OF_TEXT = {"Ctrl+C", "Ctrl+Ins", "F16", "Ctrl+X", "Shift+Del", "F20", "Ctrl+V", "Shift+Ins", "F18", "Ctrl+A"}
"""Keys of every text field."""


def reported() -> set[str]:
    """Return the keys of the guide's list, also those of a row of pages."""
    section = GUIDE.read_text(encoding="utf-8").partition("## Keyboard")[2]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("|")]
    keys = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    for first, last in re.findall(r"`Ctrl\+(\d)` … `Ctrl\+(\d)`", section):
        keys |= {f"Ctrl+{number}" for number in range(int(first), int(last) + 1)}
    return keys


def test_the_guide_lists_every_key_of_the_window(open_window):
    window = open_window(scripted)
    keys = {
        shortcut.toString(QKeySequence.SequenceFormat.PortableText): action.text()
        for action in window.findChildren(QAction)
        for shortcut in action.shortcuts()[:1]
    }
    assert {key: words for key, words in keys.items() if key not in reported() | OF_TEXT} == {}
