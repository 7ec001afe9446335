"""A keyring in memory: no test uses the user's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError


class MemoryKeyring(KeyringBackend):  # type: ignore[misc]
    """`passwords` by their user names, for any service; a `locked` one returns none of them."""

    priority = 1.0

    def __init__(self, *, locked: bool = False) -> None:
        super().__init__()
        self.passwords: dict[str, str] = {}
        self.locked = locked

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringError("locked")
        return self.passwords.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.passwords[username]


@contextmanager
def memory_keyring() -> Iterator[MemoryKeyring]:
    """A new keyring in place of the machine's."""
    before = keyring.core._keyring_backend
    ring = MemoryKeyring()
    keyring.set_keyring(ring)
    try:
        yield ring
    finally:
        keyring.core._keyring_backend = before
