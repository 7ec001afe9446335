"""`glyphscope lint`: the problems of files of any kind, for people, editors, pre-commit hooks and services of CI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from urllib.parse import quote

import typer
from rich.text import Text

from glyphscope.base.errors import RegistryError, SuiteError
from glyphscope.base.figures import pluralize
from glyphscope.base.inputs import files_below
from glyphscope.base.lines import Lines
from glyphscope.base.pointer import steps_of, to_pointer
from glyphscope.base.visible import visible
from glyphscope.cli.grammar.build import report, span_of
from glyphscope.cli.inputs import InputError, read_bytes
from glyphscope.cli.options import FilesBelowOption, JsonOption
from glyphscope.cli.output import SEVERITY_MARKS, console, print_json, print_line, print_text, to_json
from glyphscope.evals.suites.reading import load_suite
from glyphscope.grammar.builder.contradictions import contradictions
from glyphscope.grammar.builder.uncallable import uncallable
from glyphscope.grammar.gbnf import CODES as GBNF_CODES
from glyphscope.grammar.generate.example import example_problems
from glyphscope.grammar.languages import LANGUAGES, language_of
from glyphscope.grammar.lark_text.diagnostics import CODES as LARK_CODES
from glyphscope.registry import find_places, parse_document
from glyphscope.registry.document import parse_text, plain
from glyphscope.registry.forms import read_forms
from glyphscope.registry.saving import strict_problems
from glyphscope.store import atomic_write

_Problem: TypeAlias = dict[str, Any]
"""A problem of `file`, as `grammar check --json` has those of a grammar; with `pointer` in a JSON file."""
_Found: TypeAlias = tuple[str, str, str, str]
"""A problem of a JSON file: its severity, code, JSON Pointer and words."""
_CODES = {
    **{code: words for code, (_, words) in (GBNF_CODES | LARK_CODES).items()},
    "json": "The file is not JSON, or not of a kind that Glyphscope reads.",
    "registry": "A list of tools has an error.",
    "uncallable": "No call of a tool can be written.",
    "contradiction": "A part of a schema can never be used.",
    "example": "An example violates the schema of its tool.",
    "strict": "The schema of a strict tool is rejected by the API.",
    "suite": "A suite has an error.",
}


def lint(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…",
            help="Registries and other lists of tools, suites (.json), and grammars (.gbnf, .lark).",
        ),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 for warnings too.")] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print problems as GitHub Actions shows them beside the code.")
    ] = False,
    sarif: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the problems as SARIF 2.1.0, for code scanning."),
    ] = None,
    below: FilesBelowOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the problems of files, each with its line and column. Exit code 1 if there is an error."""
    if github and as_json:
        raise InputError("--github and --json exclude each other.", hint="Give one of them.")
    with files_below(*(below or ())):
        found = [{"file": file, **problem} for file in files for problem in _problems(file)]
    if sarif is not None:
        atomic_write(sarif, to_json(_sarif(found)) + b"\n")
    counts = Counter(problem["severity"] for problem in found)
    if as_json:
        print_json({"ok": not counts["error"], "problems": found})
    else:
        for problem in found:
            print_line(_command(problem)) if github else console().print(_line(problem))
        words = ", ".join(pluralize(counts[each], each) for each in SEVERITY_MARKS if counts[each])
        print_text(f"{pluralize(len(files), 'file')}: {words or 'no problems'}")
    raise typer.Exit(1 if counts["error"] or (strict and counts["warning"]) else 0)


def _line(problem: _Problem) -> Text:
    mark, style = SEVERITY_MARKS[problem["severity"]]
    at = f"{problem['pointer']}: " if problem.get("pointer") else ""
    return Text.assemble(
        f"{visible(problem['file'])}:{problem['line']}:{problem['column']}: ",
        (f"{mark} {problem['severity']}", style),
        f": {visible(at + problem['message'])} [{problem['code']}]",
    )


