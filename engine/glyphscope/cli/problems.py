"""The problems of files of any kind: for `glyphscope lint`, and for editors by `glyphscope lsp`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from glyphscope.base.errors import RegistryError, SuiteError
from glyphscope.base.lines import Lines
from glyphscope.base.pointer import steps_of, to_pointer
from glyphscope.evals.suites.reading import parse_suite
from glyphscope.grammar.builder.contradictions import contradictions
from glyphscope.grammar.builder.uncallable import uncallable
from glyphscope.grammar.gbnf import CODES as GBNF_CODES
from glyphscope.grammar.gbnf import Diagnostic, check_gbnf
from glyphscope.grammar.generate.example import example_problems
from glyphscope.grammar.languages import LANGUAGES, AnyCheck, language_of
from glyphscope.grammar.lark_check import check_format
from glyphscope.grammar.lark_text.diagnostics import CODES as LARK_CODES
from glyphscope.grammar.text_grammar import text_format
from glyphscope.registry import Tool, ToolRegistry, find_places, parse_document
from glyphscope.registry.document import DOCUMENTS, parse_text, plain
from glyphscope.registry.forms import RawRegistry, RawTool, read_forms
from glyphscope.registry.keywords import CUSTOM
from glyphscope.registry.places import TextPlace
from glyphscope.registry.references import SchemaPlaces
from glyphscope.registry.saving import strict_problems

FileProblem: TypeAlias = dict[str, Any]
"""A problem, as `GrammarCheck.as_json` has those of a grammar; with `pointer` in a JSON file."""
CODES = {
    **{code: words for code, (_, words) in (GBNF_CODES | LARK_CODES).items()},
    "json": "The file is not JSON, or not of a kind that Glyphscope reads.",
    "registry": "A list of tools has an error.",
    "uncallable": "No call of a tool can be written.",
    "contradiction": "A part of a schema can never be used.",
    "example": "An example violates the schema of its tool.",
    "strict": "The schema of a strict tool is rejected by the API.",
    "suite": "A suite has an error.",
}
_GRAMMARS = tuple(language.suffix for language in LANGUAGES)


class _Found(NamedTuple):
    """A problem of a JSON or YAML file; `inside`: one of the text there, in front of which are `before` characters."""

    severity: str
    code: str
    pointer: str
    message: str
    inside: Diagnostic | None = None
    before: int = 0


def is_grammar(file: str) -> bool:
    """Whether the name is that of a grammar's file."""
    return file.lower().endswith(_GRAMMARS)


def problems(data: bytes | str, file: str) -> Iterator[FileProblem]:
    """The problems of a file."""
    if is_grammar(file):
        language = language_of("", file)
        check = language.check_bytes(data) if isinstance(data, bytes) else language.check(data)
        yield from check.as_json()["diagnostics"]
        return
    found: list[_Found] = []
    syntax = 0
    try:
        document = parse_text(data, file)
        is_suite = isinstance(document, dict) and "glyphscope_suite" in document
        found += _of_suite(data, file) if is_suite else _of_tools(document)
    except (RegistryError, SuiteError) as error:
        found.append(_Found("error", "json", "", error.words))
        syntax = _where_reading_ended(error)
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = text.removeprefix("\ufeff")
    lines = Lines(text)
    places = places_of(text, [each.pointer for each in found])
    entries = []
    for each in found:
        place = TextPlace(syntax, syntax) if syntax else places[each.pointer]
        start, end, fix = _inside(text, place, each, lines)
        said = {"severity": each.severity, "code": each.code, "message": each.message}
        entries.append(((start, end), {**said, **lines.span(start, end), "pointer": each.pointer, **fix}))
    yield from (entry for _, entry in sorted(entries, key=lambda each: each[0]))


def _where_reading_ended(error: BaseException | None) -> int:
    """The code point at which a text is not UTF-8, JSON or YAML, by the error of its decoder; 0 if none says so."""
    while error is not None:
        if isinstance(error, json.JSONDecodeError):
            return error.pos
        if isinstance(error, UnicodeDecodeError):
            return len(error.object[: error.start].decode().removeprefix("\ufeff"))
        if (mark := getattr(error, "problem_mark", None)) is not None:  # of YAML, which is an extra
            return int(mark.index)
        error = error.__context__
    return 0


def places_of(text: str, pointers: Iterable[str]) -> Mapping[str, TextPlace]:
    """The place of each pointer's value, or of the nearest value around it, in JSON or YAML."""
    asked = list(pointers)
    if text.lstrip()[:1] not in ("{", "[", "") and (read := DOCUMENTS.get("yaml-places")) is not None:
        found = read(text, "")
        return {pointer: TextPlace(*_nearest(found, pointer)) for pointer in asked}
    return dict(zip(asked, find_places(text, asked), strict=True))


