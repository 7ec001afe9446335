"""The user's own suites, and expected calls as forms."""

from __future__ import annotations

import msgspec
import pytest

from glyphscope.base.errors import SuiteError
from glyphscope.evals.suites import (
    ArgumentCheck,
    CallChecks,
    add_scenario,
    call_of,
    form_of,
    keep_suite,
    own_suites,
    suite_path,
)
from glyphscope.evals.suites.reading import load_suite
from glyphscope.evals.suites.suite import Expectation, Scenario
from glyphscope.events import ExpectedCall
from glyphscope.validation.matching import Matcher

FORMS = [
    CallChecks("search"),
    CallChecks("search", (ArgumentCheck("query", "equals", "tea"),), folded=True),
    CallChecks("search", (ArgumentCheck("query", "equals", "tea"),), others=True),
    CallChecks("search", (ArgumentCheck("query", "one_of", ["tea", "Tea"]), ArgumentCheck("max_results", "optional"))),
    CallChecks("search", (ArgumentCheck("query", "matches", "^te"),)),
    CallChecks("search", (ArgumentCheck("query", "matches", "^te"),), others=True),
    CallChecks("search", (ArgumentCheck("max_results", "schema", {"minimum": 3}),), others=True),
    CallChecks(
        "search", (ArgumentCheck("query", "equals", "tea"), ArgumentCheck("sources", "schema", {"minItems": 1}))
    ),
    CallChecks("search", (ArgumentCheck("query", "one_of", ["tea"]),), others=True),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_back_from_its_call(form):
    read = form_of(call_of(form))
    if not form.checks:  # no checks: there may be others
        form = CallChecks(form.tool, others=True)
    assert read == form


@pytest.mark.parametrize(
    ("form", "arguments", "right"),
    [
        (FORMS[1], {"query": "TEA"}, True),
        (FORMS[1], {"query": "tea", "max_results": 1}, False),
        (FORMS[2], {"query": "tea", "max_results": 1}, True),
        (FORMS[3], {"query": "Tea", "max_results": 9}, True),
        (FORMS[4], {"query": "tea"}, True),
        (FORMS[4], {"query": "tea", "max_results": 1}, False),
        (FORMS[4], {"query": "green tea"}, False),
        (FORMS[4], {}, False),
        (FORMS[5], {"query": "tea", "max_results": 1}, True),
        (FORMS[6], {"query": "x", "max_results": 2}, False),
    ],
)
def test_a_form_accepts_exactly_the_calls_that_it_describes(form, arguments, right):
    assert (Matcher().difference(call_of(form), "search", arguments) is None) is right


def test_every_form_can_be_a_part_of_a_suite(tmp_path):
    path = tmp_path / "forms.json"
    for form in FORMS:
        expect = Expectation(calls=(call_of(form),))
        add_scenario(path, Scenario(id="form", prompt="Search", expect=expect))
    assert len(load_suite(path).scenarios) == len(FORMS)


def test_a_call_that_a_form_cannot_show_has_none():
    assert form_of(ExpectedCall(tools=("search", "browse"))) is None
    assert form_of(ExpectedCall(tools=("search",), unordered=True)) is None
    assert form_of(ExpectedCall(tools=("search",), schema={"not": {"required": ["sources"]}})) is None


SCENARIO = Scenario(
    id="tea",
    prompt="Search for tea.",
    expect=Expectation(calls=(ExpectedCall(tools=("search",), arguments={"query": "tea"}),)),
    request={"strategy": "two-stage"},
)


def test_scenarios_are_added_to_a_suite_that_the_first_one_creates(tmp_path):
    path = suite_path(tmp_path / "suites", "My suite")
    assert path.name == "My-suite.json" and own_suites(tmp_path / "suites") == []
    assert add_scenario(path, SCENARIO).id == "tea"
    assert add_scenario(path, SCENARIO).id == "tea-2"
    other = msgspec.structs.replace(SCENARIO, request={"strategy": "direct"})
    assert add_scenario(path, other).request == {"strategy": "direct"}
    suite = load_suite(path)
    assert [each.id for each in suite.scenarios] == ["tea", "tea-2", "tea-3"]
    assert suite.strategy == "two-stage" and suite.scenarios[0].request == {}
    members = {"system_prompt": "Be terse.", "thinking": "off", "max_tokens": 9}
    added = add_scenario(path, msgspec.structs.replace(SCENARIO, request=members))
    assert suite.project and added.request == {"thinking": "off"}, "its prompt is that of the project"
    before = tmp_path / "before.json"
    keep_suite(before, msgspec.structs.replace(suite, project=None))
    assert add_scenario(before, msgspec.structs.replace(SCENARIO, request=members)).request == members
    assert own_suites(tmp_path / "suites") == [path]


def test_a_suite_with_an_error_is_not_written(tmp_path):
    path = suite_path(tmp_path, "mine")
    add_scenario(path, SCENARIO)
    before = path.read_bytes()
    wrong = msgspec.structs.replace(SCENARIO, expect=Expectation(calls=(ExpectedCall(tools=("serch",)),)))
    with pytest.raises(SuiteError, match="search"):
        add_scenario(path, wrong)
    with pytest.raises(SuiteError):
        keep_suite(path, msgspec.structs.replace(load_suite(path), scenarios=()))
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["", "///", "starter"])
def test_an_impossible_name_of_a_suite_is_rejected(name, tmp_path):
    with pytest.raises(SuiteError):
        suite_path(tmp_path, name)
