"""Custom grammars in a schema: GBNF under `x-grammar`, which replaces all other constraints on the value.

It is one expression, or rules with a `root`, for the text of the value in either notation, including its quotes. The
validator decides whether that text is a valid value.
"""

from __future__ import annotations

from glyphscope.errors import GrammarError
from glyphscope.grammar.builder.context import Form, ToolContext
from glyphscope.grammar.builder.schema import Part, Parts, join
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.lark.lexeme_partition import as_lexeme
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.tree import Grammar, Node, Origin, RuleRef, replace_refs, terminal

CUSTOM = "x-grammar"
_MAX_STATES = 2_000  # of a custom grammar that becomes one lexeme
_NO_CONSTRAINT = frozenset(
    ("title", "description", "default", "examples", "$comment", "$defs", "definitions", "$schema", "$id", "$ref",
     "$anchor", "allOf", "deprecated", "readOnly", "writeOnly", CUSTOM)
)  # fmt: skip


def custom_node(context: ToolContext, name: str, part: Part, parts: Parts, form: Form) -> Node:
    """A value written by its custom grammar. Raises GrammarError, with the place in the schema, if it has problems."""
    where = f"{context.schema.tool}: {join(part.place.pointer, CUSTOM)}"
    if form in ("members", "arguments"):
        raise GrammarError(
            "The arguments as a whole cannot have a custom grammar in a shape with the tool's name among them.",
            where=where,
            hint="Use the shape tool-args or name-arguments.",
        )
    for other in parts:
        for keyword in other.schema:
            if keyword not in _NO_CONSTRAINT:
                context.note_unenforced(other, keyword, "the value's own grammar replaces it")
    grammar = read_custom(part.schema[CUSTOM], where)
    piece = as_lexeme(grammar)
    if piece is not None and not any(p.place.taken for p in parts) and _closes_itself(piece):
        return terminal(piece)
    context.lexed = False  # its lexemes may be in conflict and must be partitioned
    return _imported(context, name, grammar)


def read_custom(text: object, where: str) -> Grammar:
    """The grammar of an `x-grammar`. Raises GrammarError with its problems and their places."""
    if not isinstance(text, str):
        raise GrammarError(f"{CUSTOM} is a text, not {type(text).__name__}.", where=where)
    before = "" if "::=" in text else "root ::= "
    return load_gbnf(before + text, where=where, before=len(before))


def _closes_itself(piece: Node) -> bool:
    """Whether none of its texts is a prefix of another one: then it never conflicts with the text that follows."""
    automaton = Automaton.of(piece)
    for number, state in enumerate(automaton.states()):
        if number == _MAX_STATES or (state.final and automaton.moves(state)):
            return False
    return True


def _imported(context: ToolContext, name: str, grammar: Grammar) -> Node:
    names = {rule: context.book.reserve(f"{name}-{rule}") for rule in grammar.rules}
    origin: Origin | None = context.origins.get(name)
    for rule in grammar.rules.values():
        body = replace_refs(rule.body, lambda inner: RuleRef(names[inner]))
        context.book.add(names[rule.name], body, origin)
    return RuleRef(names[grammar.root])
