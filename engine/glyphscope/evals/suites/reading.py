"""Reading suite files: every error at once, each with line, column and JSON Pointer; no suite is read in part.

A suite that was read is complete: it includes a registry from a file beside it as a document, and the texts of its
Python files, so that a saved copy can be run anywhere.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path as FilePath
from typing import Any

import msgspec

from glyphscope.base import resources
from glyphscope.base.errors import (
    GlyphscopeError,
    PlacedProblem,
    Problem,
    RegistryError,
    StorageError,
    SuiteError,
)
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import named_file, read_file, utf8_text
from glyphscope.base.lines import Lines
from glyphscope.base.pointer import Path, steps_of, to_pointer
from glyphscope.base.shorten import listed
from glyphscope.base.structs import ready
from glyphscope.evals.checking.service import CheckFailed, functions_of
from glyphscope.evals.suites import rules
from glyphscope.evals.suites.imported import import_other
from glyphscope.evals.suites.registries import KnownTools, only_allowed, open_registry, registry_document, why
from glyphscope.evals.suites.structure import Found, problems_of
from glyphscope.evals.suites.suite import (
    MAX_BYTES,
    MAX_SCENARIOS,
    VERSION,
    CheckRow,
    Scenario,
    SizeRow,
    Suite,
    expectations,
)
from glyphscope.events import CALL, Answer, described_answer
from glyphscope.registry import ToolRegistry
from glyphscope.registry.document import parse_text, plain
from glyphscope.registry.places import find_places

MAX_PROBLEMS = 1_000
"""Problems reported for one suite; more are usually one error repeated many times."""

STARTER = "starter"
"""The bundled suite for a first evaluation: small, and with a result that shows what the mask does."""

MAX_SOURCE = 1_000_000
"""Bytes of a Python file, or of the file of an answer, that a suite names."""

_FOLDER, _SUFFIX = "suites", ".json"
_KEY = "glyphscope_suite"
_PARTS: dict[str, Any] = {"scenarios": Scenario, "checks": CheckRow, "sizes": SizeRow}


def bundled_suites() -> list[str]:
    """The names of the bundled suites."""
    return [name.removesuffix(_SUFFIX) for name in resources.names(_FOLDER, _SUFFIX)]


def load_suite(source: str | FilePath) -> Suite:
    """A bundled suite by its name, or the suite in a file, also of another program: its notes then list the parts
    that were not imported. Raises SuiteError with every error, and StorageError.
    """
    if isinstance(source, str) and source in bundled_suites():
        return parse_suite(resources.read_bytes(f"{_FOLDER}/{source}{_SUFFIX}"), where=source)
    path = FilePath(source)
    data = _read_suite(path)
    imported = import_other(path, data)
    return parse_suite(data, where=str(source), folder=path.parent) if imported is None else imported.suite


def parse_suite(text: str | bytes, *, where: str = "", folder: FilePath | None = None) -> Suite:
    """The suite in a JSON text; files are searched for below `folder`. Raises SuiteError."""
    try:
        document = parse_text(text, where)
    except RegistryError as error:
        raise SuiteError(error.message, where=where, hint=error.hint) from None
    copy, found = plain(document)
    if found:
        raise _error([(problem.pointer, problem.message) for problem in found], text, where)
    reading = _Reading(folder)
    problems = list(islice(reading.problems(copy), MAX_PROBLEMS + 1))
    if problems:
        raise _error([(to_pointer(path), message) for path, message in problems], text, where)
    return reading.suite(copy)


def check_suite(suite: Suite) -> tuple[Problem, ...]:
    """Every error in a suite that a program made, at most `MAX_PROBLEMS`; empty if there is none."""
    document, found = plain(msgspec.to_builtins(suite))
    if found:
        return tuple(found)
    problems = islice(_Reading(None).problems(document), MAX_PROBLEMS)
    return tuple(Problem(to_pointer(path), message) for path, message in problems)


def encode_suite(suite: Suite) -> bytes:
    """The suite's file: JSON, indented, with a line end."""
    return msgspec.json.format(msgspec.json.encode(suite), indent=1) + b"\n"


