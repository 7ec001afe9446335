"""The grammars of texts in values, which a schema has under `x-grammar`, and grammars with relaxed rules.

A text under `x-grammar` is GBNF for the value as it is written, with its quotes. An object is the `format` of OpenAI's
custom tools, for the text that a string stands for: Lark or a regular expression, read by its rules, without a lexer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING, Any

from glyphscope.base.errors import GrammarError
from glyphscope.base.figures import duration
from glyphscope.base.lines import Lines
from glyphscope.base.shorten import and_more, shorten
from glyphscope.base.visible import one_line
from glyphscope.grammar import chars, tree
from glyphscope.grammar.regular.strings import any_character
from glyphscope.grammar.traversal import callees_first
from glyphscope.grammar.tree import Grammar, Node, Rule, TokenMatch
from glyphscope.registry.keywords import CUSTOM, RELAXED

if (
    TYPE_CHECKING
):  # readers of grammars are imported where a schema has one: every check of a value imports this
    from glyphscope.grammar.match.earley import State

MAX_DEFINITION = 100_000
"""The maximum number of characters of a grammar in a schema: its rules are read before a run."""
MAX_RULES = 1_000
"""The maximum number of its rules: llguidance crashes on some grammars with more."""
SECONDS = 4.0
"""The CPU time for reading one."""
MAX_NODES = 20_000
"""The maximum number of nodes of a grammar as one regular expression."""
MAX_OPEN = 4
"""The maximum number of open rules that a message names."""
_SHOWN = 8
_SHOWN_REASON = 200  # characters
_PATTERN = "pattern"
"""The rule of a regular expression."""


class UnreadableGrammar(GrammarError):
    """A grammar in a schema that cannot be read: no call of its tool can be written."""


def written_grammar(schema: Mapping[str, Any], where: str = CUSTOM) -> Grammar | None:
    """The texts of the value as it is written, by the GBNF of its `x-grammar`: an expression or rules; None without.

    Raises UnreadableGrammar with lines and columns.
    """
    text = schema.get(CUSTOM)
    if text is None or isinstance(text, Mapping):
        return None
    if not isinstance(text, str):
        raise UnreadableGrammar(f"{CUSTOM} is a text, not {type(text).__name__}.", where=where)
    from glyphscope.grammar.gbnf.check import load_gbnf

    before = "" if "::=" in text else "root ::= "
    try:
        return _relaxed_value(
            load_gbnf(before + text, before=len(before)), schema, any_character("json"), where
        )
    except GrammarError as error:
        raise UnreadableGrammar(error.message, where=where, hint=error.hint) from None


def text_format(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The format under `x-grammar`, if it has a grammar of texts."""
    form = schema.get(CUSTOM)
    return form if isinstance(form, Mapping) and form.get("type") == "grammar" else None


def text_grammar(schema: Mapping[str, Any], where: str = CUSTOM) -> Grammar | None:
    """The texts that a string may stand for, by a custom tool's format as its `x-grammar`; None if any text is one.

    Raises UnreadableGrammar with lines and columns.
    """
    form = text_format(schema)
    if form is None:
        return None
    try:
        grammar = _read(form["syntax"], form["definition"])
        return _relaxed_value(grammar, schema, tree.CharClass(chars.ALL), where)
    except GrammarError as error:
        raise UnreadableGrammar(error.message, where=where, hint=error.hint) from None


def _relaxed_value(grammar: Grammar, schema: Mapping[str, Any], character: Node, where: str) -> Grammar:
    names = tuple(schema.get(RELAXED, ()))
    return _with_relaxed(tree.ByIdentity(grammar), names, character, where) if names else grammar


