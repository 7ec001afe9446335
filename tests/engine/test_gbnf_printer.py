"""Reformatting GBNF changes nothing but its layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from gbnf_mutants import mutant, sources
from gbnf_outline import outline
from glyphscope.grammar.gbnf import print_gbnf, read_gbnf
from glyphscope.grammar.gbnf.parse.syntax import GrammarSyntax

EXAMPLES = ["json", "c", "chess", "arithmetic", "japanese", "english", "list", "json_arr"]


def rules(document: GrammarSyntax) -> list[tuple[str, Any]]:
    return [(rule.name, outline(rule.body)) for rule in document.rules]


def comments(document: GrammarSyntax) -> list[str]:
    return [document.text[comment.start : comment.end].rstrip() for comment in document.comments]


def check_layout(text: str) -> None:
    document = read_gbnf(text)
    again = read_gbnf(print_gbnf(document))
    if document.problems:
        assert again.text == text
        return
    assert not again.problems
    assert rules(again) == rules(document)
    assert comments(again) == comments(document)
    assert print_gbnf(again) == again.text, "formatting it twice changes the text"


@pytest.mark.parametrize("name", EXAMPLES)
def test_llama_cpps_own_examples_keep_their_rules_and_comments(shared_data: Path, name: str) -> None:
    check_layout((shared_data / "gbnf" / f"{name}.gbnf").read_text(encoding="utf-8"))


@at_most(300)
@given(st.integers(0, 10**9))
def test_any_grammar_keeps_its_rules_and_comments(number: int) -> None:
    check_layout(mutant(number, sources()))


def test_comments_stay_where_a_line_may_end() -> None:
    text = (
        '# head\n\n\nroot ::= # first\n ( # in\n "a" | # second\n\n # alone\n "b" )+ x{2 , 3} # tail\n# next\n'
        'x ::= "q" | (\n"r"{1 # times\n}) | |\n  "z" # end'
    )
    assert (
        print_gbnf(read_gbnf(text))
        == """\
# head

root ::=  # first
  (  # in
    "a" |  # second
    # alone
    "b"
  )+ x{2,3}  # tail
# next
x ::= "q" | (
    "r"  # times
    {1}
  ) | | "z"  # end
"""
    )


def test_long_alternatives_have_a_line_each() -> None:
    options = [f'"{"x" * 30}{i}"' for i in range(4)]
    laid_out = print_gbnf(read_gbnf(f"root ::= {'|'.join(options)}"))
    assert laid_out == "root ::=\n  " + " |\n  ".join(options) + "\n"


@pytest.mark.slow
def test_five_thousand_nested_groups_are_formatted() -> None:
    check = read_gbnf("root ::= " + "(" * 5_000 + '"a"' + ")" * 5_000)
    assert len(read_gbnf(print_gbnf(check)).rules) == 1
