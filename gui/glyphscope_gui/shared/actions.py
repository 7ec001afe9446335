"""The user's actions, each defined once for its menu item, its button and its shortcut; and context menus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope_gui.shared.language import tr


class Actions:
    """`owner` is the widget that has their shortcuts."""

    def __init__(self, owner: QWidget) -> None:
        self._owner = owner
        self.run = self._action("run", tr("&Run"), "Ctrl+Enter", "Ctrl+Return", tip=tr("Run the prompt"))
        self.stop = self._action("stop", tr("S&top"), "Esc", tip=tr("Stop the run"))
        self.step = self._action(
            "step",
            tr("&Step"),
            "Ctrl+Shift+Enter",
            "Ctrl+Shift+Return",
            tip=tr("Decode one step (starts the run if needed)"),
        )
        self.options = self._action(
            "options",
            tr("&Options…"),
            "Ctrl+Shift+U",
            tip=tr("Strategy, sampling, limits, and more"),
        )
        self.continue_aborted = self._action(
            "continue_aborted",
            tr("&Continue aborted run"),
            "Ctrl+Shift+W",
            tip=tr("Continue the aborted run in the background"),
        )
        self.replay = self._action(
            "replay",
            tr("Re&play this run"),
            "Ctrl+Shift+R",
            tip=tr("Replay the events at their original speed"),
        )
        self.run_again = self._action(
            "run_again",
            tr("Run a&gain with the open model"),
            tip=tr(
                "Use the tools, messages and sampling of the shown record, and run it with the open model"
            ),
        )
        self.new = self._action("new", tr("&New project"), "Ctrl+N")
        self.open = self._action("open", tr("&Open project…"), "Ctrl+O")
        self.save = self._action("save", tr("&Save project"), "Ctrl+S")
        self.save_as = self._action("save_as", tr("Save project &as…"), "Ctrl+Shift+S")
        self.open_model = self._action("open_model", tr("Open &model…"), "Ctrl+M", tip=tr("Open a GGUF file"))
        self.get_model = self._action(
            "get_model",
            tr("&Get a model…"),
            "Ctrl+Shift+M",
            tip=tr("Find models on this computer, search the Hugging Face Hub, or use an endpoint"),
        )
        self.model_page = self._action(
            "model_page",
            tr("Model and c&hat template"),
            "Ctrl+I",
            tip=tr("The open model: its facts, load options and chat template"),
        )
        self.unload_model = self._action(
            "unload_model",
            tr("&Unload model"),
            tip=tr("Unload the model and free its memory; the next run loads it again"),
        )
        self.open_record = self._action(
            "open_record",
            tr("Open &run…"),
            "Ctrl+Shift+O",
            tip=tr("A bundle (.glyphrun) or a record (.jsonl)"),
        )
        self.save_record = self._action(
            "save_record",
            tr("Save r&un…"),
            "Ctrl+E",
            tip=tr("Save as one file to share, or as a record to replay, verify and branch"),
        )
        self.share = self._action(
            "share",
            tr("E&xport run…"),
            tip=tr("Save the run as a page, a bundle or a test, or in another form"),
        )
        self.capture = self._action(
            "capture",
            tr("Capt&ure…"),
            tip=tr("Record what an agent sends to its server, and what it gets"),
        )
        self.cut = self._shown_key("cut", tr("Cu&t"), QKeySequence.StandardKey.Cut)
        self.copy = self._shown_key("copy", tr("&Copy"), QKeySequence.StandardKey.Copy)
        self.paste = self._shown_key("paste", tr("&Paste"), QKeySequence.StandardKey.Paste)
        self.select_all = self._shown_key("select_all", tr("Select &all"), QKeySequence.StandardKey.SelectAll)
        self.find = self._action(
            "find", tr("&Find…"), "Ctrl+F", tip=tr("Find a text in the part with the focus")
        )
        self.larger = self._action("larger", tr("&Larger text"), "Ctrl++", "Ctrl+=")
        self.smaller = self._action("smaller", tr("S&maller text"), "Ctrl+-")
        self.usual_size = self._action("usual_size", tr("&Usual text size"), "Ctrl+0")
        self.settings = self._action("settings", tr("Se&ttings…"), "Ctrl+,")
        self.quit = self._action("quit", tr("&Quit"), "Ctrl+Q")
        self.guide = self._action("guide", tr("User &guide"), "F1")
        self.shortcuts = self._action("shortcuts", tr("&Keyboard shortcuts"), "Ctrl+F1")
        self.glossary = self._action("glossary", tr("Gl&ossary"))
        self.palette = self._action(
            "palette", tr("&Command palette…"), "Ctrl+Shift+P", tip=tr("Search and run commands")
        )
        self.tour = self._action("tour", tr("&Tour"), tip=tr("A short tour of the run settings"))
        self.about = self._action("about", tr("&About Glyphscope"))
        self.focus_prompt = self._action("focus_prompt", tr("Go to the &prompt"), "Ctrl+L")
        self.focus_stream = self._action("focus_stream", tr("Go to the &transcript"), "Ctrl+T")
        self.focus_tokens = self._action("focus_tokens", tr("Go to the to&kens"), "Ctrl+K")
        self.focus_notice = self._action(
            "focus_notice", tr("Go to the &notice"), "F6", tip=tr("Choose what the notice on the page offers")
        )

    def _action(self, name: str, words: str, *keys: str, tip: str = "") -> QAction:
        """`tip` describes the action's effect; the default is `words`."""
        action = QAction(words, self._owner, iconText=words.replace("&", "").rstrip("…?"))
        action.setObjectName(f"{name}Action")
        action.setShortcuts([QKeySequence(each) for each in keys])
        tip = tip or words.replace("&", "").rstrip("…")
        action.setToolTip(f"{tip} ({action.shortcut().toString()})" if keys else tip)
        self._owner.addAction(action)
        return action

    def _shown_key(self, name: str, words: str, key: QKeySequence.StandardKey) -> QAction:
        """An action whose key is shown in the menu; the part of the window with the focus handles it itself."""
        action = self._action(name, words, QKeySequence(key).toString())
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        return action


Entry: TypeAlias = QAction | tuple[str, Callable[[], object]] | None
"""An action, words with a callback, or None for a separator."""


def pop_up(menu: QMenu, place: QPoint, *entries: Entry) -> None:
    """Add these entries and show the menu at that place on the screen; it deletes itself."""
    for entry in entries:
        match entry:
            case None:
                menu.addSeparator()
            case QAction():
                menu.addAction(entry)
            case (words, do):
                menu.addAction(words, do)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.popup(place)
