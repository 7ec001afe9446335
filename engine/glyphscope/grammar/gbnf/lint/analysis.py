"""A document with what is known of its rules, for the checks: properties of each, and what follows for all of them."""

from __future__ import annotations

from functools import cached_property

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.fixpoint import Beginnings, beginnings, forward_chaining
from glyphscope.grammar.gbnf.lint.rule_properties import RuleProperties, properties_of
from glyphscope.grammar.gbnf.parse.syntax import GbnfDocument, GbnfRule
from glyphscope.grammar.traversal import reachable

ROOT = "root"


class Analysis:
    """The rules of a document and their properties. Of several with one name the last counts, as it does for llama.cpp.

    What needs all rules is decided when a check first asks for it, and once.
    """

    def __init__(self, document: GbnfDocument) -> None:
        self.document = document
        text = document.text
        self.definitions: list[tuple[GbnfRule, RuleProperties]] = [
            (rule, properties_of(rule, text)) for rule in document.rules
        ]
        self.rules: dict[str, GbnfRule] = {rule.name: rule for rule in document.rules}
        self.properties: dict[str, RuleProperties] = {rule.name: found for rule, found in self.definitions}

    @cached_property
    def reachable(self) -> set[str]:
        """The rules that `root` leads to, itself included; all of them if there is none."""
        if ROOT not in self.properties:
            return set(self.properties)
        return set(reachable([ROOT], self._callees))

    def _callees(self, name: str) -> list[str]:
        names = self.properties[name].names
        checkpoint(len(names))
        return [other for other in names if other in self.properties]

    @cached_property
    def productive(self) -> set[str]:
        """The rules that derive a finite text. An undefined one counts as one: it is reported as undefined."""
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
        """Those of which llama.cpp sees that they are nullable: an alternative has nothing in it."""
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
        """How each begins for llama.cpp's check of left recursion."""
        empty = self.directly_empty
        return {
            name: beginnings(properties, empty, as_llama=True) for name, properties in self.properties.items()
        }
