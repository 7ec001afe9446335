"""The presenter of a run on the grammar page: the rules that it used, and the tokens allowed at the cursor."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.errors import GlyphscopeError
from glyphscope.grammar.match.tokens import TokenTrie
from glyphscope.grammar.tree import Grammar
from glyphscope.models.interface import Vocabulary
from glyphscope_gui.context import AppContext
from glyphscope_gui.grammar import work
from glyphscope_gui.grammar.jobs import LatestJobs
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.work import Checked
from glyphscope_gui.grammar.workbench import GrammarBench
from glyphscope_gui.runs.model_queries import vocabulary_of
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId

REST_MS = 150
"""Delay after the last move of the cursor."""


class GrammarTokens(QObject):
    """Computes the open model's tokens that are allowed at the cursor of the stepped text, once the cursor rests.

    `answered` carries a TokensView; None if they are unknown: no model, an invalid grammar, no text.
    """

    answered = Signal(object)
    crashed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = LatestJobs(self)
        self._vocabulary: Vocabulary | None = None
        self._trie: TokenTrie | None = None
        self._grammar: Grammar | None = None
        self._place = ("", 0)
        self._round = 0
        self._later = QTimer(self, singleShot=True, interval=REST_MS)
        self._later.timeout.connect(self._start)

    def set_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Set the open model's vocabulary; its trie is made in the background. Without tokens, there are no answers."""
        if vocabulary is not None and vocabulary is self._vocabulary:
            return
        self._vocabulary, self._trie = vocabulary, None
        self._changed()
        if vocabulary is None or not vocabulary.tokens:
            self._jobs.drop("trie")
            return
        known = vocabulary
        self._jobs.start("trie", lambda: work.make_trie(known), self._made, self.crashed.emit)

    def set_grammar(self, grammar: Grammar | None) -> None:
        """Set the grammar; None while the text has errors."""
        self._grammar = grammar
        self._changed()

    def set_place(self, text: str, at: int) -> None:
        """Compute for a new cursor position; the computation for the previous one is dropped."""
        if (text, at) != self._place:
            self._place = (text, at)
            self._changed()

    def _made(self, trie: TokenTrie) -> None:
        self._trie = trie
        self._changed()

    def _changed(self) -> None:
        self._round += 1
        self._jobs.drop("tokens")
        if self._trie is None or self._grammar is None or not self._place[0]:
            self._later.stop()
            self.answered.emit(None)
        else:
            self._later.start()

    def _start(self) -> None:
        grammar, trie, (text, at), mine = self._grammar, self._trie, self._place, self._round
        if grammar is None or trie is None:
            return
        self._jobs.start(
            "tokens",
            lambda: work.step_tokens(
                grammar, text, at, trie, lambda: self._jobs.is_closed or self._round != mine
            ),
            self.answered.emit,
            self._failed,
        )

    def _failed(self, error: BaseException) -> None:
        self.answered.emit(None)
        if not isinstance(error, GlyphscopeError):  # too many parses: a message is shown
            self.crashed.emit(error)


class RunRulesPresenter(QObject):
    """Goes to rules of the shown run, shows their costs, and requests the model's vocabulary."""

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
        """Go to a rule of the shown run once its text is loaded; `grammar` is the run's custom text, if any."""
        document = self._document
        if grammar is not None and document.is_generated and document.work.text == grammar:
            document.return_to_custom_text()
        self._rule, self._run_grammar = name, grammar
        last = self._bench.last
        if last is not None and last.text == document.text:
            self._go(last)

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
        """Request the vocabulary only once the page is shown, as nothing else needs it."""
        runs = self._context.runs
        if self._context.navigator.current is PageId.GRAMMAR and runs.model.phase == "ready":
            runs.queries.ask("vocabulary", vocabulary_of, self.tokens.set_vocabulary)
