"""The AppImage of the frozen program: one file that runs from any folder, without being installed.

It is a runtime of the AppImage project, which mounts the rest of the file, and a compressed file system with the
files of the `.deb`. The runtime comes from the person who builds: nothing is downloaded here.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from setup_env import run

RUNTIME = "APPIMAGE_RUNTIME"
"""The variable with the path of a runtime of type 2 for this processor."""
_MAGIC = b"AI\x02"


def runtime_problem() -> str:
    """The reason why no AppImage can be built here; empty if one can."""
    named = os.environ.get(RUNTIME, "")
    if not named:
        return (
            f"{RUNTIME} is not set: give the path of the AppImage project's type2 runtime for this processor"
        )
    try:
        with open(named, "rb") as file:
            begins = file.read(11)
    except OSError as error:
        return f"{named}: {error.strerror}"
    return "" if begins[:4] == b"\x7fELF" and begins[8:] == _MAGIC else f"{named} is no runtime of type 2"


def make_appimage(tree: Path, build: Path, file: Path) -> None:
    """Write the AppImage of the files that `make_deb` laid out in `tree`."""
    folder, packed = build / "Glyphscope.AppDir", build / "appimage.squashfs"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tree / "usr", folder / "usr", symlinks=True, copy_function=os.link)
    for name, target in (
        ("AppRun", "usr/bin/glyphscope"),
        ("glyphscope.desktop", "usr/share/applications/glyphscope.desktop"),
        ("glyphscope.png", "usr/share/icons/hicolor/256x256/apps/glyphscope.png"),
        (".DirIcon", "glyphscope.png"),
    ):
        (folder / name).symlink_to(target)
    options = ("-quiet", "-no-progress", "-noappend", "-root-owned", "-no-xattrs", "-comp", "zstd")
    run("mksquashfs", folder, packed, *options)
    with file.open("wb") as whole:
        for part in (Path(os.environ[RUNTIME]), packed):
            with part.open("rb") as opened:
                shutil.copyfileobj(opened, whole)
    file.chmod(0o755)
    packed.unlink()
