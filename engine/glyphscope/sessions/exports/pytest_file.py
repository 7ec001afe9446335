"""A run as a self-contained pytest file: it needs glyphscope, but neither the model nor the record.

Each judged text is a test that the current validator's verdict is the recorded one. Digests of the file's sources
identify edits of the registry or of a text as such.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from glyphscope.errors import GlyphscopeError
from glyphscope.events import RunRequest
from glyphscope.notation.chat_tool_format import native_format
from glyphscope.runs.sampling import limits_in_words, sampling_words
from glyphscope.sessions.exports.judged_texts import JudgedText, judged_texts
from glyphscope.sessions.exports.recorded_run import RecordedRun
from glyphscope.visible import one_line

_OF_ANSWER = (
    "notation", "shape", "native", "form", "thinking", "tool_choice", "most_calls", "constrain_from", "constraint",
    "free_text", "grammar",
)  # fmt: skip

_HEAD = '''\
"""A recorded run of Glyphscope as a test: its text must get the same verdicts as in the record.

It needs `pip install glyphscope pytest`, but no model.
"""
'''

_JUDGE = '''\
def judged(judge, text, digest, *, ended=True):
    """The violations of the text as in a record, after a check that the text is unchanged."""
    assert sha256(text.encode()).hexdigest() == digest, "the text was changed"
    events = [*judge.feed(text), *(judge.finish() if ended else ())]
    judged = [decode_event(encode_event(event)) for event in events]
    return [(event.code, event.char, event.path) for event in violations_of(judged)]


def recorded(tool, arguments):
    """The call in JSON, which distinguishes 1, 1.0 and true, as in a record."""
    call = json.loads(encode_event(CallReady(tool=tool, arguments=arguments, text="")))
    return json.dumps([call["tool"], call["arguments"]])
'''


def pytest_file(run: RecordedRun) -> str:
    """Python source. Raises GlyphscopeError if no text of the run was judged, RegistryError if it has no tools."""
    document, digest = run.enforced.to_document(), run.enforced.digest
    found = judged_texts(run.request, run.events)
    if not found.texts:
        why = f" ({'; '.join(found.omitted)})" if found.omitted else ""
        raise GlyphscopeError(
            f"No text of this run can be judged separately{why}.",
            where="pytest",
            hint="Use glyphscope replay --verify, which runs the recorded tokens again.",
        )
    registry = f"REGISTRY = load_registry(json.loads({_json_literal(document, 1)}))\n"
    unchanged = (
        "def test_the_registry_is_the_runs():\n"
        f'    assert REGISTRY.digest == "{digest}", "the registry was changed"\n'
    )
    tests = [_test(text, name, run.request) for text, name in zip(found.texts, _names(found.texts))]
    head = _HEAD + "\n" + "".join(f"# {line}\n" for line in _about(run, found.omitted))
    parts = [head + "\n" + _imports(found.texts, run.request) + "\n" + registry, _JUDGE, unchanged, *tests]
    return "\n\n".join(parts)


def _about(run: RecordedRun, omitted: tuple[str, ...]) -> Iterator[str]:
    """The facts about the run, each on one line, whatever the model's file name."""
    started, model = run.started, run.started.model
    known = f", SHA-256 {model.sha256}" if model.sha256 else ""
    quantisation = f", {model.quantisation}" if model.quantisation else ""
    yield one_line(f"Run {started.run} of {started.time}: {model.name}{quantisation}{known}")
    yield one_line(f"seed {run.request.sampling.seed}, constraint {run.request.constraint}")
    yield one_line(f"{sampling_words(run.request.sampling)}, {limits_in_words(run.request)}")
    yield one_line(", ".join(f"{name} {version}" for name, version in started.versions.items()))
    for reason in omitted:
        yield one_line(f"Not judged here: {reason}.")


_MODULES = {
    "ArgumentsValidator": "glyphscope.validation.split_call",
    "CallValidator": "glyphscope.validation.call",
    "FreeTextValidator": "glyphscope.validation.free_text_answer",
    "NameValidator": "glyphscope.validation.split_call",
    "answer_validator": "glyphscope.strategies.turns",
    "validator_of": "glyphscope.validation.free_text_answer",
}
"""The modules of the validators."""


