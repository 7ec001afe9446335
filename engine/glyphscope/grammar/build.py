"""The grammar of whole calls: every allowed tool, its name first, then its arguments in the schema's order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from glyphscope.errors import GrammarError
from glyphscope.events import Notation, Shape
from glyphscope.grammar.context import ToolContext
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.schema import Place, join
from glyphscope.grammar.surface import Surface, surface
from glyphscope.grammar.tree import Grammar, Literal, Node, Origin, RuleRef, Unheld, alt, seq
from glyphscope.grammar.values import build_values
from glyphscope.notation import shape_keys
from glyphscope.registry import Tool, ToolRegistry

MAX_ALTERNATIVES = 100  # names offered side by side; more are reached by way of their first letters


@dataclass(frozen=True)
class GrammarOptions:
    """`json_spaces` allows a space after each colon and comma of JSON.

    Without it more of a call is forced, so fewer tokens are decided by the model.
    """

    json_spaces: bool = False


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
    """The calls of the registry's allowed tools in that notation and shape.

    Every text of it is a call that the validator accepts, but for the constraints named in `unheld`.
    Raises GrammarError, with tool and JSON Pointer, where a tool cannot be called at all. The last few are kept.
    """
    return _build(_ByDigest(registry), notation, shape, options)


@lru_cache(maxsize=8)
def _build(key: _ByDigest, notation: Notation, shape: Shape, options: GrammarOptions) -> Grammar:
    tools = key.registry.allowed
    if not tools:
        raise GrammarError(
            "No tool is allowed, so there is no call to write.", hint="Allow at least one tool."
        )
    book = RuleBook()
    root = book.reserve("call")
    spelling = surface(notation, json_spaces=options.json_spaces)
    name_key, _ = shape_keys(shape)
    names: list[tuple[str, Node]] = []
    unheld: dict[Unheld, None] = {}
    made: list[tuple[str, ToolContext]] = []
    for tool in tools:
        context = ToolContext(book, spelling, tool.name, tool.parameters)
        rule = book.reserve(f"call-{tool.name}")
        book.add(rule, _after_name(context, tool, shape), Origin(tool.name, ""))
        build_values(context)
        made.append((rule, context))
        unheld.update(context.unheld)
        names.append((_written(spelling, tool.name), RuleRef(rule)))
    book.add(root, seq("{", spelling.key(name_key), _choice(book, names)))
    grammar = book.grammar(root, tuple(unheld))
    for rule, context in made:
        if rule not in grammar.rules:
            raise _impossible(context)
    return grammar


def _after_name(context: ToolContext, tool: Tool, shape: Shape) -> Node:
    """What follows the tool's name: its arguments, and the call's last brace."""
    spelling, root = context.surface, (Place(""),)
    name_key, args_key = shape_keys(shape)
    if args_key is not None:
        arguments = context.ref(root, "value", f"{tool.name}-{args_key}")
        return seq(spelling.separator, spelling.key(args_key), arguments, "}")
    if name_key in tool.parameters.get("properties", {}):
        raise GrammarError(
            f"The argument {name_key!r} has the key under which the flat shape writes the tool's name.",
            where=f"{tool.name}: {join('/properties', name_key)}",
            hint="Use the shape tool-args or name-arguments, or rename the argument.",
        )
    return seq(context.ref(root, "members", f"{tool.name}-args"), "}")


def _written(spelling: Surface, name: str) -> str:
    node = spelling.constant(name)
    if not isinstance(node, Literal):
        raise GrammarError("The tool's name cannot be written.", where=repr(name))
    return node.text


def _choice(book: RuleBook, names: list[tuple[str, Node]]) -> Node:
    """One of the names with what follows it. Many names become a tree of letters.

    llguidance takes at most 2,000 alternatives at one point of a text, and each one costs time there.
    """
    if len(names) <= MAX_ALTERNATIVES:
        return alt(*(seq(name, following) for name, following in names))
    start = _common_start(names)
    groups: dict[str, list[tuple[str, Node]]] = {}
    for name, following in names:
        groups.setdefault(name[len(start)], []).append((name[len(start) :], following))
    return seq(start, alt(*(book.inner("name", _choice(book, group)) for group in groups.values())))


def _common_start(names: list[tuple[str, Node]]) -> str:
    """What all the names begin with; each one goes on after it, because none ends with another's quote."""
    first, last = min(name for name, _ in names), max(name for name, _ in names)
    size = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first) - 1)
    return first[:size]


def _impossible(context: ToolContext) -> GrammarError:
    endless = ("", "a value would have to contain itself without end")
    pointer, why = context.impossible[0] if context.impossible else endless
    return GrammarError(
        f"No call of this tool can be valid: {why}.",
        where=f"{context.schema.tool}: {pointer or 'parameters'}",
        hint="Correct its schema, or take the tool off the allow list.",
    )
