"""The compare page: columns take turns on one model, fail separately, stop together, and disturb no other run."""

from __future__ import annotations

import threading

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from comparing import BROKEN, GLYPH, JSON, NOTATIONS, Answers, Columns, opens, variant
from fake_context import scripted
from glyphscope.base.errors import ModelDied, ModelError
from glyphscope.events import Answer
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.compare import MIN_WIDTH, next_variant, variant_names
from glyphscope_gui.context import RunsPlace
from glyphscope_gui.runs import BackgroundEvents, Phase
from glyphscope_gui.runs.compare_fields import FIRST_RUN, PARTING_ROLE
from glyphscope_gui.runs.recorder import FIRST_RUN as FIRST_RECORD
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.theme import theme

FIELDS = "Fields of all columns side by side"
PROMPT = "The prompt of all columns"
VALID = "✓ valid"


@pytest.fixture
def make(open_page, qtbot):
    """Make the compare page, with any model or opener of models, and its first columns without a constraint."""

    def build(model=None, **looks):
        opener = model if callable(model) else opens(model or Answers())
        page = open_page(PageId.COMPARE, opener, **looks)
        page.context.project.set_options(constraint="off", model="scripted:a")
        qtbot.waitUntil(lambda: not page.context.runs.is_busy)
        return page, Columns(qtbot, page.widget)

    return build


# -- a comparison --------------------------------------------------------------------------------------------------


def test_the_prompt_is_that_of_the_playground(make):
    page, screen = make()
    project = page.context.project
    assert screen.read(PROMPT) == project.prompt.user
    screen.write(PROMPT, "Find cats")
    assert project.prompt.user == "Find cats"
    project.prompt.set_user("Find dogs")
    assert screen.read(PROMPT) == "Find dogs"
    project.set_options(sampling=msgspec.structs.replace(project.options.sampling, seed=7))
    assert "7 tools allowed · seed 7 · temperature 0" in screen


@pytest.mark.slow
def test_columns_run_one_after_the_other_and_their_difference_is_shown(make, qtbot, tmp_path):
    model = Answers()
    page, screen = make(model)
    context = page.context
    sampling = msgspec.structs.replace(context.project.options.sampling, seed=9, temperature=0.5)
    context.project.set_options(dispatch=True, sampling=sampling)
    screen.ask(NOTATIONS, 2)
    assert not screen.can("Export page…") and not screen.can("Open column 1")
    screen.run_all()
    assert len(model.asked) == 2, "a comparison does not execute calls"
    assert {request.sampling.seed for request in model.asked} == {9}
    assert screen.ends == [VALID, VALID]
    assert "“GLYPH” wrote max_results 10, “JSON” 5." in screen
    assert screen.rows(FIELDS) == [
        ["=", "tool", '"search"', '"search"'],
        ["=", "query", '"AI news"', '"AI news"'],
        ["≠ first", "max_results", "10", "5"],
    ]
    assert screen.text(2) == JSON
    assert 'search(query="AI news", max_results=5)' in screen.column(2)
    assert f"{len(JSON)} characters, {len(JSON)} bytes" in screen.column(2)
    assert "–" not in screen.column(2).texts(), "every figure is known"

    screen.press("Export page…")
    screen.pick_file(tmp_path / "page.html")
    qtbot.waitUntil((tmp_path / "page.html").exists)
    assert (tmp_path / "page.html").read_text().count('<script type="application/x-ndjson"') == 2

    qtbot.waitUntil(lambda: len(context.services.history.rows()) == 2)
    with qtbot.waitSignal(context.runs.ended):
        screen.press("Open column 2")
    assert context.navigator.visits == [(PageId.PLAYGROUND, None)]
    assert context.runs.state.text == JSON and not context.runs.state.started.request.dispatch
    model.gate.clear()
    context.runs.run(context.project.next_request())
    assert not screen.can("Open column 2"), "the model is not free"
    context.runs.stop()
    model.gate.set()
    screen.until_can("Open column 2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "end", "words"),
    [
        (ModelDied("The model’s process was ended by SIGKILL.", signal="SIGKILL"), "✕ failed", "SIGKILL"),
        (ValueError("internal error"), "✕ failed", "An internal error ended this run"),
        ('{action="search" query="<b>x</b><img src=file:///etc/passwd>\u202e"}', VALID, "<b>x</b><img src=file"),
        (BROKEN, "✕ aborted", "CONSTRAINT_MAX"),
    ],
)  # fmt: skip
def test_columns_fail_separately_with_their_reasons(make, answer, end, words):
    page, screen = make(Answers(glyph=answer))
    crashes = []
    page.context.runs.crashed.connect(crashes.append)
    screen.ask(NOTATIONS)
    screen.run_all()
    assert screen.ends == [end, VALID, "✕ failed"]
    assert words in screen.column(1) and "no place for tools" in screen.column(3)
    assert "not compared" in screen.rows(FIELDS)[0][FIRST_RUN:]
    assert [str(error) for error in crashes] == ["internal error"] * isinstance(answer, ValueError)


