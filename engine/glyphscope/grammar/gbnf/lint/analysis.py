"""A document with what is known of its rules, for the checks: facts of each, and what follows from all of them."""

from __future__ import annotations

from functools import cached_property

from glyphscope.grammar.gbnf.cancellation import checkpoint
from glyphscope.grammar.gbnf.lint.fixpoint import Beginnings, beginnings, true_names
from glyphscope.grammar.gbnf.lint.rule_properties import Facts, facts_of
from glyphscope.grammar.gbnf.parse.syntax import GbnfDocument, GbnfRule
from glyphscope.grammar.traversal import reachable

ROOT = "root"


class Survey:
    """The rules of a document. Of several with one name the last counts, as it does for llama.cpp."""

    def __init__(self, document: GbnfDocument) -> None:
        self.document = document
        text = document.text
        self.all_facts: list[tuple[GbnfRule, Facts]] = [
            (rule, facts_of(rule, text)) for rule in document.rules
        ]
        self.rules: dict[str, GbnfRule] = {rule.name: rule for rule in document.rules}
        self.facts: dict[str, Facts] = {rule.name: facts for rule, facts in self.all_facts}

    @cached_property
    def reachable(self) -> set[str]:
        """The rules that `root` comes to, itself included; all of them if there is none."""
        if ROOT not in self.facts:
            return set(self.facts)
        return set(reachable([ROOT], self._callees))

    def _callees(self, name: str) -> list[str]:
        names = self.facts[name].names
        checkpoint(len(names))
        return [other for other in names if other in self.facts]

    @cached_property
    def productive(self) -> set[str]:
        """The rules that can come to an end. An undefined one can: it is reported as undefined, not as endless."""
        forms = {name: facts.productive for name, facts in self.facts.items()}
        undefined = {name for facts in self.facts.values() for name in facts.names if name not in self.facts}
        return true_names({**forms, **dict.fromkeys(undefined, True)})

    @cached_property
    def empty(self) -> set[str]:
        """The rules that can be the empty text."""
        return true_names({name: facts.nullable for name, facts in self.facts.items()})

    @cached_property
    def directly_empty(self) -> set[str]:
        """Those of which llama.cpp sees it: an alternative has nothing in it."""
        return {name for name, facts in self.facts.items() if facts.directly_empty}

    @cached_property
    def begins(self) -> dict[str, Beginnings]:
        """How each rule begins."""
        return {
            name: beginnings(facts, self.empty, seen_by_llama=False) for name, facts in self.facts.items()
        }

    @cached_property
    def begins_for_llama(self) -> dict[str, Beginnings]:
        """How each begins for llama.cpp's check of left recursion."""
        empty = self.directly_empty
        return {name: beginnings(facts, empty, seen_by_llama=True) for name, facts in self.facts.items()}
