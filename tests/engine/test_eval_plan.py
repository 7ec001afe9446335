"""The plan of a matrix: its samples, their seeds, and equality of plans."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from expected_texts import as_in_file, blocks_of
from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import Matrix, plan_of, seed_of
from glyphscope.evals.matrix.profiles import catalogue, profile, profiles, recommended_presets
from glyphscope.evals.results import what_differs
from glyphscope.evals.results.words import arm_labels
from glyphscope.events import ModelInfo, Sampling
from glyphscope.runs.strategies import loop_presets

MATRIX = Matrix(suites=("tool-calls",), models=("embedded",))


CASES = Path(__file__).with_name("eval_plan.txt")
TOOLS = {
    name: {"name": name, "parameters": {"type": "object", "properties": {argument: {"type": "string"}}}}
    for name, argument in (("page", "action"), ("look", "at"))
}


def replaced(**members) -> Matrix:
    return msgspec.structs.replace(MATRIX, **members)


def suite_of(folder: Path, scenarios: list[list[str]]) -> str:
    """A suite of scenarios with these tools; one with a `-` is disabled."""
    made = []
    for number, names in enumerate(scenarios, 1):
        tools = [{**TOOLS[name.lstrip("-")], "enabled": name[0] != "-"} for name in names]
        registry = {"glyphscope": 1, "tools": tools}
        made.append({"id": f"s{number}", "prompt": "x", "registry": registry, "expect": {"calls": []}})
    path = folder / "suite.json"
    path.write_text(json.dumps({"glyphscope_suite": 1, "name": "s", "about": "x", "scenarios": made}))
    return str(path)


def plan_lines(folder: Path, members: dict[str, Any]) -> Iterator[str]:
    """The arms with their labels, what two of them differ in, the number of samples and, of few, their order."""
    if tools := members.pop("tools", None):
        members["suites"] = [suite_of(folder, tools)]
    try:
        plan = plan_of(msgspec.convert({**msgspec.to_builtins(MATRIX), **members}, Matrix))
    except GlyphscopeError as error:
        yield f"= {error}".partition("\n")[0]
        return
    labels = arm_labels(plan.arms)
    yield from (f"= {arm.id} ({labels[arm.id]})" for arm in plan.arms)
    if len(plan.arms) == 2:
        yield f"= they differ in {what_differs(*plan.arms)}"
    samples = list(plan.samples())
    assert len(samples) == plan.cost.samples == len({sample.id for sample in samples})
    scenarios = sum(len(loaded.suite.scenarios) for loaded in plan.suites)
    yield f"= {scenarios} scenarios, {len(samples)} samples"
    if len(samples) <= 12:
        yield from (f"    {labels[each.arm.id]}: {each.scenario.id}" for each in samples)
    yield from (f"= {note}" for note in plan.notes)


def test_plans_are_those_of_the_file(tmp_path):
    def found() -> Iterator[str]:
        for block in blocks_of(CASES):
            line = block.split("\n")[0]
            yield (
                line if line.startswith("# ") else "\n".join((line, *plan_lines(tmp_path, json.loads(line))))
            )

    as_in_file(CASES, found())


def test_arms_are_paired_by_their_seeds_and_trials_are_not():
    plan = plan_of(replaced(notations=("glyph", "json"), trials=2))
    seeds: dict[tuple[str, int], set[int]] = {}
    for sample in plan.samples():
        seeds.setdefault((sample.scenario.id, sample.trial), set()).add(sample.seed)
    assert all(len(each) == 1 for each in seeds.values())
    assert len({seed for each in seeds.values() for seed in each}) > 0.99 * len(seeds)
    assert seed_of(1, "s", "a", 1) != seed_of(2, "s", "a", 1)


def test_axes_that_are_not_varied_leave_the_digest_unchanged():
    """A result from before these axes existed can be resumed."""
    members = (
        b'{"suites":[],"models":["embedded"],"notations":["glyph"],"shapes":["flat"],"constraints":["mask"],'
        b'"strategies":[null],"repairs":[0],"profiles":["default"],"workarounds":["production"],"presets":["default"],'
        b'"levels":[],"scenarios":[],"trials":1,"seed":1,"jobs":1,"savings":0.0}'
    )
    plan = plan_of(MATRIX)
    digest = hashlib.sha256(members)
    for suite in plan.suites:
        digest.update(suite.data)
    assert plan.digest == digest.hexdigest()[:16]
    assert plan_of(replaced(thinking=("off",))).digest != plan.digest
    assert plan_of(replaced(orders=("any",))).digest != plan.digest


def test_a_matrix_with_only_the_schemas_order_has_the_digest_without_the_axis():
    unconstrained = replaced(constraints=("off",))
    usual = msgspec.structs.replace(unconstrained, orders=(None,))
    assert plan_of(usual).digest == plan_of(unconstrained).digest


def test_a_plan_has_the_same_digest_only_with_the_same_samples():
    same = plan_of(MATRIX).digest
    assert same == plan_of(replaced(jobs=4, savings=0.5)).digest
    for other in (replaced(seed=2), replaced(trials=2), replaced(levels=("simple",)), replaced(repairs=(1,))):
        assert plan_of(other).digest != same


@pytest.mark.parametrize(
    "model", ["embedded", "/x/Qwen3 8B-Q4_K_M.gguf", "http://host:8080/v1#m", "C:\\m.gguf", "ü"]
)
def test_an_arms_id_can_be_a_folder(model):
    id = Arm(model=model, repair=2, workarounds="baseline").id
    assert not set(id) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")


def test_the_sampling_profiles_exist_and_use_the_samples_seed():
    names = [each.name for each in profiles()]
    assert names[:3] == ["file", "default", "deterministic"]
    assert {"recommended", "conversation", "creative", "tool_calling"} <= set(names)
    assert all(each.of(ModelInfo(name="any model"), 7).seed == 7 for each in profiles())
    assert profile("deterministic").of(ModelInfo(name="x"), 1).temperature == 0
    assert profile("recommended").of(ModelInfo(name="Qwen3-8B"), 1).top_k == 20
    assert profile("recommended").of(ModelInfo(name="Qwen3-8B-Thinking"), 1).temperature == 0.6
    unknown = ModelInfo(name="unknown")
    for name in ("recommended", "file"):
        assert profile(name).of(unknown, 1) == profile("default").of(unknown, 1)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (ModelInfo(name="Qwen3 8B", architecture="qwen3"), {"temperature": 0.7, "top_p": 0.8}),
        (ModelInfo(name="Qwen3.5-35B-A3B"), {"temperature": 1.0, "presence_penalty": 1.5}),
        (ModelInfo(name="Qwen3.6-27B"), {"temperature": 1.0, "top_k": 20, "presence_penalty": 0.0}),
        (ModelInfo(name="Qwen3.8-27B"), {"temperature": 1.0, "top_k": 20, "presence_penalty": 0.0}),
        (ModelInfo(name="Qwen3.7-Max"), {"temperature": 0.8, "top_k": 40}),
        (ModelInfo(name="Models", architecture="gpt-oss"), {"temperature": 1.0, "top_p": 1.0, "top_k": 0}),
        (ModelInfo(name="gemma-4-E4B-it"), {"temperature": 1.0, "top_k": 64}),
        (ModelInfo(name="gemma-3-4b-it"), {"temperature": 1.0, "top_k": 64}),
        (ModelInfo(name="LFM2-1.2B", architecture="lfm2"), {"temperature": 0.3, "min_p": 0.15}),
        (ModelInfo(name="LFM2.5-1.2B", architecture="lfm2"), {"temperature": 0.1, "top_p": 0.1}),
        (ModelInfo(name="DeepSeek-V4-Flash"), {"temperature": 1.0, "top_p": 1.0}),
        (ModelInfo(name="GLM-4.6"), {"temperature": 1.0, "top_p": 0.95}),
        (ModelInfo(name="GLM-4.7"), {"temperature": 1.0, "top_p": 1.0}),
        (ModelInfo(name="GLM-4.7-Flash"), {"temperature": 1.0, "top_p": 0.95}),
        (ModelInfo(name="GLM-5"), {"temperature": 1.0, "top_p": 0.95, "top_k": 0}),
        (ModelInfo(name="GLM-5.1"), {"temperature": 0.8, "top_k": 40}),
        (ModelInfo(name="granite-4.1-8b", architecture="granite"), {"temperature": 0.8, "top_k": 40}),
    ],
)
def test_recommended_settings_are_those_of_the_models_makers(model, expected):
    sampling = msgspec.structs.asdict(profile("recommended").of(model, 1))
    assert expected.items() <= sampling.items()


def test_the_settings_in_a_models_file_are_a_profile_and_recommended_where_nothing_else_is_known():
    model = ModelInfo(name="Mine", sampling={"temperature": 0.2, "top_k": 7, "repeat_last_n": 32})
    for name in ("file", "recommended"):
        assert profile(name).of(model, 3) == Sampling(temperature=0.2, top_k=7, repeat_last_n=32, seed=3)
        assert "file" in profile(name).source_of(model)
    known = msgspec.structs.replace(model, name="Qwen3-8B")
    assert profile("recommended").of(known, 1).temperature == 0.7
    assert profile("file").of(known, 1).temperature == 0.2


def test_the_recommended_presets_of_a_model_exist():
    there = {preset.name for preset in loop_presets()}
    assert all(set(each.presets) <= there for each in catalogue())
    assert recommended_presets(ModelInfo(name="GLM-4.7 Flash")) == ("content-tag-fallback",)
    assert recommended_presets(ModelInfo(name="something else")) == ()
