"""Suite files with errors: each is reported, all in one pass, with its line, column and pointer."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cli_command import command
from expected_texts import as_in_file
from glyphscope import evaluate
from glyphscope.base.errors import SuiteError
from glyphscope.base.inputs import files_below
from glyphscope.base.lines import line_and_column
from glyphscope.evals.suites import reading
from glyphscope.evals.suites.reading import check_suite, encode_suite, load_suite, parse_suite, suite_registry
from glyphscope.evals.suites.suite import Expectation, Scenario, Suite, answer_of
from glyphscope.events import Answer, ExpectedCall
from glyphscope.registry import default_registry, find_places


def document(*scenarios, **more):
    return {"glyphscope_suite": 1, "name": "mine", "about": "", "scenarios": list(scenarios), **more}


def scenario(**more):
    call = {"tools": ["search"], "arguments": {"query": "x"}}
    return {"id": "one", "prompt": "Search for x.", "expect": {"calls": [call]}, **more}


def call(**more):
    return scenario(expect={"calls": [{"tools": ["search"], **more}]})


def problems(*scenarios, folder=None, **more):
    text = json.dumps(document(*scenarios, **more))
    with pytest.raises(SuiteError) as caught:
        parse_suite(text, folder=folder)
    return {problem.pointer: problem.message for problem in caught.value.problems}


CASES = Path(__file__).with_name("suites_reading.txt")


def test_an_error_is_reported_at_its_place_with_the_words_in_the_file():
    def found() -> Iterator[str]:
        for block in CASES.read_text().rstrip("\n").split("\n\n"):
            line = block.split("\n")[0]
            if line.startswith("# "):
                is_scenario = "/scenarios/0" in line
                yield line
                continue
            given = json.loads(line)
            errors = problems(scenario(**given)) if is_scenario else problems(scenario(), **given)
            yield "\n".join((line, *(f"= {pointer}: {words}" for pointer, words in errors.items())))

    as_in_file(CASES, found())


def test_all_errors_are_reported_in_the_order_of_the_text():
    made = [scenario(id="a", levl="simple"), call(arguments={"query": 5}), scenario(), scenario(prompt="")]
    text = json.dumps(document(*made, request={"max_tokens": 0}), indent=2)
    with pytest.raises(SuiteError) as caught:
        parse_suite(text, where="mine.json")
    reported = caught.value.problems
    assert [problem.pointer for problem in reported] == [
        "/scenarios/0/levl",
        "/scenarios/1/expect/calls/0/arguments/query",
        "/scenarios/2/id",
        "/scenarios/3/id",
        "/scenarios/3/prompt",
        "/request/max_tokens",
    ]
    lines = text.split("\n")
    expected = ['"simple"', "5", '"one"', '"one"', '""', "0"]
    for problem, value in zip(reported, expected, strict=True):
        assert lines[problem.line - 1][problem.column - 1 :].startswith(value)
    assert str(caught.value).startswith("mine.json: The suite has 6 errors.\n  line ")
    assert f"line {reported[0].line}, column {reported[0].column}, /scenarios/0/levl:" in str(caught.value)


def test_places_count_characters_after_a_byte_order_mark_and_other_scripts():
    text = '\ufeff{"name": "äöü 東京", "about": 5,\n\n  "glyphscope_suite": 1, "checks": []}'
    with pytest.raises(SuiteError) as caught:
        parse_suite(text.encode())
    about, whole = sorted(caught.value.problems, key=lambda problem: problem.pointer, reverse=True)
    assert (about.pointer, about.line, about.column) == ("/about", 1, 29)
    assert (whole.pointer, whole.line, whole.column) == ("", 1, 1) and "asks nothing" in whole.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value at line 1"),
        ("[]", "a JSON object"),
        ("{", "line 1, column 2"),
        ('{"a": 1, "a": 2}', "Duplicate key"),
        (b"\xff{}", "not UTF-8"),
        ('{"a": NaN}', "not a number of JSON"),
        ('{"a": "\\ud800"}', "surrogate"),
        ("[" * 700 + "]" * 700, "nested"),
        ("[" * 100_000, "nested"),
    ],
)
def test_a_text_that_is_not_a_suite_is_rejected(text, words):
    with pytest.raises(SuiteError) as caught:
        parse_suite(text)
    assert words in str(caught.value)


def test_a_suite_made_by_a_program_is_checked_by_the_same_rules():
    right = Expectation(calls=(ExpectedCall(tools=("search",), arguments={"query": "x"}),))
    good = Suite(
        glyphscope_suite=1, name="a", about="", scenarios=(Scenario(id="a", prompt="x", expect=right),)
    )
    assert check_suite(good) == ()
    bad = msgspec.structs.replace(good, scenarios=good.scenarios * 2)
    assert [problem.pointer for problem in check_suite(bad)] == ["/scenarios/1/id"]
    assert parse_suite(encode_suite(good)) == good


@pytest.mark.parametrize("amount", [19.99, 0.07, 1.1, 4.35, 9.99])
def test_a_price_can_be_expected_of_a_tool_that_requires_cents(amount):
    number = {"type": "number", "multipleOf": 0.01}
    parameters = {"type": "object", "properties": {"amount": number}, "required": ["amount"]}
    tools = [{"name": "pay", "description": "Pay an amount.", "parameters": parameters}]
    right = Expectation(calls=(ExpectedCall(tools=("pay",), arguments={"amount": amount}),))
    scenarios = (Scenario(id="a", prompt="x", expect=right),)
    suite = Suite(glyphscope_suite=1, name="a", about="", scenarios=scenarios)
    assert check_suite(msgspec.structs.replace(suite, registry={"glyphscope": 1, "tools": tools})) == ()


def test_a_registry_beside_the_file_is_included_in_the_suite(tmp_path):
    mine = default_registry().to_document() | {"unknown_arguments": "allow"}
    (tmp_path / "tools.json").write_text(json.dumps(mine))
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document(scenario(registry="./tools.json"), registry="tools.json")))
    suite = load_suite(path)
    assert suite.registry == mine == suite.scenarios[0].registry
    (tmp_path / "tools.json").unlink()
    assert suite_registry(suite, suite.scenarios[0]).unknown_arguments == "allow"


@pytest.mark.parametrize("pattern", [r"\Aa", r"a\Z", "a++", "[[:alpha:]]", "a{,3}", "(?x)a", "("])
@pytest.mark.parametrize("kind", ["final", "paths"])
def test_a_pattern_that_nothing_judges_is_an_error_as_it_would_fail_every_answer(kind, pattern):
    rule = {"pattern": pattern} if kind == "final" else [{"path": "$.answer", "pattern": pattern}]
    found = problems(scenario(expect={kind: rule}))
    (place,) = found
    assert place.endswith("/pattern") and found[place].startswith("Invalid regular expression: ")


NAMING: dict[str, dict] = {
    "registry": {"registry": "{}"},
    "registry of a scenario": {"scenarios": [scenario(registry="{}")]},
    "function": {"scenarios": [scenario(expect={"extra_calls": True, "python": [{"function": "{}:right"}]})]},
}


@pytest.mark.parametrize("kind", NAMING)
@pytest.mark.parametrize("name", ["../{}", "sub/../../{}", "link", "{folder}/{}"])
def test_a_file_outside_of_the_suites_folder_is_read_only_if_its_folder_is_named(tmp_path, kind, name):
    other = "checks.py" if kind == "function" else "tools.json"
    secret = "def right(result): return True" if kind == "function" else default_registry().to_document()
    (tmp_path / other).write_text(secret if isinstance(secret, str) else json.dumps(secret))
    (tmp_path / "suites").mkdir()
    link = f"link{Path(other).suffix}"
    (tmp_path / "suites" / link).symlink_to(tmp_path / other)
    named = link if name == "link" else name.replace("{folder}", str(tmp_path)).replace("{}", other)
    path = tmp_path / "suites" / "mine.json"
    path.write_text(json.dumps(document(scenario()) | NAMING[kind]).replace("{}", named))
    with pytest.raises(SuiteError, match="outside of the folder") as error:
        load_suite(path)
    assert str(tmp_path / "suites") in str(error.value) and "--files-below" in str(error.value)
    with files_below(tmp_path):
        suite = load_suite(path)
    assert check_suite(suite) == ()
    result = command("suite", "check", path)
    assert result.exit_code == 1 and "outside of the folder" in result.output
    assert command("suite", "check", path, "--files-below", tmp_path).exit_code == 0


def test_an_evaluation_reads_a_file_outside_only_if_its_folder_is_named(tmp_path):
    (tmp_path / "tools.json").write_text(json.dumps(default_registry().to_document()))
    (tmp_path / "suites").mkdir()
    path = tmp_path / "suites" / "mine.json"
    path.write_text(json.dumps(document(scenario(expect={}), registry="../tools.json")))
    given = {"models": "scripted:no call", "out": tmp_path / "out", "constraints": ["off"]}
    with pytest.raises(SuiteError, match="outside of the folder"):
        evaluate(path, **given)
    assert len(evaluate(path, below=tmp_path, **given).samples) == 1


@pytest.mark.parametrize("name", ["loop", "a\u0000b", "x" * 300, "folder"])
def test_a_name_that_is_not_a_file_is_an_error_of_the_suite(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    path = tmp_path / "mine.json"
    for naming in NAMING.values():
        path.write_text(json.dumps(document(scenario()) | naming).replace("{}", json.dumps(name)[1:-1]))
        with pytest.raises(SuiteError):
            load_suite(path)


def test_the_tools_of_a_scenario_are_its_allow_list():
    suite = parse_suite(json.dumps(document(scenario(tools=["search", "calculate"]))))
    registry = suite_registry(suite, suite.scenarios[0])
    assert [tool.name for tool in registry.allowed] == ["search", "calculate"] and len(registry) == 7
    assert len(suite_registry(suite, None).allowed) == 7


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("broken.json", "not JSON"),
        ("folder", "not a file"),
        ("nosuch.json", "no such file"),
        ("/etc/passwd", "outside of the folder"),
        ("\0", "not the path of a file"),
        ("wrong.json", "/tools/0/name"),
    ],
)
def test_a_registry_that_cannot_be_read_is_an_error_at_its_name(tmp_path, source, words):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "wrong.json").write_text('{"glyphscope": 1, "tools": [{"name": ""}]}')
    (tmp_path / "folder").mkdir()
    found = problems(scenario(), folder=tmp_path, registry=source)
    assert list(found) == ["/registry"] and words in found["/registry"]


def test_a_name_that_is_too_long_is_reported(tmp_path):
    with pytest.raises(SuiteError, match="too long"):
        load_suite("a" * 300)
    for name in ("a" * 300, "a\0b"):
        (words,) = problems(registry=name, scenarios=[scenario()], folder=tmp_path).values()
        assert "too long" in words or "null" in words


def test_a_pipe_is_rejected_as_a_suite_and_as_a_registry(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    assert "not a file" in problems(scenario(), folder=tmp_path, registry="pipe.json")["/registry"]
    with pytest.raises(SuiteError, match="not a file"):
        load_suite(tmp_path / "pipe.json")


def test_a_large_registry_in_every_scenario_is_stored_once(tmp_path, monkeypatch):
    (tmp_path / "tools.json").write_text(json.dumps(default_registry().to_document()))
    monkeypatch.setattr(reading, "MAX_BYTES", 20_000)
    made = [scenario(id=f"s{n}", registry="tools.json") for n in range(9)]
    assert len(parse_suite(json.dumps(document(*made[:2])), folder=tmp_path).scenarios) == 2
    with pytest.raises(SuiteError, match="together"):
        parse_suite(json.dumps(document(*made)), folder=tmp_path)
    named = [scenario(id=f"s{n}", registry="default") for n in range(9)]
    assert len(parse_suite(json.dumps(document(*named))).scenarios) == 9


def test_a_missing_suite_is_reported_with_the_existing_ones(tmp_path):
    with pytest.raises(SuiteError) as caught:
        load_suite(str(tmp_path / "mine.json"))
    assert "tool-calls" in caught.value.hint


def test_a_file_that_is_too_large_is_rejected_before_it_is_read(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(reading.MAX_BYTES + 1)  # a sparse file
    with pytest.raises(SuiteError, match="at most 64 MB"):
        load_suite(path)


def test_at_most_a_thousand_errors_are_reported():
    found = [{"id": f"s{n}", "prompt": "", "expect": {}} for n in range(3000)]
    with pytest.raises(SuiteError) as caught:
        parse_suite(json.dumps(document(*found)))
    assert len(caught.value.problems) == 1000 and "more than 1,000" in caught.value.message
    assert "and 980 more" in str(caught.value)


@pytest.mark.slow
def test_a_suite_of_8_000_scenarios_is_read_in_bounded_time():
    text = json.dumps(document(*(scenario(id=f"s{n}") for n in range(8_000))))
    began = time.process_time()
    assert len(parse_suite(text).scenarios) == 8_000
    assert time.process_time() - began < 5  # a bound against quadratic growth, not a measurement


@pytest.mark.slow
def test_a_different_allow_list_in_each_scenario_is_read_in_time():
    tools = {f"t{n}": {"type": "object"} for n in range(1_000)}
    many = [scenario(id=f"s{n}", tools=[f"t{n % 1_000}", f"t{n // 2}"], expect={}) for n in range(2_000)]
    text = json.dumps(document(*many, registry=tools))
    began = time.process_time()
    assert len(parse_suite(text).scenarios) == 2_000
    assert time.process_time() - began < 3  # narrowing the registry for each took longer, and a gigabyte


def test_too_many_scenarios_are_rejected(monkeypatch):
    monkeypatch.setattr(reading, "MAX_SCENARIOS", 3)
    found = problems(*(scenario(id=f"s{n}") for n in range(4)))
    assert list(found) == ["/scenarios"] and "at most 3" in found["/scenarios"]
    found = problems(scenario(turns=[{"prompt": "And?", "expect": {}}] * 65))
    assert found == {"/scenarios/0/turns": "There are 65 turns; at most 64 are allowed."}


@pytest.mark.slow
def test_an_error_in_a_deep_and_wide_text_is_located_in_time():
    deep = {"a" * 50: [0] * 20_000}
    for _ in range(400):
        deep = {"level" * 10: deep}
    found = problems(scenario(note=5, registry={"glyphscope": 1, "tools": [], "x": deep}))
    assert "/scenarios/0/note" in found


def test_an_error_at_a_name_with_a_slash_has_its_place():
    text = '{"a/b": {"~": [1, 22]}, "c": 3}'
    place = find_places(text, ["/a~1b/~0/1", "/a~1b/~0/9", "/nothing"])
    assert [text[each.start : each.end] for each in place] == ["22", "[1, 22]", text]
    assert line_and_column("ab\ncd", 4) == (2, 2)


def test_an_answer_is_read_from_the_file_that_it_names_and_is_a_part_of_the_suite(tmp_path):
    (tmp_path / "city.json").write_text('{"type": "string"}')
    (tmp_path / "sum.gbnf").write_text("root ::= [0-9]+")
    one = scenario(id="sum", answer="sum.gbnf", expect={"final": {"equals": "12"}})
    two = scenario(id="city", expect={"final": {"equals": "Bern"}})
    three = scenario(id="call", answer="call")
    suite = parse_suite(json.dumps(document(one, two, three, answer="schema:city.json")), folder=tmp_path)
    answers = [answer_of(suite, each) for each in suite.scenarios]
    assert answers == [Answer("gbnf", "root ::= [0-9]+"), Answer("schema", '{"type": "string"}'), Answer()]
    assert parse_suite(encode_suite(suite)) == suite


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("schema:nosuch.json", "There is no such file"),
        ("nosuch.gbnf", "There is no such file"),
        ("schema:../outside.json", "outside of the folder"),
        ("schema:not.json", "The schema is not JSON"),
        ("schema:bytes.json", "not UTF-8"),
        ("schema:.", "folder"),
    ],
)
def test_an_answers_file_that_cannot_be_used_is_reported_at_its_place(tmp_path, name, words):
    (tmp_path / "outside.json").write_text("{}")
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "not.json").write_text("{")
    (folder / "bytes.json").write_bytes(b"\xff")
    (pointer, found), *others = problems(scenario(answer=name, expect={}), folder=folder).items()
    assert pointer == "/scenarios/0/answer" and words in found and not others
