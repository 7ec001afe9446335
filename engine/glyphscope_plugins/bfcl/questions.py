"""Importing files of the Berkeley Function Calling Leaderboard: questions, functions and possible answers to a suite.

Supported are the categories whose answers are calls (simple, multiple, parallel, also live), those that expect no call
or any call (irrelevance, relevance), and conversations of several turns. The functions of the last are only described:
a script answers their calls with `Done.`, so calls that depend on a real result cannot be right here. Entries that
cannot be read are left out, each with its reason; nothing is made up for them.

The format is that of versions 3 and 4. An answer lists, by argument, values of which any one is right; an empty text
among them means that the argument may be left out. The same applies to each member of an argument that is an object.
Turns of a conversation list their calls as Python expressions.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.base.errors import GlyphscopeError, RegistryError, SuiteError
from glyphscope.base.figures import pluralize
from glyphscope.base.inputs import read_file
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.evals.suites import suite
from glyphscope.evals.suites.imported import DONE, ImportedSuite, NotReadable, SkippedEntry
from glyphscope.evals.suites.registries import KnownTools, open_registry
from glyphscope.evals.suites.rules import scenario_problems
from glyphscope.events import ExpectedCall
from glyphscope.registry.document import parse_text, plain
from glyphscope.registry.making import with_children

ANSWERS, FUNCTIONS = "possible_answer", "multi_turn_func_doc"
"""The folders beside the questions with the leaderboard's answers, and with its functions by class."""

_CLASS_FILES = {
    "GorillaFileSystem": "gorilla_file_system", "MathAPI": "math_api", "MessageAPI": "message_api",
    "TwitterAPI": "posting_api", "PostingAPI": "posting_api", "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot", "TravelAPI": "travel_booking", "VehicleControlAPI": "vehicle_control",
}  # fmt: skip
_SPARE_TURNS = 4
"""Turns in addition to one for each call of a conversation: the answer, and some invalid turns."""
_NOTES = (
    "Texts are compared without regard to case and runs of white space; the leaderboard also takes punctuation away.",
    "Values that a function's own schema rejects are not among the right ones.",
)
_TURN_NOTES = (
    "Calls are answered with 'Done.': what can be known only from a real result cannot be right.",
    "The leaderboard compares the state at the end; here the calls of its answers must be made, and others may be.",
)


def import_bfcl(questions: Path, answers: Path | None = None) -> ImportedSuite:
    """The suite of a file of questions. The default for `answers` is the file of the same name in the folder beside it,
    if there is one. Raises SuiteError for any other file, or one of which no entry can be read.
    """
    beside = questions.parent / ANSWERS / questions.name
    answers = beside if answers is None and beside.is_file() else answers
    truths = {} if answers is None else _truths(answers)
    reader = _Entries(truths, questions.parent / FUNCTIONS, questions.stem)
    scenarios: list[suite.Scenario] = []
    left_out: list[SkippedEntry] = []
    seen: set[str] = set()
    for number, entry in enumerate(islice(_lines(questions), suite.MAX_SCENARIOS), 1):
        name = str(entry["id"]) if isinstance(entry.get("id"), str) else f"entry {number}"
        try:
            if name in seen:
                raise NotReadable("Another entry has this id.")
            seen.add(name)
            scenarios.append(reader.scenario(name, entry))
        except NotReadable as reason:
            left_out.append(SkippedEntry(name, str(reason)))
        except RecursionError:
            left_out.append(SkippedEntry(name, "It is nested too deep."))
    if not scenarios:
        first = f" The first entry: {left_out[0].reason}" if left_out else ""
        raise SuiteError(
            f"No entry of this file can be imported.{first}",
            where=str(questions),
            hint="Give a file of questions as the leaderboard has them, and the one of its possible answers.",
        )
    return ImportedSuite(_suite(questions.stem, scenarios, left_out), tuple(left_out))


