"""Text from tokens, whose bytes may end in the middle of a character."""

from __future__ import annotations

import codecs


def text_decoder() -> codecs.IncrementalDecoder:
    """A decoder for the bytes of one token after another, which returns the characters that each token completes.

    U+FFFD for invalid UTF-8, and with `final` for a character that was never completed.
    """
    return codecs.getincrementaldecoder("utf-8")(errors="replace")


def shown(data: bytes) -> str:
    """One token's bytes as text for a table; U+FFFD replaces an incomplete character."""
    return data.decode("utf-8", errors="replace")
