"""JSON as bytes, whatever is in it: a model can write half of a character as an escape, and no UTF-8 can hold it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


def encode_json(value: Any) -> bytes:
    """Compact JSON of structs and plain values, without a line end; bytes are base64, as in RFC 4648.

    A lone surrogate becomes U+FFFD.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return whole_text(json.dumps(msgspec.to_builtins(value), ensure_ascii=False)).encode()


def whole_text(text: str) -> str:
    """The text as UTF-8 can hold it: a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
