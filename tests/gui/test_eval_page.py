"""The Evaluate page with scripted models and hand-made results, good ones and bad ones."""

from __future__ import annotations

import json
import threading
from itertools import product

import pytest
from PySide6.QtCore import QMimeData, QPoint, QRegularExpression, QStringListModel, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QPushButton, QWidget

from evaluating import MODELS, SCENARIOS, SUITE, SUITES, TABLE, EvalScreen, Gated, evaluate_page, good, newest
from glyphscope.base.errors import ModelError
from glyphscope.events import Sampling, ToolResult
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store import places
from glyphscope_gui.context import FilePlace
from glyphscope_gui.evaluate.page import EvalPage
from glyphscope_gui.shared.page_ids import PageId
from made_results import GOOD, TOO_MANY, made_result, recorded_result
from mcp_servers import scripted

pytestmark = pytest.mark.slow
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def opened(open_page, qtbot):
    """Make the page with all its initial data read; gives what is on the screen."""

    def build(opener=good, **options):
        return evaluate_page(open_page, qtbot, opener, **options)[1]

    return build


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(SUITE))
    return path


@pytest.fixture
def gated(opened, suite):
    """Set up an evaluation whose model answers once its gate is open."""
    gate = threading.Event()

    def build(**options):
        screen = opened(lambda _name, **_options: Gated(gate))
        screen.set_up(suite, **options)
        return screen, gate

    yield build
    gate.set()


# -- setting up ----------------------------------------------------------------------------------------------------


def test_the_set_up_is_that_of_the_last_start(opened, suite):
    first = opened()
    first.page.context.project.choose_model("scripted:other")
    first.set_up(suite, constraints=("Mask", "GBNF"), trials=3)
    first.write("Filter scenarios", "second")
    first.find("Project’s prompt, template and sampling").click()
    first.until_can("Evaluate")
    first.page.context.settings.close()
    second = opened()
    second.until_can("Evaluate")
    assert [row[0] for row in second.rows(SUITES) if second.is_ticked(SUITES, row[0])] == ["mine"]
    assert [row[0] for row in second.rows(MODELS) if second.is_ticked(MODELS, row[0])] == ["scripted"]
    assert (second.read("Trials"), second.read("Filter scenarios")) == ("3", "second")
    chosen = [box.text() for box in second.named("Constraint: ", QCheckBox) if box.isChecked()]
    assert chosen == ["Mask", "GBNF"]
    assert not second.find("Project’s prompt, template and sampling").isChecked()
    assert "2 configurations × 1 scenario × 3 trials" in second


def test_configured_servers_execute_the_calls_of_an_evaluation(opened, tmp_path):
    path = tmp_path / "counting.json"
    tool = {"name": "count", "description": "", "parameters": {"type": "object", "properties": {}}}
    scenarios = [
        {"id": id, "prompt": "How many?", "expect": {"calls": [{"tools": ["count"]}]}} for id in ("a", "b")
    ]
    path.write_text(json.dumps({
        "glyphscope_suite": 1, "name": "counting", "about": "", "registry": {"tools": [tool]}, "strategy": "loop",
        "scenarios": scenarios,
    }))  # fmt: skip
    screen = opened(lambda _name, **_options: ScriptedModel(turns=("{action=count}", "There is 1.") * 9))
    servers = screen.page.context.services.servers
    config = scripted()
    for name, more, allowed in (("counter", [], True), ("second", [], True), ("other", ["live"], False)):
        servers.add(name, {"command": config.command, "args": [*config.args, *more]}, allowed=allowed)
    screen.page.context.navigator.shown.emit(PageId.EVALUATE)
    screen.set_up(path, trials=1)
    assert [box.text() for box in screen.named("Server: ", QCheckBox)] == ["counter", "second"]
    screen.find("Server: counter").click()
    screen.until_can("Evaluate")
    result = screen.evaluate()
    texts = [
        event.content[0].text
        for sample in result.samples()
        for event in result.record(sample.runs[0]).events
        if isinstance(event, ToolResult)
    ]
    assert texts == ["count 1", "count 1"] and result.manifest.servers == (f"counter: {config.identity}",)
    screen.page.context.settings.close()
    again = opened()
    again.until_can("Evaluate")
    assert [box.text() for box in again.named("Server: ", QCheckBox) if box.isChecked()] == ["counter"]


