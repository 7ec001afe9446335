"""The mask-driven lab without a model: its prompts, its envelope, what it counts, and the files."""

import json

import pytest
from jsonschema import Draft202012Validator

from glyphscope.errors import GlyphscopeError, ModelError, StorageError
from glyphscope.evals.labs import (
    LabPrompt,
    LabRun,
    MaskDrivenLab,
    build_tool_call_schema,
    lab_prompts,
    write_lab,
)
from glyphscope.evals.labs.files import check_folder
from glyphscope.evals.statistics import share, spread
from glyphscope.events import Sampling, ToolContent
from glyphscope.models import ScriptedModel
from glyphscope.registry import Tool
from glyphscope.tools import Outcome
from glyphscope.tools.verbs.tools import verb_tools

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
PROMPT = LabPrompt("Conjugate 'eat'.", "conjugate", {"verb": "eat"})


class Source:
    """Answers every call with the same outcome, and keeps the calls."""

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


def entries(*turns, source=None, prompts=(PROMPT,)):
    lab = MaskDrivenLab(ScriptedModel(turns=turns), source or Source(), Sampling(temperature=0.7))
    return lab, tuple(lab.entries(prompts))


def test_twenty_prompts_five_for_each_tool_and_every_gold_call_is_one_that_the_tool_answers():
    prompts = lab_prompts()
    tools = {tool.name: tool for tool in verb_tools()}
    counts = {name: sum(p.expected_tool == name for p in prompts) for name in tools}
    assert len(prompts) == len({p.prompt for p in prompts}) == 20 and set(counts.values()) == {5}
    schema = Draft202012Validator(build_tool_call_schema({t.name: t.parameters for t in tools.values()}))
    for prompt in prompts:
        schema.validate({"name": prompt.expected_tool, "arguments": prompt.expected_args})


@pytest.mark.parametrize(
    "call",
    [
        {"name": "conjugate", "arguments": {"verb": "eat", "tense": "future"}},  # by way of a reference
        {"name": "conjugate", "arguments": {"word": "ate"}},  # the arguments of the other tool
        {"name": "delete", "arguments": {}},
        {"name": "translate", "arguments": []},
        {"name": "translate"},
        {"name": "translate", "arguments": {"word": "ate"}, "id": 1},
        ["translate"],
    ],
)
def test_the_envelope_takes_the_call_of_one_tool_and_nothing_else(call):
    schema = Draft202012Validator(build_tool_call_schema({tool.name: tool.parameters for tool in TOOLS}))
    schema.validate({"name": "conjugate", "arguments": {"verb": "eat", "tense": "past"}})
    schema.validate({"name": "translate", "arguments": {"word": "ate"}})
    assert not schema.is_valid(call)


def test_a_call_goes_from_both_stages_to_the_tool_and_back():
    source = Source()
    _, (entry,) = entries('"conjugate"', '{"verb":"eat"}}', source=source)
    assert source.calls == [("conjugate", {"verb": "eat"})]
    assert entry.model_output_str == '{"name":"conjugate","arguments":{"verb":"eat"}}'
    assert (entry.model_output_name, entry.model_output_args) == ("conjugate", '{"verb":"eat"}')
    assert entry.parsed_tool_call == {"name": "conjugate", "arguments": {"verb": "eat"}}
    assert (entry.tool_result, entry.right_tool, entry.right_call) == ("ate", True, True)
    times = entry.timings_ms
    assert times.total >= times.mask_construction + times.parse + times.dispatch > 0


def test_a_tools_error_is_the_tools_and_one_of_the_server_is_the_dispatchs():
    of_tool = entries('"conjugate"', '{"verb":"x"}', source=Source(Outcome(fault="tool", message="no verb")))
    of_server = entries(
        '"conjugate"', '{"verb":"x"}', source=Source(Outcome(fault="timeout", message="late"))
    )
    (tool,), (server,) = of_tool[1], of_server[1]
    assert (tool.tool_error, tool.dispatch_error, tool.tool_result) == ("no verb", "", {"error": "no verb"})
    assert (server.tool_error, server.dispatch_error, server.tool_result) == ("", "late", {"error": "late"})


def test_a_text_that_is_no_call_is_a_parse_failure_that_is_neither_hidden_nor_tried_again():
    source = Source()
    _, made = entries(
        '"conjugate"', '{"verb":', '"translate"', '{"word":"x"}', source=source, prompts=(PROMPT,) * 2
    )
    assert [bool(entry.parse_error) for entry in made] == [True, False]
    assert (made[0].parsed_tool_call, made[0].tool_result, made[0].model_output_name) == (
        None,
        None,
        "conjugate",
    )
    assert source.calls == [("translate", {"word": "x"})]


def test_a_server_without_tools_and_a_run_that_failed_are_errors_and_no_results():
    with pytest.raises(GlyphscopeError, match="no tools"):
        MaskDrivenLab(ScriptedModel(""), Source(tools=()), Sampling())

    class Failing(ScriptedModel):
        def generate(self, request):
            raise ModelError("gone")
            yield

    lab = MaskDrivenLab(Failing(""), Source(), Sampling())
    with pytest.raises(ModelError, match="gone"):
        list(lab.entries([PROMPT]))


def test_the_files_count_what_the_entries_tell(tmp_path):
    lab, made = entries(
        *('"conjugate"', '{"verb":"eat"}'), *('"translate"', '{"word":"x"}'), prompts=(PROMPT, PROMPT)
    )
    folder = tmp_path / "made" / "here"
    info = ScriptedModel("").info
    files = write_lab(
        folder, lab, [LabRun(made), LabRun(made)], info, server="serve", command="glyphscope lab"
    )
    assert sorted(path.name for path in files) == sorted(path.name for path in folder.iterdir())
    read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}
    results = read["results"]
    assert (results["total_prompts"], results["parse_failures"], results["tool_errors"]) == (2, 0, 0)
    assert (results["tool_choice"]["correct"], results["tool_choice"]["n"]) == (1, 2)
    assert read["timings"]["summary"]["total_ms"].keys() == {"mean", "p50", "p95"}
    assert (
        len(read["timings"]["further_runs"]) == 1
        and read["manifest"]["registry_digest"] == lab.registry.digest
    )
    assert read["transcript"][0]["timings_ms"].keys() == {
        "mask_construction",
        "generation",
        "parse",
        "dispatch",
        "total",
    }


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        check_folder(tmp_path / "file" / "below")


def test_few_samples_are_told_with_what_they_leave_open():
    assert spread([1.0, 2.0, 3.0, 4.0]) == spread([4.0, 1.0, 3.0, 2.0])
    told = spread([0.0, 10.0])
    assert (told.mean, told.p50, told.p95) == (5.0, 5.0, 9.5)
    half = share(10, 20)
    # Wilson's interval of 10 in 20, as published tables have it
    assert (round(half.low, 3), round(half.high, 3)) == (0.299, 0.701)
    assert (share(0, 20).low, share(20, 20).high, share(0, 0).high) == (0.0, 1.0, 1.0)
