"""The hooks for pre-commit and the steps of the action, each run as its program runs it, in a fresh clone."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from made_results import made_result

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
HOOKS = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
TOOL = {
    "name": "add",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}
FILES = {
    "tools.json": json.dumps({"glyphscope": 1, "tools": [TOOL]}),
    "grammars/digits.gbnf": "root ::= [0-9]+\n",
    "grammars/sum.lark": 'start: "1" ("+" "1")*\n',
    "suites/adding.json": json.dumps(
        {
            "glyphscope_suite": 1,
            "name": "adding",
            "about": "Additions.",
            "registry": "../tools.json",
            "scenarios": [{"id": "one", "prompt": "Add 1", "expect": {"calls": [{"tools": ["add"]}]}}],
        }
    ),
    "package.json": '{"name": "not ours"}',
}  # fmt: skip
BROKEN = {
    "tools.json": ("glyphscope-tools", json.dumps([TOOL, TOOL])),
    "grammars/digits.gbnf": ("glyphscope-grammars", "root ::= digit\n"),
    "grammars/sum.lark": ("glyphscope-grammars", 'start: "1" sum\n'),
    "suites/adding.json": ("glyphscope-suites", FILES["suites/adding.json"].replace('"one"', "1")),
}


def run(command, folder, **variables):
    """Run a command with the installed program, with these variables in addition."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        env=os.environ | {"PATH": path} | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def cloned(tmp_path):
    """Return a function that clones a repository with these files."""

    def make(files):
        origin = tmp_path / "origin"
        for name, text in files.items():
            path = origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            assert run([*git, *command], origin).returncode == 0
        assert run([*git, "clone", "-q", str(origin), str(tmp_path / "clone")], tmp_path).returncode == 0
        return tmp_path / "clone"

    return make


def hooked(hook, folder):
    """Run a hook as pre-commit does: its entry with the tracked files that its pattern finds."""
    tracked = run(["git", "ls-files"], folder).stdout.split()
    files = [name for name in tracked if re.search(hook["files"], name)]
    assert files
    return run([*hook["entry"].split(), *files], folder)


def test_every_hook_passes_in_a_clone_with_files_without_problems(cloned):
    folder = cloned(FILES)
    for hook in HOOKS.values():
        done = hooked(hook, folder)
        assert done.returncode == 0 and "no problems" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name", BROKEN)
def test_a_hook_names_the_broken_file_and_its_line(cloned, name):
    hook, text = BROKEN[name]
    done = hooked(HOOKS[hook], cloned(FILES | {name: text}))
    assert done.returncode == 1 and f"{name}:1:" in done.stdout, done.stdout + done.stderr


def acted(name, folder, **inputs):
    """Run a step of the action with these inputs as GitHub's runner does, None if its condition leaves it out."""
    step = STEPS[name]
    given = {key: each.get("default", "") for key, each in ACTION["inputs"].items()}
    given |= {key.replace("_", "-"): str(value) for key, value in inputs.items()}
    condition = re.fullmatch(r"inputs\.(\w+) != ''", step["if"])
    if not given[condition[1]]:
        return None
    variables = {key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value)
                 for key, value in step["env"].items()}  # fmt: skip
    variables |= {f"GITHUB_{each}": str(folder.parent / each.lower()) for each in ("STEP_SUMMARY", "OUTPUT")}
    return run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], folder, **variables)


def test_no_input_is_a_part_of_a_script():
    assert not [step["name"] for step in STEPS.values() if "${{" in step["run"]]


def test_the_action_checks_files_by_pattern_and_writes_sarif(cloned):
    folder = cloned(FILES | {name: text for name, (_, text) in BROKEN.items()})
    assert acted("Check files", folder) is None
    passed = acted("Check files", folder, files="package*.txt")
    assert passed.returncode == 2 and "::error::No file matches" in passed.stdout
    done = acted("Check files", folder, files="tools.json **/*.gbnf\nsuites/*.json", sarif="found.sarif")
    assert done.returncode == 1, done.stderr
    assert "::error file=grammars/digits.gbnf,line=1,col=10," in done.stdout
    results = json.loads((folder / "found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    uris = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results}
    assert uris == {"tools.json", "grammars/digits.gbnf", "suites/adding.json"}


def test_the_action_checks_calls(cloned):
    calls = ['{"text": "{action=add n=1}"}', '{"text": "{action=add n=x}"}']
    folder = cloned(FILES | {"calls.jsonl": "\n".join(calls), "right.jsonl": calls[0]})
    assert acted("Check calls", folder, calls="right.jsonl", registry="tools.json").returncode == 0
    assert acted("Check calls", folder, calls="calls.jsonl", registry="tools.json").returncode == 1
    (folder / "json.jsonl").write_text('{"text": "{\\"name\\": \\"add\\", \\"arguments\\": {\\"n\\": 1}}"}')
    given = {"calls": "json.jsonl", "registry": "tools.json"}
    assert acted("Check calls", folder, **given).returncode == 1
    assert acted("Check calls", folder, **given, notation="json", shape="name-arguments").returncode == 0


def test_the_action_compares_two_evaluations_for_a_comment(cloned, tmp_path):
    folder = cloned(FILES)
    before, after = made_result(tmp_path / "before"), made_result(tmp_path / "after")
    samples = [
        json.loads(line) for line in (after / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    worse = next(each for each in samples if each["ok"])
    worse |= {"ok": False, "failures": [{"reason": "FINAL_TEXT", "detail": "said ```@everyone``` | <b>"}]}
    (after / "samples.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in samples), encoding="utf-8"
    )
    done = acted("Compare evaluations", folder, before=before, after=after)
    summary = (folder / "glyphscope-comparison.md").read_text(encoding="utf-8")
    assert done.returncode == 1, done.stderr
    assert summary.startswith("**Glyphscope: 1 regression, 0 fixed**\n\n| configuration |")
    assert summary.count("````\n") == 2 and "said ```@everyone``` | <b>" in summary.split("````")[1]
    assert (tmp_path / "step_summary").read_text(encoding="utf-8") == summary
    assert (tmp_path / "output").read_text(encoding="utf-8") == "summary=glyphscope-comparison.md\n"
    again = acted("Compare evaluations", folder, before=before, after=after, fail_on_regression="false")
    assert again.returncode == 0
