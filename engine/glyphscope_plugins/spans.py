"""Recorded runs as OpenTelemetry spans, following its semantic conventions for generative AI (version 0.1.0).

A run is an `invoke_agent` span, with a `chat` span for each generation and an `execute_tool` span for each call, at the
recorded times. Prompts, answers, arguments and results are included only on request. Attributes for which the
conventions have no name begin with `glyphscope.`. The same run has the same ids in every export.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from glyphscope.base.errors import GlyphscopeError, RegistryError
from glyphscope.events import LimitReached, Message
from glyphscope.events.encoding import encode_json, whole_text
from glyphscope.explain.segments import reasoning_tokens
from glyphscope.registry import to_openai
from glyphscope.runs.emitter import span_ids
from glyphscope.runs.endings import failed_execution
from glyphscope.runs.stage_words import prompt_tokens
from glyphscope.store.exports.forms import RunExporter
from glyphscope.store.exports.recorded_run import RecordedRun
from glyphscope.store.exports.steps import Execution, RunSteps, StepGeneration, run_steps

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

AGENT = "glyphscope"
PATH = "/v1/traces"
"""The path at which a receiver of OTLP over HTTP accepts spans."""
_LOGGER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_HINT = "Check the address. A collector usually takes OTLP over HTTP at http://127.0.0.1:4318."
_FINISHED = {"complete": "stop", "end-of-text": "stop", "stop-string": "stop", "length": "length"}
"""The conventions' finish reasons; any other end of a text is an `error`, as is a text without an end."""
_BYTES = ("traceId", "spanId", "parentSpanId")
_MAX_INTEGER = 2**63 - 1
_EPOCH = datetime.fromtimestamp(0, UTC)


def run_spans(runs: Sequence[RecordedRun], *, content: bool = False) -> list[ReadableSpan]:
    """The spans of these runs, one trace per run. `content` adds prompts, answers, arguments and results.

    Raises GlyphscopeError if OpenTelemetry's SDK is not installed or is disabled, and RecordError for a record without
    a valid time.
    """
    _require("opentelemetry.sdk")
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    class Ids(IdGenerator):  # type: ignore[misc]  # of an optional package
        """Ids from the run and the number of the span in it, or the call that it shows, as servers got them."""

        run, time, number, call = "", "", 0, ""

        def generate_trace_id(self) -> int:
            return span_ids(self.run, self.time, "")[0]

        def generate_span_id(self) -> int:
            self.number += 1
            return span_ids(self.run, self.time, self.call or str(self.number))[1]

    ids, exporter = Ids(), InMemorySpanExporter()
    for run in runs:
        started = run.started
        ids.run, ids.time, ids.number = started.run, started.time, 0
        version = started.versions.get("glyphscope", "")
        names = {"service.name": AGENT, "service.version": version, "service.instance.id": started.run}
        own = Resource.create(names)
        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=own.merge(OTELResourceDetector().detect()),
            shutdown_on_exit=False,
            id_generator=ids,
        )
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        _Trace(provider.get_tracer(AGENT, version), run_steps(run), content, ids).make()
    spans = list(exporter.get_finished_spans())
    if runs and not spans:
        raise GlyphscopeError(
            "OpenTelemetry made no spans.",
            where="OTEL_SDK_DISABLED",
            hint="Unset this environment variable: it disables OpenTelemetry's SDK.",
        )
    return sorted(spans, key=lambda span: (span.context.trace_id, span.start_time or 0))


