"""The grammar of native turns: it contains the rendered turns, and its texts are read strictly as valid calls."""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from changed_turns import form, rendered
from examples import rounds, some
from glyphscope.base.errors import GrammarError
from glyphscope.events import ConstrainFrom, Violation
from glyphscope.grammar import MaskReader, State, compile_grammar, match_text, sample_texts, to_lark
from glyphscope.grammar.gbnf import emit_gbnf, load_gbnf
from glyphscope.grammar.tree import Grammar, TokenMatch
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.turns import (
    Expected,
    TurnForm,
    TurnOptions,
    TurnTools,
    build_turn_grammar,
    call_violations,
    own_form,
    read_turn,
    turn_triggers,
)
from small_templates import SMALL, write_small

TEXT = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_weather", "description": "w", "parameters": {
        "type": "object", "required": ["city", "days"],
        "properties": {
            "city": TEXT, "days": {"type": "integer", "minimum": 1, "maximum": 5},
            "unit": {"enum": ["celsius", "fahrenheit"]}, "note": {"type": ["string", "null"]},
        },
    }},
    {"name": "get", "description": "g", "parameters": {"type": "object", "properties": {}}},
    {"name": "send.mail-2", "description": "s", "parameters": {
        "type": "object", "required": ["to", "flag"],
        "properties": {
            "to": {"type": "array", "items": {"type": "string", "maxLength": 8}, "minItems": 1},
            "code": {"type": "string", "pattern": "^[a-z<]{2,5}$"},
            "size": {"anyOf": [{"enum": ["big", "12"]}, {"type": "number"}]},
            "opts": {"type": "object", "required": ["deep"], "properties": {"deep": {"type": "boolean"}, "x-y": TEXT}},
            "flag": {"type": "boolean"}, "short": {"type": "string", "maxLength": 4},
        },
    }},
    {"name": "free", "description": "f", "parameters": {
        "type": "object", "properties": {"any": {}, "q": TEXT}, "additionalProperties": {"type": "integer"},
    }},
]  # fmt: skip
REGISTRY = parse_document(TOOLS)
READ_BY = TurnTools(REGISTRY)
ONE_EACH = (
    "Qwen3.5-4B", "Qwen-Qwen3-0.6B", "google-gemma-4-31B-it", "LFM2.5-8B-A1B", "openai-gpt-oss-120b", "Kimi-K3",
    "meta-llama-Llama-3.1-8B-Instruct",
)  # fmt: skip


ASKED: tuple[dict[str, Any], ...] = (
    {"choice": "required", "order": "any"},
    {"choice": "auto", "most_calls": 3, "thinking": True},
    {"choice": "none"},
    {"tool": "get_weather", "most_calls": 2, "thinking": False, "order": "any"},
    {"choice": "required", "most_calls": None, "free_text": True, "thinking": True},
    {"choice": "required", "constrain_from": "start"},
    {"choice": "required", "constrain_from": "call", "thinking": True},
)


def grammar(of: TurnForm, registry: ToolRegistry = REGISTRY, **options: Any) -> Grammar:
    return build_turn_grammar(of, registry, TurnOptions(**options), {})


def reader(made: Grammar) -> MaskReader:
    return MaskReader(lark=to_lark(made))


def refused_renderings(folder: Path, template: str, count: int) -> list[str]:
    refused = []
    readers: dict[bool | None, MaskReader] = {}
    for of, thinking, body, tools in rendered(folder, template, count):
        if thinking not in readers:
            readers[thinking] = reader(
                grammar(of, tools.registry, choice="auto", most_calls=None, order="any", thinking=thinking)
            )
        if not readers[thinking].accepts(body):
            refused.append(body)
    return refused


def misread(of: TurnForm, count: int, asked: tuple[dict[str, Any], ...]) -> list[tuple[str, str]]:
    """Return samples of the grammar that are read wrongly, or that llguidance rejects, with the reasons."""
    wrong = []
    for options in asked:
        made = grammar(of, **options)
        accepts = reader(made).accepts
        choice, tool, most = options.get("choice"), options.get("tool"), options.get("most_calls", 1)
        for text in sample_texts(made, count, seed=5):
            turn = read_turn(text, of, READ_BY, options.get("thinking"))
            again = "is written twice" in turn.left_why  # a free key: the grammar names it as not enforced
            why = "" if turn.strict or again else f"{turn.left_at} {turn.left_why}"
            found = [each for call in turn.calls for each in call_violations(call, READ_BY)]
            why += "".join(str(each) for each in found if not again or each.code != "DUPLICATE_ARGUMENT")
            why += "" if accepts(text) else "llguidance rejects"
            why += "calls" if choice == "none" and turn.calls else ""
            why += "no call" if choice not in ("none", "auto") and not turn.calls else ""
            why += "other tool" if tool and {c.name for c in turn.calls} != {tool} else ""
            why += "too many" if most and len(turn.calls) > most else ""
            if why:
                wrong.append((why, text))
    return wrong


