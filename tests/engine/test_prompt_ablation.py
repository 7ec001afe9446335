"""The parts of a prompt are left out in turn, and what was written is scored again."""

import json
import math
import re
from dataclasses import replace

import msgspec
import pytest

from cli_command import command
from glyphscope.api import Model, Tools
from glyphscope.base.errors import ContextOverflow, GlyphscopeError, ModelError, PromptError
from glyphscope.events import LoopSettings, Message, PromptRendered, RunRequest, ToolCall
from glyphscope.explain.ablation import (
    OMISSION_KINDS,
    ablate_prompt,
    sentences,
    tool_pairs,
    whole_cut,
    written_choice,
)
from glyphscope.explain.ablation.words import cost_words, effect_words, head_words, omission_name, pair_words
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import ToolRegistry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.store.records import encode_record
from glyphscope.turns.own import NAMED
from scoring_model import MASS, NEAR, ScoringModel
from toolbox import default_tools

CALL = '{action="search" query="AI news" max_results=10}'
TOOLS = default_tools("search", "browse")
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
EXAMPLE = '{action="browse" url="https://example.com"}'


def request(**fields):
    return RunRequest(**{"prompt": "Search for AI news.", "registry": TOOLS.to_document(), **fields})


def ablated(costs, *, choice=None, script=CALL, template=None, kinds=OMISSION_KINDS, more=None, **fields):
    model = ScoringModel(script, costs, template=template)
    state = run_state(run(request(**fields), model))
    found = ablate_prompt(state, model, written_choice(state, **(choice or {})), kinds=kinds, **(more or {}))
    return model, found


def named(found):
    return {omission_name(effect.omission): effect for effect in found.effects}


def test_the_parts_whose_absence_matters_are_found_and_no_others():
    _, found = ablated({EXAMPLE: 0.7, "RULES:": 0.2})
    changes = {name: found.change(effect) for name, effect in named(found).items()}
    tokens = len(found.base.tokens)
    expected = {
        "example of browse": -0.7 * tokens,
        "tool browse": -0.7 * tokens,
        "sentence “RULES:”": -0.2 * tokens,
    }
    assert {name: change for name, change in changes.items() if change} == pytest.approx(expected)
    assert {"user’s message", "description of search", "tool search"} <= changes.keys()
    words = {effect_words(found, effect) for effect in found.effects}
    assert "Without the description of search, nothing changes." in words
    assert any(
        line.startswith("Without the example of browse, the tool search falls from ") for line in words
    )


def test_each_prompt_is_one_that_a_run_could_have_had():
    model, found = ablated({}, kinds=("tool", "description", "message"))
    lone = ToolRegistry(tuple(tool for tool in TOOLS if tool.name != "browse"))
    whole, fewer = ScoringModel(CALL, {}), ScoringModel(CALL, {})
    for one, registry in ((whole, TOOLS), (fewer, lone)):
        state = run_state(run(request(registry=registry.to_document()), one))
        ablate_prompt(state, one, written_choice(state), kinds=())
    assert model.scored[0] == whole.scored[0] == found.prompt
    assert fewer.scored[0] in model.scored
    assert named(found)["tool browse"].tokens == len(model.tokenize(fewer.scored[0]))


def test_a_part_costs_what_is_behind_it_and_is_estimated_first_where_that_is_much():
    model, found = ablated({EXAMPLE: 0.7})
    assert found.evaluated == model.evaluated
    whole = sum(len(model.tokenize(text)) for text in model.scored)
    assert found.evaluated < 0.8 * whole
    estimated = [effect for effect in found.effects if effect.estimate is not None]
    assert {"tool search", "description of search", "example of search"} <= {
        omission_name(e.omission) for e in estimated
    }
    assert not any(
        effect.estimate for effect in found.effects if omission_name(effect.omission) == "user’s message"
    )
    for effect in estimated:  # of this model, every effect is a direct one
        assert effect.estimate.logprob == pytest.approx(effect.score.logprob)


