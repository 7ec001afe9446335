"""Named, opt-in changes between the model and the tools, for models and templates with their own conventions.

The loop's core knows one form of a message and one of a call. Other forms are converted here, by transforms that the
request names, and each change is reported by a `TransformActed`. `@transform` makes a function into a transform, under
the function's name with dashes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

from glyphscope.base.errors import NotationError, find_named
from glyphscope.base.json_values import JsonValue, json_object, json_or_text, json_values
from glyphscope.events import Message, Notation, RunRequest, Shape, TransformActed
from glyphscope.models.chat import results_as_user
from glyphscope.notation.write import write_call
from glyphscope.registry import ToolRegistry

Surface: TypeAlias = Literal["message", "response", "tool", "call", "result"]
SURFACES: tuple[Surface, ...] = get_args(Surface)


@dataclass(frozen=True)
class Form:
    """How a call of this run is written, and for which tools."""

    notation: Notation
    shape: Shape
    registry: ToolRegistry


Messages: TypeAlias = tuple[Message, ...]
Changed: TypeAlias = tuple[Any, str]
"""The result, and a description of the change; empty if nothing changed."""
Act: TypeAlias = Callable[[Any, Form], Changed]


@dataclass(frozen=True)
class Transform:
    """`act` receives the value of its surface, and a Form:

    `message`: the messages of a prompt. `response`: the text of a turn. `call`: also the text, in which it changes only
    calls. `tool`: the registry as shown to the model; the order of tools stays the same. `result`: the message about a
    result: the envelope's JSON, or the output of an earlier transform.
    """

    name: str
    surface: Surface
    about: str
    act: Act


REGISTERED: list[Transform] = []
"""The transforms below, in their order."""


def transform(surface: Surface, about: str) -> Callable[[Act], Act]:
    """The decorator that registers a function."""

    def register(act: Act) -> Act:
        REGISTERED.append(Transform(act.__name__.replace("_", "-"), surface, about, act))
        return act

    return register


# the calls of a turn's text: as JSON in tags, in code fences, or in the wrapper of an API

NAMES = ("name", "tool", "action", "function")
ARGUMENTS = ("arguments", "args", "parameters", "input")
"""The keys under which models write a call's name and arguments, the usual one first."""
MAX_DOCUMENTS = 100
_TAGS = re.compile(r"<(tool_call|function_call|tool|call)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_FENCES = re.compile(r"```[A-Za-z_]*[ \t]*\r?\n(.*?)(?:\r?\n)?(?:```|\Z)", re.DOTALL)
_INNER = re.compile(r"^```[A-Za-z_]*\s*|\s*```$")

Change: TypeAlias = Callable[[Any, Form], list[Any] | None]
"""Returns the calls that replace a document; None if it stays unchanged."""


def documents(text: str) -> Iterator[JsonValue]:
    """The outermost JSON objects, and arrays of objects, in the text."""
    return islice((found for found in json_values(text) if _is_document(found.value)), MAX_DOCUMENTS)


def _is_document(value: Any) -> bool:
    listed = value if isinstance(value, list) else [value]
    return bool(listed) and all(isinstance(each, dict) for each in listed)


def rewriting(surface: Surface, about: str, *, what: str) -> Callable[[Change], Act]:
    """A decorator that registers a change of each document of a text into calls in the run's form.

    `about` describes the transform, `what` its effect on a text.
    """

    def register(change: Change) -> Act:
        @wraps(change)
        def act(text: str, form: Form) -> Changed:
            pieces, at = list[str](), 0
            for found in documents(text):
                calls = change(found.value, form)
                if calls is not None:
                    pieces += [text[at : found.start], "\n".join(written(call, form) for call in calls)]
                    at = found.end
            return ("".join([*pieces, text[at:]]), what) if pieces else (text, "")

        return transform(surface, about)(act)

    return register


