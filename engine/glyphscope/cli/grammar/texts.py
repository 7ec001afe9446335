"""`glyphscope grammar match`, `sample` and `diff`: the texts of a grammar: a file, a registry or a schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from glyphscope.base.errors import GrammarError, RegistryError
from glyphscope.base.lines import line_and_column
from glyphscope.base.visible import visible
from glyphscope.cli import inputs
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, NotationOption, OrderOption, ShapeOption
from glyphscope.cli.output import console, diagnostics, marked, print_json, print_note, print_text
from glyphscope.events import ArgumentOrder, Notation, Shape, default_order
from glyphscope.grammar import (
    Bound,
    Differences,
    build_value_grammar,
    covering_texts,
    match_text,
    sample_texts,
    shortest_differences,
)
from glyphscope.grammar.bundled import bundled_grammars
from glyphscope.grammar.convert import TargetLanguage, pattern_grammar, source_grammar
from glyphscope.grammar.convert import convert as convert_grammar
from glyphscope.grammar.languages import load_grammar
from glyphscope.grammar.match.earley import ActiveRule
from glyphscope.grammar.match.report import MatchReport
from glyphscope.grammar.match.words import char_words
from glyphscope.grammar.tree import Grammar
from glyphscope.registry import parse_document
from glyphscope.registry.keywords import KEYWORDS, SILENT
from glyphscope.turns import TurnOptions, build_call_grammar


@dataclass(frozen=True, kw_only=True)
class GrammarSource:
    """The options that select a grammar, unless it is a file."""

    registry: Annotated[
        Path | None, typer.Option("--registry", "-r", metavar="FILE", help="The calls of these tools (JSON).")
    ] = None
    schema: Annotated[
        Path | None, typer.Option("--schema", metavar="FILE", help="The values of this JSON Schema.")
    ] = None
    notation: NotationOption = "glyph"
    shape: ShapeOption = "flat"
    order: OrderOption = None

    def grammar(self, gbnf: str | None) -> Grammar:
        """The grammar of exactly one source. Raises InputError, GrammarError, RegistryError."""
        if sum(source is not None for source in (gbnf, self.registry, self.schema)) != 1:
            raise inputs.InputError(
                "A grammar comes from one place.",
                hint="Give a GBNF or Lark file, or --registry FILE, or --schema FILE.",
            )
        order = self.order or default_order("mask")
        if gbnf is not None:
            return load_grammar(inputs.read_text(gbnf), where=gbnf, path=gbnf)
        if self.schema is not None:
            return build_value_grammar(inputs.read_json(str(self.schema)), self.notation, order=order)
        tools = inputs.read_registry(self.registry)
        shape = inputs.in_shape(tools, self.shape)
        return build_call_grammar(tools, self.notation, shape, TurnOptions(order=order))


def read_any_grammar(
    source: str, notation: Notation = "glyph", shape: Shape = "flat", order: ArgumentOrder | None = None
) -> Grammar:
    """The grammar of a file by name and content: a registry or a schema if it is `.json`, a pattern if it is `.regex`,
    else GBNF or Lark.
    """
    if source.lower().endswith(".regex"):
        return source_grammar(inputs.read_text(source), "regex")
    if not source.lower().endswith(".json"):
        return load_grammar(inputs.read_text(source), where=source, path=source)
    document = inputs.read_json(source)
    order = order or default_order("mask")
    try:
        registry = parse_document(document, source)
    except RegistryError:
        if _looks_like_schema(document):
            return build_value_grammar(document, notation, order=order)
        raise
    return build_call_grammar(registry, notation, inputs.in_shape(registry, shape), TurnOptions(order=order))


def _looks_like_schema(document: Any) -> bool:
    """Whether a document that is not a registry may be meant as a JSON Schema."""
    known = {"$schema", *KEYWORDS.keys() - SILENT}
    return isinstance(document, bool) or (isinstance(document, Mapping) and not known.isdisjoint(document))


@with_groups
def match(
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[G.gbnf|G.lark] TEXT|-", help="The grammar and the text; - reads standard input."
        ),
    ] = None,
    source: GrammarSource,
    lines: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-", help='Match many: one {"text": …} per line. One JSON answer per line.'
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Match a text: accepted, or the character at which it fails, the expected text, and the rules being read.

    Exit code 1 if the text is rejected.
    """
    given = list(words or ())
    gbnf = given.pop(0) if given and source.registry is None and source.schema is None else None
    if len(given) != (0 if lines is not None else 1):
        raise inputs.InputError(
            "One text is matched against one grammar.",
            hint="Give G.gbnf TEXT, or --registry FILE TEXT, or --schema FILE TEXT; "
            "- is the text on standard input, --lines FILE are many.",
        )
    if gbnf == inputs.STDIN and inputs.STDIN in (*given, lines):
        raise inputs.InputError("Standard input can be either the grammar or the text.")
    grammar = source.grammar(gbnf)
    if lines is not None:
        accepted = _match_lines(grammar, lines)
    else:
        text = inputs.read_text(inputs.STDIN) if given[0] == inputs.STDIN else given[0]
        report = match_text(grammar, text)
        print_json(answer(report)) if as_json else _print_report(report, text)
        accepted = report.accepted
    raise typer.Exit(0 if accepted else 1)


