"""`glyphscope grammar match`: does the grammar accept this text, and if not, where and why does it fail?"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from glyphscope.cli.grammar.inputs import GrammarSource
from glyphscope.cli.inputs import STDIN, InputError, answer_lines, read_text
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, marked, print_json, print_text
from glyphscope.grammar.match.earley import ActiveRule
from glyphscope.grammar.match.report import MatchReport, match_text
from glyphscope.grammar.match.words import char_words
from glyphscope.grammar.tree import Grammar
from glyphscope.text.lines import line_and_column
from glyphscope.visible import visible


@with_groups
def match(
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[G.gbnf] TEXT|-", help="The grammar and the text; - reads standard input."),
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
        raise InputError(
            "One text is matched against one grammar.",
            hint="Give G.gbnf TEXT, or --registry FILE TEXT, or --schema FILE TEXT; "
            "- is the text on standard input, --lines FILE are many.",
        )
    if gbnf == STDIN and STDIN in (*given, lines):
        raise InputError("Standard input can be either the grammar or the text.")
    grammar = source.grammar(gbnf)
    if lines is not None:
        accepted = _match_lines(grammar, lines)
    else:
        text = read_text(STDIN) if given[0] == STDIN else given[0]
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

    return answer_lines(source, matched)


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
