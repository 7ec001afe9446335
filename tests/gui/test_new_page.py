"""The worked examples of CONTRIBUTING.md, in a copy of the program: a page of the window, a setting, a notation, …"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glyphscope.evals.matrix.plan import Matrix, plan_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHOWN = """
from fake_context import scripted
from PySide6.QtWidgets import QMenu

from glyphscope_gui.shared.page_ids import MenuId, PageId


def test_it_is_in_the_rail_and_in_the_menu(open_window):
    window = open_window(scripted)
    window.rail.button(PageId.NOTES).click()
    assert window.navigator.page.title == "Notes" and window.page(PageId.NOTES).view.isVisible()
    actions = window.findChild(QMenu, MenuId.VIEW).actions()
    action = next(each for each in actions if each.text() == "Notes")
    assert action.shortcut().toString() == f"Ctrl+{len(window.rail.actions_)}" and action.isChecked()
"""

FOCUS = "tests/gui/test_accessibility.py::test_everything_that_takes_the_focus_has_a_name_and_tab_reaches_it_in_order"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A folder with the packages of the window and its tests, and the page of the worked example."""
    page, line, test = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.S)
    root = tmp_path_factory.mktemp("copy")
    for folder in ("gui", "tests"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "gui/glyphscope_gui/notes").mkdir()
    (root / "gui/glyphscope_gui/notes/__init__.py").write_text(page, "utf-8")
    ids = root / "gui/glyphscope_gui/shared/page_ids.py"
    last = '    LESSONS = "lessons"\n'
    text = ids.read_text("utf-8")
    assert last in text
    ids.write_text(text.replace(last, last + line), "utf-8")
    (root / "tests/gui/test_notes.py").write_text(test, "utf-8")
    (root / "tests/gui/test_shown.py").write_text(SHOWN, "utf-8")
    return root


def pytest_in(root, *arguments):
    environment = os.environ | {"PYTHONPATH": str(root / "gui"), "PYTEST_XDIST_WORKER": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=250
    )


def test_a_page_is_added_by_one_folder_and_one_line(copy):
    done = pytest_in(copy, "tests/gui/test_notes.py", "tests/gui/test_shown.py")
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_accessibility_tests_go_through_an_added_page_and_find_only_the_name_that_it_lacks(copy):
    view = copy / "gui/glyphscope_gui/notes/__init__.py"
    page = view.read_text("utf-8")
    view.write_text(page.replace('        self.view.setAccessibleName(tr("Notes"))\n', ""), "utf-8")
    done = pytest_in(copy, FOCUS)
    view.write_text(page, "utf-8")
    found = re.findall(r"^E +(?:AssertionError: )?(\w+): (\w+) ", done.stdout, re.M)
    assert done.returncode == 1 and set(found) == {("notes", "QPlainTextEdit")}, done.stdout + done.stderr


def test_the_layers_contract_includes_an_added_page(copy):
    lint = Path(sys.executable).with_name("lint-imports")
    environment = os.environ | {"PYTHONPATH": str(copy / "gui")}

    def check():
        return subprocess.run(
            [lint, "--no-cache"], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )

    assert "glyphscope_gui.notes" in check().stdout
    contract = copy / "pyproject.toml"
    contract.write_text(contract.read_text("utf-8").replace("| lessons", "| lessons | notes"), "utf-8")
    assert "0 broken" in check().stdout


