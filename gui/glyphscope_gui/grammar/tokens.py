"""The number of tokens of the open model that are allowed at the cursor of the stepped text, computed when it rests."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from glyphscope.errors import GlyphscopeError
from glyphscope.grammar.match.tokens import TokenTrie
from glyphscope.grammar.tree import Grammar
from glyphscope.models.interface import Vocabulary
from glyphscope_gui.grammar import work
from glyphscope_gui.grammar.jobs import LatestJobs

REST_MS = 150
"""After the last move of the cursor."""


class GrammarTokens(QObject):
    """`answered` carries a TokensView; None where it is not known: no model, an invalid grammar, no text."""

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
        """Of the open model; its trie is made in the background. None, or one without tokens: no answers."""
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
        """The cursor moved: the computation for the place before is dropped."""
        if (text, at) != self._place:
            self._place = (text, at)
            self._changed()

    # -- inside ------------------------------------------------------------------------------------------------

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
        if not isinstance(error, GlyphscopeError):  # a text with too many parses has its words beside it
            self.crashed.emit(error)
