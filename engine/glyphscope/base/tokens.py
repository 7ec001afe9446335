"""Tokens as they are written in tables: white space seen, incomplete characters as bytes."""

from __future__ import annotations

from glyphscope.base.visible import visible

_SEEN = str.maketrans({" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"})


def token_text(data: bytes, text: str = "") -> str:
    """Return the token's bytes made visible: `·search`, `⏎`, `⟨E2 80⟩` for a part of a character, `⟨⟩` for none."""
    if not data:
        return _seen(text) or "⟨⟩"
    out, rest = [], data
    while rest:
        try:
            out.append(_seen(rest.decode("utf-8")))
            break
        except UnicodeDecodeError as error:
            out.append(_seen(rest[: error.start].decode("utf-8")))
            bad = rest[error.start : error.end]
            out.append(f"⟨{bad.hex(' ').upper()}⟩")
            rest = rest[error.end :]
    return "".join(out)


def _seen(text: str) -> str:
    return visible(text.translate(_SEEN), spaces=True)