def given_answer(given: Any, read: Callable[[str], str]) -> Answer:
    """An answer as a suite may give it: described, or a schema. `read` returns the text of a file.

    Raises GlyphscopeError.
    """
    if isinstance(given, str):
        return described_answer(given, read)
    if isinstance(given, dict) and [*given] == ["schema"]:
        return Answer("schema", json.dumps(given["schema"], ensure_ascii=False))
    raise GlyphscopeError(
        "This does not describe an answer.",
        hint='Write a text, such as "choice:yes|no" or "schema:FILE", or {"schema": {…}}.',
    )


def suite_registry(suite: Suite, scenario: Scenario | None, folder: FilePath | None = None) -> ToolRegistry:
    """The tools of a scenario, or of the suite's checks and sizes: the scenario's own registry in place of the suite's,
    and its `tools` as the allow list. Raises RegistryError and StorageError.
    """
    if scenario is None:
        return open_registry(suite.registry, folder)
    source = suite.registry if scenario.registry is None else scenario.registry
    return only_allowed(open_registry(source, folder), scenario.tools)


@dataclass
class _Reading:
    """One suite being read; `answer` is what it says of its scenarios' answers.

    Files that are named repeatedly are read once: registries as tools, or the reasons why they cannot be used (JSON
    Pointers and sentences), and as documents; the problem of each function; sources by file.
    """

    folder: FilePath | None
    answer: Answer = CALL
    _opened: dict[str, tuple[KnownTools | None, list[tuple[str, str]]]] = field(default_factory=dict)
    _documents: dict[str, str | dict[str, Any]] = field(default_factory=dict)
    _functions: dict[str, str] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict)

    def problems(self, document: Any) -> Iterator[Found]:
        if not isinstance(document, dict):
            yield (), 'A suite is a JSON object: {"glyphscope_suite": 1, "name": …, "scenarios": […]}.'
            return
        version = document.get(_KEY)
        if isinstance(version, int) and not isinstance(version, bool) and version != VERSION:
            yield (_KEY,), _wrong_version(version)
            return
        yield from self._answers(document)
        broken: set[Path] = set()
        for path, message in problems_of(Suite, document):
            broken.add(path[:2] if path[:1] and path[0] in _PARTS else path[:1])
            yield path, message
        if ("sources",) not in broken:
            self._sources = document.get("sources", {})
        if ("answer",) not in broken:
            self.answer = msgspec.convert(document.get("answer"), ready(Answer | None)) or CALL
        if not broken & {(name,) for name in ("name", "request", "registry", *_PARTS)}:
            yield from self._whole_problems(document)
        yield from self._parts_problems(document, broken)

    def _answers(self, document: dict[str, Any]) -> Iterator[Found]:
        """Replace each answer that is described by the answer itself, with the text of its file; those that cannot be
        read are taken out, and are the problems.
        """
        scenarios = document.get("scenarios")
        parts = enumerate(scenarios if isinstance(scenarios, list) else ())
        for at, part in (((), document), *((("scenarios", index), each) for index, each in parts)):
            given = part.get("answer") if isinstance(part, dict) else None
            if given is None or (isinstance(given, dict) and "schema" not in given):
                continue
            try:
                part["answer"] = msgspec.to_builtins(given_answer(given, self._answer_file))
            except GlyphscopeError as error:
                del part["answer"]
                yield (*at, "answer"), error.words

    def _answer_file(self, name: str) -> str:
        """Raises StorageError and SuiteError."""
        if self.folder is None:
            raise SuiteError(f"The file {name} cannot be read: the suite has no folder.")
        path = named_file(self.folder, name)
        return utf8_text(
            read_file(path, MAX_SOURCE, "an answer's description", error=SuiteError), name, hint="Save it as UTF-8.",
            error=SuiteError,
        )  # fmt: skip

    def suite(self, document: dict[str, Any]) -> Suite:
        """The suite of a document without errors, including the files that it names. Raises SuiteError."""
        suite = msgspec.convert(document, ready(Suite))
        named = Counter(each.registry for each in suite.scenarios if isinstance(each.registry, str))
        sizes = (times * len(msgspec.json.encode(self._registry(source))) for source, times in named.items())
        if (together := sum(sizes)) > MAX_BYTES:
            raise SuiteError(
                f"The registries that the scenarios name have {byte_size(together)} together.",
                hint="Name one for the suite, or split the suite.",
            )
        scenarios = tuple(
            msgspec.structs.replace(each, registry=self._registry(each.registry))
            if isinstance(each.registry, str)
            else each
            for each in suite.scenarios
        )
        return msgspec.structs.replace(
            suite,
            registry=self._registry(suite.registry),
            scenarios=scenarios,
            sources=with_sources(suite, self.folder),
        )

    def _registry(self, source: str | dict[str, Any]) -> str | dict[str, Any]:
        if isinstance(source, dict):
            return source
        if source not in self._documents:
            self._documents[source] = registry_document(source, self.folder)
        return self._documents[source]

    def _whole_problems(self, document: dict[str, Any]) -> Iterator[Found]:
        yield from rules.name_problems(document.get("name", "x"), ("name",))
        known, problems = self._tools(document.get("registry", "default"), ("registry",))
        yield from problems
        yield from rules.request_problems(document.get("request", {}), known, ("request",))
        if wrong := rules.answer_problem(self.answer):
            yield ("answer",), wrong
        if not any(document.get(name) for name in _PARTS):
            yield (), "The suite asks nothing: it has no scenarios, no checks and no sizes."
        number = len(document.get("scenarios") or ())
        if number > MAX_SCENARIOS:
            yield ("scenarios",), f"There are {number:,} scenarios; at most {MAX_SCENARIOS:,} are read."

    def _parts_problems(self, document: dict[str, Any], broken: set[Path]) -> Iterator[Found]:
        source = document.get("registry", "default")
        usable = ("registry",) not in broken and isinstance(source, str | dict)
        known = self._tools(source, ())[0] if usable else None
        for name, kind in _PARTS.items():
            if (name,) in broken or not isinstance(document.get(name, []), list):
                continue
            seen: dict[str, int] = {}
            for index, part in enumerate(islice(document.get(name, ()), MAX_SCENARIOS)):
                at = (name, index)
                id_of = part.get("id") if isinstance(part, dict) else None
                if isinstance(id_of, str) and (first := seen.setdefault(id_of, index)) != index:
                    yield (*at, "id"), f"{to_pointer((name, first))} has this id as well."
                if at not in broken:
                    yield from self._part_problems(kind, part, known, at)

    def _part_problems(self, kind: Any, part: Any, known: KnownTools | None, at: Path) -> Iterator[Found]:
        try:
            struct = msgspec.convert(part, ready(kind))
        except (ValueError, RecursionError) as error:  # errors that `problems_of` does not check
            yield at, f"{error}."
            return
        if isinstance(struct, CheckRow):
            yield from rules.check_problems(struct, at)
        elif isinstance(struct, SizeRow):
            yield from rules.size_problems(struct, known, at)
        else:
            own = known
            if struct.registry is not None:
                own, problems = self._tools(struct.registry, (*at, "registry"))
                yield from problems
            if own is not None and struct.tools is not None:
                own = own.only(struct.tools)
            yield from rules.scenario_problems(struct, own, at, self.answer)
            yield from self._function_problems(struct, at)

    def _function_problems(self, scenario: Scenario, at: Path) -> Iterator[Found]:
        """The problems of Python functions that cannot be found."""
        for turn, expect in enumerate(expectations(scenario)):
            place = (*at, "turns", turn - 1, "expect") if turn else (*at, "expect")
            for index, check in enumerate(expect.python):
                if check.function not in self._functions:
                    problem = function_problem(check.function, self.folder, self._sources)
                    self._functions[check.function] = problem
                if self._functions[check.function]:
                    yield (*place, "python", index, "function"), self._functions[check.function]

    def _tools(self, source: str | dict[str, Any], at: Path) -> tuple[KnownTools | None, list[Found]]:
        """The tools of the registry at that place; if it cannot be read, None and the reasons."""
        if isinstance(source, dict):
            known, reasons = _opened(source, self.folder)
        else:
            if source not in self._opened:
                self._opened[source] = _opened(source, self.folder)
            known, reasons = self._opened[source]
            if reasons:  # places in another file
                listed = "; ".join(
                    f"{pointer}: {message}" if pointer else message for pointer, message in reasons[:3]
                )
                reasons = [("", listed)]
        return known, [((*at, *steps_of(pointer)), message) for pointer, message in reasons]


