"""The sampling parameters of a run: their bounds, and their description in words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

from glyphscope.errors import GlyphscopeError
from glyphscope.events import SAMPLING_OFF, RunRequest, Sampling
from glyphscope.text.figures import pluralize

MAX_NUMBER = 2**53 - 1
"""The largest integer that every reader of a record reads exactly (RFC 8259, section 6)."""
MAX_STOPS = 16
MAX_STOP = 200
"""Characters of a stop string."""
MAX_REPAIRS = 100
"""Repair attempts: each is another answer of the model."""

_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\\\": "\\"}
_ESCAPED = {character: escape for escape, character in _ESCAPES.items()}
_PARTS = re.compile(r"\\[ntr\\]|.", re.DOTALL)


def check_sampling(request: RunRequest) -> None:
    """Raises GlyphscopeError for invalid sampling parameters and stop strings."""
    sampling = request.sampling
    for name in ("temperature", "top_p", "min_p", "repeat_penalty"):
        if not math.isfinite(value := getattr(sampling, name)):
            raise _wrong(
                name, f"{value} is not a valid temperature, penalty or probability", "Give a finite number."
            )
    numbers = {name: getattr(sampling, name) for name in ("seed", "top_k", "repeat_last_n")}
    for name, value in (*numbers.items(), ("max_tokens", request.max_tokens)):
        if abs(value) > MAX_NUMBER:
            raise _wrong(name, f"{value} is too large", f"Give a number of at most {MAX_NUMBER}.")
    if sampling.repeat_penalty <= 0:
        raise _wrong("repeat_penalty", "A repeat penalty is greater than 0", "1 turns it off.")
    if request.max_tokens < 1:
        raise _wrong("max_tokens", "An answer needs at least 1 token", "Allow more.")
    if request.most_calls is not None and request.most_calls < 1:
        raise _wrong("most_calls", "An answer may have at least 1 call", "Allow more.")
    if not 0 <= request.repair.attempts <= MAX_REPAIRS:
        raise _wrong(
            "repair",
            f"{request.repair.attempts} repair attempts are not possible",
            f"Give a number from 0 to {MAX_REPAIRS}.",
        )
    if wrong := stop_problem(request.stop):
        raise _wrong("stop", wrong, "Change the stop strings.")


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
    words = ["greedy" if greedy else f"temperature {sampling.temperature:g}"]
    for name, off in SAMPLING_OFF.items():
        if getattr(sampling, name) != off and (not greedy or name == "repeat_penalty"):
            words.append(f"{name.replace('_', '-')} {getattr(sampling, name):g}")
    return ", ".join(words)


def limits_in_words(request: RunRequest) -> str:
    """Such as `at most 512 tokens, stop "\\n\\n"`: the limits of a text."""
    limits = [f"at most {pluralize(request.max_tokens, 'token')}"]
    if request.stop:
        limits.append("stop " + " ".join(json.dumps(stop, ensure_ascii=False) for stop in request.stop))
    return ", ".join(limits)


def _unescaped(text: str) -> str:
    return "".join(_ESCAPES.get(part, part) for part in _PARTS.findall(text))


def _wrong(name: str, message: str, hint: str) -> GlyphscopeError:
    return GlyphscopeError(f"{message}.", where=name, hint=hint)
