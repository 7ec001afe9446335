"""JSON as bytes, with lone surrogates: a model can write one as an escape, and UTF-8 cannot encode it."""

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
    """The text with each lone surrogate, which UTF-8 cannot encode, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
