"""Hostile registries, prompts and records in the window: the longest time in which its thread does not look for input.

    python tests/support/window_blocks.py [NAMES…]

For each of `REGISTRIES` and each step in the window, the longest block is printed in milliseconds: by the clock, and in
processor time of the window's thread, which other programs do not change.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.sessions import places
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.services import make_services
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell.main_window import MainWindow
from glyphscope_gui.theme import ThemeManager

LONG = 10_000_000


def _tool(properties: dict[str, Any], description: str = "d", **members: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, **members}
    return {"name": "t", "description": description, "parameters": parameters}


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


REGISTRIES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "values": lambda: [_tool({"a": {"enum": [f"v{n}" for n in range(1_000_000)]}})],
    "description": lambda: [_tool({"a": {"description": "word " * (LONG // 5)}}, "word " * (LONG // 5))],
    "one word": lambda: [_tool({"a": {"description": "x" * LONG}}, "y" * LONG)],
    "arguments": lambda: [_tool({f"p{n}": {"type": "integer", "minimum": n} for n in range(20_000)})],
    "name": lambda: [_tool({"x" * 100_000: {"type": "string"}})],
    "default": lambda: [_tool({"a": {"type": "array", "default": [*range(1_000_000)]}})],
    "constant": lambda: [_tool({"a": {"const": "z" * (LONG // 2)}})],
    "deep": lambda: [_tool({"a": _nested(58)})],
    "choices": lambda: [_tool({"a": {"anyOf": [{"const": f"v{n}"} for n in range(3000)]}})],
    "definitions": lambda: [_tool({"a": {}}, **{"$defs": {f"d{n}": _nested(2) for n in range(20_000)}})],
    "tools": lambda: [{**_tool({"a": {"type": "string"}}), "name": f"t{n}"} for n in range(5_000)],
    "prompt": lambda: [_tool({"a": {"type": "string"}})],
}


def registry_of(name: str) -> ToolRegistry:
    return parse_document({"glyphscope": 1, "tools": REGISTRIES[name]()})


class Blocks(QObject):
    """Looks at the clocks each time the window's thread looks for input."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.longest = self.longest_cpu = 0.0
        self._timer = QTimer(self, interval=2)
        self._timer.timeout.connect(self._look)
        self.begin()
        self._timer.start()

    def begin(self) -> None:
        self.longest = self.longest_cpu = 0.0
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()

    def _look(self) -> None:
        now, cpu = time.perf_counter(), time.thread_time()
        self.longest = max(self.longest, now - self._last)
        self.longest_cpu = max(self.longest_cpu, cpu - self._last_cpu)
        self._last, self._last_cpu = now, cpu


def steps(
    window: MainWindow, name: str, registry: ToolRegistry
) -> Iterator[tuple[str, Callable[[], object]]]:
    """The steps in the window, each with its action."""
    project = window.services.project
    first = registry.tools[0]
    argument = next(iter(first.parameters["properties"]))
    yield "tools", lambda: project.tools.replace_registry(registry)
    yield "argument", lambda: window.panels.reveal_argument(first.name, argument)
    if name == "prompt":
        yield "prompt", lambda: project.prompt.set_user("word " * (LONG // 5))
        yield "system prompt", lambda: project.prompt.set_system_prompt("x" * LONG)
    yield "rendered prompt", window.panels.reveal_rendered_prompt
    yield "run", window.actions_.run.trigger
    yield "edit", lambda: project.tools.set_description(first.name, "Another one.")
    yield "undo", project.tools.undo_stack.undo
    yield "grammar", lambda: window.navigator.show(PageId.GRAMMAR)
    yield "playground", lambda: window.navigator.show(PageId.PLAYGROUND)
    if name == "prompt":
        record = bundled_run("search-mask.jsonl")
        request = msgspec.structs.replace(record[0].request, prompt="word " * (LONG // 5))
        yield (
            "record",
            lambda: window.runs.show_record(
                (msgspec.structs.replace(record[0], request=request), *record[1:])
            ),
        )


def main(names: list[str]) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["GLYPHSCOPE_HOME"] = tempfile.mkdtemp()
    app, owner = QApplication([]), QObject()
    services = make_services(places(), owner, lambda _name, **_options: ScriptedModel('{action="t" a="x"}'))
    window = MainWindow(services, ThemeManager(app, "light", parent=owner))
    window.resize(1440, 900)
    window.show()
    window.start()
    blocks = Blocks(owner)
    wait(app, 3)
    services.project.set_options(constraint="off")
    for name in names or list(REGISTRIES):
        for step, do in steps(window, name, registry_of(name)):
            blocks.begin()
            do()
            wait(app, 2)
            print(
                f"{name:12} {step:16} {blocks.longest * 1000:8.0f} {blocks.longest_cpu * 1000:8.0f}",
                flush=True,
            )
    os._exit(0)  # work in the background is not waited for


def wait(app: QApplication, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        app.processEvents()
        time.sleep(0.001)


if __name__ == "__main__":
    main(sys.argv[1:])
