"""Between a run and the grammar that holds it: which rule read which token, what it cost, and which tokens may come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from glyphscope.models import Vocabulary
from glyphscope_gui.grammar.presenter import PAGE
from glyphscope_gui.grammar.tokens import GrammarTokens
from glyphscope_gui.grammar.work import Checked
from glyphscope_gui.playground.run_rules import RunRules
from glyphscope_gui.runs.token_rules import TokenRule
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow


class RulesWiring(QObject):
    """Connects the runs, the token views and the grammar page where they tell of each other's rules."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._page = window.grammar_page
        self._bench = window.grammar.bench
        self._wanted = ""
        self.rules = RunRules(self)
        self.tokens = GrammarTokens(self)
        self._connect_run()
        self._connect_page()

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way, or waited for."""
        return self.rules.is_busy or self.tokens.is_busy

    def close(self) -> None:
        self.rules.close()
        self.tokens.close()

    def show_rule(self, name: str) -> None:
        """Go to a rule of the run that is shown: once the page's text is there, and if it has the rule."""
        self._window.pages.show(PAGE)
        document, own = self._window.parts.project.grammar, self.rules.grammar
        if own is not None and document.is_generated and document.work.text == own:
            document.own_text()
        self._wanted = name
        last = self._bench.last
        if last is not None and last.text == document.text:
            self._go(last)

    # -- inside ------------------------------------------------------------------------------------------------

    def _connect_run(self) -> None:
        window, rules = self._window, self.rules
        window.runs.applied.connect(rules.apply)
        window.runs.ended.connect(rules.finish)
        rules.began.connect(window.page.tokens.show_rules)
        rules.found.connect(self._found)
        rules.refused.connect(window.evidence.show_refusal)
        rules.priced.connect(self._page.costs.show_costs)
        window.page.tokenChosen.connect(self._token_chosen)
        window.page.tokens.ruleChosen.connect(self.show_rule)
        window.evidence.ruleChosen.connect(self.show_rule)

    def _connect_page(self) -> None:
        window, page, tokens = self._window, self._page, self.tokens
        self._bench.checked.connect(self._checked)
        page.step.moved.connect(tokens.set_place)
        page.costs.ruleChosen.connect(self.show_rule)
        tokens.told.connect(page.step.show_tokens)
        tokens.crashed.connect(window.tell_error)
        window.pages.shown.connect(lambda _name: self._ask_vocabulary())
        window.runs.modelTold.connect(self._model_told)
        window.runs.vocabularyTold.connect(self._vocabulary_told)

    def _found(self, first: int, rules: list[TokenRule]) -> None:
        self._window.page.tokens_model.set_rules(first, rules)
        row = self._window.page.tokens.currentIndex().row()
        if first <= row < first + len(rules):
            self._window.evidence.show_rule(rules[row - first])

    def _token_chosen(self, index: int | None) -> None:
        self._window.evidence.show_rule(None if index is None else self._window.page.tokens_model.rule(index))
        self.rules.ask(index)

    def _checked(self, found: Checked) -> None:
        self.tokens.set_grammar(found.grammar)
        if self._wanted:
            self._go(found)

    def _go(self, found: Checked) -> None:
        name, self._wanted = self._wanted, ""
        document, own = self._window.parts.project.grammar, self.rules.grammar
        if not self._page.edit.go_to_rule(name):
            self._page.notice.tell(
                tr(
                    "The run was held to the tools’ grammar, whose rule {name} is not in this text.",
                    name=name,
                )
                if own is None
                else tr(
                    "The run was held to a text of your own, whose rule {name} is not in this text.",
                    name=name,
                )
            )
        elif (own is not None and own != found.text) or (own is None and not document.is_generated):
            self._page.notice.tell(
                tr("The run was held to another text than this one, with a rule of that name.")
            )

    # -- the model's vocabulary ----------------------------------------------------------------------------------

    def _model_told(self, status: ModelStatus) -> None:
        if status.phase == "ready":
            self._ask_vocabulary()
        elif status.phase != "opening" or status.progress is None:
            self.tokens.set_vocabulary(None)

    def _ask_vocabulary(self) -> None:
        """Nobody needs it before the page is shown."""
        model = self._window.runs.model
        if self._window.pages.current == PAGE and model.phase == "ready":
            self._window.runs.ask_vocabulary()

    def _vocabulary_told(self, vocabulary: Vocabulary) -> None:
        self.tokens.set_vocabulary(vocabulary)
