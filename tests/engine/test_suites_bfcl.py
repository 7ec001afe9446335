"""Files in the leaderboard's format become suites; only the format of these lines is the leaderboard's."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from expected_texts import as_in_file, blocks_of
from glyphscope.base.errors import SuiteError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import LoadedSuite, Planned
from glyphscope.evals.running import run_sample
from glyphscope.evals.suites.reading import encode_suite
from glyphscope.models.scripted import ScriptedModel
from glyphscope_plugins.bfcl.questions import import_bfcl
from imported_suites import check, suite_lines

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
        check(found)
        return found

    return do


CASES = Path(__file__).with_name("suites_bfcl.txt")
NAMED = {"tea.brew": TEA, "wash": CUP}
MOVE = {
    "name": "mv",
    "parameters": {
        "type": "dict",
        "properties": {"source": {"type": "string"}, "force": {"type": "boolean", "default": False}},
        "required": ["source"],
    },
}


def of_file(lines: list[str]) -> tuple[list[dict], dict[str, Any]]:
    """The entries and their answers, with functions in place of their names."""
    entries = [json.loads(line) for line in lines if line.startswith("{")]
    for each in entries:
        if isinstance(functions := each.get("function"), list):
            each["function"] = [NAMED[one] if isinstance(one, str) else one for one in functions]
    truths = (line.split(" ", 2)[1:] for line in lines if line.startswith("answer "))
    return entries, {id: json.loads(truth) for id, truth in truths}


def test_entries_are_imported_as_in_the_file(imported, tmp_path):
    folder = tmp_path / "multi_turn_func_doc"
    folder.mkdir()
    docs = (json.dumps(each) + "\n" for each in (MOVE, CUP))
    (folder / "gorilla_file_system.json").write_text("".join(docs))

    def found() -> Iterator[str]:
        beside: list[dict] = []
        for block in blocks_of(CASES):
            given = [line for line in block.split("\n") if not line.startswith("→")]
            if given[0].startswith("# "):
                beside = [GOOD] if "beside a right one" in given[0] else []
                yield block
                continue
            entries, truths = of_file(given[1:])
            made = imported(*beside, *entries, name=given[0], **TRUTH, **truths)
            lines = [f"→ not {each.id}: {each.reason}" for each in made.left_out]
            assert not beside or [each.id for each in made.suite.scenarios] == ["good_0"]
            yield "\n".join((*given, *(lines if beside else suite_lines(made, tmp_path))))

    as_in_file(CASES, found())


def test_types_of_python_become_those_of_json_schema(imported):
    suite = imported(entry("a_0", "x"), a_0=[{"tea.brew": {"kind": ["x"]}}]).suite
    properties = suite.registry["tools"][0]["parameters"]["properties"]
    assert suite.registry["tools"][0]["parameters"]["type"] == "object"
    assert {name: schema.get("type") for name, schema in properties.items()} == {
        "kind": "string", "grams": "number", "minutes": "integer", "cups": "array", "extras": "object", "note": None,
    }  # fmt: skip
    assert "required" not in properties["note"]


def test_several_calls_may_be_parallel_or_consecutive(imported):
    calls = [{"tea.brew": {"kind": [kind]}} for kind in "abcdefgh"]
    suite = imported(entry("parallel_0", "Brew a to h."), parallel_0=calls).suite
    texts = [json.dumps({"action": "tea.brew", "kind": kind}) for kind in "abcdefgh"]
    for turns in ([" ".join(texts), "Done."], [*texts, "Done."]):
        arm = Arm(model="scripted", notation="json", constraint="off")
        planned = Planned(arm, LoadedSuite(suite, encode_suite(suite)), suite.scenarios[0], 0, 1)
        sample, _ = run_sample(planned, ScriptedModel(turns=turns), threading.Event())
        assert sample.ok, sample.failures


def test_the_file_of_the_functions_of_a_class_may_describe_any_value_and_must_be_there(imported, tmp_path):
    folder = tmp_path / "multi_turn_func_doc"
    folder.mkdir()
    path = folder / "gorilla_file_system.json"
    path.write_text(json.dumps(CUP | {"parameters": {"type": "dict", "properties": {"what": True}}}))
    asked = {**entry("a_0", "Wash it."), "involved_classes": ["GorillaFileSystem"]}
    del asked["function"]
    truth = [["wash(what='it')"]]
    assert imported(asked, a_0=truth).suite.scenarios[0].expect.calls[0].optional == ()
    path.unlink()
    with pytest.raises(SuiteError, match=r"gorilla_file_system\.json, and it is missing"):
        imported(asked, a_0=truth)


GOOD = entry("good_0", "Brew x.")
TRUTH = {"good_0": [{"tea.brew": {"kind": ["x"]}}]}
MEMBERS = {f"m{n}": list(range(10)) for n in range(40)}
"""10 ** 40 values."""


def nested(levels, inner, *within):
    """Return an object in an object, and so on: in the member `within` of each, or in a list."""
    for _ in range(levels):
        inner = {"type": "dict", within[0]: {"a": inner}} if within else {"a": [inner]}
    return inner


DEEP = entry(
    "bad_0", "x", functions=({"name": "a", "parameters": nested(70, {"type": "dict"}, "properties")},)
)


@pytest.mark.parametrize(
    ("bad", "truth", "words"),
    [
        (entry("bad_0", "x"), [["tea.brew('" + "x" * 5000 + "')"]], "4,000 characters"),
        (DEEP, [{"a": {}}], "too deep"),
        (entry("bad_0", "x"), [{"tea.brew": {"kind": [MEMBERS]}}], "256"),
    ],
)
def test_an_entry_that_is_too_large_is_left_out_with_its_reason(imported, bad, truth, words):
    found = imported(GOOD, bad, **TRUTH, bad_0=truth)
    assert [each.id for each in found.suite.scenarios] == ["good_0"]
    assert words in found.left_out[0].reason
    assert any(words in note for note in found.suite.notes) and "1 left out" in found.suite.about


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
