"""`glyphscope check`: is this text a call of an allowed tool, and if not, at which character is that certain?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import msgspec
import typer
from rich.text import Text

from glyphscope.base.shorten import json_excerpt
from glyphscope.base.visible import visible
from glyphscope.cli import output
from glyphscope.cli.inputs import (
    InputError,
    answer_lines,
    expecting,
    in_shape,
    note_uncallable,
    read_registry,
    read_text,
)
from glyphscope.cli.options import (
    ExpectOption,
    JsonOption,
    RegistryOption,
    TemplateVarOption,
    ThinkingOption,
    request_option,
)
from glyphscope.events import CallReady, ExpectedAnswer, Notation, RunRequest, Shape, Thinking, Violation
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.validation.call import CallValidator, CheckReport, best_fit, call_judges, wrapped_calls
from glyphscope.validation.checker import unchecked

_USUAL: tuple[Notation, Shape] = ("glyph", "flat")
_WRAPPED: tuple[Notation, Shape] = ("json", "name-arguments")
"""Of a call in the text of an API."""
_MOST_GUESSES = 20
"""Lines that are not valid for which another notation and shape are tried, to name them."""


def check(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE|-", help="The text to validate; - reads standard input."),
    ] = None,
    registry: RegistryOption = None,
    notation: Annotated[
        Notation | None,
        typer.Option(
            help="Notation of the call. Default: of FILE, what it fits best, also in shape; of lines, glyph."
        ),
    ] = None,
    shape: Annotated[Shape | None, request_option("shape")] = None,
    chunk: Annotated[
        int | None,
        typer.Option(min=1, help="Characters per token. Default: the whole text is one token."),
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop at the first violation.")] = False,
    lines: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help=(
                'Validate many: one {"text": …} per line, each optionally with its own "registry", '
                '"notation", "shape". One JSON answer per line.'
            ),
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.jinja|FILE.gguf|FORM.json",
            help="With --lines: read whole turns in the notation of this chat template or form of turns. A line is "
            '{"text": …, "tools": […], "thinking": true|false|null}; text is what follows the rendered prompt.',
        ),
    ] = None,
    template_var: TemplateVarOption = None,
    readers: Annotated[
        bool,
        typer.Option(
            "--readers",
            help="With --template: show which readers accept the answer: the form strictly, servers leniently, and the "
            "notations of other models; for one answer in FILE, or for each of --lines.",
        ),
    ] = False,
    thinking: ThinkingOption = "auto",
    expect: ExpectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Validate a tool call. Exit code 1 if it is invalid, or not the expected one."""
    if expect is not None and (file is None or lines is not None or template is not None):
        raise InputError("--expect is for one call in FILE.")
    if template is not None:
        if chunk is not None or stop:
            raise InputError("--chunk and --stop are for single calls, and --template reads whole turns.")
        valid = _check_turns(
            template, template_var, file, lines, registry, thinking, readers=readers, as_json=as_json
        )
    elif readers or template_var:
        option = "--readers" if readers else "--template-var"
        raise InputError(f"{option} needs --template: the form that the answer should have.")
    elif lines is not None and file is None:
        valid = _check_lines(lines, _Registries(registry), notation, shape, chunk, stop)
    elif file is not None and lines is None:
        text = read_text(file)
        tools = read_registry(registry)
        request = expecting(RunRequest(prompt="", registry=tools.to_document()), expect)
        api, texts = "", [text]
        asked = notation or _USUAL[0], in_shape(tools, shape or _USUAL[1])
        written = asked
        if notation is None and shape is None:
            judges = chain([(asked, CallValidator(tools, *asked))], call_judges(tools))
            written, judge = best_fit(text, judges)
            if not judge.valid and (wrapped := wrapped_calls(text)) is not None:
                api, texts, written = wrapped.api, [*wrapped.calls], _WRAPPED
        reports = [_validated(each, tools, *written, chunk=chunk, stop=stop) for each in texts]
        difference = _difference(reports, request.expected)
        known = {} if request.expected is None else {"difference": difference}
        other: dict[str, str] = {} if written == asked else {"notation": written[0], "shape": written[1]}
        noted: set[str] = set()
        for number, (each, report) in enumerate(zip(texts, reports, strict=True), 1):
            of_it = {**other, "api": api, "text": each} if api else other
            if as_json:
                output.print_json({**msgspec.to_builtins(report), **known, **of_it})
            else:
                if len(texts) > 1:
                    output.print_text(f"call {number:,} of {len(texts):,}", "bold")
                _print_report(report, each, tools, difference, of_it)
            if not report.valid:
                note_uncallable(tools.get(report.tool or ""), noted)
        valid = all(report.valid for report in reports) and not difference
        if not valid and not api and (notation or shape) and (wrapped := wrapped_calls(text)) is not None:
            output.print_note(
                f"It is a call as {wrapped.api} gives it: it is read without --notation and --shape."
            )
    else:
        raise InputError("Give either FILE (or - for standard input) or --lines FILE.")
    raise typer.Exit(0 if valid else 1)


def _check_turns(
    template: str,
    variables: list[str] | None,
    file: str | None,
    lines: str | None,
    registry: Path | None,
    thinking: Thinking,
    *,
    readers: bool,
    as_json: bool,
) -> bool:
    """Read whole turns by the template. Returns whether all of them are complete and valid."""
    from glyphscope.cli.check_turns import check_turns, show_readers  # they load parsers of templates
    from glyphscope.cli.template_forms import read_turn_form

    form = read_turn_form(template, variables)
    if readers and file is not None and lines is None:
        return show_readers(form, file, read_registry(registry), thinking, as_json=as_json)
    if lines is None or file is not None:
        raise InputError("--template reads turns from --lines FILE (or - for standard input).")
    return check_turns(form, lines, None if registry is None else read_registry(registry), readers=readers)


