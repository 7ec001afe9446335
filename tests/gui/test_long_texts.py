"""Registries and prompts that are too long to be shown: their beginning is, at once, and nothing of them is changed."""

from __future__ import annotations

import json
import time
from functools import partial

import msgspec
import pytest
from PySide6.QtWidgets import QApplication, QWidget

from examples import rounds, some
from fake_context import scripted
from glyphscope.evals.suites.suite import Expectation, Scenario, Suite
from glyphscope.events import RunRequest
from glyphscope.registry import parse_document
from glyphscope.store import Project, save_project
from glyphscope.store.history import kin_of
from glyphscope_gui.evaluate import SuiteEditor
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.plain_text import (
    MAX_CHARACTERS,
    MAX_LINE,
    MAX_LINES,
    cut_at,
    document_part,
    is_long,
    shown_part,
)
from window_blocks import Blocks, long_suite, registry_of, settle

SECONDS = 0.4
"""Of processor time, in which pages are also made; without limits, these registries took 1.5 to 16."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", 0),
        ("a\n" * 100, 200),
        ("x" * MAX_LINE, MAX_LINE),
        ("x" * (MAX_LINE + 1), MAX_LINE),
        ("a\nb\n" + "x" * (2 * MAX_LINE), MAX_LINE + 4),
        ("a\n" * (MAX_LINES + 3), 2 * MAX_LINES),
        ("x" * 99 + "\n", 100),
        (("x" * 9_999 + "\n") * 51, MAX_CHARACTERS),
    ],
)
def test_a_text_is_cut_where_it_is_too_long_and_the_missing_characters_are_counted(text, shown):
    part = shown_part(text)
    if shown == len(text):
        assert part is text
    else:
        assert part.startswith(text[:MAX_LINES]) and part.endswith(" more characters")
        missing = int(part.rpartition("… and ")[2].split()[0].replace(",", ""))
        assert len(part.rpartition("… and ")[0]) + missing == len(text)


def test_a_cut_text_has_its_beginning_and_the_number_of_the_other_characters():
    assert cut_at("abc", 3) == "abc" and cut_at("abcd" * 1000, 3) == "abc… and 3,997 more characters"


def test_a_long_document_is_recognised_and_shown_without_reading_all_of_it():
    huge = {"enum": list(range(3_000_000)), "b": {"c": ["x" * 5_000_000]}}
    began = time.thread_time()
    assert is_long(huge) and is_long({"b": huge["b"]}) and not is_long({"enum": [1, 2], "b": {"c": ["x"]}})
    part = document_part(huge)
    assert time.thread_time() - began < 0.2
    assert "… and 2,999,900 more" in part and "… and 4,998,000 more characters" in part
    small = {"a": [1, {"b": "ä"}, [], {}, None], "c": True}
    assert json.loads(document_part(small)) == small


def cpu_of(do):
    """The processor time of this thread for an action, and for the events that follow at once."""
    began = time.thread_time()
    do()
    for _ in range(5):
        QApplication.processEvents()
    return time.thread_time() - began


@pytest.fixture
def blocks(open_window, qtbot):
    """A window, and a function that does a step and returns the longest block until nothing works any longer."""
    window = open_window(scripted)
    window.services.project.set_options(constraint="off")
    clock = Blocks(window)

    def longest(do):
        clock.begin()
        do()
        assert settle(QApplication.instance(), window, quiet=0.2)
        return clock.longest_cpu

    return window, longest


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_project_with_a_long_schema_is_opened_and_saved_without_a_block(blocks, tmp_path):
    window, longest = blocks
    project, path = window.services.project, tmp_path / "long.glyphscope"
    registry = registry_of(some(["values", "definitions"], 2)[-1])
    save_project(path, Project(request=RunRequest(prompt="p", registry=registry.to_document())))
    spent = {
        "open": longest(lambda: project.open(path)),
        "edit": longest(lambda: project.tools.set_description("t", "Another one.")),
        "save": longest(project.save),
    }
    assert project.tools.registry.get("t").parameters == registry.get("t").parameters
    assert max(spent.values()) < SECONDS, spent


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_suite_of_many_scenarios_is_chosen_and_edited_without_a_block(blocks):
    count = rounds(10_000, 30_000)
    window, longest = blocks
    page, path = window.page(PageId.EVALUATE), long_suite(count)
    longest(lambda: window.navigator.show(PageId.EVALUATE))
    setup = page.view.setup
    spent = {
        "suite": longest(lambda: page._add_suites([path])),
        "alone": longest(lambda: setup.show_matrix({"suites": (str(path),)}) or page._setup_changed()),
        "edit": longest(page.suite_editing.edit_current),
    }
    assert setup.scenarios.model.rowCount() == count
    editor = window.findChild(SuiteEditor)
    spent["scenario"] = longest(lambda: editor.choose_row(count - 1_000))
    spent["duplicate"] = longest(editor.copy.click)
    assert editor.model.rowCount() == count + 1 and editor.list.currentIndex().data() == f"s{count - 1_000}-2"
    editor.reject()
    editor.reject()
    assert max(spent.values()) < SECONDS / 2, spent


@pytest.mark.slow
def test_a_scenario_that_is_too_long_is_shown_in_part_and_not_changed(qtbot, tmp_path):
    scenarios = [
        Scenario(id=f"s{n}", prompt=prompt, expect=Expectation())
        for n, prompt in enumerate(("x" * 500_000, "short"))
    ]
    window = QWidget()
    qtbot.addWidget(window)
    suite = Suite(glyphscope_suite=1, name="long", about="", scenarios=tuple(scenarios))
    editor = SuiteEditor(suite, None, tmp_path, "", window)
    form = editor.form
    assert form.json_edit.isReadOnly() and not form.long_label.isHidden() and not form.views.isEnabled()
    assert len(form.json_edit.toPlainText()) < 100_000 and form.scenario() == scenarios[0]
    editor.choose_row(1)
    assert form.views.isEnabled() and form.long_label.isHidden() and form.prompt_edit.toPlainText() == "short"
    assert editor._scenarios == scenarios


def test_a_part_of_a_text_has_only_its_beginning_and_a_title_only_that_of_its_prompt():
    began = time.thread_time()
    text = tr("{model}, “{prompt}”", model="m", prompt="word " * 4_000_000)
    record = bundled_run("search-mask.jsonl")
    request = msgspec.structs.replace(record[0].request, prompt="a  b " * 4_000_000)
    title = kin_of((msgspec.structs.replace(record[0], request=request),)).row.title
    assert time.thread_time() - began < 0.2, "whole, both take a second"
    assert len(text) < 21_000 and text.endswith("…”") and title.startswith("a b a b") and len(title) == 200


@pytest.mark.slow
def test_no_registry_blocks_the_window(window):
    tools = window.services.project.tools
    for name in ("values", "description", "one word", "arguments", "name", "default", "tools"):
        registry = registry_of(name)
        first = registry.tools[0]
        argument = next(iter(first.parameters["properties"]))
        spent = {
            "tools": cpu_of(partial(tools.replace_registry, registry)),
            "argument": cpu_of(partial(window.panels.reveal_argument, first.name, argument)),
            "edit": cpu_of(partial(tools.set_description, first.name, "Another one.")),
            "undo": cpu_of(tools.undo_stack.undo),
        }
        assert max(spent.values()) < SECONDS, (name, spent)
        assert tools.registry == registry, f"{name}: what is not shown is not changed"


@pytest.mark.slow
def test_a_schema_that_is_too_long_is_shown_in_part_and_cannot_be_edited_by_accident(window):
    tools = window.services.project.tools
    values = [f"v{n}" for n in range(100_000)]
    tool = {"name": "t", "parameters": {"type": "object", "properties": {"a": {"enum": values}}}}
    registry = parse_document({"glyphscope": 1, "tools": [tool]})
    tools.replace_registry(registry)
    dock = window.panels.tools
    dock.show_argument("t", "a")
    assert "… and 99,900 more" in dock.schema.editor.toPlainText() and dock.schema.editor.isReadOnly()
    assert "too long to be edited here" in dock.schema.notice.text() and not dock.schema.notice.isHidden()
    rows = {keyword.name: row for keyword, row in dock.form.argument_form.keyword_rows.items()}
    field = rows["enum"].field
    assert field.text().startswith("v0, v1, ") and field.text().endswith("… and 99,900 more")
    assert field.isReadOnly() and not field.isEnabled()
    tools.set_schema_text("t", dock.schema.editor.toPlainText())
    tools.set_parameters("t", {})
    assert tools.registry == registry


@pytest.mark.slow
def test_a_prompt_that_is_too_long_is_shown_in_part_and_sent_whole(window, qtbot):
    prompt, page = window.services.project.prompt, window.page(PageId.PLAYGROUND).view
    text = "word " * 1_000_000
    assert cpu_of(lambda: prompt.set_user(text)) < 2 * SECONDS, "whole, it takes 4 s"
    assert page.prompt_edit.isReadOnly() and page.prompt_edit.toPlainText().endswith("more characters")
    assert cpu_of(lambda: prompt.set_system_prompt("x" * 5_000_000)) < 2 * SECONDS
    assert prompt.user == text and len(prompt.state.system_prompt) == 5_000_000
    prompt.set_user("short")
    assert not page.prompt_edit.isReadOnly() and page.prompt_edit.toPlainText() == "short"


def test_a_name_in_a_heading_makes_no_card_wider(qtbot):
    card = Card("Tool", QWidget())
    qtbot.addWidget(card)
    card.show()
    card.heading.title.set_title(f"Test {'long_' * 40}", upper=5)
    qtbot.waitUntil(lambda: card.minimumSizeHint().width() < 200)
    assert card.heading.title.accessibleName().endswith("long_")
    card.heading.title.set_title("A heading without a name is whole")
    qtbot.waitUntil(lambda: card.minimumSizeHint().width() > card.heading.title.sizeHint().width())
