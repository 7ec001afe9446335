"""The state of a run as plain JSON, as the page of an export gives it (`dump` in packaging/page/src/reduce.ts)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from glyphscope.events import AnyEvent, encode_event
from glyphscope.runs import CallState, RunState, StageState

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "packaging" / "page"
BUILT = ROOT / "assets" / "glyphscope_assets" / "page"
BROWSERS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "chrome"),
    "firefox": ("firefox-esr", "firefox"),
}

_DUMPS = """
const fs = require("node:fs");
require(process.argv[1]);
const lines = fs.readFileSync(0, "utf8").split("\\n").filter(Boolean);
const out = [];
for (const line of lines) {
  const { events, until } = JSON.parse(line);
  const parsed = events.map((event) => JSON.parse(event));
  out.push(until.map((number) => glyphscope.dump(parsed, number)));
}
process.stdout.write(JSON.stringify(out));
"""


def node() -> str:
    """The program that runs scripts; skips the test where there is none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node.js is not installed")
    return found


def with_modules() -> str:
    """The same program; skips the test also where npm's packages of the page are missing."""
    if not (SOURCE / "node_modules").is_dir():
        pytest.skip("packaging/page has no node_modules: npm ci --prefix packaging/page")
    return node()


def browser_program(browser: str) -> str:
    """The program of a browser; skips the test where it, Node.js or npm's packages are not installed."""
    with_modules()
    executable = next(filter(None, map(shutil.which, BROWSERS[browser])), None)
    if executable is None:
        pytest.skip(f"{browser.capitalize()} is not installed")
    return executable


def in_browser(script: str, browser: str, folder: Path, *arguments: str | Path) -> Any:
    """The JSON that a script of packaging/page prints; it gets the browser, `folder` and the arguments.

    Skips the test where Node.js, npm's packages or the browser are not installed.
    """
    executable = browser_program(browser)
    done = subprocess.run(
        [node(), str(SOURCE / script), browser, executable, str(folder), *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=580,
        check=False,
        env={**os.environ, "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def dumps_of_page(runs: Sequence[tuple[Sequence[AnyEvent], Sequence[int]]]) -> list[list[Any]]:
    """Of each run the dumps after so many events each, by the page's script."""
    lines = [
        json.dumps({"events": [encode_event(event).decode() for event in events], "until": list(until)})
        for events, until in runs
    ]
    done = subprocess.run(
        [node(), "-e", _DUMPS, str(BUILT / "page.js")],
        input="\n".join(lines),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def dump(state: RunState) -> Any:
    """The same of the engine's state."""
    return {
        "started": _plain(state.started),
        "stages": [_stage(stage) for stage in state.stages],
        "finished": _plain(state.finished),
        "failed": _plain(state.failed),
    }


def _plain(event: AnyEvent | None) -> Any:
    return None if event is None else json.loads(encode_event(event))


def _stage(stage: StageState) -> Any:
    return {
        **_members(stage, "name", "title", "kind", "began", "forced", "text"),
        **{name: _plain(getattr(stage, name)) for name in ("prompt", "evaluated", "aborted", "finished")},
        **{
            name: [_plain(event) for event in getattr(stage, name)]
            for name in ("violations", "calls", "outline")
        },
        "tokens": [token.step.index for token in stage.tokens],
        "segments": [_members(part, "kind", "start", "end", "call_index") for part in stage.segments],
        "written": [[index, _call(call)] for index, call in stage.written.items()],
    }


def _call(call: CallState) -> Any:
    return {
        "fields": [
            _members(field, "path", "start", "end", "status", "closed", "value")
            for field in call.fields.values()
        ],
        "tool": _plain(call.tool),
        "violations": [_plain(event) for event in call.violations],
        "part": None if call.part is None else _members(call.part, "kind", "start", "end", "call_index"),
        "ready": _plain(call.ready),
        **_members(call, "closed", "status"),
    }


def _members(value: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}
