"""The Python interface: tools of functions and models, runs that are iterated, awaited, saved and read, checks."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, get_type_hints

import msgspec
import pytest
from pydantic import BaseModel, Field

import glyphscope
from glyphscope import (
    GlyphscopeError,
    Model,
    Tools,
    Validator,
    api,
    build_grammar,
    check_call,
    open_model,
    read_run,
)
from glyphscope.base.errors import RegistryError
from glyphscope.events import Answer, Relaxed, RunFinished, RunRequest, RunStarted
from glyphscope.registry import default_registry

CALL = '{"name":"weather","arguments":{"city":"Bern","days":2}}'
made: list[tuple[str, int]] = []


def weather(
    city: str,
    days: Annotated[int, Field(ge=1, le=7, description="How many")] = 1,
    unit: Literal["C", "F"] = "C",
) -> dict[str, object]:
    """The weather of a city,
    for some days.

    Not for the model.
    """
    made.append((city, days))
    return {"city": city, "days": days, "unit": unit}


async def tide(place: str) -> str:
    """The tide."""
    await asyncio.sleep(0)
    return f"high in {place}"


def broken(city: str) -> str:
    raise LookupError(f"no {city}")


class Search(BaseModel):
    """Search the web."""

    query: str
    results: int = Field(3, ge=1, le=100)


@pytest.fixture
def model() -> Iterator[Model]:
    with open_model(f"scripted:{CALL}") as opened:
        yield opened


MADE = {"prompt", "registry", "model", "native", "form", "sources", "written", "branch_of", "relaxed"}
"""The other members of a request: its subject, and the members that an engine or a window fills in."""


def test_a_type_checker_sees_every_setting_of_a_request() -> None:
    typed, asked = get_type_hints(api.runs.RunSettings), get_type_hints(RunRequest)
    assert {*typed} == {*asked} - MADE
    for name, kind in asked.items():
        if name in typed and name not in (
            "notation",
            "answer",
            "expected",
        ):  # which Python writes in more ways
            assert str(typed[name]) == str(kind).replace(", ...]", "]").replace(
                "tuple[", "collections.abc.Sequence["
            ), name


def scripted(call: str) -> Model:
    return open_model(f"scripted:{call}")


def test_a_function_is_a_tool_by_its_signature_and_docstring() -> None:
    (tool,) = Tools(weather)
    assert (tool.name, tool.description) == ("weather", "The weather of a city, for some days.")
    days = tool.parameters["properties"]["days"]
    assert (days["minimum"], days["maximum"], days["description"]) == (1, 7, "How many")
    assert tool.parameters["required"] == ["city"]


def test_tools_come_from_models_documents_files_and_bundled_registries(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_bytes(msgspec.json.encode(default_registry().to_document()))
    schema = {"name": "noop", "description": "", "parameters": {"type": "object", "properties": {}}}
    tools = Tools(Search, {"tools": [schema]}, "workspace", file, [Tools(weather), tide])
    names = [tool.name for tool in tools]
    assert names[:2] == ["Search", "noop"] and names[-2:] == ["weather", "tide"]
    assert {tool.name for tool in default_registry()} < set(names)
    assert set(tools.functions) == {"weather", "tide"} and len(tools) == len(names)


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        (3, "A int is not a tool"),
        ("no-such-file.json", "no such file"),
        ([weather, weather], "Another tool has this name"),
        (lambda city, /: city, "cannot be given by name"),
        ({"tools": 3}, "Not a tool registry"),
    ],
)
def test_a_thing_that_is_no_tool_is_an_error_with_its_reason(tools: object, words: str) -> None:
    with pytest.raises(RegistryError, match=words):
        Tools(tools)  # type: ignore[arg-type]


def test_a_call_is_checked_with_the_character_of_each_violation() -> None:
    assert check_call(CALL, weather).valid
    report = check_call(CALL.replace("2", "9"), weather)
    (error,) = report.errors
    assert not report.valid and (error.code, CALL[error.char]) == ("CONSTRAINT_MAX", "2")


@pytest.mark.parametrize(
    ("to", "part"), [("gbnf", "root ::="), ("lark", "start:"), ("json-schema", '"Search"')]
)
def test_a_grammar_is_built_in_each_language(to: Literal["gbnf", "lark", "json-schema"], part: str) -> None:
    assert part in build_grammar([weather, Search], to=to)


def test_a_run_is_iterated_once_and_again_from_its_events(model: Model) -> None:
    run = model.run("Weather?", weather)
    first = next(iter(run))
    assert isinstance(first, RunStarted) and run.state.outcome == "running"
    whole = list(run)
    assert isinstance(whole[-1], RunFinished) and list(run) == whole == list(run.events)
    assert run.valid and (run.tool, run.arguments) == ("weather", {"city": "Bern", "days": 2})
    assert run.text == CALL and not run.violations and len(run.calls) == 1


def test_an_invalid_answer_is_a_result_with_its_violations() -> None:
    with scripted(CALL.replace("2", "9")) as model:
        run = model.run("Weather?", weather, constraint="off")
        assert (run.outcome, run.arguments) == ("aborted", None)
        assert [each.code for each in run.violations] == ["CONSTRAINT_MAX"]


def test_a_run_is_awaited_and_its_events_come_one_by_one(model: Model) -> None:
    async def watch() -> int:
        run = model.run("Weather?", weather)
        count = 0
        async for _ in run:
            count += 1
        assert (await run).valid
        return count

    assert asyncio.run(watch()) == len(model.run("Weather?", weather).events)


def test_a_function_is_called_with_its_arguments(model: Model) -> None:
    made.clear()
    (result,) = model.run("Weather?", weather, dispatch=True).results
    assert (
        made == [("Bern", 2)] and result.ok and result.structured == {"city": "Bern", "days": 2, "unit": "C"}
    )


@pytest.mark.parametrize(
    ("tool", "call", "ok", "words"),
    [
        (tide, '{"name":"tide","arguments":{"place":"Brest"}}', True, "high in Brest"),
        (broken, '{"name":"broken","arguments":{"city":"Bern"}}', False, "LookupError: no Bern"),
        (Search, '{"name":"Search","arguments":{"query":"x"}}', False, "not connected"),
    ],
)
def test_a_result_is_that_of_the_function_or_its_error(tool: object, call: str, ok: bool, words: str) -> None:
    with scripted(call) as model:
        (result,) = model.run("Go", tool, dispatch=True).results  # type: ignore[arg-type]
        assert result.ok == ok and words in result.sent + result.message


def test_a_setting_that_does_not_exist_or_has_no_such_value_is_an_error(model: Model) -> None:
    with pytest.raises(GlyphscopeError, match="notation"):
        model.run("Weather?", weather, notation="xml")  # type: ignore[typeddict-item]
    with pytest.raises(TypeError, match="temprature"):
        model.run("Weather?", weather, temprature=1)  # type: ignore[call-arg]


def test_a_run_that_fails_raises_its_error_where_its_result_is_read(model: Model) -> None:
    run = model.run("Weather?", weather, grammar="root ::= (")
    assert [type(event).__name__ for event in run][-1] == "RunFailed"
    with pytest.raises(GlyphscopeError, match="not closed"):
        _ = run.arguments


def test_a_cancelled_run_ends_with_that_outcome(model: Model) -> None:
    run = model.run("Weather?", weather)
    next(iter(run))
    run.cancel()
    assert run.outcome == "cancelled"


def test_a_saved_run_is_read_again(model: Model, tmp_path: Path) -> None:
    run = model.run("Weather?", weather)
    run.save(tmp_path / "run.jsonl")
    again = read_run(tmp_path / "run.jsonl")
    assert again.events == run.events and again.arguments == run.arguments
    run.save(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "curl" in run.export("curl")


def test_a_notebook_shows_the_page_of_a_run_in_a_frame(model: Model) -> None:
    shown = model.run("Weather? <script>", weather)._repr_html_()
    assert shown.startswith('<iframe srcdoc="') and "<script" not in shown


def test_the_package_names_its_interface_and_nothing_else() -> None:
    assert set(api.__all__) | {"__all__"} == glyphscope._PUBLIC and api.__all__ == glyphscope.__all__
    assert set(api.__all__) < set(dir(glyphscope))
    for name in api.__all__:
        assert getattr(glyphscope, name) is getattr(api, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = glyphscope.nothing


@pytest.mark.model
@pytest.mark.slow
def test_the_examples_of_the_documentation_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(block, {"__name__": "example"})
    words = capsys.readouterr().out
    assert words.startswith("weather {'city': ") and "'sky': 'clear'" in words
    assert "False [('CONSTRAINT_MAX', " in words and (tmp_path / "run.html").is_file()


def test_a_wait_shows_a_bar_with_the_stage_and_its_tokens_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glyphscope.api.bars.DELAY", 0.0)
    with open_model(f"scripted:{CALL}") as model:
        model.run("AI news?", "default").wait()
        assert capsys.readouterr().err == "", "stderr is not a terminal"
        model.run("AI news?", "default").wait(progress=True)
    assert re.search(r"\d+ tokens", capsys.readouterr().err)


def test_a_run_is_branched_without_a_rule_of_its_answer() -> None:
    sums = "start: part (SIGN part)*\nSIGN: /[-+]/\npart: /[0-9]+/\n"
    with scripted("1+2") as model:
        run = model.run("x", answer=Answer("lark", sums)).wait(progress=False)
        branch = model.branch(run, 0, "one+2", relax=("answer", "/part")).wait(progress=False)
        assert run.valid and branch.valid and branch.text == "one+2"
        assert branch.state.started.request.relaxed == (Relaxed("answer", "/part"),)
        with pytest.raises(GlyphscopeError, match="has no rule nothing"):
            model.branch(run, 0, "one", relax=("answer", "/nothing"))


# -- a call piece by piece -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notation", "shape", "text"),
    [
        ("json", "name-arguments", '{"name":"search","arguments":{"query":"AI news","max_results":10}}'),
        ("json", "flat", '{"action": "search", "query": "AI news", "max_results": 10}'),
        ("glyph", "flat", '{action="search" query="AI news" max_results=10}'),
        ("glyph", "tool-args", 'search{query="AI news" max_results=10}'),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_validator_knows_the_tool_and_the_fields_of_a_call_as_its_pieces_come(notation, shape, text, size):
    validator = Validator("default", notation=notation, shape=shape)
    verdicts = [validator.push(text[at : at + size]) for at in range(0, len(text), size)]
    last = validator.end()
    assert (last.tool, last.allowed, last.complete, last.valid) == ("search", True, True, True)
    assert last.fields == {"query": "AI news", "max_results": 10} and last.violations == ()
    if size == 1:
        known = [verdict.tool for verdict in verdicts]
        assert known[0] is None and known.index("search") < text.index("10")
        names = [[*verdict.fields] for verdict in verdicts]
        assert ["query"] in names


def test_a_validator_finds_an_unknown_tool_and_a_value_outside_its_range_before_the_call_ends():
    validator = Validator("default", notation="glyph", shape="flat")
    verdict = validator.push('{action="hack_server"')
    assert (verdict.tool, verdict.allowed, verdict.violations[0].code) == (
        "hack_server",
        False,
        "UNKNOWN_TOOL",
    )
    validator = Validator("default", notation="glyph", shape="flat")
    assert validator.push('{action="calculate" precision=9').violations == ()
    (violation,) = validator.push("9 ").violations
    assert (violation.code, violation.path) == ("CONSTRAINT_MAX", "/precision")
    ended = validator.push('expression="1+1"}')
    assert ended.complete and not ended.valid and ended.fields == {"expression": "1+1"}


def test_a_validator_reports_what_is_missing_at_the_end():
    validator = Validator()
    assert validator.push('{"name":"search","argum').violations == ()
    ended = validator.end()
    assert not ended.valid and [each.code for each in ended.violations] == ["TRUNCATED"]
