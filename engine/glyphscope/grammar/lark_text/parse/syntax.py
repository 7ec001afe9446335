"""The syntax tree of a Lark text: rules with attributes and parameters, imports, options; places are code points."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from glyphscope.grammar.gbnf.parse import syntax


class ParameterReference(syntax.Reference, frozen=True, gc=False, eq=False):
    """`name::incr(_)`: a rule with a parameter, which `value` computes from this rule's; None: constant."""

    value: Callable[[int], int]
    is_constant: bool


class LarkOption(syntax.Sequence, frozen=True, gc=False, eq=False):
    """An alternative with `%if`: possible if `holds` for the rule's parameter."""

    holds: Callable[[int], bool]


class Attributes(msgspec.Struct, frozen=True):
    """The attributes of a rule, in brackets after its name; `stop` and `suffix` are items, `lazy` an empty suffix."""

    stop: syntax.Item | None = None
    suffix: syntax.Item | None = None
    lazy: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    capture: str | None = None
    stop_capture: str | None = None


class LarkRule(syntax.RuleSyntax, frozen=True, gc=False, eq=False):
    """`name[attributes]: body`. `is_terminal`: one lexeme. `unsupported`: a place of a priority or of parameters."""

    is_terminal: bool = False
    is_parametric: bool = False
    attributes: Attributes = Attributes()
    unsupported: tuple[int, int, str] | None = None


class Import(syntax.Syntax, frozen=True, gc=False, eq=False):
    """`%import common.INT -> NAME`: the path, and the name that the terminal has here."""

    path: str
    name: str


class LarkSyntax(syntax.GrammarSyntax, frozen=True, eq=False):
    """A Lark text, read to its end or until there were too many problems."""

    rules: tuple[LarkRule, ...]
    ignored: tuple[syntax.Alternatives, ...] = ()
    """The body of each `%ignore`."""
    imports: tuple[Import, ...] = ()
    options: tuple[syntax.Embedded, ...] = ()
    """The JSON of each `%llguidance`."""
    is_pattern: bool = False
    """The text is a regular expression, without rules."""
