"""Collect the licences of everything in the frozen program when it is built: a folder of texts and an overview.

Python packages have licences in their dist-info, system libraries in the Debian `copyright` of their package; texts for
files with neither are in the folder `licences` beside this file. A file with an unknown licence fails the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from contents import NOT_FROZEN
from debian import package_of, system_libraries

OURS = Path(__file__).parent / "licences"
COMMON = Path("/usr/share/common-licenses")
_TEXT = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)
# licences to which our own notes refer
_REFERRED = ("Apache-2.0", "GPL-3", "LGPL-3")


@dataclass(frozen=True)
class Part:
    """A shipped part. `texts` are files below the folder of licences."""

    name: str
    version: str
    licence: str
    texts: tuple[str, ...]


class UnknownLicence(Exception):
    """The origin of a file in the program is unknown."""


def collect(environment: Path, program: Path, target: Path) -> list[Part]:
    """Copy the texts to `target`, and write OVERVIEW.txt there. Raises UnknownLicence."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in _REFERRED:
        shutil.copy(COMMON / name, target / f"{name}.txt")
    parts = [
        *_noted(target),
        *_python_packages(environment, target),
        *_from_the_system(program, target),
    ]
    parts.sort(key=lambda part: part.name.lower())
    (target / "OVERVIEW.txt").write_text(overview(parts), encoding="utf-8")
    return parts


def overview(parts: Sequence[Part]) -> str:
    """A line for each part: name, version, the licence as given by its authors, and the place of the text."""
    lines = [
        "Glyphscope is under the Apache License, version 2.0. With it come, under their own licences:",
        "",
    ]
    for part in parts:
        lines.append(f"{part.name} {part.version}".strip())
        lines.append(f"    {part.licence}: {', '.join(part.texts)}")
    return "\n".join(lines) + "\n"


def _noted(target: Path) -> Iterator[Part]:
    about = {
        "llama.cpp": "MIT",
        "Qt": "LGPL-3.0-only",
        "SmolLM2": "Apache-2.0",
    }
    for file in sorted(OURS.glob("*.txt")):
        shutil.copy(file, target)
        if file.stem in about:  # the others are of Python packages
            yield Part(file.stem, "", about[file.stem], (file.name,))


def _python_packages(environment: Path, target: Path) -> Iterator[Part]:
    for found in distributions(path=[str(environment)]):
        name = found.metadata["Name"]
        if name.lower() in NOT_FROZEN and name.lower() != "pyinstaller":  # its start program is included
            continue
        texts = tuple(_texts_of(found, name, target))
        licence = _licence_of(found)
        if not texts and name != "glyphscope":
            texts = (_referred(name, licence),)
        yield Part(name, found.version, licence, texts or ("Apache-2.0.txt",))


def _texts_of(found: Distribution, name: str, target: Path) -> Iterator[str]:
    for file in found.files or ():
        if not file.parts[0].endswith(".dist-info") or not _TEXT.search("/".join(file.parts[1:])):
            continue
        place = Path(name, *file.parts[1:])
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(str(found.locate_file(file)), target / place)
        yield str(place)


def _licence_of(found: Distribution) -> str:
    data = found.metadata
    declared = data.get("License-Expression") or data.get("License") or ""
    if declared and declared != "UNKNOWN" and len(declared.splitlines()) == 1:
        return declared
    classes = [
        each.rpartition(" :: ")[2] for each in data.get_all("Classifier", []) if each.startswith("License")
    ]
    return ", ".join(classes) or "see its text"


def _referred(name: str, licence: str) -> str:
    """The text for a package that does not contain one."""
    if (OURS / f"{name}.txt").is_file():
        return f"{name}.txt"
    if licence.startswith("LGPL-3.0-only"):
        return "Qt.txt"
    if licence == "Apache-2.0":
        return "Apache-2.0.txt"
    raise UnknownLicence(f"{name} is shipped under {licence}, and its package has no text of it")


def _from_the_system(program: Path, target: Path) -> Iterator[Part]:
    """Python, and the libraries with which it was linked on this machine."""
    done = set()
    for library in system_libraries(program):
        package = package_of(library) or (_PYTHON if library.startswith("libpython") else "")
        if not package:
            raise UnknownLicence(f"{library}: of no package of this system")
        if package not in done:
            done.add(package)
            yield _system_part(package, target)


def _system_part(package: str, target: Path) -> Part:
    place = f"{package}.txt"
    if package == _PYTHON:
        text = Path(
            sys.base_prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "LICENSE.txt"
        )
        shutil.copy(text, target / place)
        return Part("Python", sys.version.split()[0], "PSF-2.0", (place,))
    shutil.copy(Path("/usr/share/doc", package, "copyright"), target / place)
    asked = ["dpkg-query", "-W", "-f", "${Version}", package]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return Part(package, version, "as Debian tells", (place,))


_PYTHON = "python"
