"""`glyphscope eval`: its output, its exit codes, and that a kill loses nothing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from cli_command import command
from eval_suite import SUITE, suite_file
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.events import RunRequest, Sampling
from glyphscope.registry import default_registry
from glyphscope.store import Project, save_project

FILES = {
    "samples.jsonl", "summary.json", "summary_by_scenario.json", "summary_by_scenario_and_strategy.json",
    "summary.csv", "manifest.json", "report.html",
}  # fmt: skip
SCRIPT = 'scripted:{action="search" query="news"}'


def started(*arguments: str | Path, **pipes: Any) -> subprocess.Popen[str]:
    """`glyphscope eval …` in a separate process, to be ended from outside."""
    program = [sys.executable, "-P", "-m", "glyphscope", "eval", *map(str, arguments)]
    return subprocess.Popen(program, text=True, **pipes)


@pytest.fixture
def glyphscope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `glyphscope eval …` in a separate folder and check its exit code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path, code: int = 0) -> Result:
        done = command("eval", *arguments)
        assert done.exit_code == code, done.stderr
        return done

    return run


def small(folder: Path, *more: str | Path) -> list[str | Path]:
    return [suite_file(folder), "--model", SCRIPT, "--constraint", "off", "--out", folder / "out", *more]


def test_several_answers_are_arms_and_their_files_are_read(
    glyphscope: Callable[..., Result], tmp_path: Path
) -> None:
    scenarios = [{"id": "a", "prompt": "x", "expect": {"final": {"equals": "yes"}}}]
    made = {
        "glyphscope_suite": 1,
        "name": "s",
        "about": "",
        "answer": "choice:yes|no",
        "scenarios": scenarios,
    }
    (tmp_path / "s.json").write_text(json.dumps(made))
    (tmp_path / "yes.gbnf").write_text('root ::= "yes"')
    asked = ["s.json", "--model", "scripted:yes", "--constraint", "off", "--out", "out"]
    glyphscope("run", *asked, "--answer", "suite", "regex:y.*", "yes.gbnf", "--control-texts", "plain")
    shown = lines(result(tmp_path))
    assert [sample["ok"] for sample in shown] == [True] * 3
    assert [sample["arm"].split(".")[2].partition("-")[0] for sample in shown] == ["flat", "regex", "gbnf"]
    wrong = glyphscope("run", *asked, "--answer", "no.gbnf", code=2)
    assert "no.gbnf" in wrong.stderr
    wrong = glyphscope("run", *asked, "--answer", "text:yes", code=2)
    assert "--answer text:yes" in wrong.stderr and "choice:A|B" in wrong.stderr


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
def test_an_answer_that_left_its_grammar_is_reported_with_the_rule(
    glyphscope: Callable[..., Result], tmp_path: Path, kind: str
) -> None:
    text = {"gbnf": "root ::= number\nnumber ::= [0-9]+", "lark": "start: number\nnumber: /[0-9]+/"}[kind]
    (tmp_path / f"a.{kind}").write_text(text)
    scenarios = [{"id": "a", "prompt": "x", "expect": {"final": {"equals": "1"}}}]
    made = {"glyphscope_suite": 1, "name": "s", "about": "", "answer": f"a.{kind}", "scenarios": scenarios}
    (tmp_path / "s.json").write_text(json.dumps(made))
    glyphscope("run", "s.json", "--model", "scripted:The", "--constraint", "off", "--out", "out")
    assert "number" in (result(tmp_path) / "report.html").read_text()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in JSON with a system prompt, greedy."""
    request = RunRequest(
        prompt="x", registry=default_registry().to_document(), system_prompt="Be terse.", notation="json",
        max_tokens=99, sampling=Sampling(temperature=0.0, top_k=7, seed=5),
    )  # fmt: skip
    save_project(tmp_path / "p.glyphscope", Project(request=request))
    return tmp_path / "p.glyphscope"


def requests_of(folder: Path) -> list[RunRequest]:
    read = ResultFolder.open(result(folder))
    return [read.record(sample.runs[0]).events[0].request for sample in read.samples()]


@pytest.mark.parametrize("uses", [None, True, False])
def test_a_suite_uses_the_prompt_and_sampling_of_a_project_unless_it_says_that_it_does_not(
    glyphscope: Callable[..., Result], tmp_path: Path, project: Path, uses: bool | None
) -> None:
    suite = small(tmp_path)[0]
    Path(suite).write_text(json.dumps({**SUITE, **({} if uses is None else {"project": uses})}))
    done = glyphscope(suite, "--model", SCRIPT, "--first", "1", "--out", "out", "--project", project)
    (request,) = requests_of(tmp_path)
    assert request.notation == "json", "its notation too, as no option varies it"
    found = request.system_prompt, request.max_tokens, request.sampling.temperature, request.sampling.top_k
    assert found == (("", 512, 0.8, 40) if uses is False else ("Be terse.", 99, 0.0, 7))
    assert request.sampling.seed != 5, "each sample has its own"
    assert ("small: the project's prompt, template and sampling." in done.stderr) is (uses is not False)
    manifest = ResultFolder.open(result(tmp_path)).manifest
    assert manifest.suites[0].project is (uses is not False)
    (sampling,) = manifest.profiles.values()
    assert sampling.temperature == request.sampling.temperature
    again = glyphscope(suite, "-m", SCRIPT, "--first", "1", "--out", "out", "--project", project, "--resume")
    assert "1 sample, 1 of them already done" in again.stderr


