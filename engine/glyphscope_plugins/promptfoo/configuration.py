"""Importing configurations of promptfoo: prompts with variables, tests with assertions, and the providers' tools.

Values, templates and files are read as promptfoo 0.123 reads them. Only data is read, no code is run: in templates,
only variables are filled in. Files that the configuration names are read only below its folder. Everything that is not
imported is listed with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from glyphscope.base.errors import SuiteError
from glyphscope.base.pointer import steps_of, to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.evals.suites.imported import (
    NO_TOOLS,
    ImportedSuite,
    Importer,
    Importing,
    NotReadable,
    conversation,
    note_of,
)
from glyphscope_plugins.promptfoo.asserts import Found
from glyphscope_plugins.promptfoo.files import Files, document_of
from glyphscope_plugins.promptfoo.templates import (
    Variables,
    has_code,
    js_json,
    js_text,
    messages_of,
    parsed_json,
)
from glyphscope_plugins.promptfoo.tools import ProviderTools
from glyphscope_plugins.promptfoo.yaml_text import YamlDate, parse_yaml

_IMPORTED = frozenset(
    {"prompts", "tests", "scenarios", "providers", "targets", "description", "defaultTest", "$schema",
     "assertionTemplates"}
)  # fmt: skip
_OF_TESTS = frozenset({"description", "vars", "assert", "metadata", "options"})
_OPTIONS = frozenset({"transform", "prefix", "suffix", "disableDefaultAsserts", "disableVarExpansion"})
_MAX_COMBINATIONS = 1_000
"""Tests that the lists among one test's variables make."""
_HINT = "Give a configuration with prompts and tests, such as promptfooconfig.yaml."
_FILLED = "promptfoo compares an object's variables as they are written; here they are filled in."
_MODELS = "Models and their settings are chosen for each evaluation."


def is_promptfoo(document: Any) -> bool:
    """Whether a document is a configuration of promptfoo."""
    if not isinstance(document, dict):
        return False
    asks = document.keys() & {"prompts", "providers", "targets"}
    return bool(asks and document.keys() & {"tests", "scenarios"}) or len(asks - {"targets"}) > 1


def import_promptfoo(path: Path, registry: str | dict[str, Any] | None = None) -> ImportedSuite:
    """The suite of a configuration in YAML or JSON. `registry` replaces the tools of its providers.

    Raises SuiteError for any other file, and one of which nothing can be imported.
    """
    document = document_of(path)
    if not is_promptfoo(document):
        raise SuiteError("Not a configuration of promptfoo.", where=str(path), hint=_HINT)
    return _Configuration(path, resolved(document, str(path)), registry).imported()


class _Prompt(NamedTuple):
    place: str
    template: str


