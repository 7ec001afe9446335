"""A run as it may be handed to others: without what is bound to this machine, and all the same the same run.

A rule of approval is bound to a command line or an address, and either may hold a key; a path tells who its user is.
Both are replaced wherever the program itself writes them, so that a replay still finds what fits what. What the user,
the model and tools said stays as it was said.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from glyphscope.events import AnyEvent, ApprovalNeeded, RunFailed, RunStarted

_PLAIN = re.compile(r"[\w.-]*")
"""A source's own name, such as `demo`: nothing that could be a command line or an address."""


def handed_on(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The events without identities of servers and without the home folder's path."""
    for event in events:
        if isinstance(event, RunStarted):
            rules = tuple(
                msgspec.structs.replace(rule, identity=_hidden(rule.identity))
                for rule in event.request.approvals
            )
            request = msgspec.structs.replace(
                event.request, model=_homeless(event.request.model), approvals=rules
            )
            model = msgspec.structs.replace(
                event.model, name=_homeless(event.model.name), path=_homeless(event.model.path)
            )
            event = msgspec.structs.replace(event, request=request, model=model)
        elif isinstance(event, ApprovalNeeded):
            event = msgspec.structs.replace(event, identity=_hidden(event.identity))
        elif isinstance(event, RunFailed):
            event = msgspec.structs.replace(
                event,
                message=_homeless(event.message),
                hint=_homeless(event.hint),
                detail=_homeless(event.detail),
            )
        yield event


def _hidden(identity: str) -> str:
    """What is the same for the same identity, and tells nothing of it."""
    if _PLAIN.fullmatch(identity):
        return identity
    return f"sha256-{hashlib.sha256(identity.encode('utf-8', 'replace')).hexdigest()}"


def _homeless(text: str) -> str:
    """A path, or words with paths in them."""
    return re.sub(rf"(?<![\w.-]){re.escape(str(Path.home()))}(?=/)", "~", text)