class _Entries:
    """Makes scenarios from entries."""

    def __init__(self, truths: dict[str, Any], functions: Path, file: str) -> None:
        self._truths = truths
        self._functions = functions
        self._file = file
        self._classes: dict[str, list[Any]] = {}

    def scenario(self, name: str, entry: dict[str, Any]) -> suite.Scenario:
        """Raises NotReadable."""
        if re.search(r"(^|_)java", name):
            raise NotReadable("Answers in Java and JavaScript are source text of those languages.")
        if "missed_function" in entry:
            raise NotReadable("A suite cannot express functions that appear in a later turn.")
        functions = entry.get("function")
        if functions is None:
            classes = entry.get("involved_classes")
            kinds = classes if isinstance(classes, list) else ()
            functions = [each for kind in kinds for each in self._of_class(kind)]
        functions = functions if isinstance(functions, list) else [functions]
        tools = {tool["name"]: tool for tool in map(tool_of, functions)}
        if not tools:
            raise NotReadable("It has no functions.")
        prompts = _prompts(entry.get("question"))
        registry = {"glyphscope": 1, "tools": list(tools.values())}
        known = _known(registry)  # checks the schemas first, as the answers are read by them
        expected = self._expected(name, entry, tools, len(prompts))
        scenario = suite.Scenario(
            id=name,
            group=name.rpartition("_")[0] or name,
            prompt=prompts[0],
            expect=expected[0],
            turns=tuple(
                suite.ScenarioTurn(prompt=p, expect=e) for p, e in zip(prompts[1:], expected[1:], strict=True)
            ),
            registry=registry,
        )
        return _checked(scenario, known)

    def _expected(
        self, name: str, entry: dict[str, Any], tools: dict[str, dict[str, Any]], turns: int
    ) -> list[suite.Expectation]:
        truth = entry.get("ground_truth", self._truths.get(name))
        if truth is None or truth == []:
            of = f"{name} {self._file}"
            if turns == 1 and "irrelevance" in of:
                return [suite.Expectation()]
            if turns == 1 and "relevance" in of:
                return [suite.Expectation(calls=(ExpectedCall(tools=tuple(tools)),), extra_calls=True)]
            raise NotReadable("There is no answer for it.")
        if not isinstance(truth, list):
            truth = [truth]
        if all(isinstance(calls, list) for calls in truth):
            return _expected_turns(truth, tools, turns)
        if turns > 1:
            raise NotReadable("It has several turns, and its answer has one.")
        return [suite.Expectation(calls=tuple(map(expected_call, truth)))]

    def _of_class(self, kind: Any) -> list[Any]:
        """The functions of a class, described in a separate file."""
        if not isinstance(kind, str) or kind not in _CLASS_FILES:
            raise NotReadable(f"The functions of {shorten(str(kind), 60)} are not known.")
        if kind not in self._classes:
            path = self._functions / f"{_CLASS_FILES[kind]}.json"
            if not path.is_file():
                raise NotReadable(
                    f"The functions of {kind} are described in {FUNCTIONS}/{path.name}, and it is missing."
                )
            self._classes[kind] = list(_lines(path))
        return self._classes[kind]


def _expected_turns(
    truth: list[Any], tools: dict[str, dict[str, Any]], turns: int
) -> list[suite.Expectation]:
    if len(truth) != turns:
        raise NotReadable(f"It has {pluralize(turns, 'turn')}, and its answer has {len(truth):,}.")
    found = []
    for calls in truth:
        if not all(isinstance(call, str) for call in calls):
            raise NotReadable("The calls of an answer are not written as Python.")
        expected = tuple(parsed_call(call, tools) for call in calls)
        found.append(suite.Expectation(calls=expected, extra_calls=bool(expected)))
    return found


def _known(registry: dict[str, Any]) -> KnownTools:
    try:
        return KnownTools(open_registry(registry))
    except RegistryError as error:
        problem = error.problems[0].message if error.problems else error.message
        raise NotReadable(f"Its functions cannot be used: {problem}") from None


def _checked(scenario: suite.Scenario, tools: KnownTools) -> suite.Scenario:
    """The scenario without values that its functions reject. Raises NotReadable for other errors."""
    expect = scenario.expect
    calls = tuple(_accepted(call, tools) for call in expect.calls)
    scenario = msgspec.structs.replace(scenario, expect=msgspec.structs.replace(expect, calls=calls))
    for path, message in scenario_problems(scenario, tools, ()):
        raise NotReadable(f"{to_pointer(path)}: {message}")
    return scenario


def _accepted(call: ExpectedCall, tools: KnownTools) -> ExpectedCall:
    """The call without values that the schema rejects, such as a text for a variable in place of a list of numbers."""
    (tool,) = call.tools[:1]
    if tools.registry.get(tool) is None or not call.any_of:
        return call
    any_of = {
        name: kept
        for name, values in call.any_of.items()
        if (kept := tuple(v for v in values if not tools.fault(tool, {name: v}, complete=False)))
        or name not in call.optional
    }
    for name, values in any_of.items():
        if not values:
            raise NotReadable(f"No right value of {name} fits the function's own schema.")
    optional = tuple(name for name in call.optional if name in any_of)
    return msgspec.structs.replace(call, any_of=any_of, optional=optional)


