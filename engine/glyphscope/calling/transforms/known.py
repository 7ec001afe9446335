"""The transforms that there are, by name, in the order of their surfaces."""

from __future__ import annotations

from collections.abc import Sequence

from glyphscope.calling.transforms import others, responses
from glyphscope.calling.transforms.kinds import Transform
from glyphscope.errors import GlyphscopeError

_ALL = (
    Transform(
        "tool-results-as-user", "message", "Tools' messages are given as the user's.", others.results_as_users
    ),
    Transform(
        "alternate-roles",
        "message",
        "Messages of one role in a row become one.",
        others.one_role_after_the_other,
    ),
    Transform(
        "calls-in-tags", "message", "The assistant's calls are in <tool_call> tags.", others.calls_in_tags
    ),
    Transform(
        "content-tags", "response", "<tool_call>…</tool_call> becomes the call in it.", responses.content_tags
    ),
    Transform(
        "fenced-calls", "response", "A code fence around a call is taken away.", responses.fenced_calls
    ),
    Transform(
        "function-call",
        "response",
        'The wrapper {"function_call": {…}} is taken away.',
        responses.function_call,
    ),
    Transform(
        "tool-calls",
        "response",
        'The wrapper {"tool_calls": […]}, or an object in it, is taken away.',
        responses.tool_calls,
    ),
    Transform(
        "snake-case-names", "tool", "Tools are called by names in snake_case.", others.snake_case_names
    ),
    Transform(
        "short-descriptions", "tool", "Of descriptions the first sentence is left.", others.short_descriptions
    ),
    Transform(
        "arguments-from-text",
        "call",
        "Arguments in a JSON string become an object.",
        responses.arguments_from_text,
    ),
    Transform("blank-arguments", "call", 'Arguments "" or null become none.', responses.blank_arguments),
    Transform(
        "blank-values",
        "call",
        "Optional arguments that are blank strings are left out.",
        responses.blank_values,
    ),
    Transform("plain-results", "result", "Results are sent without their envelope.", others.plain_results),
)

TRANSFORMS: dict[str, Transform] = {transform.name: transform for transform in _ALL}


def transforms(names: Sequence[str]) -> tuple[Transform, ...]:
    """The transforms of those names, in that order. Raises GlyphscopeError for a name that there is not."""
    unknown = [name for name in names if name not in TRANSFORMS]
    if unknown:
        raise GlyphscopeError(
            f'There is no transform "{unknown[0]}".',
            where="transforms",
            hint=f"There are {', '.join(TRANSFORMS)}.",
        )
    return tuple(TRANSFORMS[name] for name in names)