@pytest.mark.slow
def test_the_reason_of_an_abort_is_whole_where_there_is_room_for_it(make, qtbot):
    page, screen = make(Answers(glyph=BROKEN))
    screen.ask(NOTATIONS, 2)
    screen.run_all()
    place = f"At character {BROKEN.index('500') + 2}: CONSTRAINT_MAX"
    assert f"{place}: max_results is at most 100" in "\n".join(screen.column(1).texts())
    assert "“GLYPH” wrote max_results 500 (incomplete), “JSON” 5." in screen
    page.widget.resize(820, 640)
    screen.press("Add a column")
    qtbot.waitUntil(lambda: place in screen.column(1).texts())


@pytest.mark.slow
def test_two_stages_are_shown_as_tabs_beside_one_text(make):
    _page, screen = make(ScriptedModel(turns=(GLYPH, '"search"', '{query="AI news" max_results=10}')))
    screen.ask("Direct or two-stage?")
    screen.vary("Constraint")
    for number in (1, 2):
        screen.choose(f"Constraint of column {number}", "Off")
    screen.run_all()
    assert "Both wrote the same: search, 2 arguments." in screen
    assert screen.text(2) == '{query="AI news" max_results=10}'
    screen.choose("Stage shown", "name")  # the only one: the first column has no stages
    assert screen.text(2) == '"search"'


@pytest.mark.slow
def test_a_router_question_ends_its_column_unanswered(make):
    question = '{"choice":"clarify","tool":null,"question":"Which news?"}'
    page, screen = make(ScriptedModel(turns=(question, GLYPH)))
    asked = []
    page.context.runs.asked.connect(asked.append)
    screen.ask(NOTATIONS, 2)
    screen.vary("Strategy")
    screen.choose("Strategy of column 1", "Route")
    screen.choose("Notation of column 2", "GLYPH")
    screen.run_all()
    assert "question" in "\n".join(screen.column(1).texts()) and screen.ends[1] == VALID
    assert not any(asked), "the playground's card is not for it"


# -- other runs ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_closing_the_window_in_a_comparison_ends_its_run(make, qtbot):
    page, screen = make(Answers(seconds=0.05))
    screen.press("Run all columns")
    qtbot.waitUntil(lambda: "action" in screen.text(1))
    page.close()  # a leftover would fail the test


@pytest.mark.slow
def test_a_comparison_waits_for_the_playgrounds_run_and_leaves_it(make, qtbot):
    page, screen = make()
    runs, project = page.context.runs, page.context.project
    with qtbot.waitSignal(runs.ended):
        runs.run(project.next_run())
    before = list(runs.events)
    screen.run_all()
    assert runs.events == before and runs.state.text == GLYPH
    runs.run(project.next_run())
    assert not screen.can("Run all columns") and "Another run uses the model" in screen
    page.run()
    assert not screen.can("Stop the comparison")
    screen.until_can("Run all columns")


def test_run_continues_a_run_that_is_stepped_through(make, qtbot):
    page, screen = make()
    runs = page.context.runs
    page.step()
    assert runs.phase is Phase.STEPPING
    with qtbot.waitSignal(runs.ended):
        page.run()
    assert runs.state.text == GLYPH and not screen.can("Open column 1")


@pytest.mark.slow
def test_another_run_ends_the_comparison_and_late_events_are_ignored(make, qtbot):
    model = Answers(gated=True)
    page, screen = make(model)
    runs = page.context.runs
    screen.press("Run all columns")
    qtbot.waitUntil(lambda: "AI" in screen.text(1))
    with qtbot.waitSignal(runs.ended):
        runs.replay(bundled_run(FIRST_RECORD), 0)
        model.gate.set()
    assert not screen.can("Stop the comparison")
    assert runs.phase is Phase.IDLE and runs.state.call is not None
    screen.run_all()
    ended, text = screen.ends, screen.text(1)
    for job in (page.comparison.job - 1, page.comparison.job):
        runs.background.emit(BackgroundEvents(job, tuple(runs.events), ended=True))
    assert (screen.ends, screen.text(1)) == (ended, text)