def written(call: Any, form: Form) -> str:
    """The call in the run's form if it is a plain one, otherwise as JSON, for the next transform."""
    plain = plain_call(call)
    if plain is not None:
        try:
            return write_call(*plain, style=form.notation, shape=form.shape)
        except NotationError:
            pass  # the validator will report the violation
    text = json.dumps(call, ensure_ascii=False)
    lone = any("\ud800" <= char <= "\udfff" for char in text)  # a lone surrogate is not in UTF-8
    return json.dumps(call) if lone else text


def plain_call(call: Any) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of `{"name": …, "arguments": {…}}`, under any of the keys; None for any other value."""
    if not isinstance(call, dict):
        return None
    name, arguments = key_of(call, NAMES), key_of(call, ARGUMENTS)
    if name is None or arguments is None or set(call) - {name, arguments, "id", "type"}:
        return None
    if not isinstance(call[name], str) or not isinstance(call[arguments], dict):
        return None
    return call[name], call[arguments]


def key_of(call: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of the keys that the call has."""
    return next((key for key in keys if key in call), None)


@transform("response", "<tool_call>…</tool_call> becomes the call in it.")
def content_tags(text: str, form: Form) -> Changed:
    """`<tool_call>…</tool_call>` becomes the call in it; the last tag need not be closed."""
    return _unwrapped(text, form, _TAGS, 2, "took {} out of its tags")


@transform("response", "A code fence around a call is taken away.")
def fenced_calls(text: str, form: Form) -> Changed:
    """A code fence around a call is removed; others are kept."""
    return _unwrapped(text, form, _FENCES, 1, "took {} out of its fence")


def _unwrapped(text: str, form: Form, marks: re.Pattern[str], group: int, what: str) -> Changed:
    taken = 0

    def unwrap(match: re.Match[str]) -> str:
        nonlocal taken
        inner = _INNER.sub("", match[group].strip())
        if not _looks_like_call(inner, form):
            return match[0]
        taken += 1
        return _in_form(inner, form)

    changed = marks.sub(unwrap, text)
    return (changed, what.format("a call" if taken == 1 else f"{taken} calls")) if taken else (text, "")


def _looks_like_call(inner: str, form: Form) -> bool:
    """Whether it is JSON with the keys of a call, or, in any other notation, braces and a tool's name."""
    if not inner.startswith(("{", "[")):
        return False
    calls = _calls_in(inner)
    if calls is None:
        return any(tool.name in inner for tool in form.registry)
    return bool(calls) and all(isinstance(call, dict) and _has_call_key(call) for call in calls)


def _calls_in(inner: str) -> list[Any] | None:
    """The items of a JSON array, or the single value; None if the text is not JSON."""
    document = json_or_text(inner)
    if document == inner:
        return None
    return document if isinstance(document, list) else [document]


def _has_call_key(call: dict[str, Any]) -> bool:
    return any(key in call for key in (*NAMES, "function_call", "tool_calls"))


def _in_form(inner: str, form: Form) -> str:
    calls = _calls_in(inner)
    if calls is None or not all(map(plain_call, calls)):
        return inner
    return "\n".join(written(call, form) for call in calls)


@rewriting(
    "response", 'The wrapper {"function_call": {…}} is taken away.', what="took the call out of function_call"
)
def function_call(document: Any, form: Form) -> list[Any] | None:
    """`{"function_call": {…}}`, the older wrapper of an API, becomes the call in it."""
    if isinstance(document, dict) and isinstance(document.get("function_call"), dict):
        return [document["function_call"]]
    return None


@rewriting(
    "response",
    'The wrapper {"tool_calls": […]}, or an object in it, is taken away.',
    what="took the calls out of tool_calls",
)
def tool_calls(document: Any, form: Form) -> list[Any] | None:
    """`{"tool_calls": [{"function": {…}}]}`, with an object in place of the array, or without the wrapper, becomes the
    calls in it.
    """
    if isinstance(document, dict):
        calls = document.get("tool_calls")
        calls = [calls] if isinstance(calls, dict) else calls
        if calls is None and isinstance(document.get("function"), dict):
            calls = [document]
    else:
        calls = document
    if not calls or not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        return None
    inner = [call["function"] if isinstance(call.get("function"), dict) else call for call in calls]
    return inner if all(map(_has_call_key, inner)) else None


