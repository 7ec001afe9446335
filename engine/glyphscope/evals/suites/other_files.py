"""Files of other programs that are read as suites: detects the program of a file."""

from __future__ import annotations

from pathlib import Path

from glyphscope.errors import SuiteError
from glyphscope.evals.suites.imported import ImportedSuite, parse_json
from glyphscope.evals.suites.inspect_dataset import import_inspect, is_dataset
from glyphscope.evals.suites.promptfoo import import_promptfoo, is_promptfoo

ENDINGS = (".json", ".yaml", ".yml", ".jsonl", ".csv")
"""The extensions of files that can be read as suites; Glyphscope's own are JSON."""


def is_own(path: Path, data: bytes) -> bool:
    """Whether a file with that content is, or is meant as, a suite in Glyphscope's format, which can be edited."""
    return path.suffix.lower() not in ENDINGS[1:] and b'"glyphscope_suite"' in data


def import_other(path: Path, data: bytes) -> ImportedSuite | None:
    """The suite in a file of promptfoo or Inspect, whose content is `data`; None for any other file.

    Raises SuiteError for an error in the file.
    """
    ending = path.suffix.lower()
    if ending in (".yaml", ".yml"):
        return import_promptfoo(path)
    if ending in (".jsonl", ".csv"):
        return import_inspect(path)
    if is_own(path, data):
        return None
    try:
        document = parse_json(data.decode(), str(path))
    except (SuiteError, UnicodeDecodeError):
        return None  # an error that the reader of suites reports
    if is_promptfoo(document):
        return import_promptfoo(path)
    return import_inspect(path) if is_dataset(document) else None
