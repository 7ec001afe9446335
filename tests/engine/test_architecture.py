"""The rules of the project's code, one test each."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_FILE = 600


@pytest.mark.slow
def test_a_layer_imports_only_the_layers_below_it() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_shell_names_the_main_window() -> None:
    window = ROOT / "gui" / "glyphscope_gui"
    assert [
        str(path.relative_to(window))
        for path in window.rglob("*.py")
        if "shell" not in path.parts and re.search(r"\bMainWindow\b", path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["glyphscope", "glyphscope.cli", "glyphscope.validation", "glyphscope.sessions"]
)
def test_the_engine_loads_neither_qt_nor_a_model(module: str) -> None:
    program = (
        f"import sys, {module}; "
        "print([n for n in ('PySide6', 'pyqtgraph', 'llama_cpp', 'glyphscope_gui') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("module", ["glyphscope.models.chat", "glyphscope.prompting.template"])
def test_a_process_that_renders_templates_loads_neither_schemas_nor_grammars(module: str) -> None:
    unneeded = ("jsonschema", "regex", "glyphscope.registry", "glyphscope.grammar", "glyphscope.validation")
    program = (
        f"import sys, glyphscope.processes.limited_child, {module}; "
        f"print([name for name in {unneeded} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_window_and_its_pages_load_without_the_library_of_charts() -> None:
    program = (
        "import sys; from importlib import import_module; from glyphscope_gui.shared.page_ids import PageId; "
        "[import_module(f'glyphscope_gui.{name}') for name in ('shell', *PageId)]; "
        "print([name for name in ('pyqtgraph', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_is_too_long() -> None:
    files = [
        path
        for root in ("engine", "gui", "assets", "benchmarks", "tests", "packaging")
        for path in (ROOT / root).rglob("*.py")
    ]
    long = {str(path.relative_to(ROOT)): lines for path in files if (lines := _lines(path)) > MAX_FILE}
    assert not long


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_only_one_file_reads_the_assets() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for root in ("engine", "gui")
        for path in (ROOT / root).rglob("*.py")
        if '"glyphscope_assets' in path.read_text(encoding="utf-8")
    ]
    assert readers == ["engine/glyphscope/resources.py"]


def test_every_picture_of_the_readme_exists() -> None:
    shown = re.findall(r"!\[.*?\]\((.*?)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown
    assert not [picture for picture in shown if not (ROOT / picture).is_file()]


@pytest.mark.parametrize("folder", ["tests", "packaging"])
def test_no_package_shadows_a_package_of_the_project(folder: str) -> None:
    assert not list((ROOT / folder).rglob("__init__.py"))