def spans_json(spans: Sequence[ReadableSpan]) -> str:
    """The spans as one line of OTLP JSON, the format that collectors read from files. Raises GlyphscopeError."""
    _require("opentelemetry.exporter.otlp.proto.http")
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    document = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    for resource in document.get("resourceSpans", ()):
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                # OTLP JSON has hexadecimal ids, unlike other bytes in protobuf's JSON
                span |= {name: base64.b64decode(span[name]).hex() for name in _BYTES if name in span}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def send_spans(spans: Sequence[ReadableSpan], endpoint: str) -> None:
    """Send the spans to a receiver of OTLP over HTTP, such as `http://127.0.0.1:4318`. The environment variables that
    OpenTelemetry defines for its exporter (headers, timeout, certificate) apply.

    Raises GlyphscopeError if the exporter is not installed, and for a receiver that cannot be reached, does not accept
    the spans, or does not answer as OTLP requires.
    """
    address = _address(endpoint)
    _require("opentelemetry.exporter.otlp.proto.http")
    import requests
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    class Observed(requests.adapters.HTTPAdapter):  # type: ignore[misc]
        """Keeps the answer and the error, neither of which the exporter reports."""

        answer: Any = None
        error: requests.RequestException | None = None

        def send(self, *arguments: Any, **options: Any) -> Any:
            try:
                self.answer = super().send(*arguments, **options)
            except requests.RequestException as error:
                self.error = error
                raise requests.RequestException(str(error)) from error  # this kind is not retried
            return self.answer

    observed = Observed()
    with requests.Session() as session, _quiet(_LOGGER):
        for scheme in ("http://", "https://"):
            session.mount(scheme, observed)
        exporter = OTLPSpanExporter(endpoint=address, session=session)
        with suppress(requests.RequestException):
            exporter.export(spans)
        exporter.shutdown()
    if observed.answer is None and observed.error is None:
        raise GlyphscopeError(
            "The spans are too large for one request.", where=address, hint="Send fewer runs at once."
        )
    if observed.answer is None:
        raise GlyphscopeError(
            f"The receiver cannot be reached: {_reason(observed.error)}.", where=address, hint=_HINT
        )
    _check(observed.answer, address)


def _require(module: str) -> None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise GlyphscopeError(
            "Spans need OpenTelemetry's SDK and OTLP exporter, which are not installed.",
            hint="Install them: pip install 'glyphscope[otel]'.",
        )


def _address(endpoint: str) -> str:
    """The address for spans: the receiver's address with OTLP's path, unless it already has the path."""
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise GlyphscopeError(
            "The endpoint is not an address.",
            where=endpoint,
            hint="Such as: http://127.0.0.1:4318, where a collector takes OTLP over HTTP.",
        )
    base = endpoint.rstrip("/")
    return base if base.endswith(PATH) else base + PATH