@lru_cache(maxsize=64)
def _read(syntax: str, definition: str) -> Grammar:
    from glyphscope.grammar.gbnf.cancellation import CheckCancelled
    from glyphscope.grammar.lexemes import lexeme
    from glyphscope.grammar.match.nullability import productive_rules
    from glyphscope.processes.compilers import service

    if len(definition) > MAX_DEFINITION:
        raise GrammarError(
            f"The grammar has {len(definition):,} characters, more than {MAX_DEFINITION:,}.",
            hint="Make it smaller.",
        )
    try:
        grammar = _read_regex(definition) if syntax == "regex" else _read_lark(definition)
    except CheckCancelled:
        raise GrammarError(
            f"Reading the grammar takes more than {duration(SECONDS)}.", hint="Make it smaller."
        ) from None
    if len(grammar.rules) > MAX_RULES:
        raise GrammarError(f"The grammar has more than {MAX_RULES:,} rules.", hint="Join some of them.")
    if grammar.root not in productive_rules(grammar, lambda _: True):
        raise GrammarError(
            "The grammar matches no text.",
            hint="Give each rule an alternative that does not need the rule itself.",
        )
    if any(isinstance(node, TokenMatch) for rule in grammar.rules.values() for node in tree.walk(rule.body)):
        raise GrammarError(
            "The grammar names tokens of a vocabulary, and a string has only characters.",
            hint="Write them as texts.",
        )
    body = grammar.rules[grammar.root].body
    pattern = "" if syntax == "lark" else lexeme(body.body if isinstance(body, tree.Terminal) else body)
    if refusal := service.refusal(f"start: {pattern}" if pattern else definition):
        raise GrammarError(f"llguidance rejects it: {shorten(one_line(refusal), _SHOWN_REASON)}")
    return grammar


def _read_lark(text: str) -> Grammar:
    from glyphscope.grammar.gbnf.cancellation import stoppable
    from glyphscope.grammar.gbnf.diagnostics import errors_in_words
    from glyphscope.grammar.lark_text.meaning import meaning_of
    from glyphscope.grammar.lark_text.parse.parser import read_lark

    until = thread_time() + SECONDS
    with stoppable(lambda: thread_time() > until):
        syntax = read_lark(text)
        problems = list(syntax.problems)
        meaning = None
        if not any(problem.severity == "error" for problem in problems):
            meaning = meaning_of(syntax)
            problems += meaning.problems
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors or meaning is None or meaning.grammar is None:
        raise GrammarError(errors_in_words(text, errors), hint="Correct it: llguidance rejects it.")
    return replace(meaning.grammar, lexer=None, lexed=False)


def _read_regex(text: str) -> Grammar:
    from glyphscope.grammar.regular.rust_regex import RegexProblem, rust_regex

    try:
        body = rust_regex(text)
    except RegexProblem as problem:
        line, column = Lines(text).place(problem.at)
        raise GrammarError(
            f"line {line}, column {column}: {problem}",
            hint="Write it in the syntax of Rust's regular expressions, without look-around.",
        ) from None
    return Grammar({_PATTERN: Rule(_PATTERN, tree.terminal(body))}, _PATTERN)


# relaxed rules


def with_relaxed(grammar: Grammar, names: Sequence[str], where: str) -> Grammar:
    """The grammar with any text in place of the texts of these rules, of at least one character unless the rule may be
    empty. The text after them is constrained as before. Raises GrammarError for an unknown rule, and for the first one.
    """
    return _with_relaxed(tree.ByIdentity(grammar), tuple(names), tree.CharClass(chars.ALL), where)


@lru_cache(maxsize=64)
def _with_relaxed(
    key: tree.ByIdentity[Grammar], names: tuple[str, ...], character: Node, where: str
) -> Grammar:
    grammar = key.value
    from glyphscope.grammar.match.nullability import nullable_rules

    empty = nullable_rules(grammar)
    rules = dict(grammar.rules)
    for name in names:
        if name == grammar.root:
            raise GrammarError(
                f"{name} is the first rule: without it, nothing is enforced.",
                where=where,
                hint="Continue without a constraint.",
            )
        if name not in rules:
            raise GrammarError(
                f"The grammar has no rule {name}.",
                where=where,
                hint=f"It has {and_more(relaxable_rules(grammar), _SHOWN) or 'only its first rule'}. "
                "A terminal inside of another one is a part of that one.",
            )
        anything = tree.repeat(character, 0 if name in empty else 1)
        # a value's own text is written with quotes, which "any text" lacks: the rule's texts stay possible
        written = isinstance(character, tree.CharClass)
        rules[name] = replace(rules[name], body=anything if written else tree.alt(rules[name].body, anything))
    return replace(grammar, rules=rules, lexer=None, lexed=False, lark=None)


