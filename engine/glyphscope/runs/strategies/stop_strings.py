"""The end of an answer at one of the request's stop strings, found while the text arrives in pieces."""

from __future__ import annotations

from collections.abc import Iterable

from glyphscope.base.lines import begun_length


class StopStrings:
    """Withholds text that may still become a stop string, so that only the answer is validated."""

    def __init__(self, stops: Iterable[str] = ()) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._pending: list[tuple[str, int]] = []  # withheld texts with their tokens' numbers
        self.found = ""
        """The stop string that ended the answer."""
        self.behind = 0
        """The number of characters from the start of the stop string to the end of the text fed so far."""

    def feed(self, text: str, token: int) -> list[tuple[str, int]]:
        """The text that is certainly part of the answer, in pieces with the tokens that wrote them.

        Of several stop strings, the one that begins first ends the answer. Nothing may be fed after one was found.
        """
        if not self._stops:
            return [(text, token)]
        self._pending.append((text, token))
        whole = "".join(piece for piece, _ in self._pending)
        begins = [(place, stop) for stop in self._stops if (place := whole.find(stop)) >= 0]
        if begins:
            place, self.found = min(begins)
            self.behind = len(whole) - place
            return self._released(place)
        return self._released(len(whole) - max(begun_length(whole, stop) for stop in self._stops))

    def rest(self) -> list[tuple[str, int]]:
        """The withheld text at the end: it did not become a stop string."""
        return [] if self.found else self._released(sum(len(piece) for piece, _ in self._pending))

    def _released(self, characters: int) -> list[tuple[str, int]]:
        free: list[tuple[str, int]] = []
        while self._pending and len(self._pending[0][0]) <= characters:
            free.append(self._pending.pop(0))
            characters -= len(free[-1][0])
        if characters:
            text, token = self._pending[0]
            free.append((text[:characters], token))
            self._pending[0] = (text[characters:], token)
        return free