class _Configuration:
    def __init__(self, path: Path, document: dict[str, Any], registry: str | dict[str, Any] | None) -> None:
        self._path, self._document = path, document
        self._files = Files(path.parent)
        self._tools = ProviderTools(document, self._files)
        self._templated = registry is None and has_code([each for _, each in self._tools.given])
        skipped = self._tools.skipped
        if registry is None:
            registry, of_tools = (
                (NO_TOOLS, []) if self._templated else self._tools.registry(self._tools.given)
            )
            skipped += of_tools
        self._made = Importing(path, registry)
        self._registries: dict[str, dict[str, Any]] = {}
        for place, reason in skipped:
            self._made.skip(place, reason)
        for kind in ("providers", "targets"):
            if document.get(kind):
                self._made.skip(f"/{kind}", _MODELS, harmless=True)

    def imported(self) -> ImportedSuite:
        for name in sorted(self._document.keys() - _IMPORTED):
            self._made.skip(to_pointer((name,)), f"A suite has no place for {name}.")
        prompts = list(self._prompts())
        default = self._default()
        for place, name, test in self._all_tests(default):
            described = test.get("description")
            self._add(place, described if isinstance(described, str) else name, test, default, prompts)
        about = self._document.get("description")
        return self._made.made(about if isinstance(about, str) else "", "promptfoo", _HINT)

    # prompts

    def _prompts(self) -> Iterator[_Prompt]:
        """The templates, each with its place."""
        given = self._document.get("prompts") or ["{{prompt}}"]
        listed = given if isinstance(given, list) else list(given) if isinstance(given, dict) else [given]
        for index, prompt in enumerate(listed):
            place = to_pointer(("prompts", index))
            try:
                if isinstance(prompt, dict):
                    for name in sorted(prompt.keys() - {"raw", "id", "label"}):
                        self._made.skip(f"{place}/{name}", f"A suite has no place for {name}.")
                    prompt = prompt.get("raw") or prompt.get("id")
                if not isinstance(prompt, str):
                    raise NotReadable("The prompt is not a text.")
                yield from (_Prompt(place, template) for template in self._files.prompts(prompt))
            except (NotReadable, SuiteError) as reason:
                self._made.skip(place, str(reason), lost=True)

    # tests

    def _default(self) -> dict[str, Any]:
        try:
            default = self._files.document(self._document.get("defaultTest") or {}, "default test")
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
        for name in sorted(options.keys() - _OPTIONS) if isinstance(options, dict) else ():
            self._made.skip(f"{place}/options/{name}", f"A suite has no place for {name}.")

    def _all_tests(self, default: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """All tests with their places and names: the listed ones, and those of the scenarios."""
        scenarios = self._document.get("scenarios")
        given = self._document.get("tests") or ([] if scenarios else [{}])
        for place, name, test in self._tests(given, "/tests", "test"):
            self._skip_members(place, test)
            yield place, name, test
        for index, scenario in enumerate(self._scenarios(scenarios)):
            yield from self._of_scenario(scenario, f"/scenarios/{index}", f"scenario-{index + 1}", default)

    def _tests(self, given: Any, at: str, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The tests with their places and names; tests in other files in their order."""
        for index, test in enumerate(given if isinstance(given, list) else [given]):
            place = f"{at}/{index}"
            try:
                if isinstance(test, dict) and "path" not in test:
                    yield place, f"{kind}-{index + 1}", test
                else:
                    yield from self._files.tests(test)
            except (NotReadable, SuiteError) as reason:
                self._made.skip(place, str(reason), lost=True)

    def _scenarios(self, given: Any) -> Iterator[Any]:
        try:
            for each in given if isinstance(given, list) else [given] if given else []:
                found = self._files.document(each, "scenario")
                yield from found if isinstance(found, list) else [found]
        except (NotReadable, SuiteError) as reason:
            self._made.skip("/scenarios", str(reason), lost=True)

    def _of_scenario(
        self, scenario: Any, place: str, name: str, default: dict[str, Any]
    ) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The tests of a scenario: each one with each of its sets of data."""
        if not isinstance(scenario, dict) or not isinstance(scenario.get("config"), list):
            self._made.skip(place, "The scenario has no list config.", lost=True)
            return
        for member in sorted(scenario.keys() - {"config", "tests", "description"}):
            self._made.skip(f"{place}/{member}", f"A suite has no place for {member}.")
        tests = list(self._tests(scenario.get("tests") or [{}], f"{place}/tests", "test"))
        for number, data in enumerate(scenario["config"], 1):
            for at, of_test, test in tests:
                try:
                    merged = _merged(data, test, self._files)
                except (NotReadable, SuiteError) as reason:
                    self._made.skip(f"{place}/config/{number - 1}", str(reason), lost=True)
                    continue
                self._skip_members(at, merged)
                yield at, f"{name}-{number}-{of_test}", merged

    def _add(
        self, place: str, name: str, test: dict[str, Any], default: dict[str, Any], prompts: list[_Prompt]
    ) -> None:
        try:
            defaults = _object(default.get("options"), "options")
            options = defaults | _object(test.get("options"), "options")
            given = self._files.variables(default.get("vars")) | self._files.variables(test.get("vars"))
            for variable, value in given.items():
                if isinstance(value, YamlDate):
                    why = "A date without quotes is [object Object] in promptfoo's prompts: quote it."
                    self._made.skip(f"{place}/vars/{variable}", why)
            sets = list(self._sets(given, expand=options.get("disableVarExpansion") is not True))
        except (NotReadable, SuiteError) as reason:
            self._made.skip(f"{place}/vars", str(reason), lost=True)
            return
        reported = False
        for number, prompt in enumerate(prompts, 1):
            for variables in sets:
                try:
                    registry = self._registry(variables)
                    tools = self._made.tools_of(registry).names
                    found = self._found(place, test, default, options, variables, tools, quiet=reported)
                    expect, answer = found.expectation(), found.answer
                    reported = True
                    before, after = (
                        js_text(options.get(part) or defaults.get(part) or "")
                        for part in ("prefix", "suffix")
                    )
                    template = f"{before}{prompt.template}{after}"
                    text, request = _filled_prompt(template, variables)
                except (NotReadable, SuiteError) as reason:
                    self._made.skip(f"{prompt.place}, for {place}", str(reason), lost=True)
                    continue
                for variable in variables.missing:
                    why = f"The variable {variable} has no value, so nothing is in its place."
                    self._made.skip(f"{prompt.place}, for {place}", why)
                variables.missing.clear()
                note = note_of(metadata=test.get("metadata"))
                id = name if len(prompts) == 1 else f"{name}-prompt-{number}"
                self._made.add(
                    id, text, expect, place, request=request, note=note, registry=registry, answer=answer
                )

    def _registry(self, variables: Variables) -> dict[str, Any] | None:
        """The tools with the variables of one test; None if no tool has a variable. Raises NotReadable."""
        if not self._templated:
            return None
        given = [(place, variables.filled(each)) for place, each in self._tools.given]
        if (key := js_json([each for _, each in given])) not in self._registries:
            self._registries[key], skipped = self._tools.registry(given)
            for place, reason in skipped:
                self._made.skip(place, reason)
        return self._registries[key]

    def _found(
        self,
        place: str,
        test: dict[str, Any],
        default: dict[str, Any],
        options: dict[str, Any],
        variables: Variables,
        tools: Iterable[str],
        *,
        quiet: bool,
    ) -> Found:
        """The expectations of a test's assertions, and of the default ones; the others are listed unless `quiet`."""
        names = tuple(tools)
        if names and self._tools.answer is not None:
            why = "A response format is not expressible in a suite with tools, whose answers are calls."
            self._made.skip(self._tools.answer_place, why)
        found = Found(names, transform=options.get("transform"), answer=None if names else self._tools.answer)
        defaults = None if options.get("disableDefaultAsserts") is True else default.get("assert")
        read = 0
        for within, assertions in (("/defaultTest", defaults), (place, test.get("assert"))):
            for index, assertion in enumerate(_listed(assertions)):
                at = f"{within}/assert/{index}"
                try:
                    if not isinstance(assertion, dict):
                        raise NotReadable("The assertion is not an object.")
                    inner = assertion.get("value")
                    if not quiet and isinstance(inner, dict) and has_code(inner):
                        self._made.skip(f"{at}/value", _FILLED, harmless=True)
                    for name in found.add(_filled_assertion(assertion, variables)):
                        if not quiet:
                            self._made.skip(f"{at}/{name}", f"A suite has no place for {name}.")
                    read += 1
                except NotReadable as reason:
                    if not quiet:
                        self._made.skip(at, str(reason))
        if not read and not quiet:
            self._made.skip(f"{place}/assert", "No assertion is imported, so every answer is right.")
        return found

    def _sets(self, given: dict[str, Any], *, expand: bool) -> Iterator[Variables]:
        """The variables, once for each combination of lists of texts among them, and of files. Raises NotReadable."""
        lists = []
        for value in given.values():
            several = expand and isinstance(value, list) and value and isinstance(value[0], str)
            values = value if several else [value]
            lists.append([text for each in values for text in self._files.variable(each)])
        combined = list(islice(product(*lists), _MAX_COMBINATIONS + 1))
        if len(combined) > _MAX_COMBINATIONS:
            raise NotReadable(f"The lists of variables make more than {_MAX_COMBINATIONS:,} tests.")
        return (Variables(dict(zip(given, values))) for values in combined)


def _merged(data: Any, test: dict[str, Any], files: Files) -> dict[str, Any]:
    """A scenario's test with one set of its data. Raises NotReadable and SuiteError."""
    if not isinstance(data, dict):
        raise NotReadable("The data of a scenario is not an object.")
    merged = {**data, **test}
    merged["vars"] = files.variables(data.get("vars")) | files.variables(test.get("vars"))
    for name in ("options", "metadata"):
        merged[name] = _object(data.get(name), name) | _object(test.get(name), name)
    return merged | {"assert": [*_listed(data.get("assert")), *_listed(test.get("assert"))]}


def _listed(value: Any) -> list[Any]:
    """The value itself if it is a list, or a list with it; an empty one for None."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _object(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotReadable(f"The {what} are not an object.")
    return value


def _filled_assertion(assertion: dict[str, Any], variables: Variables) -> dict[str, Any]:
    """The assertion with the variables in its value. Raises NotReadable."""
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith("file://"):
        return assertion
    return {**assertion, "value": variables.filled(value)} if "value" in assertion else assertion


def _filled_prompt(template: str, variables: Variables) -> tuple[str, dict[str, Any]]:
    """The prompt and the request's members before it: of a list of chat messages, or of a text. Raises NotReadable."""
    known, value = parsed_json(template)
    text = js_json(variables.filled(value), 2) if known else variables.prompt(template)
    messages = messages_of(text, lambda yaml: parse_yaml(yaml, "the prompt"))
    if messages is not None:
        return conversation(messages)
    if not text.strip():
        raise NotReadable(f"The prompt is empty: {shorten(template.strip(), 60)}")
    return text, {}


IMPORTER = Importer(import_promptfoo, is_promptfoo, (".yaml", ".yml"))


_SCHEMAS = frozenset({"parameters", "input_schema", "inputSchema", "parametersJsonSchema", "schema"})
"""Members whose references are a schema's own."""
_MAX_VALUES, _MAX_LEVELS = 1_000_000, 200


def resolved(document: dict[str, Any], where: str) -> dict[str, Any]:
    """The document with the values that its references lead to; members beside a reference replace those of the value.

    Raises SuiteError for a reference that leads nowhere in the document, to itself, or to too many values.
    """
    copy = _Resolving(document, where).value(document)
    assert isinstance(copy, dict)
    return copy


class _Resolving:
    def __init__(self, document: dict[str, Any], where: str) -> None:
        self._document, self._where, self._left = document, where, _MAX_VALUES

    def value(self, value: Any, level: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or level > _MAX_LEVELS:
            raise SuiteError("Its references lead to too many values, or to themselves.", where=self._where)
        if isinstance(value, list):
            return [self.value(each, level + 1) for each in value]
        if not isinstance(value, dict) or not value:
            return value  # also a date, which is an object without members
        members = {
            key: each if key in _SCHEMAS else self.value(each, level + 1)
            for key, each in value.items()
            if key != "$ref"
        }
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return members if "$ref" not in value else value
        target = self.value(self._target(reference), level + 1)
        return {**target, **members} if isinstance(target, dict) and members else target

    def _target(self, reference: str) -> Any:
        found: Any = self._document
        try:
            if not reference.startswith("#"):
                raise KeyError(reference)
            for step in steps_of(reference[1:]):
                found = found[int(step)] if isinstance(found, list) else found[step]
        except (LookupError, TypeError, ValueError):
            raise SuiteError(
                f"The reference {shorten(reference, 80)} leads nowhere in this file.",
                where=self._where,
                hint="Only references within the file are read.",
            ) from None
        return found
