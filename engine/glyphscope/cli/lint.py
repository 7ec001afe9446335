"""`glyphscope lint`: the problems of files of any kind, for people, editors, pre-commit hooks and services of CI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.text import Text

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import pluralize
from glyphscope.base.inputs import files_below
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError, read_bytes
from glyphscope.cli.options import FilesBelowOption, JsonOption
from glyphscope.cli.output import (
    SEVERITY_MARKS,
    console,
    print_error,
    print_json,
    print_line,
    print_text,
    to_json,
)
from glyphscope.cli.problems import CODES, FileProblem, problems
from glyphscope.store import atomic_write


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
    """List the problems of files, each with its line and column. Exit code 1 if there is an error, 2 if a file cannot
    be read; those of the other files are listed.
    """
    if github and as_json:
        raise InputError("--github and --json exclude each other.", hint="Give one of them.")
    found: list[FileProblem] = []
    unread: list[GlyphscopeError] = []
    with files_below(*(below or ())):
        for file in files:
            try:
                data = read_bytes(file)
            except GlyphscopeError as error:
                unread.append(error)
            else:
                found += ({"file": file, **problem} for problem in problems(data, file))
    if sarif is not None:
        atomic_write(sarif, to_json(_sarif(found)) + b"\n")
    counts = Counter(problem["severity"] for problem in found)
    if as_json:
        print_json({"ok": not counts["error"] and not unread, "problems": found})
    else:
        for problem in found:
            print_line(_command(problem)) if github else console().print(_line(problem))
        words = ", ".join(pluralize(counts[each], each) for each in SEVERITY_MARKS if counts[each])
        if len(files) > len(unread):
            print_text(f"{pluralize(len(files) - len(unread), 'file')}: {words or 'no problems'}")
    for each in unread:
        print_error(each)
    if unread:
        raise typer.Exit(2)
    raise typer.Exit(1 if counts["error"] or (strict and counts["warning"]) else 0)


def _line(problem: FileProblem) -> Text:
    mark, style = SEVERITY_MARKS[problem["severity"]]
    at = f"{problem['pointer']}: " if problem.get("pointer") else ""
    return Text.assemble(
        f"{visible(problem['file'])}:{problem['line']}:{problem['column']}: ",
        (f"{mark} {problem['severity']}", style),
        f": {visible(at + problem['message'])} [{problem['code']}]",
    )


def _command(problem: FileProblem) -> bytes:
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


def _sarif(found: Sequence[FileProblem]) -> dict[str, Any]:
    """The SARIF log; its rules are the codes that were found."""
    codes = sorted({problem["code"] for problem in found})
    driver = {
        "name": "Glyphscope",
        "version": version("glyphscope"),
        "rules": [{"id": code, "shortDescription": {"text": CODES[code]}} for code in codes],
    }
    results = [_result(problem, codes.index(problem["code"])) for problem in found]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _result(problem: FileProblem, rule: int) -> dict[str, Any]:
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


def _region(span: FileProblem) -> dict[str, int]:
    names = {"startLine": "line", "startColumn": "column", "endLine": "end_line", "endColumn": "end_column"}
    return {theirs: span[ours] for theirs, ours in names.items()}
