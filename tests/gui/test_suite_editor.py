"""Suites edited in the window: a form for common members, JSON for the rest; only complete suites are written."""

from __future__ import annotations

import json

import pytest
from PySide6.QtWidgets import QMessageBox, QWidget

from evaluating import SCENARIOS, SUITES, evaluate_page
from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.suites.reading import encode_suite, load_suite
from glyphscope.evals.suites.suite import Expectation, Scenario, Suite
from glyphscope.events import Answer, FinalText
from glyphscope_gui.evaluate import SuiteEditor, editable, field_text, field_value, loose_text, loose_value
from glyphscope_gui.shared.page_ids import PageId
from on_screen import Screen

CHECK = "def one(result):\n    return len(result['calls']) == 1\n"
PATH, RUBRIC, FUNCTION = "JSONPath", "Judge model", "Python function"
TEA = Scenario(id="tea", prompt="Brew tea.", expect=Expectation())


class Editor(Screen):
    def saved(self):
        with self.qtbot.waitSignal(self.root.saved) as signal:
            self.press("Save")
        return load_suite(signal.args[0])

    def last(self, name):
        """The newest of the parts of that name, which each line of a form has, once it is laid out."""
        self.qtbot.wait(1)
        return Screen(self.qtbot, self.named(name)[-1])

    def assert_(self, kind, target, test="exists", value=None):
        """Add an assertion."""
        self.press("Add an assertion")
        self.last("Kind of assertion").choose("Kind of assertion", kind)
        self.last(kind).write(kind, target)
        if kind == PATH:
            self.last("Check of the selected values").choose("Check of the selected values", test)
        if value is not None:
            self.last("Value").write("Value", value)


@pytest.fixture
def edit(qtbot, tmp_path):
    """Open the editor of a suite, or of a copy of the starter suite."""
    windows = []

    def build(suite=None, path=None):
        windows.append(QWidget())
        qtbot.addWidget(windows[-1])
        suite, path = editable("starter") if suite is None else (suite, path)
        folder = tmp_path / "suites" if path is None else path.parent
        editor = SuiteEditor(suite, path, folder, "search-too-many", windows[-1])
        editor.open()
        return Editor(qtbot, editor)

    return build


@pytest.fixture
def asserted(edit, tmp_path):
    """Open the editor of a suite of one scenario with that expectation, beside the file `checks.py`."""

    def build(**expect):
        (tmp_path / "checks.py").write_text(CHECK)
        path = tmp_path / "asserted.json"
        scenario = {"id": "news", "prompt": "Search for AI news.", "expect": {"extra_calls": True, **expect}}
        path.write_text(
            json.dumps({"glyphscope_suite": 1, "name": "asserted", "about": "", "scenarios": [scenario]})
        )
        return edit(load_suite(str(path)), path)

    return build


@pytest.mark.slow
def test_a_copy_of_a_bundled_suite_is_the_same_until_it_is_edited(edit):
    editor = edit()
    assert editor.chosen("Scenarios").startswith("search-too-many")
    suite = editor.saved()
    assert suite.name == "starter-copy" and suite.scenarios == load_suite("starter").scenarios


@pytest.mark.parametrize(("before", "clicks", "after"), [(None, 0, None), (None, 1, False), (False, 1, True)])
def test_a_suite_says_whether_it_uses_the_prompt_of_a_project(edit, tmp_path, before, clicks, after):
    suite = Suite(glyphscope_suite=1, name="tea", about="", scenarios=(TEA,), project=before)
    screen = edit(suite, tmp_path / "tea.json")
    for _ in range(clicks):
        screen.press("Project’s prompt, template and sampling")
    assert screen.saved().project is after


def test_a_scenario_is_added_with_checks_of_every_kind(edit):
    editor = edit()
    editor.press("Add")
    editor.write("Name of the scenario", "tea")
    editor.write("Prompt", "Search for tea.")
    editor.choose("Expected call", "search")
    for kind, text in (
        ("matches", "(?i)tea"),
        ("is one of", "3 | 10"),
        ("matches JSON Schema", '{"minItems": 1}'),
    ):
        editor.press("Add a check")
        editor.last("Check").choose("Check", kind)
        editor.last("Value").write("Value", text)
    editor.find("Other arguments are allowed").setChecked(False)
    (call,) = editor.saved().scenarios[-1].expect.calls
    assert call.any_of == {"max_results": (3, 10)}
    assert call.schema["properties"] == {"query": {"pattern": "(?i)tea"}, "sources": {"minItems": 1}}