@pytest.mark.slow
def test_rendered_turns_of_every_template_match_its_grammar(llama_data: Path) -> None:
    assert all(rendered(llama_data, template, 12) for template in ONE_EACH)
    refused = {}
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        if texts := refused_renderings(llama_data, path.stem, rounds(10, 24)):
            refused[path.stem] = texts
    assert refused == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_parameters_that_begin_with_their_key_or_have_no_closing_are_masked(
    name: str, tmp_path: Path
) -> None:
    folder = write_small(tmp_path)
    assert refused_renderings(folder, name, 24) == []
    assert misread(form(folder, name)[1], 2, ASKED) == []


@pytest.mark.slow
def test_sampled_turns_of_every_forms_grammar_are_strictly_valid_calls(llama_data: Path) -> None:
    """One template of each form with all options, others with one of them each."""
    asked = {
        path.stem: (ASKED[place % len(ASKED)],)
        for place, path in enumerate(some(sorted((llama_data / "templates").glob("*.jinja")), 3))
    } | dict.fromkeys(ONE_EACH, ASKED)
    wrong = {}
    for template, options in asked.items():
        of = form(llama_data, template)[1]
        count = 2 if template in ONE_EACH else 1
        if any(call.strict for call in of.calls) and (found := misread(of, count, options)):
            wrong[template] = found
    assert wrong == {}


TAGGED = """so
</think>

<tool_call>
<function=get_weather>
<parameter=city>
Paris
</parameter>
<parameter=days>
3
</parameter>
</function>
</tool_call>"""


@pytest.fixture
def tagged(llama_data: Path) -> TurnForm:
    return form(llama_data, "Qwen3.5-4B")[1]


def test_a_mutated_turn_is_rejected(tagged: TurnForm) -> None:
    accepts = reader(grammar(tagged)).accepts
    assert accepts(TAGGED)
    for old, new in (
        ("get_weather", "get_whether"), ("\n3\n", "\n9\n"), ("\n3\n", "\nthree\n"), ("=days", "=nights"),
        ("</parameter>\n</function>", "</function>"), ("</function>\n", ""),
        ("\n</tool_call>", "\n</tool_call>\nso"), ("\n</tool_call>", ""),
        ("<parameter=days>\n3\n</parameter>\n", ""), ("Paris", "Paris\n</parameter>\n<parameter=city>\nRome"),
    ):  # fmt: skip
        assert old in TAGGED and not accepts(TAGGED.replace(old, new, 1)), new


CHANGES = "x3<>{}[],=:|e.-/\"'"


@pytest.mark.slow
def test_a_changed_turn_is_a_violation_where_its_grammar_rejects_it(llama_data: Path) -> None:
    """Never earlier, and never where the grammar accepts it.

    It may be later where the grammar is narrower than what is read: ids, other white space and order of keys, and
    markers inside reasoning, and inside a raw text, which only what follows them shows to be markers.
    """
    drawn, rejected, later = random.Random(7), 0, 0
    for path in some(sorted((llama_data / "templates").glob("*.jinja")), 3):
        starts: dict[tuple[bool | None, int], State] = {}
        for own, thinking, body, tools in rendered(llama_data, path.stem, rounds(4, 1000)):
            asked: dict[str, Any] = {"choice": "required", "most_calls": None, "thinking": thinking}
            key = thinking, len(own.begun)
            if key not in starts:
                starts[key] = compile_grammar(grammar(own, tools.registry, order="any", **asked)).start()
            states = list(accumulate(body, State.feed, initial=starts[key]))
            if not body or not states[-1].accepted:
                continue  # a text before a call, which this request does not allow
            for _ in range(rounds(4, 1)):
                at, changed = _changed(body, drawn)
                after = accumulate(changed[at:], State.feed, initial=states[at])
                expected = next((at + n - 1 for n, state in enumerate(after) if not state.alive), None)
                validator = Expected(own, TurnOptions(**asked)).validator(tools.registry)
                validator.feed(changed)
                found = min((violation.char for violation in validator.violations), default=None)
                assert found is None or (expected is not None and found >= expected), (path.stem, changed)
                rejected += expected is not None
                later += expected is not None and (found is None or bool(changed[expected:found].strip()))
    assert later <= rejected / 10 and rejected > 100


