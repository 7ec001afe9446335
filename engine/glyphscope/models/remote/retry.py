"""Timeouts and retries: a request is repeated only before the endpoint has sent the first piece."""

from __future__ import annotations

import math
import random
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import estimate

RETRYABLE_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""The statuses after which the same request may succeed."""


class Timeouts(NamedTuple):
    """Seconds, except for `attempts`.

    `first` is the longest wait for the first piece of an answer, which comes late after a long prompt, `between` that
    for each further piece. A request is sent at most `attempts` times in `retrying` seconds; `wait` is the first pause,
    each further one is twice as long, up to `longest`. If the endpoint requests a longer pause, there is no retry.
    """

    connect: float = 10.0
    first: float = 300.0
    between: float = 60.0
    attempts: int = 4
    retrying: float = 60.0
    wait: float = 0.5
    longest: float = 20.0


class RequestFailed(Exception):
    """A failed attempt: `error` is the error to report, `again` whether a retry may succeed.

    `wait` is the pause in seconds that the endpoint requested. `silent`: it began an answer without content, as some
    servers do that fail before their first piece.
    """

    def __init__(
        self, error: GlyphscopeError, *, again: bool, wait: float | None = None, silent: bool = False
    ) -> None:
        super().__init__(error.message)
        self.error, self.again, self.wait, self.silent = error, again, wait, silent


class Retries:
    """The attempts at one request."""

    def __init__(self, patience: Timeouts) -> None:
        self._patience = patience
        self._began = time.monotonic()
        self.attempts = 1

    def pause(self, refused: RequestFailed) -> float:
        """Seconds to wait before the next attempt. Raises the failure's error if there is none.

        The pause is randomly reduced by up to half, so that clients that failed together do not retry together.
        """
        patience, error = self._patience, refused.error
        if not refused.again:
            raise error
        wait: float = min(patience.longest, patience.wait * 2.0 ** (self.attempts - 1)) * random.uniform(
            0.5, 1.0
        )
        if refused.wait is not None:
            if refused.wait > patience.longest:
                asked = f"It asks for a pause of {estimate(refused.wait)}."
                error.hint = f"{asked} {error.hint}".strip()
                raise error
            wait = max(wait, refused.wait)
        over = time.monotonic() - self._began + wait > patience.retrying
        if over or self.attempts >= patience.attempts:
            if self.attempts > 1:
                error.message = f"{error.message.removesuffix('.')} ({self.attempts} attempts)."
            raise error
        self.attempts += 1
        return wait


def asked_pause(value: str | None) -> float | None:
    """The seconds in a Retry-After header, which is a number or a date; None if it is neither."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
            date = date if date.tzinfo else date.replace(tzinfo=UTC)
            seconds = (date - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
