"""The presenter of the rules of a run: which rule of the grammar read each token, and why others were masked."""

from __future__ import annotations

from PySide6.QtCore import QObject

from glyphscope_gui.context import AppContext, RulePlace
from glyphscope_gui.playground.evidence_dock import EvidenceDock
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.runs.token_rules import TokenRule
from glyphscope_gui.shared.page_ids import PageId


class RulesPresenter(QObject):
    def __init__(self, context: AppContext, view: RunPage, evidence: EvidenceDock) -> None:
        super().__init__(view)
        self._context = context
        self._view = view
        self._evidence = evidence
        self._rules = rules = context.rules
        rules.began.connect(view.tokens.show_rules)
        rules.found.connect(self._show_rules)
        rules.refused.connect(evidence.show_refusal)
        view.tokens.ruleChosen.connect(self.show_rule)
        evidence.rule_line.chosen.connect(self.show_rule)

    def show_rule(self, name: str) -> None:
        """Go to a rule on the grammar page."""
        self._context.navigator.show(PageId.GRAMMAR, RulePlace(name, self._rules.grammar))

    def show_token(self, index: int | None) -> None:
        """Show the rule of that token, and request the reasons of its masked alternatives."""
        self._evidence.rule_line.show_rule(None if index is None else self._view.tokens_model.rule(index))
        self._rules.ask(index)

    def _show_rules(self, first: int, rules: list[TokenRule]) -> None:
        self._view.tokens_model.set_rules(first, rules)
        row = self._view.tokens.currentIndex().row()
        if first <= row < first + len(rules):
            self._evidence.rule_line.show_rule(rules[row - first])
