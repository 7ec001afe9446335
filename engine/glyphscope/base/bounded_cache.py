"""A least-recently-used cache, limited by the number of entries and by their total size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A thread-safe cache. `size` measures an entry; a single entry is kept even if it is too large."""

    def __init__(
        self, most: int, most_size: int = 0, size: Callable[[K, V], int] = lambda _key, _value: 0
    ) -> None:
        self._most, self._most_size, self._size_of = most, most_size, size
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        self.size = 0
        """The total size of all entries."""

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value; None for an unknown key."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._drop(key)
            self._entries[key] = value
            self.size += self._size_of(key, value)
            while len(self) > self._most or (self.size > self._most_size and len(self) > 1):
                self._drop(next(iter(self._entries)))

    def forget(self, key: K) -> None:
        """Remove an entry, if there is one."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: K) -> None:
        if key in self._entries:
            self.size -= self._size_of(key, self._entries.pop(key))
