"""The Python interface: evaluations as data frames, the assertion about a call, and the pytest plugin."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from glyphscope import Answer, Evaluation, GlyphscopeError, assert_tool_call, evaluate, open_model
from glyphscope.api.bars import progress_bar
from glyphscope.base.errors import ModelError, SuiteError
from glyphscope.evals.running.progress import SampleDone

pytest_plugins = ["pytester"]
GLYPH = 'scripted:{action="search" query="AI news" max_results=10}'
CALL = '{"name":"search","arguments":{"query":"AI news","max_results":10}}'


@pytest.fixture
def result(tmp_path: Path) -> Evaluation:
    return evaluate("starter", GLYPH, out=tmp_path, first=4, constraints=["off"])


def test_an_evaluation_has_its_samples_figures_and_runs(result: Evaluation) -> None:
    columns = result.columns()
    assert columns["ok"] == [sample.ok for sample in result.samples] == [True, False, False, False]
    assert result.summary.arms[0].tools.ok.correct == 1 and result.report.is_file()
    assert result.run(result.samples[0]).arguments == {"query": "AI news", "max_results": 10}
    assert "<td>25% [" in result._repr_html_() and "scripted:{action=&quot;" in result._repr_html_()


def test_samples_are_a_sequence_that_is_read_from_the_folder_when_it_is_used(result: Evaluation) -> None:
    samples = result.samples
    names = [sample.scenario for sample in samples]
    assert len(samples) == 4 == len(set(names)) and samples[-1].scenario == names[-1]
    assert [sample.scenario for sample in samples[1:3]] == names[1:3] and samples[0] in samples
    assert [sample.scenario for sample in reversed(samples)] == names[::-1]
    with pytest.raises(IndexError):
        samples[4]
    (result.path / "samples.jsonl").unlink()
    with pytest.raises(GlyphscopeError, match=r"samples\.jsonl"):
        list(samples)


def test_an_evaluation_reports_each_sample_and_continues_where_it_was_interrupted(tmp_path: Path) -> None:
    done: list[str] = []

    def two(report: object) -> None:
        if isinstance(report, SampleDone):
            done.append(report.sample.scenario)
            if len(done) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("starter", GLYPH, out=tmp_path, first=4, progress=two)
    result = evaluate("starter", GLYPH, out=tmp_path, first=4, resume=True, progress=two)
    assert len(done) == 4 == len(result.samples) and len(list(tmp_path.iterdir())) == 1


def test_the_answer_is_an_axis(tmp_path: Path) -> None:
    scenarios = [{"id": "a", "prompt": "x", "expect": {"final": {"equals": "yes"}}}]
    suite = {
        "glyphscope_suite": 1,
        "name": "s",
        "about": "",
        "answer": "choice:yes|no",
        "scenarios": scenarios,
    }
    (tmp_path / "s.json").write_text(json.dumps(suite))
    answers = [None, Literal["yes", "maybe"], {"enum": ["yes"]}, Answer("gbnf", 'root ::= "yes" | "ye"')]
    result = evaluate(
        tmp_path / "s.json", "scripted:yes", out=tmp_path / "out", answers=answers, notations=["json"]
    )
    named = ["suite", "choice:yes|maybe", 'schema:{"enum": ["yes"]}', 'gbnf:root ::= "yes" | "ye"']
    assert dict(zip(result.columns()["answer"], result.columns()["ok"])) == dict(
        zip(named, (True, True, False, True))
    )
    with pytest.raises(GlyphscopeError, match="cannot continue"):
        evaluate(tmp_path / "s.json", "scripted:yes", out=tmp_path, answers=[Literal["no"]])


def test_the_place_of_the_samples_is_jobs_of_this_machine_or_a_cluster(tmp_path: Path) -> None:
    result = evaluate("starter", GLYPH, out=tmp_path, first=2, on="local:2")
    assert len(result.samples) == 2
    with pytest.raises(TypeError, match="either on or jobs"):
        evaluate("starter", GLYPH, out=tmp_path, on="local:2", jobs=2)
    with pytest.raises(GlyphscopeError, match="Not a place"):
        evaluate("starter", GLYPH, out=tmp_path, on="cluster")


def test_samples_are_a_data_frame_of_the_library_that_is_installed(
    result: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {"polars": SimpleNamespace(DataFrame=lambda columns: ("polars", len(columns["ok"])))}
    monkeypatch.setattr("glyphscope.api.evaluation.find_spec", installed.get)
    monkeypatch.setitem(sys.modules, "polars", installed["polars"])
    assert result.to_frame() == ("polars", 4)
    installed.clear()
    with pytest.raises(GlyphscopeError, match="pip install pandas"):
        result.to_frame()


def test_a_setting_or_suite_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="temperature"):
        evaluate(temperature=1)  # type: ignore[call-arg]
    with pytest.raises(GlyphscopeError, match=r"notations\[0\]"):
        evaluate(notations=["xml"], out=tmp_path)
    with pytest.raises(SuiteError, match="no such suite"):
        evaluate("nothing", out=tmp_path)


def test_a_model_that_cannot_be_opened_is_left_out_unless_it_is_the_only_one(tmp_path: Path) -> None:
    missing = str(tmp_path / "no.gguf")
    with pytest.warns(UserWarning, match="is left out"):
        assert len(evaluate("starter", [missing, GLYPH], out=tmp_path, first=1).samples) == 1
    with pytest.raises(ModelError, match="no such file"):
        evaluate("starter", missing, out=tmp_path, first=1)


def test_the_asserted_call_is_returned_with_its_arguments() -> None:
    assert assert_tool_call(CALL, "search", {"max_results": 10.0, "query": "AI news"})["query"] == "AI news"
    with open_model(f"scripted:{CALL}") as model:
        assert assert_tool_call(model.run("AI news?"), "search")["max_results"] == 10


@pytest.mark.parametrize(
    ("text", "tool", "arguments", "words"),
    [
        (
            CALL.replace("10", "500"),
            "search",
            None,
            "CONSTRAINT_MAX at character 64 /arguments/max_results: ",
        ),
        (CALL.replace("10", "500"), "search", None, '"max_results":500}}\n' + " " * 42 + "^"),
        (CALL, "browse", None, "the call is of search, not of browse"),
        (CALL, "search", {"query": "AI news", "max_results": 5}, "search: max_results is 10, not 5"),
        ("", "search", None, "not a valid call"),
    ],
)
def test_a_failed_assertion_names_the_field_the_character_and_the_difference(
    text: str, tool: str, arguments: dict[str, object] | None, words: str
) -> None:
    with pytest.raises(AssertionError) as failure:
        assert_tool_call(text, tool, arguments)
    assert words in str(failure.value)


TEST = """
    from glyphscope import assert_tool_call

    def test_search(glyphscope_run):
        run = glyphscope_run({prompt!r}, notation="json")
        assert_tool_call(run, "search", {{"query": "AI news", "max_results": 10}})