@rewriting("call", "Arguments in a JSON string become an object.", what="read the arguments out of a string")
def arguments_from_text(document: Any, form: Form) -> list[Any] | None:
    """Arguments that are a JSON object in a string become that object."""
    if not isinstance(document, dict) or key_of(document, NAMES) is None:
        return None
    key = key_of(document, ARGUMENTS)
    if key is None or not isinstance(document[key], str):
        return None
    arguments = json_or_text(document[key])
    return [document | {key: arguments}] if isinstance(arguments, dict) else None


@rewriting("call", 'Arguments "" or null become none.', what="took blank arguments for none")
def blank_arguments(document: Any, form: Form) -> list[Any] | None:
    """Arguments that are a blank string, null or missing become `{}`."""
    if not isinstance(document, dict) or (name := key_of(document, NAMES)) is None:
        return None
    key = key_of(document, ARGUMENTS)
    if key is None:
        nothing = set(document) <= {name, "id", "type"} and form.shape != "flat"
        return [document | {"arguments": {}}] if nothing else None
    return [document | {key: {}}] if document[key] is None or _is_blank(document[key]) else None


@rewriting("call", "Optional arguments that are blank strings are left out.", what="left blank arguments out")
def blank_values(document: Any, form: Form) -> list[Any] | None:
    """Optional arguments that are blank strings are left out."""
    plain = plain_call(document)
    if plain is None:
        return None
    tool, arguments = plain
    known = form.registry.get(tool)
    required = known.parameters.get("required", ()) if known else ()
    left = {key: value for key, value in arguments.items() if key in required or not _is_blank(value)}
    return None if left == arguments else [{"name": tool, "arguments": left}]


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


# the messages, the tools and the results that a model receives

_SENTENCE = re.compile(r"(.+?[.!?])(\s|\Z)", re.DOTALL)
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


@transform("message", "Tool messages become user messages.")
def tool_results_as_user(messages: Messages, form: Form) -> Changed:
    """A tool message becomes a user message, for templates without its role."""
    if not any(message.role == "tool" for message in messages):
        return messages, ""
    return tuple(results_as_user(messages)), "gave the tools' messages as the user's"


@transform("message", "Messages of one role in a row become one.")
def alternate_roles(messages: Messages, form: Form) -> Changed:
    """Consecutive messages of one role become one, for templates in which user and assistant must alternate."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            message = Message(message.role, f"{joined.pop().content}\n\n{message.content}")
        joined.append(message)
    if len(joined) == len(messages):
        return messages, ""
    return tuple(joined), f"joined {len(messages) - len(joined)} messages with the one before"


@transform("message", "The assistant's calls are in <tool_call> tags.")
def calls_in_tags(messages: Messages, form: Form) -> Changed:
    """The assistant's calls are in `<tool_call>` tags, for models that were trained with them."""
    changed = tuple(
        Message(message.role, f"<tool_call>\n{message.content}\n</tool_call>")
        if message.role == "assistant" and message.content.startswith("{")
        else message
        for message in messages
    )
    return (messages, "") if changed == messages else (changed, "put the assistant's calls into tags")


@transform("tool", "Tools are called by names in snake_case.")
def snake_case_names(registry: ToolRegistry, form: Form) -> Changed:
    """Tools are called by names in snake_case: models of several makers have difficulties with dots and capitals."""
    taken = {tool.name for tool in registry}
    tools, renamed = [], []
    for tool in registry:
        name = _WORD.sub("_", tool.name).strip("_").lower()
        if name and name != tool.name and name not in taken:
            taken.add(name)
            renamed.append(f"{tool.name} is {name}")
            tool = replace(tool, name=name)
        tools.append(tool)
    if not renamed:
        return registry, ""
    return replace(registry, tools=tuple(tools)), ", ".join(renamed)


