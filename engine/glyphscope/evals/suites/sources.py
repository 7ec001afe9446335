"""The Python files of a suite: read with the suite, so that its saved copy can be run again anywhere."""

from __future__ import annotations

from pathlib import Path

from glyphscope.errors import GlyphscopeError, StorageError, SuiteError
from glyphscope.evals.checking.service import CheckFailed, functions_of
from glyphscope.evals.suites.suite import Suite, expectations
from glyphscope.inputs import named_file, read_file, utf8_text
from glyphscope.text.shorten import listed

MAX_BYTES = 1_000_000
SUFFIX = ".py"


def split_function(function: str) -> tuple[str, str]:
    """File and name. Raises SuiteError for anything but `FILE.py:NAME`."""
    file, _, name = function.rpartition(":")
    if not file.endswith(SUFFIX) or not name.isidentifier():
        raise SuiteError(
            "Not a Python function.", hint="Write FILE.py:NAME, for example checks.py:is_polite."
        )
    return file, name


def read_source(file: str, folder: Path | None, kept: dict[str, str]) -> str:
    """The text of the file below the suite's folder if there is one, otherwise the text saved in the suite.

    Raises SuiteError, and StorageError for a file outside of the folder.
    """
    path = None if folder is None else _file(folder, file)
    if path is None:
        if file in kept:
            return kept[file]
        if folder is not None:
            named_file(folder, file)  # raises, for a file outside of the folder
        where = "" if folder is None else f" ({folder})"
        raise SuiteError(
            f"There is no file {file}.", hint=f"Its path is relative to the suite's folder{where}."
        )
    data = read_file(path, MAX_BYTES, "a file of checks", error=SuiteError)
    return utf8_text(data, file, hint="Save it as UTF-8.", error=SuiteError)


def function_problem(function: str, folder: Path | None, kept: dict[str, str]) -> str:
    """The reason why a suite cannot name this function; empty if it can. The file is parsed, not run."""
    try:
        file, name = split_function(function)
        known = functions_of(read_source(file, folder, kept))
    except GlyphscopeError as error:
        return error.words
    except CheckFailed as failed:
        return f"{file} cannot be read as Python: {failed.message}."
    if name not in known:
        there = f"It has {listed(known, 20)}." if known else "It has no functions."
        return f"{file} has no function {name}. {there}"
    return ""


def with_sources(suite: Suite, folder: Path | None) -> dict[str, str]:
    """The texts of all files that the suite's scenarios name. Raises SuiteError."""
    files = dict.fromkeys(
        check.function.rpartition(":")[0]
        for scenario in suite.scenarios
        for expect in expectations(scenario)
        for check in expect.python
    )
    return {file: read_source(file, folder, suite.sources) for file in files}


def unread_sources(suite: Suite, folder: Path) -> dict[str, str]:
    """The saved texts without a file: an existing file is read each time, and needs no copy in the suite."""
    return {file: text for file, text in suite.sources.items() if _file(folder, file) is None}


def _file(folder: Path, name: str) -> Path | None:
    """The path of a file below the folder; None if there is no such file."""
    try:
        path = named_file(folder, name)
        return path if path.is_file() else None
    except (OSError, StorageError):  # a name that is too long, an inaccessible folder, a file outside of it
        return None
