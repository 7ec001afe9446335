"""The grammar page's work in the engine, off the GUI thread: plain functions of snapshots."""

from __future__ import annotations

import difflib
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple

from msgspec.structs import replace

from glyphscope.base.errors import GlyphscopeError, GrammarError
from glyphscope.base.figures import duration
from glyphscope.base.shorten import capitalised
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.events import ArgumentOrder, Notation, RunRequest, Shape
from glyphscope.explain.proof import OURS, as_written, boundary_examples, texts
from glyphscope.grammar import (
    Bound,
    MatchLimits,
    TokenTrie,
    allowed_tokens,
    compile_grammar,
    match_text,
    shortest_differences,
)
from glyphscope.grammar.convert import TargetLanguage, convert, source_grammar
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.grammar.gbnf.parse.syntax import RuleSyntax
from glyphscope.grammar.generate.sample import MAX_SHOWN
from glyphscope.grammar.languages import GBNF, GrammarLanguage
from glyphscope.grammar.tree import Grammar, Origin, Unenforced
from glyphscope.models.interface import Vocabulary
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.runs import PreparedRequest
from glyphscope.runs.strategies import unenforced
from glyphscope.turns import TurnOptions, build_call_grammar
from glyphscope_gui.enforcement.rows import constraint_row_words, leaking_value
from glyphscope_gui.enforcement.table import CUSTOM, EnforcementCell, EnforcementRow
from glyphscope_gui.grammar.problems import GrammarProblem, to_problems
from glyphscope_gui.shared.language import tr

LARGE = 200_000
"""Number of characters from which a text makes so many objects that Python's garbage collector slows the work down."""
EXAMPLE_LIMITS = MatchLimits(items=300_000)
"""Limit for each example, about a second, so that one hostile text does not delay the others."""


