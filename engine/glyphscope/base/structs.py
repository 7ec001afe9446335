"""Struct types that several threads may decode.

msgspec 0.22 (and before) publishes its description of a struct before it is complete: if another thread decodes or
converts the same struct for the first time meanwhile, the process crashes. So each type passes through `ready` on its
way to msgspec; `tests/engine/test_structs.py` checks that.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = threading.Lock()
_ready: set[Any] = set()


def ready(kind: T) -> T:
    """Return a type that msgspec has described completely, with all that it contains. Raises TypeError for one that
    msgspec does not support.
    """
    if kind not in _ready:
        with _lock:
            msgspec.json.Decoder(kind)
            _ready.add(kind)
    return kind
