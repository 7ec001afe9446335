"""When a run stops itself."""

from __future__ import annotations

from collections.abc import Iterable

from glyphscope.events import Aborted, AnyEvent, Code, ConstraintKind, StopOn, Violation

NO_ALLOWED_TOOL: frozenset[Code] = frozenset({"UNKNOWN_TOOL", "MISSING_TOOL"})
"""What `unknown-tool` stops on: the text names, or can only name, no tool of the allow list.

A violation of another kind, even one after which the tool's name cannot be read any more, lets such a run go on.
"""


def deciding(events: Iterable[AnyEvent], stop_on: StopOn) -> Violation | None:
    """The first violation among `events` on which the run stops."""
    if stop_on == "never":
        return None
    for event in events:
        if isinstance(event, Violation) and (stop_on == "error" or event.code in NO_ALLOWED_TOOL):
            return event
    return None


def stops_at_call(constraint: ConstraintKind, stop_on: StopOn) -> bool:
    """Whether a complete call ends the run.

    Under a constraint it does, as nothing but the end can follow. Without one every further token costs and can only
    spoil the call; `never` asks to see what the model writes when nobody stops it, so there it goes on.
    """
    return constraint != "off" or stop_on != "never"


def aborted(violation: Violation, tokens_decoded: int) -> Aborted:
    """The abort for that violation, with the tokens that were paid for until it took effect."""
    return Aborted(
        code=violation.code,
        message=violation.message,
        path=violation.path,
        char=violation.char,
        token=violation.token,
        tokens_decoded=tokens_decoded,
        viable=violation.viable,
    )
