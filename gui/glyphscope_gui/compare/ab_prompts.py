"""The two prompts of an A/B, their sources, and the other settings of a comparison on seeds."""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.ab import AbPlan, Judge, expecting, is_valid
from glyphscope.evals.matrix.seeds import distinct_seeds, seeds_of
from glyphscope.events import RunRequest
from glyphscope_gui.shared.language import tr

Source: TypeAlias = Literal["now", "last", "kept", "project"]
"""The playground's prompt, its last run's, the prompt kept as A by the button, or a project file's."""
NAMES = ("A", "B")
MAX_SEEDS = 100
"""Each seed is two runs of the one model."""
_FIELDS = {
    "prompt": tr("prompt"),
    "system": tr("system template"),
    "preset": tr("preset"),
    "registry": tr("tools"),
    "history": tr("earlier messages"),
    "sampling": tr("sampling"),
}


def plan(
    base: RunRequest, first: RunRequest, second: RunRequest, seeds: str, temperature: float, expected: str
) -> AbPlan:
    """The plan of both prompts on all seeds, with the other settings of `base`. `seeds` and `expected` are the texts of
    their fields. Raises GlyphscopeError if they are invalid.
    """
    sampling = msgspec.structs.replace(base.sampling, temperature=temperature)
    requests = [request_of_prompt(request, base, sampling) for request in (first, second)]
    judge, measure = (is_valid, "valid") if not expected.strip() else (_expected(expected), "as expected")
    numbers = few_seeds(seeds, tr("`glyphscope ab` runs more."))
    made = AbPlan((requests[0], requests[1]), distinct_seeds(numbers, *requests), judge, measure)
    if not made.differ:
        raise GlyphscopeError(
            tr("A and B are the same prompt."), hint=tr("Edit the prompt, or choose another one for A.")
        )
    return made


def few_seeds(text: str, hint: str) -> tuple[int, ...]:
    """The seeds in a field. Raises GlyphscopeError, with the hint if there are more than `MAX_SEEDS`."""
    seeds = seeds_of(text)
    if len(seeds) > MAX_SEEDS:
        raise GlyphscopeError(tr("At most %n seed(s) can run here.", "", MAX_SEEDS), hint=hint)
    return seeds


def differ_words(differ: tuple[str, ...]) -> str:
    """Return the names of the fields that differ, for the user."""
    return ", ".join(_FIELDS.get(name, name.replace("_", " ")) for name in differ)


def expected_text(tool: str, arguments: dict[str, object]) -> str:
    """Return a call as written in the field of the expected call."""
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


def request_of_prompt(request: RunRequest, base: RunRequest, sampling: msgspec.Struct) -> RunRequest:
    """The prompt of `request` with the settings of `base`, so that only the prompts differ."""
    made_of = {name: getattr(request, name) for name in ("prompt", "system", "preset", "registry", "history")}
    return msgspec.structs.replace(
        base,
        **made_of,
        sampling=sampling,
        strategy="direct",
        grammar=None,
        dispatch=False,
        written=(),
        relaxed=(),
        branch_of=None,
    )


def _expected(text: str) -> Judge:
    hint = tr('Write {"tool": "…", "arguments": {…}}.')
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise GlyphscopeError(tr("The expected call is not JSON."), hint=hint) from None
    tool = document.get("tool") if isinstance(document, dict) else None
    arguments = document.get("arguments", {}) if isinstance(document, dict) else None
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        raise GlyphscopeError(tr("The expected call needs a tool and arguments."), hint=hint)
    return expecting(tool, arguments)
