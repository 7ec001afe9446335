"""The user's own suites: one file for each in one folder. Only valid suites are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

import msgspec

from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites.reading import (
    bundled_suites,
    encode_suite,
    load_suite,
    parse_suite,
    unread_sources,
)
from glyphscope.evals.suites.suite import PROMPT_MEMBERS, VERSION, Scenario, Suite
from glyphscope.store.files import atomic_write

_SUFFIX = ".json"


def own_suites(folder: Path) -> list[Path]:
    """The files in the folder, by name; empty if there is no folder."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == _SUFFIX and path.is_file())
    except OSError:
        return []


def suite_path(folder: Path, name: str) -> Path:
    """The path of the suite of that name. Raises SuiteError for an invalid name, or a bundled suite's."""
    slug = re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80]
    if not slug:
        raise SuiteError("A suite needs a name of letters or digits.", where=name)
    if slug in bundled_suites():
        raise SuiteError(f'"{slug}" is the name of a bundled suite.', hint="Choose another name.")
    return folder / f"{slug}{_SUFFIX}"


def keep_suite(path: Path, suite: Suite) -> None:
    """Save a suite. Raises SuiteError with every error (nothing is written then), and StorageError."""
    suite = msgspec.structs.replace(suite, sources=unread_sources(suite, path.parent))
    data = encode_suite(suite)
    parse_suite(data, where=suite.name, folder=path.parent)
    atomic_write(path, data)


def add_scenario(path: Path, scenario: Scenario) -> Scenario:
    """Add a scenario to the end of a suite, a new one if there is no file; returns it with its id in the suite.

    The first scenario's tools and strategy become the suite's, so that the arms of an evaluation can replace the
    strategy. A new suite uses the prompt, template and sampling of the project that it is evaluated with; a scenario of
    such a suite states none. Raises SuiteError and StorageError.
    """
    if path.exists():
        suite = load_suite(path)
    else:
        suite = Suite(
            glyphscope_suite=VERSION,
            name=path.stem,
            about="",
            registry=scenario.registry if scenario.registry is not None else "default",
            strategy=scenario.request.get("strategy", "direct"),
            project=True,
        )
    members = {
        name: value
        for name, value in scenario.request.items()
        if not (suite.project and name in PROMPT_MEMBERS)
    }
    if members.get("strategy") == suite.strategy:
        del members["strategy"]
    added = msgspec.structs.replace(
        scenario,
        id=free_id(suite.scenarios, scenario.id),
        registry=None if scenario.registry == suite.registry else scenario.registry,
        request=members,
    )
    keep_suite(path, msgspec.structs.replace(suite, scenarios=(*suite.scenarios, added)))
    return added


def free_id(scenarios: Sequence[Scenario], id: str) -> str:
    """The id itself, or the id with the first free number after it."""
    taken = {each.id for each in scenarios}
    names = chain((id,), (f"{id}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken)