def answer(report: MatchReport) -> dict[str, Any]:
    """The JSON answer: `rules` are the active rules, outermost first, with tool and JSON Pointer if they have one."""
    return {
        "accepted": report.accepted,
        "prefix_ok": report.prefix_ok,
        "failed_at": report.failed_at,
        "expected": report.expected,
        "rules": [
            {
                "name": rule.name,
                "start": rule.start,
                "tool": rule.origin.tool if rule.origin else None,
                "pointer": rule.origin.pointer if rule.origin else None,
            }
            for rule in report.rules
        ],
    }


def _match_lines(grammar: Grammar, source: str) -> bool:
    def matched(_place: str, text: str, _line: dict[str, Any]) -> bool:
        report = match_text(grammar, text)
        print_json(answer(report))
        return report.accepted

    return inputs.answer_lines(source, matched)


def _print_report(report: MatchReport, text: str) -> None:
    out = console()
    if report.accepted:
        out.print(marked(text, None, out.width))
        print_text("✓ accepted", "bold green")
        return
    at = len(text) if report.failed_at is None else report.failed_at
    out.print(marked(text, at, out.width))
    if report.failed_at is None:
        print_text("… incomplete: the grammar accepts texts that begin with it", "bold yellow")
    elif at < len(text):
        line, column = line_and_column(text, at)
        out.print(
            Text(f"✗ fails at character {at} (line {line}, column {column}): ", style="bold red").append(
                char_words(ord(text[at])), style="default"
            )
        )
    else:
        print_text("✗ the grammar accepts no text", "bold red")
    for index, expectation in enumerate(report.expectations):
        line_of = Text("  expected: " if index == 0 else "            ").append(
            visible(expectation.words), style="bold"
        )
        if expectation.rule:
            line_of.append(f"   in {expectation.rule}")
            line_of.append(
                _place(expectation.origin.tool, expectation.origin.pointer) if expectation.origin else ""
            )
        out.print(line_of)
    if report.rules:
        print_text(f"  reading:  {' › '.join(_shown(rule) for rule in _ends(report.rules))}")


def _ends(rules: tuple[ActiveRule, ...]) -> tuple[ActiveRule | None, ...]:
    return rules if len(rules) <= 12 else (*rules[:4], None, *rules[-7:])


def _shown(rule: ActiveRule | None) -> str:
    if rule is None:
        return "…"
    return rule.name + (_place(rule.origin.tool, rule.origin.pointer) if rule.origin else "")


def _place(tool: str, pointer: str) -> str:
    return f" ({tool}{f' {pointer}' if pointer else ''})"


