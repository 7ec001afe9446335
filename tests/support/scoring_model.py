"""A model whose probabilities follow from a rule: texts that the prompt needs, so that the answer is probable."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from glyphscope.base.errors import ContextOverflow
from glyphscope.base.lines import common_length
from glyphscope.events import Alternative, TokenStep
from glyphscope.models.interface import PromptProgress, PromptReady, Vocabulary
from glyphscope.models.scripted import ScriptedModel, cut

NEAR = -0.1
"""The log-probability of each written token while nothing is missing."""
MASS = 0.95
"""The share of raw probability that the constraint allows at each token."""


class ScoringModel(ScriptedModel):
    """Writes `script`. Each token of a given answer loses `costs[text]` for each of these texts that its prompt lacks,
    and the most of what `present` has for texts in its prompt.

    `scored` are the prompts without hidden tokens, in order; `evaluated` counts the tokens that the whole prompt, the
    last one that was not beside another, does not begin with.
    """

    def __init__(self, script: str, costs: Mapping[str, float], *, template: str | None = None) -> None:
        super().__init__(script, template=template)
        self.info = msgspec.structs.replace(
            self.info, kind="llama.cpp", name="rule", path="rule.gguf", bytes=1
        )
        self.costs, self.scored, self.evaluated = costs, [], 0
        self.context = 1 << 20
        self.other = "browse"
        self.present: dict[str, float] = {}
        self._ids: dict[str, int] = {}
        self._whole: list[int] = []

    def tokenize(self, text):
        return [self._ids.setdefault(piece, len(self._ids)) for piece in cut(text)]

    def count_tokens(self, text):
        return len(self.tokenize(text))

    def vocabulary(self):
        return Vocabulary(tuple(piece.encode() for piece in self._ids))

    def generate(self, request):
        if request.max_tokens:
            yield from super().generate(request)
            return
        tokens = self.tokenize(request.prompt)
        seen = request.prompt
        if request.hidden:
            assert request.beside and tokens == self._whole and request.hidden[-1][1] < request.seen_from
            pieces = cut(seen)
            for start, end in reversed(request.hidden):
                del pieces[start:end]
            seen = "".join(pieces)
            cached = request.seen_from
        else:
            self.scored.append(seen)
            cached = common_length(tokens[:-1], self._whole)
            self._whole = self._whole if request.beside else tokens
        self.evaluated += len(tokens) - cached + len(request.written)
        size, first = len(tokens) + request.scored_from, request.scored_from
        if size >= self.context:
            raise ContextOverflow(size, self.context)
        yield PromptProgress(cached, size, 0.0)
        yield PromptProgress(size, size, 1.0)
        yield PromptReady(size, cached, 1.0)
        lost = max((cost for text, cost in self.present.items() if text in seen), default=0.0)
        lost += sum(cost for text, cost in self.costs.items() if text not in seen)
        other = (Alternative(10**6, self.other.encode(), self.other, 0.2, None, True),)
        yield tuple(
            TokenStep(
                index=index, id=one.id, data=one.data, text=one.data.decode(),
                logprob=NEAR - lost if index >= first else None,
                feasible=MASS if request.constraint != "off" else 1.0, alternatives=other, origin="kept",
            )
            for index, one in enumerate(request.written)
        )  # fmt: skip
