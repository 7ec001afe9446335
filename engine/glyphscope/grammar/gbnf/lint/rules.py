"""Checks of rules: of their names, and whether they begin with themselves, never end, loop without reading anything, or
begin in too many ways.

Of the latter, llama.cpp checks only part, because it recognises only some rules as nullable
(`Analysis.directly_empty`), and hangs or crashes on the rest. So left recursion and loops are searched twice: as
llama.cpp detects them, which it rejects with a message, and completely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from glyphscope.base.shorten import shorten
from glyphscope.grammar.gbnf.cancellation import checkpoint
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
from glyphscope.grammar.gbnf.parse.syntax import GrammarSyntax, Reference, RuleSyntax

_GUESSES = 20
"""The number of undefined names for which a similar name is searched among all rules."""
_SHOWN = 120
"""Characters of a rewritten rule that a message shows."""


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


def _place_of_a_new_rule(document: GrammarSyntax) -> tuple[int, str]:
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


def _delete(analysis: Analysis, rule: RuleSyntax) -> Fix:
    """Delete the rule with its line end; a comment after it stays."""
    text, end = analysis.document.text, rule.end
    rest = text[end : end + 2]
    begins_line = text[rule.start - 1 : rule.start] in ("", "\n", "\r")
    if begins_line and rest[:1] in ("\n", "\r"):
        end += 2 if rest == "\r\n" else 1
    return fix(f"Delete {rule.name}", (rule.start, end, ""))


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
    message = f"{how}; {what}. Put an item before it, or use a repetition"
    body = _as_repetition(analysis, rule) if len(cycle) == 2 else ""
    if not body:
        return report("left-recursion", f"{message}.", start, end, None)
    repair = fix("Write a repetition", (rule.body.start, rule.body.end, body))
    return report(
        "left-recursion", f"{message}: `{shorten(f'{first} ::= {body}', _SHOWN)}`.", start, end, repair
    )


def _beginning(text: str, rule: RuleSyntax, name: str) -> Reference | None:
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


def _as_repetition(analysis: Analysis, rule: RuleSyntax) -> str:
    """The body of a rule without left recursion; "" if there is none. `list "," item | item` is `item ("," item)*`."""
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
        return ""
    return f"{_group(heads)} ({' | '.join(tails)})*"


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
    ways = ways_to_begin(analysis)
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


def ways_to_begin(analysis: Analysis) -> dict[str, int]:
    """The number of ways in which each rule can begin, at most, without left recursion: llama.cpp's cost per token."""
    return total_ways(callees_order(analysis.begins), analysis.begins)


def _branches(begins: Beginnings) -> bool:
    """Whether the rule itself has several ways to begin, rather than just one rule."""
    return len(begins.calls) != 1 or begins.calls[0][1] > 1 or begins.ways > 0