@transform("tool", "Descriptions are cut to their first sentence.")
def short_descriptions(registry: ToolRegistry, form: Form) -> Changed:
    """A tool's description is cut to its first sentence, for small contexts."""
    tools = tuple(replace(tool, description=_first_sentence(tool.description)) for tool in registry)
    cut = sum(before.description != after.description for before, after in zip(registry, tools, strict=True))
    if not cut:
        return registry, ""
    return replace(registry, tools=tools), f"shortened {cut} descriptions"


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text.strip())
    return found[1] if found else text


@transform("result", "Results are sent without their envelope.")
def plain_results(text: str, form: Form) -> Changed:
    """The result without its envelope: the text itself, or `Error CODE: …`."""
    envelope = json_object(text)
    if envelope.get("ok"):
        result = envelope.get("result")
        text = result if isinstance(result, str) else _compact(result)
    elif isinstance(error := envelope.get("error"), dict):
        text = f"Error {error.get('code')}: {error.get('message')}"
    else:
        return text, ""
    if "edited" in envelope:
        text += f"\nThe arguments were changed to {_compact(envelope['edited'])}."
    return text, "took the result out of its envelope"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# a run's transforms

TRANSFORMS: dict[str, Transform] = {
    each.name: each for each in sorted(REGISTERED, key=lambda each: SURFACES.index(each.surface))
}


def transforms(names: Sequence[str]) -> tuple[Transform, ...]:
    """The transforms with those names, in that order. Raises GlyphscopeError for an unknown name."""
    return tuple(find_named(TRANSFORMS, name, f'transform "{name}"', where="transforms") for name in names)


T = TypeVar("T")


@dataclass(frozen=True)
class Shown:
    """The registry as shown to the model, and the tools' names in the run's own registry by their shown names."""

    registry: ToolRegistry
    own_names: dict[str, str]
    acted: tuple[TransformActed, ...]


class Chain:
    """The request's `transforms`. No events are made here: the caller reports the transforms that acted."""

    def __init__(self, chosen: Sequence[Transform], form: Form) -> None:
        self._chosen = tuple(chosen)
        self._form = form

    @property
    def reads(self) -> bool:
        """Whether any of them can extract a call from other text."""
        return any(transform.surface in ("response", "call") for transform in self._chosen)

    def messages(self, messages: Messages) -> tuple[Messages, tuple[TransformActed, ...]]:
        """The messages of a prompt as they are sent."""
        return self._apply(messages, "message")

    def response(self, text: str) -> tuple[str, tuple[TransformActed, ...]]:
        """A turn's text as it is parsed: transforms of responses first, then transforms of calls."""
        text, acted = self._apply(text, "response")
        text, more = self._apply(text, "call")
        return text, (*acted, *more)

    def result(self, text: str) -> tuple[str, tuple[TransformActed, ...]]:
        """The message to the model about a result."""
        return self._apply(text, "result")

    def _apply(self, value: T, surface: Surface) -> tuple[T, tuple[TransformActed, ...]]:
        acted = []
        for transform in self._chosen:
            if transform.surface == surface:
                changed, what = transform.act(value, self._form)
                if what:
                    value = cast(T, changed)
                    acted.append(TransformActed(name=transform.name, surface=surface, what=what))
        return value, tuple(acted)


def chain_of(request: RunRequest, registry: ToolRegistry) -> tuple[Chain, Shown]:
    """The chain of a request, and its tools as shown to the model. Raises GlyphscopeError for an unknown name."""
    chosen = transforms(request.loop.transforms)
    form = Form(request.notation, request.shape, registry)
    changed, acted = Chain(chosen, form)._apply(registry, "tool")
    own = {new.name: old.name for old, new in zip(registry, changed, strict=True)}
    return Chain(chosen, Form(request.notation, request.shape, changed)), Shown(changed, own, acted)