def _suite(name: str, scenarios: list[suite.Scenario], left_out: list[SkippedEntry]) -> suite.Suite:
    """The suite. With one call per prompt, its strategy is direct; with more or none, the tool loop."""
    turns = any(each.turns for each in scenarios)
    talk = turns or any(len(each.expect.calls) != 1 or each.expect.extra_calls for each in scenarios)
    registry: str | dict[str, Any] = "default"
    first = scenarios[0].registry
    if first is not None and all(each.registry == first for each in scenarios):
        registry = first
        scenarios = [msgspec.structs.replace(each, registry=None) for each in scenarios]
    if talk:
        scenarios = [_scripted(each, registry) for each in scenarios]
    most = max(len(expect.calls) for each in scenarios for expect in suite.expectations(each))
    loop = {"parallel_tool_calls": True, "max_turns": most + _SPARE_TURNS}
    reasons = Counter(each.reason for each in left_out).most_common(10)
    return suite.Suite(
        glyphscope_suite=suite.VERSION,
        name=_slug(name),
        about=f"Imported from the leaderboard's file {name}: {len(scenarios)} entries, {len(left_out)} left out.",
        registry=registry,
        strategy="loop" if talk else "direct",
        request={"loop": loop} if talk else {},
        scenarios=tuple(scenarios),
        notes=(
            *_NOTES,
            *(_TURN_NOTES if turns else ()),
            *(f"Left out, {n} times: {why}" for why, n in reasons),
        ),
    )


def _scripted(scenario: suite.Scenario, registry: str | dict[str, Any]) -> suite.Scenario:
    """The scenario with a script that answers every call, as these functions are not executable."""
    own = scenario.registry if scenario.registry is not None else registry
    assert isinstance(own, dict)
    script = tuple(suite.ScriptedResult(tool=tool["name"], text=DONE, times=0) for tool in own["tools"])
    return msgspec.structs.replace(scenario, script=script)


def _prompts(question: Any) -> list[str]:
    """The prompt of each turn. A system message at the beginning is joined to the first prompt."""
    if not isinstance(question, list) or not question:
        raise NotReadable("It has no question.")
    turns = question if all(isinstance(turn, list) for turn in question) else [question]
    prompts = []
    for number, turn in enumerate(turns):
        said: list[str] = []
        for message in turn:
            role = message.get("role") if isinstance(message, dict) else None
            if role not in ("user", "system") or not isinstance(message.get("content"), str):
                raise NotReadable("A turn has a message that is not text of the user or the system.")
            if role == "system" and (said or number):
                raise NotReadable("A system message is in the middle of a conversation.")
            said.append(message["content"])
        if not "".join(said).strip():
            raise NotReadable("A turn says nothing.")
        prompts.append("\n\n".join(said))
    return prompts