def _check(answer: Any, address: str) -> None:
    """Raises GlyphscopeError unless the receiver accepted all spans; the exporter checks only the status code."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    if answer.status_code >= 400:
        raise GlyphscopeError(
            f"The receiver answered {answer.status_code} {answer.reason}.", where=address, hint=_HINT
        )
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip()
    if answer.content and kind not in ("application/x-protobuf", "application/protobuf", "application/json"):
        raise GlyphscopeError(
            f"The answer is not OTLP, but {kind or 'of no type'}.", where=address, hint=_HINT
        )
    if kind == "application/json":
        return
    try:
        partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    except DecodeError:
        raise GlyphscopeError("The answer is not OTLP.", where=address, hint=_HINT) from None
    if partial.rejected_spans:
        raise GlyphscopeError(
            f"The receiver rejected {partial.rejected_spans} spans: {partial.error_message}", where=address
        )


def _reason(error: BaseException | None) -> str:
    """The system's description of the cause of an error, or else its class."""
    found = error
    while error is not None:
        found = error if isinstance(error, OSError) and error.strerror else found
        error = error.__cause__ or error.__context__
    return str(getattr(found, "strerror", None) or type(found).__name__)


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """A context without the messages of that logger."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _attribute(value: Any) -> Any:
    """The value as OTLP can write it, which has integers of 64 bits."""
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        return str(value)
    return whole_text(value) if isinstance(value, str) else value


# the spans of a run


class _Trace:
    """Makes the spans of one run with OpenTelemetry's tracer."""

    def __init__(self, tracer: Any, run: RunSteps, content: bool, ids: Any) -> None:
        self._ids = ids
        self._tracer, self._run, self._content = tracer, run, content
        self._model = run.run.started.model

    def make(self) -> None:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        run = self._run
        root = self._span(f"invoke_agent {AGENT}", Context(), SpanKind.INTERNAL, self._agent(), 0.0)
        inside = set_span_in_context(root, Context())
        for step in run.steps:
            if isinstance(step, StepGeneration):
                name = f"chat {self._model.name}"
                span = self._span(name, inside, SpanKind.CLIENT, self._chat(step), step.began)
                self._add_violations(span, step)
                self._finish(span, *self._chat_error(step), step.ended)
            else:
                name = f"execute_tool {step.tool}"
                self._ids.call = step.call
                span = self._span(name, inside, SpanKind.INTERNAL, self._tool(step), step.began)
                self._ids.call = ""
                self._finish(span, *_tool_error(step), step.ended)
        for event in run.run.events:
            if isinstance(event, LimitReached):
                facts = {"glyphscope.limit": event.limit, "glyphscope.limit.allowed": event.allowed}
                root.add_event(
                    "glyphscope.limit", {**facts, "glyphscope.limit.used": event.used}, self._ns(event.t)
                )
        self._finish(root, *self._run_error(), run.ended)

    def _span(self, name: str, context: Any, kind: Any, attributes: dict[str, Any], began: float) -> Any:
        known = {key: _attribute(value) for key, value in attributes.items() if value not in (None, "", ())}
        return self._tracer.start_span(
            name, context=context, kind=kind, attributes=known, start_time=self._ns(began)
        )

    def _finish(self, span: Any, error: str, words: str, ended: float) -> None:
        from opentelemetry.trace import Status, StatusCode

        if error:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR, words))
        span.end(self._ns(ended))

    def _ns(self, seconds: float) -> int:
        """The time in nanoseconds since 1970."""
        return (self._run.began - _EPOCH) // timedelta(microseconds=1) * 1000 + int(seconds * 1e9)

    def _common(self, operation: str) -> dict[str, Any]:
        info = self._model
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "openai" if info.kind == "remote" else info.kind,
            "gen_ai.request.model": info.name,
        }

    def _agent(self) -> dict[str, Any]:
        request, state = self._run.run.request, self._run.state
        prompts = [prompt_tokens(made.stage) for made in self._run.generations]
        known = bool(prompts) and all(asked for asked, _ in prompts)
        attributes = {
            **self._common("invoke_agent"),
            "gen_ai.agent.name": AGENT,
            "gen_ai.usage.input_tokens": sum(asked for asked, _ in prompts) if known else None,
            "gen_ai.usage.output_tokens": sum(made.stage.token_count for made in self._run.generations),
            "glyphscope.run.id": self._run.run.started.run,
            "glyphscope.outcome": "incomplete" if state.outcome == "running" else state.outcome,
            "glyphscope.strategy": request.strategy,
            "glyphscope.constraint": request.constraint,
            "glyphscope.notation": request.native or request.notation,
        }
        if self._content:
            asked = (*request.history, Message("user", request.prompt))
            attributes |= {
                "gen_ai.input.messages": _messages(asked),
                "gen_ai.tool.definitions": self._tools(),
            }
            if made := self._run.generations[-1:]:
                attributes["gen_ai.output.messages"] = _messages((made[0].answer,), _finish_reason(made[0]))
        return attributes

    def _chat(self, made: StepGeneration) -> dict[str, Any]:
        request, stage = self._run.run.request, made.stage
        sampling, prompt = request.sampling, prompt_tokens(stage)
        attributes = {
            **self._common("chat"),
            "gen_ai.request.stream": True,
            "gen_ai.request.seed": sampling.seed,
            "gen_ai.request.temperature": sampling.temperature,
            "gen_ai.request.top_p": sampling.top_p,
            "gen_ai.request.top_k": sampling.top_k,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.stop_sequences": request.stop,
            "gen_ai.response.finish_reasons": (_finish_reason(made),),
            "gen_ai.usage.output_tokens": stage.token_count,
            "gen_ai.usage.reasoning.output_tokens": reasoning_tokens(stage) or None,
            "glyphscope.stage.name": stage.name,
            "glyphscope.stage.kind": stage.kind,
            "glyphscope.tokens.forced": stage.forced,
        }
        if self._model.kind == "remote":
            address = urlsplit(self._model.path)
            port = address.port or (443 if address.scheme == "https" else 80)
            attributes |= {"server.address": address.hostname, "server.port": port}
        if prompt[0]:
            attributes["gen_ai.usage.input_tokens"] = prompt[0]
            attributes["gen_ai.usage.cache_read.input_tokens"] = prompt[1]
        if made.first_token is not None:
            attributes["gen_ai.response.time_to_first_chunk"] = made.first_token - made.began
        if self._content:
            attributes["gen_ai.input.messages"] = _messages(made.messages)
            attributes["gen_ai.output.messages"] = _messages((made.answer,), _finish_reason(made))
            attributes["gen_ai.tool.definitions"] = self._tools()
        return attributes

    def _tool(self, made: Execution) -> dict[str, Any]:
        tool = (
            None if self._run.state.whole_registry is None else self._run.state.whole_registry.get(made.tool)
        )
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": made.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": made.call,
            "gen_ai.tool.description": "" if tool is None else tool.description,
            "glyphscope.tool.source": made.source,
            "glyphscope.approval.seconds": made.waited or None,
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = _json(made.arguments)
            if made.result is not None and made.result.ok:
                found = made.result.structured
                if not isinstance(found, dict):  # the conventions' results are objects
                    found = {"content": made.message.content if found is None else found}
                attributes["gen_ai.tool.call.result"] = _json(found)
        return attributes

    def _tools(self) -> str:
        try:
            tools = to_openai(self._run.run.registry)
        except RegistryError:
            return ""
        return _json([{"type": "function", **tool["function"]} for tool in tools])

    def _add_violations(self, span: Any, made: StepGeneration) -> None:
        for each in made.stage.violations:
            facts = {
                "glyphscope.violation.code": each.code,
                "glyphscope.violation.path": each.path,
                "glyphscope.violation.character": each.char,
            }
            if self._content:
                facts["glyphscope.violation.message"] = whole_text(each.message)
            span.add_event("glyphscope.violation", facts, self._ns(each.t))

    def _chat_error(self, made: StepGeneration) -> tuple[str, str]:
        """The code and the words of a generation's error; empty if there is none."""
        failed = self._run.state.failed
        if failed is not None and made.reason == "" and made is self._run.generations[-1]:
            return failed.code, whole_text(failed.message)
        violations = made.stage.violations
        return (violations[0].code, "The answer is not a valid call.") if violations else ("", "")

    def _run_error(self) -> tuple[str, str]:
        state = self._run.state
        if state.failed is not None:
            return state.failed.code, whole_text(state.failed.message)
        if (result := failed_execution(state)) is not None:
            return result.code or result.fault, "The call failed."
        if state.outcome in ("invalid", "aborted"):
            codes = [each.code for stage in state.stages for each in stage.violations]
            return (codes[-1] if codes else state.finished.reason if state.finished else ""), "No valid call."
        return "", ""


