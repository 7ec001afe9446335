"""Suites imported from files of other programs, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import msgspec

from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites import IMPORTERS, ImportedSuite
from glyphscope.evals.suites.reading import check_suite, encode_suite, parse_suite


def check(imported: ImportedSuite) -> None:
    """Whether it is a suite, and stays one in a file."""
    assert check_suite(imported.suite) == ()
    assert parse_suite(encode_suite(imported.suite)) == imported.suite


def promptfoo(folder: Path, tests: str, head: str) -> ImportedSuite:
    path = folder / "promptfooconfig.yaml"
    path.write_text(head + "tests:\n" + indent(dedent(tests), "  "))
    return IMPORTERS.get("promptfoo").read(path)


def skipped(imported: ImportedSuite) -> dict[str, str]:
    return {each.id: each.reason for each in imported.left_out}


MEMBERS = ("expect", "answer", "request", "script", "turns", "group", "note", "tools")


def suite_lines(imported: ImportedSuite, folder: Path) -> list[str]:
    """The scenarios with their members; the suite, with those that all of them have; and what was left out."""
    check(imported)
    suite = imported.suite
    made = [msgspec.to_builtins(each) for each in suite.scenarios]
    for each in made:
        each["expect"] = {"extra_calls": False, **each.get("expect", {})}
        each["tools"] = [tool["name"] for tool in (each.pop("registry", None) or {}).get("tools", ())]
    shared = {name for name in MEMBERS if len({str(each.get(name)) for each in made}) == 1}
    lines = []
    for each in made:
        lines.append(f"{each['id']}: {json.dumps(each['prompt'], ensure_ascii=False)}")
        lines += _members(each, set(MEMBERS) - shared)
    registry = suite.registry
    tools = [tool["name"] for tool in registry["tools"]] if isinstance(registry, dict) else registry
    lines.append(f"{suite.name}, {suite.strategy}: {suite.about.splitlines()[0]} Tools: {tools}")
    lines += _members(msgspec.to_builtins(suite), {"request"})
    lines += _members(made[0], shared)
    return _shown([*lines, *(f"not {each.id}: {each.reason}" for each in imported.left_out)], folder)


def error_lines(error: SuiteError, folder: Path) -> list[str]:
    lines = [f"no suite, {each.pointer}: {each.message}" for each in error.problems]
    return _shown(lines or [f"no suite, {error.where}: {error.message}"], folder)


def _members(of: dict[str, Any], names: set[str]) -> Iterator[str]:
    for name in sorted(names):
        if value := of.get(name):
            yield f"    {name} {json.dumps(value, ensure_ascii=False)}"


def _shown(lines: list[str], folder: Path) -> list[str]:
    """Marked as results, without what depends on the machine."""
    cut = (re.sub(r"(This is not the path of a file): .*", r"\1", line) for line in lines)
    return [f"→ {line}".replace(str(folder), "FOLDER").replace("\0", "\\0") for line in cut]
