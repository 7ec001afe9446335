"""The rules of several tools in one grammar, a choice of their names, and the grammar of a bare schema's values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.base.lines import common_length
from glyphscope.events import ArgumentOrder, Notation
from glyphscope.grammar.builder.context import MemberEntries, ToolContext
from glyphscope.grammar.builder.contradictions import cause
from glyphscope.grammar.builder.schema import Place, join
from glyphscope.grammar.builder.values import build_values
from glyphscope.grammar.notation_syntax import NotationSyntax, WhiteSpace, notation_syntax
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.time_limit import limited, note_made
from glyphscope.grammar.tree import EMPTY, Grammar, Node, Origin, RuleRef, Unenforced, alt, seq
from glyphscope.registry import Tool, ToolRegistry, normalise
from glyphscope.registry.check import check_schema
from glyphscope.registry.document import plain

MAX_LISTED = 5  # problems of a schema in one message
MAX_ALTERNATIVES = 100  # names in one choice; more become a tree of their letters
Part: TypeAlias = Literal["call", "name", "arguments"]
SCHEMA = "schema"
"""The tool's name in the origins and messages of a bare schema's grammar."""


class ToolRules:
    """The rules of tools in one grammar, with what is noted about them. `order` any: members may come in any order."""

    def __init__(self, book: RuleBook, order: ArgumentOrder, *, closed: bool = True) -> None:
        """`closed`: a key that a schema neither names nor allows is an error."""
        self.book, self._order, self._closed = book, order, closed
        self._made: list[tuple[str, ToolContext]] = []
        self._unlexed: dict[str, None] = {}
        self._lark: tuple[str, str] | None = None

    def add(
        self,
        hint: str,
        tool: Tool,
        syntax: NotationSyntax,
        body: Callable[[ToolContext], Node],
        entries: MemberEntries | None = None,
    ) -> RuleRef:
        """A rule with the tool's values in it, which `body` refers to; `entries` writes its arguments."""
        name = self.book.reserve(hint)
        context = ToolContext(
            self.book, syntax, tool.name, tool.parameters, closed=self._closed, order=self._order, entries=entries
        )  # fmt: skip
        self.book.add(name, body(context), Origin(tool.name, ""))
        build_values(context, name)
        self._made.append((name, context))
        if context.unlexed:
            self._unlexed |= dict.fromkeys((name,) if entries is None else self._outermost(context))
        return RuleRef(name)

    def include(self, grammar: Grammar) -> RuleRef:
        """The rules of a grammar of anything but a schema, under their names if these are free."""
        root = self.book.include(grammar)
        if grammar.lark is not None:
            self._lark = root, grammar.lark[1]
        if not grammar.lexed:
            self._unlexed[root] = None
        return RuleRef(root)

    def grammar(self, root: str) -> Grammar:
        """The rules that the root needs, and the notes. A tool of which no call can be valid is left out, with a note.

        Raises GrammarError if there is no other tool.
        """
        contexts = [context for _, context in self._made]
        made = self.book.grammar(
            root,
            tuple(dict.fromkeys(each for context in contexts for each in context.unenforced)),
            lexed=all(context.lexed for context in contexts),
            unlexed=tuple(self._unlexed),
            ordered=tuple(dict.fromkeys(each for context in contexts for each in context.ordered)),
        )
        made = replace(made, lark=self._lark) if self._lark else made
        impossible = [(rule, context) for rule, context in self._made if rule not in made.rules]
        if impossible and len(impossible) == len(self._made):
            raise _impossible(*impossible[0])
        left_out = dict.fromkeys(_left_out(rule, context) for rule, context in impossible)
        return replace(made, unenforced=(*left_out, *made.unenforced)) if left_out else made

    def _outermost(self, context: ToolContext) -> list[str]:
        """The rules to be partitioned that are not reachable from another one of them."""
        inner: set[str] = set()
        for start in context.unlexed_in:
            waiting, seen = list(self.book.rules[start].refs), set()
            while waiting:
                name = waiting.pop()
                if name not in seen:
                    seen.add(name)
                    waiting += self.book.rules[name].refs
            inner |= seen - {start}
        return [name for name in context.unlexed_in if name not in inner]


