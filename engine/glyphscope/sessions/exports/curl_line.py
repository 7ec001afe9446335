"""A run's request as one curl command for llama-server: the messages, the grammar and the sampling parameters.

The body is the same as `models.remote` sends to a llama-server, without the members for streaming.
"""

from __future__ import annotations

import json
import shlex
from typing import Literal

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.events import ConstraintKind, NativeForm, under_constraint
from glyphscope.models.remote.dialect import LLAMA_SERVER
from glyphscope.models.remote.fields import body_of, constraint_of, with_written
from glyphscope.notation.chat_tool_format import ENDPOINTS_OWN
from glyphscope.prompting.messages import render_messages
from glyphscope.sessions.exports.recorded_run import RecordedRun
from glyphscope.strategies.request import generate_request, with_messages

ADDRESS = "http://localhost:8080"
"""The default address of llama-server."""
MAX_ONE_LINE = 100_000
"""Bytes; Linux limits arguments to 128 KiB. A longer body follows the line, as its standard input."""

_STRATEGIES = ("direct", "two-stage")
_OF_A_STREAM = ("stream", *LLAMA_SERVER.counting)


def curl_line(run: RecordedRun) -> str:
    """The command, quoted for a POSIX shell. Two stages become one request for a call.

    Raises GlyphscopeError for a strategy whose requests depend on answers, for a branch with a constraint, which a
    server enforces only from its own first token on, and if the prompt or the grammar cannot be built.
    """
    request = run.request
    if request.strategy not in _STRATEGIES:
        raise GlyphscopeError(
            f"A curl command is one request; the strategy {request.strategy} sends several, which depend on answers.",
            where="curl",
            hint="Export the grammar and the tools instead: gbnf, openai-tools.",
        )
    kind: ConstraintKind = "off" if request.constraint == "off" else "endpoint"
    # with the model's native notation, the server's template writes the tools and reads the calls
    native: NativeForm | Literal[""] = ENDPOINTS_OWN if request.native else ""
    request = msgspec.structs.replace(under_constraint(request, kind), strategy="direct", native=native)
    messages = render_messages(request, run.registry)
    generation = with_messages(generate_request(request, run.enforced, ""), messages)
    generation = with_written(msgspec.structs.replace(generation, written=request.written), LLAMA_SERVER)
    constraint = constraint_of(generation, LLAMA_SERVER)
    model = run.started.model.name
    body = body_of(generation, constraint, LLAMA_SERVER, model, logprobs=False)
    return _line(json.dumps({key: body[key] for key in body if key not in _OF_A_STREAM}))


def _line(body: str) -> str:
    """The command line; `body` is ASCII JSON on one line."""
    words = ["curl", "-sS", f"{ADDRESS}/v1/chat/completions", "-H", "Content-Type: application/json"]
    if len(body) <= MAX_ONE_LINE:
        return shlex.join([*words, "-d", body]) + "\n"
    return f"{shlex.join([*words, '--data-binary', '@-'])} <<'BODY'\n{body}\nBODY\n"
