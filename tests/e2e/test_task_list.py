"""A first-time user's tasks in the real window with the embedded model, by the mouse alone and by keys alone. Each
click, key press and typed text is an action; `pytest -s` prints them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QLineEdit, QMessageBox, QPushButton

from glyphscope.registry import default_registry, to_json
from glyphscope_gui.shared.page_ids import PageId

pytestmark = [
    pytest.mark.slow,
    pytest.mark.model,
    pytest.mark.timeout(600),
    pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True),  # popups, offscreen
]
RUN_MS = 240_000
MOST = 40
PROMPT = "Calculate 12 * 19"
EXPECTED = '{action="calculate" expression="12 * 19"}'
WRONG = "not the expected one: the call is of 'search', not of 'calculate'"


class Person:
    """Counts what it does; `task` begins the next line of the list."""

    def __init__(self, qtbot, window):
        self.qtbot, self.window, self.tasks = qtbot, window, []
        self.playground = window.page(PageId.PLAYGROUND).view
        self.evaluate = window.page(PageId.EVALUATE)

    def task(self, words):
        self.tasks.append((words, []))

    def note(self, words):
        self.tasks[-1][1].append(words)

    @property
    def actions(self):
        return sum(len(done) for _, done in self.tasks)

    def list(self):
        lines = [f"{len(done):>3}  {words}: {', '.join(done)}" for words, done in self.tasks]
        return "\n".join(["", *lines, f"{self.actions:>3}  in all"])

    # -- what it sees ------------------------------------------------------------------------------------------

    def until(self, condition, ms=20_000):
        self.qtbot.waitUntil(condition, timeout=ms)

    def front(self):
        """The open popup or dialog, or else the window."""
        front = QApplication.activePopupWidget() or QApplication.activeModalWidget() or self.window
        if QApplication.activeWindow() is None:  # a window manager activates the next window
            front.activateWindow()
            self.until(lambda: QApplication.activeWindow() is not None)
        return front

    def part(self, name):
        """The visible button in front with that object name, or with these words."""
        front = QApplication.activeModalWidget() or self.window  # not the list of file names
        buttons = front.findChildren(QPushButton)
        named = (each for each in buttons if name in (each.objectName(), each.text().replace("&", "")))
        return next((each for each in named if each.isVisible()), None)

    def dialog(self, kind=QDialog, name=""):
        self.until(
            lambda: isinstance(found := QApplication.activeModalWidget(), kind) and name in found.objectName()
        )
        return QApplication.activeModalWidget()

    @property
    def verdict(self):
        return self.playground.verdict.title.text()

    # -- what it does ------------------------------------------------------------------------------------------

    def keys(self, *keys):
        for each in keys:
            front, pressed = self.front(), QKeySequence(each)[0]
            QTest.keyClick(front.focusWidget() or front, pressed.key(), pressed.keyboardModifiers())
            self.note(each)
            QApplication.processEvents()

    def type(self, text):
        front = self.front()
        QTest.keyClicks(front.focusWidget() or front, text)
        self.note(f"“{text if len(text) < 30 else text[:27] + '…'}”")
        QApplication.processEvents()

    def click(self, target, words="", *, at=None, times=1):
        """Click on a visible part; three times selects a line."""
        if isinstance(target, str):
            name, words = target, words or target
            self.until(lambda: (found := self.part(name)) is not None and found.isEnabled())
            target = self.part(name)
        assert target.isVisible() and target.isEnabled(), words
        place = at or target.rect().center()
        QTest.mouseClick(target, Qt.MouseButton.LeftButton, pos=place)
        if times > 1:
            QTest.mouseDClick(target, Qt.MouseButton.LeftButton, pos=place)
            QTest.mouseClick(target, Qt.MouseButton.LeftButton, pos=place)
        self.note(f"click {words}" if times == 1 else f"select {words}")
        QApplication.processEvents()

    def menu(self, title, entry):
        """Open a menu of the bar, and click its entry."""
        bar = self.window._bar
        action = next(each for each in bar.actions() if each.text().replace("&", "") == title)
        self.click(bar, f"menu {title}", at=bar.actionGeometry(action).center())
        menu = action.menu()
        chosen = next(each for each in menu.actions() if each.text().replace("&", "").startswith(entry))
        self.click(menu, entry, at=menu.actionGeometry(chosen).center())

    def palette(self, typed):
        self.keys("Ctrl+Shift+P")
        self.dialog(name="commandPalette")
        self.type(typed)
        self.keys("Return")

    def ended(self, begin):
        with self.qtbot.waitSignal(self.window.runs.ended, timeout=RUN_MS):
            begin()
        self.until(lambda: not self.window.runs.is_busy)

    def evaluated(self, begin):
        """Evaluate the suite that is chosen alone, once the page is made."""
        self.until(lambda: hasattr(self.evaluate.view, "suites_model"))  # once the library of charts is there
        ticks = self.evaluate.view.suites_model
        self.until(lambda: [Path(each).name for each in ticks.ticked] == ["my-suite.json"])
        self.until(lambda: not self.evaluate.is_busy and self.evaluate.view.setup.start.isEnabled())
        begin()
        self.until(lambda: self.evaluate.evaluations.is_busy)
        self.until(lambda: not self.evaluate.is_busy, RUN_MS)
        result = self.evaluate.result_presenter.result
        assert [arm.constraint for arm in result.manifest.arms] == [
            "off",
            "mask",
        ] and result.manifest.finished
        assert [sample.ok for sample in result.samples] == [False, True], (
            "the mask lets the model write the call"
        )

    def finish(self):
        self.until(self.page.is_file)
        assert "12 * 19" in self.page.read_text()
        print(self.list())
        assert self.actions <= MOST


@pytest.fixture
def person(qtbot, window, tmp_path):
    (tmp_path / "tools.json").write_text(to_json(default_registry()))
    window.start()
    window.activateWindow()
    found = Person(qtbot, window)
    found.until(lambda: window.runs.model.phase == "ready", RUN_MS)
    found.tools, found.page = str(tmp_path / "tools.json"), tmp_path / "run.html"
    return found


def test_the_tasks_of_a_first_day_by_the_mouse_alone(person):
    prompt, line = person.playground.prompt_edit.viewport(), QPoint(30, 10)

    person.task("import tools")
    person.menu("File", "Import tools")
    files = person.dialog(QFileDialog)
    person.click(files.findChild(QLineEdit), "file name")
    person.type(person.tools)
    person.click("Open")
    person.dialog(QMessageBox)
    person.click("Replace")

    person.task("run")
    person.click(prompt, "prompt", at=line, times=3)
    person.type(PROMPT)
    person.ended(lambda: person.click("runButton", "Run"))

    person.task("find why the call is wrong")
    person.click("expectedLink", "Expected…")
    dialog = person.dialog(name="expectedDialog")
    person.click(dialog.edit.viewport(), "answer", at=line, times=3)
    person.type(EXPECTED)
    person.click("Expect this")
    assert person.verdict.endswith(WRONG)

    person.task("fix it")
    tree = person.window.panels.tools.tree
    row = tree.visualRect(tree.model().index(0, 0))
    person.click(tree.viewport(), "tick of search", at=QPoint(row.left() + 10, row.center().y()))
    person.ended(lambda: person.click("runButton", "Run"))
    assert person.verdict.endswith("A valid call of calculate, as expected")

    person.task("save it as a scenario")
    person.click("Add to a suite…")
    person.dialog(name="suiteDialog")
    person.click("Add")

    person.task("evaluate mask on and off")
    person.click("Evaluate this suite")
    person.evaluated(lambda: person.click("evalRunButton", "Evaluate"))

    person.task("share a page")
    person.click(person.window.rail.button(PageId.PLAYGROUND), "Playground")
    person.click("shareButton", "Share…")
    person.dialog(name="exportDialog")
    person.click("Save as…")
    files = person.dialog(QFileDialog)
    person.click(files.findChild(QLineEdit), "file name", times=3)
    person.type(str(person.page))
    person.click("Save")
    person.finish()


def test_the_tasks_of_a_first_day_by_keys_alone(person):
    person.task("import tools")
    person.palette("import tools")
    person.dialog(QFileDialog)
    person.type(person.tools)
    person.keys("Return")
    person.dialog(QMessageBox)
    person.keys("Tab", "Space")

    person.task("run")
    person.keys("Ctrl+L", "Ctrl+A")
    person.type(PROMPT)
    person.ended(lambda: person.keys("Ctrl+Return"))

    person.task("find why the call is wrong")
    person.palette("expected")
    dialog = person.dialog(name="expectedDialog")
    person.keys("Ctrl+A")
    person.type(EXPECTED)
    person.until(dialog.set_button.isEnabled)
    person.keys("Ctrl+Return")
    assert person.verdict.endswith(WRONG)

    person.task("fix it")
    person.keys("Ctrl+L", "Shift+Tab", "Shift+Tab", "Shift+Tab", "Space")
    person.ended(lambda: person.keys("Ctrl+Return"))
    assert person.verdict.endswith("A valid call of calculate, as expected")

    person.task("save it as a scenario")
    person.palette("to a suite")
    dialog = person.dialog(name="suiteDialog")
    person.until(dialog.add_button.isEnabled)
    person.keys("Return")

    person.task("evaluate mask on and off")
    person.until(lambda: person.part("Evaluate this suite") is not None)
    person.keys("F6", "Space")
    person.evaluated(lambda: person.keys("Ctrl+Return"))

    person.task("share a page")
    person.palette("export run")
    person.dialog(name="exportDialog")
    person.keys("Return")
    person.dialog(QFileDialog)
    person.type(str(person.page))
    person.keys("Return")
    person.finish()