SETTING = """
import json

import pytest
from typer.testing import CliRunner

from glyphscope.cli.app import app
from glyphscope.events import RunRequest, Sampling, settings_of
from glyphscope.lessons.run_settings import NAMES, VARY
from glyphscope.runs.problems import setting_problems
from glyphscope.runs import sampling_words
from glyphscope_gui.compare.variants import CHANGEABLE
from glyphscope_gui.compare.variant_settings import GROUPS, ROWS
from glyphscope_gui.run_settings.panel import OptionsPanel
from glyphscope_gui.shared.run_words import value_words

NAME = "smoothing_factor"


def test_the_command_line_has_it_and_the_record_too(tmp_path):
    found = CliRunner().invoke(app, ["run", "--help"]).output
    assert "--smoothing-factor" in found
    record = tmp_path / "run.jsonl"
    model = "scripted:{action=search query=x}"
    options = ["--model", model, "--smoothing-factor", "0.5", "--record", str(record)]
    CliRunner().invoke(app, ["run", "prompt", *options])
    first = json.loads(record.read_text().splitlines()[1])
    assert first["request"]["sampling"][NAME] == 0.5
    assert CliRunner().invoke(app, ["run", "prompt", "--smoothing-factor", "11"]).exit_code == 2


def test_the_window_has_its_field(qtbot):
    form = OptionsPanel()
    qtbot.addWidget(form)
    form.show_options(RunRequest(prompt="", registry={}))
    chosen = []
    form.optionsChosen.connect(chosen.append)
    field = form.groups.field(f"sampling.{NAME}")
    assert field.accessibleName() == "Smoothing factor" and field.accessibleDescription()
    assert field.text() == "off"
    field.setValue(0.5)
    assert chosen[0]["sampling"].smoothing_factor == 0.5


def test_compare_can_change_it():
    assert NAME in CHANGEABLE and ROWS[NAME].title == "Smoothing factor"
    assert any(NAME in group.names for group in GROUPS)
    assert value_words(NAME, 0.5) == "smoothing factor 0.5"


def test_lessons_and_python_have_it():
    assert NAME in NAMES and NAME in VARY
    sampling = Sampling(temperature=1, smoothing_factor=0.5)
    assert "smoothing factor 0.5" in sampling_words(sampling)
    (wrong,) = setting_problems(RunRequest(prompt="", registry={}, sampling=Sampling(smoothing_factor=11.0)))
    assert "Smoothing factor is from 0 to 10" in str(wrong)
"""


AXIS = """
from fake_context import scripted
from PySide6.QtWidgets import QWidget
from typer.testing import CliRunner

import glyphscope
from glyphscope.cli.app import app
from glyphscope.evals.matrix.arms import Arm, varied
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.words import arm_labels
from glyphscope_gui.evaluate import words
from glyphscope_gui.shared.page_ids import PageId

NAME, VALUES = "tool_choice", ("required", "auto")


def test_the_command_line_has_it_and_its_runs_too(tmp_path):
    found = CliRunner().invoke(app, ["eval", "run", "--help"], terminal_width=200).output
    assert "--tool-choice" in found and "Whether the answer must" in found
    options = ["--model", "scripted:{action=search query=x}", "--first", "1", "--out", str(tmp_path)]
    CliRunner().invoke(app, ["eval", "run", "starter", "--constraint", "mask", *options, "--tool-choice", *VALUES])
    (path,) = tmp_path.iterdir()
    folder = ResultFolder.open(path)
    first, second = folder.manifest.arms
    assert [arm.tool_choice for arm in (first, second)] == [*VALUES]
    assert first.id + ".tool_choice-auto" == second.id
    samples = {sample.arm: sample for sample in folder.samples()}
    for arm in (first, second):
        started = folder.record(samples[arm.id].runs[0]).events[0]
        assert started.request.tool_choice == arm.tool_choice
    assert f",{NAME}," in (path / "summary.csv").read_text().splitlines()[0]
    assert [*arm_labels((first, second)).values()] == ["Required", "Auto"] and varied((first, second)) == [NAME]
    assert words.pair_labels(first, second) == ("Required", "Auto")


def test_python_has_it_and_earlier_results_can_be_resumed(tmp_path):
    model = "scripted:{action=search query=x}"
    made = glyphscope.evaluate("starter", models=model, first=1, out=tmp_path, tool_choices=VALUES)
    assert len(made.samples) == 2
    plans = [plan_of(Matrix(suites=("starter",), models=("m",), tool_choices=(each,))) for each in VALUES]
    assert plans[0].digest == DIGEST != plans[1].digest


def test_the_evaluate_page_has_its_values(open_window, qtbot):
    window = open_window(scripted)
    window.navigator.show(PageId.EVALUATE)
    page = window.navigator.page
    usual = lambda: page.view.findChild(QWidget, "tool_choices-required")
    qtbot.waitUntil(lambda: usual() is not None and usual().isChecked())
    box = page.view.findChild(QWidget, "tool_choices-auto")
    assert box.text() == "Auto" and box.accessibleName() == "Tool choice: Auto"
    box.click()
    assert page.view.setup.matrix().tool_choices == VALUES
"""


