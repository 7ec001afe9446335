"""`glyphscope sizes`: calls, or values of a schema, in each style, and the instructions for the styles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

import msgspec
import typer

from glyphscope.base.figures import percent_change, pluralize
from glyphscope.cli.inputs import (
    InputError,
    as_json_object,
    in_shape,
    read_answer,
    read_json_lines,
    read_registry,
)
from glyphscope.cli.load_options import LoadingOption, opened
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, RegistryOption, ShapeOption, model_option
from glyphscope.cli.output import TextTable, console, print_json, print_text
from glyphscope.events import NOTATIONS, Notation, RunRequest, Shape
from glyphscope.grammar.shapes import fitting_shape
from glyphscope.models.interface import Model
from glyphscope.notation.shapes import call_of
from glyphscope.notation.write import Sizes, Style, call_sizes, sum_of, value_sizes
from glyphscope.prompting.messages import render_messages
from glyphscope.registry import ToolRegistry, parse_document

BASELINE: Style = "json"
"""The baseline for all styles: compact JSON, not the spaced form, which would favour all others."""

Sizer = Callable[[Callable[[str], int] | None], list[Sizes]]
"""Returns the sizes of a call or value, with those in tokens as a function counts them."""


class Instructions(msgspec.Struct, frozen=True):
    """The tokens of the rendered system prompt that teaches a notation; paid once per prompt, not per call."""

    notation: Notation
    tokens: int


class SizeReport(msgspec.Struct, frozen=True, kw_only=True):
    """`totals` are for all calls, `calls` for each one; tokens and `instructions` only if a model was given.

    Of values of a schema, the calls are the values, and there is no shape.
    """

    model: str
    shape: Shape | None
    baseline: Style
    totals: list[Sizes]
    instructions: list[Instructions]
    summary: list[str]
    calls: list[list[Sizes]]


@with_groups
def sizes(
    *,
    calls: Annotated[
        str,
        typer.Argument(
            metavar="CALLS.jsonl|-",
            help='One call per line: {"tool", "arguments"}, or a call in any shape; with --answer, one value.',
        ),
    ],
    answer: Annotated[
        str | None, typer.Option(metavar="schema:FILE", help="The lines are values of this JSON Schema.")
    ] = None,
    registry: RegistryOption = None,
    model: Annotated[str | None, model_option("Also count tokens with this model.")] = None,
    shape: ShapeOption = "flat",
    loading: LoadingOption,
    as_json: JsonOption = False,
) -> None:
    """Compare the sizes of calls, or of values of a schema, in every style, with compact JSON as the baseline."""
    if not model:
        loading.refuse("Without --model none is loaded", "Name a model with --model, or leave them out.")
    tools = read_registry(registry)
    measured: list[Sizer] = []
    if answer is not None:
        request = _of_values(answer)
        measured = [partial(value_sizes, value) for _, value in read_json_lines(calls)]
    else:
        shape = fitting_shape(tools, in_shape(tools, shape))
        request = RunRequest(prompt="", registry=tools.to_document(), shape=shape)
        for place, line in read_json_lines(calls):
            measured.append(partial(call_sizes, *_call_of(as_json_object(line, place), place), shape))
    if not measured:
        what, form = ("value", "JSON") if answer else ("call", '{"tool": …, "arguments": …}')
        raise InputError(f"The file contains no {what}.", where=calls, hint=f"Write one per line: {form}")
    with ExitStack() as stack:
        source = None
        if model:
            source = stack.enter_context(opened(model, options=loading.options(model), quiet=as_json))
        report = measure(measured, request, source)
    print_json(report) if as_json else _print_report(report)


def _call_of(line: dict[str, Any], place: str) -> tuple[str, dict[str, Any]]:
    if (found := call_of(line)) is None:
        raise InputError("Not a call.", where=place, hint='Write it as {"tool": "…", "arguments": {…}}.')
    return found.tool, found.arguments


def _of_values(answer: str) -> RunRequest:
    """A request for that answer. Raises InputError for one that is not a schema's."""
    asked = RunRequest(prompt="", registry=ToolRegistry().to_document(), answer=read_answer(answer))
    if asked.answer.kind != "schema":
        raise InputError(
            f"Of the answer {asked.answer} there is only one form.",
            where="--answer",
            hint="Sizes compare notations, which calls and values of a schema have.",
        )
    return asked


def measure(measured: list[Sizer], request: RunRequest, model: Model | None) -> SizeReport:
    """The sizes of the calls or values that `request` asks for. Raises NotationError for one that the shape or a
    notation cannot express.
    """
    count = model.count_tokens if model else None
    sizes_of_each = [sizes_of(count) for sizes_of in measured]
    totals = [*sum_of(sizes_of_each)]
    instructions = [Instructions(n, _taught(n, request, model)) for n in NOTATIONS] if model else []
    is_call = request.answer.is_call
    return SizeReport(
        model=model.info.name if model else "",
        shape=request.shape if is_call else None,
        baseline=BASELINE,
        totals=totals,
        instructions=instructions,
        summary=_summary(pluralize(len(measured), "call" if is_call else "value"), totals, instructions),
        calls=sizes_of_each,
    )


def _taught(notation: Notation, request: RunRequest, model: Model) -> int:
    request = msgspec.structs.replace(request, notation=notation)
    return model.render_chat(render_messages(request, parse_document(request.registry)).messages).tokens


def _summary(measured: str, totals: list[Sizes], instructions: list[Instructions]) -> list[str]:
    """The savings and costs, each against the named baseline."""
    by_style = {size.style: size for size in totals}
    base = by_style[BASELINE]
    lines = []
    for style in ("glyph", "glyph-canonical"):
        size = by_style[style]
        parts = [f"{percent_change(size.bytes, base.bytes)} bytes"]
        if size.tokens is not None and base.tokens is not None:
            parts.append(f"{percent_change(size.tokens, base.tokens)} tokens")
        lines.append(f"{style} compared with compact JSON, over {measured}: {', '.join(parts)}.")
    if instructions:
        cost = {each.notation: each.tokens for each in instructions}
        more = cost["glyph"] - cost["json"]
        lines.append(
            f"The instructions for glyph have {cost['glyph']:,} tokens, those for json "
            f"{cost['json']:,}: {abs(more)} {'more' if more >= 0 else 'fewer'}, once per prompt."
        )
    return lines


def _print_report(report: SizeReport) -> None:
    base = next(size for size in report.totals if size.style == report.baseline)
    numbers = ("characters", "bytes", "", "tokens", "")
    table = TextTable("style", *numbers, right=numbers)
    for size in report.totals:
        tokens, change = ("", "")
        if size.tokens is not None and base.tokens:
            tokens, change = f"{size.tokens:,}", percent_change(size.tokens, base.tokens)
        name = f"{size.style} (baseline)" if size.style == report.baseline else size.style
        table.add_row(
            name,
            f"{size.characters:,}",
            f"{size.bytes:,}",
            percent_change(size.bytes, base.bytes),
            tokens,
            change,
        )
    console().print(table)
    for line in report.summary:
        print_text(line)