def test_a_budget_leaves_the_parts_with_the_least_influence_at_an_estimate():
    _, whole = ablated({EXAMPLE: 0.7})
    _, found = ablated({EXAMPLE: 0.7}, more={"budget": whole.evaluated / whole.tokens / 2})
    effects = named(found)
    assert whole.complete and found.estimated and not found.complete
    assert effects["tool browse"].score is not None and effects["example of browse"].score is not None
    left = [effect for effect in found.effects if effect.score is None]
    assert found.evaluated <= whole.evaluated // 2 and left
    assert "by an estimate" in effect_words(found, left[0]) and "Only estimated: " in cost_words(found)


def test_parts_that_are_estimated_at_nothing_are_left_out_by_their_cost():
    _, found = ablated({}, more={"budget": 3})
    left = [effect for effect in found.effects if effect.score is None]
    done = [effect for effect in found.effects if effect.score is not None and effect.estimate is not None]
    assert done and left and not any(map(found.change, found.effects))
    places = [effect.omission.spans[0][0] for effect in left]
    assert max(places) < min(effect.omission.spans[0][0] for effect in done)


def test_stop_leaves_the_effects_so_far():
    _, whole = ablated({})
    calls = []
    _, found = ablated({}, more={"report": calls.append, "stopped": lambda: len(calls) > 40})
    assert sum(effect.known is not None for effect in found.effects) > 0
    assert any(effect.score is None for effect in found.effects) and len(found.effects) == len(whole.effects)
    assert calls[-1].done <= calls[-1].total


def test_probabilities_are_those_among_the_allowed_tokens_and_the_models_own_without_a_constraint():
    _, masked = ablated({}, kinds=())
    one = masked.base.tokens[0]
    assert (one.raw, one.masked) == (NEAR, pytest.approx(NEAR - math.log(MASS)))
    assert one.other.raw == 0.2 and one.other.masked == pytest.approx(0.2 / MASS)
    assert "among the tokens that the constraint mask allows" in " ".join(head_words(masked))
    _, free = ablated({}, kinds=(), constraint="off")
    assert free.base.tokens[0].masked is None and free.base.logprob == pytest.approx(
        NEAR * len(free.base.tokens)
    )
    assert "the model’s own, without a constraint" in " ".join(head_words(free))


@pytest.mark.parametrize(
    ("choice", "text", "name"),
    [
        ({}, "search", "search"),
        ({"kind": "tool"}, "search", "search"),
        ({"kind": "field", "path": "/query"}, '"AI news"', ""),
        ({"kind": "field", "path": "query"}, '"AI news"', ""),
        ({"kind": "token", "token": 0}, "{", ""),
        ({"kind": "answer"}, CALL, ""),
    ],
)
def test_a_choice_is_the_tool_a_field_a_token_or_all(choice, text, name):
    state = run_state(run(request(), ScriptedModel(CALL)))
    found = written_choice(state, **choice)
    assert (found.text, found.name) == (text, name)
    written = "".join(token.step.text for token in state.stages[0].tokens[found.first : found.last])
    assert text in written and len(written) <= len(text) + 12


def test_the_best_other_token_names_the_tool_that_it_begins():
    _, found = ablated({}, kinds=())
    assert {token.other.tools for token in found.base.tokens[:1]} == {("browse",)}


def test_messages_are_left_out_with_the_results_of_their_calls():
    history = (
        Message("user", "One. Two."),
        Message("assistant", "", (ToolCall("search", {"query": "x"}),)),
        Message("tool", "found"),
        Message("assistant", "Done."),
    )
    model, found = ablated({}, template=CHATML, history=history, system_prompt="Be brief. Be kind.")
    effects = named(found)
    assert {"message 1", "message 2–3", "message 4", "user’s message", "system prompt"} <= effects.keys()
    assert {"sentence “One.”", "sentence “Two.”", "sentence “Be brief.”"} <= effects.keys()
    assert not any(
        "found" in text for text in model.scored if "Done." in text and "One." in text and "x" not in text
    )
    assert sum("found" not in text for text in model.scored) == 1