def test_an_answer_that_is_not_a_call_and_the_right_one_are_edited(edit):
    editor = edit()
    editor.choose("Scenarios", "mood-good")
    assert editor.read("Answer") == "Choice" and editor.read("Right answer") == "positive"
    assert editor.read("Text of the answer") == "positive\nnegative" and not editor.named("Expected call")
    editor.write("Text of the answer", "positive\nnegative\nmixed")
    editor.write("Right answer", "Mixed")
    editor.press("Ignore case and white space")
    editor.choose("Scenarios", "person-json")
    assert json.loads(editor.read("Right answer")) == {"name": "Ann", "age": 30}
    editor.write("Right answer", '{"name": "Bob", "age": 31}')
    editor.choose("Scenarios", "order-json")
    assert "rules for the answer are too complex" in editor and not editor.named("Right answer")
    editor.choose("Scenarios", "search-news")
    assert editor.named("Expected call") and not editor.named("Right answer")
    editor.choose("Answer", "Pattern")
    editor.write("Text of the answer", "[0-9]+")
    editor.choose("Scenarios", "mood-bad")
    editor.choose("Answer", "Tool call")
    editor.choose("Expected call", "search")
    by_id = {each.id: each for each in editor.saved().scenarios}
    good, person, news = by_id["mood-good"], by_id["person-json"], by_id["search-news"]
    assert good.answer.choices == ("positive", "negative", "mixed")
    assert good.expect.final == FinalText(equals="Mixed", folded=True)
    assert person.expect.final.equals == {"name": "Bob", "age": 31}
    assert len(by_id["order-json"].expect.final.any_of) == 2
    assert (news.answer, news.expect) == (Answer("regex", "[0-9]+"), Expectation())
    assert by_id["mood-bad"].answer.is_call and by_id["mood-bad"].expect.final is None


def test_the_answer_of_a_suite_is_shown_and_stays_that_of_the_suite(edit, tmp_path):
    yes = Scenario(id="yes", prompt="Is it?", expect=Expectation(final=FinalText(equals="yes")))
    suite = Suite(
        glyphscope_suite=1, name="s", about="", answer=Answer("choice", "yes\nno"), scenarios=(yes,)
    )
    editor = edit(suite, tmp_path / "s.json")
    assert editor.read("Answer") == "Choice"
    editor.write("Right answer", "no")
    (saved,) = editor.saved().scenarios
    assert saved.answer is None and saved.expect.final.equals == "no"


def test_an_answer_is_written_as_json_as_in_the_file(edit):
    editor, text = edit(), "The scenario as JSON"
    editor.choose("Scenarios", "mood-good")
    editor.press("JSON")
    scenario = json.loads(editor.read(text))
    editor.write(text, json.dumps({**scenario, "answer": "schema:file.json"}))
    assert "file.json is read only from the file of a suite" in editor
    editor.write(text, json.dumps({**scenario, "answer": "choice:positive|fine"}))
    by_id = {each.id: each for each in editor.saved().scenarios}
    assert by_id["mood-good"].answer == Answer("choice", "positive\nfine")


def test_the_tools_of_a_suite_are_read_beside_its_file(edit, tmp_path):
    tool = {"name": "brew", "description": "Brews tea.", "parameters": {"type": "object", "properties": {}}}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [tool]}))
    suite = Suite(glyphscope_suite=1, name="tea", about="", registry="tools.json", scenarios=(TEA,))
    edit(suite, tmp_path / "tea.json").choose("Expected call", "brew")


def test_a_value_that_cannot_be_read_blocks_leaving_its_scenario(edit):
    editor = edit()
    editor.choose("Scenarios", "search-news")
    editor.last("Value").write("Value", "ten")
    assert "ten is not JSON" in editor
    editor.choose("Scenarios", "calculate-sum")
    assert editor.chosen("Scenarios").startswith("search-news")
    editor.last("Value").write("Value", "10")
    assert "ten is not JSON" not in editor


def test_an_error_is_shown_at_its_scenario_and_nothing_is_written(edit, tmp_path):
    editor = edit()
    editor.press("Add")
    editor.choose("Scenarios", "search-news")
    editor.press("Save")
    editor.until("prompt is empty")
    assert editor.chosen("Scenarios").startswith("scenario") and not (tmp_path / "suites").exists()
    editor.press("Remove this scenario")
    assert len(editor.saved().scenarios) == 17


