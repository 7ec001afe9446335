"""Sign-ins to HTTP servers (OAuth), stored in the keyring: one entry per address, readable only by its owner."""

from __future__ import annotations

import json
import time
from typing import Any

from glyphscope.base.errors import ModelError, ServerError
from glyphscope.base.json_values import json_object

_ENTRY = "mcp sign-in "
_unsaved: dict[str, dict[str, Any]] = {}
"""Sign-ins that no keyring could store; they last as long as the program."""


def stored_sign_in(url: str) -> dict[str, Any]:
    """`tokens`, `client`, `metadata` and `expires` (seconds since 1970) of that address; empty if there is none."""
    if url in _unsaved:
        return _unsaved[url]
    from glyphscope.models.remote.keys import keyring_text

    try:
        return json_object(keyring_text(_ENTRY + url) or "")
    except ModelError:
        return {}


def store(url: str, sign_in: dict[str, Any]) -> None:
    """Store a sign-in. Raises ServerError without a keyring; the sign-in then lasts as long as the program."""
    from glyphscope.models.remote.keys import set_keyring_text

    try:
        set_keyring_text(_ENTRY + url, json.dumps(sign_in))
    except ModelError as error:
        _unsaved[url] = sign_in
        raise ServerError(
            error.message, where=url, hint="The sign-in lasts until the program ends."
        ) from None
    _unsaved.pop(url, None)


def forget_sign_in(url: str) -> bool:
    """Remove a sign-in; returns whether there was one. Raises ServerError if the keyring cannot be used."""
    from glyphscope.models.remote.keys import remove_keyring_text

    was = _unsaved.pop(url, None) is not None
    try:
        was = remove_keyring_text(_ENTRY + url) or was
    except ModelError as error:
        raise ServerError(error.message, where=url, hint=error.hint) from None
    return was


def expiry(expires_in: object) -> float | None:
    """The time at which a token that lasts that many seconds expires."""
    return time.time() + expires_in if isinstance(expires_in, int | float) else None