def test_a_set_up_of_another_version_and_a_suite_that_is_gone_are_left_out(opened, suite):
    first = opened()
    first.set_up(suite)
    settings = first.page.context.settings
    suite.unlink()
    settings.close()
    assert "mine" not in [row[0] for row in opened().rows(SUITES)]
    settings.update(evaluation={"suites": 3, "notations": ["of the future"]})
    settings.close()
    screen = opened()
    assert screen.is_ticked(SUITES, "starter") and screen.can("Evaluate")


def test_a_page_that_is_left_while_it_is_made_is_made_once(open_page, qtbot):
    page = open_page(PageId.EVALUATE)
    for shown in (PageId.PLAYGROUND, PageId.EVALUATE):
        page.context.navigator.show(shown)
    screen = EvalScreen(qtbot, page)
    assert len(page.widget.findChildren(QWidget, "evalSetup")) == 1
    assert ["starter"] in screen.rows(SUITES)


def test_the_page_can_be_left_and_shown_again_while_it_is_made(qtbot):
    page = EvalPage()
    qtbot.addWidget(page)
    for _step in page.make(QStringListModel()):
        page.show()
        QApplication.processEvents()
        page.hide()


def test_the_first_evaluation_is_the_starter_suite_whose_scenarios_can_be_filtered(opened):
    screen = opened()
    screen.until("2 configurations × 17 scenarios × 1 trial = 34 samples")
    assert "GLYPH · no constraint\nGLYPH · mask" in screen, "the arms"
    assert len(screen.rows(SCENARIOS)) == 17 and "Search for AI news" in screen.rows(SCENARIOS)[0][0]
    screen.type("Filter scenarios", "search")
    screen.until("= 8 samples")
    screen.write("Number of scenarios per suite", 1)
    screen.until("= 2 samples")
    assert len(screen.rows(SCENARIOS)) == 1
    screen.write("Filter scenarios", "no such words")
    screen.until("No scenario matches")
    assert not screen.rows(SCENARIOS) and not screen.can("Evaluate")


def test_notations_are_offered_if_one_of_the_answers_has_them_with_the_reason_otherwise(opened, suite):
    screen = opened()
    screen.set_up(suite, trials=1)
    screen.vary("Notation", "GLYPH", "JSON")
    screen.until_can("Evaluate")
    boxes = {words: screen.find(f"Notation: {words}") for words in ("GLYPH", "JSON", "Native")}
    assert all(box.isEnabled() for box in boxes.values())
    choice, schema = {"kind": "choice", "text": "yes"}, {"kind": "schema", "text": '{"const": "yes"}'}
    for trials, (answer, enabled) in enumerate(((choice, set()), (schema, {"GLYPH", "JSON"})), start=2):
        final = {"final": {"equals": "yes"}}
        scenarios = [{**each, "answer": answer, "expect": final} for each in SUITE["scenarios"]]
        suite.write_text(json.dumps({**SUITE, "scenarios": scenarios}))
        screen.write("Trials", trials)
        screen.until_can("Evaluate")
        screen.vary("Notation", "GLYPH")
        screen.until_can("Evaluate")
        assert {words for words, box in boxes.items() if box.isEnabled()} == enabled
        assert ("is a text" in boxes["JSON"].toolTip()) == (not enabled)


def test_the_suite_of_a_run_is_chosen_alone_before_and_after_the_page_is_made(open_page, qtbot):
    page, screen = open_page(PageId.EVALUATE), None
    for number in range(2):
        path = page.context.services.places.suites / f"mine{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(SUITE))
        page.go_to(FilePlace(path))
        screen = screen or EvalScreen(qtbot, page)
        screen.until(lambda path=path: page.view.suites_model.ticked == (str(path),))


