"""Importing configurations of promptfoo: prompts with variables, tests with assertions, and the providers' tools.

Only data is read, no code is run: in templates, only variables are filled in. Files that the configuration names are
read only below its folder. Everything that is not imported is listed with its place.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

from glyphscope.errors import GlyphscopeError, SuiteError
from glyphscope.evals.suites.imported import (
    NO_TOOLS,
    ImportedSuite,
    Importing,
    NotReadable,
    conversation,
    note_of,
    parse_json,
    read_text,
)
from glyphscope.evals.suites.promptfoo_asserts import Found
from glyphscope.evals.suites.suite import MAX_BYTES
from glyphscope.evals.suites.yaml_text import parse_yaml
from glyphscope.registry import parse_document
from glyphscope.registry.pointer import to_pointer
from glyphscope.text.shorten import shorten

_FILE = "file://"
_IMPORTED = frozenset({"prompts", "tests", "providers", "targets", "description", "defaultTest", "$schema"})
_OF_TESTS = frozenset({"description", "vars", "assert", "metadata", "options"})
_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_$][\w$]*(?:\.[\w$]+)*)\s*-?\}\}")
_CODE = re.compile(r"\{\{|\{%|\{#")
_MAX_COMBINATIONS = 1_000
"""Tests that the lists among one test's variables make."""
_HINT = "Give a configuration with prompts and tests, such as promptfooconfig.yaml."


def is_promptfoo(document: Any) -> bool:
    """Whether a document is a configuration of promptfoo."""
    return (
        isinstance(document, dict)
        and "tests" in document
        and bool(document.keys() & {"prompts", "providers"})
    )


def import_promptfoo(path: Path, registry: str | dict[str, Any] | None = None) -> ImportedSuite:
    """The suite of a configuration in YAML or JSON. `registry` replaces the tools of its providers.

    Raises SuiteError for any other file, and one of which nothing can be imported.
    """
    document = _document(path)
    if not is_promptfoo(document):
        raise SuiteError("Not a configuration of promptfoo.", where=str(path), hint=_HINT)
    return _Configuration(path, document, registry).imported()


def _document(path: Path) -> Any:
    text = read_text(path, MAX_BYTES, "a configuration")
    if path.suffix.lower() in (".yaml", ".yml"):
        return parse_yaml(text, str(path))
    if path.suffix.lower() == ".jsonl":
        return [
            parse_json(line, f"{path}, line {n}")
            for n, line in enumerate(text.split("\n"), 1)
            if line.strip()
        ]
    return parse_json(text, str(path))


