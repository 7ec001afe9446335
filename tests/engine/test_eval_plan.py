"""The plan of a matrix: its samples, their seeds, and equality of plans."""

from __future__ import annotations

import hashlib
import json
from itertools import groupby

import msgspec
import pytest

from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.matrix import (
    Arm,
    Matrix,
    catalogue,
    plan_of,
    profile,
    prompt_kind,
    recommended_presets,
    seed_of,
)
from glyphscope.evals.matrix.profiles import profiles
from glyphscope.evals.results import arm_labels, what_differs
from glyphscope.runs.strategies import loop_presets

MATRIX = Matrix(suites=("tool-calls",), models=("embedded",))


def replaced(**members) -> Matrix:
    return msgspec.structs.replace(MATRIX, **members)


def test_every_combination_is_an_arm_with_every_scenario():
    plan = plan_of(replaced(notations=("glyph", "json"), constraints=("off", "mask"), trials=3))
    scenarios = len(plan.suites[0].suite.scenarios)
    assert len(plan.arms) == 4 and scenarios >= 40
    samples = list(plan.samples())
    assert len(samples) == plan.cost.samples == 4 * 3 * scenarios
    assert len({sample.id for sample in samples}) == len(samples)


def test_arms_are_paired_by_their_seeds_and_trials_are_not():
    plan = plan_of(replaced(notations=("glyph", "json"), trials=2))
    seeds: dict[tuple[str, int], set[int]] = {}
    for sample in plan.samples():
        seeds.setdefault((sample.scenario.id, sample.trial), set()).add(sample.seed)
    assert all(len(each) == 1 for each in seeds.values())
    assert len({seed for each in seeds.values() for seed in each}) > 0.99 * len(seeds)
    assert seed_of(1, "s", "a", 1) != seed_of(2, "s", "a", 1)


def test_native_is_one_arm_for_all_shapes():
    plan = plan_of(replaced(notations=("glyph", "native"), shapes=("flat", "tool-args")))
    assert [(arm.notation, arm.shape) for arm in plan.arms] == [
        ("glyph", "flat"), ("glyph", "tool-args"), ("native", "flat"),
    ]  # fmt: skip


ACTION = {"name": "page", "parameters": {"type": "object", "properties": {"action": {"type": "string"}}}}
OTHER = {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}


def suite_of(tmp_path, *scenarios) -> Matrix:
    """A matrix of both shapes over scenarios with these tools."""
    path = tmp_path / "suite.json"
    made = [
        {
            "id": f"s{n}",
            "prompt": "x",
            "registry": {"glyphscope": 1, "tools": tools},
            "expect": {"calls": []},
        }
        for n, tools in enumerate(scenarios, 1)
    ]
    path.write_text(json.dumps({"glyphscope_suite": 1, "name": "s", "about": "x", "scenarios": made}))
    return replaced(suites=(str(path),), shapes=("flat", "tool-args", "name-arguments"))


def test_arms_whose_calls_have_the_same_shape_everywhere_are_one_arm_and_the_plan_says_so(tmp_path):
    plan = plan_of(suite_of(tmp_path, [ACTION], [OTHER, ACTION]))
    assert [arm.shape for arm in plan.arms] == ["tool-args", "name-arguments"]
    (note,) = plan.notes
    assert (
        "only the second is made: embedded.glyph.flat.mask.suite.default and embedded.glyph.tool-args" in note
    )


def test_arms_whose_calls_have_the_same_shape_in_some_scenarios_are_named_with_these(tmp_path):
    plan = plan_of(suite_of(tmp_path, [ACTION], [OTHER], [{**ACTION, "enabled": False}, OTHER]))
    assert [arm.shape for arm in plan.arms] == ["flat", "tool-args", "name-arguments"]
    (note,) = plan.notes
    assert note.startswith("In 1 of 3 scenarios (s1), an argument of a tool is called action")
    assert "embedded.glyph.flat.mask.suite.default and embedded.glyph.tool-args.mask.suite.default" in note


def test_arms_in_shapes_that_every_tool_allows_have_no_note(tmp_path):
    assert not plan_of(suite_of(tmp_path, [OTHER])).notes
    assert not plan_of(msgspec.structs.replace(suite_of(tmp_path, [ACTION]), shapes=("flat",))).notes


def test_thinking_and_the_start_of_the_constraint_are_axes():
    plan = plan_of(replaced(thinking=("auto", "off"), constrain_from=("reasoning", "call")))
    ids = [arm.id.split(".default")[1] for arm in plan.arms]
    assert ids == ["", ".from-call", ".thinking-off", ".thinking-off.from-call"]


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


def test_the_default_order_of_arguments_is_that_of_the_constraint():
    """The order is part of the constraint: its effect is not a second difference between arms."""
    plan = plan_of(replaced(constraints=("off", "mask", "gbnf"), orders=(None,)))
    assert [(arm.constraint, arm.order) for arm in plan.arms] == [
        ("off", "schema"),
        ("mask", "any"),
        ("gbnf", "schema"),
    ]
    off, mask, _gbnf = plan.arms
    assert mask.id.endswith(".any-order") and off.id.endswith(".default")
    assert what_differs(off, mask) == "constraint" and set(arm_labels((off, mask)).values()) == {
        "no constraint",
        "mask",
    }
    both = plan_of(replaced(constraints=("off", "mask"), orders=("schema", "any"))).arms
    assert [(arm.constraint, arm.order) for arm in both] == [
        ("off", "schema"),
        ("mask", "schema"),
        ("mask", "any"),
    ]
    assert what_differs(*both[1:]) == "order"