def test_an_evaluation_has_the_prompt_and_sampling_of_the_project_and_says_so(opened, suite):
    screen = opened()
    project = screen.page.context.project
    project.set_options(notation="json", sampling=Sampling(temperature=0.3))
    project.prompt.set_system_prompt("Be terse.")
    screen.set_up(suite, trials=1)
    screen.vary("Notation", "JSON")
    screen.until_can("Evaluate")
    said = "this project’s prompt, template and sampling (temperature 0.3)"
    screen.press("More settings")
    assert (
        said in screen.read("Stays")
        if screen.named("Stays")
        else any(said in words for words in screen.texts())
    )
    (request,) = {
        read.events[0].request.system_prompt: read.events[0].request for read in records(screen)
    }.values()
    assert (request.system_prompt, request.sampling.temperature, request.notation) == (
        "Be terse.",
        0.3,
        "json",
    )
    screen.press("Set up", "More settings", "Project’s prompt, template and sampling")
    screen.until_can("Evaluate")
    assert not any(said in words for words in screen.texts())
    (request,) = {
        read.events[0].request.system_prompt: read.events[0].request for read in records(screen)
    }.values()
    assert (request.system_prompt, request.sampling.temperature) == ("", 0.8)


def records(screen):
    folder = screen.evaluate()
    return [folder.record(sample.runs[0]) for sample in folder.samples()]


def test_the_questions_say_what_they_compare_and_the_one_of_the_setup_is_pressed(opened, suite):
    screen = opened()
    screen.set_up(suite)
    screen.press("Which prompt?")
    screen.until(
        "2 configurations × 2 scenarios", "usual system prompt", "system prompt “Write one tool call"
    )
    assert screen.find("Which prompt?").isChecked() and not screen.find("Does the mask help?").isChecked()
    assert "This system prompt against others" in screen
    screen.write("System prompt", "Be kind.")
    screen.until("3 configurations × 2 scenarios", "among 3 comparisons")
    assert not screen.find("Which prompt?").isChecked()
    screen.choose("Something else…", "Direct or two-stage?")
    screen.until("two-stage")


def test_a_setup_without_arms_cannot_be_started(opened, suite):
    screen = opened()
    screen.set_up(suite)
    screen.vary("Notation")
    screen.until("Select at least one value of “Notation”.")
    assert not screen.can("Evaluate")
    for question in screen.root.findChildren(QPushButton, QRegularExpression("^evalQuestion-")):
        question.click()
        screen.until_can("Evaluate")
        assert "× 2 scenarios" in screen
    screen.until("2 configurations")  # of the last one
    screen.tick(SUITES)
    screen.until("Select at least one suite")


def test_files_are_dropped_on_their_lists(opened, qtbot, suite):
    screen = opened()
    for name, path in ((SUITES, suite), (MODELS, suite.parent / "ours.gguf")):
        part, data = screen.find(name), QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path)), QUrl.fromLocalFile(str(suite.parent / "note.txt"))])
        at, copy, left = QPoint(5, 5), Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        entered = QDragEnterEvent(at, copy, data, left, Qt.KeyboardModifier.NoModifier)
        part.dragEnterEvent(entered)
        assert entered.isAccepted()
        part.dropEvent(QDropEvent(at, copy, data, left, Qt.KeyboardModifier.NoModifier))
        qtbot.waitUntil(lambda: [path.stem] in screen.rows(name))  # noqa: B023 - waited for at once
        assert ["note"] not in screen.rows(name)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "bad.json",
            '{"glyphscope_suite": 1, "name": "bad", "about": "", "scenarios": [{"id": 3}]}',
            ("bad.json", "/scenarios/0"),
        ),
        ("broken.json", '{"glyphscope_suite": 1', ("broken.json",)),
        (
            "data.jsonl",
            '{"input": "Where is Bern?", "target": "Switzerland", "sandbox": "docker"}',
            ("Not imported: line 1, sandbox",),
        ),
    ],
)
def test_a_suite_is_added_with_its_errors_or_the_parts_that_are_not_imported(
    opened, qtbot, tmp_path, name, text, said
):
    screen = opened()
    (tmp_path / name).write_text(text)
    screen.add("Suites", tmp_path / name)
    screen.until(*said)
    row = next(n for n, (words,) in enumerate(screen.rows(SUITES)) if words == name.partition(".")[0])
    screen.tick(SUITES, name.partition(".")[0])
    ticked = screen.rows(SUITES, Qt.ItemDataRole.CheckStateRole)[row][0]
    assert ("Checked" in ticked and "Un" not in ticked) is (name == "data.jsonl"), ticked