def _changed(body: str, drawn: random.Random) -> tuple[int, str]:
    """Return the text with one character replaced, inserted or, where it is not white space, deleted; and its place."""
    at, char = drawn.randrange(len(body)), drawn.choice(CHANGES)
    how = drawn.choice(("replace", "insert") if body[at].isspace() else ("replace", "insert", "delete"))
    return at, body[:at] + ("" if how == "delete" else char) + body[at + (how != "insert") :]


def test_arguments_are_accepted_in_any_order_only_with_that_option(tagged: TurnForm) -> None:
    city, days = "<parameter=city>\nParis\n</parameter>\n", "<parameter=days>\n3\n</parameter>\n"
    turned = TAGGED.replace(city + days, days + city)
    assert reader(grammar(tagged, order="any")).accepts(turned)
    assert not reader(grammar(tagged)).accepts(turned)
    assert match_text(grammar(tagged, order="any"), turned).accepted


def test_a_call_may_end_reasoning_where_the_form_allows_it(tagged: TurnForm) -> None:
    assert tagged.reasoning is not None
    closed = replace(tagged, reasoning=replace(tagged.reasoning, call_ends=False))
    text = TAGGED.replace("</think>\n\n", "")
    assert reader(grammar(tagged)).accepts(text)
    assert not reader(grammar(closed)).accepts(text)


def test_the_start_of_the_constraint_decides_what_may_precede_a_call(tagged: TurnForm) -> None:
    at_once = TAGGED.removeprefix("so\n")
    spoken = TAGGED.replace("</think>\n\n", "</think>\n\nI look.\n")
    accepts = {
        begin: reader(grammar(tagged, constrain_from=begin)).accepts
        for begin in ("start", "reasoning", "call")
    }
    taken = {begin: [taken(text) for text in (at_once, TAGGED, spoken)] for begin, taken in accepts.items()}
    assert taken == {
        "start": [True, False, False], "reasoning": [True, True, False], "call": [True, True, True],
    }  # fmt: skip
    assert reader(grammar(tagged, free_text=True)).accepts(spoken)


@pytest.mark.parametrize("begin", ["reasoning", "call"])
def test_a_marker_inside_reasoning_is_text_where_a_call_may_not_end_it(
    tagged: TurnForm, begin: ConstrainFrom
) -> None:
    assert tagged.reasoning is not None
    closed = replace(tagged, reasoning=replace(tagged.reasoning, call_ends=False))
    accepts = reader(grammar(closed, constrain_from=begin)).accepts
    inside = TAGGED.replace("</think>\n\n", "")
    assert not accepts(inside)
    assert accepts("I could write <tool_call>\n<function=nothing> now. " + TAGGED)
    assert accepts(f"{inside}\n</think>\n\n{TAGGED.partition('</think>')[2].strip()}")


@pytest.mark.slow
def test_an_end_that_is_text_in_the_vocabulary_may_be_written_after_text_and_after_calls(
    llama_data: Path,
) -> None:
    channels = form(llama_data, "openai-gpt-oss-120b")[1]
    text = "<|channel|>final<|message|>Hi."
    call = " to=functions.get<|channel|>commentary json<|message|>{}"
    made = grammar(channels, choice="auto", most_calls=2)
    accepts = reader(made).accepts
    for turn, end in ((text, "<|return|>"), (call, "<|call|>")):
        assert accepts(turn) and accepts(turn + end) and not accepts(turn + end[:-1])
        assert not accepts(f"{turn}{end}more") and match_text(made, turn + end).accepted
    tokens = {"<|return|>": 1, "<|call|>": 2}
    ended = reader(build_turn_grammar(channels, REGISTRY, TurnOptions(choice="auto"), tokens)).accepts
    assert ended(text) and not ended(text + "<|return|>") and not ended(call + "<|call|>")


