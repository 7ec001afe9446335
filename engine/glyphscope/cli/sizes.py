"""`glyphscope sizes`: the cost of the same calls in each style, and of the instructions for the style."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any, get_args

import msgspec
import typer

from glyphscope.base.figures import percent_change, pluralize
from glyphscope.cli.inputs import InputError, in_shape, parse_json, read_json_lines, read_registry
from glyphscope.cli.load_options import LoadingOption, opened
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, RegistryOption, ShapeOption, model_option
from glyphscope.cli.output import TextTable, console, print_json, print_text
from glyphscope.events import NOTATIONS, Notation, RunRequest, Shape
from glyphscope.grammar.shapes import fitting_shape
from glyphscope.models.interface import Model
from glyphscope.notation.shapes import shape_keys
from glyphscope.notation.write import STYLES, Sizes, Style, call_sizes
from glyphscope.prompting.messages import render_messages
from glyphscope.registry import ToolRegistry

BASELINE: Style = "json"
"""The baseline for all styles: compact JSON, not the spaced form, which would favour all others."""

Call = tuple[str, dict[str, Any]]


class Instructions(msgspec.Struct, frozen=True):
    """The tokens of the rendered system prompt that teaches a notation; paid once per prompt, not per call."""

    notation: Notation
    tokens: int


class SizeReport(msgspec.Struct, frozen=True, kw_only=True):
    """`totals` are for all calls, `calls` for each one; tokens and `instructions` only if a model was given."""

    model: str
    shape: Shape
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
            metavar="CALLS.jsonl|-", help='One call per line: {"tool", "arguments"}, or a call in any shape.'
        ),
    ],
    registry: RegistryOption = None,
    model: Annotated[str | None, model_option("Also count tokens with this model.")] = None,
    shape: ShapeOption = "flat",
    loading: LoadingOption,
    as_json: JsonOption = False,
) -> None:
    """Compare the sizes of calls in every style, with compact JSON as the baseline."""
    if not model:
        loading.refuse("Without --model none is loaded", "Name a model with --model, or leave them out.")
    tools = read_registry(registry)
    parsed = [call_of(line, place) for place, line in read_json_lines(calls)]
    if not parsed:
        raise InputError(
            "The file contains no call.", where=calls, hint='Write one per line: {"tool": …, "arguments": …}'
        )
    shape = in_shape(tools, shape)
    with ExitStack() as stack:
        source = None
        if model:
            source = stack.enter_context(opened(model, options=loading.options(model), quiet=as_json))
        report = measure(parsed, tools, shape, source)
    print_json(report) if as_json else _print_report(report)


def call_of(line: dict[str, Any], place: str) -> Call:
    """Tool and arguments of a call in any shape, in OpenAI's wrapper, or as `{"tool", "arguments"}`."""
    if isinstance(function := line.get("function"), dict):
        line = function
    if isinstance(line.get("arguments"), str):  # OpenAI writes them as JSON in a string
        line = {**line, "arguments": parse_json(line["arguments"], f"{place}, arguments")}
    pairs = [
        ("tool", "arguments"),
        *((keys.name_key, keys.args_key) for keys in map(shape_keys, get_args(Shape))),
    ]
    for name_key, args_key in pairs:
        name = line.get(name_key)
        arguments = (
            {key: value for key, value in line.items() if key != name_key}
            if args_key is None
            else line.get(args_key)
        )
        if isinstance(name, str) and isinstance(arguments, dict):
            return name, arguments
    raise InputError("Not a call.", where=place, hint='Write it as {"tool": "…", "arguments": {…}}.')


def measure(calls: list[Call], registry: ToolRegistry, shape: Shape, model: Model | None) -> SizeReport:
    """The sizes of the calls. Raises NotationError for a call that the shape or a notation cannot express."""
    count = model.count_tokens if model else None
    shape = fitting_shape(registry, shape)
    sizes_of_calls = [call_sizes(tool, arguments, shape, count) for tool, arguments in calls]
    totals = [
        Sizes(
            style,
            sum(call[i].characters for call in sizes_of_calls),
            sum(call[i].bytes for call in sizes_of_calls),
            sum(call[i].tokens or 0 for call in sizes_of_calls) if model else None,
        )
        for i, style in enumerate(STYLES)
    ]
    instructions = [Instructions(n, _taught(n, registry, shape, model)) for n in NOTATIONS] if model else []
    return SizeReport(
        model=model.info.name if model else "",
        shape=shape,
        baseline=BASELINE,
        totals=totals,
        instructions=instructions,
        summary=_summary(len(calls), totals, instructions),
        calls=sizes_of_calls,
    )


def _taught(notation: Notation, registry: ToolRegistry, shape: Shape, model: Model) -> int:
    request = RunRequest(prompt="", registry=registry.to_document(), notation=notation, shape=shape)
    return model.render_chat(render_messages(request, registry).messages).tokens


def _summary(calls: int, totals: list[Sizes], instructions: list[Instructions]) -> list[str]:
    """The savings and costs, each against the named baseline."""
    by_style = {size.style: size for size in totals}
    base = by_style[BASELINE]
    lines = []
    for style in ("glyph", "glyph-canonical"):
        size = by_style[style]
        parts = [f"{percent_change(size.bytes, base.bytes)} bytes"]
        if size.tokens is not None and base.tokens is not None:
            parts.append(f"{percent_change(size.tokens, base.tokens)} tokens")
        lines.append(
            f"{style} compared with compact JSON, over {pluralize(calls, 'call')}: {', '.join(parts)}."
        )
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