def test_the_templates_tools_are_left_out_in_its_own_notation():
    template = "{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}" + CHATML
    model, found = ablated(
        {},
        template=template,
        script='{"name": "search", "arguments": {"query": "x"}}',
        native=sorted(NAMED)[0],
    )
    effects = named(found)
    assert {"tool search", "tool browse", "description of query of search"} <= effects.keys()
    without = [text for text in model.scored if '"search"' not in text]
    assert len(without) == 1 and '"browse"' in without[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two!", ["One.", "Two!"]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("Version 1.5 is out. It works, e.g. here.", ["Version 1.5 is out.", "It works, e.g. here."]),
        ("\n\nRULES:\n", ["RULES:"]),
        ("--- \n ***", []),
    ],
)
def test_a_line_and_a_full_stop_end_a_sentence(text, expected):
    assert [text[start:end] for start, end in sentences(text, 0, len(text))] == expected


@pytest.mark.parametrize(
    ("text", "sentence", "left"),
    [
        ("One. Two.\n\nThree.", "Two.", "One.\n\nThree."),
        ("One. Two.\n\nThree.", "One.", "Two.\n\nThree."),
        ("a\n\nB.\n\nc", "B.", "a\n\nc"),
        ("1. a\n2. b\n3. c", "2. b", "1. a\n3. c"),
        ("1. a\n2. b\n\nc", "2. b", "1. a\n\nc"),
    ],
)
def test_a_sentence_leaves_no_blank_line_of_its_own(text, sentence, left):
    start, end = whole_cut(text, text.index(sentence), text.index(sentence) + len(sentence))
    assert text[:start] + text[end:] == left


def test_a_part_that_the_template_needs_is_reported_and_the_others_are_scored():
    strict = (
        "{% if messages[-1].role != 'user' %}{{ raise_exception('no user message') }}{% endif %}" + CHATML
    )
    _, found = ablated({}, template=strict)
    effects = named(found)
    assert "no user message" in effects["user’s message"].problem and found.complete
    assert effects["tool browse"].score is not None


def test_the_called_tool_is_compared_with_each_other_one_that_was_offered():
    tools = default_tools("search", "browse", "calculate")
    model = ScoringModel(CALL, {"Search the web": 0.4})
    model.present = {"browse(": 1.0}  # beside this tool, the call is less probable
    state = run_state(run(request(registry=tools.to_document()), model))
    pairs = {pair.other: pair for pair in tool_pairs(state, model)}
    assert pairs.keys() == {"browse", "calculate"} and {pair.called for pair in pairs.values()} == {"search"}
    assert pairs["browse"].is_confused and not pairs["calculate"].is_confused
    for pair in pairs.values():
        assert all(f"{name}(" in pair.ablation.prompt for name in ("search", pair.other))
        assert pair.ablation.prompt.count("(") < model.scored[0].count("(") + 3
    separating = [omission_name(effect.omission) for effect in pairs["browse"].separating]
    assert separating == ["description of search"] and not pairs["calculate"].ablation.effects
    assert "search or browse, for “Search for AI news.”" in pair_words(pairs["browse"])
    lone = ScoringModel(CALL, {})
    alone = run_state(run(request(registry=default_tools("search").to_document()), lone))
    with pytest.raises(PromptError, match="offered only the tool search"):
        list(tool_pairs(alone, lone))


@pytest.mark.parametrize("use", ["enforced", "optional"])
def test_the_first_turn_of_a_loop_is_explained_with_its_own_prompt(use):
    loop = LoopSettings(tool_use=use, max_turns=2)
    model, found = ablated({EXAMPLE: 0.7}, strategy="loop", loop=loop, kinds=("example", "message"))
    state = run_state(run(request(strategy="loop", loop=loop), model))
    assert found.prompt == state.stages[0].prompt.text and not found.note
    changes = {name: found.change(effect) for name, effect in named(found).items()}
    assert min(changes, key=changes.get) == "example of browse" and changes["example of search"] == 0


def test_a_loop_whose_prompt_a_transform_changes_is_not_explained():
    model = ScoringModel(CALL, {})
    state = run_state(run(request(strategy="loop"), model))
    state.stages[0].prompt = msgspec.structs.replace(state.stages[0].prompt, text="changed")
    with pytest.raises(PromptError, match="cannot be rendered again: a transform"):
        ablate_prompt(state, model, written_choice(state))


