"""Suites made from other programs' files: the common parts of all importers, and the list of all skipped parts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import PlacedProblem, RegistryError, StorageError, SuiteError
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.plugins import PluginGroup
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.evals.suites.registries import KnownTools, open_registry, registry_document
from glyphscope.evals.suites.rules import answer_problem, scenario_problems
from glyphscope.evals.suites.suite import MAX_SCENARIOS, VERSION, Expectation, Scenario, ScriptedResult, Suite
from glyphscope.events import CALL, Answer, Message
from glyphscope.prompting.message_list import ROLES
from glyphscope.registry.document import parse_text, plain

NOT_IMPORTED = "Not imported"
"""The beginning of a suite's notes on parts of the file that it was made from."""
NO_TOOLS: dict[str, Any] = {"glyphscope": 1, "tools": []}
DONE = "Done."
"""The answer to calls of tools that nothing can execute."""
_SPARE_TURNS = 4
"""Turns in addition to one for each expected call: the answer, and some invalid turns."""
_MAX_NOTES = 20


class NotReadable(Exception):
    """The reason why a part cannot be imported, as a sentence."""


@dataclass(frozen=True)
class SkippedEntry:
    """A part that was not imported: its id or its place (a JSON Pointer, or a line), and the reason."""

    id: str
    reason: str


@dataclass(frozen=True)
class ImportedSuite:
    suite: Suite
    left_out: tuple[SkippedEntry, ...]