def _problems(file: str) -> Iterator[_Problem]:
    """The problems of one file. Raises InputError and StorageError if it cannot be read."""
    data = read_bytes(file)
    if file.lower().endswith(tuple(language.suffix for language in LANGUAGES)):
        yield from report(language_of("", file).check_bytes(data))["diagnostics"]
        return
    found: list[_Found] = []
    syntax = 0
    try:
        document = parse_text(data, file)
        is_suite = isinstance(document, dict) and "glyphscope_suite" in document
        found += _of_suite(file) if is_suite else _of_tools(document)
    except (RegistryError, SuiteError) as error:
        found.append(("error", "json", "", error.words))
        syntax = error.__context__.pos if isinstance(error.__context__, json.JSONDecodeError) else 0
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = Lines(text)
    places = [
        (place.start, place.end) for place in find_places(text, [pointer for _, _, pointer, _ in found])
    ]
    for (severity, code, pointer, message), (start, end) in sorted(
        zip(found, [(syntax, syntax)] if syntax else places, strict=True), key=lambda each: each[1]
    ):
        said = {"severity": severity, "code": code, "message": message}
        yield {**said, **span_of(start, end, lines), "pointer": pointer}


def _of_suite(file: str) -> Iterator[_Found]:
    try:
        load_suite(Path(file))
    except SuiteError as error:
        if not error.problems:
            raise
        for problem in error.problems:
            yield "error", "suite", problem.pointer, problem.message


def _of_tools(document: Any) -> Iterator[_Found]:
    try:
        registry = parse_document(document)
    except RegistryError as error:
        if not error.problems:
            raise
        for problem in error.problems:
            yield "error", "registry", problem.pointer, problem.message
        return
    forms = read_forms(plain(document)[0])
    written = {raw.name: raw for raw in forms.tools}
    dead = {each.tool: each for each in uncallable(registry)}
    for tool in registry:
        raw = written[tool.name]
        if never := dead.get(tool.name):
            pointer = to_pointer(raw.pointers(steps_of(never.pointer)))
            yield "error", "uncallable", pointer, f"No call of {tool.name} can be written: {never.why}."
        for part in () if never else contradictions(tool):
            yield "warning", "contradiction", to_pointer(raw.pointers(steps_of(part.pointer))), part.message
        for words in example_problems([tool]):
            yield "warning", "example", to_pointer((*raw.at, "input_examples")), words
        for words in strict_problems(tool, forms.form):
            yield "warning", "strict", to_pointer((*raw.at, "strict")), f"{tool.name} is strict; {words}."


def _command(problem: _Problem) -> bytes:
    """The line for GitHub Actions."""

    def escaped(value: object, special: str) -> str:
        return "".join(f"%{ord(each):02X}" if each in special else each for each in visible(str(value)))

    names = {
        "file": "file",
        "line": "line",
        "col": "column",
        "endLine": "end_line",
        "endColumn": "end_column",
    }
    level = {"hint": "notice"}.get(problem["severity"], problem["severity"])
    members = ",".join(f"{name}={escaped(problem[ours], '%:,')}" for name, ours in names.items())
    return f"::{level} {members},title={problem['code']}::{escaped(problem['message'], '%')}".encode()


def _sarif(found: Sequence[_Problem]) -> dict[str, Any]:
    """The SARIF log; its rules are the codes that were found."""
    codes = sorted({problem["code"] for problem in found})
    driver = {
        "name": "Glyphscope",
        "version": version("glyphscope"),
        "rules": [{"id": code, "shortDescription": {"text": _CODES[code]}} for code in codes],
    }
    results = [_result(problem, codes.index(problem["code"])) for problem in found]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _result(problem: _Problem, rule: int) -> dict[str, Any]:
    file = {"uri": quote(Path(problem["file"]).as_posix())}
    at: dict[str, Any] = {"physicalLocation": {"artifactLocation": file, "region": _region(problem)}}
    if problem.get("pointer"):
        at["logicalLocations"] = [{"fullyQualifiedName": problem["pointer"]}]
    result = {
        "ruleId": problem["code"],
        "ruleIndex": rule,
        "level": {"hint": "note"}.get(problem["severity"], problem["severity"]),
        "message": {"text": problem["message"]},
        "locations": [at],
    }
    if fix := problem.get("fix"):
        edits = [
            {"deletedRegion": _region(edit), "insertedContent": {"text": edit["text"]}}
            for edit in fix["edits"]
        ]
        changes = [{"artifactLocation": file, "replacements": edits}]
        result["fixes"] = [{"description": {"text": fix["title"]}, "artifactChanges": changes}]
    return result


def _region(span: _Problem) -> dict[str, int]:
    names = {"startLine": "line", "startColumn": "column", "endLine": "end_line", "endColumn": "end_column"}
    return {theirs: span[ours] for theirs, ours in names.items()}