EVENT = """
import json

from typer.testing import CliRunner

from glyphscope.cli.app import app
from glyphscope.runs import RunState, reduce_event
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import html_page
from glyphscope.store.records import parse_record
from glyphscope_gui.playground.stage_rows import RunRows

def run(tmp_path):
    script = "{action=calculate expression=6*7}\\n---\\nIt is 42."
    record = tmp_path / "run.jsonl"
    options = ["--strategy", "loop", "--constraint", "off", "--approve", "allow", "--record", str(record)]
    output = CliRunner().invoke(app, ["run", "Go on", "--model", f"scripted:{script}", *options]).output
    return output, record


def test_the_terminal_shows_it_and_its_record_is_replayed(tmp_path):
    output, record = run(tmp_path)
    assert "Not called: search" in output
    assert json.loads(CliRunner().invoke(app, ["replay", str(record), "--verify", "--json"]).stdout)["equal"]
    assert "Not called: search" in CliRunner().invoke(app, ["replay", str(record)]).output


def test_the_transcript_has_its_row(tmp_path):
    events = parse_record(run(tmp_path)[1].read_bytes(), "run").events
    read, state = RunRows(), RunState()
    for event in events:
        reduce_event(state, event)
    read.read(state)
    rows = {row.title: row.words for row in read.rows}
    assert rows["Not called"].startswith("search")


def test_the_exported_page_and_its_summary_have_it(tmp_path):
    events = parse_record(run(tmp_path)[1].read_bytes(), "run").events
    page = html_page([RecordedRun(events)])
    assert '"title":"Not called","words":"search' in page
    assert "Not called: <bdi>search" in page
"""


KEYWORD = """
import json

import pytest
from typer.testing import CliRunner

from glyphscope.cli.app import app
from glyphscope.explain.grammar_origins import constraint_words
from glyphscope.grammar import build_value_grammar, example_arguments
from glyphscope.prompting.signature import signature_pieces
from glyphscope.explain.proof import prove
from glyphscope.registry import load_registry
from glyphscope.runs.relaxation import relaxed
from glyphscope.validation import ValueValidator
from lark_reader import lark_reader

URL = {"type": "string", "startsWith": "https://"}
SCHEMA = {"type": "object", "properties": {"url": URL}, "required": ["url"]}
POINTER = "/properties/url/startsWith"


def test_a_text_is_rejected_at_the_character_where_it_begins_otherwise(tmp_path):
    validator = ValueValidator(SCHEMA)
    (found,) = validator.feed('{"url": "http:') and validator.violations
    assert (found.char, found.code, found.rule) == (13, "CONSTRAINT_PATTERN", POINTER)
    registry, call = tmp_path / "tools.json", '{action=visit url="ftp://a"}'
    registry.write_text(json.dumps({"visit": SCHEMA}))
    done = CliRunner().invoke(app, ["check", "--registry", str(registry), "-"], input=call)
    assert done.exit_code == 1 and "does not match the pattern ^https://" in done.output


def test_grammars_write_only_such_texts_and_a_proof_shows_it():
    accepts = lark_reader(build_value_grammar(SCHEMA, "json"))
    assert accepts('{"url":"https://a"}') and not accepts('{"url":"http://a"}')
    report = prove(load_registry({"visit": SCHEMA}), "json", "tool-args", ["mask"])
    (proof,) = (each for each in report.proofs if each.pointer == POINTER)
    assert proof.status == "enforced" and proof.alone


def test_it_is_in_words_in_prompts_and_examples_and_can_be_relaxed():
    registry = load_registry({"visit": SCHEMA})
    assert constraint_words(URL) == 'startsWith "https://"'
    assert example_arguments(SCHEMA)["url"].startswith("https://")
    assert "matching ^https://" in "".join(text for _, text in signature_pieces(registry.tools[0]))
    assert "startsWith" not in json.dumps(relaxed(registry, "visit", POINTER).to_document())
"""


