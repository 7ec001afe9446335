"""The grammar of calls and values: for every allowed tool, its name, then its arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias
from typing import Literal as TypingLiteral

from glyphscope.errors import GrammarError
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.grammar.builder.context import ToolContext
from glyphscope.grammar.builder.contradictions import cause
from glyphscope.grammar.builder.schema import Place, join
from glyphscope.grammar.builder.turn import call_opening, next_call, up_to, words_only, words_to_call
from glyphscope.grammar.builder.values import build_values
from glyphscope.grammar.notation_syntax import NotationSyntax, WhiteSpace, notation_syntax
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.time_limit import limited, note_made
from glyphscope.grammar.tree import Grammar, Literal, Node, Origin, RuleRef, Unenforced, alt, repeat, seq
from glyphscope.notation.shapes import fitting_shape, shape_keys
from glyphscope.registry import Tool, ToolRegistry, normalise
from glyphscope.registry.check import check_schema
from glyphscope.registry.document import plain
from glyphscope.text.lines import common_length

MAX_LISTED = 5  # problems of a schema in one message
MAX_ALTERNATIVES = 100  # names in one choice; more become a tree of their letters
SCHEMA = "schema"
"""The tool's name in the origins and messages of a bare schema's grammar."""

Part: TypeAlias = TypingLiteral["call", "name", "arguments"]


@dataclass(frozen=True)
class GrammarOptions:
    """The part of a call that a grammar describes, and the variations that it allows.

    `white_space` applies to JSON; without it, more of a call is forced, so the model decides fewer tokens.
    `part`: the whole call, the tool's name as a value, or the arguments of one tool as a value. `tool`: the only
    allowed tool. `free_text`: any text may precede the call (`turn.py`).
    `order` any: arguments, and the members of objects in them, may come in any order; the members of the call itself
    may not, because its arguments depend on its name.
    `most_calls`: the maximum number of consecutive calls, None for any number. With `words`, a text without a call is
    also accepted, and so is text before the first call (`turn.py`), as in a conversation.
    """

    white_space: WhiteSpace = "none"
    part: Part = "call"
    tool: str | None = None
    free_text: bool = False
    most_calls: int | None = 1
    words: bool = False
    order: ArgumentOrder = "schema"


DEFAULT_OPTIONS = GrammarOptions()


class _ByDigest:
    """A registry as the key of a cache: equal registries have equal digests."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.registry = registry

    def __hash__(self) -> int:
        return hash(self.registry.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByDigest) and other.registry.digest == self.registry.digest


def build_call_grammar(
    registry: ToolRegistry, notation: Notation, shape: Shape, options: GrammarOptions = DEFAULT_OPTIONS
) -> Grammar:
    """The grammar of calls of the registry's allowed tools in that notation and shape (or the `fitting_shape`), or of
    the requested part.

    The validator accepts all of its texts, except for the constraints in `unenforced`. A tool that
    cannot be called at all is left out, and listed there; raises GrammarError, with tool and JSON Pointer, if no tool
    can be called. The last few grammars are cached.
    """
    with limited():
        fitting = fitting_shape(registry, shape)
        return note_made(_build(_ByDigest(registry), notation, fitting, options))


def build_value_grammar(
    schema: Any, notation: Notation, options: GrammarOptions = DEFAULT_OPTIONS
) -> Grammar:
    """The grammar of a JSON Schema of any draft, in that notation; the only options used are `white_space` and `order`.

    Raises GrammarError, with the JSON Pointer, if no value can exist or the schema is invalid.
    """
    with limited():
        return note_made(_value_grammar(schema, notation, options))


def _value_grammar(schema: Any, notation: Notation, options: GrammarOptions) -> Grammar:
    schema, problems = plain(schema)
    if problems:
        raise GrammarError(problems[0].message, where=f"{SCHEMA}: {problems[0].pointer}")
    faults = check_schema(schema)
    if faults:
        reasons = "; ".join(reason.rstrip(".") for _, reason in faults[:MAX_LISTED])
        pointer = join("", *(str(step) for step in faults[0][0]))
        raise GrammarError(f"Invalid JSON Schema: {reasons}.", where=f"{SCHEMA}: {pointer}")
    normal = normalise(schema)
    if normal is True:
        normal = {}
    if not isinstance(normal, dict):
        raise GrammarError(
            "No value satisfies this schema.", where=SCHEMA, hint="A schema is an object, or true."
        )
    book = RuleBook()
    root = book.reserve("value")
    syntax = notation_syntax(notation, options.white_space)
    context = ToolContext(book, syntax, SCHEMA, normal, closed=False, order=options.order)
    margin = context.syntax.margin
    book.add(root, seq(margin, context.ref((Place(""),), "value", SCHEMA), margin), Origin(SCHEMA, ""))
    build_values(context)
    unlexed = (root,) if context.unlexed else ()
    unenforced, ordered = tuple(context.unenforced), tuple(context.ordered)
    grammar = book.grammar(root, unenforced, lexed=context.lexed, unlexed=unlexed, ordered=ordered)
    if root not in grammar.rules:
        raise impossible(context, root, "No value can be valid")
    return grammar