def _tool_error(made: Execution) -> tuple[str, str]:
    result = made.result
    if result is None or result.ok:
        return "", ""
    return result.code or result.fault, f"The call was not successful: {result.fault or result.code}."


def _finish_reason(made: StepGeneration) -> str:
    return "tool_call" if made.stage.calls else _FINISHED.get(made.reason, "error")


def _messages(messages: Sequence[Message], finish_reason: str | None = None) -> str:
    """Messages in the conventions' form."""
    documents = []
    for message in messages:
        parts: list[dict[str, Any]] = []
        if message.reasoning:
            parts.append({"type": "reasoning", "content": message.reasoning})
        if message.role == "tool":
            response = {"type": "tool_call_response", "response": message.content}
            parts.append({**response, "id": message.tool_call_id} if message.tool_call_id else response)
        elif message.content:
            parts.append({"type": "text", "content": message.content})
        for call in message.tool_calls:
            made = {"type": "tool_call", "name": call.name, "arguments": call.arguments}
            parts.append({**made, "id": call.id} if call.id else made)
        document = {"role": message.role, "parts": parts}
        documents.append(document if finish_reason is None else {**document, "finish_reason": finish_reason})
    return _json(documents)


def _json(value: Any) -> str:
    return encode_json(value).decode()


EXPORTER = RunExporter(
    make=lambda runs, content: run_spans(runs, content=content),
    text=spans_json,
    menu="OpenTelemetry &spans…",
    ending=".otlp.jsonl",
    kind="OpenTelemetry spans",
    holds="Contains the model, times, tokens, tools and errors; no prompt, answer, argument, result or key.",
    send=send_spans,
    noun="span",
)