def _nearest(found: Mapping[str, tuple[int, int]], pointer: str) -> tuple[int, int]:
    while pointer and pointer not in found:
        pointer = pointer.rpartition("/")[0]
    return found.get(pointer, (0, 0))


_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)


def _inside(text: str, place: TextPlace, found: _Found, lines: Lines) -> tuple[int, int, dict[str, Any]]:
    """The place of a problem, and its fix as a member: inside a JSON string with its escapes, or the whole value."""
    problem = found.inside
    if problem is None or text[place.start : place.start + 1] != '"':
        return place.start, place.end, {}
    raw = text[place.start + 1 : place.end - 1]
    starts = [place.start + 1 + each.start() for each in _CHARACTER.finditer(raw)] + [place.end - 1]

    def at(index: int) -> int:
        return starts[min(max(0, index - found.before), len(starts) - 1)]

    fix = problem.fix
    if fix is None or (
        found.before and any("::=" in new or start < found.before for start, _, new in fix.edits)
    ):
        return at(problem.start), at(problem.end), {}
    edits = [
        {**lines.span(at(start), at(end)), "text": json.dumps(new, ensure_ascii=False)[1:-1]}
        for start, end, new in fix.edits
    ]
    return at(problem.start), at(problem.end), {"fix": {"title": fix.title, "edits": edits}}


def _of_suite(data: bytes | str, file: str) -> Iterator[_Found]:
    try:
        parse_suite(data, where=file, folder=Path(file).parent)
    except SuiteError as error:
        if not error.problems:
            raise
        for problem in error.problems:
            yield _Found("error", "suite", problem.pointer, problem.message)


class WrittenTools(NamedTuple):
    """The tools of a document, and how they are written there."""

    registry: ToolRegistry
    raw: RawRegistry

    @classmethod
    def of(cls, document: Any) -> WrittenTools:
        """Raises RegistryError."""
        return cls(parse_document(document), read_forms(plain(document)[0]))

    def written(self) -> Iterator[tuple[Tool, RawTool]]:
        """Each tool, with how it is written."""
        named = {raw.name: raw for raw in self.raw.tools}
        return ((tool, named[tool.name]) for tool in self.registry)


def pointer_in(raw: RawTool, pointer: str) -> str:
    """The pointer in the document, of one in the schema of its tool."""
    return to_pointer(raw.pointers(steps_of(pointer)))


def _of_tools(document: Any) -> Iterator[_Found]:
    try:
        tools = WrittenTools.of(document)
    except RegistryError as error:
        if not error.problems:
            raise
        for problem in error.problems:
            yield _Found("error", "registry", problem.pointer, problem.message)
        return
    dead = {each.tool: each for each in uncallable(tools.registry)}
    for tool, raw in tools.written():
        custom = list(_of_custom_grammars(tool, raw))
        yield from custom
        if any(each.severity == "error" for each in custom):
            continue
        if never := dead.get(tool.name):
            message = f"No call of {tool.name} can be written: {never.why}."
            yield _Found("error", "uncallable", pointer_in(raw, never.pointer), message)
        for part in () if never else contradictions(tool):
            yield _Found("warning", "contradiction", pointer_in(raw, part.pointer), part.message)
        for words in example_problems([tool]):
            yield _Found("warning", "example", to_pointer((*raw.at, "input_examples")), words)
        for words in strict_problems(tool, tools.raw.form):
            message = f"{tool.name} is strict; {words}."
            yield _Found("warning", "strict", to_pointer((*raw.at, "strict")), message)


def _of_custom_grammars(tool: Tool, raw: RawTool) -> Iterator[_Found]:
    """The diagnostics of the grammars under `x-grammar`."""
    for place in SchemaPlaces(tool.parameters).all:
        custom = place.schema.get(CUSTOM) if isinstance(place.schema, dict) else None
        at: tuple[str | int, ...] = (*place.path, CUSTOM)
        before = ""
        if isinstance(custom, str):
            before = "" if "::=" in custom else "root ::= "
            check: AnyCheck = check_gbnf(before + custom)
        elif isinstance(place.schema, dict) and text_format(place.schema):
            check, at = check_format(place.schema[CUSTOM]), (*at, "definition")
        else:
            continue
        pointer = pointer_in(raw, to_pointer(at))
        for each in check.diagnostics:
            yield _Found(each.severity, each.code, pointer, each.message, each, len(before))
