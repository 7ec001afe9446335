"""The mask-driven lab without a model: its prompts, its envelope, its counts, and the files."""

import json

import pytest
from jsonschema import Draft202012Validator

from glyphscope.base.errors import GlyphscopeError, ModelError, StorageError, SuiteError
from glyphscope.evals.statistics import share, spread
from glyphscope.events import Sampling, ToolContent
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.tools import Outcome
from glyphscope_plugins.lab.mask_driven import (
    MaskDrivenLab,
    build_tool_call_schema,
    check_folder,
    gold_model,
    write_lab,
)
from glyphscope_plugins.verbs.tools import verb_tools

TENSE = {"type": "string", "enum": ["past", "present"]}
TOOLS = (
    Tool(
        "conjugate",
        "Conjugate.",
        {
            "type": "object",
            "properties": {"verb": {"type": "string"}, "tense": {"$ref": "#/$defs/tense"}},
            "required": ["verb"],
            "$defs": {"tense": TENSE},
        },
    ),
    Tool(
        "translate",
        "Translate.",
        {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    ),
)
GOLD = {"tools": ["conjugate"], "arguments": {"verb": "eat"}}


class Source:
    """Answers every call with the same outcome, and records the calls."""

    name, identity = "fake", "fake"

    def __init__(self, outcome=None, tools=TOOLS):
        self.outcome = outcome or Outcome(content=(ToolContent(text="ate"),))
        self._tools, self.calls = tools, []

    def tools(self):
        return self._tools

    def claims(self, tool):
        return {}

    def call(self, tool, arguments, *, seconds, cancel, progress=None):
        self.calls.append((tool, arguments))
        return self.outcome

    def close(self):
        pass


@pytest.fixture
def lab_of(tmp_path):
    """Return a lab of one or more scenarios whose model says the turns."""

    def make(*turns, source=None, scenarios=1, model=None):
        registry = ToolRegistry(TOOLS).to_document()
        asked = [
            {"id": f"eat-{n}", "prompt": "Conjugate 'eat'.", "expect": {"calls": [GOLD]}}
            for n in range(scenarios)
        ]
        suite = {
            "glyphscope_suite": 1,
            "name": "lab",
            "about": "A lab.",
            "registry": registry,
            "scenarios": asked,
        }
        path = tmp_path / "lab.json"
        path.write_text(json.dumps({**suite, "strategy": "two-stage"}))
        model = model or ScriptedModel(turns=turns)
        return MaskDrivenLab(model, source or Source(), Sampling(temperature=0.7), suite=str(path))

    return make


def test_twenty_prompts_have_five_for_each_tool_and_every_gold_call_succeeds():
    tools = {tool.name: tool for tool in verb_tools()}
    samples = MaskDrivenLab(ScriptedModel(""), Source(tools=verb_tools()), Sampling(seed=7), runs=2).samples
    first, second = samples[:20], samples[20:]
    assert [each.scenario for each in first] == [each.scenario for each in second] and len(second) == 20
    assert {each.trial for each in first} == {1} and {
        each.request.request.sampling.seed for each in samples
    } == {7}
    gold = [each.scenario.expect.calls[0] for each in first]
    counts = {name: sum(call.tools == (name,) for call in gold) for name in tools}
    assert len({each.scenario.prompt for each in first}) == 20 and set(counts.values()) == {5}
    schema = Draft202012Validator(build_tool_call_schema({t.name: t.parameters for t in tools.values()}))
    for call in gold:
        schema.validate({"name": call.tools[0], "arguments": call.arguments})


@pytest.mark.parametrize(("suite", "prompts"), [("mask-driven", 20), ("mask-driven-examples", 4)])
def test_the_stub_answers_each_prompt_with_its_gold_call(suite, prompts):
    source = Source(tools=verb_tools())
    entries = list(MaskDrivenLab(gold_model(suite), source, Sampling(), runs=2, suite=suite).entries())
    assert len(entries) == 2 * prompts and all(entry.right_call for entry in entries)
    assert not [entry.parse_error or entry.dispatch_error for entry in entries if not entry.tool_result]
    assert source.calls == [(entry.expected_tool, entry.expected_args) for entry in entries]


def test_a_prompt_with_several_expected_calls_has_no_stub(tmp_path):
    two = {"id": "two", "prompt": "x", "expect": {"calls": [GOLD, GOLD]}}
    suite = {
        "glyphscope_suite": 1,
        "name": "lab",
        "about": "A lab.",
        "registry": ToolRegistry(TOOLS).to_document(),
    }
    (tmp_path / "two.json").write_text(json.dumps({**suite, "scenarios": [two]}))
    with pytest.raises(SuiteError, match="one expected call"):
        gold_model(str(tmp_path / "two.json"))


@pytest.mark.parametrize(
    "call",
    [
        {"name": "conjugate", "arguments": {"verb": "eat", "tense": "future"}},  # through a reference
        {"name": "conjugate", "arguments": {"word": "ate"}},  # the arguments of the other tool
        {"name": "delete", "arguments": {}},
        {"name": "translate", "arguments": []},
        {"name": "translate"},
        {"name": "translate", "arguments": {"word": "ate"}, "id": 1},
        ["translate"],
    ],
)
def test_the_envelope_accepts_exactly_the_call_of_one_tool(call):
    schema = Draft202012Validator(build_tool_call_schema({tool.name: tool.parameters for tool in TOOLS}))
    schema.validate({"name": "conjugate", "arguments": {"verb": "eat", "tense": "past"}})
    schema.validate({"name": "translate", "arguments": {"word": "ate"}})
    assert not schema.is_valid(call)


def test_a_call_passes_from_both_stages_to_the_tool_and_its_result_is_recorded(lab_of):
    source = Source()
    (entry,) = lab_of('"conjugate"', '{"verb":"eat"}}', source=source).entries()
    assert source.calls == [("conjugate", {"verb": "eat"})]
    assert entry.model_output_str == '{"name":"conjugate","arguments":{"verb":"eat"}}'
    assert (entry.model_output_name, entry.model_output_args) == ("conjugate", '{"verb":"eat"}')
    assert entry.parsed_tool_call == {"name": "conjugate", "arguments": {"verb": "eat"}}
    assert (entry.tool_result, entry.right_tool, entry.right_call) == ("ate", True, True)
    times = entry.timings_ms
    assert times.total >= times.mask_construction + times.parse + times.dispatch > 0


def test_a_tools_error_and_one_of_the_server_are_distinguished(lab_of):
    answers = [Outcome(fault="tool", message="no verb"), Outcome(fault="timeout", message="late")]
    tool, server = (
        next(lab_of('"conjugate"', '{"verb":"x"}', source=Source(each)).entries()) for each in answers
    )
    assert (tool.tool_error, tool.dispatch_error, tool.tool_result) == ("no verb", "", {"error": "no verb"})
    assert (server.tool_error, server.dispatch_error, server.tool_result) == ("", "late", {"error": "late"})


def test_a_text_that_is_not_a_call_counts_as_a_parse_failure_and_is_not_repeated(lab_of):
    source = Source()
    turns = ('"conjugate"', '{"verb":', '"translate"', '{"word":"x"}')
    failed, other = lab_of(*turns, source=source, scenarios=2).entries()
    assert failed.parse_error and not other.parse_error
    assert (failed.parsed_tool_call, failed.tool_result) == (None, None)
    assert failed.model_output_name == "conjugate"
    assert source.calls == [("translate", {"word": "x"})]


def test_a_server_without_tools_and_a_failed_run_are_errors(lab_of):
    with pytest.raises(GlyphscopeError, match="no tools"):
        MaskDrivenLab(ScriptedModel(""), Source(tools=()), Sampling())

    class Failing(ScriptedModel):
        def generate(self, request):
            raise ModelError("gone")
            yield

    with pytest.raises(ModelError, match="gone"):
        list(lab_of(model=Failing("")).entries())


def test_the_files_count_the_entries(lab_of, tmp_path):
    lab = lab_of(*('"conjugate"', '{"verb":"eat"}'), *('"translate"', '{"word":"x"}'), scenarios=2)
    made = tuple(lab.entries())
    folder = tmp_path / "made" / "here"
    info = ScriptedModel("").info
    files = write_lab(folder, lab, [made, made], info, server="serve", command="glyphscope lab")
    assert sorted(path.name for path in files) == sorted(path.name for path in folder.iterdir())
    read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}
    results, manifest = read["results"], read["manifest"]
    assert (results["total_prompts"], results["parse_failures"], results["tool_errors"]) == (2, 0, 0)
    assert (results["tool_choice"]["correct"], results["tool_choice"]["n"]) == (1, 2)
    assert read["timings"]["summary"]["total_ms"].keys() == {"mean", "p50", "p95"}
    assert len(read["timings"]["further_runs"]) == 1
    assert (manifest["registry_digest"], manifest["strategy"]) == (lab.registry.digest, "two-stage")
    times = {"mask_construction", "generation", "parse", "dispatch", "total"}
    assert read["transcript"][0]["timings_ms"].keys() == times


def test_a_folder_that_cannot_be_written_is_reported_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        check_folder(tmp_path / "file" / "below")


def test_few_samples_have_their_spread_and_interval():
    assert spread([1.0, 2.0, 3.0, 4.0]) == spread([4.0, 1.0, 3.0, 2.0])
    reported = spread([0.0, 10.0])
    assert (reported.mean, reported.p50, reported.p95) == (5.0, 5.0, 9.5)
    half = share(10, 20)
    # Wilson's interval of 10 in 20, as published tables have it
    assert (round(half.low, 3), round(half.high, 3)) == (0.299, 0.701)
    assert (share(0, 20).low, share(20, 20).high, share(0, 0).high) == (0.0, 1.0, 1.0)