# -- evaluating ----------------------------------------------------------------------------------------------------


def test_an_evaluation_makes_the_samples_it_announced_with_a_report_and_a_table(
    opened, qtbot, monkeypatch, suite, tmp_path
):
    shown = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown.append(url) or True)
    screen = opened()
    screen.set_up(suite, constraints=("Off", "Mask"))
    screen.until(
        "2 configurations × 2 scenarios × 2 trials = 8 samples", "unknown until the first samples are done"
    )
    folder = screen.evaluate()
    assert screen.find("Result", QPushButton).isChecked() and "·  mine" in screen
    assert len(folder.samples()) == 8
    assert {"report.html", "summary.json"} <= {path.name for path in folder.path.iterdir()}
    assert screen.rows(TABLE)[0] == ["All scenarios", "100%", "100%"] and "n = 8" in screen
    assert not screen.named("Pause") and not screen.named("Resume")
    (folder.path / "report.html").unlink()
    screen.press("Open report")
    screen.ended()
    assert shown == [QUrl.fromLocalFile(str(folder.path / "report.html"))]
    assert (folder.path / "report.html").is_file()
    screen.press("Export…")
    screen.pick_file(tmp_path / "samples.csv")
    screen.until("8 samples exported")
    assert len((tmp_path / "samples.csv").read_text().splitlines()) == 1 + 8
    screen.press("Set up")
    assert len(screen.rows("Earlier results")) == 1
    screen.until("based on the last result")


def test_template_variables_are_arms(opened, suite):
    screen = opened()
    screen.set_up(suite, trials=1)
    for value in ("x=1", "x=2; y=a"):
        screen.write("Template variables", value)
    screen.until("3 configurations × 2 scenarios × 1 trial = 6 samples")
    folder = screen.evaluate()
    assert {sample.arm.partition(".vars-")[2] for sample in folder.samples()} == {"", "x-1", "x-2-y-a"}


def test_answers_are_arms_that_a_scenario_has_to_allow(opened, tmp_path):
    final = {"final": {"equals": "yes"}}
    scenarios = [
        {"id": "asked", "prompt": "Yes?", "expect": final},
        {"id": "own", "prompt": "Yes?", "answer": "regex:yes", "expect": final},
    ]
    (tmp_path / "mine.json").write_text(
        json.dumps({**SUITE, "answer": "choice:yes|no", "scenarios": scenarios})
    )
    (tmp_path / "yes.lark").write_text('start: "yes"\n')
    screen = opened(lambda _name, **_options: ScriptedModel("yes"))
    screen.set_up(tmp_path / "mine.json", trials=1)
    for value in ("choice:yes|nope", f"{tmp_path / 'yes.lark'}"):
        screen.write("Answer", value)
    screen.until("3 configurations × 2 scenarios × 1 trial = 6 samples")
    arms = ("the suite’s answer", "choice yes|nope", 'Lark start: "yes"')
    assert "\n".join(f"GLYPH · {arm} · no constraint" for arm in arms) in screen
    assert "mine: in 1 scenario (own), the scenario's own answer is used in every configuration." in screen
    screen.write("Answer", "word:yes")
    assert "Write call, schema:FILE" in screen.find("Answer", QLineEdit).toolTip()
    screen.write("Answer", "choice:no|never")
    screen.until(
        "A configuration's answer does not suit this scenario", 'cannot continue with "y"', "mine/asked"
    )
    assert not screen.can("Evaluate")
    screen.vary("Answer", "As in the suite", "choice yes|nope")
    screen.until_can("Evaluate")
    folder = screen.evaluate()
    assert [sample.ok for sample in folder.samples()] == [True] * 4
    records = (folder.record(each.runs[0]) for each in folder.samples() if each.scenario == "own")
    assert {record.events[0].request.answer.kind for record in records} == {"regex"}, "in every arm"


