"""The worked examples of CONTRIBUTING.md, in a copy of the program: a page of the window, and a setting of a run."""

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


SETTING = """
import json

import pytest
from typer.testing import CliRunner

from glyphscope.cli.app import app
from glyphscope.events import RunRequest, Sampling, settings_of
from glyphscope.lessons.run_settings import NAMES, VARY
from glyphscope.runs.sampling import check_options, sampling_words
from glyphscope_gui.compare.variants import CHANGEABLE, Variant
from glyphscope_gui.compare.variant_settings import VariantSettings
from glyphscope_gui.run_settings.sampling_settings import SamplingSettings

NAME = "presence_penalty"


def test_the_command_line_has_it_and_the_record_too(tmp_path):
    found = CliRunner().invoke(app, ["run", "--help"]).output
    assert "--presence-penalty" in found
    record = tmp_path / "run.jsonl"
    model = "scripted:{action=search query=x}"
    options = ["--model", model, "--presence-penalty", "0.5", "--record", str(record)]
    CliRunner().invoke(app, ["run", "prompt", *options])
    first = json.loads(record.read_text().splitlines()[1])
    assert first["request"]["sampling"][NAME] == 0.5
    assert CliRunner().invoke(app, ["run", "prompt", "--presence-penalty", "9"]).exit_code == 2


def test_the_window_has_its_field(qtbot):
    form = SamplingSettings()
    qtbot.addWidget(form)
    form.show_options(RunRequest(prompt="", registry={}))
    chosen = []
    form.optionsChosen.connect(chosen.append)
    field = form._fields[NAME]
    assert field.accessibleName() == "Presence penalty" and field.accessibleDescription()
    assert field.text() == "off"
    field.setValue(0.5)
    assert chosen[0]["sampling"].presence_penalty == 0.5


def test_compare_can_change_it(qtbot):
    settings = VariantSettings()
    qtbot.addWidget(settings)
    assert NAME in settings.fields
    assert Variant().changed(presence_penalty=0.5).change_words == "presence penalty 0.5"


def test_lessons_and_python_have_it():
    assert NAME in NAMES and NAME in VARY
    sampling = Sampling(temperature=1, presence_penalty=0.5)
    assert "presence penalty 0.5" in sampling_words(sampling)
    with pytest.raises(Exception, match="Presence penalty is from 0 to 2"):
        check_options(RunRequest(prompt="", registry={}, sampling=Sampling(presence_penalty=3.0)))
"""


def test_a_setting_is_added_in_one_place_and_applied_in_another(tmp_path):
    change = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.S)[0]
    assert len(re.findall(r"^\+\+\+ ", change, re.M)) <= 2
    for folder in ("engine", "gui"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "change.diff").write_text(change, "utf-8")
    subprocess.run(["git", "apply", "change.diff"], cwd=tmp_path, check=True)
    (tmp_path / "test_setting.py").write_text(SETTING, "utf-8")
    paths = os.pathsep.join(str(tmp_path / folder) for folder in ("engine", "gui"))
    environment = os.environ | {
        "PYTHONPATH": paths,
        "PYTEST_XDIST_WORKER": "",
        "GLYPHSCOPE_HOME": str(tmp_path),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_setting.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=250
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr
