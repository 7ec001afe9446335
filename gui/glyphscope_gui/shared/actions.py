"""What the user can do, once: the same action stands in the menu, on a button and behind its keys."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.language import tr


class _Spec(NamedTuple):
    words: str
    keys: tuple[str, ...] = ()
    tip: str = ""


_SPECS = {
    "run": _Spec(tr("&Run"), ("Ctrl+Return", "Ctrl+Enter"), tr("Run the prompt")),
    "stop": _Spec(tr("S&top"), ("Esc",), tr("Stop the run")),
    "step": _Spec(
        tr("&Step"),
        ("Ctrl+Shift+Return", "Ctrl+Shift+Enter"),
        tr("Decode one step (starts the run if needed)"),
    ),
    "continue_aborted": _Spec(
        tr("&Continue aborted run"), ("Ctrl+Shift+W",), tr("Continue the aborted run in the background")
    ),
    "replay": _Spec(
        tr("Re&play this run"), ("Ctrl+Shift+R",), tr("Replay the events at their original speed")
    ),
    "new": _Spec(tr("&New project"), ("Ctrl+N",)),
    "open": _Spec(tr("&Open project…"), ("Ctrl+O",)),
    "save": _Spec(tr("&Save project"), ("Ctrl+S",)),
    "save_as": _Spec(tr("Save project &as…"), ("Ctrl+Shift+S",)),
    "open_model": _Spec(tr("Open &model…"), ("Ctrl+M",), tr("Open a GGUF file")),
    "get_model": _Spec(
        tr("&Get a model…"),
        ("Ctrl+Shift+M",),
        tr("Find models on this computer, search the Hugging Face Hub, or use an endpoint"),
    ),
    "unload_model": _Spec(
        tr("&Unload model"),
        (),
        tr("Unload the model and free its memory; the next run loads it again"),
    ),
    "open_record": _Spec(
        tr("Open &run…"), ("Ctrl+Shift+O",), tr("A bundle (.glyphrun) or a record (.jsonl)")
    ),
    "save_record": _Spec(
        tr("Save r&un…"),
        ("Ctrl+E",),
        tr("Save as one file to share, or as a record to replay, verify and branch"),
    ),
    "settings": _Spec(tr("Se&ttings…"), ("Ctrl+,",)),
    "quit": _Spec(tr("&Quit"), ("Ctrl+Q",)),
    "guide": _Spec(tr("User &guide"), ("F1",)),
    "shortcuts": _Spec(tr("&Keyboard shortcuts"), ("Ctrl+F1",)),
    "glossary": _Spec(tr("Gl&ossary")),
    "palette": _Spec(tr("&Command palette…"), ("Ctrl+Shift+P",), tr("Search and run commands")),
    "tour": _Spec(tr("&Tour"), (), tr("A short tour of the run settings")),
    "about": _Spec(tr("&About Glyphscope")),
    "focus_prompt": _Spec(tr("Go to the &prompt"), ("Ctrl+L",)),
    "focus_stream": _Spec(tr("Go to the s&tream"), ("Ctrl+T",)),
    "focus_timeline": _Spec(tr("Go to the t&imeline"), ("Ctrl+I",)),
    "focus_tokens": _Spec(tr("Go to the to&kens"), ("Ctrl+K",)),
}


class Actions:
    """One QAction for each of the names above, as attributes; `owner` holds their shortcuts."""

    run: QAction
    stop: QAction
    step: QAction
    continue_aborted: QAction
    replay: QAction
    new: QAction
    open: QAction
    save: QAction
    save_as: QAction
    open_model: QAction
    get_model: QAction
    unload_model: QAction
    open_record: QAction
    save_record: QAction
    settings: QAction
    quit: QAction
    guide: QAction
    shortcuts: QAction
    glossary: QAction
    palette: QAction
    tour: QAction
    about: QAction
    focus_prompt: QAction
    focus_stream: QAction
    focus_timeline: QAction
    focus_tokens: QAction

    def __init__(self, owner: QWidget) -> None:
        for name, spec in _SPECS.items():
            action = QAction(spec.words, owner)
            action.setObjectName(f"{name}Action")
            action.setIconText(spec.words.replace("&", "").rstrip("…?"))
            action.setShortcuts([QKeySequence(keys) for keys in spec.keys])
            tip = spec.tip or spec.words.replace("&", "").rstrip("…")
            action.setToolTip(f"{tip} ({action.shortcut().toString()})" if spec.keys else tip)
            owner.addAction(action)
            setattr(self, name, action)