def test_a_served_model_can_be_an_arm_beside_the_open_one(opened, suite):
    screen = opened()
    screen.set_up(suite)
    screen.press("Endpoint…")
    dialog = screen.dialog()
    dialog.write("Address", "http://127.0.0.1:8080/v1#served")
    dialog.press("Open")
    screen.until("2 configurations")
    assert len({sample.arm for sample in screen.evaluate().samples()}) == 2


def test_a_model_that_cannot_be_opened_is_skipped_and_the_other_arms_run(opened, suite):
    def opener(name, **_options):
        if "broken" in name:
            raise ModelError("This file is no model.", where=name)
        return ScriptedModel(GOOD)

    screen = opened(opener)
    screen.set_up(suite, models=("broken.gguf", "good.gguf"))
    folder = screen.evaluate()
    assert len(folder.samples()) == 4 and len(folder.manifest.missing) == 1
    assert "was skipped" in screen and "This file is no model." in screen
    assert screen.rows(TABLE)[0][1] == "–"


def test_an_evaluation_shows_its_progress_and_can_be_paused_stopped_and_resumed(gated, qtbot):
    screen, gate = gated(trials=3)
    evaluations = screen.page.evaluations
    screen.press("Evaluate")
    screen.until("first · trial 1: reading the prompt", "scripted", "of 6 samples")
    assert "no model was loaded" not in screen
    screen.press("Pause")
    gate.set()
    screen.until("1 of 6 samples, 100% correct, paused")
    assert screen.page.context.status.activity == "Evaluating 1 of 6 · mine"
    qtbot.wait(150)
    assert "1 of 6 samples" in screen, "no sample starts while it is paused"
    assert "1 of 6 samples are done" in screen.page.unfinished
    gate.clear()
    screen.press("Resume")
    qtbot.waitUntil(lambda: bool(evaluations.progress.now))
    screen.press("Stop")
    screen.ended()
    assert len(newest().samples()) == 1 and "Incomplete" in screen
    assert screen.page.context.status.activity == ""
    gate.set()
    screen.press("Resume")
    qtbot.waitUntil(lambda: evaluations.is_busy)
    screen.ended()
    assert len(newest().samples()) == 6 and newest().manifest.finished
    assert len([*places().results.iterdir()]) == 1 and not screen.named("Resume")


def test_progress_is_shown_from_the_first_token(opened, suite):
    gate = threading.Event()

    class PausedAfterOneToken(ScriptedModel):
        def generate(self, request):
            for number, output in enumerate(super().generate(request)):
                if number > 2:
                    gate.wait(10)
                yield output

    screen = opened(lambda _name, **_options: PausedAfterOneToken(GOOD))
    screen.set_up(suite)
    screen.press("Evaluate")
    screen.until("first · trial 1: 3 tokens  {ac")
    assert "0 of 4 samples" in screen
    gate.set()
    screen.ended()


def test_closing_the_window_ends_an_evaluation_and_keeps_its_samples(gated):
    screen, gate = gated()
    screen.press("Evaluate")
    screen.until("reading the prompt")
    screen.press("Pause")
    gate.set()
    screen.until("1 of 4 samples, 100% correct, paused")
    gate.clear()
    screen.press("Resume")
    screen.until("reading the prompt")
    screen.page.close()
    assert len(newest().samples()) == 1


def test_an_evaluation_that_ends_leaves_the_page_the_view_and_the_focus(gated):
    screen, gate = gated()
    context = screen.page.context
    screen.press("Evaluate")
    screen.until("reading the prompt")
    screen.press("Set up")
    screen.root.activateWindow()
    screen.find("Trials").setFocus()
    gate.set()
    screen.ended()
    assert screen.find("Trials").hasFocus() and screen.can("Evaluate")
    screen.press("Result")
    assert screen.rows(TABLE)[0][1] == "100%" and "McNemar" not in screen
    screen.press("Set up", "Evaluate")
    context.navigator.show(PageId.PLAYGROUND)
    screen.ended()
    assert context.navigator.current is PageId.PLAYGROUND
    assert "Evaluate page (Ctrl+4)" in context.status.notes[-1]