def test_an_evaluation_without_a_project_says_whose_prompt_it_uses(
    glyphscope: Callable[..., Result], tmp_path: Path
) -> None:
    suite = small(tmp_path)[0]
    Path(suite).write_text(json.dumps({**SUITE, "project": True}))
    done = glyphscope(suite, "--model", SCRIPT, "--first", "1", "--out", "out")
    assert "Prompt, template: each suite's own. Sampling: default." in done.stderr
    assert "made for a project's prompt, template and sampling, and evaluated without them" in done.stderr


def test_system_prompts_and_chat_templates_are_axes_whose_values_may_be_files(
    glyphscope: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "kind.txt").write_text("Be kind.")
    suite = small(tmp_path)[0]
    Path(suite).write_text(json.dumps({**SUITE, "request": {"system_prompt": "Mine."}}))
    prompts = ("suite", "none", "kind.txt", "{% raw")
    glyphscope(
        suite,
        "-m",
        SCRIPT,
        "--first",
        "1",
        "--out",
        "out",
        "--system-prompt",
        *prompts,
        "--chat-template",
        "suite",
        "own",
    )
    made = requests_of(tmp_path)
    assert {request.system_prompt for request in made} == {"Mine.", "", "Be kind.", "{% raw"}
    assert {request.chat_template for request in made} == {"", "own"}
    page = (result(tmp_path) / "report.html").read_text()
    assert "usual system prompt · usual chat template" in page and "system prompt “Be kind.”" in page


def result(folder: Path) -> Path:
    (path,) = (folder / "out").iterdir()
    return path


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "samples.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_all_files_are_written_and_the_answer_is_json_on_demand(tmp_path, glyphscope):
    done = glyphscope(*small(tmp_path, "--notation", "glyph", "json", "--trials", "2", "--json"))
    reported = json.loads(done.stdout)
    path = result(tmp_path)
    assert reported["folder"] == str(path) and reported["summary"]["samples"] == len(lines(path)) == 16
    assert {each.name for each in path.iterdir()} >= FILES
    assert json.loads(glyphscope("report", path, "--json").stdout)["summary"] == reported["summary"]
    out, line = tmp_path / "run.jsonl", lines(path)[0]
    glyphscope("record", path, line["id"], "-o", out)
    assert out.read_bytes() == (path / line["runs"][0]).read_bytes()
    assert "There is no such sample" in glyphscope("record", path, "x", "-o", out, code=2).stderr
    assert "1 recorded turn" in glyphscope("record", path, line["id"], "-o", out, "--turn", 2, code=2).stderr


@pytest.mark.slow
def test_the_starter_suite_compares_no_constraint_with_the_mask_and_its_samples_have_readable_names(
    tmp_path, glyphscope
):
    done = glyphscope("--suite", "starter", "--first", "2", "--filter", "search", "-m", SCRIPT, "--json")
    (path,) = (tmp_path / "eval-results").iterdir()
    assert [one["scenario"] for one in lines(path)] == ["search-news"] * 2 + ["search-too-many"] * 2
    assert len({one["arm"] for one in lines(path)}) == 2 and json.loads(done.stdout)
    done = glyphscope("--suite", "starter", "--first", "1", "-m", SCRIPT, "--out", "other")
    assert "1/2 search-news · no constraint" in done.stderr and "2/2 search-news · mask" in done.stderr
    assert "no constraint" in done.stdout and ".flat.off" not in done.stdout


@pytest.mark.slow
def test_every_sample_is_on_stderr_and_the_exit_code_follows_the_required_share(tmp_path, glyphscope):
    for share, code in (("0.2", 0), ("0.3", 1)):
        done = glyphscope(*small(tmp_path, "--fail-under", share), code=code)
        assert "4 samples" in done.stderr and "✗ 2/4" in done.stderr and "WRONG_TOOL" in done.stderr
        assert "25% [" in done.stdout and "report.html" in done.stdout
    without = small(tmp_path, "--notation", "glyph", "native")  # which a scripted model does not have
    glyphscope(*without, "--fail-under", "0", code=1)
    arguments = small(tmp_path)
    control = {**SUITE["scenarios"][0], "control": True, "expect": {}}
    Path(str(arguments[0])).write_text(json.dumps({**SUITE, "scenarios": [control]}))
    glyphscope(*arguments)


