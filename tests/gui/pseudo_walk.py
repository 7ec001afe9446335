"""Every page and dialog in a pseudo-language: run by test_language.py, in a process that uses it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from every_page import ABORTED, dialogs, in_turn, texts
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.lessons import LessonProse
from glyphscope_gui.runs.recorder import bundled_run

CALL = '{action="search" query="AI news" max_results=10}'
NAMES = (
    r"Glyphscope|GLYPH|JSON|GBNF|tool/args|name/args|mcpServers|uvx|SmolLM2\S*( Q4_1)?|[a-z]+(-[a-z0-9]+)+"
)
KEYS = r"Ctrl|Shift|Alt|Esc|Del|Return|Enter|Up|Down|Left|Right|Space|Tab"
QT = r"Cancel|Close|Scroll Left|Scroll Right|Undocks and .*|Closes the dock .*"
ENGINES = frozenset(
    {
        "promptCacheWords", "maskedBox", "branchReason", "branchCost", "maskImpactWords", "maskImpactWorst",
        "maskImpactDetail", "boundaryWords", "code_fontSetting",
    }
)  # fmt: skip
"""Parts that show sentences from the engine, or names of fonts."""


def elsewhere():
    """Return all texts of the engine, the assets and these tests: the window does not translate them."""
    root = Path(__file__).parents[2]
    folders = (root / "engine", root / "assets", root / "tests" / "support")
    files = [
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.suffix in (".py", ".json", ".md", ".jsonl")
    ]
    whole = "\n".join(str(file.relative_to(root)) + "\n" + file.read_text("utf-8") for file in files)
    return re.sub(r'["\']\s*\n?\s*f?["\']', "", whole)  # a text may continue on the next line


def is_others(widget):
    """Whether its text is not the window's own."""
    names = {widget.objectName(), widget.parent() and widget.parent().objectName()}
    return isinstance(widget, LessonProse) or bool(names & ENGINES)


@cache
def untranslated(text):
    """Return the texts outside of the marks, split at other characters; most texts are on several pages."""
    before = None
    while before != text:
        before, text = text, re.sub("⟦[^⟦⟧]*(?:⟧|…$)", "\n", text)  # or cut off for lack of space
    text = re.sub(r"<[^>]*>|&\w+;|/\S+/\S+", "\n", text)
    text = re.sub(rf"\b({NAMES})\b|\(?\b({KEYS})([+ ]\S+)*\)?|^({QT})$", "\n", text, flags=re.M)
    parts = re.split(r"[^A-Za-z’' -]+", text)
    return [words.strip(" '") for words in parts if re.search("[A-Za-z]{3}", words)]


def test_a_page_or_dialog_says_something_in_english(open_window, qtbot, tmp_path):
    window = open_window(lambda _name, **_options: ScriptedModel(CALL))
    with qtbot.waitSignal(window.runs.ended):
        window.runs.replay(bundled_run(ABORTED), 0)
    said = elsewhere()
    is_said = cache(said.__contains__)
    found = {}

    def look(top, page):
        for where, text in texts(top, is_others):
            for words in untranslated(text):
                if not is_said(words):
                    found.setdefault((where, words), (page, text[:100]))

    for page in in_turn(qtbot, window, tmp_path):
        look(window, page)
    for dialog in dialogs(window):
        dialog.show()
        look(dialog, type(dialog).__name__)
        dialog.close()
    assert not found, "\n".join(f"{at}: {words!r} in {text}" for at, (words, text) in found.items())