@pytest.mark.slow
def test_stop_while_the_model_is_opened_is_shown_as_stopped(make, qtbot):
    opening = threading.Event()

    def opener(name, *, options, progress):
        if name == "scripted:slow":
            opening.set()
            ended = threading.Event()
            with progress.ended_by(ended.set):
                ended.wait(10)
            raise ModelError("The opening of the model was stopped.")
        return Answers()

    page, screen = make(opener)
    page.context.project.set_options(model="scripted:slow")
    screen.press("Run all columns")
    qtbot.waitUntil(opening.is_set)
    screen.press("Stop the comparison")
    qtbot.waitUntil(lambda: screen.ends == ["stopped", "not run"])
    assert screen.rows(FIELDS) == []


@pytest.mark.slow
def test_columns_of_an_earlier_request_are_marked_until_they_are_the_present_ones(make):
    page, screen = make()
    project = page.context.project
    screen.run_all()
    project.set_options(notation="json", shape="tool-args")
    assert "earlier" not in screen, "the columns have their own notations"
    before = project.prompt.user
    project.prompt.set_user("What time is it?")
    page.widget.resize(820, 560)
    assert f"earlier request: “{before}”, 7 tools allowed" in screen, "it has a line, however low the page is"
    project.prompt.set_user(before)
    assert "earlier" not in screen
    project.tools.set_enabled("search", False)
    assert "earlier request" in screen
    project.tools.set_enabled("search", True)
    project.set_options(max_tokens=9)
    assert "earlier settings" in screen
    screen.run_all()
    assert "earlier" not in screen


# -- several models ------------------------------------------------------------------------------------------------


class Models:
    """Opens a model for each name, and records the order and the number of models open at the same time."""

    def __init__(self, broken=()):
        self.broken, self.opened, self.open = broken, [], set()

    def __call__(self, name, **_options):
        if name in self.broken:
            raise ModelError(f"There is no {name}.", hint="Choose another.")
        assert not self.open, "two models in memory"
        self.opened.append(name)
        self.open.add(name)
        model = Answers(GLYPH if name != "scripted:b" else GLYPH.replace("10", "15"))
        close = model.close
        model.close = lambda: (close(), self.open.discard(name))
        return model


@pytest.mark.slow
def test_columns_of_one_model_run_together_and_one_model_is_in_memory(make, qtbot):
    models = Models()
    page, screen = make(models)
    page.comparison.arrange([variant(constraint="off", model=f"scripted:{name}") for name in "abab"])
    assert "2 models, loaded one after the other; only one is in memory" in screen
    before = len(models.opened)
    screen.run_all()
    assert models.opened[before : before + 2] == ["scripted:a", "scripted:b"]
    assert screen.rows(FIELDS)[2][FIRST_RUN:] == ["10", "15", "10", "15"]
    qtbot.waitUntil(lambda: page.context.runs.model.name == "scripted:a")
    assert models.opened[-1] == "scripted:a", "the playground's model is opened again"
    qtbot.waitUntil(lambda: page.context.runs.model.phase == "ready")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "ends"), [("bab", ["✕ failed", VALID, "not run"]), ("bb", ["✕ failed", "not run"])]
)
def test_a_model_that_cannot_be_opened_is_tried_once_and_the_others_run(make, qtbot, names, ends):
    page, screen = make(Models(broken=("scripted:b",)))
    page.comparison.arrange([variant(constraint="off", model=f"scripted:{name}") for name in names])
    screen.run_all()
    assert screen.ends == ends
    assert "There is no scripted:b. Choose another." in screen.column(1)
    assert "There is no scripted:b" in "\n".join(screen.column(len(names)).texts())
    qtbot.waitUntil(lambda: page.context.runs.model.phase == "ready")


# -- columns -------------------------------------------------------------------------------------------------------

QUESTIONS = {
    "Does the mask help?": ["No constraint", "Mask"],
    "GLYPH or JSON?": ["GLYPH", "JSON"],
    NOTATIONS: ["GLYPH", "JSON", "Native"],
    "When should the constraint begin?": ["From the first token", "After reasoning", "From the call"],
    "Which temperature?": ["Temperature 0", "Temperature 0.7", "Temperature 1.2"],
    "Which model?": ["Scripted: a", "Scripted: b", "Scripted: c"],
    "Which prompt?": ["No system prompt", "System prompt “Write one tool call."],
}


