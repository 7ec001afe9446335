"""The bundled suites: every gold label is a call that the tools accept, in both notations."""

import json
from collections import Counter
from itertools import product

import msgspec
import pytest
from jsonschema import Draft202012Validator

from glyphscope.base import resources
from glyphscope.evals.suites.reading import (
    bundled_suites,
    check_suite,
    encode_suite,
    load_suite,
    parse_suite,
    suite_registry,
)
from glyphscope.evals.suites.suite import answer_of
from glyphscope.events import RouterSettings
from glyphscope.notation import write_call
from glyphscope.runs.strategies.routing.candidates import router_preset
from glyphscope.tools.demo import calculate
from glyphscope.validation import CallValidator
from gold_calls import expected, golds

SUITES = (
    "many-tools", "mask-driven-examples", "mask-driven", "reliability", "routing", "starter", "tool-calls",
)  # fmt: skip
STYLES = (("glyph", "glyph"), ("glyph-canonical", "glyph"), ("json", "json"))


def test_the_documented_suites_exist_and_are_written_and_read_back():
    assert tuple(bundled_suites()) == SUITES
    for name in SUITES:
        suite = load_suite(name)
        assert suite.name == name and suite.about
        assert parse_suite(encode_suite(suite)) == suite
        assert check_suite(suite) == ()


@pytest.mark.parametrize("name", SUITES)
def test_every_gold_label_is_a_valid_call_in_both_notations(name):
    suite = load_suite(name)
    judged = 0
    for scenario in suite.scenarios:
        registry = suite_registry(suite, scenario)
        for call in expected(scenario):
            if call.match == "subset" or (call.schema is not None and "enum" not in call.schema):
                continue  # only a part of a call: check_suite judges it
            for tool, arguments, (style, notation) in product(call.tools, golds(call), STYLES):
                validator = CallValidator(registry, notation, "flat")
                validator.feed(write_call(tool, arguments, style=style))
                validator.finish()
                report = validator.report()
                assert report.valid, (scenario.id, style, report.errors)
                assert (report.tool, report.arguments) == (tool, arguments)
                judged += 1
    assert judged or name in ("many-tools", "reliability")


@pytest.mark.parametrize("name", SUITES)
def test_prompts_and_ids_are_all_different(name):
    scenarios = load_suite(name).scenarios
    assert len({each.id for each in scenarios}) == len({each.prompt for each in scenarios}) == len(scenarios)


def test_each_of_the_60_tasks_needs_another_one_of_400_tools_of_all_kinds():
    suite = load_suite("many-tools")
    registry = suite_registry(suite, None)
    assert len(suite.scenarios) == 60 and len(registry.allowed) == 400
    needed = {call.tools for each in suite.scenarios for call in expected(each)}
    assert len(needed) == 60 and len({tool.description for tool in registry}) == 400
    assert len({tool.name.split("_")[0] for tool in registry}) > 100
    assert {each.level for each in suite.scenarios[:3]} == {"simple", "typical", "extreme"}


def test_the_tool_calls_cover_every_tool_argument_bound_and_choice():
    suite = load_suite("tool-calls")
    asked = [each for each in suite.scenarios if not each.control]
    assert len(asked) >= 48
    registry = suite_registry(suite, None)
    per_tool = Counter(each.group for each in asked)
    assert set(per_tool) == {tool.name for tool in registry} and min(per_tool.values()) >= 6
    for tool in registry:
        golden = [
            g for each in asked if each.group == tool.name for call in each.expect.calls for g in golds(call)
        ]
        for name, schema in tool.parameters["properties"].items():
            values = [gold[name] for gold in golden if name in gold]
            assert values, (tool.name, name)
            for bound in ("minimum", "maximum"):
                assert bound not in schema or schema[bound] in values, (tool.name, name, bound)
            assert set(schema.get("enum", ())) <= {json.dumps(v) for v in values} | set(map(str, values))
    texts = [json.dumps(each.expect.calls[0].arguments or {}, ensure_ascii=False) for each in asked]
    assert any('\\"' in text for text in texts) and any(not text.isascii() for text in texts)
    assert any(len(text) > 300 for text in texts) and any("\\\\" in text for text in texts)


def test_prompts_without_a_call_can_be_answered_in_text_by_every_arm():
    controls = [each for each in load_suite("tool-calls").scenarios if each.control]
    assert len(controls) >= 5
    assert all(each.request["strategy"] == "loop" and not each.expect.calls for each in controls)


def test_every_schema_of_an_expectation_accepts_something():
    for name in SUITES:
        for scenario in load_suite(name).scenarios:
            for call in expected(scenario):
                if call.schema is not None and "enum" in call.schema:
                    assert all(Draft202012Validator(call.schema).is_valid(gold) for gold in golds(call))


def test_the_mask_driven_suite_has_two_stages_and_five_prompts_of_each_tool():
    suite = load_suite("mask-driven")
    assert (suite.registry, suite.strategy) == ("verbs", "two-stage")
    assert list(Counter(each.group for each in suite.scenarios).values()) == [5, 5, 5, 5]


def test_the_routing_suite_has_enough_prompts_of_every_class_and_its_router():
    suite = load_suite("routing")
    classes = Counter(each.group for each in suite.scenarios)
    assert set(classes) == {"item", "perk", "activity", "none", "clarify"} and min(classes.values()) >= 7
    assert len(suite.scenarios) >= 48 and suite.strategy == "route-execute"
    assert msgspec.convert(suite.request["router"], RouterSettings) == router_preset("destiny")
    required = {"none": "none", "clarify": "clarify"}
    assert all(each.expect.choice == required.get(each.group, "call_tool") for each in suite.scenarios)


def test_no_bundled_suite_is_too_large_to_read():
    assert all(len(resources.read_bytes(f"suites/{name}.json")) < 100_000 for name in SUITES)


def test_every_right_expression_of_a_prompt_has_the_same_value():
    for scenario in load_suite("tool-calls").scenarios:
        if scenario.group == "calculate":
            (call,) = scenario.expect.calls
            assert len({calculate(each, None).value for each in call.any_of["expression"]}) == 1, scenario.id


def test_the_starter_suite_has_calls_classes_and_values():
    suite = load_suite("starter")
    kinds = Counter(answer_of(suite, each).kind for each in suite.scenarios)
    assert kinds == {"call": 12, "choice": 3, "schema": 2}
