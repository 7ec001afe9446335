"""Checks of the names of rules: a missing `root`, undefined, duplicate and unused names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, fix, report
from glyphscope.grammar.gbnf.lint.analysis import ROOT, Analysis
from glyphscope.grammar.gbnf.parse.syntax import GbnfDocument, GbnfRule

_GUESSES = 20
"""The number of undefined names for which a similar name is searched among all rules."""


def check_rules(analysis: Analysis) -> Iterator[Diagnostic]:
    """Check the names of the rules."""
    if not analysis.rules:
        if not analysis.document.problems:
            yield report("no-rules", "There is no rule here. Write one: `root ::= …`.", 0, 0)
        return
    if ROOT not in analysis.rules:
        yield _no_root(analysis)
    yield from _undefined(analysis)
    yield from _duplicates(analysis)
    yield from _unused(analysis)


def _no_root(analysis: Analysis) -> Diagnostic:
    rules = analysis.document.rules
    first = next((rule for rule in rules if rule.name not in analysis.used), rules[0])
    if any(ROOT in properties.names for properties in analysis.properties.values()):
        message = "The rule root, with which llama.cpp begins, is used but not defined. Write it."
        return report("no-root", message, *first.name_span)
    message = f"No rule is called root, with which llama.cpp begins. Call the whole so: {first.name}?"
    spans = analysis.document.occurrences(first.name)
    repair = fix(f"Rename {first.name} to root", *((start, end, ROOT) for start, end in spans))
    return report("no-root", message, *first.name_span, repair)


def _undefined(analysis: Analysis) -> Iterator[Diagnostic]:
    guesses: dict[str, str] = {}
    place: tuple[int, str] | None = None
    for rule, properties in analysis.definitions:
        checkpoint(len(properties.names))
        missing = {name for name in properties.names if name not in analysis.rules}
        if not missing:
            continue
        for reference in rule.references:
            name, start, end = reference.name, reference.start, reference.end
            if name not in missing or not _is_name(name):
                continue
            if name not in guesses:
                near = get_close_matches(name, analysis.rules, 1, 0.75) if len(guesses) < _GUESSES else []
                guesses[name] = near[0] if near else ""
            message = f"The rule {name} is not defined. "
            if near_name := guesses[name]:
                message += f"Did you mean {near_name}?"
                repair = fix(f"Write {near_name}", (start, end, near_name))
            else:
                message += f"Define it: `{name} ::= …`."
                at, lead = place = place or _place_of_a_new_rule(analysis.document)
                repair = fix(f"Add a rule {name}", (at, at, f'{lead}{name} ::= "{name}"\n'))
            yield report("undefined-rule", message, start, end, repair)


def _place_of_a_new_rule(document: GbnfDocument) -> tuple[int, str]:
    """Where a rule can be added, and the text before it: at the end, or before an incomplete last rule."""
    text = document.text
    if document.rules:
        start = document.rules[-1].start
        without_comments = list(text[start:])
        for comment in document.comments:
            if comment.start >= start:
                without_comments[comment.start - start : comment.end - start] = " " * (
                    comment.end - comment.start
                )
        if "".join(without_comments).rstrip().endswith(("|", "::=")):
            return start, ""
    return len(text), "" if text.endswith("\n") else "\n"


def _is_name(name: str) -> bool:
    """Whether llama.cpp accepts the name; other names are already reported."""
    return name.isascii() and "_" not in name


def _duplicates(analysis: Analysis) -> Iterator[Diagnostic]:
    if len(analysis.rules) == len(analysis.document.rules):
        return
    for rule in analysis.document.rules:
        if analysis.rules[rule.name] is rule:
            continue
        message = f"{rule.name} is defined again later, and llama.cpp takes the last one only. Delete or rename one."
        yield report("duplicate-rule", message, *rule.name_span, _delete(analysis, rule))


def _unused(analysis: Analysis) -> Iterator[Diagnostic]:
    if ROOT not in analysis.rules or len(analysis.reachable) == len(analysis.rules):
        return
    definitions = Counter(rule.name for rule in analysis.document.rules)
    for name, rule in analysis.rules.items():
        if name in analysis.reachable:
            continue
        if name in analysis.used:
            message = f"The rule {name} cannot be reached from root. Use it, or delete it."
            yield report("unreachable-rule", message, *rule.name_span, None)
        else:
            message = f"The rule {name} is not used. Use it, or delete it."
            # if the last of several definitions were deleted, another one would count
            repair = _delete(analysis, rule) if definitions[name] == 1 else None
            yield report("unused-rule", message, *rule.name_span, repair)


def _delete(analysis: Analysis, rule: GbnfRule) -> Fix:
    """Delete the rule with its line end; a comment after it stays."""
    text, end = analysis.document.text, rule.end
    rest = text[end : end + 2]
    begins_line = text[rule.start - 1 : rule.start] in ("", "\n", "\r")
    if begins_line and rest[:1] in ("\n", "\r"):
        end += 2 if rest == "\r\n" else 1
    return fix(f"Delete {rule.name}", (rule.start, end, ""))
