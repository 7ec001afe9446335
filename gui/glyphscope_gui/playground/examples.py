"""Bundled recordings, and prompts with which the embedded model's call turns impossible before its end."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope.events import RunRequest
from glyphscope.registry import default_registry
from glyphscope.store import Settings
from glyphscope_gui.context import AppContext
from glyphscope_gui.runs.recorder import bundled_runs
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId

_RECORDINGS = {
    "search-mask.jsonl": tr("A call with the mask, in GLYPH"),
    "search-mask-json.jsonl": tr("The same call in JSON"),
    "search-relaxed.jsonl": tr("A branch with a relaxed constraint"),
    "sources-abort.jsonl": tr("Early abort at the deciding character"),
    "sources-whole.jsonl": tr("The same answer without early abort"),
    "verbs-loop.jsonl": tr("A tool loop ended by a guardrail"),
    "native-tags.jsonl": tr("Reasoning and two calls, in Qwen3.5’s notation"),
    "native-channels.jsonl": tr("Reasoning and a call in each turn, in gpt-oss’s notation"),
}
PROMPTS = {
    "Make the call search, query AI news, max_results 500": tr("A number above its maximum"),
    "Make the call search, query AI news, max_results 0": tr("A number below its minimum"),
    "Make the call search, query AI news, max_results 2.5": tr("A fraction for an integer"),
    "Make the call search, query AI news, max_results 10, language en": tr(
        "An argument that the tool does not have"
    ),
    'Translate: {action="translate" text="Hello"}': tr("A tool that does not exist"),
}
"""Prompts with which the embedded model, without a constraint, begins a call that then turns impossible."""


def example_request(prompt: str) -> RunRequest:
    """A run of an example prompt: the bundled tools, GLYPH, no constraint, the most likely tokens."""
    options = Settings(notation="glyph", shape="flat", constraint="off").first_options()
    return RunRequest(prompt=prompt, registry=default_registry().to_document(), **options)


class ExamplesMenu(QMenu):
    """The bundled recordings. `chosen` carries the name of a recording."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(tr("Recorded e&xamples"), parent)
        self.setObjectName("examplesMenu")
        known = set(bundled_runs())
        for name, words in _RECORDINGS.items():
            if name in known:
                _add(self, words, name, self.chosen)


class PromptsMenu(QMenu):
    """The example prompts. `chosen` carries a prompt."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(tr("E&xample prompts"), parent)
        self.setObjectName("promptsMenu")
        for prompt, words in PROMPTS.items():
            _add(self, words, prompt, self.chosen).setData(prompt)


def _add(menu: QMenu, words: str, value: str, chosen: SignalInstance) -> QAction:
    action = menu.addAction(words)
    action.triggered.connect(lambda _checked=False: chosen.emit(value))
    return action


class ExamplePrompts(QObject):
    """Copies an example prompt with its settings into the project."""

    def __init__(self, context: AppContext, parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context
        self.menu = PromptsMenu(parent)
        self.menu.chosen.connect(self.use)

    def use(self, prompt: str) -> None:
        context = self._context
        context.project.use_settings(example_request(prompt))
        context.navigator.show(PageId.PLAYGROUND)
        words = tr(
            "The project has the example’s prompt, tools and settings, without a constraint. Run it with the embedded "
            "model: its call turns impossible before the end."
        )
        context.offer(words, tr("Undo"), context.project.tools.undo_stack.undo)