def test_results_that_cannot_be_written_are_reported_and_the_page_stays_usable(opened, suite):
    places().results.parent.mkdir(parents=True, exist_ok=True)
    places().results.write_text("a file")
    screen = opened()
    screen.set_up(suite)
    screen.press("Evaluate")
    screen.ended()
    assert "a file, not a folder" in screen.error() and screen.can("Evaluate")


def test_a_running_evaluation_leaves_the_shown_result(gated, qtbot, tmp_path):
    screen, gate = gated()
    screen.press("Evaluate")
    screen.until("reading the prompt")
    screen.page.open_result(made_result(tmp_path / "other"))
    screen.until("·  made")
    before = screen.rows(TABLE)
    gate.set()
    screen.ended()
    assert screen.rows(TABLE) == before, "the result that ended meanwhile does not replace it"


# -- in the whole window -------------------------------------------------------------------------------------------


@pytest.fixture
def in_window(open_window, qtbot):
    """Make the whole window with this page shown by its key, and all its initial data read."""

    def build(**options):
        window = open_window(good, **options)
        qtbot.keyClick(window, Qt.Key.Key_4, CONTROL)
        assert window.navigator.current is PageId.EVALUATE
        return window, EvalScreen(qtbot, window.page(PageId.EVALUATE))

    return build


@pytest.mark.parametrize("version", [1, 2])  # a file for each record, or segments
def test_a_run_opens_at_the_token_that_decided_it(in_window, qtbot, tmp_path, version):
    window, screen = in_window()
    path = recorded_result(tmp_path, glyphscope_eval=version)
    assert (path / "records").is_dir() is (version == 2)
    screen.open(path)
    screen.open_wrong_run()
    qtbot.waitUntil(lambda: window.navigator.current is PageId.PLAYGROUND)
    qtbot.waitUntil(lambda: window.runs.state.text.startswith(TOO_MANY[:40]) and not window.runs.is_busy)
    tokens = window.page(PageId.PLAYGROUND).view.tokens
    qtbot.waitUntil(lambda: tokens.currentIndex().row() == window.runs.state.aborted.token)
    assert tokens.hasFocus()


def test_the_page_fits_the_smallest_window_and_keeps_the_focus_when_it_starts(in_window, qtbot, tmp_path):
    window, screen = in_window(size=(1024, 700))
    screen.write("Number of scenarios per suite", 1)
    screen.until_can("Evaluate")
    assert (window.width(), window.height()) == (1024, 700)
    page = screen.page.view
    assert page.minimumSizeHint().height() <= 590
    screen.key("Evaluate", "Space")
    screen.ended()
    assert window.focusWidget() is screen.find("Set up")
    screen.open(made_result(tmp_path))
    assert page.minimumSizeHint().width() <= 972 and (window.width(), window.height()) == (1024, 700)


def test_the_button_is_in_sight_and_no_list_ends_with_a_part_of_a_row_at_any_text_size(in_window, qtbot):
    window, screen = in_window()
    screen.press("More settings")
    button, scenarios = screen.find("Evaluate", QPushButton), screen.find(SCENARIOS)
    found = {}
    for size, points in product(((1440, 900), (1024, 700)), (15, 20)):
        window.resize(*size)
        window.context.themes.choose("light", points)
        window.context.themes.finish()
        qtbot.wait(50)
        inside = button.mapTo(window, button.rect().bottomRight())
        is_whole = button.visibleRegion().boundingRect() == button.rect() and window.rect().contains(inside)
        rest = scenarios.viewport().height() % scenarios.verticalHeader().defaultSectionSize()
        found[window.width(), window.height(), points] = is_whole, rest
    window.context.themes.choose("light", 0)  # for the tests after this one
    window.context.themes.finish()
    assert set(found.values()) == {(True, 0)} and len(found) == 4, found
