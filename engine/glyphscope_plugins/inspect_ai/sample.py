"""A sample in the form of Inspect's log: conversation, events of its generations and tools, usage and scores."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from glyphscope.base.errors import RegistryError
from glyphscope.evals.results.figures import SCORES
from glyphscope.evals.results.sample import JudgeVerdict, Sample
from glyphscope.evals.results.words import REASON_WORDS
from glyphscope.evals.suites.suite import Scenario, expected_words
from glyphscope.events import Message, Sampling, ToolCall
from glyphscope.events.encoding import encode_json
from glyphscope.runs.stage_words import prompt_tokens
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.steps import Execution, RunSteps, StepGeneration, run_steps, wall_clock

Document = dict[str, Any]

_STOPS = {"complete": "stop", "end-of-text": "stop", "stop-string": "stop", "length": "max_tokens"}
"""Inspect's reasons why a text ended; any other is `unknown` there, and is in the metadata."""
_FAULTS = {"timeout": "timeout", "denied": "approval", "cancelled": "cancelled", "guard": "limit"}
"""Inspect's types of errors of tools; any other is `unknown` there."""
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
GRADER = "grader"
"""Inspect's role of a judge model."""


def sample_document(
    sample: Sample,
    scenario: Scenario | None,
    model: str,
    runs: Sequence[RecordedRun],
    judged: Sequence[tuple[JudgeVerdict, RecordedRun]] = (),
) -> Document:
    """The sample with the existing records of its turns and of its judge.

    Raises RecordError for a record with an invalid time.
    """
    turns = [run_steps(run) for run in runs]
    began = turns[0].began if turns else valid_time(sample.time)
    ended = turns[-1].time(turns[-1].ended) if turns else began + timedelta(milliseconds=sample.total_ms)
    opening = _opening(sample, scenario, turns)
    scores = _scores(sample)
    start = {"event": "sample_init", "sample": opening, "state": {}}
    events = [{**start, "timestamp": began.isoformat(), "working_start": 0.0}]
    for run in turns:
        events += _run_events(run, model, began)
    for verdict, record in judged:
        events += _run_events(run_steps(record), verdict.model, began, role=GRADER)
    at = {
        "timestamp": events[-1].get("completed") or began.isoformat(),
        "working_start": sample.total_ms / 1000,
    }
    for name, score in scores.items():
        events.append({"event": "score", "score": score, "target": opening["target"], "scorer": name, **at})
    generations = [(run, made) for run in turns for made in run.generations]
    usage = sum_usage(_usage(made) for _, made in generations) if generations else _known_usage(sample)
    conversation = turns[-1].messages if turns else (Message("user", opening["input"]), _answer(sample))
    id = stable_id(sample.id, sample.time)
    document = {
        **opening,
        "epoch": sample.trial,
        "messages": [message_document(each) for each in conversation],
        "output": _output(*generations[-1], model) if generations else _plain_output(sample, model),
        "scores": scores,
        "events": [{**event, "uuid": f"{id}-{number}"} for number, event in enumerate(events)],
        "model_usage": {model: usage} if usage else {},
        "started_at": began.isoformat(),
        "completed_at": ended.isoformat(),
        "total_time": (ended - began).total_seconds(),
        "working_time": sample.total_ms / 1000,
        "uuid": id,
        "turn_count": sample.model_turns,
    }
    if not sample.answered:
        document["error"] = error_document(_why(sample))
    return document


def valid_time(text: str) -> datetime:
    """The time in ISO 8601; 1970 for one that is missing or invalid, as a log needs one."""
    return wall_clock(text) or datetime.fromtimestamp(0, UTC)


def stable_id(*parts: str) -> str:
    """An id that is the same for the same parts, so that every export of a result gives the same log."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:22]


def error_document(message: str) -> Document:
    return {"message": message, "traceback": "", "traceback_ansi": ""}


def sum_usage(usages: Iterable[Document]) -> Document:
    """The total usage; empty if one is."""
    total: Counter[str] = Counter()
    for usage in usages:
        if not usage:
            return {}
        total.update(usage)
    return dict(total)


def sampling_document(sampling: Sampling | None) -> Document:
    """Inspect's names for the settings of a sampler."""
    if sampling is None:
        return {}
    names = ("temperature", "top_p", "top_k", "seed")
    return {name: getattr(sampling, name) for name in names}