def test_a_scenario_that_the_form_cannot_show_is_edited_as_json(edit):
    editor, text = edit(), "The scenario as JSON"
    editor.press("JSON")
    scenario = json.loads(editor.read(text))
    scenario["tools"] = ["search", "browse"]
    editor.write(text, "{")
    assert "Not a scenario" in editor
    editor.press("Form")
    assert editor.read(text) == "{", "unreadable text stays in view"
    scenario["expect"]["calls"][0] = {"tools": ["search", "browse"]}
    editor.write(text, json.dumps(scenario))
    editor.press("Form")
    assert "too complex for a form" in editor and not editor.named("Expected call")
    made = {each.id: each for each in editor.saved().scenarios}
    assert made["search-too-many"].expect.calls[0].tools == ("search", "browse")


@pytest.mark.parametrize(("name", "closes"), [("tea", True), ("green-tea", False)])
def test_a_new_suite_closes_at_once_until_it_is_edited(edit, name, closes):
    editor = edit(Suite(glyphscope_suite=1, name="tea", about="", registry="default"))
    editor.write("Name of the suite", name)
    editor.press("Cancel")
    assert editor.root.isHidden() == closes


def test_unsaved_changes_are_discarded_at_the_second_close(edit):
    editor = edit()
    editor.write("Prompt", "Something else")
    editor.press("Cancel")
    assert "unsaved changes" in editor
    editor.press("Cancel")
    assert editor.root.isHidden()


# -- assertions ----------------------------------------------------------------------------------------------------


def test_assertions_of_each_kind_are_written_to_the_suite_and_shown_again(asserted, edit, tmp_path):
    editor = asserted()
    editor.write("Judge model", "embedded")
    editor.assert_(PATH, "$.calls[*].tool", "is one of", "search | browse")
    editor.assert_(PATH, "$.calls[0].arguments.max_results", "equals", "10")
    editor.assert_(PATH, "$.calls", "has a count of", "1")
    editor.assert_(FUNCTION, "checks.py:one")
    editor.assert_(RUBRIC, "The query is about news.")
    editor.write("Judge model", "embedded") if len(
        editor.named(
            "Judge model",
        )
    ) == 1 else None
    written = editor.saved()
    assert written.judge == "embedded"
    assert json.loads((tmp_path / "asserted.json").read_text())["scenarios"][0]["expect"] == {
        "extra_calls": True,
        "paths": [
            {"path": "$.calls[*].tool", "any_of": ["search", "browse"]},
            {"path": "$.calls[0].arguments.max_results", "equals": 10},
            {"path": "$.calls", "count": 1},
        ],
        "python": [{"function": "checks.py:one"}],
        "judge": [{"rubric": "The query is about news."}],
    }
    again = edit(written, tmp_path / "asserted.json")
    assert len(again.named("Kind of assertion")) == 5
    assert again.saved() == written


def test_a_target_follows_the_kind_of_assertion_until_it_is_edited(asserted, qtbot):
    editor = asserted()
    editor.press("Add an assertion")
    for kind, target in ((RUBRIC, ""), (PATH, "$."), (FUNCTION, "")):
        editor.last("Kind of assertion").choose("Kind of assertion", kind)
        assert editor.last(kind).read(kind) == target
    editor.last(FUNCTION).write(FUNCTION, "checks.py:one")
    editor.choose("Kind of assertion", PATH)
    assert editor.last(PATH).read(PATH) == "checks.py:one"
    editor.press("Add an assertion")
    qtbot.keyClicks(editor.root.focusWidget(), "answer")
    assert editor.last(PATH).read(PATH) == "$.answer", "typing continues the path of a new one"


def test_an_invalid_assertion_is_not_saved_and_its_place_is_shown(asserted):
    editor = asserted()
    editor.assert_(PATH, "$.calls[")
    editor.press("Save")
    assert not editor.can("Saving…")
    editor.until("Invalid JSONPath at character 9")
    assert editor.can("Save")
    editor.last(PATH).write(PATH, "$.calls")
    editor.choose("Check of the selected values", "has a count of")
    editor.write("Value", "many")
    assert "many is not a whole number" in editor
    editor.choose("Kind of assertion", FUNCTION)
    editor.last(FUNCTION).write(FUNCTION, "checks.py:two")
    editor.press("Save")
    editor.until("checks.py has no function two. It has one.")
    editor.press("Remove assertion 1")
    assert "checks.py" not in editor and not editor.named("Kind of assertion")