def test_a_prompt_that_is_longer_without_a_part_than_the_context_is_that_parts_reason():
    long = "{% if 'RULES:' not in messages[0].content %}{{ 'word ' * 3000 }}{% endif %}" + CHATML
    model = ScoringModel(CALL, {}, template=long)
    state = run_state(run(request(), model))
    model.context = 2000
    found = ablate_prompt(state, model, written_choice(state), kinds=("sentence", "message"))
    effects = named(found)
    assert "the model's context holds 2,000" in effects["sentence “RULES:”"].problem and found.complete
    assert effects["user’s message"].score is not None and not effects["user’s message"].problem
    model.context = 50
    with pytest.raises(ContextOverflow, match="the model's context holds 50"):
        ablate_prompt(state, model, written_choice(state))


def test_a_record_without_its_prompt_is_explained_and_one_without_its_beginning_says_so():
    model = ScoringModel(CALL, {EXAMPLE: 0.7})
    events = tuple(run(request(), model))
    bare = run_state(event for event in events if not isinstance(event, PromptRendered))
    assert bare.stages[0].prompt is None
    found = ablate_prompt(bare, model, written_choice(bare), kinds=("example",))
    assert found.change(named(found)["example of browse"]) < -0.6 and not found.note
    with pytest.raises(PromptError, match="does not contain the beginning of a run"):
        written_choice(run_state(events[1:]))


def test_of_an_answer_of_thousands_of_tokens_only_the_choice_is_scored():
    script = '{action="search" query="' + "one two " * 2000 + '" max_results=10}'
    model = ScoringModel(script, {EXAMPLE: 0.7})
    state = run_state(run(request(max_tokens=8000), model))
    choice = written_choice(state, "field", path="max_results")
    assert choice.first > 4000
    asked, generate = [], model.generate
    model.generate = lambda request: (asked.append(request), generate(request))[1]
    found = ablate_prompt(state, model, choice, kinds=("example",))
    assert found.complete and len(found.base.tokens) == choice.last - choice.first
    assert {(one.scored_from, len(one.written)) for one in asked} == {(choice.first, choice.last)}
    assert found.evaluated == model.evaluated


@pytest.mark.slow
def test_each_of_hundreds_of_tools_is_estimated_within_the_budget():
    tool = next(iter(TOOLS))
    bare = {"type": "object", "properties": {}}
    many = tuple(replace(tool, name=f"tool_{number}", parameters=bare) for number in range(400))
    registry = ToolRegistry((*TOOLS, *many)).to_document()
    model, found = ablated({EXAMPLE: 0.7}, registry=registry, kinds=("tool",), more={"budget": 3})
    assert len(found.effects) == 402 and found.estimated
    assert found.evaluated == model.evaluated <= 3 * found.tokens
    assert omission_name(found.ranked[0].omission) == "tool browse"


def record(path, events):
    path.write_bytes(encode_record(list(events)))
    return path


def test_a_run_whose_choice_cannot_be_explained_says_why(tmp_path):
    scripted = ScriptedModel(CALL)
    state = run_state(run(request(), scripted))
    choice = written_choice(state)
    with pytest.raises(ModelError, match="cannot score a given text"):
        ablate_prompt(state, scripted, choice)
    other = ScoringModel(CALL, {})
    with pytest.raises(ModelError, match="is another model"):
        ablate_prompt(state, other, choice)
    for strategy in ("two-stage", "route-execute"):
        with pytest.raises(PromptError, match=f"strategy {strategy} makes another prompt"):
            written_choice(run_state(run(request(strategy=strategy), ScriptedModel(CALL))))
    with pytest.raises(PromptError, match="There is no token 99"):
        written_choice(state, "token", token=99)
    with pytest.raises(PromptError, match="has no field /nothing"):
        written_choice(state, "field", path="/nothing")
    with pytest.raises(PromptError, match="no call 3"):
        written_choice(state, "tool", call=3)
    empty = run_state(run(request(), ScriptedModel("")))
    with pytest.raises(GlyphscopeError, match="nothing was chosen"):
        written_choice(empty)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tool", "--answer"], "One choice is explained at a time."),
        (["--token", "99"], "There is no token 99"),
        (["--field", "/x"], "The answer has no field /x."),
        (["--model", "http://localhost:1/v1#m"], "Only a model in a file can score"),
        (["--model", "nowhere.gguf"], "nowhere.gguf"),
        (["--model", "scripted:x"], "cannot score a given text"),
    ],
)
def test_bad_input_of_the_command_is_explained(tmp_path, options, words):
    file = record(tmp_path / "run.jsonl", run(request(), ScriptedModel(CALL)))
    done = command("explain", "prompt", file, *options)
    assert done.exit_code == 2 and words in done.output, done.output