def message_document(message: Message) -> Document:
    """A chat message, with an id that is the same for the same message."""
    document: Document = {"role": message.role, "content": message.content}
    if message.reasoning:
        document["content"] = [
            {"type": "reasoning", "reasoning": message.reasoning},
            {"type": "text", "text": message.content},
        ]
    if message.role == "assistant":
        document["source"] = "generate"
        if message.tool_calls:
            document["tool_calls"] = [
                {"id": call.id or f"call_{number}", "function": call.name, "arguments": call.arguments}
                for number, call in enumerate(message.tool_calls, 1)
            ]
    if message.role == "tool":
        document |= {"tool_call_id": message.tool_call_id or None, "function": message.name or None}
    return {"id": stable_id(encode_json(document).decode()), **document}


# -- inside ----------------------------------------------------------------------------------------------------


def _opening(sample: Sample, scenario: Scenario | None, turns: Sequence[RunSteps]) -> Document:
    """The members that are also in Inspect's dataset: the prompt, and the expectations in words."""
    prompt = "" if scenario is None else scenario.prompt
    history: tuple[Message, ...] = ()
    if turns:
        prompt, history = turns[0].run.request.prompt, turns[0].run.request.history
    document: Document = {"id": sample.scenario, "input": prompt, "metadata": _metadata(sample, scenario)}
    if history:
        document["input"] = [message_document(each) for each in (*history, Message("user", prompt))]
    document["target"] = ", ".join(sample.expected) if scenario is None else expected_words(scenario)
    return document


def _run_events(run: RunSteps, model: str, since: datetime, role: str = "") -> list[Document]:
    """The events of one run. Working time counts from `since`, the start of the sample."""
    tools = _tools(run.run)
    before = (run.began - since).total_seconds()
    events = []
    for step in run.steps:
        if isinstance(step, StepGeneration):
            event = _model_event(run, step, model, tools)
        else:
            event = _tool_event(step)
        event |= {
            "timestamp": run.time(step.began).isoformat(),
            "completed": run.time(step.ended).isoformat(),
            "working_time": step.ended - step.began,
            "working_start": before + step.began,
        }
        if role:
            event["role"] = role
        events.append(event)
        events += _violations(run, step, event) if isinstance(step, StepGeneration) else []
    return events


def _model_event(run: RunSteps, made: StepGeneration, model: str, tools: list[Document]) -> Document:
    request = run.run.request
    config = {**sampling_document(request.sampling), "max_tokens": request.max_tokens}
    if request.stop:
        config["stop_seqs"] = list(request.stop)
    event: Document = {
        "event": "model",
        "model": model,
        "input": [message_document(each) for each in made.messages],
        "tools": tools,
        "tool_choice": _CHOICES.get(request.tool_choice) or {"name": request.tool_choice},
        "config": config,
        "output": _output(run, made, model),
        "metadata": {"stage": made.stage.name, "title": made.stage.title, "reason": made.reason},
    }
    if run.state.failed is not None and made is run.generations[-1]:
        event["error"] = event["output"]["error"] = run.state.failed.message
    return event


def _output(run: RunSteps, made: StepGeneration, model: str) -> Document:
    choice = {
        "message": {**message_document(made.answer), "model": model},
        "stop_reason": "tool_calls" if made.stage.calls else _STOPS.get(made.reason, "unknown"),
    }
    if (logprobs := _logprobs(made)) is not None:
        choice["logprobs"] = {"content": logprobs}
    return {
        "model": model,
        "choices": [choice],
        "completion": made.answer.content,
        "usage": _usage(made) or None,
        "time": made.ended - made.began,
    }


def _logprobs(made: StepGeneration) -> list[Document] | None:
    """The model's own log-probabilities, before mask and sampler; None if one is unknown."""
    tokens = []
    for token in made.stage.tokens:
        step = token.step
        if step.logprob is None or not math.isfinite(step.logprob):
            return None
        top = [
            {"token": each.text, "logprob": math.log(each.raw), "bytes": list(each.data)}
            for each in step.alternatives
            if each.raw > 0
        ]
        tokens.append(
            {"token": step.text, "logprob": step.logprob, "bytes": list(step.data), "top_logprobs": top}
        )
    return tokens or None


