"""A prompt's costs as a tree: kinds of parts, below them tools, examples and lines, then arguments and descriptions.

Every part of the prompt is in exactly one branch, so each row is the sum of the rows below it, and the top rows add up
to the prompt. The most expensive rows are first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from glyphscope.base.pointer import steps_of
from glyphscope.base.shorten import shorten
from glyphscope.events import BEGUN, PromptPart, PromptRendered
from glyphscope.prompting.history import MESSAGE
from glyphscope.prompting.messages import SYSTEM_PROMPT
from glyphscope.prompting.template import LINE

KINDS = {
    "system": "system message",
    "tools": "tools",
    "examples": "examples",
    "answer": "expected answer",
    "rules": "rules",
    "user": "user's text",
    "history": "history",
    "template": "chat template",
    "candidates": "known names",
    "said": "earlier answers",
    "result": "tool results",
    BEGUN: "begun answer",
}
"""The names of kinds of parts; any other kind is its own name."""
ITSELF = "itself"
"""The row for a tool's tokens other than its arguments and descriptions: its name, brackets."""
_MAX_LENGTH = 60
"""Characters of a part's text in its title."""


@dataclass(frozen=True)
class Cost:
    """A row. `tokens`, `parts` and `controls` include all rows `below`; `parts` are in the order of the text,
    `controls` is the number of texts in them that read like control tokens.

    `kind` is the name of the parts; `of` is as in `PromptPart`, empty for all parts of a kind.
    """

    title: str
    kind: str
    of: str
    tokens: int
    parts: tuple[PromptPart, ...]
    below: tuple[Cost, ...] = ()
    controls: int = 0

    def rows(self, depth: int = 0) -> Iterator[tuple[int, Cost]]:
        """This row and those below it, each with its depth."""
        yield depth, self
        for cost in self.below:
            yield from cost.rows(depth + 1)


@dataclass
class _Branch:
    own: list[PromptPart] = field(default_factory=list)
    below: dict[tuple[str, str], _Branch] = field(default_factory=dict)
    """By title and `of`."""


def prompt_costs(prompt: PromptRendered) -> tuple[Cost, ...]:
    """The kinds of the prompt's parts, the most expensive first."""
    root = _Branch()
    for part in prompt.parts:
        branch = root.below.setdefault((KINDS.get(part.name, part.name), ""), _Branch())
        for step in _steps(part, prompt.text):
            branch = branch.below.setdefault(step, _Branch())
        branch.own.append(part)
    rows = _rows(root, "")
    starts = [each.start for each in prompt.controls]
    return tuple(_with_controls(cost, starts) for cost in rows) if starts else rows


def _with_controls(cost: Cost, starts: Sequence[int]) -> Cost:
    inside = [start for start in starts if any(part.start <= start < part.end for part in cost.parts)]
    below = tuple(_with_controls(each, inside) for each in cost.below) if inside else cost.below
    return replace(cost, below=below, controls=len(inside))


def message_tokens(prompt: PromptRendered) -> dict[str, int]:
    """The tokens of each message's text: by `system prompt`, `message N` of the history (from 1), and `user`.

    The markers that the chat template writes are not included. Empty if tokens are not counted.
    """
    counts: dict[str, int] = {}
    for part in prompt.parts if prompt.tokens else ():
        if part.name in ("history", "user") or part.of == SYSTEM_PROMPT:
            name = part.of.split(",")[0] or part.name
            counts[name] = counts.get(name, 0) + part.tokens
    return counts


def part_words(part: PromptPart, text: str) -> str:
    """A part's name in a sentence: `description of query of search`, `system message, line 3`."""
    steps = [title for title, _ in _steps(part, text)] if part.of.startswith("/") else []
    kind = KINDS.get(part.name, part.name)
    if steps:
        named = " of ".join(reversed(steps))
        return f"example of {named}" if part.name == "examples" else named
    return f"{kind}, {part.of}" if part.of else kind


def tool_place(of: str) -> tuple[str, str | None, bool] | None:
    """The tool and the argument of a part, and whether it is a description; None for a part that belongs to no tool."""
    if not of.startswith("/"):
        return None
    tool, *rest = steps_of(of)
    if rest[:2] == ["parameters", "properties"] and len(rest) > 2:
        return tool, rest[2], rest[3:] == ["description"]
    return tool, None, rest == ["description"]


def _steps(part: PromptPart, text: str) -> list[tuple[str, str]]:
    """The path from its kind to a part: titles, each with its `of`."""
    place = tool_place(part.of)
    if place is None:
        written = " ".join(text[part.start : min(part.end, part.start + 4 * _MAX_LENGTH)].split())
        short = shorten(written, _MAX_LENGTH)
        numbered = next(
            (part.of.removeprefix(what) for what in (LINE, MESSAGE) if part.of.startswith(what)), ""
        )
        titled = f"{numbered}  {short}" if numbered else short
        return [(titled, part.of)] if part.of else []
    tool, argument, describes = place
    own = "/" + part.of.split("/")[1]
    steps = [(tool, own)]
    if argument is not None:
        steps.append((argument, part.of.removesuffix("/description") if describes else part.of))
    if describes:
        steps.append(("description", part.of))
    return steps


def _rows(branch: _Branch, kind: str, of: str = "") -> tuple[Cost, ...]:
    """The rows below a branch, the most expensive first, with one for its own parts."""
    rows = [_cost(title, inner_of, inner, kind) for (title, inner_of), inner in branch.below.items()]
    if rows and branch.own:
        rows.append(Cost(ITSELF, kind, of, _sum(branch.own), tuple(branch.own)))
    return tuple(sorted(rows, key=lambda cost: (-cost.tokens, cost.parts[0].start)))


def _cost(title: str, of: str, branch: _Branch, kind: str) -> Cost:
    kind = kind or _first(branch).name
    below = _rows(branch, kind, of)
    parts = sorted([part for cost in below for part in cost.parts] or branch.own, key=lambda part: part.start)
    return Cost(title, kind, of, _sum(parts), tuple(parts), below)


def _first(branch: _Branch) -> PromptPart:
    while not branch.own:
        branch = next(iter(branch.below.values()))
    return branch.own[0]


def _sum(parts: Sequence[PromptPart]) -> int:
    return sum(part.tokens for part in parts)