def _imports(texts: tuple[JudgedText, ...], request: RunRequest) -> str:
    judges = sorted({_judge(text, request)[0] for text in texts})
    asked = "RunRequest, " if {"answer_validator", "validator_of"} & set(judges) else ""
    lines = ["import json"]
    if any(text.only for text in texts):
        lines.append("from dataclasses import replace")
    lines += [
        "from hashlib import sha256",
        "",
        f"from glyphscope.events import CallReady, {asked}decode_event, encode_event, violations_of",
        "from glyphscope.registry import load_registry",
        *(f"from {_MODULES[name]} import {name}" for name in judges),
    ]
    return "\n".join(lines) + "\n"


def _judge(text: JudgedText, request: RunRequest) -> tuple[str, str]:
    """The validator's name, and the expression that makes it."""
    registry = "REGISTRY"
    if text.only:
        registry = f"replace(REGISTRY, tools=(REGISTRY.get({text.only!r}),))"
    arguments = f"{registry}, {request.notation!r}, {request.shape!r}"
    if text.judge == "name":
        return "NameValidator", f"NameValidator({arguments})"
    if text.judge == "arguments":
        return "ArgumentsValidator", f"ArgumentsValidator({arguments}, {text.part_of!r})"
    if text.judge == "run" and (
        request.form or request.most_calls != 1 or request.tool_choice in ("auto", "none")
    ):
        return "answer_validator", f"answer_validator({_answer(request)}, {registry})"
    if text.judge == "run" and native_format(request.native) is not None:
        asked = (
            f'RunRequest(prompt="", registry={{}}, native={request.native!r}, '
            f"constraint={request.constraint!r})"
        )
        return "validator_of", f"validator_of({asked}, {registry})"
    if text.judge == "run" and request.free_text:
        return "FreeTextValidator", f"FreeTextValidator({arguments})"
    return "CallValidator", f"CallValidator({arguments})"


def _answer(request: RunRequest) -> str:
    """The fields of a request that determine the validation of its answer, as a RunRequest in Python."""
    usual = RunRequest(prompt="", registry={})
    given = [
        f"{name}={getattr(request, name)!r}"
        for name in _OF_ANSWER
        if getattr(request, name) != getattr(usual, name)
    ]
    members = ", ".join(["prompt=''", "registry={}", *given])
    return f"RunRequest({members})"


def _test(text: JudgedText, name: str, request: RunRequest) -> str:
    digest = hashlib.sha256(text.text.encode()).hexdigest()
    until = "" if text.ended else ", ended=False"
    lines = [
        f"def {name}():",
        f"    judge = {_judge(text, request)[1]}",
        f"    text = {text.text!r}",
        f'    found = judged(judge, text, "{digest}"{until})',
        f"    assert found == {[tuple(verdict) for verdict in text.verdicts]!r}",
    ]
    if text.ended:
        lines.append(f"    assert judge.valid is {text.valid}")
    if text.tool is not None:
        literal = _json_literal(text.arguments)
        lines.append(f"    arguments = json.loads({literal})")
        lines.append(
            f"    assert recorded(judge.tool, judge.arguments) == recorded({text.tool!r}, arguments)"
        )
    return "\n".join(lines) + "\n"


def _names(texts: tuple[JudgedText, ...]) -> list[str]:
    """A name for each test, from its stage; with a number if a stage has several."""
    names: list[str] = []
    for text in texts:
        name = "test_" + re.sub(r"\W+", "_", text.stage, flags=re.ASCII).strip("_").lower()
        same = sum(other == name or other.startswith(f"{name}_again_") for other in names)
        names.append(f"{name}_again_{same}" if same else name)
    return names


def _json_literal(value: Any, indent: int | None = None) -> str:
    """JSON in a raw string, because Python literals cannot be nested as deeply."""
    text = json.dumps(value, indent=indent)
    return "r'''" + text.replace("'''", r"\u0027\u0027\u0027") + "'''"