def test_a_column_offers_no_notation_for_an_answer_that_is_a_text_and_says_why(make):
    page, screen = make()
    screen.ask(NOTATIONS, 2)
    assert "7 tools allowed" in screen
    screen.vary("Shape of a call")
    for answer in (Answer("choice", "yes\nno"), Answer("schema", '{"type": "integer"}')):
        page.context.project.set_options(answer=answer)
        notation, is_text = screen.find("Notation of column 1"), answer.kind == "choice"
        assert notation.isEnabled() != is_text
        assert ("is a text" in notation.accessibleDescription()) == is_text
        assert "Only for tool calls" in screen.find("Shape of a call of column 1").toolTip()
        assert "tools allowed" not in screen and answer.text[:3] in screen


@pytest.mark.slow
def test_a_question_brings_its_columns_in_the_playgrounds_notation(make):
    page, screen = make()
    context = page.context
    context.settings.replace(
        context.settings.value.with_recent_model("scripted:c").with_recent_model("scripted:b")
    )
    context.project.set_options(notation="json")
    assert "The same in every column: Scripted: a · JSON · flat · direct" in screen, "before a run"
    for question, titles in QUESTIONS.items():
        screen.ask(question)
        shown = screen.titles[: len(titles)]  # models of this computer may follow
        assert all(own.startswith(title) for own, title in zip(shown, titles, strict=True)), shown
        assert ("temperature 0" in screen) is (question != "Which temperature?"), "what differs is no fact"
    assert not screen.named("Constrain from"), "columns show only what differs"
    context.project.prompt.set_system_prompt("You are terse.")
    screen.ask("Which prompt?")
    assert screen.titles == ["System prompt “You are terse.”", "System prompt “Write one tool call. Le…”"]


@pytest.mark.slow
def test_a_picker_changes_its_own_column_and_clears_its_run(make):
    _page, screen = make()
    screen.ask(NOTATIONS, 2)
    screen.vary("Constraint")
    screen.run_all()
    screen.choose("Constraint of column 1", "GBNF")
    assert screen.text(2) == JSON and "Press Run all" in screen.column(1) and VALID not in screen.column(1)
    assert screen.read("Question") == "Custom columns"
    screen.vary("Shape of a call")
    screen.choose("Notation of column 1", "Native")
    assert not screen.can("Shape of a call of column 1")
    screen.vary("Constraint")
    assert not screen.named("Constraint of column") and "no constraint" in screen.read_facts()


@pytest.mark.slow
def test_columns_are_two_to_four(make):
    _page, screen = make()
    assert not screen.named("Remove column")
    screen.press("Add a column", "Add a column")
    assert screen.count == 4 and not screen.can("Add a column")
    screen.run_all()
    kept = screen.text(4)
    screen.press("Remove column 2", "Remove column 1")
    assert (screen.count, screen.text(2), screen.ends[1]) == (2, kept, VALID)
    assert not screen.named("Remove column")


@pytest.mark.slow
def test_a_setting_that_is_added_is_edited_in_each_column_and_sent(make, qtbot):
    model = Answers()
    page, screen = make(model)
    page.context.project.set_options(max_tokens=99)
    assert not screen.named("Temperature of column")
    for name in ("Temperature", "Prompt", "Stop strings", "Template variables"):
        screen.vary(name)
    assert "temperature 0" in screen.read_facts(), "it does not differ yet"
    for name, value in (
        ("Temperature", 0.9),
        ("Prompt", "Find cats"),
        ("Stop strings", "x\\n"),
        ("Template variables", "x=1"),
    ):
        screen.write(f"{name} of column 2", value)
    assert screen.titles[1] == "Mask, temperature 0.9, stop at x\\n, x=1, “Find cats”"
    assert "temperature 0" not in screen.read_facts() and screen.read("Question") == "Custom columns"
    screen.run_all()
    with qtbot.waitSignal(page.context.runs.ended):
        screen.press("Open column 2")
    request, own = page.context.runs.state.started.request, page.context.project.options
    assert (request.prompt, request.stop, request.max_tokens) == ("Find cats", ("x\n",), 99)
    assert (request.template_vars, own.template_vars) == ({"x": 1}, {})
    assert (request.sampling.temperature, request.sampling.top_k) == (0.9, own.sampling.top_k)
    assert "Find cats" not in model.asked[0].prompt and model.asked[0].sampling.temperature == 0
    for name in ("Temperature", "Prompt", "Stop strings", "Template variables"):
        screen.vary(name)
    assert screen.titles == ["No constraint", "Mask"] and not screen.named("Temperature of column")


