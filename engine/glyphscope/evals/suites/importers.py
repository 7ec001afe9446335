"""Files of other programs that are read as suites, each by the plug-in that recognises it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from glyphscope.errors import SuiteError
from glyphscope.evals.suites.imported import ImportedSuite, parse_json
from glyphscope.plugins import Group

OWN_KEY = b'"glyphscope_suite"'
"""The member that every suite has in Glyphscope's format."""


class Importer(NamedTuple):
    """Reads files of one program as suites. Files with one of the `endings` are all its; of JSON documents,
    `recognises` says which. `read` raises SuiteError for a file with an error, and StorageError.
    """

    read: Callable[[Path], ImportedSuite]
    recognises: Callable[[Any], bool]
    endings: tuple[str, ...] = ()


IMPORTERS: Group[Importer] = Group("glyphscope.importers", Importer)


def endings() -> tuple[str, ...]:
    """The extensions of files that can be read as suites; Glyphscope's own are JSON."""
    others = (ending for _, importer in IMPORTERS.all() for ending in importer.endings)
    return tuple(dict.fromkeys((".json", *others)))


def is_own(path: Path, data: bytes) -> bool:
    """Whether a file with that content is, or is meant as, a suite in Glyphscope's format, which can be edited."""
    ending = path.suffix.lower()
    return OWN_KEY in data and (ending == ".json" or ending not in endings())


def import_other(path: Path, data: bytes) -> ImportedSuite | None:
    """The suite in a file of another program, whose content is `data`; None for any other file.

    Raises SuiteError for an error in the file.
    """
    if is_own(path, data):
        return None
    ending, importers = path.suffix.lower(), [importer for _, importer in IMPORTERS.all()]
    found = next((each for each in importers if ending in each.endings), None)
    if found is None:
        try:
            document = parse_json(data.decode(), str(path))
        except (SuiteError, UnicodeDecodeError):
            return None  # an error that the reader of suites reports
        found = next((each for each in importers if each.recognises(document)), None)
    return None if found is None else found.read(path)