ENDS = (
    ("openai-gpt-oss-120b", " to=functions.get<|channel|>commentary json<|message|>{}", "<|call|>"),
    ("meetkai-functionary-medium-v3.1", "<function=get>{}</function>", "<|eom_id|>"),
    ("google-gemma-4-31B-it", "<|tool_call>call:get{}<tool_call|>", "<|tool_response>"),
    ("ByteDance-Seed-OSS", "<seed:tool_call>\n<function=get>\n</function>\n</seed:tool_call>", "<seed:eos>"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("template", "call", "end"), ENDS)
def test_an_end_token_that_ends_no_generation_is_written_and_ends_the_turn(
    llama_data: Path, template: str, call: str, end: str
) -> None:
    of = form(llama_data, template)[1]
    ending, names = TokenMatch(7), {end: 7, "<eog>": 8}
    for text in (call, call + "\n"):
        for known, written in (("<eog>", True), (end, False)):
            of = replace(of, generation_ends=(known,))
            made = build_turn_grammar(of, REGISTRY, TurnOptions(choice="required"), names)
            state = compile_grammar(made).start().feed(text)
            assert state.accepted and (ending in state.token_matches()) is written
            if written:
                after = state.feed_token(7, end)
                assert after.accepted and not after.token_matches() and not after.feed(" ").alive
    validator = Expected(of, TurnOptions(choice="required")).validator(REGISTRY)
    assert not [event for event in validator.feed(call + end) if isinstance(event, Violation)]
    assert validator.complete and validator.valid


@pytest.mark.slow
def test_a_mask_allows_several_messages_before_a_call_in_either_header(
    llama_data: Path,
) -> None:
    channels = form(llama_data, "openai-gpt-oss-120b")[1]
    following = "<|end|><|start|>assistant"
    thought, said = (
        f"<|channel|>analysis<|message|>a{following}",
        f"<|channel|>commentary<|message|>I look.{following}",
    )
    accepts = reader(grammar(channels, choice="auto")).accepts
    asked = reader(grammar(channels, choice="required")).accepts
    for before in (thought, thought * 2, said, thought + said, thought + said + thought, thought * 2 + said):
        for header in (" to=functions.get<|channel|>commentary", "<|channel|>commentary to=functions.get"):
            call = f"{before}{header} <|constrain|>json<|message|>{{}}"
            assert accepts(call) and accepts(call + "<|call|>") and asked(call) is (said not in before)
            turn = read_turn(call, channels, READ_BY)
            assert turn.strict and [each.name for each in turn.calls] == ["get"]
            assert (turn.reasoning.count("a"), turn.content) == (
                before.count(thought),
                "I look." * (said in before),
            )
        assert accepts(f"{before}<|channel|>final<|message|>Hi.") and not accepts(before)


@pytest.mark.parametrize("template", ["openai-gpt-oss-120b", "Qwen-Qwen3-0.6B"])
@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_mask_allows_an_answer_without_calls_only_with_text(
    llama_data: Path, template: str, choice: str
) -> None:
    of = form(llama_data, template)[1]
    accepts = reader(grammar(of, choice=choice)).accepts
    for text in (
        "",
        " \n",
        "<think>\nx</think>",
        "<|channel|>final<|message|>",
        "<|return|>",
        "Hi.",
        "Hi.<|return|>",
    ):
        validator = Expected(of, TurnOptions(choice=choice)).validator(REGISTRY)
        validator.feed(text)
        validator.finish()
        assert accepts(text) is validator.valid, text


HEADERS = (
    (" to=functions.get<|channel|>commentary json<|message|>{}", True),
    (" to=functions.get<|channel|>commentary <|constrain|>json<|message|>{}", True),
    (" to=functions.get<|channel|>analysis<|message|>{}", True),
    ("<|channel|>commentary to=functions.get <|constrain|>json<|message|>{}", True),
    ("<|channel|>analysis to=functions.get json<|message|>{}", True),
    ("<|channel|>commentary to=functions.get<|message|>{}", True),
    (" to=functions.getjson<|message|>{}", False),
    (" to=functions.get<|message|>{}", False),
    (" to=functions.get<|channel|>commentaryjson<|message|>{}", False),
    (" to=functions.get code<|message|>{}", False),
    ("<|channel|>commentary to=functions.get<|constrain|>json<|message|>{}", False),
    ("<|channel|>commentary to=functions.get code<|message|>{}", False),
    ("<|channel|>commentary to=get <|constrain|>json<|message|>{}", False),
)


@pytest.mark.parametrize("text,written", HEADERS)
def test_a_mask_allows_the_headers_of_the_form_and_others_are_read_leniently(
    llama_data: Path, text: str, written: bool
) -> None:
    channels = form(llama_data, "openai-gpt-oss-120b")[1]
    assert reader(grammar(channels)).accepts(text) is written
    turn = read_turn(text, channels, READ_BY)
    assert ([call.name for call in turn.calls], turn.strict) == (["get"], written)
    validator = Expected(channels).validator(REGISTRY)
    validator.feed(text)
    validator.finish()
    assert [call.tool for call in validator.calls] == ["get"]
    assert [each.code for each in validator.violations] == ([] if written else ["SYNTAX"])


def test_markers_that_are_tokens_are_matched_by_their_ids(tagged: TurnForm) -> None:
    made = build_turn_grammar(
        tagged, REGISTRY, TurnOptions(), {"<tool_call>": 7, "</tool_call>": 8, "</think>": 9}
    )
    assert all(f"<[{token}]>" in to_lark(made) for token in (7, 8, 9))
    state = compile_grammar(made).start().feed("so\n")
    assert not state.feed("</think>").alive and TokenMatch(9) in state.token_matches()
    state = state.feed_token(9, "</think>").feed("\n\n")
    assert state.feed_token(7, "<tool_call>").alive and not state.feed("<tool_call>").alive


def test_an_argument_that_would_not_be_read_back_cannot_be_written(tagged: TurnForm) -> None:
    parameters = {"type": "object", "properties": {"a>b": TEXT}}
    with pytest.raises(GrammarError, match="'a>b' cannot be written") as caught:
        grammar(tagged, parse_document([{"name": "f", "description": "d", "parameters": parameters}]))
    assert caught.value.hint and caught.value.where == "f: /properties/a>b"


@pytest.mark.parametrize(
    "template", [ONE_EACH[0], *(pytest.param(other, marks=pytest.mark.slow) for other in ONE_EACH[1:])]
)
def test_a_tool_that_cannot_be_called_is_left_out_and_listed(llama_data: Path, template: str) -> None:
    impossible = {"properties": {"x": {"type": "integer", "minimum": 5, "maximum": 4}}, "required": ["x"]}
    bad = {"name": "bad", "description": "b", "parameters": {"type": "object"} | impossible}
    of = form(llama_data, template)[1]
    made = grammar(of, parse_document([bad, TOOLS[0]]), choice="auto")
    assert [(left.tool, left.pointer) for left in made.unenforced[:1]] == [("bad", "/properties/x")]
    turns = [read_turn(text, of, READ_BY) for text in sample_texts(made, 8, seed=1)]
    assert {call.name for turn in turns for call in turn.calls} == {"get_weather"}
    with pytest.raises(GrammarError, match="No call of this tool"):
        grammar(of, parse_document([bad]))


def test_a_form_without_calls_is_an_error_unless_no_call_is_requested(tagged: TurnForm) -> None:
    with pytest.raises(GrammarError, match="no calls"):
        grammar(replace(tagged, calls=()))
    assert reader(grammar(replace(tagged, calls=()), choice="none")).accepts("so</think>words")


def test_calls_in_the_projects_notations_come_after_the_models_reasoning(tagged: TurnForm) -> None:
    accepts = reader(grammar(own_form("json", "name-arguments", model=tagged))).accepts
    assert accepts('so\n</think>{"name":"get","arguments":{}}')
    assert not accepts('{"name":"get","arguments":{}}')


@pytest.mark.slow
@pytest.mark.parametrize("template", ONE_EACH)
def test_the_lazy_grammar_begins_at_a_trigger_in_gbnf_too(llama_data: Path, template: str) -> None:
    of = form(llama_data, template)[1]
    made = grammar(of, lazy=True)
    gbnf = load_gbnf(emit_gbnf(made).text)
    triggers = turn_triggers(of)
    for text in sample_texts(made, 6, seed=2):
        assert match_text(gbnf, text).accepted
        assert text.startswith(triggers) or any(call.unmarked for call in of.calls if call.strict)