def _usage(made: StepGeneration) -> Document:
    """Tokens by Inspect's names: the prompt's tokens in the cache are counted separately. Empty if the prompt's are
    unknown, as Inspect's numbers are 0 where they are missing.
    """
    asked, cached = prompt_tokens(made.stage)
    if not asked:
        return {}
    cached, answered = min(cached, asked), made.stage.token_count
    return {
        "input_tokens": asked - cached,
        "input_tokens_cache_read": cached,
        "output_tokens": answered,
        "total_tokens": asked + answered,
    }


def _known_usage(sample: Sample) -> Document:
    """The usage of a sample without records, whose number of cached tokens is unknown."""
    if not sample.prompt_tokens:
        return {}
    total = sample.prompt_tokens + sample.decoded
    return {"input_tokens": sample.prompt_tokens, "output_tokens": sample.decoded, "total_tokens": total}


def _tool_event(made: Execution) -> Document:
    event: Document = {
        "event": "tool",
        "id": made.call,
        "function": made.tool,
        "arguments": made.arguments,
        "result": made.message.content,
        "metadata": {"source": made.source},
    }
    result = made.result
    if result is not None and not result.ok:
        message = result.message or made.message.content
        event["error"] = {"type": _FAULTS.get(result.fault, "unknown"), "message": message}
    return event


def _violations(run: RunSteps, made: StepGeneration, event: Document) -> list[Document]:
    """An entry of the transcript with the violations of a text, at the characters that decided them."""
    found = [
        {
            "code": each.code,
            "path": each.path,
            "character": each.char,
            "message": each.message,
            "possible": each.viable,
        }
        for each in made.stage.violations
    ]
    if not found:
        return []
    times = {"timestamp": event["completed"], "working_start": event["working_start"] + event["working_time"]}
    return [{"event": "info", "source": "glyphscope", "data": {"violations": found}, **times}]


def _tools(run: RecordedRun) -> list[Document]:
    try:
        registry = run.registry
    except RegistryError:
        return []
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in registry.allowed
    ]


def _scores(sample: Sample) -> dict[str, Document]:
    """The known verdicts; none for a sample without a result."""
    known = {name: value for name in SCORES if (value := getattr(sample, name)) is not None}
    scores: dict[str, Document] = {}
    for name, value in known.items() if sample.answered else ():
        scores[name] = {"value": "C" if value else "I", "answer": _answer_text(sample)}
        if name == "ok":
            scores[name] |= {"explanation": _why(sample), "metadata": _verdict(sample)}
    return scores


def _why(sample: Sample) -> str:
    """The reasons why a sample is not ok, and the judge's reasons."""
    lines = []
    for each in sample.failures:
        details = " ".join(filter(None, (each.path, each.detail)))
        lines.append(f"{REASON_WORDS[each.reason]}: {details}" if details else REASON_WORDS[each.reason])
    lines += [f"{each.model}: {each.reason or each.error}" for each in sample.judged]
    return "\n".join(lines)


def _verdict(sample: Sample) -> Document:
    return {
        "failures": msgspec.to_builtins(sample.failures),
        "judged": msgspec.to_builtins(sample.judged),
        "outcome": sample.outcome,
    }


def _answer_text(sample: Sample) -> str:
    calls = [f"{call.tool}({encode_json(call.arguments).decode()})" for call in sample.calls]
    return "\n".join(calls) or sample.text


def _answer(sample: Sample) -> Message:
    calls = tuple(ToolCall(call.tool, call.arguments) for call in sample.calls)
    return Message("assistant", sample.text, calls)


def _plain_output(sample: Sample, model: str) -> Document:
    choice = {"message": message_document(_answer(sample)), "stop_reason": "unknown"}
    return {"model": model, "choices": [choice], "completion": sample.text}


def _metadata(sample: Sample, scenario: Scenario | None) -> Document:
    metadata: Document = {
        "group": sample.group,
        "level": sample.level,
        "control": sample.control,
        "seed": sample.seed,
        "instructions": sample.instructions,
        "forced": sample.forced,
        "first_token_ms": sample.first_token_ms,
        "stopped_at": sample.stopped_at,
        "saved": sample.saved,
        "records": list(sample.runs),
    }
    if scenario is not None:
        metadata["expect"] = msgspec.to_builtins(scenario.expect)
        if scenario.turns:
            metadata["turns"] = msgspec.to_builtins(scenario.turns)
        if scenario.note:
            metadata["note"] = scenario.note
    return metadata