@pytest.mark.slow
def test_recorded_runs_are_shown_side_by_side_without_a_run(make, qtbot):
    model = Answers()
    page, screen = make(model)
    context, project = page.context, page.context.project
    runs = []
    context.runs.ended.connect(lambda ended: runs.append(ended.events))
    for notation, prompt in (("glyph", "Find cats"), ("json", "Find dogs")):
        project.set_options(notation=notation)
        project.prompt.set_user(prompt)
        with qtbot.waitSignal(context.runs.ended):
            context.runs.run(project.next_run())
    project.prompt.set_user("Another one")
    asked = len(model.asked)
    page.go_to(RunsPlace(tuple(runs)))
    assert screen.titles == ["GLYPH, “Find cats”", "JSON, “Find dogs”"] and screen.ends == [VALID, VALID]
    assert screen.text(2) == JSON and "GLYPH, “Find cats” wrote max_results 10" in screen
    assert "Recorded runs, each with its prompt and tools." in screen and len(model.asked) == asked
    assert "scripted · flat · no constraint · direct · 7 tools allowed" in screen.read_facts()
    with qtbot.waitSignal(context.runs.ended):
        screen.press("Open column 1")
    assert context.runs.state.started.request.prompt == "Find cats"
    screen.run_all()
    assert len(model.asked) == asked + 2 and "Recorded runs" not in screen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("call", Answer()),
        ("choice:yes|no", Answer("choice", "yes\nno")),
        ("regex:[0-9]+", Answer("regex", "[0-9]+")),
        ('schema:{"type": "integer"}', Answer("schema", '{"type": "integer"}')),
        ('gbnf:root ::= "a"', Answer("gbnf", 'root ::= "a"')),
        ('lark:start: "a"', Answer("lark", 'start: "a"')),
        ("FOLDER/a.lark", Answer("lark", 'start: "a"\n')),
        ("schema:FOLDER/a.json", Answer("schema", '{"type": "string"}\n')),
    ],
)
def test_a_column_has_any_kind_of_answer(make, tmp_path, typed, answer):
    (tmp_path / "a.lark").write_text('start: "a"\n')
    (tmp_path / "a.json").write_text('{"type": "string"}\n')
    page, screen = make()
    page.context.project.set_options(answer=Answer("choice", "never"))
    screen.vary("Answer")
    screen.vary("Control tokens in texts")
    screen.write("Answer of column 2", typed.replace("FOLDER", str(tmp_path)))
    screen.choose("Control tokens in texts of column 2", "As plain text")
    screen.run_all()
    requests = [column.state.started.request for column in page.comparison.columns]
    assert [request.answer for request in requests] == [Answer("choice", "never"), answer]
    assert [request.control_texts for request in requests] == ["tokens", "plain"]


@pytest.mark.parametrize(
    ("variants", "names"),
    [
        ([{}, {"notation": "json"}, {"notation": "native"}], ["GLYPH", "JSON", "native"]),
        ([{"constraint": "off"}, {}], ["no constraint", "mask"]),
        (
            [{"constraint": "off"}, {"notation": "json", "shape": "tool-args"}, {"notation": "native"}],
            ["GLYPH flat no constraint", "JSON tool/args mask", "native mask"],
        ),
        ([{}, {}], ["GLYPH mask (1)", "GLYPH mask (2)"]),
        ([{}, {"top_k": 5}], ["as the playground", "top-k 5"]),
        (
            [{"constraint": "off"}, {"temperature": 0.7, "top_k": 5}],
            ["no constraint", "mask, temperature 0.7, top-k 5"],
        ),
        (
            [{"model": f"/m/Qwen-{quant}.gguf"} for quant in ("Q4_K_M", "Q8_0")],
            ["Qwen Q4_K_M", "Qwen Q8_0"],
        ),
        ([{}, {"answer": Answer("choice", "yes\nno")}], ["as the playground", "choice yes|no"]),
        ([{"system_prompt": ""}, {"system_prompt": "x " * 40}],
         ["no system prompt", "system prompt “x x x x x x x x x x x x…”"]),
    ],
)  # fmt: skip
def test_names_are_what_differs_between_columns(variants, names):
    assert variant_names([variant(**settings) for settings in variants]) == names


