"""`make package`: build and test the frozen program, its `.deb` and its AppImage, all in dist/.

Steps, which can be selected by name: env (the environment to freeze), freeze, deb, appimage (where there is a runtime
for it), smoke (use the frozen folder on a virtual screen), installed (use the `.deb` and the AppImage in a Debian
without Python).
"""

from __future__ import annotations

import filecmp
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from appimage import make_appimage, runtime_problem
from clean_root import make_root, try_appimage, try_installed, why_not
from deb import METAINFO, architecture, make_deb
from licences import UnknownLicence, collect
from package_env import BUILD, ENVIRONMENT, make_environment, site_packages
from setup_env import ROOT, SUPPORTED, run, say, stop, system_packages, use_supported_python
from smoke import Place, SmokeFailed, try_lines
from smoke_window import try_window

DIST = ROOT / "dist"
PROGRAM = DIST / "glyphscope"
STEPS = ("env", "freeze", "deb", "appimage", "smoke", "installed")
PICTURES = BUILD / "pictures"

# The programs that the build runs, by the Debian package that contains them.
NEEDED = {
    "objdump": "binutils",
    "dpkg-shlibdeps": "dpkg-dev",
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "mmdebstrap": "mmdebstrap",
    "desktop-file-validate": "desktop-file-utils",
    "appstreamcli": "appstream",
    "mksquashfs": "squashfs-tools",
}
# Libraries with which Qt's plugins are linked, but which the window does not need: dpkg-shlibdeps must find them.
LINKED = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}


def main(steps: list[str]) -> None:
    """Execute the steps in their order; all of them if none is given."""
    if unknown := set(steps) - set(STEPS):
        stop(f"no step of this build: {', '.join(sorted(unknown))}. There are {', '.join(STEPS)}.")
    use_supported_python()
    began = time.monotonic()
    system_packages()
    prepare_machine()
    for step in STEPS:
        if not steps or step in steps:
            _STEPS[step]()
    say(f"done in {(time.monotonic() - began) / 60:.0f} min")


def prepare_machine() -> None:
    """Install the build's tools, or explain how to."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    missing = [package for program, package in NEEDED.items() if not shutil.which(program)]
    missing += [package for library, package in LINKED.items() if library not in known]
    pythons = [f"python{major}.{minor}" for major, minor in SUPPORTED]
    missing += [f"lib{p}" for p in pythons if Path("/usr/bin", p).exists() and f"lib{p}.so.1.0" not in known]
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid():
        stop(f"this machine lacks {', '.join(missing)}. On Debian: sudo {' '.join(command)}")
    say(f"installing {', '.join(missing)}")
    run("apt-get", "update", "-qq")
    run(*command, DEBIAN_FRONTEND="noninteractive")


def freeze() -> None:
    """Build the folder dist/glyphscope."""
    _need(_python(), "env")
    say("freezing the program")
    shutil.rmtree(PROGRAM, ignore_errors=True)
    spec = ROOT / "packaging" / "glyphscope.spec"
    folders = ("--workpath", BUILD / "work", "--distpath", DIST)
    run(
        _python(),
        "-m",
        "PyInstaller",
        "--noconfirm",
        "--log-level",
        "WARN",
        *folders,
        spec,
        PYTHONNOUSERSITE="1",
    )
    keep_one_of_each(PROGRAM)
    try:
        parts = collect(site_packages(), PROGRAM, PROGRAM / "licences")
    except UnknownLicence as error:
        stop(f"{error}. Say it in packaging/licences, or leave it out (packaging/contents.py).")
    folders_of_ours = [str(ROOT), str(Path.home() / ".cache"), str(Path.home() / ".pyenv")]
    if sys.prefix not in ("/usr", "/usr/local"):  # the system's prefix is in every program
        folders_of_ours.append(sys.prefix)
    run(_python(), ROOT / "packaging" / "traces.py", PROGRAM, *folders_of_ours)
    say(f"{PROGRAM.relative_to(ROOT)}: {_size(PROGRAM):.0f} MB, {len(parts)} licences")


def keep_one_of_each(program: Path) -> None:
    """Replace duplicates of llama.cpp's libraries, which are included under two names (opened and linked), by links."""
    folder = program / "_internal" / "llama_cpp" / "lib"
    for linked in folder.glob("*.so.0"):
        opened = linked.with_suffix("")
        if opened.exists() and not opened.is_symlink() and filecmp.cmp(opened, linked, shallow=False):
            opened.unlink()
            opened.symlink_to(linked.name)


def build_deb() -> None:
    """Build the `.deb` in dist/, after checking its menu entry and its description."""
    _need(PROGRAM, "freeze")
    say("building the .deb")
    linux = ROOT / "packaging" / "linux"
    run("desktop-file-validate", linux / "glyphscope.desktop")
    deb = make_deb(PROGRAM, _python(), _version(), BUILD, DIST)
    metainfo = BUILD / "deb" / "usr" / "share" / "metainfo" / METAINFO
    check = ("appstreamcli", "validate", "--no-net", str(metainfo))
    # the project has no host, so no homepage; versions before 1.0 do not ask for one, and do not know the option
    if subprocess.run(
        [*check, "--override=url-homepage-missing=info"], capture_output=True, check=False
    ).returncode:
        run(*check)
    say(f"{deb.relative_to(ROOT)}: {deb.stat().st_size / 1e6:.0f} MB")


def build_appimage() -> None:
    """Build the AppImage in dist/, if that is possible."""
    if reason := runtime_problem():
        say(f"no AppImage was built: {reason}")
        return
    _need(BUILD / "deb", "deb")
    say("building the AppImage")
    make_appimage(BUILD / "deb", BUILD, _appimage())
    say(f"{_appimage().relative_to(ROOT)}: {_appimage().stat().st_size / 1e6:.0f} MB")


def smoke() -> None:
    """Test the frozen folder."""
    _need(PROGRAM, "freeze")
    with tempfile.TemporaryDirectory(prefix="glyphscope-home-") as home:
        place = Place("frozen", str(PROGRAM / "glyphscope"), home=home)
        try_lines(place)
        try_window(place, PICTURES / "frozen.png")


def installed() -> None:
    """Test the `.deb`, and the AppImage if there is one, if that is possible."""
    if reason := why_not():
        say(f"the .deb was not tried in a Debian of its own: {reason}")
        return
    deb = DIST / f"glyphscope_{_version()}_{architecture()}.deb"
    _need(deb, "deb")
    make_root(BUILD / "root")
    try_installed(deb, BUILD / "root", PICTURES / "installed.png")
    if _appimage().exists():
        try_appimage(_appimage(), BUILD / "root", PICTURES / "appimage.png")
    shutil.rmtree(BUILD / "root")


def _need(path: Path, step: str) -> None:
    if not path.exists():
        stop(f"there is no {path.relative_to(ROOT)}: the step {step} makes it")


def _python() -> Path:
    return ENVIRONMENT / "bin" / "python"


def _appimage() -> Path:
    return DIST / f"Glyphscope-{_version()}-{platform.machine()}.AppImage"


def _version() -> str:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(data["project"]["version"])


def _size(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


_STEPS = {
    "env": make_environment,
    "freeze": freeze,
    "deb": build_deb,
    "appimage": build_appimage,
    "smoke": smoke,
    "installed": installed,
}

if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SmokeFailed as error:
        stop(str(error))
