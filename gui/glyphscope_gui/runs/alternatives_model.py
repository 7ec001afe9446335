"""The alternatives of a token, and why a masked one was not possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Qt

from glyphscope.events import Alternative, RunRequest, Token
from glyphscope.explain.masked import AlternativeReasons, Reasons, token_reasons
from glyphscope.registry import ToolRegistry
from glyphscope.runs import StageState
from glyphscope.runs.run_state import NO_STAGE, StagePlace
from glyphscope.text.figures import UNKNOWN, percent
from glyphscope.text.tokens import token_text
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.shared.token_words import is_masked, numbered

ALTERNATIVE_ROLE, REASON_ROLE, CHOSEN_ROLE, REFUSED_ROLE = (Qt.ItemDataRole.UserRole + n for n in range(4))
"""The Alternative; why no valid call can follow; whether it was sampled; the reason of a masked one otherwise, if it
differs from the reason shown for all masked ones.
"""
TEXT, BAR, RAW, FINAL = range(4)
MAX_TEXT = 4000
"""Characters of text before a token above which its alternatives are not explained."""


def reasons(
    request: RunRequest,
    registry: ToolRegistry,
    before: str,
    alternatives: Sequence[Alternative],
    place: StagePlace = NO_STAGE,
) -> list[str]:
    """For each alternative, why no valid call can continue with it; "" if one can, or if the reason is unknown."""
    return AlternativeReasons(request, registry, place).verdicts(before, alternatives)


class AlternativeRow(NamedTuple):
    """`reason` is why no valid call can follow, `refusal` the reason of a masked one otherwise; "" while unknown."""

    alternative: Alternative
    reason: str
    refusal: str = ""


class AlternativesModel(TableModel[AlternativeRow]):
    """The alternatives of one token, the most likely first."""

    titles = (tr("token"), "", tr("raw"), tr("final"))
    tips = (
        tr("The token; crossed out if it was masked"),
        tr("Raw probability as a bar"),
        tr("The model’s own probability, before mask and sampling parameters"),
        tr(
            "The probability of being sampled, or the filter that removed the token; – if it "
            "could not be sampled"
        ),
    )
    figures = frozenset({RAW, FINAL})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._refusal_of_all = ""
        self._chosen: int | bytes = -1
        self._special: frozenset[int] = frozenset()

    def show(self, alternatives: Sequence[Alternative], why: Sequence[str], chosen: int | bytes) -> None:
        """Show the alternatives; `chosen` is the id of the chosen token, or its bytes if it has no id."""
        self._chosen = chosen
        self.show_rows([AlternativeRow(*each) for each in zip(alternatives, why, strict=True)])

    def show_token(
        self,
        stage: StageState,
        token: Token,
        alternatives: Sequence[Alternative],
        request: RunRequest,
        registry: ToolRegistry | None,
    ) -> None:
        """Show the alternatives of a token of the stage, with the validator's reasons of the impossible ones.

        Those of masked ones follow by `set_refused` or `explain`.
        """
        why = [""] * len(alternatives)
        if registry is not None:
            why = reasons(request, registry, stage.text[: token.start], alternatives, stage.place)
        self.show(alternatives, why, token.step.id if token.step.id >= 0 else token.step.data)
        self.set_refused((), "")

    def explain(
        self, stage: StageState, index: int, request: RunRequest, registry: ToolRegistry | None
    ) -> None:
        """Add the reasons of the masked ones among the shown alternatives of that token, once they are found."""
        shown = [row.alternative for row in self.rows]
        if registry is None or not any(map(is_masked, shown)):
            return
        tokens, place = list(stage.tokens), stage.place

        def done(found: Reasons) -> None:
            if [row.alternative for row in self.rows] == shown:
                self.set_refused(found.texts, "")

        self._background.start(
            "reasons", lambda: token_reasons(request, registry, place, tokens, index, shown), done
        )

    def set_refused(self, words: Sequence[str], of_all: str) -> None:
        """Show the reason of each masked alternative; `of_all` is the grammar's expectation there, shown above them.

        The user's selection is kept.
        """
        self._rows = [
            row
            if not text or text == row.reason or not is_masked(row.alternative)
            else row._replace(reason="", refusal=text)
            for row, text in zip(self._rows, chain(words, repeat("")))
        ]
        self._refusal_of_all = of_all
        self._changed()

    def set_special(self, special: frozenset[int]) -> None:
        """Set the ids of special tokens, which differ from the text of their names."""
        self._special = special
        self._changed(column=TEXT)

    def words(self, row: AlternativeRow, column: int) -> str:
        one = row.alternative
        if column == TEXT:
            words = token_text(one.data, one.text)
            return f"⟨{words}⟩" if one.id in self._special else words
        if column == RAW:
            return percent(one.raw)
        if column == FINAL:
            return percent(one.final) if one.allowed and one.final else one.removed or UNKNOWN
        return ""

    def spoken(self, row: AlternativeRow, column: int) -> str:
        words, removed = self.words(row, column), row.alternative.removed
        if removed and column == TEXT:
            return tr("{token}, removed by {filter}", token=words, filter=removed)
        return tr("{token}, masked", token=words) if is_masked(row.alternative) else words

    def tip(self, row: AlternativeRow, column: int) -> str:
        one = row.alternative
        masked = tr("Masked: the grammar does not allow the token here") if is_masked(one) else ""
        removed = tr("Allowed, and removed by {filter}", filter=one.removed) if one.removed else ""
        token = numbered(one.id)
        if one.id in self._special:
            token = tr("{token} (special)", token=token)
        first = tr("{token}, bytes {bytes}", token=token, bytes=one.data.hex(" ").upper())
        return "\n".join(line for line in (first, masked, removed, row.reason, row.refusal) if line)

    def color(self, row: AlternativeRow, column: int) -> str:
        return "text-faint" if is_masked(row.alternative) or row.alternative.removed else "text"

    def extra(self, row: AlternativeRow, column: int, role: int) -> Any:
        one = row.alternative
        if role == ALTERNATIVE_ROLE:
            return one
        if role == REASON_ROLE:
            return row.reason
        if role == REFUSED_ROLE:  # the hint contains all columns
            return "" if row.reason or row.refusal == self._refusal_of_all else row.refusal
        return self._chosen in (one.id, one.data) if role == CHOSEN_ROLE else None
