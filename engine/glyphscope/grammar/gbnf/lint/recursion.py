"""Rules that begin with themselves, never end, loop without reading anything, or begin in too many ways.

llama.cpp checks only part of this, because it recognises only some rules as nullable (`Analysis.directly_empty`), and
hangs or crashes on the rest. So left recursion and loops are searched twice: as llama.cpp detects them, which it
rejects with a message, and completely.
"""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Fix, fix, report
from glyphscope.grammar.gbnf.lint.analysis import ROOT, Analysis
from glyphscope.grammar.gbnf.lint.fixpoint import (
    Beginnings,
    callees_order,
    cycles,
    depths,
    shortest_cycle,
    total_ways,
)
from glyphscope.grammar.gbnf.parse.syntax import GbnfRule, Reference

MAX_STEPS = 1_000_000_000
"""Steps of llama.cpp's search for left recursion, which follows every path: 134 million took 0.9 s (measured)."""
MAX_CHAIN = 60_000
"""Rules in a chain, each beginning with the next: 60,000 worked, 80,000 overflowed an 8 MB stack (measured)."""
MAX_WAYS = 60_000
"""Ways to begin a text; llama.cpp compares each with all others: 32,000 took 4 s, 65,000 took 9 s (measured)."""
SLOW_WAYS = 100
"""Each way is tested on the vocabulary at each token: 100 took 50 ms, 1,000 took 420 ms (measured, 49,000 tokens)."""


def check_recursion(analysis: Analysis) -> Iterator[Diagnostic]:
    """Check how the rules use each other."""
    recursions = list(_left_recursion(analysis))
    yield from recursions
    yield from _nullable_loops(analysis)
    yield from _non_productive(analysis)
    if not recursions and analysis.rules:
        yield from _ways(analysis)


def _left_recursion(analysis: Analysis) -> Iterator[Diagnostic]:
    """llama.cpp rejects left recursion that it detects. Otherwise it adds stacks forever, unless nothing follows."""
    detected = _edges(analysis.begins_for_llama)
    reported: set[str] = set()
    for members in cycles(detected):
        reported.update(members)
        first = members[0]
        second = next(name for name in detected[first] if name in members)
        yield _reported(analysis, shortest_cycle(detected, members, first, second), detected=True)
    edges = _edges(analysis.begins)
    for members in cycles(edges):
        inside = set(members)
        if inside & reported:
            continue
        pushing = (
            (name, other)
            for name in members
            for other, more in analysis.begins[name].rules.items()
            if more and other in inside and name in analysis.reachable
        )
        if edge := next(pushing, None):
            yield _reported(analysis, shortest_cycle(edges, members, *edge), detected=False)


def _edges(begins: dict[str, Beginnings]) -> dict[str, dict[str, bool]]:
    return {name: found.rules for name, found in begins.items()}


def _reported(analysis: Analysis, cycle: list[str], *, detected: bool) -> Diagnostic:
    """The diagnostic of a cycle, from its first rule back to itself. `detected`: llama.cpp finds it."""
    first, second = cycle[:2]
    rule = analysis.rules[first]
    place = _beginning(analysis.document.text, rule, second)
    start, end = (place.start, place.end) if place else rule.name_span
    shown = cycle
    if len(cycle) > 6:
        shown = [*cycle[:3], "…", *cycle[-2:]]
    how = (
        f"{first} begins with itself"
        if len(cycle) == 2
        else f"{first} begins with itself through other rules: {' → '.join(shown)}"
    )
    what = "llama.cpp rejects it" if detected else "llama.cpp does not detect it and hangs"
    message = f"{how}; {what}. Put an item before it, or use a repetition:"
    message += " `item+` instead of `list ::= list item | item`."
    repair = _as_repetition(analysis, rule) if len(cycle) == 2 else None
    return report("left-recursion", message, start, end, repair)


def _beginning(text: str, rule: GbnfRule, name: str) -> Reference | None:
    """The reference to `name` that begins an alternative, judging by the sign before it; otherwise the first one."""
    first = None
    for reference in rule.references:
        if reference.name == name:
            first = first or reference
            before = reference.start - 1
            while before >= rule.body.start and text[before].isspace():
                before -= 1
            if before < rule.body.start or text[before] in "|(":
                return reference
    return first