@dataclass(frozen=True)
class GeneratedExamples:
    """The tools' grammar as text, with the schema place of each rule, and the constraints that each engine's grammar
    does not enforce.
    """

    text: str
    origins: Mapping[str, Origin] = field(default_factory=dict)
    claims: Mapping[str, tuple[Unenforced, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Checked:
    """The results of checking a text. `grammar` is None while there are errors."""

    text: str
    problems: tuple[GrammarProblem, ...]
    counts: Mapping[str, int]
    rules: Mapping[str, RuleSyntax]
    grammar: Grammar | None
    seconds: float
    language: GrammarLanguage = GBNF

    @property
    def ok(self) -> bool:
        return self.grammar is not None


def summary_words(found: Checked) -> tuple[str, ...]:
    """`8 rules, 2 errors, 1 hint, checked in 4 ms`; and shorter, without the time, without the rules, and the worst
    problems alone.
    """
    errors, warnings, hints = (found.counts.get(kind, 0) for kind in ("error", "warning", "hint"))
    rules = tr("%n rule(s)", "", len(found.rules))
    counts = [
        tr("%n error(s)", "", errors) if errors else "",
        tr("%n warning(s)", "", warnings) if warnings else "",
        tr("%n hint(s)", "", hints) if hints else "",
    ]
    some = [words for words in counts if words]
    if not errors:
        some.insert(0, tr("no errors") if some else tr("no problems"))
    every = ", ".join((rules, *some))
    spent = duration(found.seconds)
    worst = some[:1] if errors else some[1:2] or [rules]
    return tr("{counts}, checked in {time}", counts=every, time=spent), every, ", ".join(some), *worst


class ExampleVerdict(NamedTuple):
    """The grammar's verdict on a text; `failed_at` counts code points, None if every character matches."""

    accepted: bool
    failed_at: int | None
    length: int
    expected: tuple[str, ...]


@dataclass(frozen=True)
class CheckedExamples:
    """Verdicts by text; `problem` says why a text has none."""

    verdicts: Mapping[str, ExampleVerdict]
    problem: str = ""


@contextmanager
def _collector_resting(rests: bool) -> Iterator[None]:
    """Pause the garbage collector: with millions of new objects it scans all of them repeatedly, blocking all threads
    for a second at a time.

    The remaining objects are also excluded from later scans; reference counting frees them.
    """
    if not rests or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def generate(
    registry: ToolRegistry, notation: Notation, shape: Shape, order: ArgumentOrder = "schema"
) -> GeneratedExamples:
    """The tools' grammar for llama.cpp. Raises GrammarError if a tool cannot be called."""
    emitted = emit_gbnf(build_call_grammar(registry, notation, shape, TurnOptions(order=order)))
    request = RunRequest(prompt="", registry={}, notation=notation, shape=shape, order=order)
    claims: dict[str, tuple[Unenforced, ...]] = {
        kind: unenforced(PreparedRequest(replace(request, constraint=kind), registry)) for kind in OURS
    }
    return GeneratedExamples(emitted.text, emitted.origins, claims)


def check(text: str, language: GrammarLanguage, cancel: Callable[[], bool]) -> Checked:
    """Return every problem of a text in that language, and its grammar if it has no errors. Raises CheckCancelled."""
    begun = time.perf_counter()
    with _collector_resting(len(text) > LARGE):
        found = language.check(text, cancel=cancel)
        grammar = found.grammar
    seconds = time.perf_counter() - begun
    counts: dict[str, int] = {}
    for diagnostic in found.diagnostics:
        counts[diagnostic.severity] = counts.get(diagnostic.severity, 0) + 1
    rules: dict[str, RuleSyntax] = {}
    for rule in found.document.rules:
        rules.setdefault(rule.name, rule)
    return Checked(text, to_problems(text, found.diagnostics), counts, rules, grammar, seconds, language)


def check_examples(
    grammar: Grammar, texts: tuple[str, ...], known: Mapping[str, ExampleVerdict], cancel: Callable[[], bool]
) -> CheckedExamples:
    """Return the grammar's verdict on each text; texts with a `known` verdict are not matched again."""
    verdicts: dict[str, ExampleVerdict] = {}
    problem = ""
    for text in dict.fromkeys(texts):
        if text in known:
            verdicts[text] = known[text]
            continue
        try:
            report = match_text(grammar, text, limits=EXAMPLE_LIMITS, cancel=cancel)
        except GlyphscopeError as error:
            problem = str(error)
            continue
        verdicts[text] = ExampleVerdict(report.accepted, report.failed_at, len(text), report.expected)
    return CheckedExamples(verdicts, problem)


@dataclass(frozen=True)
class StepView:
    """The grammar's state after some characters of a text: the rules being read, the characters expected next, and
    whether any text can follow (`alive`). `failed_at` is the first rejected character of the whole text, or None.
    """

    rules: tuple[str, ...]
    expected: tuple[str, ...]
    alive: bool
    failed_at: int | None


def step(grammar: Grammar, text: str, at: int, cancel: Callable[[], bool]) -> StepView:
    """The state of the grammar after `at` characters of the text. Raises MatchLimit, MatchCancelled."""
    state = compile_grammar(grammar).start(EXAMPLE_LIMITS).feed(text[:at], cancel=cancel)
    whole = state.feed(text[at:], cancel=cancel)
    return StepView(
        tuple(active.name for active in state.active_rules()),
        state.expected(),
        state.alive,
        whole.failed_at,
    )


FEW_TOKENS = 8


@dataclass(frozen=True)
class TokensView:
    """The number of a vocabulary's tokens that are allowed, and the `few` with the lowest ids as text."""

    allowed: int
    vocabulary: int
    few: tuple[str, ...]


def make_trie(vocabulary: Vocabulary) -> TokenTrie:
    """Make the trie of a vocabulary: half a second for 49,000 tokens."""
    with _collector_resting(True):
        return TokenTrie(vocabulary.tokens, vocabulary.names)


def step_tokens(
    grammar: Grammar, text: str, at: int, trie: TokenTrie, cancel: Callable[[], bool]
) -> TokensView | None:
    """The allowed tokens after `at` characters; None if no text can follow. Raises MatchLimit, MatchCancelled."""
    state = compile_grammar(grammar).start(EXAMPLE_LIMITS).feed(text[:at], cancel=cancel)
    if not state.alive:
        return None
    found = allowed_tokens(state, trie, cancel=cancel)
    few = tuple(token_text(trie.tokens[token], "") for token in found[:FEW_TOKENS])
    return TokensView(len(found), len(trie.tokens), few)


@dataclass(frozen=True)
class GrammarComparison:
    """The shortest texts that only one of two versions accepts, or None; `note` states the extent of the search."""

    now: str | None
    no_longer: str | None
    note: str


COMPARE_BOUND = Bound(seconds=3.0)
"""Limit for each direction, as the user waits for the answer, which states the extent of the search."""


def compare(
    before: str, language: GrammarLanguage, grammar: Grammar, cancel: Callable[[], bool]
) -> GrammarComparison:
    """Compare a grammar with its previous version. Raises GrammarError if that has errors."""
    base = language.check(before, cancel=cancel).grammar
    if base is None:
        raise GrammarError(tr("The previous version has errors and cannot be compared."))
    found = shortest_differences(base, grammar, bound=COMPARE_BOUND, cancelled=cancel)
    bound = f"{capitalised(found.bound)}."
    if found.same and found.exhausted:
        note = tr("Both versions accept exactly the same texts.")
    else:
        note = "" if found.exhausted else bound
    return GrammarComparison(found.only_second, found.only_first, note)


MAX_LINES = 5_000
"""Lines of a grammar whose changed lines are listed."""


def changed_lines(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """The lines that only one of two texts has, `−` the first and `+` the second, in their order; below MAX_LINES."""
    found = islice(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0), 2, None)
    signs = {"-": "−", "+": "+"}
    return tuple((signs[line[0]], line[1:]) for line in found if line[0] in signs)


class Converted(NamedTuple):
    """A grammar in the language `to`, and in words what is lost or added, or how far that was looked for."""

    text: str
    to: TargetLanguage
    note: str


def converted(grammar: Grammar, to: TargetLanguage, cancel: Callable[[], bool]) -> Converted:
    """The grammar in another language. Raises GrammarError."""
    text, found = convert(grammar, to, bound=COMPARE_BOUND, cancelled=cancel)
    if found.only_first is not None:
        note = tr("The text {text} is lost.", text=visible(found.only_first[:MAX_SHOWN], single=True))
    elif found.only_second is not None:
        note = tr("The text {text} is added.", text=visible(found.only_second[:MAX_SHOWN], single=True))
    else:
        note = tr("It has the same texts.") if found.exhausted else f"{capitalised(found.bound)}."
    return Converted(text, to, note)


def from_source(text: str, source: Literal["regex", "json-schema"], cancel: Callable[[], bool]) -> Converted:
    """A pattern, or the values of a JSON Schema, as GBNF. Raises GrammarError."""
    return converted(source_grammar(text, source), "gbnf", cancel)


MAX_TEXTS = 5_000
"""Texts that are matched for one answer; more would delay the next."""
CALL_LIMITS = MatchLimits(items=20_000)
"""Limit for each text: calls are short."""


def custom_grammar_rows(
    grammar: Grammar, registry: ToolRegistry, notation: Notation, shape: Shape, cancelled: Callable[[], bool]
) -> tuple[EnforcementRow, ...]:
    """The constraints of the tools that the grammar can call, with its enforcement of each, by test: with the proofs'
    examples and Glyphscope's matcher. None if the grammar cannot call any.

    Only the grammar's text counts here. The validator may still report a violation that the grammar allows.
    """
    start = compile_grammar(grammar).start(CALL_LIMITS)
    texts_left = MAX_TEXTS

    def accepted(text: str) -> bool:
        nonlocal texts_left
        texts_left -= 1
        try:
            return start.feed(text).accepted
        except GlyphscopeError:
            return False

    rows: list[EnforcementRow] = []
    for tool in registry.allowed:
        if cancelled() or texts_left <= 0:
            break
        rows += _tool_rows(registry, tool, notation, shape, accepted)
    return tuple(rows)


def _tool_rows(
    registry: ToolRegistry, tool: Tool, notation: Notation, shape: Shape, accepted: Callable[[str], bool]
) -> list[EnforcementRow]:
    found = boundary_examples(tool, closed=registry.unknown_arguments == "refuse")
    cells: dict[tuple[str, str], EnforcementCell] = {}
    callable_at_all = False
    for example in found.examples:
        key = (example.pointer, example.keyword)
        broken = _written(tool, example.arguments, example.path, notation, shape)
        valid = _written(tool, example.valid, example.path, notation, shape)
        if not broken or not valid:
            continue
        right = accepted(valid[0])
        callable_at_all = callable_at_all or right
        leak = next((text for text in broken if accepted(text)), None)
        before = cells.get(key)
        if before is not None and before.state == "leaks":
            continue  # the first example is the nearest
        if leak is not None:
            value = leaking_value(leak, example.pointer, notation)
            cells[key] = EnforcementCell(
                "leaks", value, tr("Accepted: {call}\n{violation}", call=leak, violation=example.what)
            )
        elif right and (before is None or before.state == "unknown"):
            cells[key] = EnforcementCell(
                "enforced", "", tr("Rejected every violating text and accepted a valid one.")
            )
        elif before is None:
            cells[key] = EnforcementCell(
                "unknown", "", tr("The grammar also rejects a valid call: {call}", call=valid[0])
            )
    if not callable_at_all:
        return []
    return [
        EnforcementRow(
            tool.name,
            pointer,
            keyword,
            constraint_row_words(registry, tool.name, pointer, keyword),
            {CUSTOM: cell},
        )
        for (pointer, keyword), cell in cells.items()
    ]


def _written(
    tool: Tool, arguments: object, path: object, notation: Notation, shape: Shape
) -> tuple[str, ...]:
    made: Iterator[str] = texts(tool.name, arguments, path, notation, shape, as_written)  # type: ignore[arg-type]
    return tuple(dict.fromkeys(made))
