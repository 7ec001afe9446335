"""What is told of a text while it is typed in a token's place: its tokens, and whether the constraint takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from glyphscope.models.written import CONTEXT
from glyphscope_gui.playground.branches.refusal_text import struck
from glyphscope_gui.playground.branches.words import half_words, pieces_words
from glyphscope_gui.runs.run_registry import registry_of
from glyphscope_gui.runs.token_rules import Refusal
from glyphscope_gui.runs.worker.tokenize_typed import Pieces, Typed
from glyphscope_gui.shared.language import tr

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow


class TypedWiring(QObject):
    """Between the field, the model's tokenizer and the grammar that holds the run."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._runs = window.runs
        self._page = window.page
        self._bar = window.evidence.branch_bar
        self._rules = window.rules.rules
        self._bar.piecesWanted.connect(self._ask)
        self._runs.piecesTold.connect(self._pieces_told)
        self._rules.judged.connect(self._judged)

    # -- inside ------------------------------------------------------------------------------------------------

    def _ask(self, text: str) -> None:
        token = self._page.current_token()
        if token is None:
            return
        # as many bytes of the answer before the token as the engine looks at
        tokens = self._page.stage.tokens[: token.step.index]
        before = b"".join(each.step.data for each in tokens[-CONTEXT:])[-CONTEXT:]
        self._runs.ask_pieces(Typed(before, text))
        if text:
            self._rules.judge(token.step.index, text)

    def _pieces_told(self, pieces: Pieces) -> None:
        lines = []
        if pieces.spelled:
            names = ", ".join(pieces.spelled)
            lines.append(
                tr("{names}: as typed text it is no special token. An alternative can be one.", names=names)
            )
        elif pieces.count is None:
            lines.append(tr("The model cuts it into tokens when it runs."))
        else:
            lines.append(pieces_words(pieces.pieces, pieces.count))
        half = half_words(pieces.typed.before)
        if half:
            lines.append(
                tr(
                    "What is kept ends within a character, {bytes}: a typed text leaves that broken.",
                    bytes=half,
                )
            )
        self._bar.field.show_pieces(pieces.typed.text, "\n".join(lines))

    def _judged(self, text: str, refusal: Refusal) -> None:
        """What the constraint says to it, before it is tried."""
        started, token = self._runs.state.started, self._page.current_token()
        if started is None or token is None or token.step.index != refusal.index:
            return
        said, found = (*refusal.alternatives, "")[0], (*refusal.constraints, None)[0]
        if not said and found is None:
            self._bar.show_refused(text, None)
            return
        registry = registry_of(started.request)
        self._bar.show_refused(text, struck(started.request, registry, "", said, found, known=True))