def _opened(
    source: str | dict[str, Any], folder: FilePath | None
) -> tuple[KnownTools | None, list[tuple[str, str]]]:
    """The tools, or their errors: pointers and sentences."""
    try:
        return KnownTools(open_registry(source, folder)), []
    except (RegistryError, StorageError) as error:
        return None, why(error)


def _read_suite(path: FilePath) -> bytes:
    try:
        return read_file(path, MAX_BYTES, "a suite", hint="Split it into several suites.", error=SuiteError)
    except SuiteError as failure:
        if not isinstance(failure.__cause__ and failure.__cause__.__cause__, FileNotFoundError):
            raise
    known = ", ".join(bundled_suites())
    raise SuiteError(
        "There is no such suite.", where=str(path), hint=f"Give a file, or a bundled suite: {known}."
    )


def _wrong_version(version: int) -> str:
    if version > VERSION:
        return f"The suite is of version {version}, and this program reads version {VERSION}: a newer one is needed."
    return f"There is no version {version} of suites; this one is {VERSION}."


def _error(found: list[tuple[str, str]], text: str | bytes, where: str) -> SuiteError:
    """The errors at their places, in the order of the text."""
    more = len(found) > MAX_PROBLEMS
    found = found[:MAX_PROBLEMS]
    text = (text.decode("utf-8") if isinstance(text, bytes) else text).removeprefix("\ufeff")
    starts = [place.start for place in find_places(text, [pointer for pointer, _ in found])]
    lines = Lines(text)
    problems = [
        PlacedProblem(pointer, message, *lines.place(start))
        for start, (pointer, message) in sorted(zip(starts, found, strict=True), key=lambda each: each[0])
    ]
    number = f"more than {MAX_PROBLEMS:,} errors" if more else f"{len(found)} errors"
    return SuiteError(
        f"The suite has {'an error' if len(found) == 1 else number}.", where=where, problems=tuple(problems)
    )


