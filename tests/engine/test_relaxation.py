"""One constraint relaxed: the right one and nothing else, checked by a branch, and reported with its cost."""

import copy
import json
from dataclasses import replace

import msgspec
import pytest

import keyword_rows
from cli_command import command
from glyphscope.base.errors import GrammarError, PromptError, RegistryError
from glyphscope.events import (
    Aborted,
    Answer,
    CallReady,
    PromptRendered,
    Relaxed,
    RunRequest,
    Token,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.explain.constraint_attribution import Attributor
from glyphscope.explain.proof import boundary_examples
from glyphscope.explain.relaxing import Freedom, cost_words, relaxation_cost
from glyphscope.grammar import MaskReader, compile_grammar, match_text, to_lark
from glyphscope.grammar.gbnf import load_gbnf
from glyphscope.models.scripted import ScriptedModel
from glyphscope.notation import write_call
from glyphscope.registry import ToolRegistry, default_registry, parse_document
from glyphscope.runs import branch_request, run_state
from glyphscope.runs.relaxation import enforced_answer, enforced_registry, relaxed
from glyphscope.runs.strategies import continue_aborted, run
from glyphscope.runs.strategies.turns import answer_validator, expected_answer
from glyphscope.store.exports import RecordedRun, export
from glyphscope.store.records import encode_record
from glyphscope.turns import build_call_grammar
from glyphscope.validation import CallValidator
from keyword_rows import IDS, ROWS, one_of_each
from schema_strategies import in_our_language
from toolbox import of

REGISTRY = default_registry()
MAXIMUM = ("search", "/properties/max_results/maximum")
GOOD = ['{action="', "search", '" query="', "a", '" max_results=', "10", "}"]
MORE = ['{action="', "search", '" query="', "a", '" max_results=', "500", "}"]


def request(**changes) -> RunRequest:
    return RunRequest(**{"prompt": "x", "registry": REGISTRY.to_document(), "constraint": "off", **changes})


def made(script=GOOD, **changes):
    return list(run(request(**changes), ScriptedModel(script)))


def branched(events, token, script, changes=None, **more):
    asked = msgspec.structs.replace(branch_request(events, token, **more), **(changes or {}))
    return list(run(asked, ScriptedModel(script)))


def one_tool(parameters, **more):
    tools = [{"name": "t", "description": "", "parameters": {"type": "object", **parameters}}]
    return parse_document({"glyphscope": 1, "tools": tools, **more})


def schema(registry, tool="t"):
    return registry.get(tool).parameters


def takes(registry, arguments, tool="t"):
    text = write_call(tool, arguments, style="json", shape="tool-args")
    judge = CallValidator(registry, "json", "tool-args")
    judge.feed(text)
    judge.finish()
    state = compile_grammar(build_call_grammar(registry, "json", "tool-args")).start().feed(text)
    return judge.valid, state.alive and state.accepted


# -- what is taken out --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("schema", [row[0] for row in ROWS], ids=IDS[: len(ROWS)])
def test_every_constraint_can_be_relaxed_by_itself(schema):
    """Without it, the verdict and the grammar accept a call that violates no other; the registry rejects the call."""
    registry = keyword_rows.registry(("x", schema))
    for example in one_of_each(boundary_examples(registry.tools[0])):
        try:
            free = relaxed(registry, "tool", example.pointer)
        except RegistryError as error:
            assert "applies at 2 places" in str(error) and "$ref" in str(schema)
            continue
        assert takes(registry, example.arguments, "tool") == (False, False), example
        # an alternative that is not applied evaluates no member
        valid = () if "unevaluated" in str(schema) else (example.valid,)
        for arguments in (example.arguments, *valid):
            right, written = takes(free, arguments, "tool")
            assert right and (written or not in_our_language(arguments)), example


def test_relaxing_leaves_the_registry_itself():
    before = copy.deepcopy(REGISTRY.to_document())
    free = relaxed(REGISTRY, *MAXIMUM)
    assert REGISTRY.to_document() == before and free.digest != REGISTRY.digest
    assert "maximum" not in schema(free, "search")["properties"]["max_results"]
    assert list(schema(free, "search")["properties"]) == list(schema(REGISTRY, "search")["properties"])


def test_one_required_name_is_relaxed_without_the_others():
    registry = one_tool(
        {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
    )
    for pointer in ("/required/1", "/required/b"):
        free = relaxed(registry, "t", pointer)
        assert schema(free)["required"] == ["a"]
        assert takes(free, {"a": 1}) == (True, True) and takes(free, {"b": 1})[0] is False
    assert takes(relaxed(registry, "t", "/required"), {}) == (True, True)
    with pytest.raises(RegistryError, match=r'"c" is not required.*a, b'):
        relaxed(registry, "t", "/required/c")


def test_unknown_arguments_are_relaxed_where_no_keyword_forbids_them():
    registry = one_tool(
        {"properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}}}
    )
    assert takes(registry, {"a": {"b": 1}, "x": 1}) == (False, False)
    assert takes(relaxed(registry, "t", "/additionalProperties"), {"a": {"b": 1}, "x": 1}) == (True, True)
    inner = relaxed(registry, "t", "/properties/a/additionalProperties")
    assert takes(inner, {"a": {"b": 1, "x": 1}}) == (True, True)
    assert takes(inner, {"a": {"b": 1}, "x": 1}) == (False, False)
    # registries that allow unknown arguments in a verdict do not let a grammar write them
    allowing = one_tool({"properties": {"a": {"type": "integer"}}}, unknown_arguments="allow")
    assert takes(allowing, {"a": 1, "x": 1}) == (True, False)
    assert takes(relaxed(allowing, "t", "/additionalProperties"), {"a": 1, "x": 1}) == (True, True)
    with pytest.raises(RegistryError, match="is true: it rejects nothing"):
        relaxed(one_tool({"additionalProperties": True}), "t", "/additionalProperties")
    same = relaxed(allowing, "t", "/unevaluatedProperties")  # as the enforced ones name it beside an allOf
    assert takes(same, {"a": 1, "x": 1}) == (True, True)


def test_a_relaxed_type_leaves_its_bounds():
    free = relaxed(
        one_tool({"properties": {"a": {"type": "integer", "maximum": 5}}}), "t", "/properties/a/type"
    )
    assert takes(free, {"a": "text"}) == takes(free, {"a": 1.5}) == (True, True)
    assert takes(free, {"a": 6})[0] is False


DEFINITIONS = {
    "properties": {
        "a": {"$ref": "#/$defs/size", "description": "The first."},
        "b": {"$ref": "#/$defs/size", "minimum": 1},
        "c": {"$ref": "#/$defs/alone"},
    },
    "$defs": {"size": {"type": "integer", "maximum": 9}, "alone": {"type": "integer", "maximum": 9}},
}


def test_a_shared_definition_is_relaxed_only_at_the_chosen_place():
    registry = one_tool(DEFINITIONS)
    with pytest.raises(
        RegistryError, match=r"2 places: /properties/a/\$ref/maximum, /properties/b/\$ref/max"
    ):
        relaxed(registry, "t", "/$defs/size/maximum")
    with pytest.raises(
        RegistryError, match=r"at /\$defs/size/maximum, .*/properties/a/\$ref/maximum removes it"
    ):
        relaxed(registry, "t", "/properties/a/maximum")
    for name, other in (("a", "b"), ("b", "a")):
        free = relaxed(registry, "t", f"/properties/{name}/$ref/maximum")
        assert takes(free, {name: 10}) == (True, True)
        assert takes(free, {other: 10}) == (False, False) and takes(free, {name: "x"})[0] is False
    assert takes(relaxed(registry, "t", "/properties/b/$ref/maximum"), {"b": 0}) == (False, False)
    alone = relaxed(registry, "t", "/$defs/alone/maximum")
    assert takes(alone, {"c": 10}) == (True, True) and takes(alone, {"a": 10})[0] is False


def test_a_recursive_schema_is_relaxed_at_the_level_of_the_pointer():
    node = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 5}, "in": {"$ref": "#/$defs/node"}},
    }
    registry = one_tool({"properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    everywhere = relaxed(registry, "t", "/$defs/node/properties/n/maximum")
    assert takes(everywhere, {"tree": {"in": {"in": {"n": 9}}}}) == (True, True)
    top = relaxed(registry, "t", "/properties/tree/$ref/properties/n/maximum")
    assert takes(top, {"tree": {"n": 9}}) == (True, True)
    assert takes(top, {"tree": {"in": {"n": 9}}}) == (False, False)


def test_a_schema_of_the_greatest_depth_can_be_relaxed():
    inner = {"type": "integer", "maximum": 5}
    for _ in range(250):
        inner = {"type": "object", "properties": {"a": inner}}
    pointer = "/properties/a" * 251 + "/maximum"
    free = relaxed(one_tool({"properties": {"a": inner}}), "t", pointer)
    with pytest.raises(RegistryError, match='no "maximum"'):
        relaxed(free, "t", pointer)


@pytest.mark.parametrize(
    ("tool", "pointer", "words"),
    [
        ("find", "/required", 'no tool "find".*search'),
        ("search", "", "Not a JSON Pointer of a keyword"),
        ("search", "properties", "Not a JSON Pointer of a keyword"),
        ("search", "/properties/max_results", "a schema, not one of its constraints.*minimum, maximum"),
        ("search", "/properties/max_results/pattern", 'no "pattern".*type, minimum, maximum'),
        ("search", "/properties/max_results/description", "not a constraint"),
        ("search", "/properties/nothing/maximum", "no such location"),
        ("search", "/properties", '"properties" is not a constraint'),
        ("read_file", "/properties/encoding/enum/0", "part of a constraint"),
        ("search", "/type", "always an object"),
        ("search", "/" + "9" * 5000, "no \""),
    ],
)  # fmt: skip
def test_a_pointer_without_a_constraint_is_rejected(tool, pointer, words):
    with pytest.raises(RegistryError, match=words):
        relaxed(REGISTRY, tool, pointer)


def test_an_argument_named_like_a_keyword_is_not_relaxed():
    registry = one_tool(
        {"properties": {"maximum": {"type": "integer", "maximum": 5}, "required": {"enum": [1]}}}
    )
    with pytest.raises(RegistryError, match="a schema, not one"):
        relaxed(registry, "t", "/properties/maximum")
    free = relaxed(registry, "t", "/properties/maximum/maximum")
    assert takes(free, {"maximum": 9}) == (True, True) and takes(free, {"required": 2})[0] is False
    assert takes(relaxed(registry, "t", "/properties/required/enum"), {"required": 2}) == (True, True)


# -- the branch ---------------------------------------------------------------------------------------------------


def test_a_relaxed_branch_is_validated_by_its_relaxed_schema_with_the_same_prompt():
    events = made()
    state = branched(events, 5, MORE, text="500")
    assert of(Violation, state)[0].code == "CONSTRAINT_MAX" and not state[-1].valid
    free = branched(events, 5, MORE, text="500", relax=MAXIMUM)
    assert (
        free[0].request.relaxed == (Relaxed(*MAXIMUM),) and free[0].request.registry == REGISTRY.to_document()
    )
    assert free[-1].valid and of(CallReady, free)[0].arguments["max_results"] == 500
    assert of(PromptRendered, free)[0].text == of(PromptRendered, events)[0].text


def test_a_relaxed_required_name_is_recorded_by_name():
    state = one_tool(
        {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
    )
    first = list(
        run(request(registry=state.to_document()), ScriptedModel(['{action="t"', " a=1", " b=2", "}"]))
    )
    once = branch_request(first, 0, text="{", relax=("t", "/required/0"))
    assert once.relaxed == (Relaxed("t", "/required/a"),)
    again = branched(first, 0, ["}"], text='{action="t"', relax=("t", "/required/0"))
    twice = branch_request(again, 0, text="{", relax=("t", "/required/0"))  # the first remaining one
    assert twice.relaxed == (Relaxed("t", "/required/a"), Relaxed("t", "/required/b"))


def test_a_relaxed_branch_replays_and_an_older_record_can_be_read(tmp_path):
    events = branched(made(), 5, MORE, relax=MAXIMUM)
    path = tmp_path / "relaxed.jsonl"
    path.write_bytes(encode_record(events))
    verified = command("replay", "--verify", path)
    assert verified.exit_code == 0, verified.output
    line = msgspec.json.decode(encode_event(made()[0]))
    del line["request"]["relaxed"]
    assert decode_event(msgspec.json.encode(line)).request.relaxed == ()


def test_a_branch_of_a_relaxed_branch_adds_its_own_relaxation():
    first = branched(made(), 5, MORE, relax=MAXIMUM)
    second = branched(first, 5, ["0", "}"], relax=("search", "/properties/max_results/minimum"))
    assert [one.pointer[-7:] for one in second[0].request.relaxed] == ["maximum", "minimum"]
    free = enforced_registry(second[0].request, REGISTRY)
    assert schema(free, "search")["properties"]["max_results"].keys() & {"minimum", "maximum"} == set()
    with pytest.raises(RegistryError, match='no "maximum"'):
        branch_request(first, 5, relax=MAXIMUM)


def test_the_continuation_of_an_aborted_relaxed_branch_is_relaxed_too():
    first = made(stop_on="never")
    script = ['{action="search" query="a" max_results=', "500", ' x="1"', "}"]
    aborted = branched(first, 0, script, {"stop_on": "error"}, relax=MAXIMUM)
    assert of(Aborted, aborted)[0].code == "UNKNOWN_ARGUMENT"
    rest = list(continue_aborted(aborted[0].request, aborted, ScriptedModel(["}"])))
    assert {event.code for event in of(Violation, rest)} <= {"UNKNOWN_ARGUMENT"}


def test_an_export_of_a_relaxed_branch_is_relaxed_too():
    events = branched(made(), 5, MORE, relax=MAXIMUM)
    recorded = RecordedRun(events)
    assert '"maximum"' in export(recorded, "openai-tools")
    assert compile_grammar(load_gbnf(export(recorded, "gbnf"))).start().feed(run_state(events).text).accepted
    judge = answer_validator(recorded.request, recorded.enforced)
    judge.feed(run_state(events).text)
    assert not judge.violations
    source = export(recorded, "pytest")
    scope: dict = {}
    exec(compile(source, "exported", "exec"), scope)
    for name, test in list(scope.items()):
        if name.startswith("test_"):
            test()


# -- what it cost -------------------------------------------------------------------------------------------------


def test_the_cost_of_a_relaxation_is_that_of_the_records():
    events = made()
    free = branched(events, 5, MORE, relax=MAXIMUM)
    cost = relaxation_cost(events, free)
    assert (cost.token, cost.valid, cost.relaxed) == (5, False, (Relaxed(*MAXIMUM),))
    assert [(each.code, each.path, each.rule) for each in cost.violations] == [
        ("CONSTRAINT_MAX", "/max_results", "/properties/max_results/maximum")
    ]
    assert [(c.pointer, c.before, c.after) for c in cost.changes] == [("/max_results", 10, 500)]
    assert cost.branch.written == 5 and cost.branch.decoded == len(of(Token, free)) - 5
    assert cost.run.decoded == len(of(Token, events)) and cost.tools == ("search", "search")


def test_unknown_costs_of_a_relaxation_are_left_unknown():
    events = made()
    free = branched(events, 5, MORE, relax=MAXIMUM)
    assert relaxation_cost(events, free).before == Freedom(None, None)
    reported = [
        msgspec.structs.replace(e, step=msgspec.structs.replace(e.step, allowed=7, feasible=0.25))
        if isinstance(e, Token)
        else e
        for e in events
    ]
    assert relaxation_cost(reported, free).before == Freedom(7, 0.25)
    unfinished = [event for event in free if not isinstance(event, CallReady)][:-2]
    assert relaxation_cost(events, unfinished[:-4]).changes is None
    with pytest.raises(PromptError, match="not a branch of"):
        relaxation_cost(free, events)
    with pytest.raises(PromptError, match="beginning"):
        relaxation_cost(events[1:], free)


def test_added_and_removed_arguments_are_reported_one_by_one():
    first = made(['{action="search" query="a" sources=[web news] max_results=1}'])
    again = branched(first, 0, ['{action="search" query="a" sources=[web]}'], relax=MAXIMUM)
    changes = relaxation_cost(first, again).changes
    assert [(c.pointer, c.was, c.has) for c in changes] == [
        ("/sources/1", True, False),
        ("/max_results", True, False),
    ]


def test_the_command_relaxes_a_constraint_and_prints_the_cost(tmp_path):
    record, out = tmp_path / "run.jsonl", tmp_path / "out.jsonl"
    record.write_bytes(encode_record(made()))
    script = "scripted:" + "".join(MORE)
    common = ["branch", str(record), "--at", "0", "--delete", "--model", script]
    done = command(*common, "--relax", "search:/properties/max_results/maximum", "--record", out)
    assert done.exit_code == 0, done.output
    assert "With all constraints: CONSTRAINT_MAX" in done.output
    assert "max_results changed from 10 to 500." in done.output
    assert decode_event(out.read_text().splitlines()[1]).request.relaxed == (Relaxed(*MAXIMUM),)
    for wrong, words in (
        ("maximum", "names no constraint"),
        ("search:/properties/x/enum", "no such location"),
    ):
        failed = command(*common, "--relax", wrong)
        assert failed.exit_code == 2 and words in failed.output, failed.output


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (Freedom(), Freedom(), "were not recorded"),
        (Freedom(1, 0.0), Freedom(1234, None), "1 token before and 1,234 tokens after"),
        (Freedom(None, 0.00001), Freedom(2, 0.5), "<0.1% and 50.0%"),
    ],
)
def test_an_unknown_cost_is_described_as_unknown(before, after, words):
    events = made()
    cost = relaxation_cost(events, branched(events, 5, MORE, relax=MAXIMUM))
    assert any(words in line for line in cost_words(replace(cost, before=before, after=after)))


@pytest.mark.parametrize(
    ("schema", "texts", "words"),
    [
        ({"type": "integer", "maximum": 9}, ("7", "70"), ["the value changed from 7 to 70."]),
        (
            {"type": "object", "properties": {"n": {"maximum": 9}}},
            ('{"n":7}', '{"n":70}'),
            ["n changed from 7 to 70."],
        ),
    ],
)
def test_the_cost_of_relaxing_an_answers_schema_compares_its_values(schema, texts, words):
    request = RunRequest(
        prompt="", registry=ToolRegistry().to_document(), answer=Answer("schema", json.dumps(schema)), notation="json",
        constraint="off", stop_on="never",
    )  # fmt: skip
    first = list(run(request, ScriptedModel(texts[0])))
    pointer = "/maximum" if "maximum" in schema else "/properties/n/maximum"
    branch = branch_request(first, 0, text=texts[1], relax=("schema", pointer))
    found = cost_words(relaxation_cost(first, list(run(branch, ScriptedModel("")))))
    assert found[-1:] == words and any("With all constraints: CONSTRAINT_MAX" in line for line in found)


# -- rules of a grammar -------------------------------------------------------------------------------------------

SUMS = 'start: sum\nsum: part (SIGN part)*\npart: NUMBER | "(" sum ")"\nSIGN: /[-+]/\nNUMBER: /[0-9]+/\n'
GBNF = 'root ::= sum\nsum ::= part ([-+] part)*\npart ::= [0-9]+ | "(" sum ")"\n'
QUOTED = r'root ::= "\"" part ("+" part)* "\""' + "\npart ::= [0-9]+"


def asked_for(kind, text, relax=(), **changes):
    relaxed = tuple(Relaxed("answer", f"/{rule}") for rule in relax)
    return request(answer=Answer(kind, text), relaxed=relaxed, **changes)


@pytest.mark.parametrize(
    ("kind", "text", "rule"), [("lark", SUMS, "NUMBER"), ("lark", SUMS, "part"), ("gbnf", GBNF, "part")]
)
def test_a_relaxed_rule_of_an_answer_is_any_text_up_to_what_follows_it(kind, text, rule):
    free = expected_answer(asked_for(kind, text, [rule])).grammar(ToolRegistry())
    reader = MaskReader(lark=to_lark(free))
    for answer, fits in (
        ("1+2", True),
        ("1+x y", True),
        ("x", True),
        ("", False),
        ("()", True),
        ("x+", True),
    ):
        judge = answer_validator(asked_for(kind, text, [rule]), ToolRegistry())
        judge.feed(answer)
        judge.finish()
        found = reader.accepts(answer), match_text(free, answer).accepted, judge.valid
        assert found == (fits, fits, fits), (answer, found)


def test_what_follows_a_relaxed_rule_is_enforced():
    text = 'start: "<" WORD ">" END\nWORD: /[a-z]+/\nEND: /[.]/'
    free = expected_answer(asked_for("lark", text, ["WORD"])).grammar(ToolRegistry())
    for answer, fits in (
        ("<A b>.", True),
        ("<>.", False),
        ("<A>", False),
        ("<A>>..>.", True),
        ("A>.", False),
    ):
        assert (
            match_text(free, answer).accepted is fits
            and MaskReader(lark=to_lark(free)).accepts(answer) is fits
        )


@pytest.mark.parametrize(
    ("kind", "text", "rule", "why"),
    [
        ("lark", SUMS, "start", "start is the first rule: without it, nothing is enforced"),
        ("lark", SUMS, "nothing", "has no rule nothing.*It has .*NUMBER"),
        ("lark", 'start: A\nA: B+\nB: "b"', "B", "no rule B.*inside of another one is a part of that one"),
        ("gbnf", GBNF, "root", "root is the first rule"),
        ("regex", "[a-z]+", "pattern", "pattern is the first rule"),
        ("choice", "a\nb", "a", "has no rule a.*only its first rule"),
    ],
)
def test_a_rule_that_cannot_be_relaxed_is_an_error_with_the_reason(kind, text, rule, why):
    with pytest.raises(GrammarError, match=f"(?s){why}"):
        enforced_answer(asked_for(kind, text, [rule]))
    with pytest.raises(RegistryError, match="Name a rule: answer:/RULE"):
        enforced_answer(request(answer=Answer(kind, text), relaxed=(Relaxed("search", "/a/b"),)))


@pytest.mark.parametrize(
    ("grammar", "rule", "strict", "free", "never"),
    [
        ({"type": "grammar", "syntax": "lark", "definition": SUMS}, "NUMBER", '"1+2"', '"1+x\\"y"', '""'),
        (QUOTED, "part", '"1+2"', '"1+x\\"y"', '""'),
    ],
)
def test_a_relaxed_rule_of_an_argument_is_any_text_of_the_string(grammar, rule, strict, free, never):
    registry = one_tool({"properties": {"v": {"type": "string", "x-grammar": grammar}}, "required": ["v"]})
    loose = relaxed(registry, "t", f"/properties/v/x-grammar/{rule}")
    for tools, text, fits in (
        (registry, strict, True), (registry, free, False), (loose, strict, True), (loose, free, True),
        (loose, never, False),
    ):  # fmt: skip
        call = f'{{"tool":"t","args":{{"v":{text}}}}}'
        assert match_text(build_call_grammar(tools, "json", "tool-args"), call).accepted is fits, text
    assert takes(relaxed(registry, "t", "/properties/v/x-grammar"), {"v": "anything"}) == (True, True)
    for wrong, why in (
        ("root" if isinstance(grammar, str) else "start", "is the first rule"),
        ("x", "no rule x"),
    ):
        with pytest.raises(RegistryError, match=why):
            relaxed(registry, "t", f"/properties/v/x-grammar/{wrong}")


@pytest.mark.parametrize(("kind", "text"), [("lark", SUMS), ("gbnf", GBNF)])
def test_a_branch_relaxes_the_rule_that_masked_a_token_and_reports_the_cost(kind, text):
    events = list(run(asked_for(kind, text), ScriptedModel(["1", "+", "(", "2", ")"])))
    whole = ToolRegistry()
    found = Attributor(asked_for(kind, text), whole).find("1+(", "x")
    rule = "part"
    assert found == ("answer", f"/{rule}", f"rule {rule}")
    branch = branched(events, 3, ["x y", ")"], text="x y", relax=("answer", f"/{rule}"))
    cost = relaxation_cost(events, branch)
    assert cost.relaxed == (Relaxed("answer", "/part"),) and not cost.valid
    words = " ".join(cost_words(cost))
    assert "Relaxed: answer:/part." in words and "With all constraints: SYNTAX at character 3" in words
    assert "arguments" not in words


def test_the_rule_of_a_custom_tool_that_masks_a_token_is_found():
    grammar = {"type": "grammar", "syntax": "lark", "definition": SUMS}
    registry = one_tool({"properties": {"v": {"type": "string", "x-grammar": grammar}}, "required": ["v"]})
    asked = request(registry=registry.to_document())
    for before, text, pointer in (
        ('{action="t" v="1+', "x", "/properties/v/x-grammar/part"),
        ('{action="t" v="', '"', "/properties/v/x-grammar"),
    ):
        found = Attributor(asked, registry).find(before, text)
        assert found is not None and found.pointer == pointer, found


@pytest.mark.parametrize(
    ("schema", "value", "rule"),
    [  # a value inside of a listed one, a listed `false`, and a list that is narrower than the types
        ({"const": {"a": 1}}, {"a": 2}, "const"),
        ({"const": [1, 2]}, [1, 3], "const"),
        ({"enum": [[1, [2]], {"a": 1}]}, [1, [3]], "enum"),
        ({"enum": [{"a": {"b": True}}]}, {"a": {"b": None}}, "enum"),
        ({"const": False}, 0.5, "const"),
        ({"type": ["boolean", "string"], "enum": [False]}, "a", "enum"),
        ({"type": "boolean", "enum": [False]}, "a", "type"),
    ],
)
def test_a_listed_value_is_relaxed_by_the_rule_of_its_violation(schema, value, rule):
    parameters = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    registry = parse_document([{"name": "t", "parameters": parameters}])
    (tool,) = registry

    def judged(of_registry):
        validator = CallValidator(of_registry, "json", "flat")
        for char in json.dumps({"action": tool.name, "v": value}, separators=(",", ":")):
            validator.feed(char)
        validator.finish()
        return validator.report().errors

    first = judged(registry)[0]
    assert first.rule == f"/properties/v/{rule}"
    again = judged(relaxed(registry, tool.name, first.rule))
    assert [each.rule for each in again] == ([] if rule != "type" else ["/properties/v/enum"])
