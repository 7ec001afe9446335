"""Hostile registries, prompts, records and suites in the window: the longest time in which its thread does not look for
input.

    python tests/support/window_blocks.py [--where] [NAMES…]

For each of `REGISTRIES` and `FILES`, and each step in the window, the longest block is printed in milliseconds: by the
clock, and in processor time of the window's thread, which other programs do not change. `ordinary` is the bundled
registry. With `--where`, the place in the window's code is printed beside it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import msgspec
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from glyphscope.events import AnyEvent, RunRequest
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import ToolRegistry, default_registry, parse_document
from glyphscope.runs.strategies import run
from glyphscope.store import places
from glyphscope_gui.app import SWITCH_SECONDS
from glyphscope_gui.evaluate import SuiteEditor
from glyphscope_gui.runs import Phase
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.services import make_services
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell.main_window import MainWindow
from glyphscope_gui.slices import Slices
from glyphscope_gui.theme import ThemeManager

Steps: TypeAlias = Iterator[tuple[str, Callable[[], object]]]
"""Steps in the window, each with its action."""
CALL = '{action="search" query="AI news" max_results=10}'
LONG = 5_000_000


def _tool(properties: dict[str, Any], description: str = "d", **members: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, **members}
    return {"name": "t", "description": description, "parameters": parameters}


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


REGISTRIES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "ordinary": lambda: default_registry().to_document()["tools"],
    "values": lambda: [_tool({"a": {"enum": [f"v{n}" for n in range(LONG // 10)]}})],
    "description": lambda: [_tool({"a": {"description": "word " * (LONG // 5)}}, "word " * (LONG // 5))],
    "one word": lambda: [_tool({"a": {"description": "x" * LONG}}, "y" * LONG)],
    "arguments": lambda: [_tool({f"p{n}": {"type": "integer", "minimum": n} for n in range(99_000)})],
    "name": lambda: [_tool({"x" * 100_000: {"type": "string"}})],
    "default": lambda: [_tool({"a": {"type": "array", "default": [*range(LONG // 10)]}})],
    "constant": lambda: [_tool({"a": {"const": "z" * (LONG // 2)}})],
    "deep": lambda: [_tool({"a": _nested(58)})],
    "choices": lambda: [_tool({"a": {"anyOf": [{"const": f"v{n}"} for n in range(3000)]}})],
    "definitions": lambda: [_tool({"a": {}}, **{"$defs": {f"d{n}": _nested(2) for n in range(33_000)}})],
    "pattern": lambda: [_tool({"a": {"type": "string", "pattern": "(ab|c)*" * 1_400}})],
    "tools": lambda: [{**_tool({"a": {"type": "string"}}), "name": f"t{n}"} for n in range(5_000)],
    "prompt": lambda: [_tool({"a": {"type": "string"}})],
}


def registry_of(name: str) -> ToolRegistry:
    return parse_document({"glyphscope": 1, "tools": REGISTRIES[name]()})


def long_record(tokens: int = 100_000) -> tuple[AnyEvent, ...]:
    """A run of so many tokens."""
    text = '{action="search" query="' + "word " * (tokens - 20) + '" max_results=10}'
    request = RunRequest(
        prompt="p", registry=default_registry().to_document(), constraint="off", max_tokens=tokens
    )
    return tuple(run(request, ScriptedModel(text)))


def long_suite(scenarios: int = 100_000) -> Path:
    """The file of a suite of so many scenarios."""
    each = [{"id": f"s{n}", "prompt": f"Search for news {n}.", "expect": {}} for n in range(scenarios)]
    document = {"glyphscope_suite": 1, "name": "long", "about": "", "scenarios": each}
    path = Path(tempfile.mkdtemp()) / "long.json"
    path.write_text(json.dumps(document))
    return path


class Blocks(QObject):
    """Looks at the clocks each time the window's thread looks for input. With `where`, the place is noted that was seen
    most often in the longest block.
    """

    def __init__(self, parent: QObject, *, where: bool = False) -> None:
        super().__init__(parent)
        self.longest = self.longest_cpu = 0.0
        self.place = ""
        self._seen: dict[str, int] = {}
        self._timer = QTimer(self, interval=2)
        self._timer.timeout.connect(self._look)
        self.begin()
        self._timer.start()
        if where:  # in this thread: another one must not look at frames in which Qt calls Python
            signal.signal(signal.SIGPROF, self._note)
            signal.setitimer(signal.ITIMER_PROF, 0.005, 0.005)

    def begin(self) -> None:
        self.longest = self.longest_cpu = 0.0
        self.place, self._seen = "", {}
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()

    def _look(self) -> None:
        now, cpu = time.perf_counter(), time.thread_time()
        seen, self._seen = self._seen, {}
        if cpu - self._last_cpu > self.longest_cpu:
            self.longest_cpu = cpu - self._last_cpu
            self.place = max(seen, key=lambda each: seen[each], default="")
        self.longest = max(self.longest, now - self._last)
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()

    def _note(self, _signal: int, frame: FrameType | None) -> None:
        if time.thread_time() - self._last_cpu < 0.02:
            return
        names: list[str] = []
        while frame is not None and len(names) < 6:
            code = frame.f_code
            if "glyphscope" in code.co_filename:
                names.append(f"{Path(code.co_filename).stem}.{code.co_name}:{frame.f_lineno}")
            frame = frame.f_back
        place = " < ".join(names)
        self._seen[place] = self._seen.get(place, 0) + 1


def background_work(window: MainWindow) -> list[Background | Slices]:
    """The parts that work in the background, without the queries of a run: they wait while it is stepping."""
    owners: tuple[QObject, ...] = (window, window.services.project.parent())
    works = [work for owner in owners for kind in (Background, Slices) for work in owner.findChildren(kind)]
    return [work for work in works if work.parent() is not window.runs.queries]


def is_idle(window: MainWindow, works: list[Background | Slices]) -> bool:
    """Whether nothing of these works, and no run is made."""
    run_is_idle = not window.runs.is_busy or window.runs.phase is Phase.STEPPING
    return run_is_idle and not any(isValid(work) and work.is_busy for work in works)


def settle(app: QApplication, window: MainWindow, quiet: float = 0.3, most: float = 60.0) -> bool:
    """Handle events until nothing has worked for `quiet` seconds; False after `most`."""
    end, idle_since, works_since = time.monotonic() + most, time.monotonic(), 0.0
    while (now := time.monotonic()) < end:
        app.processEvents()
        if now - works_since > 0.02:  # finding them takes twice as long as a turn of this loop
            works, works_since = background_work(window), now
        if not is_idle(window, works):
            idle_since = now
        elif now - idle_since > quiet:
            return True
        time.sleep(0.001)
    return False


def make_window(app: QApplication, owner: QObject, answer: str = CALL) -> MainWindow:
    """The whole window, with a model that always gives this answer, and without a constraint."""
    services = make_services(places(), owner, lambda _name, **_options: ScriptedModel(answer))
    window = MainWindow(services, ThemeManager(app, "light", parent=owner))
    window.resize(1440, 900)
    window.show()
    window.start()
    services.project.set_options(constraint="off")
    return window


def steps(window: MainWindow, name: str) -> Steps:
    """The steps with a registry."""
    project, registry = window.services.project, registry_of(name)
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
    for page in (*PageId, PageId.PLAYGROUND):
        yield str(page), lambda page=page: window.navigator.show(page)
    path = Path(tempfile.mkdtemp()) / "long.glyphscope"
    yield "save", lambda: project.save(path)
    yield "reload", project.reload
    if name == "prompt":
        record = bundled_run("search-mask.jsonl")
        request = msgspec.structs.replace(record[0].request, prompt="word " * (LONG // 5))
        events = (msgspec.structs.replace(record[0], request=request), *record[1:])
        yield "record", lambda: window.runs.show_record(events)


def _record_steps(window: MainWindow) -> Steps:
    events = long_record()
    yield "record", lambda: window.runs.show_record(events)
    for page in (*PageId, PageId.PLAYGROUND):
        yield str(page), lambda page=page: window.navigator.show(page)
    yield "tokens", window.actions_.focus_tokens.trigger
    yield "run", window.actions_.run.trigger


def _suite_steps(window: MainWindow) -> Steps:
    page, path = window.page(PageId.EVALUATE), long_suite()
    yield "evaluate", lambda: window.navigator.show(PageId.EVALUATE)
    yield "suite", lambda: page._add_suites([path])
    yield "alone", lambda: page.view.setup.show_matrix({"suites": (str(path),)}) or page._setup_changed()
    yield "edit", page.suite_editing.edit_current
    editor = window.findChild(SuiteEditor)
    if editor is not None:
        yield "scenario", lambda: editor.choose_row(50_000)
        yield "duplicate", editor.copy.click
        yield "save", editor.save_button.click
    yield "search", lambda: page.view.setup.scenarios.search.setText("news 77")
    yield "all", lambda: page.view.setup.scenarios.search.setText("")
    yield "playground", lambda: window.navigator.show(PageId.PLAYGROUND)


def long_body(kind: str, size: int = 50_000_000) -> Path:
    """The file of a request to Messages of so many bytes: one text, one image, or short messages."""
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
    if kind == "messages":
        talk = [
            {"role": "user" if n % 2 else "assistant", "content": f"{n} {'x' * 99}"}
            for n in range(size // 140)
        ]
    elif kind == "text":
        talk[0]["content"] = "word " * (size // 5)
    else:
        image = {"type": "base64", "media_type": "image/png", "data": "A" * size}
        talk[0]["content"] = [{"type": "image", "source": image}]
    tools = [
        {"name": "search", "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}}}
    ]
    more = [{"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Search"}]
    path = Path(tempfile.mkdtemp()) / "body.json"
    path.write_text(json.dumps({"system": "s", "messages": [*talk, *more], "tools": tools, "max_tokens": 99}))
    return path


def _body_steps(window: MainWindow, kind: str) -> Steps:
    project, path = window.services.project, long_body(kind)
    yield "open", lambda: project.open(path)
    yield "edit", lambda: project.prompt.set_user("Search for news")
    yield "run", window.actions_.run.trigger
    saved = path.with_suffix(".glyphscope")
    yield "save", lambda: project.save(saved)
    yield "reload", project.reload
    yield "import", lambda: window.panels.tools.actions_.read_file(path)


FILES: dict[str, Callable[[MainWindow], Steps]] = {
    "record": _record_steps,
    "suite": _suite_steps,
    **{f"body of {kind}": partial(_body_steps, kind=kind) for kind in ("text", "image", "messages")},
}


def main(names: list[str], *, where: bool) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["GLYPHSCOPE_HOME"] = tempfile.mkdtemp()
    sys.setswitchinterval(SWITCH_SECONDS)
    app = QApplication([])
    for name in names or [*REGISTRIES, *FILES]:
        owner = QObject()
        window = make_window(app, owner)
        blocks = Blocks(owner, where=where)
        settle(app, window, 1.0)
        for step, do in FILES[name](window) if name in FILES else steps(window, name):
            blocks.begin()
            do()
            settle(app, window)
            found = f"{blocks.longest * 1000:8.0f} {blocks.longest_cpu * 1000:8.0f}"
            print(f"{name:12} {step:16} {found}  {blocks.place}", flush=True)
        blocks.begin()
        window.shut_down()
        print(f"{name:12} {'close':16} {(time.perf_counter() - blocks._last) * 1000:8.0f}", flush=True)
        window.deleteLater()
        owner.deleteLater()
    os._exit(0)  # work in the background is not waited for


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--where"], where="--where" in sys.argv)