def test_a_matrix_with_only_the_schemas_order_has_the_digest_without_the_axis():
    unconstrained = replaced(constraints=("off",))
    usual = msgspec.structs.replace(unconstrained, orders=(None,))
    assert plan_of(usual).digest == plan_of(unconstrained).digest


def test_a_plan_has_the_same_digest_only_with_the_same_samples():
    same = plan_of(MATRIX).digest
    assert same == plan_of(replaced(jobs=4, savings=0.5)).digest
    for other in (replaced(seed=2), replaced(trials=2), replaced(levels=("simple",)), replaced(repairs=(1,))):
        assert plan_of(other).digest != same


def test_only_the_selected_scenarios_are_planned():
    plan = plan_of(replaced(levels=("simple",)))
    assert all(scenario.level == "simple" for scenario in plan.suites[0].suite.scenarios)
    one = plan.suites[0].suite.scenarios[0].id
    assert plan_of(replaced(scenarios=(one,))).cost.samples == 1


def test_a_search_looks_for_all_words_in_ids_groups_and_prompts():
    plan = plan_of(replaced(search="SEARCH  lasagne"))
    assert [each.id for each in plan.suites[0].suite.scenarios] == ["search-vegan"]
    assert all("mail" in each.group for each in plan_of(replaced(search="email")).suites[0].suite.scenarios)


def test_the_first_scenarios_are_those_of_each_suite_that_the_filter_leaves():
    plan = plan_of(replaced(suites=("tool-calls", "routing"), first=2))
    assert [len(loaded.suite.scenarios) for loaded in plan.suites] == [2, 2]
    (one,) = plan_of(replaced(search="calculate", first=1)).suites[0].suite.scenarios
    assert one.group == "calculate"


def test_arms_with_the_same_prompts_alternate_at_each_scenario():
    plan = plan_of(replaced(notations=("glyph", "json"), constraints=("off", "mask"), first=2))
    made = [(each.arm.notation, each.scenario.id, each.arm.constraint) for each in plan.samples()]
    one, two = (each.id for each in plan.suites[0].suite.scenarios)
    assert made == [
        (notation, scenario, constraint)
        for notation in ("glyph", "json")
        for scenario in (one, two)
        for constraint in ("off", "mask")
    ]


def test_scenarios_with_the_same_tools_follow_each_other():
    """Their prompts begin alike, which the model then evaluates once."""
    made = [each.scenario for each in plan_of(replaced(suites=("starter",))).samples()]
    kinds = [kind for kind, _ in groupby(made, key=prompt_kind)]
    assert len(kinds) == len(set(kinds)) == 8
    assert [each.id for each in made[:4]] == [
        "search-news", "search-too-many", "search-in-news", "calculate-sum",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"suites": ()}, "needs a suite"),
        ({"models": ()}, "needs a model"),
        ({"profiles": ("hot",)}, "no sampling profile"),
        ({"scenarios": ("no-such",)}, "No scenario"),
        ({"trials": 100_000}, "at most"),
        ({"models": ("a/m.gguf", "b/m.gguf")}, "same short name"),
        ({"suites": ("no-such-suite",)}, "no such suite"),
    ],
)
def test_an_impossible_matrix_is_rejected_with_the_reason(members, said):
    with pytest.raises(GlyphscopeError, match=said):
        plan_of(replaced(**members))


@pytest.mark.parametrize(
    "model", ["embedded", "/x/Qwen3 8B-Q4_K_M.gguf", "http://host:8080/v1#m", "C:\\m.gguf", "ü"]
)
def test_an_arms_id_can_be_a_folder(model):
    id = Arm(model=model, repair=2, workarounds="baseline").id
    assert not set(id) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")


def test_the_sampling_profiles_exist_and_use_the_samples_seed():
    names = [each.name for each in profiles()]
    assert names[:2] == ["default", "deterministic"]
    assert {"recommended", "conversation", "creative", "tool_calling"} <= set(names)
    assert all(each.of("any model", 7).seed == 7 for each in profiles())
    assert profile("deterministic").of("x", 1).temperature == 0
    assert profile("recommended").of("Qwen3-8B", 1).top_k == 20
    assert profile("recommended").of("Qwen3-8B-Thinking", 1).temperature == 0.6
    assert profile("recommended").of("unknown", 1) == profile("default").of("unknown", 1)


def test_the_recommended_presets_of_a_model_exist():
    there = {preset.name for preset in loop_presets()}
    assert all(set(each.presets) <= there for each in catalogue())
    assert recommended_presets("GLM-4.7 Flash") == ("content-tag-fallback",)
    assert recommended_presets("something else") == ()
