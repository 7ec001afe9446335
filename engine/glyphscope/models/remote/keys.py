"""API keys: from the environment or the keyring into one header, and nowhere else."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, AnyStr, TypeVar

from glyphscope.base.errors import ModelError
from glyphscope.base.json_values import json_or_text
from glyphscope.models.remote.address import Address

SERVICE = "glyphscope"
ENVIRONMENT = "GLYPHSCOPE_API_KEY"
_OPENAI = "https://api.openai.com:443"
_LIST = "addresses"
"""The keyring's entry with the addresses that have a key, as a keyring cannot be listed."""
_HIDDEN = "•••"

T = TypeVar("T")


def key_of(address: Address) -> str:
    """The key for that endpoint; empty if there is none.

    The environment's key applies to any endpoint, OpenAI's variable only to OpenAI, and a key in the keyring to the
    scheme, host and port for which it was set. A keyring that cannot be read has no key.
    """
    key = os.environ.get(ENVIRONMENT, "").strip()
    if not key and address.origin == _OPENAI:
        key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key and importlib.util.find_spec("keyring") is not None:
        with suppress(ModelError):
            key = keyring_text(address.origin) or ""
    return checked(key, address.origin) if key else ""


def checked(key: str, where: str) -> str:
    """The key. Raises ModelError, without repeating the key, if it does not fit a header."""
    if not fits_header(key):
        raise ModelError(
            "The key is empty, or has characters that no key has.",
            where=where,
            hint="Copy it again, without the text around it.",
        )
    return key


def fits_header(key: str) -> bool:
    """Whether the key fits a header; otherwise the HTTP client would repeat it in an error."""
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


def without(key: str, said: AnyStr) -> AnyStr:
    """The endpoint's text with the key hidden, in case the endpoint repeats it."""
    if not key:
        return said
    if isinstance(said, bytes):
        return said.replace(key.encode(), _HIDDEN.encode()).replace(_escaped(key).encode(), _HIDDEN.encode())
    return said.replace(key, _HIDDEN).replace(_escaped(key), _HIDDEN)


def hidden_in(key: str, data: bytes) -> int:
    """The number of the last bytes with which the key may begin, so that the next bytes must be seen to hide it."""
    forms = (key.encode(), _escaped(key).encode())
    longest = min(max(map(len, forms)) - 1, len(data))
    sizes = range(longest, 0, -1)
    return next((size for size in sizes if any(form.startswith(data[-size:]) for form in forms)), 0)


def _escaped(key: str) -> str:
    """The key as some servers escape it in JSON."""
    return key.replace("/", "\\/")


def set_key(address: Address, key: str) -> None:
    """Store the key in the keyring. Raises ModelError if there is none."""
    key = checked(key.strip(), address.origin)
    listed = sorted({*key_addresses(), address.origin})
    set_keyring_text(address.origin, key)
    set_keyring_text(_LIST, json.dumps(listed))


def remove_key(address: Address) -> bool:
    """Remove the key. Returns whether there was one. Raises ModelError."""
    if not remove_keyring_text(address.origin):
        return False
    set_keyring_text(_LIST, json.dumps([each for each in key_addresses() if each != address.origin]))
    return True


def key_addresses() -> list[str]:
    """The endpoints that have a key in the keyring. Raises ModelError."""
    listed = json_or_text(keyring_text(_LIST) or "")
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


def keyring_text(name: str) -> str | None:
    """The entry of that name. Raises ModelError."""
    text: str | None = _with_keyring(lambda ring: ring.get_password(SERVICE, name))
    return text


def set_keyring_text(name: str, text: str) -> None:
    """Store an entry. Raises ModelError."""
    _with_keyring(lambda ring: ring.set_password(SERVICE, name, text))


def remove_keyring_text(name: str) -> bool:
    """Remove an entry. Returns whether there was one. Raises ModelError."""
    if keyring_text(name) is None:
        return False
    _with_keyring(lambda ring: ring.delete_password(SERVICE, name))
    return True


def _with_keyring(act: Callable[[Any], T]) -> T:
    try:
        import keyring  # an extra, and slow to import
    except ImportError:
        raise ModelError(
            "keyring is not installed.", hint="Install it: pip install 'glyphscope[remote]'."
        ) from None
    try:
        return act(keyring)
    except Exception as error:  # each backend has different errors
        raise ModelError(
            f"The keyring cannot be used: {type(error).__name__}.",
            hint=f"Without one, give the key in the environment as {ENVIRONMENT}.",
        ) from None
