"""Options with several values: what belongs to the option, and what is left for the command."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from glyphscope.cli.evaluate import ManyValues


class Notation(StrEnum):
    glyph = "glyph"
    json = "json"


app = typer.Typer()
seen: dict[str, object] = {}


@app.command(cls=ManyValues)
def command(
    suites: Annotated[list[str], typer.Argument()],
    notation: Annotated[list[Notation] | None, typer.Option()] = None,
    model: Annotated[list[str] | None, typer.Option("--model", "-m")] = None,
    repair: Annotated[list[int] | None, typer.Option()] = None,
    trials: Annotated[int, typer.Option()] = 1,
) -> None:
    seen.update(suites=suites, notation=notation, model=model, repair=repair, trials=trials)


@pytest.mark.parametrize(
    ("line", "suites", "notation", "model", "repair"),
    [
        ("a --notation glyph json --trials 2", ["a"], ["glyph", "json"], None, None),
        ("--notation glyph json a b", ["a", "b"], ["glyph", "json"], None, None),
        ("--notation=glyph a", ["a"], ["glyph"], None, None),
        ("--notation glyph --notation json a", ["a"], ["glyph", "json"], None, None),
        ("a -m x y --notation json", ["a"], ["json"], ["x", "y"], None),
        ("-m x y -- a b", ["a", "b"], None, ["x", "y"], None),
        ("a --model x --trials 3", ["a"], None, ["x"], None),
        ("--repair 0 2 a", ["a"], None, None, [0, 2]),
        ("a -- --b", ["a", "--b"], None, None, None),
    ],
)
def test_values_go_to_the_option_before_them_where_it_accepts_them(line, suites, notation, model, repair):
    seen.clear()
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0, result.output
    assert seen["suites"] == suites
    assert (seen["notation"], seen["model"], seen["repair"]) == (notation, model, repair)


@pytest.mark.parametrize("line", ["--notation xml a", "a --notation", "--trials 2 3 a --trials x"])
def test_values_without_an_option_are_an_error(line):
    assert CliRunner().invoke(app, line.split()).exit_code == 2
