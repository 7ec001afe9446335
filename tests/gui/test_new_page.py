"""A page is added as CONTRIBUTING.md says, to a copy of the window, and passes the tests of every page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHOWN = """
from fake_context import scripted
from PySide6.QtWidgets import QMenu

from glyphscope_gui.shared.page_ids import MenuId, PageId


def test_it_is_in_the_rail_and_in_the_menu(open_window):
    window = open_window(scripted)
    window.rail.button(PageId.NOTES).click()
    assert window.navigator.page.title == "Notes" and window.page(PageId.NOTES).view.isVisible()
    actions = window.findChild(QMenu, MenuId.VIEW).actions()
    action = next(each for each in actions if each.text() == "Notes")
    assert action.shortcut().toString() == f"Ctrl+{len(PageId)}" and action.isChecked()
"""

FOCUS = "tests/gui/test_accessibility.py::test_everything_that_takes_the_focus_has_an_accessible_name"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A folder with the packages of the window and its tests, and the page of the worked example."""
    page, line, test = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.S)
    root = tmp_path_factory.mktemp("copy")
    for folder in ("gui", "tests"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "gui/glyphscope_gui/notes").mkdir()
    (root / "gui/glyphscope_gui/notes/__init__.py").write_text(page, "utf-8")
    ids = root / "gui/glyphscope_gui/shared/page_ids.py"
    last = '    LESSONS = "lessons"\n'
    text = ids.read_text("utf-8")
    assert last in text
    ids.write_text(text.replace(last, last + line), "utf-8")
    (root / "tests/gui/test_notes.py").write_text(test, "utf-8")
    (root / "tests/gui/test_shown.py").write_text(SHOWN, "utf-8")
    return root


def pytest_in(root, *arguments):
    environment = os.environ | {"PYTHONPATH": str(root / "gui"), "PYTEST_XDIST_WORKER": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=250
    )


def test_a_page_is_added_by_one_folder_and_one_line_and_passes_the_accessibility_tests(copy):
    done = pytest_in(copy, "tests/gui/test_notes.py", "tests/gui/test_shown.py", FOCUS)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_the_accessibility_tests_go_through_an_added_page(copy):
    view = copy / "gui/glyphscope_gui/notes/__init__.py"
    page = view.read_text("utf-8")
    view.write_text(page.replace('        self.view.setAccessibleName(tr("Notes"))\n', ""), "utf-8")
    done = pytest_in(copy, FOCUS)
    view.write_text(page, "utf-8")
    assert done.returncode == 1 and "notes" in done.stdout, done.stdout + done.stderr


def test_the_layers_contract_includes_an_added_page(copy):
    lint = Path(sys.executable).with_name("lint-imports")
    environment = os.environ | {"PYTHONPATH": str(copy / "gui")}

    def check():
        return subprocess.run(
            [lint, "--no-cache"], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )

    assert "glyphscope_gui.notes" in check().stdout
    contract = copy / "pyproject.toml"
    contract.write_text(contract.read_text("utf-8").replace("| lessons", "| lessons | notes"), "utf-8")
    assert "0 broken" in check().stdout