def test_a_path_with_two_conditions_is_preserved(asserted):
    editor = asserted(paths=[{"path": "$.calls", "count": 1, "schema": {"type": "array"}}])
    assert "The assertions are too complex for a form" in editor
    (check,) = editor.saved().scenarios[0].expect.paths
    assert (check.count, check.schema) == (1, {"type": "array"})


@pytest.mark.slow
def test_a_suite_that_is_edited_asks_about_a_file_outside_of_its_folder(edit, tmp_path):
    (tmp_path / "checks.py").write_text(CHECK)
    (tmp_path / "suites").mkdir()
    suite = Suite(glyphscope_suite=1, name="tea", about="", registry="default", scenarios=(TEA,))
    editor = edit(suite, tmp_path / "suites" / "tea.json")
    editor.assert_(FUNCTION, f"{tmp_path / 'checks.py'}:one")  # as a file that is chosen in the editor
    editor.press("Save")
    editor.until("outside of the folder")
    question = editor.dialog(QMessageBox)
    assert str(tmp_path / "checks.py") in question
    with editor.qtbot.waitSignal(editor.root.saved):
        question.press("Read these files")


# -- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "is_text", "text"),
    [
        ("equals", "AI news", True, "AI news"),
        ("equals", 10, False, "10"),
        ("equals", ["a"], False, '["a"]'),
        ("one_of", ["a", "b c"], True, "a | b c"),
        ("one_of", ["a|b"], True, '["a|b"]'),
        ("one_of", ["a", "b "], True, '["a", "b "]'),
        ("one_of", [1, 2], False, "1 | 2"),
        ("one_of", [{"a": "b|c"}, 1], False, '[{"a": "b|c"}, 1]'),
        ("one_of", [[1], [2]], False, "[[1], [2]]"),
        ("matches", "^x", True, "^x"),
        ("schema", {"minimum": 1}, False, '{"minimum": 1}'),
        ("optional", None, True, ""),
    ],
)
def test_a_value_is_read_back_from_its_field(kind, value, is_text, text):
    assert field_text(kind, value, is_text=is_text) == text
    assert field_value(kind, text, is_text=is_text) == value


@pytest.mark.parametrize(
    ("test", "value"),
    [
        ("equals", "tea"), ("equals", "10"), ("equals", 10), ("equals", None), ("equals", {"a": [1]}), ("count", 0),
        ("one_of", ["a | b", "c"]), ("one_of", ["tea", 3, None, " x"]), ("matches", "[0-9]+"),
        ("schema", {"type": "string"}),
    ],
)  # fmt: skip
def test_the_field_of_a_value_reads_what_it_shows(test, value):
    assert loose_value(test, loose_text(test, value)) == value


@pytest.mark.parametrize(("kind", "text"), [("equals", "ten"), ("schema", "[]"), ("one_of", "[1")])
def test_a_field_that_must_be_json_says_so(kind, text):
    with pytest.raises(GlyphscopeError, match="is not"):
        field_value(kind, text, is_text=False)


def test_a_suite_of_another_programs_file_is_edited_as_a_copy(tmp_path):
    dataset, own = tmp_path / "data.json", tmp_path / "own.json"
    dataset.write_text('[{"input": "Where is Bern?", "target": "Switzerland"}]')
    suite, path = editable(str(dataset))
    assert (suite.name, path) == ("data-copy", None)
    own.write_bytes(encode_suite(suite))
    assert editable(str(own)) == (suite, own)


# -- on the page ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_saved_suite_is_ticked_and_listed_again(open_page, qtbot):
    page, screen = evaluate_page(open_page, qtbot)
    qtbot.waitUntil(lambda: len(screen.rows(SCENARIOS)) == 17)
    screen.press("Edit…")
    screen.dialog(SuiteEditor).press("Save")
    screen.until("2 configurations × 34 scenarios")
    screen.ended()
    for shown in (PageId.PLAYGROUND, PageId.EVALUATE):
        page.context.navigator.show(shown)
    screen.ended()
    assert screen.rows(SUITES).count(["starter-copy"]) == 1
    assert (page.context.services.places.suites / "starter-copy.json").is_file()


def test_nothing_is_reported_as_missing_while_the_suites_are_read(open_page, qtbot, monkeypatch):
    page, screen = evaluate_page(open_page, qtbot)
    with monkeypatch.context() as patch:
        patch.setattr(page.view.suites_model, "rowCount", lambda *_: 0)
        screen.write("Trials", 2)
        screen.until("Loading the suites")
        assert "Select at least one" not in screen
    screen.tick(SUITES)
    screen.until("Select at least one suite")
