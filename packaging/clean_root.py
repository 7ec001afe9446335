"""Test the `.deb` and the AppImage on a machine without our Python: a temporary Debian root, made for this test.

The package is installed with only its dependencies, used by an unprivileged user, reinstalled and removed; no file may
remain. Needs root (chroot) and mmdebstrap; packages are from the Debian archive for which apt is configured.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import subprocess
from pathlib import Path

from setup_env import run, say
from smoke import USER, Place, SmokeFailed, try_lines
from smoke_window import try_window

TOOLS = ("desktop-file-utils", "libglib2.0-bin", "shared-mime-info", "xdotool", "xvfb")
"""Packages in addition to the essential ones: a virtual screen, simulated input, and the MIME and menu databases."""

TYPES = {
    "a.glyphscope": "application/x-glyphscope-project",
    "a.glyphrun": "application/x-glyphscope-run",
    "a.gbnf": "text/x-gbnf",
}


def why_not() -> str:
    """The reason why the test cannot run here; empty if it can."""
    if os.geteuid():
        return "that takes root, to make and enter a Debian of its own"
    return "" if shutil.which("mmdebstrap") else "mmdebstrap is not installed"


def make_root(root: Path) -> None:
    """Install a Debian of this machine's release in that folder, with `TOOLS`."""
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    shutil.rmtree(root, ignore_errors=True)
    say(f"making a Debian {suite} to install the package in")
    run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(TOOLS)}", suite, root)
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")


def try_installed(deb: Path, root: Path, picture: Path) -> None:
    """Test in a root made by `make_root`, where the package's dependencies stay. Raises SmokeFailed."""
    shutil.copy(deb, root / "tmp")
    place = Place("installed", "/usr/bin/glyphscope", root)
    _apt(place, "update")
    _install(place, deb)
    if found := sorted(path.name for path in (root / "usr" / "bin").glob("python3*")):
        raise SmokeFailed(f"the package brings a Python of the system's along: {', '.join(found)}")
    home = place.outside(place.home)
    home.mkdir(exist_ok=True)
    os.chown(home, USER, USER)
    try_lines(place)
    try_window(place, picture)
    _check_types(place)
    _install(place, deb)  # over itself, like an update
    _apt(place, "remove", "-y", "glyphscope")
    if left := [str(path) for path in (root / "usr").rglob("*glyphscope*")]:
        raise SmokeFailed(f"after its removal there are still {', '.join(left[:5])}")
    say("installed, used, installed again and removed: nothing is left of it")


def try_appimage(file: Path, root: Path, picture: Path) -> None:
    """Test as an unprivileged user in a root that `try_installed` has left, which has the libraries of a desktop.

    The file is mounted by FUSE, as on a desktop. Raises SmokeFailed.
    """
    place = Place("AppImage", f"/tmp/{file.name}", root, home="/tmp/appimage-home")
    _apt(place, "install", "-y", "--no-install-recommends", "fuse3")
    shutil.copy(file, root / "tmp")
    home, device = place.outside(place.home), root / "dev" / "fuse"
    home.mkdir()
    os.chown(home, USER, USER)
    with (root / "etc" / "passwd").open(
        "a"
    ) as users:  # fusermount3 asks for the name, and for the table of mounts
        users.write(f"user:x:{USER}:{USER}::{place.home}:/bin/sh\n")
    (root / "etc" / "mtab").symlink_to("../proc/self/mounts")
    if not device.exists():
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(10, 229))
        device.chmod(0o666)
    try_lines(place)
    try_window(place, picture)
    say("the AppImage was used")


def _install(place: Place, deb: Path) -> None:
    _apt(place, "install", "-y", "--no-install-recommends", "--reinstall", f"/tmp/{deb.name}")


def _apt(place: Place, *words: str) -> None:
    command = place.command("apt-get", "-q", *words, user=False)
    environment = place.environment(DEBIAN_FRONTEND="noninteractive", HOME="/root")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SmokeFailed(f"apt-get {' '.join(words)}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def _check_types(place: Place) -> None:
    for name, kind in TYPES.items():
        file = f"{place.home}/{name}"
        place.outside(file).write_text("{}\n")
        asked = place.command("gio", "info", "-a", "standard::content-type", file)
        reported = subprocess.run(
            asked, env=place.environment(), capture_output=True, text=True, check=False
        ).stdout
        if kind not in reported:
            raise SmokeFailed(f"{name} is not known as {kind}: {reported.strip()}")
    menu = place.outside("/usr/share/applications/mimeinfo.cache").read_text()
    if missing := [kind for kind in TYPES.values() if f"{kind}=glyphscope.desktop" not in menu]:
        raise SmokeFailed(f"the menu entry does not open {', '.join(missing)}")