NOTATION = """
import json

from bundled import HERMES
from glyphscope.events import Aborted, CallReady, RunRequest
from glyphscope.grammar import sample_texts
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import PreparedRequest
from glyphscope.runs.strategies import run
from glyphscope.turns import Expected, TurnTools, build_turn_grammar, known_forms, read_turn
from glyphscope.turns.form import form_data
from glyphscope.turns.slots import written
from cli_command import command
from glyphscope_gui.template.page import ReadersDialog, TemplateAnswer
from lark_reader import lark_reader

REGISTRY = default_registry()
(FORM,) = (known.form for known in known_forms() if known.name == "deeds")
CALL = "<do search>\\n<with query>AI news</with>\\n<with max_results>5</with>\\n</do>"


def test_it_is_masked_written_and_read():
    grammar = build_turn_grammar(FORM, REGISTRY)
    accepts = lark_reader(grammar)
    assert accepts(CALL) and not accepts(CALL.replace(">5<", ">500<")) and not accepts(CALL.replace("do s", "do x"))
    for text in sample_texts(grammar, 20):
        turn = read_turn(text, FORM, TurnTools(REGISTRY))
        assert turn.strict and len(turn.calls) == 1, text
    assert written(FORM.calls[0]).startswith("<do NAME>")


def test_an_answer_is_validated_while_it_is_streamed():
    asked = RunRequest(prompt="p", registry=REGISTRY.to_document(), native="template", form=form_data(FORM))
    events = list(run(asked, ScriptedModel(CALL, template=HERMES)))
    (made,) = (event for event in events if isinstance(event, CallReady))
    assert (made.tool, made.arguments) == ("search", {"query": "AI news", "max_results": 5}) and events[-1].valid
    wrong = CALL.replace(">5<", ">500<")
    events = list(run(asked, ScriptedModel(list(wrong), template=HERMES)))
    (aborted,) = (event for event in events if isinstance(event, Aborted))
    assert (aborted.code, wrong[: aborted.char + 1][-4:]) == ("CONSTRAINT_MAX", ">500")


def test_the_command_line_and_the_window_list_it(tmp_path, qtbot):
    (tmp_path / "chat.jinja").write_text(HERMES)
    (tmp_path / "answer.txt").write_text(CALL)
    shown = command("check", "--template", tmp_path / "chat.jinja", "--readers", tmp_path / "answer.txt").output
    assert any(line.split()[:2] == ["deeds", "✓"] for line in shown.splitlines()), shown
    asked = PreparedRequest(RunRequest(prompt="p", registry=REGISTRY.to_document()), REGISTRY)
    dialog = ReadersDialog(asked, TemplateAnswer(CALL), form=known_forms()[0].form)
    qtbot.addWidget(dialog)
    qtbot.waitUntil(lambda: bool(dialog.found))
    model = dialog.table.model()
    rows = {model.index(row, 0).data(): model.index(row, 2).data() for row in range(model.rowCount())}
    assert rows["deeds"] == "search"
"""


@pytest.mark.parametrize(
    ("number", "files", "test", "passed"),
    [(0, 2, SETTING, 4), (1, 1, AXIS, 3), (2, 3, EVENT, 3), (3, 1, KEYWORD, 3), (4, 1, NOTATION, 3)],
    ids=["setting", "axis", "event", "keyword", "notation"],
)
def test_a_setting_an_axis_an_event_a_keyword_or_a_notation_is_stated_once(
    tmp_path, number, files, test, passed
):
    change = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.S)[number]
    assert len(re.findall(r"^\+\+\+ ", change, re.M)) <= files
    for folder in ("engine", "gui", "assets", "tests"):  # with the bytecode of modules that stay unchanged
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "change.diff").write_text(change, "utf-8")
    subprocess.run(["git", "apply", "change.diff"], cwd=tmp_path, check=True)
    digest = plan_of(Matrix(suites=("starter",), models=("m",))).digest
    (tmp_path / "tests/gui/test_added.py").write_text(f"DIGEST = {digest!r}\n{test}", "utf-8")
    paths = os.pathsep.join(str(tmp_path / folder) for folder in ("engine", "gui", "assets"))
    environment = os.environ | {
        "PYTHONPATH": paths,
        "PYTEST_XDIST_WORKER": "",
        "GLYPHSCOPE_HOME": str(tmp_path / "home"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/gui/test_added.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=250
    )
    assert f"{passed} passed" in done.stdout, done.stdout + done.stderr
