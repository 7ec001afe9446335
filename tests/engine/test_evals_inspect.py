"""The samples of a result as logs of Inspect, which Inspect itself reads."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import msgspec
import pytest

from glyphscope import Evaluation, evaluate
from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.resources import read_bytes
from glyphscope.evals.results import export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import JudgeVerdict, SampleFailure
from glyphscope.events import AnyEvent, Message
from glyphscope.store.exports import RecordedRun
from glyphscope.store.records import parse_record
from glyphscope_plugins.inspect_ai.sample import sample_document
from made_results import WRONG, events_of, four_arms, made_manifest, made_sample, recorded_result

MODEL = "llama.cpp/SmolLM2 135M Instruct"


def bundled(name: str) -> tuple[AnyEvent, ...]:
    return parse_record(read_bytes(f"runs/{name}.jsonl")).events


def document(name: str, **changes: object) -> dict:
    sample = made_sample(four_arms()[0], **changes)  # type: ignore[arg-type]
    return sample_document(sample, None, MODEL, [RecordedRun(bundled(name))])


def test_a_loop_is_a_conversation_with_an_event_for_each_generation_and_each_executed_call():
    made = document("native-tags")
    assert [message["role"] for message in made["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    calls = made["messages"][2]["tool_calls"]
    assert [(call["id"], call["arguments"]) for call in calls] == [
        ("call-1", {"verb": "jump"}),
        ("call-2", {"verb": "run"}),
    ]
    assert [message["tool_call_id"] for message in made["messages"][3:5]] == ["call-1", "call-2"]
    kinds = [event["event"] for event in made["events"]]
    assert kinds == ["sample_init", "model", "tool", "tool", "model", *["score"] * 5]
    tool = made["events"][2]
    assert (tool["function"], tool["id"]) == ("lookup_irregular_verb", "call-1") and '"jumped"' in tool[
        "result"
    ]
    first, last = (event for event in made["events"] if event["event"] == "model")
    assert (
        first["timestamp"] < first["completed"] <= tool["timestamp"] < tool["completed"] <= last["timestamp"]
    )
    assert first["output"]["choices"][0]["stop_reason"] == "tool_calls"
    assert last["output"]["completion"].startswith("Jump is regular")
    usage = made["model_usage"][MODEL]
    assert usage == {
        "input_tokens": 924 + 1135 - 1023, "input_tokens_cache_read": 1023,
        "output_tokens": usage["output_tokens"], "total_tokens": 924 + 1135 + usage["output_tokens"],
    }  # fmt: skip


def test_the_log_probabilities_are_those_of_the_model_before_the_mask():
    events = bundled("search-mask")
    made = document("search-mask")
    tokens = made["output"]["choices"][0]["logprobs"]["content"]
    steps = [event.step for event in events if type(event).__name__ == "Token"]
    assert [(token["token"], token["logprob"]) for token in tokens] == [
        (step.text, step.logprob) for step in steps
    ]
    best = tokens[0]["top_logprobs"][0]
    assert best["logprob"] == math.log(steps[0].alternatives[0].raw)


def test_a_wrong_answer_has_its_reason_and_its_violation_at_the_deciding_character():
    made = document("sources-abort", ok=False, scenario=3)
    assert {name: score["value"] for name, score in made["scores"].items()} == {
        "ok": "I", "parsed": "C", "valid": "I", "right_tool": "C", "right_arguments": "I",
    }  # fmt: skip
    reason = made["scores"]["ok"]["explanation"]
    assert reason == "The call, or the answer, violates its schema: /max_results max_results is at most 100"
    (info,) = (event for event in made["events"] if event["event"] == "info")
    (violation,) = info["data"]["violations"]
    assert violation["character"] == 53 and violation["path"] == "/sources"


def test_a_sample_without_a_result_is_an_error_without_scores():
    failure = SampleFailure(reason="MODEL_FAILED", detail="the process ended with signal 9")
    made = document("sources-abort", ok=False, failures=(failure,))
    assert made["scores"] == {} and "signal 9" in made["error"]["message"]


def test_a_sample_without_its_record_has_its_text_and_calls():
    made = sample_document(made_sample(four_arms()[0], time="2026-11-21T12:00:00Z"), None, MODEL, [])
    question, answer = made["messages"]
    assert answer["tool_calls"][0]["function"] == "search" and question["role"] == "user"
    assert made["started_at"] == "2026-11-21T12:00:00+00:00"
    assert made["model_usage"][MODEL]["total_tokens"] == 200


def test_without_inspect_ai_the_package_to_install_is_named(tmp_path, monkeypatch):
    folder = ResultFolder.open(recorded_result(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(GlyphscopeError, match="inspect_ai") as missing:
        export_samples(folder, tmp_path / "log.eval")
    assert "pip install 'glyphscope[inspect]'" in missing.value.hint


# with inspect_ai itself, whose import takes a second


def read(path: Path):
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(path))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_reads_a_log_for_each_suite_and_arm(tmp_path, ending):
    pytest.importorskip("inspect_ai")
    folder = ResultFolder.open(recorded_result(tmp_path))
    exported = export_samples(folder, tmp_path / "logs" / f"log.{ending}")
    arms = folder.manifest.arms
    assert [path.name for path in exported.files] == [f"log.made.{arm.id}.{ending}" for arm in arms]
    right, wrong = map(read, exported.files)
    assert right.status == "success" and right.eval.task == "made" and right.eval.model == MODEL
    assert right.eval.task_args["notation"] == "glyph" and right.eval.config.epochs == 1
    assert right.eval.model_generate_config.temperature == 0.8
    accuracy = [
        {each.name: each.metrics["accuracy"].value for each in log.results.scores} for log in (right, wrong)
    ]
    assert [each["ok"] for each in accuracy] == [1.0, 0.0]
    (sample,) = wrong.samples
    assert sample.scores["ok"].value == "I" and "at most 100" in sample.scores["ok"].explanation
    assert sample.input == "Search for AI news, 10 results" and sample.messages[-1].role == "assistant"
    model = next(event for event in sample.events if event.event == "model")
    assert [tool.name for tool in model.tools][:2] == ["search", "calculate"]
    assert model.tools[0].parameters.properties["max_results"].maximum == 100


@pytest.mark.slow
def test_the_log_of_one_arm_has_the_given_name_and_is_the_same_each_time(tmp_path):
    pytest.importorskip("inspect_ai")
    model = 'scripted:{"name":"search","arguments":{"query":"\\ud800","max_results":10}}'
    result = evaluate("starter", model, out=tmp_path, first=2, trials=2, notations=["json"])
    (path,) = result.export(tmp_path / "one.json")
    before = path.read_bytes()
    assert path.name == "one.json" and Evaluation(result.path).export(path) == (path,)
    log = read(path)
    assert log.results.scores[0].name == "ok" and log.eval.config.epochs == 2
    assert sorted((sample.id, sample.epoch) for sample in log.samples) == sorted(
        (sample.scenario, sample.trial) for sample in result.samples
    )
    assert json.loads(before) == json.loads(path.read_bytes())


@pytest.mark.slow
def test_a_judge_is_a_grader_and_a_missing_model_is_the_error_of_its_log(tmp_path):
    pytest.importorskip("inspect_ai")
    first, second, *_ = four_arms()
    second = msgspec.structs.replace(second, model="missing.gguf")
    judged = JudgeVerdict(
        model="judge", rubric="about news", passed=False, reason="It is about tea.", tokens=9
    )
    sample = made_sample(first, ok=False, failures=(SampleFailure(reason="JUDGE"),), judged=(judged,))
    manifest = made_manifest((first, second), 1, 1, missing={"missing.gguf": "There is no such file."})
    folder = ResultFolder.create(tmp_path, manifest, {})
    with folder.writing() as writer:
        writer.add(sample, [bundled("verbs-loop"), events_of(WRONG)])
    judged_log, missing = map(read, export_samples(folder, tmp_path / "log.eval").files)
    assert missing.status == "error" and missing.error.message == "There is no such file."
    (made,) = judged_log.samples
    grader = [event for event in made.events if event.event == "model" and event.role == "grader"]
    assert len(grader) == 1 and grader[0].model == "judge"
    assert made.scores["ok"].explanation.endswith("judge: It is about tea.")


@pytest.mark.slow
def test_a_conversation_before_the_prompt_is_part_of_the_input(tmp_path):
    pytest.importorskip("inspect_ai")
    events = events_of(WRONG, history=(Message("user", "Hello"), Message("assistant", "Hi.")))
    folder = ResultFolder.create(tmp_path, made_manifest(four_arms()[:1], 1, 1), {})
    with folder.writing() as writer:
        writer.add(made_sample(four_arms()[0]), [events])
    (path,) = export_samples(folder, tmp_path / "log.eval").files
    (sample,) = read(path).samples
    assert [(each.role, each.text) for each in sample.input] == [
        ("user", "Hello"), ("assistant", "Hi."), ("user", "Search for AI news, 10 results"),
    ]  # fmt: skip
    assert [each.text for each in sample.messages[-4:-1]] == [each.text for each in sample.input]
