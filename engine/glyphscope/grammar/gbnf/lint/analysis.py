"""A document with the properties of its rules, for the checks: of each rule alone, and those that depend on others."""

from __future__ import annotations

from functools import cached_property

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.fixpoint import Beginnings, beginnings, forward_chaining
from glyphscope.grammar.gbnf.lint.rule_properties import RuleProperties, properties_of
from glyphscope.grammar.gbnf.parse.syntax import GrammarSyntax, RuleSyntax
from glyphscope.grammar.traversal import reachable

ROOT = "root"


class Analysis:
    """The rules of a document and their properties. As in llama.cpp, the last of several rules with one name counts.

    Properties that need all rules are computed when a check first asks for them.
    """

    def __init__(self, document: GrammarSyntax) -> None:
        self.document = document
        text = document.text
        self.definitions: list[tuple[RuleSyntax, RuleProperties]] = [
            (rule, properties_of(rule, text)) for rule in document.rules
        ]
        self.rules: dict[str, RuleSyntax] = {rule.name: rule for rule in document.rules}
        self.properties: dict[str, RuleProperties] = {rule.name: found for rule, found in self.definitions}

    @cached_property
    def used(self) -> set[str]:
        """The names that occur in the body of another rule."""
        return {name for rule, found in self.definitions for name in found.names if name != rule.name}

    @cached_property
    def reachable(self) -> set[str]:
        """The rules reachable from `root`, including itself; all rules if there is no `root`."""
        if ROOT not in self.properties:
            return set(self.properties)
        return set(reachable([ROOT], self._callees))

    def _callees(self, name: str) -> list[str]:
        names = self.properties[name].names
        checkpoint(len(names))
        return [other for other in names if other in self.properties]

    @cached_property
    def productive(self) -> set[str]:
        """The rules that derive a finite text, including undefined rules, which are reported as undefined."""
        conditions = {name: properties.productive for name, properties in self.properties.items()}
        named = {name for properties in self.properties.values() for name in properties.names}
        undefined = named.difference(self.properties)
        return forward_chaining({**conditions, **dict.fromkeys(undefined, True)})

    @cached_property
    def nullable(self) -> set[str]:
        """The rules that derive the empty text."""
        return forward_chaining({name: properties.nullable for name, properties in self.properties.items()})

    @cached_property
    def directly_empty(self) -> set[str]:
        """The rules that llama.cpp detects as nullable: one of their alternatives is empty."""
        return {name for name, properties in self.properties.items() if properties.directly_empty}

    @cached_property
    def begins(self) -> dict[str, Beginnings]:
        """How each rule begins."""
        return {
            name: beginnings(properties, self.nullable, as_llama=False)
            for name, properties in self.properties.items()
        }

    @cached_property
    def begins_for_llama(self) -> dict[str, Beginnings]:
        """How each rule begins for llama.cpp's check of left recursion."""
        empty = self.directly_empty
        return {
            name: beginnings(properties, empty, as_llama=True) for name, properties in self.properties.items()
        }
