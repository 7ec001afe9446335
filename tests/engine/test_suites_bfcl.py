"""Files in the leaderboard's format become suites; only the format of these lines is the leaderboard's."""

import json
import threading

import pytest

from glyphscope.base.errors import SuiteError
from glyphscope.evals.matrix import Arm, LoadedSuite, Planned
from glyphscope.evals.running import run_sample
from glyphscope.evals.suites import check_suite, encode_suite, parse_suite
from glyphscope.models import ScriptedModel
from glyphscope_plugins.bfcl.questions import import_bfcl

TEA = {
    "name": "tea.brew",
    "description": "Brews tea.",
    "parameters": {
        "type": "dict",
        "required": ["kind"],
        "properties": {
            "kind": {"type": "string", "description": "Which tea."},
            "grams": {"type": "float"},
            "minutes": {"type": "integer", "default": 3},
            "cups": {"type": "tuple", "items": {"type": "integer"}},
            "extras": {
                "type": "dict",
                "properties": {"milk": {"type": "boolean"}, "sugar": {"type": "integer"}},
            },
            "note": {"type": "any", "required": True},
        },
    },
}
CUP = {
    "name": "wash",
    "parameters": {"type": "dict", "properties": {"what": {"type": "string"}}, "required": []},
}


def entry(id, *turns, functions=(TEA,), **more):
    question = [[{"role": "user", "content": turn}] for turn in turns]
    return {"id": id, "question": question, "function": list(functions), **more}


@pytest.fixture
def imported(tmp_path):
    """Import entries with their answers, which are at the leaderboard's place."""

    def do(*entries, name="BFCL_v4_simple_python.json", **truths):
        path = tmp_path / name
        path.write_text("".join(json.dumps(each) + "\n" for each in entries))
        answers = tmp_path / "possible_answer"
        answers.mkdir(exist_ok=True)
        lines = (json.dumps({"id": id, "ground_truth": truth}) + "\n" for id, truth in truths.items())
        (answers / name).write_text("".join(lines))
        found = import_bfcl(path)
        assert check_suite(found.suite) == ()
        assert parse_suite(encode_suite(found.suite)) == found.suite
        return found

    return do


def reasons(found):
    return {each.id: each.reason for each in found.left_out}


def test_one_call_becomes_a_direct_scenario_with_the_listed_values(imported):
    truth = [{"tea.brew": {"kind": ["Assam", "assam tea"], "grams": [4, 4.5, ""], "minutes": [""]}}]
    suite = imported(entry("simple_python_0", "Brew Assam, 4 grams."), simple_python_0=truth).suite
    (scenario,) = suite.scenarios
    (call,) = scenario.expect.calls
    assert (suite.name, suite.strategy, scenario.group) == (
        "bfcl-v4-simple-python",
        "direct",
        "simple_python",
    )
    assert (call.tools, call.any_of) == (("tea.brew",), {"kind": ("Assam", "assam tea"), "grams": (4, 4.5)})
    assert (call.optional, call.folded, call.match) == (("grams",), True, "exact")
    assert not scenario.expect.extra_calls and scenario.prompt == "Brew Assam, 4 grams."


def test_types_of_python_become_those_of_json_schema(imported):
    suite = imported(entry("a_0", "x"), a_0=[{"tea.brew": {"kind": ["x"]}}]).suite
    properties = suite.registry["tools"][0]["parameters"]["properties"]
    assert suite.registry["tools"][0]["parameters"]["type"] == "object"
    assert {name: schema.get("type") for name, schema in properties.items()} == {
        "kind": "string", "grams": "number", "minutes": "integer", "cups": "array", "extras": "object", "note": None,
    }  # fmt: skip
    assert "required" not in properties["note"]


def test_members_of_an_object_list_their_own_values(imported):
    truth = [{"tea.brew": {"kind": ["x"], "extras": [{"milk": [True], "sugar": [1, 2, ""]}]}}]
    (scenario,) = imported(entry("a_0", "x"), a_0=truth).suite.scenarios
    assert scenario.expect.calls[0].any_of["extras"] == (
        {"milk": True, "sugar": 1},
        {"milk": True, "sugar": 2},
        {"milk": True},
    )


def test_several_calls_and_none_become_conversations_with_a_script(imported):
    calls = [{"tea.brew": {"kind": ["x"]}}, {"wash": {"what": ["cup"]}}]
    found = imported(entry("parallel_0", "Brew x and wash the cup.", functions=(TEA, CUP)), parallel_0=calls)
    (scenario,) = found.suite.scenarios
    assert found.suite.strategy == "loop" and found.suite.request["loop"]["parallel_tool_calls"] is True
    assert len(scenario.expect.calls) == 2 and not scenario.expect.ordered
    assert {each.tool for each in scenario.script} == {"tea.brew", "wash"}
    none = imported(entry("irrelevance_0", "How old is the sun?"), name="BFCL_v4_irrelevance.json").suite
    assert none.strategy == "loop" and none.scenarios[0].expect.calls == ()
    some = imported(entry("live_relevance_0", "Tea!", functions=(TEA, CUP)), name="x.json").suite.scenarios[0]
    assert some.expect.calls[0].tools == ("tea.brew", "wash") and some.expect.extra_calls