class _Configuration:
    def __init__(self, path: Path, document: dict[str, Any], registry: str | dict[str, Any] | None) -> None:
        self._path, self._document = path, document
        self._early: list[tuple[str, str]] = []
        tools = self._tools() if registry is None else registry
        self._made = Importing(path, tools)
        for place, reason in self._early:
            self._made.skip(place, reason)

    def imported(self) -> ImportedSuite:
        for name in sorted(self._document.keys() - _IMPORTED):
            self._made.skip(to_pointer((name,)), f"A suite has no place for {name}.")
        prompts = list(self._prompts())
        default = self._default()
        for place, name, test in self._tests():
            self._skip_members(place, test)
            described = test.get("description")
            self._add(place, described if isinstance(described, str) else name, test, default, prompts)
        about = self._document.get("description")
        return self._made.made(about if isinstance(about, str) else "", "promptfoo", _HINT)

    # prompts

    def _prompts(self) -> Iterator[tuple[str, str]]:
        """The templates, each with its place."""
        given = self._document.get("prompts", ["{{prompt}}"])
        for index, prompt in enumerate(given if isinstance(given, list) else [given]):
            place = to_pointer(("prompts", index))
            try:
                yield place, self._prompt(prompt)
            except (NotReadable, SuiteError) as reason:
                self._made.skip(place, str(reason))

    def _prompt(self, prompt: Any) -> str:
        if isinstance(prompt, dict):
            prompt = prompt.get("raw", prompt.get("id"))
        if not isinstance(prompt, str):
            raise NotReadable("The prompt is not a text.")
        if not prompt.startswith(_FILE):
            return prompt
        path = self._inside(prompt)
        if path.suffix.lower() not in (".txt", ".md", ".json"):
            raise NotReadable(f"{path.name} is not a text: prompts that code makes are not imported.")
        return read_text(path, MAX_BYTES, "a prompt")

    # tests

    def _default(self) -> dict[str, Any]:
        default = self._document.get("defaultTest", {})
        try:
            if isinstance(default, str) and default.startswith(_FILE):
                default = _document(self._inside(default))
            if not isinstance(default, dict):
                raise NotReadable("The default test is not an object.")
        except (NotReadable, SuiteError) as reason:
            self._made.skip("/defaultTest", str(reason))
            return {}
        self._skip_members("/defaultTest", default)
        return default

    def _skip_members(self, place: str, test: dict[str, Any]) -> None:
        """List the members of a test that are not imported."""
        for name in sorted(test.keys() - _OF_TESTS):
            self._made.skip(f"{place}/{name}", f"A suite has no place for {name}.")
        options = test.get("options")
        for name in sorted(options) if isinstance(options, dict) else ():
            if name != "transform":
                self._made.skip(f"{place}/options/{name}", f"A suite has no place for {name}.")

    def _tests(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The tests with their places and names; tests in other files in their order."""
        given = self._document["tests"]
        for index, test in enumerate(given if isinstance(given, list) else [given]):
            place = to_pointer(("tests", index))
            try:
                if isinstance(test, dict):
                    yield place, f"test-{index + 1}", test
                    continue
                if not isinstance(test, str):
                    raise NotReadable("The test is not an object.")
                path = self._inside(test)
                for number, each in enumerate(_tests_of(path), 1):
                    yield f"{path.name}, test {number}", f"{path.stem}-{number}", each
            except (NotReadable, SuiteError) as reason:
                self._made.skip(place, str(reason))

    def _add(
        self,
        place: str,
        name: str,
        test: dict[str, Any],
        default: dict[str, Any],
        prompts: list[tuple[str, str]],
    ) -> None:
        try:
            sets = list(self._variables({**_object(default.get("vars")), **_object(test.get("vars"))}))
        except (NotReadable, SuiteError) as reason:
            self._made.skip(f"{place}/vars", str(reason))
            return
        reported = False
        for number, (prompt_place, template) in enumerate(prompts, 1):
            for variables in sets:
                expect = self._expected(place, test, default, variables, quiet=reported)
                reported = True
                try:
                    prompt, request = _filled_prompt(template, variables)
                except NotReadable as reason:
                    self._made.skip(f"{prompt_place}, for {place}", str(reason))
                    continue
                note = note_of(metadata=test.get("metadata"))
                id = name if len(prompts) == 1 else f"{name}-prompt-{number}"
                self._made.add(id, prompt, expect, place, request=request, note=note)

    def _expected(
        self,
        place: str,
        test: dict[str, Any],
        default: dict[str, Any],
        variables: dict[str, str],
        *,
        quiet: bool,
    ) -> Any:
        """The expectations of a test's assertions, and of the default ones; the others are listed unless `quiet`."""
        found = Found(self._made.tools.names, transform=_transform(test) or _transform(default))
        read = 0
        for within, assertions in (("/defaultTest", default.get("assert")), (place, test.get("assert"))):
            listed = (
                assertions if isinstance(assertions, list) else [] if assertions is None else [assertions]
            )
            for index, assertion in enumerate(listed):
                at = f"{within}/assert/{index}"
                try:
                    if not isinstance(assertion, dict):
                        raise NotReadable("The assertion is not an object.")
                    for name in found.add(_filled(assertion, variables)):
                        if not quiet:
                            self._made.skip(f"{at}/{name}", f"A suite has no place for {name}.")
                    read += 1
                except NotReadable as reason:
                    if not quiet:
                        self._made.skip(at, str(reason))
        if not read and not quiet:
            self._made.skip(f"{place}/assert", "No assertion is imported, so every answer is right.")
        return found.expectation()

    def _variables(self, given: dict[str, Any]) -> Iterator[dict[str, str]]:
        """The variables as texts, once for each combination of lists among them."""
        lists = {
            name: [self._variable(each) for each in (value if isinstance(value, list) else [value])]
            for name, value in given.items()
        }
        combined = list(islice(product(*lists.values()), _MAX_COMBINATIONS + 1))
        if len(combined) > _MAX_COMBINATIONS:
            raise NotReadable(f"The lists of variables make more than {_MAX_COMBINATIONS:,} tests.")
        return (dict(zip(lists, values)) for values in combined)

    def _variable(self, value: Any) -> str:
        if isinstance(value, str) and value.startswith(_FILE):
            path = self._inside(value)
            if path.suffix.lower() not in (".txt", ".md", ".json"):
                raise NotReadable(f"{path.name} is not a text: variables that code makes are not imported.")
            return read_text(path, MAX_BYTES, "a variable")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    # tools

    def _tools(self) -> dict[str, Any]:
        """The tools of all providers, as a registry; providers are only read for them."""
        tools: dict[str, dict[str, Any]] = {}
        for kind in ("providers", "targets"):
            given = self._document.get(kind, [])
            for index, provider in enumerate(given if isinstance(given, list) else [given]):
                config = provider.get("config") if isinstance(provider, dict) else None
                if isinstance(provider, dict) and "transform" in provider:
                    place = to_pointer((kind, index, "transform"))
                    self._early.append((place, "A provider's transform of all answers is not imported."))
                for name in ("tools", "functions"):
                    if isinstance(config, dict) and name in config:
                        self._read_tools(config[name], to_pointer((kind, index, "config", name)), tools)
            if given:
                self._early.append((f"/{kind}", "Models and their settings are chosen for each evaluation."))
        return {"glyphscope": 1, "tools": list(tools.values())} if tools else NO_TOOLS

    def _read_tools(self, given: Any, place: str, tools: dict[str, dict[str, Any]]) -> None:
        try:
            listed = _document(self._inside(given)) if isinstance(given, str) else given
            for tool in parse_document(listed if isinstance(listed, list) else [listed], place).to_document()[
                "tools"
            ]:
                if tools.setdefault(tool["name"], tool) != tool:
                    self._early.append(
                        (place, f"Another provider has another tool with the name {tool['name']}.")
                    )
        except NotReadable as reason:
            self._early.append((place, str(reason)))
        except GlyphscopeError as error:
            self._early.append((place, error.message))

    def _inside(self, name: str) -> Path:
        """The path of a file that the configuration names; only paths below its folder, as it is untrusted."""
        relative = name.removeprefix(_FILE)
        if "://" in relative or "*" in relative or relative.partition(":")[2]:
            raise NotReadable(f"{shorten(name, 80)} is not the path of a file.")
        folder = self._path.parent.resolve()
        path = (folder / relative).resolve()
        if not path.is_relative_to(folder):
            raise NotReadable(f"{shorten(name, 80)} is not below the folder of the configuration.")
        return path


def _tests_of(path: Path) -> list[dict[str, Any]]:
    """The tests in a file. Raises NotReadable and SuiteError."""
    if path.suffix.lower() == ".csv":
        rows = csv.DictReader(io.StringIO(read_text(path, MAX_BYTES, "a file of tests")), strict=True)
        try:
            return [_of_row(row) for row in rows]
        except csv.Error as error:
            raise NotReadable(f"{path.name}, line {rows.line_num}: {error}.") from None
    if path.suffix.lower() not in (".yaml", ".yml", ".json", ".jsonl"):
        raise NotReadable(f"{path.name} is not a file of tests: tests that code makes are not imported.")
    document = _document(path)
    tests = document if isinstance(document, list) else [document]
    if not all(isinstance(test, dict) for test in tests):
        raise NotReadable(f"{path.name} has a test that is not an object.")
    return tests


def _of_row(row: dict[str | None, Any]) -> dict[str, Any]:
    """The test of a row: `__expected…` columns are assertions, `__description` its name, the others variables."""
    if None in row:
        raise NotReadable("A row has more cells than the table has columns.")
    named = {str(name): value for name, value in row.items()}
    expected = [value for name, value in named.items() if re.fullmatch(r"__expected\d*", name) and value]
    test: dict[str, Any] = {
        "vars": {name: value for name, value in named.items() if not name.startswith("__")},
        "assert": [_of_cell(value) for value in expected],
    }
    if named.get("__description"):
        test["description"] = named["__description"]
    others = {name: value for name, value in named.items() if name.startswith("__") and value}
    for name in others.keys() - {"__description"}:
        if not re.fullmatch(r"__expected\d*", name):
            test[name] = others[name]
    return test


def _of_cell(text: str) -> dict[str, Any]:
    kind, colon, value = text.partition(":")
    if colon and re.fullmatch(r"[a-z][a-z0-9-]*", kind.strip()):
        return {"type": kind.strip(), "value": value.strip()}
    return {"type": "equals", "value": text}


def _transform(test: dict[str, Any]) -> Any:
    """The transform of the answer before all assertions of a test; None without one."""
    options = test.get("options")
    return options.get("transform") if isinstance(options, dict) else None


def _object(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotReadable("The variables are not an object.")
    return value


def _filled(value: Any, variables: dict[str, str]) -> Any:
    """A value with the variables in its texts. Raises NotReadable."""
    if isinstance(value, dict):
        return {key: _filled(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, variables) for each in value]
    return _fill(value, variables) if isinstance(value, str) else value


def _fill(text: str, variables: dict[str, str]) -> str:
    """The text with its variables filled in. Raises NotReadable for a variable without a value, and for code."""

    def value(match: re.Match[str]) -> str:
        name, *steps = match[1].split(".")
        if name not in variables:
            raise NotReadable(f"The variable {match[1]} has no value.")
        found: Any = variables[name]
        for step in steps:
            try:
                found = json.loads(found) if isinstance(found, str) else found
                found = found[step]
            except (ValueError, KeyError, TypeError):
                raise NotReadable(f"The variable {match[1]} has no value.") from None
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)

    rest = _VARIABLE.sub("", text)
    if (code := _CODE.search(rest)) is not None:
        found = shorten(rest[code.start() :], 40)
        raise NotReadable(f"The template has code, which is not run: {found}")
    return _VARIABLE.sub(value, text)


def _filled_prompt(template: str, variables: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """The prompt and the request's members before it: of a list of chat messages, or of a text. Raises NotReadable."""
    if template.lstrip().startswith("["):
        try:
            messages = json.loads(template)
        except ValueError:
            messages = None
        if isinstance(messages, list):
            return conversation(_filled(messages, variables))
    return _fill(template, variables).strip(), {}
