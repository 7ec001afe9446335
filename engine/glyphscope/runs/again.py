"""The settings of a recorded run for another run, also with another model."""

from __future__ import annotations

from msgspec.structs import replace

from glyphscope.events import RunRequest

NO_LIMIT = 1_000_000
"""The tokens of a request that states no maximum, such as a captured one: the most that a request can state."""


def again(request: RunRequest) -> RunRequest:
    """The request of a recorded run without its model and what is of that run alone: the form of the model's turns, a
    custom grammar, the branch point, the prefix, relaxed constraints. One without a maximum of tokens gets the usual
    one, as a model may not end.
    """
    usual = RunRequest(prompt="", registry={})
    return replace(
        request, model="", native="auto" if request.native else "", form={}, grammar=None, written=(), branch_of=None,
        relaxed=(), max_tokens=usual.max_tokens if request.max_tokens >= NO_LIMIT else request.max_tokens,
    )  # fmt: skip
