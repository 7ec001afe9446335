"""The rules of the project's code, one test each."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from sources import nodes_of, source_of

ROOT = Path(__file__).parents[2]
MAX_FILE = 600
MOST = {
    "modules with one importer": 130,
    "modules that tests import": 280,
    "lines of code": 131_150,
    "lines of code without plug-ins": 126_600,
}
"""They only fall; raise one with the reason here.

Raised for answers other than calls, grammars in Lark, templates and their variables, sampling, and what in a prompt
decided: each is a row or a form of what was there, with the engine that it needs. For OpenAI's custom tools and relaxed
rules of grammars, the options' panel and the transcript of a run too. For expected answers, the project's prompt and
system prompts in evaluations, the pages of MCP, of the model and of pasted answers, and folding panels. For the forms
of tools and requests of other programs, the capture of requests with its page and breakpoints, and tools that are
found. For what endpoints are asked, servers of tools in evaluations, and engines of other servers. For request bodies
that are written again as they were, calls that are edited at a breakpoint, tasks of MCP, and `lint`. For the language
server with ambiguous rules and types of words, the checks as an MCP server, and what `doctor` says of graphics cards.
For types that a value between tags is said to have, and names of calls, also of those that cannot be read, with the
records in which names came earlier. For conversations that a server keeps, in captures and bodies, and servers that
make calls which a request forbids, or call answers complete that a limit cut. For results in bodies that come later
than their calls, calls as APIs give them, and rules of grammars inside of rules. For another text size in slices, and
charts that are imported statement by statement. For the help of a run without its work, names that no call keeps,
several calls of an API, and calls that are valid and fail. For repeated parts of words, the words of answers that are
not calls, and runs that end with the window. For duplicate keys of schemas and conversations, constraints
of which nothing is known, and prompts that answers count. For what a first user of lessons, tools and settings meets.
For calls of no
tool without markers, names that are written twice, and numbers of tokens that are unknown.
Tests import more modules since packages do not list names for them alone.
"""
PLUGINS = "glyphscope_plugins"


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
    "module", ["glyphscope", "glyphscope.cli", "glyphscope.validation", "glyphscope.store"]
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
        f"import sys, glyphscope.processes.child, {module}; "
        f"print([name for name in {unneeded} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_window_and_its_pages_load_without_the_library_of_charts_and_with_pythons_own_import() -> None:
    program = (
        "import sys; from importlib import import_module; from glyphscope_gui.shared.page_ids import PageId; "
        "[import_module(f'glyphscope_gui.{name}') for name in ('shell', *PageId)]; "
        "print([name for name in ('pyqtgraph', 'numpy') if name in sys.modules], __import__.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] builtins"


@pytest.mark.slow
def test_the_window_starts_every_thread_in_one_file() -> None:
    window, threads = (
        ROOT / "gui" / "glyphscope_gui",
        {"QThread", "QThreadPool", "QRunnable", "Thread", "Timer"},
    )
    starters = set()
    for path in window.rglob("*.py"):
        facts = _facts(path)
        used = [(owner, {name}) for owner, name in facts.attributes if owner]
        for node in facts.imports:
            if isinstance(node, ast.ImportFrom):
                used.append((node.module or "", {alias.name for alias in node.names}))
            else:
                used += [(alias.name, set()) for alias in node.names]
        for module, names in used:
            of_threads = module in ("PySide6.QtCore", "QtCore", "threading") and names & threads
            if of_threads or module.startswith(("concurrent", "multiprocessing", "asyncio", "_thread")):
                starters.add(path.relative_to(window).as_posix())
    assert starters == {"shared/background.py"}


def test_a_package_gives_at_run_time_what_it_names_for_types() -> None:
    """Its interface is a list for type checkers; the module of a name is imported when the name is first used."""
    made = [name for name, path in _modules().items() if "= interface(" in path.read_text(encoding="utf-8")]
    assert len(made) > 10
    for name in made:
        (block,) = (
            node
            for node in ast.parse(_modules()[name].read_text(encoding="utf-8")).body
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        package = importlib.import_module(name)
        for each in block.body:
            assert isinstance(each, ast.ImportFrom) and each.module and each.module.startswith(f"{name}.")
            module = importlib.import_module(each.module)
            for alias in each.names:
                assert getattr(package, alias.name) is getattr(module, alias.name), (name, alias.name)


@pytest.mark.slow
def test_a_package_names_only_what_is_imported_from_it() -> None:
    taken: set[tuple[str, str]] = set()
    attributes: set[str] = set()
    for root in ("engine", "gui", "benchmarks", "packaging", "tests"):
        for path in (ROOT / root).rglob("*.py"):
            facts = _facts(path)
            attributes |= {name for _, name in facts.attributes}
            for node in facts.imports:
                if isinstance(node, ast.ImportFrom):
                    taken |= {(node.module or "", alias.name) for alias in node.names}
    unused = []
    for name, path in _modules().items():
        if name == "glyphscope" or "= interface(" not in path.read_text(encoding="utf-8"):
            continue  # the Python interface is for others
        blocks = (node for node in nodes_of(path) if isinstance(node, ast.If))
        named = {
            alias.name
            for each in blocks
            for node in each.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        unused += [
            (name, each) for each in sorted(named) if (name, each) not in taken and each not in attributes
        ]
    assert not unused


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
    assert readers == ["engine/glyphscope/base/resources.py"]


def test_every_picture_of_the_readme_exists() -> None:
    shown = re.findall(r"!\[.*?\]\((.*?)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown
    assert not [picture for picture in shown if not (ROOT / picture).is_file()]


@pytest.mark.parametrize("folder", ["tests", "packaging"])
def test_no_package_shadows_a_package_of_the_project(folder: str) -> None:
    assert not list((ROOT / folder).rglob("__init__.py"))


def _modules() -> dict[str, Path]:
    """The modules of engine, plug-ins and window by name."""
    roots = {
        "glyphscope": ROOT / "engine/glyphscope",
        PLUGINS: ROOT / "engine" / PLUGINS,
        "glyphscope_gui": ROOT / "gui/glyphscope_gui",
    }
    return {
        ".".join([root, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__"): path
        for root, folder in roots.items()
        for path in folder.rglob("*.py")
    }


class Facts(NamedTuple):
    """The imports of a module, the attributes that it reads by what they are read from ("" for other values), and its
    lines that are neither blank nor a comment nor a docstring.
    """

    imports: list[ast.Import | ast.ImportFrom]
    attributes: set[tuple[str, str]]
    code_lines: int


@cache
def _facts(path: Path) -> Facts:
    """Each module is read once for all tests: with their trees, all modules would need gigabytes."""
    text, nodes = source_of(path)
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    attributes = {
        (node.value.id if isinstance(node.value, ast.Name) else "", node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute)
    }
    return Facts(imports, attributes, _code_lines(text, nodes))


def _imported(path: Path, modules: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in _facts(path).imports:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif node.module:
            found |= {
                full if (full := f"{node.module}.{name.name}") in modules else node.module
                for name in node.names
            }
    return found & modules.keys()


def _code_lines(text: str, nodes: Iterable[ast.AST]) -> int:
    lines = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#")
    }
    texts = [node for node in nodes if isinstance(node, ast.JoinedStr | ast.Constant)]
    for node in texts:
        if isinstance(node, ast.JoinedStr) or isinstance(node.value, str | bytes):
            lines |= _lines_of(node)  # blank ones, too
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= _lines_of(node) if isinstance(node.value.value, str) else set()
    return len(lines)


def _lines_of(node: ast.expr | ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


@pytest.mark.slow
def test_figures_of_the_code_only_fall() -> None:
    """Raise one only with a reason here. A new feature costs lines; a fact that is stated again costs more of them."""
    modules = _modules()
    lines, importers = {}, Counter[str]()
    for own, path in modules.items():
        lines[own] = _facts(path).code_lines
        importers.update(_imported(path, modules) - {own})
    by_tests = set().union(*(_imported(path, modules) for path in (ROOT / "tests").rglob("*.py")))
    figures = {
        "modules with one importer": sum(importers[name] == 1 for name in modules),
        "modules that tests import": len(by_tests),
        "lines of code": sum(lines.values()),
        "lines of code without plug-ins": sum(
            count for name, count in lines.items() if not name.startswith(PLUGINS)
        ),
    }
    risen = {
        name: f"{figures[name]:,}, at most {most:,}" for name, most in MOST.items() if figures[name] > most
    }
    assert risen == {}
