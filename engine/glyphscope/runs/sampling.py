"""Stop strings, and the sampling and the limits of a request in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from glyphscope.base.figures import pluralize
from glyphscope.events import SAMPLING_OFF, RunRequest, Sampling, settings_of

MAX_STOPS = 16
MAX_STOP = 200
"""Characters of a stop string."""

_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\\\": "\\"}
_ESCAPED = {character: escape for escape, character in _ESCAPES.items()}
_PARTS = re.compile(r"\\[ntr\\]|.", re.DOTALL)


def stop_problem(stops: tuple[str, ...]) -> str:
    """The problem with these stop strings, without a full stop; empty if there is none."""
    if len(stops) > MAX_STOPS:
        return f"There are {len(stops)} stop strings, and at most {MAX_STOPS} are possible"
    if not all(stops):
        return "A stop string has at least one character"
    if any(len(stop) > MAX_STOP for stop in stops):
        return f"A stop string has at most {MAX_STOP} characters"
    return ""


def stop_strings(lines: Iterable[str]) -> tuple[str, ...]:
    """Typed stop strings, each once: `\\n`, `\\t`, `\\r` and `\\\\` are characters, other backslashes stay."""
    return tuple(dict.fromkeys(_unescaped(line) for line in lines if line))


def stop_lines(stops: Iterable[str]) -> tuple[str, ...]:
    """The inverse of `stop_strings`: each on a separate line."""
    return tuple("".join(_ESCAPED.get(each, each) for each in stop) for stop in stops)


def sampling_words(sampling: Sampling) -> str:
    """Such as `temperature 0.8, top-k 40`: the parameters that are not off; for greedy sampling without the filters."""
    greedy = sampling.temperature <= 0
    names = ["repeat_penalty"] if greedy else ["temperature", *SAMPLING_OFF]
    values = {name: getattr(sampling, name) for name in names}
    fields = settings_of(Sampling)
    words = (
        fields[name].words(value).format(value=value)
        for name, value in values.items()
        if value != SAMPLING_OFF.get(name)
    )
    return ", ".join([*(["greedy"] if greedy else []), *words])


def limits_in_words(request: RunRequest) -> str:
    """Such as `at most 512 tokens, stop "\\n\\n"`: the limits of a text."""
    limits = [f"at most {pluralize(request.max_tokens, 'token')}"]
    if request.stop:
        limits.append("stop " + " ".join(json.dumps(stop, ensure_ascii=False) for stop in request.stop))
    return ", ".join(limits)


def _unescaped(text: str) -> str:
    return "".join(_ESCAPES.get(part, part) for part in _PARTS.findall(text))
