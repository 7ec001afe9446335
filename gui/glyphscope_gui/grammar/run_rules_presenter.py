"""The presenter of a run on the grammar page: the rules that it used, and the tokens allowed at the cursor."""

from __future__ import annotations

from PySide6.QtCore import QObject

from glyphscope_gui.context import AppContext
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.tokens import GrammarTokens
from glyphscope_gui.grammar.work import Checked
from glyphscope_gui.grammar.workbench import GrammarBench
from glyphscope_gui.runs.model_queries import vocabulary_of
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId


class RunRulesPresenter(QObject):
    """Goes to rules of the shown run, shows their costs, and asks the model for its vocabulary."""

    def __init__(self, context: AppContext, view: GrammarPage, bench: GrammarBench) -> None:
        super().__init__(view)
        self._context = context
        self._view = view
        self._bench = bench
        self._document = context.project.grammar
        self._rule = ""
        self._run_grammar: str | None = None
        self.tokens = GrammarTokens(self)
        bench.checked.connect(self._checked)
        view.step.moved.connect(self.tokens.set_place)
        view.costs.ruleChosen.connect(lambda rule: self.show_rule(rule, context.rules.grammar))
        context.rules.priced.connect(view.costs.show_costs)
        self.tokens.answered.connect(view.step.show_tokens)
        self.tokens.crashed.connect(context.show_error)
        context.navigator.shown.connect(lambda _page: self._ask_vocabulary())
        context.runs.modelStatusChanged.connect(self._model_changed)

    def show_rule(self, name: str, grammar: str | None) -> None:
        """Go to a rule of the shown run as soon as its text is here; `grammar` is the run's custom text, if any."""
        document = self._document
        if grammar is not None and document.is_generated and document.work.text == grammar:
            document.return_to_custom_text()
        self._rule, self._run_grammar = name, grammar
        last = self._bench.last
        if last is not None and last.text == document.text:
            self._go(last)

    # -- inside ------------------------------------------------------------------------------------------------

    def _checked(self, found: Checked) -> None:
        self.tokens.set_grammar(found.grammar)
        if self._rule:
            self._go(found)

    def _go(self, found: Checked) -> None:
        name, self._rule = self._rule, ""
        custom = self._run_grammar
        if not self._view.edit.go_to_rule(name):
            self._view.notice.show_words(
                tr(
                    "The run used the grammar generated from the tools; its rule {name} is not in this text.",
                    name=name,
                )
                if custom is None
                else tr("The run used a custom grammar; its rule {name} is not in this text.", name=name)
            )
        elif (custom is not None and custom != found.text) or (
            custom is None and not self._document.is_generated
        ):
            self._view.notice.show_words(tr("The run used another grammar, with a rule of that name."))

    # -- the model's vocabulary ----------------------------------------------------------------------------------

    def _model_changed(self, status: ModelStatus) -> None:
        if status.phase == "ready":
            self._ask_vocabulary()
        elif status.phase != "opening" or status.progress is None:
            self.tokens.set_vocabulary(None)

    def _ask_vocabulary(self) -> None:
        """Only once the page is shown: nothing else needs it."""
        runs = self._context.runs
        if self._context.navigator.current is PageId.GRAMMAR and runs.model.phase == "ready":
            runs.queries.ask("vocabulary", vocabulary_of, self.tokens.set_vocabulary)
