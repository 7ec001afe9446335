"""A suite's tables that need no answer of a model: the validator's verdicts on texts, and the sizes of calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from glyphscope.base.figures import percent
from glyphscope.evals.suites.suite import CheckRow, SizeRow, Suite
from glyphscope.events import Code
from glyphscope.notation.write import Sizes, Style, call_sizes
from glyphscope.registry import ToolRegistry
from glyphscope.validation.call import CallValidator

STYLE_WORDS: dict[Style, str] = {
    "json": "JSON, compact",
    "json-spaced": "JSON, spaced",
    "openai": "JSON in OpenAI's wrapper",
    "glyph": "GLYPH, quoted",
    "glyph-canonical": "GLYPH, canonical",
}
_CLAIMED_AS: dict[str, tuple[Style, ...]] = {
    "json": ("json", "json-spaced", "openai"),
    "glyph": ("glyph", "glyph-canonical"),
}
"""The styles that a claim for a notation may mean, the most likely first."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """A text and the validator's verdict: whether its tool is allowed, the first code, and the deciding character.

    `char` counts code points from 0, None for a valid text; `decided_by` is the text up to and including it. `fits`:
    whether tool and code are as the suite expects.
    """

    text: str
    tool_allowed: bool
    code: Code | Literal[""]
    char: int | None
    decided_by: str
    message: str
    expected_allowed: bool
    expected_code: str
    fits: bool
    note: str = ""


class SizeResult(msgspec.Struct, frozen=True, kw_only=True):
    """A call in all styles, beside the claimed sizes, by notation; `words` describe the differences."""

    id: str
    tool: str
    sizes: tuple[Sizes, ...]
    claimed: dict[str, int] = {}
    words: tuple[str, ...] = ()


class SuiteTables(msgspec.Struct, frozen=True, kw_only=True):
    """Both tables of a suite. `model` is the model whose tokens were counted; `words` summarise the sizes."""

    suite: str
    model: str = ""
    checks: tuple[CheckResult, ...] = ()
    sizes: tuple[SizeResult, ...] = ()
    words: tuple[str, ...] = ()


def suite_tables(
    suite: Suite,
    registry: ToolRegistry,
    count_tokens: Callable[[str], int] | None = None,
    *,
    model: str = "",
) -> SuiteTables:
    """`registry` is the suite's own (`suite_registry(suite, None)`); `count_tokens` is a function of the model `model`.

    Raises NotationError for a size row that a notation cannot express, and the errors of `count_tokens`.
    """
    sizes = tuple(_sized(row, count_tokens) for row in suite.sizes)
    return SuiteTables(
        suite=suite.name,
        model=model if count_tokens else "",
        checks=tuple(_checked(row, registry) for row in suite.checks),
        sizes=sizes,
        words=_explained(sizes, model),
    )


def _checked(row: CheckRow, registry: ToolRegistry) -> CheckResult:
    validator = CallValidator(registry, row.notation, row.shape)
    validator.feed(row.text)
    validator.finish()
    report = validator.report()
    first = report.errors[0] if report.errors else None
    allowed = report.tool_allowed
    code = first.code if first else ""
    return CheckResult(
        text=row.text,
        tool_allowed=allowed,
        code=code,
        char=first.char if first else None,
        decided_by=row.text[: first.char + 1] if first else "",
        message=first.message if first else "",
        expected_allowed=row.tool_allowed,
        expected_code=row.code,
        fits=(allowed, code) == (row.tool_allowed, row.code),
        note=row.note,
    )


def _sized(row: SizeRow, count_tokens: Callable[[str], int] | None) -> SizeResult:
    sizes = tuple(call_sizes(row.tool, row.arguments, "flat", count_tokens))
    by_style = {size.style: size.characters for size in sizes}
    words = tuple(
        _difference(notation, claimed, by_style)
        for notation, claimed in row.claimed.items()
        if notation in _CLAIMED_AS
    )
    return SizeResult(id=row.id, tool=row.tool, sizes=sizes, claimed=row.claimed, words=words)


def _difference(notation: str, claimed: int, characters: dict[Style, int]) -> str:
    styles = _CLAIMED_AS[notation]
    for style in styles:
        if characters[style] == claimed:
            return f"{notation.upper()} is claimed to take {claimed} characters, and does ({STYLE_WORDS[style]})."
    measured = characters[styles[0]]
    more = "more" if measured > claimed else "fewer"
    return (
        f"{notation.upper()} is claimed to take {claimed} characters. The call has {measured} "
        f"({STYLE_WORDS[styles[0]]}), {abs(measured - claimed)} {more}; no style that we write has {claimed}."
    )


def _explained(sizes: Sequence[SizeResult], model: str) -> tuple[str, ...]:
    words = []
    claims = [
        (each, notation, n)
        for each in sizes
        for notation, n in each.claimed.items()
        if notation in _CLAIMED_AS
    ]
    if claims:
        wrong = sum(
            n not in [_of(each, s).characters for s in _CLAIMED_AS[notation]] for each, notation, n in claims
        )
        verdict = (
            f"{wrong} of {len(claims)} claimed sizes are those of no text that the calls are written as: the claimed "
            "table does not match its own strings."
            if wrong
            else f"All claimed sizes ({len(claims)}) are those of a text that the call is written as."
        )
        words.append(f"{verdict} Sizes here are of the calls as written, in code points and bytes of UTF-8.")
    both = [each for each in sizes if {"json", "glyph"} <= set(each.claimed)]
    if both:
        claimed = _less(
            sum(each.claimed["json"] for each in both), sum(each.claimed["glyph"] for each in both)
        )
        words.append(
            f"In total, GLYPH is claimed to take {claimed} characters than JSON. Measured, quoted GLYPH takes "
            f"{_saved(both, 'json', 'glyph', 'characters')} characters than compact JSON, and "
            f"{_saved(both, 'json-spaced', 'glyph', 'characters')} than spaced JSON, which models write by "
            "default."
        )
    counted = [each for each in sizes if all(size.tokens is not None for size in each.sizes)]
    if counted:
        words.append(
            "The cost of a model is in tokens, which are not proportional to characters. By the tokens of "
            f"{model or 'this model'}, quoted GLYPH takes {_saved(counted, 'json', 'glyph', 'tokens')} than compact "
            f"JSON, and canonical GLYPH {_saved(counted, 'json', 'glyph-canonical', 'tokens')}. Other tokenizers "
            "differ. The notation's instructions in each prompt cost additional tokens."
        )
    elif sizes:
        words.append("Tokens were not counted: no model was loaded to count them.")
    return tuple(words)


def _of(sized: SizeResult, style: Style) -> Sizes:
    return next(size for size in sized.sizes if size.style == style)


def _saved(sizes: Sequence[SizeResult], base: Style, style: Style, unit: str) -> str:
    was = sum(getattr(_of(each, base), unit) for each in sizes)
    return _less(was, sum(getattr(_of(each, style), unit) for each in sizes))


def _less(was: int, now: int) -> str:
    """`11.5% fewer`, as a share of `was`."""
    return f"{percent(abs(was - now) / was if was else 0.0)} {'fewer' if now <= was else 'more'}"
