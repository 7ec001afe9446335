"""The presenter of the shown run's rules on the grammar page: going to one of them, and the cost of each."""

from __future__ import annotations

from PySide6.QtCore import QObject

from glyphscope_gui.context import AppContext
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.work import Checked
from glyphscope_gui.grammar.workbench import GrammarBench
from glyphscope_gui.shared.language import tr


class RunRulesPresenter(QObject):
    """Shows the costs as the run is measured; goes to a rule when its text is loaded."""

    def __init__(self, context: AppContext, view: GrammarPage, bench: GrammarBench) -> None:
        super().__init__(view)
        self._view = view
        self._bench = bench
        self._document = context.project.grammar
        self._rule = ""
        """The rule to go to once the page's text is checked; empty for none."""
        self._run_grammar: str | None = None
        """The custom text with which that rule's run was made."""
        bench.checked.connect(self._go)
        view.costs.ruleChosen.connect(lambda rule: self.show_rule(rule, context.rules.grammar))
        context.rules.priced.connect(view.costs.show_costs)

    def show_rule(self, name: str, grammar: str | None) -> None:
        """Go to a rule of the shown run once its text is loaded; `grammar` is the run's custom text, if any."""
        document = self._document
        if grammar is not None and document.is_generated and document.work.text == grammar:
            document.return_to_custom_text()
        self._rule, self._run_grammar = name, grammar
        last = self._bench.last
        if last is not None and last.text == document.text:
            self._go(last)

    def _go(self, found: Checked) -> None:
        if not self._rule:
            return
        name, self._rule = self._rule, ""
        custom = self._run_grammar
        if not self._view.edit.go_to_rule(name):
            words = (
                tr(
                    "The run used the grammar generated from the tools; its rule {name} is not in this text.",
                    name=name,
                )
                if custom is None
                else tr("The run used a custom grammar; its rule {name} is not in this text.", name=name)
            )
            self._view.notice.show_words(words)
        elif not self._document.is_generated if custom is None else custom != found.text:
            self._view.notice.show_words(tr("The run used another grammar, with a rule of that name."))