@dataclass
class Importing:
    """A suite that is being made from a file."""

    path: Path
    registry: str | dict[str, Any]
    scenarios: list[Scenario] = field(default_factory=list)
    skipped: dict[SkippedEntry, None] = field(default_factory=dict)
    _lost: dict[SkippedEntry, None] = field(default_factory=dict)
    _harmless: set[SkippedEntry] = field(default_factory=set)
    _ids: Counter[str] = field(default_factory=Counter)
    _known: dict[bytes, KnownTools] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises SuiteError for tools that cannot be used."""
        try:
            self.registry = registry_document(self.registry, self.path.parent)
            self.tools = KnownTools(open_registry(self.registry))
        except (RegistryError, StorageError) as error:
            raise SuiteError(
                f"The tools cannot be used: {error.message}", where=str(self.path), hint=error.hint
            ) from None

    def skip(self, place: str, reason: str, *, lost: bool = False, harmless: bool = False) -> None:
        """List a part once, however many scenarios it would belong to. `lost`: scenarios are missing because of it;
        `harmless`: nothing is.
        """
        entry = SkippedEntry(place, reason)
        self.skipped.setdefault(entry)
        if lost:
            self._lost.setdefault(entry)
        if harmless:
            self._harmless.add(entry)

    def tools_of(self, registry: dict[str, Any] | None) -> KnownTools:
        """The tools of a registry of one scenario; for None, those of the suite. Raises NotReadable."""
        if registry is None:
            return self.tools
        key = msgspec.json.encode(registry)
        if key not in self._known:
            try:
                self._known[key] = KnownTools(open_registry(registry))
            except (RegistryError, StorageError) as error:
                raise NotReadable(f"The tools cannot be used: {error.message}") from None
        return self._known[key]

    def add(
        self,
        id: str,
        prompt: str,
        expect: Expectation,
        place: str,
        *,
        registry: dict[str, Any] | None = None,
        answer: Answer | None = None,
        **members: Any,
    ) -> None:
        """Add a scenario, or skip it with the reason if it has an error.

        A scenario whose answer can be any text runs in the loop, in which a script answers its calls.
        """
        if len(self.scenarios) >= MAX_SCENARIOS:
            raise SuiteError(f"There are more than {MAX_SCENARIOS:,} scenarios.", where=str(self.path))
        tools = self.tools_of(registry)
        request = dict(members.pop("request", {}))
        if answer not in (None, CALL):
            pass  # its answer has a form, so it is given at once
        elif not tools.names:
            request |= {"strategy": "loop", "tool_choice": "none"}
        elif not _is_one_call(expect):
            turns = len(expect.calls) + _SPARE_TURNS
            loop = {"parallel_tool_calls": True, "max_turns": turns}
            request |= {"strategy": "loop", "tool_choice": "auto", "loop": loop}
            script = tuple(ScriptedResult(tool=name, text=DONE, times=0) for name in tools.names)
            members["script"] = script
        scenario = Scenario(
            id=self._id(id),
            prompt=prompt,
            expect=expect,
            answer=answer,
            request=request,
            registry=registry,
            **members,
        )
        problem = next(scenario_problems(scenario, tools, ()), None)
        if problem is not None:
            self.skip(place, f"{to_pointer(problem[0])}: {problem[1]}", lost=True)
        else:
            self.scenarios.append(scenario)

    def _id(self, name: str) -> str:
        slug = re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:120] or "scenario"
        self._ids[slug] += 1
        return slug if self._ids[slug] == 1 else f"{slug}-{self._ids[slug]}"

    def made(self, about: str, program: str, hint: str) -> ImportedSuite:
        """The suite. Raises SuiteError if nothing could be imported."""
        if not self.scenarios:
            why = list(self._lost) or [each for each in self.skipped if each not in self._harmless]
            raise SuiteError(
                "Nothing of this file can be imported.",
                where=str(self.path),
                hint="" if why else hint,
                problems=tuple(PlacedProblem(each.id, each.reason) for each in why),
            )
        reasons = Counter(each.reason for each in self.skipped)
        first_places = {each.reason: each.id for each in reversed(self.skipped.keys())}
        notes = [
            f"{NOT_IMPORTED}: {first_places[reason]}{f' and {n - 1:,} more' if n > 1 else ''}: {reason}"
            for reason, n in reasons.most_common(_MAX_NOTES)
        ]
        if len(reasons) > _MAX_NOTES:
            notes.append(f"{NOT_IMPORTED}: {len(reasons) - _MAX_NOTES:,} more parts for other reasons.")
        talks = ["strategy" in each.request for each in self.scenarios]
        if all(talks):  # an arm's strategy replaces the suite's, not a scenario's
            self.scenarios = [_without_strategy(each) for each in self.scenarios]
        origin = f"Imported from {program}'s file {self.path.name}"
        suite = Suite(
            glyphscope_suite=VERSION,
            name=re.sub(r"[^A-Za-z0-9]+", "-", self.path.stem).strip("-").lower()[:80] or "imported",
            about=f"{about.strip()} ({origin}.)" if about.strip() else f"{origin}.",
            registry=self.registry,
            strategy="loop" if all(talks) else "direct",
            scenarios=tuple(self.scenarios),
            notes=tuple(notes),
        )
        return ImportedSuite(suite, tuple(self.skipped))


def schema_of_answers(schema: Any) -> Answer:
    """The answer that is a value of that JSON Schema. Raises NotReadable."""
    answer = Answer("schema", json.dumps(schema, ensure_ascii=False))
    if wrong := answer_problem(answer):
        raise NotReadable(wrong)
    return answer


def _is_one_call(expect: Expectation) -> bool:
    """Whether one call is the whole answer."""
    paths = [check.path for check in expect.paths]
    of_the_call = all(path.startswith("$.calls[0]") for path in paths)
    return expect.final is None and of_the_call and len(expect.calls) <= 1 and bool(expect.calls or paths)


def _without_strategy(scenario: Scenario) -> Scenario:
    request = {name: value for name, value in scenario.request.items() if name != "strategy"}
    return msgspec.structs.replace(scenario, request=request)


def read_text(path: Path, most: int, what: str) -> str:
    """The text of a file. Raises SuiteError."""
    data = read_file(path, most, what, hint="Split it.", error=SuiteError)
    return utf8_text(data, str(path), hint="Save it as UTF-8.", error=SuiteError)


def parse_json(text: str, where: str) -> Any:
    """The document in a text. Raises SuiteError with line and column."""
    try:
        copy, problems = plain(parse_text(text, where))
    except RegistryError as error:
        raise SuiteError(error.message, where=where, hint=error.hint) from None
    if problems:
        raise SuiteError(f"{problems[0].pointer}: {problems[0].message}", where=where)
    return copy


def conversation(messages: Any) -> tuple[str, dict[str, Any]]:
    """The prompt of a list of chat messages, and the request's members for the earlier ones. Raises NotReadable."""
    read: list[Message] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise NotReadable("A message has no role of system, user, assistant or tool.")
        if extra := sorted(set(message) - {"role", "content"}):
            raise NotReadable(f"A message has the member {extra[0]}, which a suite has no place for.")
        read.append(Message(message["role"], _content(message.get("content"))))
    if not read or read[-1].role != "user":
        raise NotReadable("The last message is not the user's.")
    request: dict[str, Any] = {}
    if read[0].role == "system":
        request["system_prompt"] = read.pop(0).content
    if any(message.role == "system" for message in read):
        raise NotReadable("A system message is in the middle of a conversation.")
    *before, last = read
    if before:
        request["history"] = msgspec.to_builtins(before)
    return last.content, request


def _content(content: Any) -> str:
    """The text of a message, also in parts, which are lines. Raises NotReadable."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [
        part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in parts
    ]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise NotReadable("The content of a message is not a text.")
    return "\n".join(map(str, texts))


def note_of(**facts: Any) -> str:
    """Facts for which a suite has no place, as a scenario's note."""
    given = (f"{name}: {_as_text(value)}" for name, value in facts.items() if value not in (None, "", {}, []))
    return shorten("; ".join(given), 4_000)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


# the importers of plug-ins


OWN_KEY = b'"glyphscope_suite"'
"""The member that every suite has in Glyphscope's format."""


class Importer(NamedTuple):
    """Reads files of one program as suites. Files with one of the `endings` are all its; of JSON documents,
    `recognises` says which. `read` raises SuiteError for a file with an error, and StorageError.
    """

    read: Callable[[Path], ImportedSuite]
    recognises: Callable[[Any], bool]
    endings: tuple[str, ...] = ()


IMPORTERS: PluginGroup[Importer] = PluginGroup("glyphscope.importers", Importer)


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