def test_an_added_column_has_a_value_that_is_not_compared_yet():
    off, json_off = variant(constraint="off"), variant(constraint="off", notation="json")
    assert next_variant([off]) == json_off
    assert next_variant([off, json_off]) == variant(notation="json")
    assert next_variant([variant(temperature=0.0), variant(temperature=0.7)])["temperature"] == 1.0


# -- its looks -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_first_difference_is_shown_by_words_and_a_line(make, name):
    page, screen = make(Answers(json=JSON.replace("AI news", "AI views")))
    page.context.themes.choose(name)
    page.context.themes.finish()
    screen.ask(NOTATIONS, 2)
    screen.run_all()
    assert [row[:2] for row in screen.rows(FIELDS)] == [
        ["=", "tool"], ["≠ first", "query"], ["≠", "max_results"]
    ]  # fmt: skip
    fields = screen.find(FIELDS)
    model = fields.model()
    spoken = model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "The first field in which the columns differ."
    assert model.index(1, FIRST_RUN).data(PARTING_ROLE) == 4  # a quotation mark, then A, I and a space
    image = fields.grab().toImage()
    marked = fields.visualRect(model.index(1, FIRST_RUN)).center()
    plain = fields.visualRect(model.index(0, FIRST_RUN)).center()
    down = fields.horizontalHeader().height()
    at = [QImage.pixelColor(image, image.width() - 30, point.y() + down) for point in (marked, plain)]
    assert at[0] != at[1]


@pytest.mark.slow
@pytest.mark.qt_log_ignore("This plugin does not support")
def test_every_popup_of_settings_has_a_border_in_the_dark_theme(open_window, qtbot):
    window = open_window(scripted, theme="dark")
    popup = window.header.panel
    popup.show()
    picture = popup.grab().toImage()
    assert picture.pixelColor(0, picture.height() // 2) == theme().color("border-strong")
    popup.close()


# -- in the whole window -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_window_compares_by_keys_says_which_column_runs_and_escape_stops_all(open_window, qtbot):
    model = Answers(gated=True)
    window = open_window(opens(model))
    window.context.project.set_options(constraint="off")
    began = []
    window.runs.began.connect(began.append)
    qtbot.keyClick(window, Qt.Key.Key_5, Qt.KeyboardModifier.ControlModifier)
    screen = Columns(qtbot, window)
    assert window.focusWidget() is screen.find(PROMPT)
    screen.ask(NOTATIONS)
    screen.choose("Notation of column 3", "JSON")
    screen.key(PROMPT, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "AI" in screen.text(1))
    assert screen.ends == ["◌ running", "waiting", "waiting"]
    for words in ("Running column 1 of 3: GLYPH.", "Comparing 1 of 3", "Waiting: one column runs at a time."):
        assert words in screen
    qtbot.waitUntil(lambda: screen.rows(FIELDS)[:1] == [["…", "tool", '"search"', "", ""]])
    for name in ("Question", "Add a column", "Notation of column 1", "Vary", "Remove column 1"):
        assert not screen.can(name), "columns cannot be changed while they run"
    assert screen.find(PROMPT).isReadOnly()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    model.gate.set()
    screen.until_can("Run all columns")
    assert len(model.asked) == 1 and screen.ends == ["stopped", "not run", "not run"]
    assert screen.text(1).startswith('{action="search"') and not screen.can("Stop the comparison")
    assert screen.can("Question") and not screen.find(PROMPT).isReadOnly()
    screen.run_all()
    assert screen.ends == [VALID] * 3, "and it cannot be run again"
    assert not began, "the playground did not run"


@pytest.mark.slow
def test_three_columns_fit_the_smallest_window_and_four_scroll_to_the_one_that_runs(open_window, qtbot):
    window = open_window(opens(Answers()), size=(1024, 700))
    window.navigator.show(PageId.COMPARE)
    screen = Columns(qtbot, window)
    bars = screen.find("Columns of the comparison")
    across, down = bars.horizontalScrollBar(), bars.verticalScrollBar()
    for count in (3, 4):
        screen.press("Add a column")
        screen.run_all()
        qtbot.wait(20)
        assert (window.width(), window.height()) == (1024, 700)
        assert screen.column(count).root.width() >= MIN_WIDTH
        assert (across.maximum() > 0) is (count == 4) and (count == 4 or down.maximum() == 0)
        assert across.value() == across.maximum(), "the column that runs is in sight"
