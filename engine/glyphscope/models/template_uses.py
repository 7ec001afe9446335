"""How a chat template uses the variables that only a user sets: found in its tree, without rendering it.

A name that the template sets before it reads it is the template's own, whatever Jinja's scopes say. A variable may be
given a default under its own name, or be used under another one (`{% set effort = reasoning_effort or "high" %}`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from jinja2 import nodes

GIVEN = frozenset({
    "messages", "tools", "functions", "xml_tools", "python_tools", "add_generation_prompt", "bos_token", "eos_token",
})  # fmt: skip
"""The variables that every prompt sets, or that are set from the tools."""
EFFORTS = ("reasoning_effort", "thinking_effort", "reasoning_strength")
"""The variables by which templates set how much a model reasons."""
VariableKind: TypeAlias = Literal["switch", "choice", "number", "text", "list", "object"]
_KNOWN: dict[str, VariableKind] = {"documents": "list", "builtin_tools": "list", "response_format": "object"}
_PASSING = frozenset({"default", "d", "lower", "upper", "trim", "string", "int", "float", "list"})
"""Filters whose result is still the variable's value."""
_METHODS = frozenset({*dir(dict), *dir(str)}) - {"title"}
"""Attributes that are methods, not keys."""
_ORDERS = frozenset({"lt", "lteq", "gt", "gteq"})


@dataclass
class Uses:
    """`values` are those that the template compares with, or uses instead of an absent one. `members` are keys of an
    object, or of the objects in a list; `holds` are the values that are looked for in it. `order` is a comparison of
    numbers; `keyed` is a look-up of a name that the template computes, `sized` one of the length.
    """

    values: list[Any] = field(default_factory=list)
    defaults: list[Any] = field(default_factory=list)
    members: set[str] = field(default_factory=set)
    holds: list[Any] = field(default_factory=list)
    truth: bool = False
    text: bool = False
    order: bool = False
    items: bool = False
    keyed: bool = False
    sized: bool = False

    def kind(self, name: str) -> VariableKind:
        """The type of its values; `choice` is one of some texts."""
        known = [value for value in (*self.values, *self.defaults) if value is not None]
        if name in _KNOWN or name.endswith("_tools"):
            return _KNOWN.get(name, "list")
        if name in EFFORTS:
            return "choice"
        if self.items or self.holds:
            return "list"
        if self.members or self.keyed:
            return "object"
        if texts(self.values):
            return "choice"
        if self.order or numbers(known):
            return "number"
        if self.sized and not self.text:
            return "list"
        is_text = self.text and not any(isinstance(value, bool) for value in known)
        return "text" if is_text or texts(known) else "switch"

    @property
    def known(self) -> list[Any]:
        """The values that the template compares with, and its default."""
        return [*self.values, *(value for value in self.defaults if value not in self.values)]

    def wrong(self, name: str, value: Any) -> str:
        """The type that the template uses instead of that of a value, in words; empty if it is the same."""
        kind, known = self.kind(name), texts(self.known)
        match kind:
            case "switch":
                counts = "true" if value else "false"
                return "" if isinstance(value, bool) else f"a switch, for which this counts as {counts}"
            case "number":
                return "" if numbers([value]) else "a number"
            case "list":
                return "" if isinstance(value, list) else "a list"
            case "object":
                return "" if isinstance(value, dict) else "an object"
        if not isinstance(value, str):
            return "a text"
        if kind == "choice" and texts(self.values) and value not in known and value.lower() not in known:
            return f"one of {', '.join(known)}" if len(known) > 1 else f"compared with {known[0]} only"
        return ""


def texts(values: Iterable[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str) and value]


