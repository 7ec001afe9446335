"""Stop strings, and the sampling and the limits of a request in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from glyphscope.base.figures import pluralize
from glyphscope.events import Field, RunRequest, Sampling, settings_of
from glyphscope.runs.again import NO_LIMIT

_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\\\": "\\"}
_ESCAPED = {character: escape for escape, character in _ESCAPES.items()}
_PARTS = re.compile(r"\\[ntr\\]|.", re.DOTALL)


def typed_texts(lines: Iterable[str]) -> tuple[str, ...]:
    """Typed texts, such as stop strings, each once: `\\n`, `\\t`, `\\r` and `\\\\` are characters, and other
    backslashes stay.
    """
    return tuple(dict.fromkeys(_unescaped(line) for line in lines if line))


def text_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """The inverse of `typed_texts`: each on a separate line."""
    return tuple("".join(_ESCAPED.get(each, each) for each in text) for text in texts)


def sampling_words(sampling: Sampling) -> str:
    """Such as `temperature 0.8, top-k 40`: the parameters that have an effect, for greedy sampling without filters."""
    fields = settings_of(Sampling)
    greedy = sampling.temperature <= 0
    values = {} if greedy else {"temperature": sampling.temperature}
    words = (setting_words(fields[name], value) for name, value in (values | sampling.in_effect).items())
    return ", ".join([*(["greedy"] if greedy else []), *words])


def setting_words(field: Field, value: Any) -> str:
    """A value of a setting within a name: `top-k 40`."""
    return field.words(value).format(value=" ".join(text_lines(value)) if field.is_list else value)


def limits_in_words(request: RunRequest) -> str:
    """Such as `at most 512 tokens, stop "\\n\\n"`: the limits of a text."""
    is_limited = request.max_tokens < NO_LIMIT
    limits = [f"at most {pluralize(request.max_tokens, 'token')}" if is_limited else "no token limit"]
    if request.stop:
        limits.append("stop " + " ".join(json.dumps(stop, ensure_ascii=False) for stop in request.stop))
    return ", ".join(limits)


def _unescaped(text: str) -> str:
    return "".join(_ESCAPES.get(part, part) for part in _PARTS.findall(text))
