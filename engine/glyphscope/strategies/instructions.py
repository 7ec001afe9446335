"""The instructions of a run's prompt about calls and their form, apart from the user's words."""

from __future__ import annotations

import msgspec

from glyphscope.events import Notation
from glyphscope.prompting.messages import render_messages
from glyphscope.prompting.strategies import render_executor
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.strategies.loop.history_policy import with_system
from glyphscope.strategies.routing.route import only


def instructions(prepared: PreparedRequest, notation: Notation, tool: str) -> str | None:
    """The system message that requests the run's calls in that notation; `tool` is the called one.

    None if the model's own template writes it. Raises PromptError and RegistryError.
    """
    if prepared.request.native:
        return None
    request = msgspec.structs.replace(prepared.request, notation=notation)
    match request.strategy:
        case "loop":
            rendered = render_messages(with_system(request), prepared.described)
        case "route-execute":
            rendered = render_executor(request, only(prepared.offered, tool))
        case _:
            rendered = render_messages(request, prepared.offered)
    return "\n".join(message.content for message in rendered.messages if message.role == "system")