"""


def outcomes(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(
        "-p",
        "no:glyphscope",
        "-p",
        "glyphscope_plugins.pytest_runs",
        "-p",
        "no:xdist",
        "-p",
        "no:asyncio",
        *options,
    )


def test_a_run_is_recorded_with_a_model_and_replayed_without_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_calls=TEST.format(prompt="AI news?"))
    missing = outcomes(pytester)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*Record it with --glyphscope-model*"])
    outcomes(pytester, "--glyphscope-model", f"scripted:{CALL}").assert_outcomes(passed=1)
    assert [path.name for path in pytester.path.rglob("*.jsonl")] == ["test_calls.test_search.1.jsonl"]
    outcomes(pytester).assert_outcomes(passed=1)
    pytester.makepyfile(test_calls=TEST.format(prompt="Other news?"))
    changed = outcomes(pytester)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*not the recorded one*: prompt.*"])


@pytest.mark.parametrize("installed", [("tqdm",), ()])
def test_an_evaluation_shows_a_bar_of_tqdm_or_rich_on_request(
    installed: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("glyphscope.api.bars.DELAY", 0.0)
    monkeypatch.setattr("glyphscope.api.bars.INTERVAL", 0.0)
    monkeypatch.setattr("glyphscope.api.bars.find_spec", lambda name: name in installed or None)
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich then takes stderr for a terminal
    monkeypatch.setenv("COLUMNS", "200")
    evaluate("starter", GLYPH, out=tmp_path, first=4, constraints=["off"], progress=True)
    shown = capsys.readouterr().err
    assert "4/4" in shown and "1/4 ok" in shown
    evaluate("starter", GLYPH, out=tmp_path, first=1, constraints=["off"])
    assert capsys.readouterr().err == "", "stderr is not a terminal"


def test_a_bar_appears_in_a_notebook_only_with_tqdm(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr("glyphscope.api.bars.DELAY", 0.0)
    monkeypatch.setattr("glyphscope.api.bars.INTERVAL", 0.0)
    for installed, bars in ((("tqdm",), True), ((), False)):
        monkeypatch.setattr(
            "glyphscope.api.bars.find_spec", lambda name, found=installed: name in found or None
        )
        with progress_bar(None, "samples") as show:
            show(1, 2, "one")
            show(2, 2, "two")
        assert ("2/2" in capsys.readouterr().err) is bars
