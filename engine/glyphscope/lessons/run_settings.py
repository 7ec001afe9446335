"""The settings of a run in a lesson, and their request: the names of `RunRequest` and of its sampling, flattened; and
the request of an experiment that its reader varied.

Tools are from a bundled registry, given by name, from a file beside the lesson, or from the block itself; a lesson does
not name MCP servers, so it never starts a program.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from glyphscope import events
from glyphscope.base.errors import GlyphscopeError, LessonError, PlacedProblem, RegistryError
from glyphscope.base.inputs import named_file, read_file, utf8_text
from glyphscope.base.structs import ready
from glyphscope.evals.suites.registries import only_allowed, open_registry
from glyphscope.evals.suites.structure import Found, problems_of
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.languages import LARK, language_of
from glyphscope.lessons.lesson import Experiment, Lesson
from glyphscope.models.opening import EMBEDDED
from glyphscope.prompting.template import preset
from glyphscope.registry import ToolRegistry, load_registry
from glyphscope.registry.keywords import OTHERS
from glyphscope.runs.strategies.loop.presets import compose
from glyphscope.runs.strategies.routing.candidates import router_preset
from glyphscope.turns.expected import Expected
from glyphscope.turns.own import answer_form
from glyphscope.validation.matching import shown

MAX_TOKENS = 512
"""The maximum tokens of an answer of a lesson's run."""
_GRAMMAR = re.compile(r"::=|\n|^start\s*:")
"""Text that a grammar has, and no other description of an answer."""
_MEMBERS = ("description", "enabled", "required", *OTHERS["object"])
"""The members of a tool that are not arguments; in a place, they follow its name."""


class LessonRunSettings(events.Sampling, frozen=True, kw_only=True):
    """The settings of a run in a block. `change` and `remove` edit the registry at places such as
    `search/max_results/maximum`; `written` is the prefix of the answer. `calls` 0 is any number of calls.
    """

    prompt: str = ""
    registry: str | dict[str, Any] = "default"
    tools: tuple[str, ...] | None = None
    change: dict[str, Any] = msgspec.field(default_factory=dict)
    remove: tuple[str, ...] = ()
    system: str | None = None
    preset: str = "default"
    notation: events.Notation | Literal["native"] = "glyph"
    shape: events.Shape = "flat"
    thinking: events.Thinking = "auto"
    reasoning_effort: str = events.AUTO
    template_vars: dict[str, Any] = msgspec.field(default_factory=dict)
    chat_template: str = ""
    control_texts: events.ControlTexts = "tokens"
    tool_choice: str = "required"
    calls: int = 1
    constrain_from: events.ConstrainFrom = "reasoning"
    reasoning_budget: int | None = None
    constraint: events.ConstraintKind = "mask"
    grammar: str | None = None
    answer: str = "call"
    free_text: bool = False
    strategy: events.Strategy = "direct"
    stop_on: events.StopOn = "error"
    repair: int = 0
    extract: bool = True
    router: str = ""
    answers: tuple[str, ...] = ()
    loop: tuple[str, ...] = ()
    written: str = ""
    max_tokens: int = 128


_Made = TypeVar("_Made")

NAMES = frozenset(LessonRunSettings.__struct_fields__)
_SAMPLING = tuple(events.settings_of(events.Sampling))
VARY = (
    "prompt", "answer", "notation", "shape", "constraint", "constrain_from", "thinking", "reasoning_effort", "stop_on",
    "max_tokens", *_SAMPLING,
)  # fmt: skip
"""The settings that can be varied, in addition to places in the registry."""
_SAME = (
    "prompt", "system", "preset", "shape", "constraint", "grammar", "free_text", "strategy", "stop_on", "max_tokens",
    "thinking", "control_texts", "reasoning_effort", "template_vars", "chat_template", "tool_choice", "constrain_from",
    "reasoning_budget",
)  # fmt: skip
"""Settings that are members of the request with the same name."""
_BOUNDS: dict[str, tuple[float, float]] = {
    "max_tokens": (1, MAX_TOKENS),
    "repair": (0, 5),
    "calls": (0, 100),
    "reasoning_budget": (0, MAX_TOKENS),
}
"""The smallest and the largest value of numbers that are narrower in a lesson than in a request."""


