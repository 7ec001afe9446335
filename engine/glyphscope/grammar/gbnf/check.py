"""The check of a GBNF text: its syntax tree, its problems, and its grammar if llama.cpp accepts it.

`check_gbnf` reads (`parse`), checks (`lint`) and converts (`tree_of`). To add a check, see `diagnose`; for the fixes
that are applied without asking, `apply_fixes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

from glyphscope.base.errors import GrammarError
from glyphscope.base.lines import Lines
from glyphscope.grammar import chars, tree
from glyphscope.grammar.gbnf.cancellation import checkpoint, stoppable
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, Edit, Fix, errors_in_words, report
from glyphscope.grammar.gbnf.lint.analysis import ROOT, Analysis
from glyphscope.grammar.gbnf.lint.items import check_items
from glyphscope.grammar.gbnf.lint.rule_properties import MAX_REPETITIONS
from glyphscope.grammar.gbnf.lint.rules import check_recursion, check_rules
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.gbnf.parse.literals import IMPOSSIBLE, united
from glyphscope.grammar.gbnf.parse.parser import read_gbnf
from glyphscope.grammar.traversal import bottom_up
from glyphscope.grammar.tree import EMPTY, NEVER, Grammar, Node, Rule

Document = TypeVar("Document", bound=syntax.GrammarSyntax, covariant=True)
MAX_DIAGNOSED = 1_000
"""The maximum number of errors, and of other diagnostics, of each check: more would not be read."""
_RANK = {"error": 0, "warning": 1, "hint": 2}
_AMBIGUOUS = {
    "undefined-rule", "no-root", "stray-line", "missing-body", "left-recursion", "not-utf-8", "lone-surrogate",
    "nul-character", "no-start", "undefined-name", "duplicate-rule", "rule-in-terminal", "bad-range",
}  # fmt: skip
"""Errors with several plausible fixes."""
_ROUNDS = 50
"""The maximum number of rounds of `apply_fixes`, which ends when a round has nothing to fix."""
_NEAR = 200
"""The number of edits with which a new one is compared; fixes are in the order of the text."""


def diagnose(document: syntax.GrammarSyntax) -> tuple[Diagnostic, ...]:
    """The problems of the text's syntax and of its rules: errors, warnings and hints, in the order of the text.

    The rules are not checked if the text was not read to its end because it has too many problems.
    """
    diagnostics = list(document.problems)
    if not any(problem.code == "too-many-mistakes" for problem in diagnostics):
        analysis = Analysis(document)
        for check in (check_rules, check_recursion, check_items):
            diagnostics += _first(check(analysis))
    return in_order(diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics in the order of the text; at one place, the worst first."""
    return tuple(sorted(diagnostics, key=lambda each: (each.start, _RANK[each.severity], each.end)))