def test_the_command_explains_a_run(tmp_path, monkeypatch):
    model = ScoringModel(CALL, {EXAMPLE: 0.7})
    file = record(tmp_path / "run.jsonl", run(request(), model))
    monkeypatch.setattr("glyphscope.store.named_models.open_named", lambda *_, **__: model)
    done = command("explain", "prompt", file, "--model", "rule.gguf")
    assert done.exit_code == 0, done.output
    assert "example of browse" in done.output and "Without each of these, nothing changes:" in done.output
    page = tmp_path / "page.html"
    done = command("explain", "prompt", file, "--model", "rule.gguf", "-o", page)
    html = page.read_text(encoding="utf-8")
    assert done.exit_code == 0 and "<script" not in html
    assert 'title="Without the example of browse, ' in html and "Influence of the prompt" in html
    assert "only estimated" not in html and html.count('class="t holds') > 1
    # a place in the prompt leads to its row
    places = set(re.findall(r'href="#(part-\d+)" title="Without the (?:tool|example of) browse', html))
    rows = dict(re.findall(r'<tr id="(part-\d+)"><th scope="row"><bdi>([^<]*)</bdi>', html))
    assert {rows[place] for place in places} == {"tool browse", "example of browse"}
    command("explain", "prompt", file, "--model", "rule.gguf", "--budget", "1.9", "-o", page)
    html = page.read_text(encoding="utf-8")
    assert 'class="t holds estimate" href=' in html and "only estimated" in html
    shown = json.loads(
        command("explain", "prompt", file, "--model", "rule.gguf", "--part", "example", "--json").stdout
    )
    assert [part["kind"] for part in shown["parts"]] == ["example", "example"] and shown["complete"]
    assert shown["parts"][1]["change"] < -0.6 and shown["parts"][0]["change"] == 0


def test_the_python_interface_explains_a_run_and_its_tools():
    source = ScoringModel(CALL, {EXAMPLE: 0.7})
    model = Model(source)
    made = model.run("Search for AI news.", Tools("default"), notation="glyph", shape="flat")
    found = model.explain_prompt(made, field="query", parts=("example",), progress=False)
    assert found.choice.text == '"AI news"' and found.complete
    assert min(found.effects, key=found.change).omission.of == "/browse"
    assert model.explain_prompt(made, token=0, parts=(), progress=False).choice.text == "{"
    pairs = model.tool_pairs(made, progress=False)
    assert len(pairs) == 6 and {pair.called for pair in pairs} == {"search"}


def test_the_command_shows_the_confused_tools(tmp_path, monkeypatch):
    model = ScoringModel(CALL, {"Search the web": 0.4})
    file = record(tmp_path / "run.jsonl", run(request(), model))
    monkeypatch.setattr("glyphscope.store.named_models.open_named", lambda *_, **__: model)
    done = command("explain", "tools", file, file, "--model", "rule.gguf")
    assert done.exit_code == 0 and done.output.count("Search for AI news.") == 2
    assert "No pair is confused." in done.output
    model.present = {"browse(": 1.0}
    done = command("explain", "tools", file, "--model", "rule.gguf")
    assert done.exit_code == 1 and "Separated by: description of search (-" in done.output, done.output
    shown = json.loads(command("explain", "tools", file, "--model", "rule.gguf", "--json").stdout)
    assert [(pair["called"], pair["other"], pair["confused"]) for pair in shown["pairs"]] == [
        ("search", "browse", True)
    ]


def test_the_mask_impact_is_the_explanation_without_a_word_before_the_file(tmp_path):
    file = record(tmp_path / "run.jsonl", run(request(), ScriptedModel(CALL)))
    short, whole = command("explain", "--json", file), command("explain", "mask", "--json", file)
    assert short.exit_code == 0 and short.stdout == whole.stdout
