"""The probes of `glyphscope doctor`. Each returns a finding; none imports Qt or llama.cpp into this process."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import msgspec

from glyphscope.processes import module_command
from glyphscope.text.figures import byte_size

PYTHONS = ((3, 11), (3, 14))
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