def _truths(path: Path) -> dict[str, Any]:
    return {
        entry["id"]: entry["ground_truth"]
        for entry in _lines(path)
        if isinstance(entry.get("id"), str) and "ground_truth" in entry
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON Lines, or of one JSON array. Raises SuiteError with the line."""
    data = read_file(path, suite.MAX_BYTES, "a file of the leaderboard", hint="Split it.", error=SuiteError)
    if data.lstrip()[:1] == b"[":
        for entry in _parsed(data, str(path), list):
            yield _parsed_object(entry, str(path))
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            yield _parsed_object(_parsed(line, where, dict), where)


def _parsed(data: bytes, where: str, kind: type) -> Any:
    try:
        value = parse_text(data, where)
    except GlyphscopeError as error:
        raise SuiteError(error.message, where=where, hint=error.hint) from None
    if not isinstance(value, kind):
        raise SuiteError("Each line is one JSON object.", where=where)
    return value


def _parsed_object(value: Any, where: str) -> dict[str, Any]:
    copy, problems = plain(value)
    if problems or not isinstance(copy, dict):
        message = problems[0].message if problems else "Each entry is a JSON object."
        raise SuiteError(message, where=where)
    return copy


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:80] or "bfcl"


MAX_VALUES = 256
"""Values of one argument, after combining the alternatives of its members."""

_MAX_LEVELS = 64
_MAX_SOURCE = 4_000
_TYPES = {
    "dict": "object", "object": "object", "float": "number", "number": "number", "double": "number",
    "integer": "integer", "int": "integer", "string": "string", "str": "string", "boolean": "boolean",
    "bool": "boolean", "array": "array", "list": "array", "tuple": "array", "null": "null", "any": "",
}  # fmt: skip
_OMITTED = object()


def tool_of(function: Any) -> dict[str, Any]:
    """A tool in the form of Glyphscope's registry. Raises NotReadable."""
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise NotReadable("A function has no name.")
    parameters = function.get("parameters")
    tool = {
        "name": function["name"],
        "parameters": {"type": "object"} if parameters is None else schema_of(parameters),
    }
    if isinstance(function.get("description"), str):
        tool["description"] = function["description"]
    return tool


def schema_of(schema: Any, level: int = 0) -> Any:
    """The JSON Schema of a function's or an argument's description. Raises NotReadable."""
    if level > _MAX_LEVELS:
        raise NotReadable("A function's parameters are nested too deep.")
    if not isinstance(schema, dict):
        return schema
    made = {key: value for key, value in schema.items() if key != "required" or isinstance(value, list)}
    kind = made.pop("type", "any")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise NotReadable(f"The type {shorten(str(kind), 40)} is not a type of the Python categories.")
    if _TYPES[kind]:
        made = {"type": _TYPES[kind], **made}
    return with_children(made, lambda inner: schema_of(inner, level + 1))


def expected_call(answer: Any) -> ExpectedCall:
    """The expected call of one `{name: {argument: [value, …]}}`. Raises NotReadable."""
    if not isinstance(answer, dict) or len(answer) != 1:
        raise NotReadable("An answer is not an object with one function's name.")
    ((name, arguments),) = answer.items()
    if not isinstance(arguments, dict) or not all(isinstance(each, list) for each in arguments.values()):
        raise NotReadable(f"The answer for {name} does not list its arguments' values.")
    any_of: dict[str, tuple[Any, ...]] = {}
    optional: list[str] = []
    for argument, values in arguments.items():
        given = [value for value in values if not _is_empty(value)]
        if len(given) < len(values) and given:
            optional.append(argument)
        if given:
            any_of[argument] = tuple(_taken(one for value in given for one in _alternatives(value, 0)))
    return ExpectedCall(
        tools=(name,),
        arguments=None if any_of else {},  # if no value is right, none may be given
        any_of=any_of,
        optional=tuple(optional),
        folded=True,
    )


def parsed_call(source: str, tools: dict[str, dict[str, Any]]) -> ExpectedCall:
    """The expected call of a Python call with literal arguments, of a tool in `tools`, whose schemas are valid.

    Raises NotReadable.

    Other arguments may be given as well, and one with its default value may be left out.
    """
    call = _call_of(source)
    name = ast.unparse(call.func)
    if name not in tools:
        raise NotReadable(f"The answer calls {shorten(name, 60)}, which is not a function of the entry.")
    schema = tools[name]["parameters"]
    properties: dict[str, Any] = schema.get("properties", {})
    if len(call.args) > len(properties):
        raise NotReadable(f"The answer gives {name} more arguments than it accepts.")
    given = dict(zip(properties, call.args))
    for keyword in call.keywords:
        if keyword.arg is None:
            raise NotReadable("An answer unpacks its arguments.")
        given[keyword.arg] = keyword.value
    try:
        arguments = {key: _plain(ast.literal_eval(value)) for key, value in given.items()}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise NotReadable(f"An argument of {name} is not a literal.") from None
    required = schema.get("required", ())
    optional = tuple(
        key
        for key, value in arguments.items()
        if key not in required and _is_default(properties.get(key), value)
    )
    return ExpectedCall(tools=(name,), arguments=arguments, match="subset", optional=optional, folded=True)


def _call_of(source: str) -> ast.Call:
    if len(source) > _MAX_SOURCE:
        raise NotReadable(f"A call of an answer has more than {_MAX_SOURCE:,} characters.")
    call: ast.expr | None
    try:
        call = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        call = None
    if not isinstance(call, ast.Call):
        raise NotReadable(f"Not a Python call: {shorten(source, 60)}")
    return call


def _is_default(schema: Any, value: Any) -> bool:
    return isinstance(schema, dict) and "default" in schema and bool(schema["default"] == value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key that is not a string")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("no value of JSON")


def _is_empty(value: Any) -> bool:
    return isinstance(value, str) and not value


def _alternatives(value: Any, level: int) -> list[Any]:
    """The values that one entry of an answer represents: an object's members have lists of values."""
    if level > _MAX_LEVELS:
        raise NotReadable("An answer is nested too deep.")
    if isinstance(value, dict):
        choices = []
        for listed in value.values():
            listed = listed if isinstance(listed, list) else [listed]
            found: list[Any] = [
                one for each in listed if not _is_empty(each) for one in _alternatives(each, level + 1)
            ]
            choices.append(_taken([*found, _OMITTED] if len(found) < len(listed) or not found else found))
        rows = _taken(product(*choices))
        return [{k: v for k, v in zip(value, row) if v is not _OMITTED} for row in rows]
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [list(row) for row in _taken(product(*(_alternatives(item, level + 1) for item in value)))]
    return [value]


def _taken(values: Any) -> list[Any]:
    found = list(islice(values, MAX_VALUES + 1))
    if len(found) > MAX_VALUES:
        raise NotReadable(f"An argument has more than {MAX_VALUES} right values.")
    return found