def test_several_calls_may_be_parallel_or_consecutive(imported):
    calls = [{"tea.brew": {"kind": [kind]}} for kind in "abcdefgh"]
    suite = imported(entry("parallel_0", "Brew a to h."), parallel_0=calls).suite
    texts = [json.dumps({"action": "tea.brew", "kind": kind}) for kind in "abcdefgh"]
    for turns in ([" ".join(texts), "Done."], [*texts, "Done."]):
        arm = Arm(model="scripted", notation="json", constraint="off")
        planned = Planned(arm, LoadedSuite(suite, encode_suite(suite)), suite.scenarios[0], 0, 1)
        sample, _ = run_sample(planned, ScriptedModel(turns=turns), threading.Event())
        assert sample.ok, sample.failures


def test_turns_call_functions_of_the_files_of_their_classes(imported, tmp_path):
    folder = tmp_path / "multi_turn_func_doc"
    folder.mkdir()
    move = {
        "type": "dict",
        "properties": {"source": {"type": "string"}, "force": {"type": "boolean", "default": False}},
    }
    docs = [{"name": "mv", "parameters": move | {"required": ["source"]}}, CUP]
    (folder / "gorilla_file_system.json").write_text("".join(json.dumps(each) + "\n" for each in docs))
    asked = entry("multi_turn_base_0", "Move a.", "And now?", "Wash it.")
    del asked["function"]
    asked["involved_classes"] = ["GorillaFileSystem"]
    truth = [["mv('a', force=False)"], [], ['wash(what="it\'s")', "mv(source='b')"]]
    (scenario,) = imported(asked, multi_turn_base_0=truth).suite.scenarios
    first = scenario.expect.calls[0]
    assert (first.arguments, first.optional, first.match) == (
        {"source": "a", "force": False},
        ("force",),
        "subset",
    )
    assert [turn.prompt for turn in scenario.turns] == ["And now?", "Wash it."]
    asked_back, last = (turn.expect for turn in scenario.turns)
    assert asked_back.calls == () and not asked_back.extra_calls
    assert [call.arguments for call in last.calls] == [{"what": "it's"}, {"source": "b"}] and last.extra_calls
    docs[1] = CUP | {"parameters": {"type": "dict", "properties": {"what": True}}}  # any value
    (folder / "gorilla_file_system.json").write_text("".join(json.dumps(each) + "\n" for each in docs))
    assert imported(asked, multi_turn_base_0=truth).suite.scenarios[0].turns[1].expect.calls[0].optional == ()
    (folder / "gorilla_file_system.json").unlink()
    with pytest.raises(SuiteError, match=r"gorilla_file_system\.json, and it is missing"):
        imported(asked, multi_turn_base_0=truth)


GOOD = entry("good_0", "Brew x.")
TRUTH = {"good_0": [{"tea.brew": {"kind": ["x"]}}]}
MEMBERS = {f"m{n}": list(range(10)) for n in range(40)}
"""10 ** 40 values."""


def nested(levels, inner, *within):
    """Return an object in an object, and so on: in the member `within` of each, or in a list."""
    for _ in range(levels):
        inner = {"type": "dict", within[0]: {"a": inner}} if within else {"a": [inner]}
    return inner


