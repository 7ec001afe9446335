"""The outbox: the mails of send_email. Nothing leaves this machine; users can look at the mails."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from glyphscope.base.errors import ToolError
from glyphscope.base.shorten import shorten

MAX_MAILS = 1000
MAX_RECIPIENTS = 50
MAX_BODY = 200_000
MAX_SUBJECT = 998
"""The maximum length of a subject, in characters: a line of a mail (RFC 5322)."""

_ADDRESS = re.compile(
    r"[^\s@<>,;:\"()\[\]\\]{1,64}@[^\s@<>,;:\"()\[\]\\.]{1,63}(?:\.[^\s@<>,;:\"()\[\]\\.]{1,63}){1,8}"
)


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the outbox, numbered from 1; `at` is the time at which it was put there (ISO 8601, UTC)."""

    number: int
    to: str
    cc: tuple[str, ...] = ()
    subject: str
    body: str
    at: str


class Outbox:
    """Mails in the order of their arrival. Thread-safe."""

    def __init__(self) -> None:
        self.mails: tuple[Mail, ...] = ()
        self._lock = threading.Lock()

    def put(self, to: str, subject: str, body: str, cc: Sequence[str] = ()) -> Mail:
        """Add a mail. Raises ToolError for an invalid address, a subject of several lines, or too much of anything."""
        if len(cc) >= MAX_RECIPIENTS:
            raise ToolError(f"The e-mail has too many recipients; at most {MAX_RECIPIENTS} are allowed.")
        for argument, address in (("to", to), *(("cc", address) for address in cc)):
            _check_address(argument, address)
        if any(c in subject for c in "\r\n\0"):
            raise ToolError("The subject has a line break in it.", hint="Write it in one line.")
        if len(subject) > MAX_SUBJECT:
            raise ToolError(f"The subject has {len(subject):,} characters; at most {MAX_SUBJECT}.")
        if len(body) > MAX_BODY:
            raise ToolError(f"The body has {len(body):,} characters; at most {MAX_BODY:,}.")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._lock:
            if len(self.mails) >= MAX_MAILS:
                raise ToolError(f"The outbox is full: it holds {MAX_MAILS:,} e-mails.")
            mail = Mail(number=len(self.mails) + 1, to=to, cc=tuple(cc), subject=subject, body=body, at=at)
            self.mails = (*self.mails, mail)
        return mail


def _check_address(argument: str, address: str) -> None:
    if _ADDRESS.fullmatch(address[:700]) and len(address) <= 254:
        return
    shown = shorten(address, 80)
    several = "," in address or ";" in address
    hint = "Write one address in to, others in cc." if several else "Write one such as ann@example.com."
    raise ToolError(f'{argument}: "{shown}" is not an e-mail address.', hint=hint)