def _validated(
    text: str,
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    *,
    chunk: int | None,
    stop: bool,
) -> CheckReport:
    """The report on one text, fed in tokens of `chunk` characters.

    With `stop`, the token with the first violation is the last one read, and `stopped_at` is the number of characters
    read by then.
    """
    validator = CallValidator(registry, notation, shape)
    size = chunk or len(text) or 1
    tokens, stopped_at = 0, None
    for start in range(0, len(text), size):
        events = validator.feed(text[start : start + size], tokens)
        tokens += 1
        if stop and any(isinstance(event, Violation) for event in events):
            stopped_at = min(start + size, len(text))
            break
    else:
        validator.finish()
    return msgspec.structs.replace(validator.report(), tokens=tokens, stopped_at=stopped_at)


def _difference(reports: Sequence[CheckReport], expected: ExpectedAnswer | None) -> str:
    """The difference of valid calls from the expected ones, in words; empty if there is none."""
    if expected is None or not all(report.valid for report in reports):
        return ""
    from glyphscope.runs.expected import call_differences  # it loads what runs need

    made = [CallReady(tool=each.tool or "", arguments=each.arguments or {}, text="") for each in reports]
    return next((found.words for found in call_differences(expected.calls, made)), "")


class _Registries:
    """The registries that the lines name, each read once."""

    def __init__(self, default: Path | None) -> None:
        self._default = default
        self._known: dict[str, ToolRegistry] = {}

    def get(self, source: Any) -> ToolRegistry:
        """The registry of a path or a document; None: the command's registry."""
        key = json.dumps(source)
        if key not in self._known:
            if source is None or isinstance(source, str):
                self._known[key] = read_registry(Path(source) if source else self._default)
            else:
                self._known[key] = parse_document(source)
        return self._known[key]


def _check_lines(
    source: str,
    registries: _Registries,
    notation: Notation | None,
    shape: Shape | None,
    chunk: int | None,
    stop: bool,
) -> bool:
    """Answer each line. Returns whether all of them are valid."""
    noted: set[str] = set()
    guesses = 0 if notation or shape else _MOST_GUESSES

    def answer(place: str, text: str, line: dict[str, Any]) -> bool:
        nonlocal guesses
        tools = registries.get(line.get("registry"))
        named = "notation" in line or "shape" in line
        asked = (
            cast(Notation, _one_of(line, "notation", get_args(Notation), notation or _USUAL[0], place)),
            cast(Shape, _one_of(line, "shape", get_args(Shape), shape or _USUAL[1], place)),
        )
        report = _validated(text, tools, *asked, chunk=chunk, stop=stop)
        output.print_json(report)
        if not report.valid:
            note_uncallable(tools.get(report.tool or ""), noted)
        if not report.valid and not named and guesses:
            guesses -= 1
            if (wrapped := wrapped_calls(text)) is not None:
                guesses = 0
                output.print_note(
                    f"{place}: it is a call as {wrapped.api} gives it; such a call is read from FILE, not from a line."
                )
                return report.valid
            written = best_fit(text, call_judges(tools))[0]
            if written != asked and _validated(text, tools, *written, chunk=None, stop=True).valid:
                guesses = 0
                way = f"--notation {written[0]} --shape {written[1]}"
                output.print_note(
                    f"{place}: it is a valid call with {way}; without them, it is in GLYPH, flat."
                )
        return report.valid

    return answer_lines(source, answer)


def _one_of(line: dict[str, Any], key: str, choices: tuple[str, ...], default: str, place: str) -> str:
    value = line.get(key, default)
    if value not in choices:
        raise InputError(
            f"{key} is {json_excerpt(value, 60)}; it can be {' or '.join(choices)}.", where=place
        )
    return cast(str, value)


def _print_report(
    report: CheckReport, text: str, tools: ToolRegistry, difference: str, other: Mapping[str, str]
) -> None:
    """`other` are the notation and the shape of the text, and the API that wraps the call, if they were found."""
    out = output.console()
    deciding = min((error.char for error in report.errors), default=None)
    out.print(output.marked(text, deciding, out.width))
    if report.fields:
        table = output.TextTable("field", "value", "verdict")
        for field in report.fields:
            value = text[field.start : field.end]
            table.add_row(output.short_pointer(field.path), value, output.status_text(field.status))
        out.print(table)
    for error in report.errors:
        line = Text(f"{error.code} at character {error.char}", style="bold red")
        line.append(
            f" {output.short_pointer(error.path)}: {error.message}" if error.path else f": {error.message}",
            style="default",
        )
        out.print(line)
        if error.viable:
            output.print_text(f"  still possible: {error.viable}")
    for tool in (tool for tool in tools if tool.name == report.tool):
        for each in unchecked(tool.parameters):
            output.print_note(f"! {tool.name}: {each.pointer} is not checked: {each.why}.", "yellow")
    way = f" in {other['notation'].upper()}, shape {other['shape']}" if "shape" in other else ""
    way = f" as {other['api']} gives it" if "api" in other else way
    verdict = f"✓ a valid call of {report.tool}{way}" if report.valid else f"✗ not a valid call{way}"
    if difference:
        verdict = f"≠ a valid call of {report.tool}{way}, not the expected one: {difference}"
    output.print_text(
        visible(verdict), "bold yellow" if difference else "bold green" if report.valid else "bold red"
    )