@pytest.mark.parametrize(
    ("bad", "truth", "words"),
    [
        (entry("bad_0", "x"), None, "no answer"),
        (entry("bad_0", "x", functions=()), [{"a": {}}], "no functions"),
        (entry("bad_0", "x", functions=({"parameters": {}},)), [{"a": {}}], "no name"),
        (entry("bad_0", "x", functions=({"name": "a", "parameters": {"type": "HashMap"}},)), [{"a": {}}], "HashMap"),
        (entry("bad_0", "x", functions=({"name": "a", "parameters": {"type": "dict", "minProperties": "x"}},)),
         [{"a": {}}], "cannot be used"),
        (entry("java_0", "x"), [{"tea.brew": {"kind": ["x"]}}], "Java"),
        (entry("bad_0", "x"), [{"coffee": {"kind": ["x"]}}], "coffee"),
        (entry("bad_0", "x"), [{"tea.brew": {"kind": [5]}}], "fits the function's own schema"),
        (entry("bad_0", "x"), [{"tea.brew": {"kind": "x"}}], "does not list"),
        (entry("bad_0", "x"), [{"tea.brew": {"minutes": [3]}}], "required"),
        (entry("bad_0", "x"), [["tea.brew(kind=x)"]], "not a literal"),
        (entry("bad_0", "x"), [["import os"]], "Not a Python call"),
        (entry("bad_0", "x"), [["coffee()"]], "not a function of the entry"),
        (entry("bad_0", "x"), [["tea.brew(**{})"]], "unpacks"),
        (entry("bad_0", "x"), [["tea.brew('" + "x" * 5000 + "')"]], "4,000 characters"),
        (entry("bad_0", "x"), [[], []], "1 turn, and its answer has 2"),
        (entry("bad_0", ""), [{"tea.brew": {"kind": ["x"]}}], "says nothing"),
        (entry("bad_0", "x", missed_function={"1": ["wash"]}), [[]], "later turn"),
        ({"id": "bad_0", "question": [[{"role": "assistant", "content": "x"}]], "function": [TEA]}, None, "the user"),
        ({"id": "bad_0", "question": [[], 5], "function": [TEA]}, None, "not text of the user"),
        ({"id": "bad_0", "question": "x", "function": [TEA]}, None, "no question"),
        ({"id": "bad_0", "question": [], "involved_classes": ["Kitchen"]}, None, "Kitchen are not known"),
        ({"id": "good_0"}, None, "has this id"),
        (entry("bad_0", "x", functions=({"name": "a", "parameters": [1]},)), [["a(1)"]], "cannot be used"),
        (entry("bad_0", "x", functions=({"name": "a", "parameters": {"properties": ["b"]}},)),
         [["a(b=1)"]], "cannot be used"),
        (entry("bad_0", "x", functions=({"name": "a", "parameters": {"properties": {"b": 5}}},)),
         [["a(b=1)"]], "cannot be used"),
        (entry("bad_0", "x"), [["tea.brew('x', grams=1e999)"]], "not a literal"),
        ({"id": "bad_0", "question": [], "involved_classes": 5}, None, "no functions"),
        (entry("bad_0", "x", functions=({"name": "a", "parameters": nested(70, {"type": "dict"}, "properties")},)),
         [{"a": {}}], "too deep"),
        (entry("bad_0", "x"), [{"tea.brew": {"kind": [MEMBERS]}}], "256"),
        (entry("bad_0", "x"), [{"tea.brew": {"kind": [nested(70, 1)]}}], "too deep"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_read_is_left_out_with_its_reason(imported, bad, truth, words):
    truths = TRUTH | ({} if truth is None else {bad["id"]: truth})
    found = imported(GOOD, bad, **truths)
    assert [each.id for each in found.suite.scenarios] == ["good_0"]
    assert words in reasons(found)[bad["id"]]
    assert any(words in note for note in found.suite.notes) and "1 left out" in found.suite.about


@pytest.mark.parametrize("parameters", [{"parameters": None}, {}])
def test_a_function_without_parameters_has_no_arguments(imported, parameters):
    wash = {"name": "wash"} | parameters
    suite = imported(entry("a_0", "x", functions=(wash,)), a_0=[["wash()"]]).suite
    assert suite.scenarios[0].expect.calls[0].arguments == {}


def test_a_value_that_the_function_rejects_is_not_expected(imported):
    truth = [{"tea.brew": {"kind": ["x"], "cups": ["the list of cups", [1, 2]], "minutes": ["five", ""]}}]
    (scenario,) = imported(entry("a_0", "x"), a_0=truth).suite.scenarios
    assert scenario.expect.calls[0].any_of == {"kind": ("x",), "cups": ([1, 2],)}
    assert scenario.expect.calls[0].optional == ()


def test_a_system_message_is_joined_with_the_prompt(imported):
    said = entry("a_0", "x") | {
        "question": [[{"role": "system", "content": "Be short."}, {"role": "user", "content": "Tea."}]]
    }
    assert imported(said, a_0=TRUTH["good_0"]).suite.scenarios[0].prompt == "Be short.\n\nTea."


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "No entry"),
        (b"{\n", "line 1"),
        (b'{"id": "a"}\n[]\n', "line 2"),
        (b"[1]", "JSON object"),
        (b"\xff", "not UTF-8"),
        (b"<html>", "not JSON"),
        (b'{"id": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested"),
        (b'{"id": "a", "id": "b"}', "Duplicate key"),
    ],
)
def test_an_invalid_file_is_reported_with_its_line(tmp_path, data, words):
    path = tmp_path / "questions.json"
    path.write_bytes(data)
    with pytest.raises(SuiteError) as caught:
        import_bfcl(path)
    assert words in str(caught.value)


def test_a_missing_file_is_reported_as_one(tmp_path):
    with pytest.raises(SuiteError, match="There is no such file") as caught:
        import_bfcl(tmp_path / "none.json")
    assert "bundled" not in caught.value.hint


@pytest.mark.parametrize("argument", ["(" * 300 + "1" + ")" * 300, "-" * 3000 + "1", "[" * 150 + "]" * 150])
def test_a_hostile_call_is_read_or_rejected_in_time(imported, argument):
    found = imported(GOOD, entry("bad_0", "x"), **TRUTH, bad_0=[[f"tea.brew({argument})"]])
    assert len(found.suite.scenarios) + len(found.left_out) == 2
