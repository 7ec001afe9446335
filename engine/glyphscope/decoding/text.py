"""Text out of tokens: a token's bytes may end in the middle of a character."""

from __future__ import annotations

import codecs


class TextAssembler:
    """Turns the bytes of one token after the other into whole characters."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, data: bytes) -> str:
        """The characters that these bytes complete: none for an incomplete one, U+FFFD for invalid UTF-8."""
        return self._decoder.decode(data)

    def end(self) -> str:
        """U+FFFD for a character that was never completed, else nothing."""
        return self._decoder.decode(b"", final=True)


def shown(data: bytes) -> str:
    """One token's bytes as text for a table; U+FFFD replaces half a character."""
    return data.decode("utf-8", errors="replace")
