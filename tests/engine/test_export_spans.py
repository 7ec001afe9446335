"""Runs as OpenTelemetry spans: for the SDK's own exporters, in a file, and at a receiver that decodes the protocol."""

from __future__ import annotations

import gzip
import importlib.util
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import msgspec
import pytest

from cli_command import command
from glyphscope import read_run
from glyphscope.base.errors import GlyphscopeError, RecordError
from glyphscope.base.resources import read_bytes
from glyphscope.events import ModelInfo, RunFailed, StageFinished, Token, ToolResult
from glyphscope.store.exports import RecordedRun
from glyphscope.store.records import parse_record
from glyphscope_plugins.spans import run_spans, send_spans, spans_json

pytest.importorskip("opentelemetry.sdk")
RUNS = ("verbs-loop", "native-tags", "sources-abort")


def recorded(name: str) -> RecordedRun:
    return RecordedRun(parse_record(read_bytes(f"runs/{name}.jsonl")).events)


def spans_of(run: RecordedRun, **options: Any) -> list[Any]:
    return run_spans([run], **options)


@contextmanager
def receiver(status: int = 200, answer: bytes = b"", kind: str = "application/x-protobuf") -> Iterator[Any]:
    """Run a receiver of OTLP over HTTP; yield its address, and the requests that it decoded."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    received: list[tuple[str, dict[str, str], ExportTraceServiceRequest]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            received.append((self.path, dict(self.headers), ExportTraceServiceRequest.FromString(body)))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# the spans


def test_a_run_is_a_trace_of_its_generations_and_executions_at_the_recorded_times():
    run = recorded("native-tags")
    root, *steps = spans_of(run)
    assert [span.name for span in (root, *steps)] == [
        "invoke_agent glyphscope",
        "chat SmolLM2-135M with Qwen3.5's template",
        "execute_tool lookup_irregular_verb",
        "execute_tool lookup_irregular_verb",
        "chat SmolLM2-135M with Qwen3.5's template",
    ]
    assert all(span.parent.span_id == root.context.span_id for span in steps) and root.parent is None
    began = datetime.fromisoformat(run.started.time).timestamp() - run.started.t
    stages = [event for event in run.events if type(event).__name__ in ("StageStarted", "ToolStarted")]
    chat = stages[0]
    assert abs(steps[0].start_time / 1e9 - began - chat.t) < 1e-4
    assert abs(root.end_time / 1e9 - began - run.events[-1].t) < 1e-4
    for before, after in pairwise(steps):
        assert before.start_time < before.end_time <= after.start_time


def test_a_generation_has_its_model_sampling_tokens_and_reason():
    (_, chat, *_) = spans_of(recorded("verbs-loop"))
    run = recorded("verbs-loop")
    first = next(event for event in run.events if isinstance(event, Token))
    attributes = dict(chat.attributes)
    assert attributes.pop("gen_ai.response.time_to_first_chunk") == pytest.approx(first.t - 0.0033, abs=1e-4)
    assert isinstance(attributes["gen_ai.request.top_k"], int)
    assert attributes == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "llama.cpp",
        "gen_ai.request.model": "Smollm2 135M 8k Lc100K Mix1 Ep2", "gen_ai.request.stream": True,
        "gen_ai.request.seed": 1, "gen_ai.request.temperature": 0.0, "gen_ai.request.top_p": 0.95,
        "gen_ai.request.top_k": 40, "gen_ai.request.max_tokens": 512,
        "gen_ai.response.finish_reasons": ("tool_call",), "gen_ai.usage.input_tokens": 533,
        "gen_ai.usage.cache_read.input_tokens": 0, "gen_ai.usage.output_tokens": 17,
        "glyphscope.stage.name": "turn", "glyphscope.stage.kind": "turn",
        "glyphscope.tokens.forced": attributes["glyphscope.tokens.forced"],
    }  # fmt: skip


def test_the_model_of_an_endpoint_has_the_address_of_its_server_without_its_path():
    run = recorded("sources-abort")
    remote = ModelInfo(name="gpt", kind="remote", path="https://models.example.com/v1")
    events = (msgspec.structs.replace(run.started, model=remote), *run.events[1:])
    root, chat = spans_of(RecordedRun(events))
    assert {span.attributes["gen_ai.provider.name"] for span in (root, chat)} == {"openai"}
    address = chat.attributes["server.address"], chat.attributes["server.port"]
    assert address == ("models.example.com", 443)
    assert "server.address" not in root.attributes, "the agent runs in this process"


def test_the_tokens_of_reasoning_are_part_of_those_of_the_answer():
    _, first, *_, last = spans_of(recorded("native-tags"))
    for span in (first, last):
        reasoning = span.attributes["gen_ai.usage.reasoning.output_tokens"]
        assert 0 < reasoning < span.attributes["gen_ai.usage.output_tokens"]


@pytest.mark.parametrize(
    ("reason", "finished"),
    [
        ("end-of-text", "stop"),
        ("stop-string", "stop"),
        ("length", "length"),
        ("cancelled", "error"),
        (None, "error"),
    ],
)
def test_a_generation_ends_for_a_reason_of_the_conventions(reason, finished):
    events = [
        event
        for event in recorded("sources-abort").events
        if type(event).__name__ not in ("Violation", "Aborted", "RunFinished")
    ]
    finish = next(event for event in events if isinstance(event, StageFinished))
    events[events.index(finish) :] = [msgspec.structs.replace(finish, reason=reason)] if reason else []
    _, chat = spans_of(RecordedRun(events))
    assert chat.attributes["gen_ai.response.finish_reasons"] == (finished,)


def test_without_content_no_prompt_answer_argument_or_result_is_in_the_spans():
    run = recorded("native-tags")
    texts = ("jump", "irregular", "teacher", "<tool_call>")
    bare = (
        spans_json(spans_of(run))
        .replace("lookup_irregular_verb", "")
        .replace("whether an English verb is irregular", "")
    )
    assert not [text for text in texts if text in bare]
    assert "glyphscope.violation.message" not in spans_json(spans_of(recorded("sources-abort")))


def test_with_content_messages_calls_and_results_are_in_the_conventions_form():
    root, first, tool, _, last = spans_of(recorded("native-tags"), content=True)
    asked = json.loads(last.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "tool", "tool"]
    assert asked[1] == {
        "role": "user",
        "parts": [{"type": "text", "content": "Are jump and run irregular verbs?"}],
    }
    reasoning, call, other = asked[2]["parts"]
    assert reasoning["type"] == "reasoning" and other["id"] == "call-2"
    assert call == {
        "type": "tool_call", "name": "lookup_irregular_verb", "arguments": {"verb": "jump"}, "id": "call-1",
    }  # fmt: skip
    assert asked[3]["parts"][0]["type"] == "tool_call_response" and asked[3]["parts"][0]["id"] == "call-1"
    (answer,) = json.loads(last.attributes["gen_ai.output.messages"])
    assert answer["finish_reason"] == "stop" and answer["parts"][-1]["content"].startswith("Jump is regular")
    assert json.loads(tool.attributes["gen_ai.tool.call.arguments"]) == {"verb": "jump"}
    assert json.loads(tool.attributes["gen_ai.tool.call.result"])["verb"] == "jump"
    assert json.loads(first.attributes["gen_ai.tool.definitions"])[0]["name"] == "lookup_irregular_verb"
    assert json.loads(root.attributes["gen_ai.output.messages"]) == [answer]


@pytest.mark.parametrize(
    ("structured", "result"),
    [
        ({"verb": "jump"}, {"verb": "jump"}),
        (["jump"], {"content": ["jump"]}),
        (None, {"content": "It is regular."}),
    ],
)
def test_a_result_is_an_object_also_where_the_tool_returned_something_else(structured, result):
    run = recorded("native-tags")
    events = [
        msgspec.structs.replace(event, structured=structured, sent="It is regular.")
        if isinstance(event, ToolResult)
        else event
        for event in run.events
    ]
    _, _, tool, *_ = spans_of(RecordedRun(events), content=True)
    assert json.loads(tool.attributes["gen_ai.tool.call.result"]) == result


def test_an_invalid_answer_is_an_error_with_the_code_and_place_of_its_violation():
    root, chat = spans_of(recorded("sources-abort"))
    assert root.attributes["glyphscope.outcome"] == "aborted"
    assert {span.attributes["error.type"] for span in (root, chat)} == {"TYPE_MISMATCH"}
    assert not chat.status.is_ok and chat.attributes["gen_ai.response.finish_reasons"] == ("error",)
    (event,) = chat.events
    assert dict(event.attributes) == {
        "glyphscope.violation.code": "TYPE_MISMATCH", "glyphscope.violation.path": "/sources",
        "glyphscope.violation.character": 53,
    }  # fmt: skip


def test_a_failed_run_and_its_last_generation_have_the_code_of_the_failure():
    run = recorded("sources-abort")
    events = [
        event
        for event in run.events
        if type(event).__name__ not in ("StageFinished", "RunFinished", "Violation", "Aborted")
    ]
    events.append(RunFailed(code="MODEL_FAILED", message="The process ended.", run=run.started.run, t=9.0))
    root, chat = spans_of(RecordedRun(events))
    assert [span.attributes["error.type"] for span in (root, chat)] == ["MODEL_FAILED"] * 2
    assert root.status.description == "The process ended."


def test_a_run_whose_record_ends_in_the_middle_is_incomplete_and_has_the_spans_until_then(tmp_path):
    lines = read_bytes("runs/verbs-loop.jsonl").split(b"\n")
    path = tmp_path / "torn.jsonl"
    path.write_bytes(b"\n".join(lines[: len(lines) // 2]) + b'\n{"type":"tok')
    result = command("export", "otel", path)
    assert result.exit_code == 0 and "the last line is incomplete" in result.stderr
    spans = json.loads(result.stdout)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    outcome = [each["value"] for each in spans[0]["attributes"] if each["key"] == "glyphscope.outcome"]
    assert outcome == [{"stringValue": "incomplete"}] and len(spans) > 2
    assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans)


def test_a_record_without_a_valid_time_is_rejected():
    run = recorded("sources-abort")
    events = (msgspec.structs.replace(run.started, time="yesterday"), *run.events[1:])
    with pytest.raises(RecordError, match="no valid time: 'yesterday'"):
        spans_of(RecordedRun(events, "run.jsonl"))


def test_the_spans_of_a_run_are_the_same_in_every_export_and_follow_the_environment(monkeypatch):
    first = spans_json(spans_of(recorded("verbs-loop")))
    assert spans_json(spans_of(recorded("verbs-loop"))) == first
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab")
    resource = json.loads(spans_json(spans_of(recorded("verbs-loop"))))["resourceSpans"][0]["resource"]
    assert {"key": "deployment.environment.name", "value": {"stringValue": "lab"}} in resource["attributes"]
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(GlyphscopeError, match="made no spans"):
        spans_of(recorded("verbs-loop"))


# for others: the SDK's exporters, files, receivers


def test_the_spans_are_those_of_the_sdk_for_any_of_its_exporters(tmp_path):
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    path = tmp_path / "run.jsonl"
    path.write_bytes(read_bytes("runs/verbs-loop.jsonl"))
    exporter = InMemorySpanExporter()
    exporter.export(read_run(path).spans())
    assert [span.name for span in exporter.get_finished_spans()][:2] == [
        "invoke_agent glyphscope", "chat Smollm2 135M 8k Lc100K Mix1 Ep2",
    ]  # fmt: skip


def test_a_receiver_gets_the_spans_of_several_runs_with_the_headers_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc")
    paths = []
    for name in RUNS:
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_bytes(read_bytes(f"runs/{name}.jsonl"))
    with receiver() as (address, received):
        result = command("export", "otel", *paths, "--endpoint", address)
    assert result.exit_code == 0 and result.stdout == "", result.stderr
    assert f"13 spans sent to {address}" in result.stderr
    ((path, headers, _),) = received
    assert path == "/v1/traces" and headers["authorization"] == "Basic abc"
    spans = spans_in(received[0])
    assert len({span.trace_id for span in spans}) == 3 and len(spans) == 13
    chat = next(span for span in spans if span.name.startswith("chat"))
    assert chat.kind == chat.SPAN_KIND_CLIENT and len(chat.parent_span_id) == 8
    assert {each.key for each in chat.attributes} >= {
        "gen_ai.usage.input_tokens",
        "gen_ai.request.temperature",
    }


@contextmanager
def collector(forward_to: str) -> Iterator[str]:
    """Run an OpenTelemetry collector that forwards the spans; yield its address."""
    rotel = pytest.importorskip("rotel")
    with socket.create_server(("127.0.0.1", 0)) as http, socket.create_server(("127.0.0.1", 0)) as grpc:
        addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in (http, grpc)]
    options = {
        "otlp-http-endpoint": addresses[0],
        "otlp-grpc-endpoint": addresses[1],
        "exporter": "otlp",
        "otlp-exporter-endpoint": forward_to,
        "otlp-exporter-protocol": "http",
        "batch-timeout": "10ms",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    program = Path(rotel.__file__).with_name("rotel-agent")
    process = subprocess.Popen([program, "start", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and "Starting" in process.stdout.readline()
        for address in addresses:
            host, port = address.split(":")
            while process.poll() is None:
                with suppress(ConnectionRefusedError):
                    socket.create_connection((host, int(port))).close()
                    break
        yield f"http://{addresses[0]}"
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.slow
def test_a_collector_forwards_the_spans_as_they_were_sent():
    spans = [span for name in RUNS for span in spans_of(recorded(name), content=True)]
    with receiver() as (address, received), collector(address) as there:
        send_spans(spans, there)
        line = spans_json(spans_of(recorded("search-mask"))).encode()
        request = Request(f"{there}/v1/traces", line, {"Content-Type": "application/json"})
        with urlopen(request) as answer:
            assert answer.status == 200
        while sum(len(each) for each in map(spans_in, received)) < len(spans) + 2:
            threading.Event().wait(0.01)
    found = {span.span_id.hex(): span for each in received for span in spans_in(each)}
    for span in spans:
        got = found[f"{span.context.span_id:016x}"]
        assert (got.name, got.trace_id.hex()) == (span.name, f"{span.context.trace_id:032x}")
        assert (got.start_time_unix_nano, got.end_time_unix_nano) == (span.start_time, span.end_time)
        assert {each.key for each in got.attributes} == {*span.attributes}
        assert [event.name for event in got.events] == [event.name for event in span.events]


def spans_in(request: tuple[str, dict[str, str], Any]) -> list[Any]:
    return [span for each in request[2].resource_spans for scope in each.scope_spans for span in scope.spans]


def test_a_line_of_json_has_the_same_spans_as_the_protocol_with_ids_in_hexadecimal():
    spans = spans_of(recorded("sources-abort"))
    text = spans_json(spans)
    assert text.count("\n") == 1
    root, chat = json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert root["traceId"] == f"{spans[0].context.trace_id:032x}" == chat["traceId"]
    assert chat["parentSpanId"] == root["spanId"] == f"{spans[0].context.span_id:016x}"
    assert (root["kind"], chat["kind"]) == (1, 3) and chat["status"]["code"] == 2


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"status": 404}, "The receiver answered 404 Not Found."),
        ({"status": 401}, "401 Unauthorized"),
        ({"answer": b"<html>", "kind": "text/html"}, "The answer is not OTLP, but text/html."),
        ({"answer": b"\x0a\xff"}, "The answer is not OTLP."),
        ({"answer": b"\x0a\x09\x08\x02\x12\x05quota"}, "rejected 2 spans: quota"),
    ],
)
def test_a_receiver_that_does_not_take_the_spans_is_an_error_with_its_answer(answers, words):
    spans = spans_of(recorded("sources-abort"))
    with receiver(**answers) as (address, _), pytest.raises(GlyphscopeError) as error:
        send_spans(spans, address)
    assert words in error.value.message and error.value.where == f"{address}/v1/traces"


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("http://127.0.0.1:1", "cannot be reached: Connection refused"),
        ("127.0.0.1:4318", "not an address"),
        ("grpc://host:4317", "not an address"),
        ("http://host:port", "not an address"),
    ],
)
def test_an_endpoint_that_cannot_be_reached_is_reported_at_once(endpoint, words, capfd):
    with pytest.raises(GlyphscopeError, match=words):
        send_spans(spans_of(recorded("sources-abort")), endpoint)
    assert capfd.readouterr().err == ""


def test_options_of_spans_are_rejected_for_other_forms_and_the_missing_package_is_named(
    tmp_path, monkeypatch
):
    path = tmp_path / "run.jsonl"
    path.write_bytes(read_bytes("runs/sources-abort.jsonl"))
    result = command("export", "html", path, "--content")
    assert result.exit_code == 2 and "only for OpenTelemetry spans" in result.stderr
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = command("export", "otel", path)
    assert result.exit_code == 2 and "pip install 'glyphscope[otel]'" in result.stderr