@pytest.mark.slow
def test_a_missing_model_skips_its_arm_with_exit_code_1(tmp_path, glyphscope):
    arguments = small(tmp_path)
    arguments.insert(3, tmp_path / "none.gguf")
    done = glyphscope(*arguments, code=1)
    assert "none.gguf was skipped" in done.stderr
    assert len(lines(result(tmp_path))) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-suite"], "no such suite"),
        (["tool-calls", "--profile", "hot"], "sampling profile"),
        (["tool-calls", "--scenario", "none"], "No scenario"),
        (["report", "."], "Not an eval"),
        (["tool-calls", "--on", "cluster"], "Not a place"),
        (["tool-calls", "--on", "dask://host"], "Not a place"),
        (["tool-calls", "--on", "dask://host:99999"], "Not a place"),
        (["tool-calls", "--on", "local:0"], "1 to 64 jobs"),
        (["tool-calls", "--on", "local:2", "--jobs", "3"], "--jobs 3 is --on local:3"),
    ],
)
def test_bad_input_is_exit_code_2_with_the_reason(arguments, said):
    ended = command("eval", *arguments)
    assert ended.exit_code == 2 and said in ended.stderr


@pytest.mark.slow
def test_a_result_of_another_matrix_is_not_resumed(tmp_path, glyphscope):
    glyphscope(*small(tmp_path))
    done = glyphscope(*small(tmp_path, "--trials", "2", "--resume"), code=2)
    assert "No result has this matrix" in done.stderr


@pytest.mark.slow
def test_a_result_without_an_order_of_arguments_resumes_in_the_schemas_order(tmp_path, glyphscope):
    masked = (suite_file(tmp_path), "--model", SCRIPT, "--out", tmp_path / "out")
    glyphscope(*masked, "--order", "schema")
    folder = result(tmp_path)
    whole = [one["id"] for one in lines(folder)]
    manifest = json.loads((folder / "manifest.json").read_text())
    for arm in manifest["arms"]:
        del arm["order"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    text = (folder / "samples.jsonl").read_text().splitlines(keepends=True)
    (folder / "samples.jsonl").write_text("".join(text[:-1]))
    glyphscope(*masked, "--resume")
    assert sorted(one["id"] for one in lines(result(tmp_path))) == sorted(whole)
    assert not any("any-order" in one for one in whole)
    glyphscope(*masked)
    assert len(list((tmp_path / "out").iterdir())) == 2, "a new one has the default order, and is different"


@pytest.mark.slow
def test_ctrl_c_saves_the_samples_and_says_how_to_resume(tmp_path):
    process = started(*small(tmp_path, "--trials", "300"), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stderr is not None
    for line in process.stderr:
        if "3/1200" in line:
            break
    process.send_signal(signal.SIGINT)
    _, reported = process.communicate(timeout=240)
    assert process.returncode == 130 and "--resume" in reported
    assert {each.name for each in result(tmp_path).iterdir()} >= FILES


@pytest.mark.slow
def test_a_result_that_was_killed_and_resumed_equals_an_uninterrupted_one(tmp_path, glyphscope):
    (tmp_path / "calm").mkdir()
    (tmp_path / "killed").mkdir()
    many = ("--trials", "30", "--seed", "3")
    glyphscope(*small(tmp_path / "calm", *many))
    chance = random.Random(5)
    killed, planned = 0, 30 * len(SUITE["scenarios"])
    while killed < 5:
        silent = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        process = started(*small(tmp_path / "killed", *many, "--resume"), **silent)
        before = time.monotonic() + 20
        target = _made(tmp_path / "killed") + chance.randrange(3, planned // 7)
        while _made(tmp_path / "killed") < target and process.poll() is None and time.monotonic() < before:
            time.sleep(chance.random() * 0.01)
        process.kill()
        process.wait()
        killed += 1
    assert 0 < _made(tmp_path / "killed") < planned, "it was killed before it was complete"
    glyphscope(*small(tmp_path / "killed", *many, "--resume"))
    calm, after = result(tmp_path / "calm"), result(tmp_path / "killed")
    assert _plain(lines(after)) == _plain(lines(calm))
    assert _figures(after) == _figures(calm)


def _made(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("out/*/samples.jsonl"))


def _plain(samples: list[dict]) -> list[dict]:
    """Return the samples without times and durations, sorted by id."""
    saved = [
        {k: v for k, v in each.items() if k not in ("time", "first_token_ms", "total_ms")} for each in samples
    ]
    return sorted(saved, key=lambda each: each["id"])


def _figures(path: Path) -> object:
    summary = json.loads((path / "summary.json").read_text())
    for arm in summary["arms"]:
        for figures in (
            arm["tools"],
            *arm["by_suite"].values(),
            *arm["by_group"].values(),
            *arm["by_level"].values(),
        ):
            del figures["first_token_ms"], figures["total_ms"]
    return summary