@lru_cache(maxsize=8)
def _build(key: _ByDigest, notation: Notation, shape: Shape, options: GrammarOptions) -> Grammar:
    tools = chosen_tools(key.registry, options)
    syntax = notation_syntax(notation, options.white_space)
    book = RuleBook()
    root = book.reserve("call" if options.part == "call" else options.part)
    if options.part == "name":
        book.add(root, choice_of(book, [(_name_text(syntax, tool.name), seq()) for tool in tools]))
        return book.grammar(root, ())
    names: list[tuple[str, Node]] = []
    unenforced: dict[Unenforced, None] = {}
    contexts: list[tuple[str, ToolContext]] = []  # by the rule of the tool's call
    for tool in tools:
        context = ToolContext(book, syntax, tool.name, tool.parameters, order=options.order)
        rule = book.reserve(f"call-{tool.name}")
        if options.part == "arguments":
            arguments = context.ref((Place(""),), "value", f"{tool.name}-args")
            body = seq(syntax.margin, arguments, syntax.margin)
        else:
            body = _after_name(context, tool, shape)
        book.add(rule, body, Origin(tool.name, ""))
        build_values(context)
        contexts.append((rule, context))
        unenforced.update(context.unenforced)
        names.append((_name_text(syntax, tool.name), RuleRef(rule)))
    if options.part == "arguments":
        book.add(root, names[0][1])
    else:
        call = choice_of(book, names)
        book.add(root, _whole(book, call, syntax, shape, options))
    lexed = all(context.lexed for _, context in contexts)
    unlexed = tuple(rule for rule, context in contexts if context.unlexed)
    ordered = tuple(dict.fromkeys(one for _, context in contexts for one in context.ordered))
    grammar = book.grammar(root, tuple(unenforced), lexed=lexed, unlexed=unlexed, ordered=ordered)
    return without_impossible(grammar, contexts)


def without_impossible(grammar: Grammar, contexts: list[tuple[str, ToolContext]]) -> Grammar:
    """The grammar with a note for each tool that it lacks, as no call of it can be valid; `contexts` by their rules.

    Raises GrammarError if there is no other tool.
    """
    impossible_ones = [(rule, context) for rule, context in contexts if rule not in grammar.rules]
    if not impossible_ones:
        return grammar
    if len(impossible_ones) == len(contexts):
        rule, context = impossible_ones[0]
        raise impossible(context, rule, "No call of this tool can be valid")
    left_out = dict.fromkeys(_left_out(context, rule) for rule, context in impossible_ones)
    return replace(grammar, unenforced=(*left_out, *grammar.unenforced))


def _left_out(context: ToolContext, root: str) -> Unenforced:
    """A tool that cannot be called, and so is not among the tools of the grammar."""
    pointer, why = cause(context, root)
    return Unenforced(
        context.schema.tool, pointer, "", f"no call of this tool can be valid, so it is left out: {why}"
    )


def chosen_tools(registry: ToolRegistry, options: GrammarOptions) -> list[Tool]:
    """The tools of a registry that the options select. Raises GrammarError if there are none, or too many."""
    tools = list(registry.allowed)
    if not tools:
        raise GrammarError(
            "No tool is allowed, so there is no call to write.", hint="Allow at least one tool."
        )
    if options.tool is not None:
        named = ", ".join(tool.name for tool in tools[:20])
        tools = [tool for tool in tools if tool.name == options.tool]
        if not tools:
            raise GrammarError(
                f"The tool {options.tool!r} is not allowed.", where="tool", hint=f"These are: {named}."
            )
    if options.part == "arguments" and len(tools) > 1:
        raise GrammarError(
            "Arguments are those of one tool, and several are allowed.", where="tool", hint="Name the tool."
        )
    return tools


def _opening(syntax: NotationSyntax, shape: Shape, options: GrammarOptions) -> tuple[Node, ...]:
    """The nodes before the tool's name."""
    begins_in_one_way = syntax.notation != "json" or options.white_space == "none"
    if not begins_in_one_way and (options.words or options.free_text or options.most_calls != 1):
        raise GrammarError(
            "Text and several calls need calls that begin in one way only.",
            hint="Build the grammar without white space.",
        )
    if options.words:
        return (words_to_call(syntax.notation, shape),)
    if not options.free_text:
        return syntax.margin, syntax.open_object, syntax.key(shape_keys(shape).name_key)
    return (up_to(call_opening(syntax.notation, shape)),)


def _whole(book: RuleBook, call: Node, syntax: NotationSyntax, shape: Shape, options: GrammarOptions) -> Node:
    """The call with preceding text, further calls, and text without a call as an alternative."""
    opening = _opening(syntax, shape, options)
    if options.most_calls == 1 and not options.words:
        return seq(*opening, call, syntax.margin)
    named = book.inner("named-call", call)
    most = None if options.most_calls is None else options.most_calls - 1
    calls = seq(*opening, named, repeat(seq(next_call(syntax.notation, shape), named), 0, most))
    return alt(calls, words_only(syntax.notation, shape)) if options.words else calls


def _after_name(context: ToolContext, tool: Tool, shape: Shape) -> Node:
    """The part after the tool's name: its arguments, and the call's last brace."""
    syntax, root = context.syntax, (Place(""),)
    args_key = shape_keys(shape).args_key
    if args_key is not None:
        arguments = context.ref(root, "value", f"{tool.name}-{args_key}")
        return seq(syntax.separator, syntax.key(args_key), arguments, syntax.close_object)
    return seq(context.ref(root, "members", f"{tool.name}-args"), syntax.close_object)


def _name_text(syntax: NotationSyntax, name: str) -> str:
    """A tool's name as written in the notation."""
    node = syntax.constant(name)
    if not isinstance(node, Literal):
        raise GrammarError("The tool's name cannot be written.", where=repr(name))
    return node.text


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


def impossible(context: ToolContext, root: str, what: str) -> GrammarError:
    """The error for a tool or schema without any text, with the place that causes it."""
    pointer, why = cause(context, root)
    of_tool = context.schema.tool != SCHEMA
    return GrammarError(
        f"{what}: {why}.",
        where=f"{context.schema.tool}: {pointer or ('parameters' if of_tool else 'the whole')}",
        hint="Correct the schema, or take the tool off the allow list." if of_tool else "Correct the schema.",
    )
