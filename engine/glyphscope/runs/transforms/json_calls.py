"""Transforms of a turn's text that find calls written as JSON: in tags, in code fences, or in the wrapper of an API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, TypeAlias

from glyphscope.errors import NotationError
from glyphscope.notation.write import write_call
from glyphscope.runs.transforms.base import Act, Changed, Form, Surface, transform
from glyphscope.text.json_values import JsonValue, json_or_text, json_values

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