def build_value_grammar(
    schema: Any,
    notation: Notation,
    *,
    white_space: WhiteSpace = "none",
    order: ArgumentOrder = "schema",
    alone: bool = True,
) -> Grammar:
    """The grammar of a JSON Schema of any draft, in that notation; `white_space` applies to JSON, and without `alone`
    not to the text around the value.

    Raises GrammarError, with the JSON Pointer, if no value can exist or the schema is invalid.
    """
    with limited():
        rules = ToolRules(RuleBook(), order, closed=False)
        syntax, tool = notation_syntax(notation, white_space), schema_tool(schema)
        if not alone:
            syntax = replace(syntax, margin=EMPTY)
        return note_made(rules.grammar(rules.add("value", tool, syntax, whole_value).name))


def whole_value(context: ToolContext) -> Node:
    """A value of the tool's schema, with the white space that may be around it."""
    margin = context.syntax.margin
    hint = SCHEMA if context.schema.tool == SCHEMA else f"{context.schema.tool}-args"
    return seq(margin, context.ref((Place(""),), "value", hint), margin)


def schema_tool(schema: Any) -> Tool:
    """The schema as the parameters of a tool. Raises GrammarError for an invalid one."""
    schema, problems = plain(schema)
    if problems:
        raise GrammarError(problems[0].message, where=f"{SCHEMA}: {problems[0].pointer}")
    faults = check_schema(schema)
    if faults:
        reasons = "; ".join(reason.rstrip(".") for _, reason in faults[:MAX_LISTED])
        pointer = join("", *(str(step) for step in faults[0][0]))
        raise GrammarError(
            f"Invalid JSON Schema: {reasons}.", where=f"{SCHEMA}: {pointer}", hint="Correct the schema."
        )
    normal = normalise(schema)
    if normal is True:
        normal = {}
    if not isinstance(normal, dict):
        raise GrammarError(
            "No value satisfies this schema.", where=SCHEMA, hint="A schema is an object, or true."
        )
    return Tool(SCHEMA, "", normal)


def chosen_tools(registry: ToolRegistry, name: str | None = None, part: Part = "call") -> list[Tool]:
    """The allowed tools of a registry, or the one with that name. Raises GrammarError if there are none, or too many
    for that part of a call.
    """
    tools = list(registry.allowed)
    if not tools:
        what, hint = ("No tool is allowed", "Allow at least one tool.")
        if not registry:
            what, hint = ("There is no tool", "Add at least one tool.")
        raise GrammarError(f"{what}, so there is no call to write.", hint=hint)
    if name is not None:
        named = ", ".join(tool.name for tool in tools[:20])
        tools = [tool for tool in tools if tool.name == name]
        if not tools:
            raise GrammarError(
                f"The tool {name!r} is not allowed.", where="tool", hint=f"These are: {named}."
            )
    if part == "arguments" and len(tools) > 1:
        raise GrammarError(
            "Arguments are those of one tool, and several are allowed.", where="tool", hint="Name the tool."
        )
    return tools


def choice_of(book: RuleBook, names: list[tuple[str, Node]]) -> Node:
    """One of the names with the node that follows it. Many names become a tree of letters.

    llguidance accepts at most 2,000 alternatives at one point of a text, and each one costs time there.
    """
    if len(names) <= MAX_ALTERNATIVES:
        return alt(*(seq(name, following) for name, following in names))
    start = _common_start(names)
    groups: dict[str, list[tuple[str, Node]]] = {}
    for name, following in names:
        groups.setdefault(name[len(start)], []).append((name[len(start) :], following))
    return seq(start, alt(*(book.inner("name", choice_of(book, group)) for group in groups.values())))


def _common_start(names: list[tuple[str, Node]]) -> str:
    """The common prefix of all names; each one continues after it, because none ends with another's quote."""
    first, last = min(name for name, _ in names), max(name for name, _ in names)
    return first[: min(common_length(first, last), len(first) - 1)]


def _left_out(rule: str, context: ToolContext) -> Unenforced:
    """A tool that cannot be called, and so is not among the tools of the grammar."""
    pointer, why = cause(context, rule)
    return Unenforced(
        context.schema.tool, pointer, "", f"no call of this tool can be valid, so it is left out: {why}"
    )


def _impossible(rule: str, context: ToolContext) -> GrammarError:
    """The error for a tool or schema without any text, with the place that causes it."""
    pointer, why = cause(context, rule)
    of_tool = context.schema.tool != SCHEMA
    return GrammarError(
        f"{'No call of this tool' if of_tool else 'No value'} can be valid: {why}.",
        where=f"{context.schema.tool}: {pointer or ('parameters' if of_tool else 'the whole')}",
        hint="Correct the schema, or take the tool off the allow list." if of_tool else "Correct the schema.",
    )