@with_groups
def sample(
    *,
    gbnf: Annotated[str | None, typer.Argument(metavar="[G.gbnf|G.lark]", help="The grammar.")] = None,
    source: GrammarSource,
    n: Annotated[int, typer.Option("-n", min=0, max=1_000_000, help="Number of texts.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same texts.")] = 0,
    depth: Annotated[
        int,
        typer.Option(
            min=0, help="Depth of nested rules after which texts are completed as briefly as possible."
        ),
    ] = 12,
    cover: Annotated[
        bool,
        typer.Option(
            "--cover",
            help="Print the shortest text, and short texts that use every rule and alternative, -n at most.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print random texts of the grammar; with --json one {"text": …} per line, as `match --lines` reads them.

    Without --json, control characters are shown as symbols, so each text is one line.
    """
    grammar = source.grammar(gbnf)
    texts = covering_texts(grammar, limit=n) if cover else sample_texts(grammar, n, seed=seed, depth=depth)
    out = console()
    for text in texts:
        if as_json:
            print_json({"text": text})
        else:
            out.print(visible(text), soft_wrap=True)


def diff(
    first: Annotated[
        str, typer.Argument(metavar="A", help="A GBNF or Lark file, a registry or a schema (.json).")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="The other grammar.")],
    notation: NotationOption = "glyph",
    shape: ShapeOption = "flat",
    order: OrderOption = None,
    second_notation: Annotated[Notation | None, typer.Option(help="The notation of B, if different.")] = None,
    second_shape: Annotated[Shape | None, typer.Option(help="The shape of B, if different.")] = None,
    second_order: Annotated[
        ArgumentOrder | None, typer.Option(help="The order of the arguments in B, if different.")
    ] = None,
    characters: Annotated[int, typer.Option(min=1, help="Maximum length of the texts.")] = 4_000,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="Time limit in each direction, in seconds.")
    ] = 20.0,
    as_json: JsonOption = False,
) -> None:
    """Compare the languages of two grammars.

    Exit code 0 if no difference was found (the output says whether that is a proof), 1 if they differ.
    """
    if first == second == inputs.STDIN:
        raise inputs.InputError("Standard input is only one of the grammars.")
    grammars = (
        read_any_grammar(first, notation, shape, order),
        read_any_grammar(second, second_notation or notation, second_shape or shape, second_order or order),
    )
    with diagnostics().status("Comparing"):
        try:
            differences = shortest_differences(*grammars, bound=Bound(characters=characters, seconds=seconds))
        except GrammarError as error:
            error.where = error.where or f"{first}, {second}"
            raise
    if as_json:
        print_json({"same": differences.same, **differences._asdict()})
    else:
        _print(differences, first, second)
    raise typer.Exit(0 if differences.same else 1)


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A GBNF or Lark file, a JSON Schema (.json), a pattern (.regex), or regex:PATTERN.",
        ),
    ],
    to: Annotated[TargetLanguage, typer.Option("--to", help="The language of the output.")],
    seconds: Annotated[
        float, typer.Option(min=0.01, help="Time limit of the comparison in each direction, in seconds.")
    ] = 5.0,
    as_json: JsonOption = False,
) -> None:
    """Print a grammar in another language, and say on standard error what is lost.

    The output is read again, and compared with the source. A JSON Schema describes a string with such a text as its
    value. Exit code 1 if a text is lost or added.
    """
    if source.startswith("regex:"):
        grammar = pattern_grammar(source.removeprefix("regex:"))
    else:
        grammar = read_any_grammar(source, "json")
    with diagnostics().status("Comparing"):
        found = convert_grammar(grammar, to, bound=Bound(seconds=seconds))
    differences = found.differences
    if as_json:
        print_json({"language": to, "grammar": found.text, "same": differences.same, **differences._asdict()})
    else:
        typer.echo(found.text, nl=False)
        for text, words in ((differences.only_first, "is lost"), (differences.only_second, "is added")):
            if text is not None:
                print_note(f"✗ the text {visible(json.dumps(text, ensure_ascii=False))} {words}", "bold red")
        if differences.same:
            print_note(f"{'✓ the same texts' if differences.exhausted else '…'}: {differences.bound}")
    raise typer.Exit(0 if differences.same else 1)


def examples(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A grammar to print.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the bundled grammars, or print one of them."""
    listed = bundled_grammars()
    if name is None:
        for each, one in listed.items():
            if as_json:
                print_json({"name": each, "title": one.title})
            else:
                print_text(f"{each:<15} {one.title}")
        return
    if name not in listed:
        raise inputs.InputError(
            f"There is no bundled grammar {name}.", hint=f"There are {', '.join(listed)}."
        )
    one = listed[name]
    if as_json:
        print_json(
            {
                "name": name,
                "title": one.title,
                "text": one.text,
                "matches": one.matches,
                "rejects": one.rejects,
            }
        )
    else:
        typer.echo(one.text, nl=False)


def _print(differences: Differences, first: str, second: str) -> None:
    for text, here, there in (
        (differences.only_first, first, second),
        (differences.only_second, second, first),
    ):
        if text is not None:
            print_text(f"only {here} accepts, and {there} rejects:", "bold")
            print_text(f"  {visible(text)}" if text else "  the empty text")
        elif not differences.same and differences.exhausted:
            print_text(f"{there} accepts all that {here} does.")
    if differences.same and differences.exhausted:
        print_text(f"✓ the same language: {differences.bound}", "bold green")
    elif not differences.exhausted:
        print_text(f"… {differences.bound}", "bold yellow")
