"""A run's conversation as OpenAI's list of messages: its prompt, and the model's answer."""

from __future__ import annotations

from glyphscope.calling import answer_messages, fold_events
from glyphscope.calling.loop.conversation import with_system
from glyphscope.errors import GlyphscopeError
from glyphscope.models.remote.fields import outgoing
from glyphscope.prompting import render_messages
from glyphscope.prompting.message_list import to_json
from glyphscope.sessions.exports.recorded_run import RecordedRun


def openai_messages(run: RecordedRun) -> str:
    """The `messages` of a chat completion request. Results of calls that are text are user messages, as that API takes
    a tool's only for a call that it knows.

    Raises GlyphscopeError for a strategy with several prompts, and what rendering the prompt raises.
    """
    request = run.request
    if request.strategy == "route-execute":
        raise GlyphscopeError(
            "The strategy route-execute sends several prompts, which are not one list of messages.",
            where="openai-messages",
            hint="Each prompt is in the record, as prompt_rendered.",
        )
    if request.strategy == "loop":
        request = with_system(request)
    asked = render_messages(request, run.registry).messages
    messages = (*asked, *answer_messages(fold_events(run.events), run.request))
    return to_json(outgoing(messages)[0])
