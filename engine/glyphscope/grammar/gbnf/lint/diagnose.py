"""All diagnostics of a document, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.grammar.gbnf import diagnostics as codes
from glyphscope.grammar.gbnf.diagnostics import Diagnostic
from glyphscope.grammar.gbnf.lint.analysis import Survey
from glyphscope.grammar.gbnf.lint.items import check_items
from glyphscope.grammar.gbnf.lint.recursion import check_recursion
from glyphscope.grammar.gbnf.lint.rules import check_rules
from glyphscope.grammar.gbnf.parse.syntax import GbnfDocument

MOST = 1_000
"""Errors, and other diagnostics, of each check: more would not be read."""
_RANK = {"error": 0, "warning": 1, "hint": 2}


def diagnose(document: GbnfDocument) -> tuple[Diagnostic, ...]:
    """The reader's problems and those of the rules: errors, warnings and hints.

    A text with so many problems that it was not read to its end gets no others.
    """
    found = list(document.problems)
    if not any(problem.code == codes.TOO_MANY_PROBLEMS for problem in found):
        survey = Survey(document)
        for check in (check_rules, check_recursion, check_items):
            found += _first(check(survey))
    return tuple(sorted(found, key=lambda d: (d.start, _RANK[d.severity], d.end)))


def _first(diagnostics: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    """The first errors, and the first of the others: no number of warnings hides an error."""
    errors = others = 0
    for diagnostic in diagnostics:
        if diagnostic.severity != "error":
            others += 1
            if others <= MOST:
                yield diagnostic
            continue
        yield diagnostic
        errors += 1
        if errors >= MOST:
            return
