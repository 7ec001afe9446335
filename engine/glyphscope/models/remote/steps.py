"""Converts chunks to steps: one per token if the endpoint sends its tokens, otherwise one per piece.

The figures are the endpoint's; a probability that it does not send is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from glyphscope.decoding.text import shown, text_decoder
from glyphscope.events import Alternative, PrefixPart, TokenStep
from glyphscope.events.encoding import whole_text
from glyphscope.models.remote.chunks import Likely


class StepMaker:
    """Numbers the steps of one answer."""

    def __init__(self, alternatives: int) -> None:
        self._alternatives = alternatives
        self.count = 0
        """The steps so far."""
        self._decoder = text_decoder()
        self._half = ""
        self._spelled: dict[int, bytes] = {}
        """The bytes of tokens by their ids, as the alternatives have shown them."""

    def written(self, written: Sequence[PrefixPart]) -> tuple[TokenStep, ...]:
        """The steps of the answer's prefix. They are numbered with the others."""
        return tuple(
            TokenStep(
                index=self._next(),
                id=one.id,
                data=one.data,
                text=self._decoder.decode(one.data),
                probability=None,
                piece=one.id < 0,
                origin="kept" if one.kept else "written",
            )
            for one in written
        )

    def steps(self, text: str, tokens: tuple[Likely, ...]) -> tuple[TokenStep, ...]:
        """The steps of one chunk; their joined texts are its text.

        Tokens that do not spell the text, because a server leaves some of it out, are left out.
        """
        text = self._whole(text)
        texts = [self._decoder.decode(token.data) for token in tokens]
        if tokens and "".join(texts) == text:
            return tuple(self._token(token, text) for token, text in zip(tokens, texts))
        self._decoder = text_decoder()
        return (self._piece(text),) if text else ()

    def end(self) -> TokenStep:
        """The answer's end, which the endpoint reported."""
        return self._piece("", end=True)

    def _whole(self, text: str) -> str:
        """The text with surrogate pairs joined: some servers send each surrogate as an escape in a separate chunk."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole_text(text)

    def _token(self, token: Likely, text: str) -> TokenStep:
        if self._is_joined(token):
            return self._piece(text)
        others = sorted(token.others, key=lambda other: -other.logprob)[: self._alternatives]
        rank = next((place for place, other in enumerate(others) if other.data == token.data), None)
        return TokenStep(
            index=self._next(),
            id=token.id,
            data=token.data,
            text=text,
            logprob=token.logprob,
            rank=rank,
            probability=None,
            alternatives=tuple(_alternative(other) for other in others),
        )

    def _is_joined(self, token: Likely) -> bool:
        """Whether an entry stands for several tokens: llama-server joins those of a character, and those that it keeps
        back as the beginning of a stop text. The id, the log-probability and the alternatives are the last one's.
        """
        self._spelled.update((other.id, other.data) for other in token.others if other.id >= 0)
        last = self._spelled.get(token.id)
        if last is not None:
            return last != b"" and last != token.data and token.data.endswith(last)
        if token.data.isascii() or _begins_inside(token.data):
            return False
        if not token.others:
            return token.id >= 0  # from llama-server, and nothing shows which tokens it has
        return all(other.data != token.data for other in token.others) and any(
            _begins_inside(other.data) for other in token.others
        )

    def _piece(self, text: str, *, end: bool = False) -> TokenStep:
        return TokenStep(
            index=self._next(), id=-1, data=text.encode(), text=text, probability=None, piece=True, end=end
        )

    def _next(self) -> int:
        """The number of the next step."""
        self.count += 1
        return self.count - 1


def _begins_inside(data: bytes) -> bool:
    """Whether bytes begin inside a character in UTF-8."""
    return data[:1] != b"" and 0x80 <= data[0] < 0xC0


def _alternative(token: Likely) -> Alternative:
    return Alternative(
        id=token.id,
        data=token.data,
        text=shown(token.data),
        raw=math.exp(token.logprob),
        final=None,
        allowed=None,
    )