def _first(diagnostics: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    """The first errors and the first other diagnostics, so that warnings never hide an error."""
    errors = others = 0
    for diagnostic in diagnostics:
        if diagnostic.severity != "error":
            others += 1
            if others <= MAX_DIAGNOSED:
                yield diagnostic
            continue
        yield diagnostic
        errors += 1
        if errors >= MAX_DIAGNOSED:
            return


class GrammarCheck(Generic[Document]):
    """The result of the check of a text in any language, with its syntax tree and its problems."""

    def __init__(
        self, document: Document, diagnostics: Iterable[Diagnostic], grammar: Callable[[], Grammar | None]
    ) -> None:
        """`grammar` makes the rule tree of a text without errors."""
        self.document = document
        self.diagnostics = tuple(diagnostics)
        self._grammar = grammar

    @property
    def ok(self) -> bool:
        """Whether the language's engine accepts the text: it has no errors, but perhaps warnings."""
        return not any(diagnostic.severity == "error" for diagnostic in self.diagnostics)

    def as_json(self) -> dict[str, Any]:
        """The diagnostics for JSON; places as in `Lines.span`."""
        lines = Lines(self.document.text)
        return {"ok": self.ok, "diagnostics": [_entry(diagnostic, lines) for diagnostic in self.diagnostics]}

    @cached_property
    def grammar(self) -> Grammar | None:
        """The rule tree; None unless `ok`. Raises CheckCancelled if a check of GBNF can be cancelled."""
        return self._grammar() if self.ok else None


def _entry(diagnostic: Diagnostic, lines: Lines) -> dict[str, Any]:
    fix = diagnostic.fix
    edits = [{**lines.span(start, end), "text": text} for start, end, text in fix.edits] if fix else []
    return {
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        **lines.span(diagnostic.start, diagnostic.end),
        "fix": {"title": fix.title, "edits": edits} if fix else None,
    }


def check_gbnf(text: str, *, cancel: Callable[[], bool] | None = None) -> GrammarCheck[syntax.GrammarSyntax]:
    """Read and check any text; takes seconds per megabyte.

    Raises only CheckCancelled, if `cancel`, which is called every few milliseconds, returns True; so does the first
    access to `grammar` of the result.
    """
    with stoppable(cancel):
        document = read_gbnf(text)
        return GrammarCheck(document, diagnose(document), partial(_tree, document, cancel))


def _tree(document: syntax.GrammarSyntax, cancel: Callable[[], bool] | None) -> Grammar:
    with stoppable(cancel):
        return tree_of(document)


def check_gbnf_bytes(data: bytes) -> GrammarCheck[syntax.GrammarSyntax]:
    """Check the bytes of a file: invalid UTF-8 and a byte order mark, which llama.cpp does not support, are reported
    with their places. In the document's text, each such byte is the lone surrogate of Python's `surrogateescape`, so it
    can be written again.
    """
    check = check_gbnf(data.decode("utf-8", "surrogateescape"))
    problems = in_bytes(check.document.text, check.diagnostics)
    return GrammarCheck(check.document, problems, partial(tree_of, check.document))


def in_bytes(text: str, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The diagnostics of a text that was read with `surrogateescape`: its surrogates are bytes that are not UTF-8."""
    for each in diagnostics:
        if each.code == "lone-surrogate" and "\udc80" <= text[each.start] <= "\udcff":
            byte = ord(text[each.start]) - 0xDC00
            message = f"The byte 0x{byte:02X} is not UTF-8. Save the file as UTF-8."
            yield report("not-utf-8", message, each.start, each.end, each.fix)
        else:
            yield each


def apply_fixes(check: Any, again: Callable[[str], Any] | None = None) -> tuple[str, int]:
    """The text with all errors fixed that have a single fix, and the number of fixes.

    Each round applies fixes that do not overlap, then checks again, as one problem can hide another. `again` is the
    check of the text's language, GBNF's by default.
    """
    text, count = check.document.text, 0
    for _ in range(_ROUNDS):
        edits: list[Edit] = []
        for diagnostic in check.diagnostics:
            fix = diagnostic.fix
            if diagnostic.severity != "error" or diagnostic.code in _AMBIGUOUS or fix is None:
                continue
            if fix.edits[0] in edits or not any(_touch(a, b) for a in fix.edits for b in edits[-_NEAR:]):
                count += fix.edits[0] not in edits
                edits += [edit for edit in fix.edits if edit not in edits]
        if not edits:
            break
        text = Fix("", tuple(edits)).apply(text)
        check = (again or check_gbnf)(text)
    return text, count


def _touch(a: Edit, b: Edit) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def load_gbnf(text: str, *, where: str = "grammar", before: int = 0) -> Grammar:
    """The rule tree of a text. Raises GrammarError with each problem's line and column, both from 1.

    The first `before` characters, which the caller added, do not count.
    """
    check = _checked(text)
    if check.grammar is not None:
        return check.grammar
    errors = [diagnostic for diagnostic in check.diagnostics if diagnostic.severity == "error"]
    raise GrammarError(
        errors_in_words(text, errors, before),
        where=where,
        hint="Correct it: llama.cpp rejects it, or crashes on it.",
    )


@lru_cache(maxsize=4)
def _checked(text: str) -> GrammarCheck[syntax.GrammarSyntax]:
    # cached, because other caches identify a grammar by its identity
    return check_gbnf(text)


def tree_of(document: syntax.GrammarSyntax) -> Grammar:
    """The grammar of a document without errors: the language that llama.cpp reads, under the user's names.

    Nothing is simplified, so that active rules show the written text. As in llama.cpp, an empty class is the empty
    text, an upper bound over 2,000 is ignored, and the last of several rules with one name counts.
    """
    bodies: Iterator[tuple[str, syntax.Part]] = ((rule.name, rule.body) for rule in document.rules)
    return Grammar(
        {name: Rule(name, bottom_up(body, attrgetter("inner"), _node)) for name, body in bodies}, ROOT
    )


def _node(node: syntax.Part, parts: list[Node]) -> Node:
    """The node of a part, given the nodes of its parts."""
    checkpoint()
    if isinstance(node, syntax.Alternatives):
        sequences = syntax.by_option(node, parts)
        options = [items[0] if len(items) == 1 else tree.Seq(tuple(items)) for items in sequences]
        return options[0] if len(options) == 1 else tree.Alt(tuple(options))
    if isinstance(node, syntax.GroupItem):
        return parts[0]
    if isinstance(node, syntax.Repetition):
        unbounded = node.maximum is None or node.maximum > MAX_REPETITIONS
        return tree.Repeat(parts[0], node.minimum, None if unbounded else node.maximum)
    if isinstance(node, syntax.Reference):
        return tree.RuleRef(node.name)
    if isinstance(node, syntax.Quoted):
        return NEVER if IMPOSSIBLE in node.text else tree.Literal(node.text) if node.text else EMPTY
    if isinstance(node, syntax.AnyCharacter):
        return tree.CharClass(chars.ALL)
    if isinstance(node, syntax.TokenItem):
        return tree.TokenMatch(node.token, node.negated)
    assert isinstance(node, syntax.Class), "groups and repetitions have been taken apart"
    if not node.ranges:
        return EMPTY
    return tree.CharClass(chars.intersection(united(node.ranges), chars.ALL), node.negated)
