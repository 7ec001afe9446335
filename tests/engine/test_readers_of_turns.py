"""Readers of a turn: the strict form, lenient servers, and the notations of other models."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from cli_command import command
from glyphscope.base import resources
from glyphscope.events import Alternative, TokenStep
from glyphscope.models.turn_forms import TemplateRenderer
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.turns import (
    Reading,
    TurnForm,
    TurnTools,
    departed,
    form_of,
    known_forms,
    read_turn,
    readings,
    resemblance,
)
from renderers import renderer_at

TEMPLATE = resources.read_text("forms/example.jinja")
TOOLS = [
    {
        "name": "ping",
        "description": "",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }
]
OWN = '<call tool="ping">\n<arg name="n">\n1\n</arg>\n</call>'
TAGGED_JSON = '<tool_call>\n{"name": "ping", "arguments": {"n": 1}}\n</tool_call>'


@pytest.fixture(scope="module")
def form() -> TurnForm:
    return form_of(TemplateRenderer(TEMPLATE))[0]


@pytest.fixture(scope="module")
def registry() -> ToolRegistry:
    return parse_document(TOOLS)


def by_kind(found: tuple[Reading, ...], kind: str) -> list[Reading]:
    return [each for each in found if each.kind == kind]


def test_a_forms_own_notation_is_read_strictly_and_leniently(form: TurnForm, registry: ToolRegistry) -> None:
    found = readings(OWN, form, registry)
    strict, lenient = found[:2]
    assert strict.reads and strict.calls[0].name == "ping" and strict.calls[0].valid
    assert strict.left_at is None
    assert lenient.reads and lenient.calls == strict.calls


@pytest.mark.parametrize("answer", [OWN, TAGGED_JSON])
@pytest.mark.parametrize(("number", "valid"), [("1", True), ("1.0", False), ("1e0", False), ("1.5", False)])
def test_every_reader_judges_a_number_as_it_is_written(
    form: TurnForm, registry: ToolRegistry, answer: str, number: str, valid: bool
) -> None:
    found = readings(answer.replace("1", number), form, registry)
    judged = [
        call.valid for each in found for call in each.calls if type(call.arguments["n"]) in (int, float)
    ]
    assert set(judged) == {valid} and len(judged) > 1
    text = answer.replace("1", number)
    form = form if answer != OWN else next(each.form for each in known_forms() if "Qwen" in str(each.sources))
    tools = TurnTools(registry)
    like = resemblance(text, read_turn(text, form, tools), tools)
    assert like is None or {call.valid for call in like.calls} <= {valid}


def test_another_notation_is_read_leniently_and_by_its_own_readers(
    form: TurnForm, registry: ToolRegistry
) -> None:
    found = readings(TAGGED_JSON, form, registry)
    strict, lenient = found[:2]
    assert not strict.reads and strict.calls == () and strict.left_at == 0
    assert lenient.reads and lenient.calls[0].arguments == {"n": 1}
    readers = [each for each in by_kind(found, "other") if each.reads]
    assert any(each.left_at is None and each.reader.startswith("<tool_call> {") for each in readers)
    assert all(each.sources for each in readers)


def test_a_departure_from_the_form_has_its_place_and_the_expected_text(
    form: TurnForm, registry: ToolRegistry
) -> None:
    text = OWN.replace("\n</arg>", "</arg>")
    strict = readings(text, form, registry)[0]
    assert strict.left_at == text.index("</arg>")
    assert strict.left_expected.rstrip() == "\n</arg>"


FOREIGN = (  # a call, and the beginning of its notation's name
    ("<|tool_call>call:ping{n:1}<tool_call|>", "<|tool_call>call:"),
    (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>"
        '{"n": 1}<|tool_call_end|><|tool_calls_section_end|>',
        "<|tool_calls_section_begin|>",
    ),
    (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>"
        '{"n": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        "<｜tool▁calls▁begin｜>",
    ),
    ('[TOOL_CALLS]ping[ARGS]{"n": 1}', "[TOOL_CALLS]"),
    ("<tool_call>ping\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>", "<tool_call>NAME"),
    ('<|tools_prefix|>[{"ping": {"n": 1}}]<|tools_suffix|>', "<|tools_prefix|>"),
)


@pytest.mark.parametrize("before", ["", "I look.\n"])
@pytest.mark.parametrize(("text", "notation"), FOREIGN)
def test_a_text_in_the_markers_of_another_notation_is_not_strict_and_says_what_it_would_be(
    form: TurnForm, registry: ToolRegistry, text: str, notation: str, before: str
) -> None:
    tools, whole = TurnTools(registry), before + text
    turn = read_turn(whole, form, tools)
    assert (turn.calls, turn.strict, turn.left_at) == ((), False, len(before))
    found = resemblance(whole, turn, tools)
    assert found is not None and found.notation.startswith(notation)
    assert [(call.name, call.arguments, call.valid) for call in found.calls] == [("ping", {"n": 1}, True)]
    assert "looks like" in found.words and found.words.endswith("which would read calls of ping.")


@pytest.mark.parametrize(
    "text", ["<|im_end|>", "<｜DSML｜ calls>", "<|anything:else|>", "[TOOL_CALLS] then", "<turn|>"]
)
def test_a_marker_of_another_notation_alone_is_not_strict(
    form: TurnForm, registry: ToolRegistry, text: str
) -> None:
    tools = TurnTools(registry)
    turn = read_turn(f"Hm. {text}", form, tools)
    found = resemblance(f"Hm. {text}", turn, tools)
    assert (turn.content, turn.strict, turn.left_at) == (f"Hm. {text}", False, 4)
    assert found is not None and found.at == 4


@pytest.mark.parametrize(
    "text",
    [
        "a <b>c</b> d",
        "x <| f |> y",
        "The marker is <function=f> here.",
        "[TOOLS] [a](b)",
        "List<|T> <- 3 |> 2",
        "Write <tool_call>, then a name.",
        "if a < b and c > d: [x]",
        "<tool_call></tool_call>",
    ],
)
def test_a_text_that_only_mentions_markup_has_no_markers_of_another_notation(
    form: TurnForm, registry: ToolRegistry, text: str
) -> None:
    turn = read_turn(text, form, TurnTools(registry))
    assert turn.foreign is None and turn.content == text


def test_markers_of_the_form_itself_are_reported_if_they_are_those_of_a_call(
    llama_data: Path, registry: ToolRegistry
) -> None:
    own, tools = (
        form_of(renderer_at(llama_data / "templates" / "google-gemma-4-31B-it.jinja"))[0],
        TurnTools(registry),
    )
    assert read_turn("The turn begins with <|turn>model here.", own, tools).foreign is None
    turn = read_turn("Hm. <|tool_call>{n:1}", own, tools)
    found = resemblance("Hm. <|tool_call>{n:1}", turn, tools)
    assert (turn.calls, turn.strict) == ((), False) and found is not None
    assert found.words == "From character 4 on, the text has markers that belong to no call."


def test_an_answer_without_calls_is_a_text_for_every_reader(form: TurnForm, registry: ToolRegistry) -> None:
    found = readings("It is sunny.", form, registry)
    assert all(each.reads and not each.calls for each in found)


def test_the_prompts_part_of_the_turn_counts_for_other_readers(
    form: TurnForm, registry: ToolRegistry
) -> None:
    text = f"I think.\n</think>\n\n{TAGGED_JSON}"
    found = by_kind(readings(text, form, registry, True), "other")
    assert any(each.reasoning == "I think." and each.calls for each in found)


def test_a_models_own_form_is_not_among_the_other_readers(registry: ToolRegistry) -> None:
    known = known_forms()[0]
    found = by_kind(readings("x", known.form, registry), "other")
    assert known.name not in [each.reader for each in found]
    assert len(found) == len(known_forms()) - 1


def test_other_forms_can_be_given(form: TurnForm, registry: ToolRegistry) -> None:
    found = readings(OWN, TurnForm(), registry, others={"mine": form})
    assert [each.reader for each in found if each.kind == "other"] == ["mine"]
    assert found[-1].reads


@pytest.mark.parametrize("text", ["", "<", "<tool_call>" * 500, '{"name": ' * 500, "\x00\ud800", "[" * 5000])
def test_odd_answers_are_read_by_every_reader(form: TurnForm, registry: ToolRegistry, text: str) -> None:
    assert len(readings(text, form, registry)) > 30


# -- how likely the right token was ------------------------------------------------------------------------------------


def step(index: int, text: str, *others: tuple[str, float]) -> TokenStep:
    alternatives = tuple(
        Alternative(id=n, data=each.encode(), text=each, raw=raw, final=raw, allowed=True)
        for n, (each, raw) in enumerate(others)
    )
    return TokenStep(
        index=index, id=index, data=text.encode(), text=text, logprob=-0.5, alternatives=alternatives
    )


def test_the_most_likely_alternative_within_the_form_is_found(form: TurnForm, registry: ToolRegistry) -> None:
    text = OWN.replace("\n</arg>", "</arg>")
    cut = text.index("</arg>")
    steps = (
        step(0, text[:cut]),
        step(1, "</arg>", ("</arg>", 0.6), ("\n", 0.3), ("\n\n", 0.1)),
        step(2, text[cut + 6 :]),
    )
    found = departed(readings(text, form, registry)[0], steps)
    assert found is not None
    assert (found.index, found.text, found.right, found.right_probability) == (1, "</arg>", "\n", 0.3)
    assert found.probability == pytest.approx(0.6065, abs=1e-4)


def test_a_token_without_alternatives_has_no_better_one(form: TurnForm, registry: ToolRegistry) -> None:
    strict = readings(TAGGED_JSON, form, registry)[0]
    found = departed(strict, (step(0, TAGGED_JSON),))
    assert found is not None and found.right == "" and found.right_probability is None
    assert departed(strict, ()) is None
    assert departed(readings(OWN, form, registry)[0], (step(0, OWN),)) is None


# -- the data and the command ------------------------------------------------------------------------------------------


def test_every_known_form_has_calls_a_name_and_its_sources() -> None:
    known = known_forms()
    assert len({each.name for each in known}) == len(known) > 30
    assert all(each.sources and each.form.calls and not each.form.begun for each in known)
    assert all(call.strict for each in known for call in each.form.calls)


@pytest.mark.slow
def test_the_known_forms_are_those_of_the_templates(llama_data: Path) -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / "packaging" / "known_forms.py"))
    made = script["document"](script["known_forms"](llama_data))
    assert made == resources.read_bytes("forms/known.json"), "update it: python packaging/known_forms.py"


def run(*arguments: str, text: str = "") -> tuple[int, str, str]:
    done = command(*arguments, text=text)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "template.jinja": TEMPLATE,
        "tools.json": json.dumps(TOOLS),
        "own.txt": OWN,
        "other.txt": TAGGED_JSON,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {name.partition(".")[0]: str(tmp_path / name) for name in texts}


@pytest.mark.slow
def test_check_shows_how_each_reader_reads_an_answer(files: dict[str, str]) -> None:
    options = ("--template", files["template"], "--readers", "--registry", files["tools"])
    code, shown, _ = run("check", files["own"], *options)
    assert code == 0
    assert "this form, strictly" in shown and "servers, leniently" in shown
    code, shown, _ = run("check", files["other"], *options)
    assert code == 1
    assert "another notation of calls is written" in shown


def test_check_adds_the_readers_to_each_line(files: dict[str, str]) -> None:
    line = json.dumps({"text": TAGGED_JSON, "tools": TOOLS})
    code, shown, _ = run("check", "--template", files["template"], "--readers", "--lines", "-", text=line)
    answer = json.loads(shown)
    assert code == 0
    assert list(answer) == ["content", "reasoning", "calls", "complete", "strict", "readers"]
    assert [each["kind"] for each in answer["readers"][:2]] == ["strict", "lenient"]


@pytest.mark.parametrize(
    ("written", "schema", "message"),
    [
        ("1.0", {"type": "integer"}, "p must be an integer"),
        ("1e3", {"type": "number", "minimum": 2}, "p is written without an exponent here"),
        ("[1, 2.0]", {"type": "array", "items": {"type": "integer"}}, "p[1] must be an integer"),
        ("1.5", {"type": "number", "minimum": 1}, ""),
    ],
)
def test_check_reads_the_numbers_of_lines_as_they_are_written(
    files: dict[str, str], written: str, schema: Any, message: str
) -> None:
    tools = [{"name": "set", "parameters": {"properties": {"p": schema}}}]
    text = f'<call tool="set">\n<arg name="p">\n{written}\n</arg>\n</call>'
    line = json.dumps({"text": text, "tools": tools})
    code, shown, _ = run("check", "--template", files["template"], "--lines", "-", text=line)
    (call,) = json.loads(shown)["calls"]
    assert (code, call["valid"]) == (bool(message), not message)
    assert [each["message"] for each in call["violations"]][:1] == [message][: bool(message)]
    assert all(each["char"] > text.index('"p">') for each in call["violations"])


def test_readers_know_only_the_tools_of_an_empty_registry(files: dict[str, str]) -> None:
    Path(files["tools"]).write_text("[]")
    options = ("--template", files["template"], "--readers", "--registry", files["tools"], "--json")
    Path(files["own"]).write_text(
        '<call tool="browse">\n<arg name="url">\nhttps://x.example\n</arg>\n</call>'
    )
    _, shown, _ = run("check", files["own"], *options)
    strict = json.loads(shown)["readers"][0]
    assert [(call["name"], call["valid"]) for call in strict["calls"]] == [("browse", False)]


def test_readers_need_a_template(files: dict[str, str]) -> None:
    code, _, error = run("check", files["own"], "--readers")
    assert code == 2 and "--template" in error