def merged(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run based on another one: changes of the registry accumulate, all others are replaced."""
    whole = {**base, **given}
    if "change" in base and "change" in given:
        whole["change"] = {**base["change"], **given["change"]}
    if "remove" in base and "remove" in given:
        whole["remove"] = [*base["remove"], *given["remove"]]
    return whole


def bound_problems(given: Mapping[str, Any]) -> Iterator[Found]:
    """Numbers outside their bounds. The types of all values were already checked."""
    for name, (least, most) in _BOUNDS.items():
        value = given.get(name)
        if value is not None and not least <= value <= most:
            yield (name,), f"{name} is from {least:g} to {most:g}; this is {shown(value)}."
    for name, field in events.settings_of(events.Sampling).items():
        if name in given and (problem := events.wrong_value(field, given[name])):
            yield (name,), f"{problem}." if field.setting.check is not None else f"{name} is {problem}."
    for name in ("constraint", "shape"):
        if given.get(name) in ("endpoint", "name-parameters"):
            yield (name,), f'"{given[name]}" is not available in lessons.'


def request_of(given: Mapping[str, Any], folder: Path | None) -> tuple[events.RunRequest | None, list[Found]]:
    """The request, or all errors in its settings; types and bounds were already checked."""
    found: list[Found] = []
    settings = msgspec.convert(dict(given), ready(LessonRunSettings))
    if not settings.prompt.strip():
        found.append((("prompt",), "A run has a prompt: what the user says to the model."))
    registry = _tried(found, "registry", lambda: _registry(settings, folder))
    if registry is not None:
        registry = _changed(registry, settings, found)
    _tried(found, "preset", lambda: preset(settings.preset))
    loop = _tried(found, "loop", lambda: compose(settings.loop)) or events.LoopSettings()
    router = events.RouterSettings()
    if settings.router:
        router = _tried(found, "router", lambda: router_preset(settings.router)) or router
    if settings.grammar is not None:
        own = settings.grammar
        _tried(found, "grammar", lambda: load_gbnf(own))
        if settings.constraint == "off":
            found.append((("grammar",), 'A grammar has no effect where constraint is "off".'))
    answer = _tried(found, "answer", lambda: _answer(settings, folder)) or events.CALL
    if settings.written and settings.strategy != "direct":
        found.append((("written",), "An answer can be begun under the strategy direct only."))
    if found or registry is None:
        return None, found
    fields = msgspec.structs.asdict(settings)
    request = events.RunRequest(
        **{name: fields[name] for name in _SAME},
        notation="json" if settings.notation == "native" else settings.notation,
        native="auto" if settings.notation == "native" else "",
        answer=answer,
        most_calls=settings.calls or None,
        registry=registry.to_document(),
        model=EMBEDDED,
        sampling=events.Sampling(**{name: fields[name] for name in _SAMPLING}),
        repair=events.RepairSettings(attempts=settings.repair, extract=settings.extract),
        router=msgspec.structs.replace(router, answers=settings.answers or router.answers),
        loop=loop,
        approvals=(events.ApprovalRule(source="demo", action="allow"),)
        if settings.strategy == "loop"
        else (),
        written=(events.PrefixPart(settings.written.encode()),) if settings.written else (),
        repeatable=True,
    )
    return request, []


def varied_request(
    lesson: Lesson, experiment: Experiment, changes: Mapping[str, Any], folder: Path | None
) -> events.RunRequest:
    """The experiment's request with the reader's changes, by names of `VARY` and by places in the registry.

    Raises LessonError with every invalid change.
    """
    settings: dict[str, Any] = dict(lesson.asked[experiment.run])
    settings.update({name: value for name, value in changes.items() if name in VARY})
    if places := {name: value for name, value in changes.items() if name not in VARY}:
        settings["change"] = {**settings.get("change", {}), **places}
    found = [*problems_of(LessonRunSettings, settings)] or [*bound_problems(settings)]
    request = None
    if not found:
        request, found = request_of(settings, folder)
    if request is None:
        problems = tuple(PlacedProblem("/".join(map(str, path)), message) for path, message in found[:20])
        raise LessonError("These settings are invalid.", where=experiment.title, problems=problems)
    return request


def value_at(document: dict[str, Any], place: str) -> Any:
    """The value at a place of a registry's document; None if there is none."""
    try:
        container, key = _container(document, place)
    except _NoPlace:
        return None
    return container.get(key) if isinstance(container, dict) else container[key]


def _tried(found: list[Found], name: str, make: Callable[[], _Made]) -> _Made | None:
    """The result, or None and an error at that name."""
    try:
        return make()
    except GlyphscopeError as error:
        problems = error.problems[:3] if isinstance(error, RegistryError) else ()
        more = "; ".join(f"{problem.pointer}: {problem.message}" for problem in problems)
        found.append(((name,), more or error.words))
    return None


def _answer(settings: LessonRunSettings, folder: Path | None) -> events.Answer:
    """The answer that is described. Raises GlyphscopeError, also if nothing can be that answer."""

    def read(name: str) -> str:
        if folder is None:
            raise LessonError(f"The file {name} cannot be read: the lesson has no folder.")
        return utf8_text(
            read_file(named_file(folder, name), error=LessonError),
            name,
            hint="Save it as UTF-8.",
            error=LessonError,
        )

    text = settings.answer
    if _GRAMMAR.search(text):
        answer = events.Answer("lark" if language_of(text) is LARK else "gbnf", text)
    else:
        answer = events.described_answer(text, read)
    if not answer.is_call:
        Expected(answer_form(answer, "json")).grammar(ToolRegistry())
    return answer


def answer_text(answer: events.Answer) -> str:
    """An answer as `_answer` reads it; a schema is in a file, and only its kind is returned."""
    if answer.kind in ("gbnf", "lark"):
        return answer.text
    text = {"choice": "|".join(answer.choices), "regex": answer.text}.get(answer.kind)
    return answer.kind if text is None else f"{answer.kind}:{text}"


def _registry(settings: LessonRunSettings, folder: Path | None) -> ToolRegistry:
    source = settings.registry
    registry = open_registry(source, folder)
    unknown = [name for name in settings.tools or () if registry.get(name) is None]
    if unknown:
        names = ", ".join(tool.name for tool in registry)
        raise RegistryError(f'There is no tool "{unknown[0]}" in it. There are {names}.')
    return only_allowed(registry, settings.tools)


def _changed(registry: ToolRegistry, settings: LessonRunSettings, found: list[Found]) -> ToolRegistry | None:
    if not (settings.change or settings.remove):
        return registry
    document = copy.deepcopy(registry.to_document())
    for place in settings.remove:
        try:
            container, key = _container(document, place)
            if not isinstance(container, dict) or key not in container:
                raise _NoPlace(f'There is nothing at "{place}".')
            del container[key]
        except _NoPlace as missing:
            found.append((("remove",), str(missing)))
    for place, value in settings.change.items():
        try:
            container, key = _container(document, place)
            container[key] = copy.deepcopy(value)
        except _NoPlace as missing:
            found.append((("change", place), str(missing)))
    return None if found else _tried(found, "change", lambda: load_registry(document))


class _NoPlace(Exception):
    """The reason why a registry's document does not have a place."""


def _container(document: dict[str, Any], place: str) -> tuple[Any, Any]:
    """The object or list that contains the place, and its key or index there. Raises _NoPlace."""
    name, *steps = place.split("/")
    tool = next((tool for tool in document["tools"] if tool["name"] == name), None)
    if tool is None:
        raise _NoPlace(f'There is no tool "{name}": a place is written as tool/argument/keyword.')
    if not steps or "" in steps:
        raise _NoPlace(
            f'"{place}" names no place in the tool: write tool/argument/keyword, or tool/description.'
        )
    properties = tool["parameters"].setdefault("properties", {})
    if steps[0] in properties or steps[0] not in _MEMBERS:
        at: Any = properties
    else:
        at = tool if steps[0] in ("description", "enabled") else tool["parameters"]
    above = name
    for number, step in enumerate(steps, 1):
        key: Any = step
        if isinstance(at, list):
            if not (step.isascii() and step.isdigit()) or int(step) >= len(at):
                raise _NoPlace(f'There is no item {step} at "{above}".')
            key = int(step)
        elif not isinstance(at, dict):
            raise _NoPlace(f'There is nothing below "{above}".')
        if number == len(steps):
            return at, key
        if isinstance(at, dict) and key not in at:
            raise _NoPlace(f'There is no "{step}" at "{above}".')
        at, above = at[key], f"{above}/{step}"
    raise AssertionError("a place has steps")