def _as_repetition(analysis: Analysis, rule: GbnfRule) -> Fix | None:
    """`list ::= list "," item | item` is `list ::= (item) ("," item)*`."""
    text = analysis.document.text
    tails, heads = [], []
    for option in rule.body.options:
        first = option.items[0] if option.items else None
        if isinstance(first, Reference) and first.name == rule.name:
            tail = text[option.items[1].start : option.end] if len(option.items) > 1 else ""
            if tail:
                tails.append(tail)
        else:
            heads.append(text[option.start : option.end] if option.items else '""')
    own = sum(reference.name == rule.name for reference in rule.references)
    if not heads or own != len(tails) or "#" in text[rule.body.start : rule.body.end]:
        return None
    whole = f"{_group(heads)} ({' | '.join(tails)})*"
    return fix("Write a repetition", (rule.body.start, rule.body.end, whole))


def _group(options: list[str]) -> str:
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def _nullable_loops(analysis: Analysis) -> Iterator[Diagnostic]:
    for rule, properties in analysis.definitions:
        rejected = set()
        for loop in properties.rejected_loops:
            if all(name in analysis.directly_empty for name in loop.names):
                rejected.add(loop.start)
                message = (
                    "The repeated item can be empty, so it could be repeated forever; llama.cpp rejects it."
                )
                message += " Make sure that each repetition reads something."
                repair = _simpler(analysis.document.text, rule.start + loop.start, rule.start + loop.end)
                yield report("nullable-loop", message, rule.start + loop.start, rule.start + loop.end, repair)
        for loop in properties.nullable_loops:
            if loop.start not in rejected and all(name in analysis.nullable for name in loop.names):
                message = (
                    "The repeated item can be empty, so a repetition can read nothing. llama.cpp accepts it;"
                )
                message += " make the item non-empty for other engines and for speed."
                yield report("empty-loop", message, rule.start + loop.start, rule.start + loop.end)


def _simpler(text: str, start: int, end: int) -> Fix | None:
    """`x?*` is `x*`."""
    tail = text[max(start, end - 100) : end]
    operators = tail[len(tail.rstrip("*+? \t")) :]
    count = len(operators.replace(" ", "").replace("\t", ""))
    if count < 2:
        return None
    return fix("Write one `*`", (end - len(operators), end, "*"))


def _non_productive(analysis: Analysis) -> Iterator[Diagnostic]:
    for name, rule in analysis.rules.items():
        if name not in analysis.productive:
            message = f"{name} derives no finite text: every alternative leads back to such a rule."
            message += " Add an alternative that ends."
            yield report("endless-rule", message, *rule.name_span)


def _ways(analysis: Analysis) -> Iterator[Diagnostic]:
    """The steps and the depth of llama.cpp's search for left recursion, and the number of its stacks."""
    begins = analysis.begins_for_llama
    order = callees_order(begins)
    steps = total_ways(order, begins, 1)
    worst = max(steps, key=steps.__getitem__)
    if steps[worst] > MAX_STEPS:
        message = (
            f"llama.cpp looks for left recursion in {worst} in more than {MAX_STEPS:,} steps and hangs: its"
        )
        message += " rules begin with each other in too many ways. Let alternatives share their beginning."
        yield report("too-many-steps", message, *analysis.rules[worst].name_span)
        return
    deepest, depth = max(depths(order, begins).items(), key=lambda pair: pair[1])
    if depth > MAX_CHAIN:
        message = f"{deepest} begins with a chain of {depth:,} rules; llama.cpp crashes. Shorten it."
        yield report("too-many-steps", message, *analysis.rules[deepest].name_span)
    ways = total_ways(callees_order(analysis.begins), analysis.begins)
    for name, rule in analysis.rules.items():
        if name == ROOT and ways[name] > MAX_WAYS:
            message = f"A text can begin in up to {ways[name]:,} ways, and llama.cpp compares all of them:"
            message += " this takes minutes. Let alternatives share their beginning."
            yield report("too-many-ways", message, *rule.name_span)
        elif ways[name] > SLOW_WAYS and name in analysis.reachable and _branches(analysis.begins[name]):
            message = f"{name} can begin in up to {ways[name]:,} ways, and llama.cpp tests each against the"
            message += (
                ' vocabulary at every token. Let alternatives share their beginning: `"a" ("b" | "c")`.'
            )
            yield report("slow-alternatives", message, *rule.name_span)


def _branches(begins: Beginnings) -> bool:
    """Whether the rule itself has several ways to begin, rather than just one rule."""
    return len(begins.calls) != 1 or begins.calls[0][1] > 1 or begins.ways > 0
