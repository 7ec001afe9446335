"""The presenter of the open model's tokens that the grammar allows at the cursor of the stepped text."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from glyphscope.base.errors import GlyphscopeError
from glyphscope.grammar import TokenTrie
from glyphscope.grammar.tree import Grammar
from glyphscope.models.interface import Vocabulary
from glyphscope_gui.context import AppContext
from glyphscope_gui.grammar import work
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.work import Checked
from glyphscope_gui.grammar.workbench import GrammarBench
from glyphscope_gui.runs.model_queries import vocabulary_of
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.page_ids import PageId

REST_MS = 150
"""Delay after the last move of the cursor."""


class StepTokensPresenter(QObject):
    """Computes the tokens once the cursor rests. Without a vocabulary, a valid grammar and a text, none are shown."""

    def __init__(self, context: AppContext, view: GrammarPage, bench: GrammarBench) -> None:
        super().__init__(view)
        self._context = context
        self._view = view
        self._jobs = Background(self)
        self._line = self._jobs.line()
        self._vocabulary: Vocabulary | None = None
        self._trie: TokenTrie | None = None
        self._grammar: Grammar | None = None
        self._place = ("", 0)
        """The stepped text and the cursor in it."""
        self._rested = QTimer(self, singleShot=True, interval=REST_MS)
        self._rested.timeout.connect(self._compute)
        bench.checked.connect(self._checked)
        view.step.moved.connect(self._moved)
        context.navigator.shown.connect(lambda _page: self._ask_vocabulary())
        context.runs.modelStatusChanged.connect(self._model_changed)

    def _checked(self, found: Checked) -> None:
        self._grammar = found.grammar  # None while the text has errors
        self._changed()

    def _moved(self, text: str, at: int) -> None:
        if (text, at) != self._place:
            self._place = (text, at)
            self._changed()

    # -- the model's vocabulary --------------------------------------------------------------------------------

    def _model_changed(self, status: ModelStatus) -> None:
        if status.phase == "ready":
            self._ask_vocabulary()
        elif status.phase != "opening" or status.progress is None:
            self._set_vocabulary(None)

    def _ask_vocabulary(self) -> None:
        """Request the vocabulary only once the page is shown, as nothing else needs it."""
        runs = self._context.runs
        if self._context.navigator.current is PageId.GRAMMAR and runs.model.phase == "ready":
            runs.queries.ask("vocabulary", vocabulary_of, self._set_vocabulary)

    def _set_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Make the vocabulary's trie in the background."""
        if vocabulary is not None and vocabulary is self._vocabulary:
            return
        self._vocabulary, self._trie = vocabulary, None
        self._changed()
        if vocabulary is None or not vocabulary.tokens:
            self._jobs.drop("trie")
        else:
            self._jobs.start(
                "trie",
                lambda: work.make_trie(vocabulary),
                self._made,
                self._context.show_error,
                line=self._line,
            )

    def _made(self, trie: TokenTrie) -> None:
        self._trie = trie
        self._changed()

    # -- the tokens --------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._jobs.drop("tokens")
        if self._trie is None or self._grammar is None or not self._place[0]:
            self._rested.stop()
            self._view.step.show_tokens(None)
        else:
            self._rested.start()

    def _compute(self) -> None:
        grammar, trie, (text, at) = self._grammar, self._trie, self._place
        if grammar is None or trie is None:
            return

        self._jobs.start(
            "tokens",
            lambda: work.step_tokens(grammar, text, at, trie, this_task().stopped.is_set),
            self._view.step.show_tokens,
            self._failed,
            line=self._line,
        )

    def _failed(self, error: BaseException) -> None:
        self._view.step.show_tokens(None)
        if not isinstance(error, GlyphscopeError):  # too many parses: a message is shown
            self._context.show_error(error)