def relaxable_rules(grammar: Grammar) -> list[str]:
    """The names of the rules that can be relaxed: all but the first, and what `%ignore` allows."""
    return [name for name in grammar.rules if name != grammar.root and not name.startswith("%")]


# one expression


def one_expression(grammar: Grammar) -> Node:
    """The grammar as one regular node. Raises GrammarError for a recursive one, and for one that is too large."""
    bodies: dict[str, Node] = {}
    sizes: dict[str, int] = {}
    for name in callees_first([grammar.root], lambda name: grammar.rules[name].refs):
        rule = grammar.rules[name]
        if missing := next((ref for ref in rule.refs if ref not in bodies), ""):
            raise GrammarError(
                f"The rule {missing} contains itself, which a regular expression cannot express.",
                where=name,
                hint="Convert to GBNF or Lark.",
            )
        sizes[name] = sum(sizes.get(getattr(node, "name", ""), 1) for node in tree.walk(rule.body))
        if sizes[name] > MAX_NODES:
            raise GrammarError("As one regular expression, the grammar is too large.", where=name)
        bodies[name] = tree.replace_refs(rule.body, bodies.__getitem__)
    return bodies[grammar.root]


# matching


class TextMatcher:
    """A text of a grammar, fed in pieces. Once it can be read in too many ways, every text counts as possible."""

    __slots__ = ("state",)

    def __init__(self, grammar: Grammar) -> None:
        self.state: State | None = _start(tree.ByIdentity(grammar))

    def feed(self, text: str) -> int:
        """The number of characters of `text` that are possible; the state is then the one after them."""
        from glyphscope.grammar.match.earley import MatchLimit

        if self.state is None:
            return len(text)
        try:
            after = self.state.feed(text)
            taken = len(text) if after.failed_at is None else after.failed_at - self.state.position
            self.state = after if taken == len(text) else self.state.feed(text[:taken])
        except MatchLimit:
            self.state, taken = None, len(text)
        return taken

    def can_grow(self) -> bool:
        """Whether any further character is possible."""
        return self.state is None or bool(self.state.next_chars())

    def matches(self) -> bool:
        """Whether the text may end here."""
        return self.state is None or self.state.accepted


@lru_cache(maxsize=32)
def _start(key: tree.ByIdentity[Grammar]) -> State:
    from glyphscope.grammar.match.earley import MatchLimits
    from glyphscope.grammar.match.report import Compiled

    return Compiled(key.value).start(MatchLimits())


def is_text(schema: Mapping[str, Any], text: str) -> bool:
    """Whether a text is one of the schema's custom grammar; also if that cannot be read."""
    try:
        grammar = text_grammar(schema)
    except GrammarError:
        return True
    matcher = None if grammar is None else TextMatcher(grammar)
    return matcher is None or (matcher.feed(text) == len(text) and matcher.matches())


def open_rules(state: State) -> list[str]:
    """The names of the open rules, innermost first, without what `%ignore` allows."""
    names: Iterable[str] = dict.fromkeys(rule.name for rule in reversed(state.active_rules()))
    return [name for name in names if not name.startswith("%")]


def rule_words(state: State) -> str:
    """`the rule term (in expr, in root)`."""
    inner, *outer = open_rules(state) or ["root"]
    around = ", ".join(f"in {name}" for name in outer[:MAX_OPEN])
    return f"the rule {inner}" + (f" ({around})" if around else "")
