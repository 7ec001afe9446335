"""The presenter of a text that replaces a token: its tokens, and whether the constraint allows it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject

from glyphscope.models.response_prefix import CONTEXT
from glyphscope_gui.context import AppContext
from glyphscope_gui.playground.branches.bar import BranchBar
from glyphscope_gui.playground.branches.mask_reason import mask_reason
from glyphscope_gui.playground.branches.words import incomplete_words, pieces_words
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.runs.model_queries import Pieces, Typed, pieces_of
from glyphscope_gui.runs.token_rules import Refusal
from glyphscope_gui.shared.language import tr


class TypedTextPresenter(QObject):
    """Connects the field, the model's tokenizer and the grammar of the run."""

    def __init__(self, context: AppContext, view: RunPage, bar: BranchBar) -> None:
        super().__init__(view)
        self._runs = context.runs
        self._page = view
        self._bar = bar
        self._rules = context.rules
        bar.field.tokensRequested.connect(self._ask)
        self._rules.textChecked.connect(self._show_refusal)

    def _ask(self, text: str) -> None:
        token = self._page.current_token()
        if token is None:
            return
        # as many bytes of the answer before the token as the engine reads
        tokens = self._page.stage.tokens[: token.step.index]
        before = b"".join(each.step.data for each in tokens[-CONTEXT:])[-CONTEXT:]
        self._runs.queries.ask("pieces", partial(pieces_of, typed=Typed(before, text)), self._show_pieces)
        if text:
            self._rules.check_text(token.step.index, text)

    def _show_pieces(self, pieces: Pieces) -> None:
        lines = []
        if pieces.spelled:
            names = ", ".join(pieces.spelled)
            lines.append(
                tr(
                    "{names}: typed text is never a special token. Select an alternative to insert one.",
                    names=names,
                )
            )
        elif pieces.count is None:
            lines.append(tr("The model splits the text into tokens when it runs."))
        else:
            lines.append(pieces_words(pieces.pieces, pieces.count))
        half = incomplete_words(pieces.typed.before)
        if half:
            lines.append(
                tr(
                    "The kept text ends inside a character, {bytes}, which typed text leaves incomplete.",
                    bytes=half,
                )
            )
        self._bar.field.show_pieces(pieces.typed.text, "\n".join(lines))

    def _show_refusal(self, text: str, refusal: Refusal) -> None:
        """Show why the constraint rejects the text, before it is tried."""
        started, token = self._runs.state.started, self._page.current_token()
        if started is None or token is None or token.step.index != refusal.index:
            return
        said, found = (*refusal.alternatives, "")[0], (*refusal.constraints, None)[0]
        if not said and found is None:
            self._bar.show_typed(text, None)
            return
        registry = self._runs.state.registry
        self._bar.show_typed(text, mask_reason(started.request, registry, "", said, found, known=True))