# the Python files of a suite


def split_function(function: str) -> tuple[str, str]:
    """File and name. Raises SuiteError for anything but `FILE.py:NAME`."""
    file, _, name = function.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise SuiteError(
            "Not a Python function.", hint="Write FILE.py:NAME, for example checks.py:is_polite."
        )
    return file, name


def read_source(file: str, folder: FilePath | None, kept: dict[str, str]) -> str:
    """The text of the file below the suite's folder if there is one, otherwise the text saved in the suite.

    Raises SuiteError, and StorageError for a file outside of the folder.
    """
    path = None if folder is None else _source_file(folder, file)
    if path is None:
        if file in kept:
            return kept[file]
        if folder is not None:
            named_file(folder, file)  # raises, for a file outside of the folder
        where = "" if folder is None else f" ({folder})"
        raise SuiteError(
            f"There is no file {file}.", hint=f"Its path is relative to the suite's folder{where}."
        )
    data = read_file(path, MAX_SOURCE, "a file of checks", error=SuiteError)
    return utf8_text(data, file, hint="Save it as UTF-8.", error=SuiteError)


def function_problem(function: str, folder: FilePath | None, kept: dict[str, str]) -> str:
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


def with_sources(suite: Suite, folder: FilePath | None) -> dict[str, str]:
    """The texts of all files that the suite's scenarios name. Raises SuiteError."""
    files = dict.fromkeys(
        check.function.rpartition(":")[0]
        for scenario in suite.scenarios
        for expect in expectations(scenario)
        for check in expect.python
    )
    return {file: read_source(file, folder, suite.sources) for file in files}


def unread_sources(suite: Suite, folder: FilePath) -> dict[str, str]:
    """The saved texts without a file: an existing file is read each time, and needs no copy in the suite."""
    return {file: text for file, text in suite.sources.items() if _source_file(folder, file) is None}


def _source_file(folder: FilePath, name: str) -> FilePath | None:
    """The path of a file below the folder; None if there is no such file."""
    try:
        path = named_file(folder, name)
        return path if path.is_file() else None
    except (OSError, StorageError):  # a name that is too long, an inaccessible folder, a file outside of it
        return None
