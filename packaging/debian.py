"""Facts about the libraries of this Debian system."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path


@cache
def library_places() -> dict[str, Path]:
    """The file that the dynamic linker finds for each library's name."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    lines = [line.split() for line in listed.splitlines() if "=>" in line]
    return {Path(words[-1]).name: Path(words[-1]) for words in lines}


def package_of(library: str) -> str:
    """The package that contains a library of this name; empty if there is none."""
    path = library_places().get(library)
    if path is None:
        return ""
    for place in (path, path.resolve(), Path("/usr", *path.parts[1:])):  # dpkg knows one of these
        asked = ["dpkg-query", "-S", str(place)]
        found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        if found:
            return found.partition(":")[0]
    return ""


def system_libraries(program: Path) -> list[str]:
    """The libraries at the top level of the frozen program: those copied from the system, and Python's."""
    return sorted(file.name for file in (program / "_internal").glob("lib*.so*") if not file.is_symlink())