def numbers(values: Iterable[Any]) -> list[int | float]:
    return [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def uses_of(tree: nodes.Template, known: Iterable[str]) -> dict[str, Uses]:
    """The variables in the order of their first use; `known` are the names of the environment's own functions."""
    reader = _Reader(frozenset(known))
    reader.read(tree)
    return reader.found


class _Reader:
    def __init__(self, known: frozenset[str]) -> None:
        self.found: dict[str, Uses] = {}
        self._known = known | GIVEN
        self._set: set[str] = set()
        self._local: list[frozenset[str]] = []
        self._from: dict[str, frozenset[str]] = {}
        """The variables whose value a name of the template may have."""

    def read(self, node: nodes.Node | None) -> None:
        """Read a part of the template, in the order of evaluation."""
        match node:
            case None:
                return
            case nodes.Name():
                self._sources(node)
                return
            case nodes.Assign():
                self._assign(node)
            case nodes.AssignBlock(target=nodes.Name(name=name)):
                self._all(node.body)
                self._set.add(name)
            case nodes.For():
                self._loop(node)
            case nodes.Macro() | nodes.CallBlock():
                self._set |= {node.name} if isinstance(node, nodes.Macro) else set()
                with self._scope(each.name for each in node.args):
                    self._all(node.defaults)
                    self._all(node.body)
            case nodes.If():
                self._truth(node.test)
                self._all([*node.body, *node.elif_, *node.else_])
            case nodes.CondExpr():
                self._truth(node.test)
                self._all([node.expr1, node.expr2])
            case nodes.And() | nodes.Or():
                self._truth(node.left)
                self.read(node.right)
            case nodes.Not():
                self._truth(node.node)
            case nodes.Test():
                self._test(node)
            case nodes.Compare():
                self._compare(node)
            case nodes.Call():
                called = node.node
                if not isinstance(called, nodes.Name):
                    self.read(called)
                self._all([*node.args, *(each.value for each in node.kwargs)])
            case nodes.Getattr() | nodes.Getitem():
                self._member(node)
            case nodes.Filter():
                self._filter(node)
            case nodes.Output():
                self._printed(node.nodes)
            case nodes.Concat():
                self._printed(node.nodes)
            case nodes.Add():
                self._printed([node.left, node.right])
            case _:
                self._all(node.iter_child_nodes())

    def _all(self, parts: Any) -> None:
        for part in parts:
            self.read(part)

    @contextmanager
    def _scope(self, names: Iterator[str]) -> Iterator[None]:
        self._local.append(frozenset(names))
        try:
            yield
        finally:
            self._local.pop()

    def _sources(self, node: nodes.Node | None) -> frozenset[str]:
        """The variables whose value an expression passes on; a variable that is read for the first time is found."""
        match node:
            case nodes.Name(name=name):
                if any(name in names for names in self._local):
                    return frozenset()
                if name in self._from:
                    return self._from[name]
                if name in self._set or name in self._known:
                    return frozenset()
                self.found.setdefault(name, Uses())
                self._from[name] = frozenset({name})
                return self._from[name]
            case nodes.Filter(name=name) if name in _PASSING:
                return self._sources(node.node)
            case nodes.CondExpr():
                return self._sources(node.expr1) | self._sources(node.expr2)
            case nodes.And() | nodes.Or():
                return self._sources(node.left) | self._sources(node.right)
        return frozenset()

    def _uses(self, node: nodes.Node | None) -> list[Uses]:
        return [self.found[name] for name in sorted(self._sources(node))]

    def _assign(self, node: nodes.Assign) -> None:
        self.read(node.node)
        if not isinstance(node.target, nodes.Name):
            return  # of a namespace
        name = node.target.name
        if any(name in names for names in self._local):
            return
        sources = self._sources(node.node)
        if name in self.found:  # its default
            sources |= {name}
            for value in _constants(node.node):
                _add(self.found[name].defaults, value)
        if isinstance(node.node, nodes.CondExpr):
            for branch in (node.node.expr1, node.node.expr2):
                for source in sources:
                    for value in _constants(branch):
                        _add(self.found[source].defaults, value)
        self._set.add(name)
        if sources:
            self._from[name] = self._from.get(name, frozenset()) | sources

    def _loop(self, node: nodes.For) -> None:
        self.read(node.iter)
        for uses in self._uses(node.iter):
            uses.items = True
        names = [node.target] if isinstance(node.target, nodes.Name) else node.target.find_all(nodes.Name)
        own = {name.name for name in names} | {"loop"}
        if isinstance(node.target, nodes.Name):
            members = set(_members(node, node.target.name))
            for uses in self._uses(node.iter):
                uses.members |= members
        with self._scope(iter(own)):
            self.read(node.test)
            self._all(node.body)
        self._all(node.else_)

    def _truth(self, node: nodes.Node | None) -> None:
        for uses in self._uses(node):
            uses.truth = True
        self.read(node)

    def _test(self, node: nodes.Test) -> None:
        for uses in self._uses(node.node):
            match node.name:
                case "true" | "false" | "boolean":
                    uses.truth = True
                case "string":
                    uses.text = True
                case "equalto" | "eq" | "==" | "sameas" if node.args:
                    for value in _constants(node.args[0]):
                        _add(uses.values, value)
        self.read(node.node)
        self._all(node.args or ())

    def _compare(self, node: nodes.Compare) -> None:
        sides = [node.expr, *(each.expr for each in node.ops)]
        for left, operand, right in zip(sides, node.ops, sides[1:]):
            inside = operand.op in ("in", "notin")
            for one, other in ((left, right), (right, left)):
                for uses in self._uses(one):
                    uses.order = uses.order or operand.op in _ORDERS
                    if inside and one is right:
                        for value in _constants(other):
                            _add(uses.holds, value)
                        uses.keyed = uses.keyed or isinstance(other, nodes.Name)
                        continue
                    for value in _constants(other):
                        _add(uses.values, value)
        self._all(sides)

    def _member(self, node: nodes.Getattr | nodes.Getitem) -> None:
        for uses in self._uses(node.node):
            if key := _key(node):
                uses.members.add(key)
        self.read(node.node)
        if isinstance(node, nodes.Getitem):
            self.read(node.arg)

    def _filter(self, node: nodes.Filter) -> None:
        for uses in self._uses(node.node):
            if node.name in ("default", "d") and node.args:
                for value in _constants(node.args[0]):
                    _add(uses.defaults, value)
            uses.order = uses.order or node.name in ("int", "float")
            uses.sized = uses.sized or node.name in ("length", "count")
            uses.items = uses.items or node.name in ("join", "reject", "select", "map", "list")
        self.read(node.node)
        self._all(node.args or ())

    def _printed(self, parts: Sequence[nodes.Node]) -> None:
        for part in parts:
            for uses in self._uses(part):
                uses.text = True
            self.read(part)


def _members(node: nodes.For, item: str) -> Iterator[str]:
    """The keys of the items that a loop reads."""
    read: list[nodes.Getattr | nodes.Getitem] = [*node.find_all(nodes.Getattr), *node.find_all(nodes.Getitem)]
    for part in read:
        if isinstance(part.node, nodes.Name) and part.node.name == item and (key := _key(part)):
            yield key


def _key(node: nodes.Getattr | nodes.Getitem) -> str:
    if isinstance(node, nodes.Getattr):
        return "" if node.attr in _METHODS else node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str) else ""


def _constants(node: nodes.Node | None) -> list[Any]:
    """The value of a constant, or the values in a list of constants; none of any other expression."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return [value for each in node.items for value in _constants(each)]
    if isinstance(node, nodes.Const):
        return [node.value]
    if isinstance(node, nodes.Neg) and isinstance(node.node, nodes.Const):
        return [-node.node.value]
    return []


def _add(values: list[Any], value: Any) -> None:
    """Append a value that is not among them; 1 is not true."""
    if not any(type(each) is type(value) and each == value for each in values):
        values.append(value)
