"""Take the pictures of README and docs, from recorded runs, without a model.

Run it with `python packaging/screenshots.py OUTDIR`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from PySide6.QtCore import QEventLoop, QObject, QTimer, SignalInstance
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from scenes import (
    show_branch,
    show_compare,
    show_evaluate,
    show_first_turn,
    show_lesson,
    show_masked,
    show_problems,
    show_prompt,
    show_servers,
    show_template,
    show_tools_grammar,
)

from glyphscope.events import RunStarted
from glyphscope.models.interface import Model
from glyphscope.models.recorded import RecordedModel
from glyphscope.store import Places, Project
from glyphscope.store.folders import HOME_VARIABLE
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.services import make_services
from glyphscope_gui.shell import Window
from glyphscope_gui.theme import ThemeManager
from glyphscope_gui.theme.manager import Choice

SCHEMES: tuple[Choice, ...] = ("light", "dark")
SIZES = ((1440, 900), (1024, 700))
SETTLE_MS = 250
"""The time for applying layouts and styles."""
TIMEOUT_MS = 20_000
"""The time after which a picture is taken anyway."""


class Scene(NamedTuple):
    """`record` is replayed; if it was aborted, `rest` is the record of the same run, continued.

    Then `prepare` runs, and everything that it starts is awaited. A scene is taken in both schemes and sizes or, if it
    is only for the guide, `once`, light and large.
    """

    name: str
    record: str
    rest: str = ""
    prepare: Callable[[Window], None] = lambda _window: None
    once: bool = False


SCENES = (
    Scene("run", "search-mask.jsonl"),
    Scene("abort", "sources-abort.jsonl", "sources-whole.jsonl"),
    Scene("loop", "verbs-loop.jsonl"),
    Scene("native", "native-tags.jsonl", prepare=show_first_turn, once=True),
    Scene("masked", "search-mask.jsonl", prepare=show_masked, once=True),
    Scene("branch", "search-mask.jsonl", prepare=show_branch, once=True),
    Scene("prompt", "search-mask.jsonl", prepare=show_prompt, once=True),
    Scene("grammar", "search-mask.jsonl", prepare=show_tools_grammar),
    Scene("problems", "search-mask.jsonl", prepare=show_problems),
    Scene("mcp", "search-mask.jsonl", prepare=show_servers),
    Scene("evaluate", "search-mask.jsonl", prepare=show_evaluate),
    Scene("compare", "search-mask.jsonl", prepare=show_compare, once=True),
    Scene("template", "search-mask.jsonl", prepare=show_template),
    Scene("lesson", "search-mask.jsonl", prepare=show_lesson),
)


def take(out: Path, names: Sequence[str] = ()) -> list[Path]:
    """Take pictures of all scenes, or of the scenes with these names. Return the files."""
    app = QApplication.instance() or QApplication(["glyphscope"])
    assert isinstance(app, QApplication)
    out.mkdir(parents=True, exist_ok=True)
    return [
        _picture(app, scene, scheme, size, out)
        for scene in SCENES
        if not names or scene.name in names
        for scheme in SCHEMES
        for size in SIZES
        if not scene.once or (scheme, size) == (SCHEMES[0], SIZES[0])
    ]


def _picture(app: QApplication, scene: Scene, scheme: Choice, size: tuple[int, int], out: Path) -> Path:
    events = bundled_run(scene.record)
    started = events[0]
    assert isinstance(started, RunStarted)

    def opener(_name: str, **_options: object) -> Model:
        return RecordedModel(bundled_run(scene.rest) if scene.rest else events)

    owner = QObject()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        services = make_services(Places(home, home, home, home), owner, opener)
        services.project.new(Project(request=msgspec.structs.replace(started.request, model="")))
        window = Window(services, ThemeManager(app, scheme, parent=owner))
        window.resize(*size)
        window.show()
        window.fit_sides()
        window.start()
        _settle()
        _wait_for(window.runs.ended, lambda: window.runs.replay(events, 0))
        if window.runs.can_continue:
            _wait_for(window.runs.saved, window.actions_.continue_aborted.trigger)
        scene.prepare(window)
        _wait_until(lambda: not _is_busy(window))
        _settle()
        path = out / f"{scene.name}-{scheme}-{size[0]}x{size[1]}.png"
        save_small(window.grab().toImage(), path)
        window.shut_down()
        window.deleteLater()
        owner.deleteLater()
        _settle()
    return path


def _is_busy(window: Window) -> bool:
    pages = any(page.is_busy for page in window.pages.values())
    return pages or window.runs.is_busy or window.context.rules.is_busy


def _wait_for(signal: SignalInstance, begin: Callable[[], None]) -> None:
    loop = QEventLoop()
    signal.connect(loop.quit)
    QTimer.singleShot(TIMEOUT_MS, loop.quit)
    begin()
    loop.exec()
    signal.disconnect(loop.quit)


def _wait_until(condition: Callable[[], bool]) -> None:
    waited = 0
    while not condition() and waited < TIMEOUT_MS:
        _settle()
        waited += SETTLE_MS


def _settle() -> None:
    loop = QEventLoop()
    QTimer.singleShot(SETTLE_MS, loop.quit)
    loop.exec()


MAX_COLOURS = 256
"""The maximum number of colours in a picture's table."""
_FREQUENT = 176
"""The places in the table for the most frequent colours; the others are for rare colours, far from all of these."""


def save_small(image: QImage, path: Path) -> bool:
    """Write a PNG with a table of colours; the same picture gives the same bytes. Return whether it was written."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    height, width = image.height(), image.width()
    rows = np.frombuffer(image.constBits(), np.uint32).reshape(height, image.bytesPerLine() // 4)[:, :width]
    colours, place, counts = np.unique(rows, return_inverse=True, return_counts=True)
    table, index = _table(colours, counts)
    small = QImage(width, height, QImage.Format.Format_Indexed8)
    small.setColorTable([int(colour) for colour in colours[table]])
    bits = np.frombuffer(small.bits(), np.uint8).reshape(height, small.bytesPerLine())
    bits[:, :width] = index[place.reshape(height, width)]
    return small.save(str(path), quality=0)


def _table(colours: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The indexes of the chosen colours, and, for each colour, the number of the nearest of these."""
    parts = np.stack([colours >> shift & 255 for shift in (16, 8, 0)], axis=1).astype(np.int32)
    chosen = list(
        np.argsort(-counts, kind="stable")[: _FREQUENT if len(colours) > MAX_COLOURS else MAX_COLOURS]
    )
    distance = np.min([((parts - parts[each]) ** 2).sum(axis=1) for each in chosen], axis=0)
    while len(chosen) < min(MAX_COLOURS, len(colours)):
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((parts - parts[chosen[-1]]) ** 2).sum(axis=1))
    all_distances = np.stack([((parts - parts[each]) ** 2).sum(axis=1) for each in chosen])
    return np.array(chosen), all_distances.argmin(axis=0).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder for the pictures")
    parser.add_argument("scenes", nargs="*", help="only these")
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    chosen = parser.parse_args()
    os.environ[HOME_VARIABLE] = tempfile.mkdtemp()  # without a user's lessons and progress
    for path in take(chosen.out, chosen.scenes):
        print(path)


if __name__ == "__main__":
    main()
