"""Two prompts on the same seeds in the window: run, counted, opened; the text claims no more than the pairs show."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import Qt

from glyphscope.events import Answer, RunRequest
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.store import save_project
from glyphscope_gui.compare import earlier_words, planned_results, result_lines
from glyphscope_gui.context import PromptsPlace
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId
from on_screen import Screen

GOOD = '{action="search" query="AI news" max_results=10}'
OTHER = '{action="search" query="AI"}'
BASE = RunRequest(prompt="p", registry=default_registry().to_document(), constraint="off")
RUN, STOP, SEEDS, EXPECTED = "Run A and B", "Stop", "Seeds for both prompts", "Expected answer"
SOURCE, HEAT, TABLE = (
    "Source of prompt",
    "Temperature for both prompts",
    "Seeds, with the result of each prompt",
)


class Obedient(ScriptedModel):
    """Says the text that its prompt asks for."""

    def generate(self, request):
        self._turns = [[OTHER.encode()] if "briefly" in request.prompt else [GOOD.encode()]]
        return super().generate(request)


class Prompts(Screen):
    def run(self):
        self.press(RUN)
        assert not self.can(RUN) and self.can(STOP)
        self.until_can(RUN)


@pytest.fixture
def page(open_page):
    """The compare page, which shows the two prompts."""
    page = open_page(PageId.COMPARE, lambda _name, **_options: Obedient(GOOD))
    page.context.project.set_options(constraint="off")
    page.go_to(PromptsPlace())
    return page


@pytest.fixture
def screen(page, qtbot):
    return Prompts(qtbot, page.widget)


def run_playground(qtbot, page):
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.run(page.context.project.next_run())


@pytest.mark.slow
def test_two_prompts_are_run_counted_and_opened(page, screen, qtbot):
    context = page.context
    run_playground(qtbot, page)
    context.project.prompt.set_system("Call briefly.")
    screen.write(SEEDS, "1-3")
    screen.press("Answer of the run shown")
    assert screen.read(EXPECTED) == '{action="search" query="AI news" max_results=10}'
    screen.run()
    for words in ("Differences: system template", "A: 3 of 3", "B: 0 of 3", "needs at least 6 seeds"):
        assert words in screen
    rows = screen.rows(TABLE)
    assert [row[0] for row in rows] == ["1", "2", "3"] and rows[0][1].startswith("✓ search")
    assert rows[0][2] == '✕ query is "AI", not "AI news"' and "A wrote query" in rows[0][3]
    qtbot.waitUntil(lambda: len(context.services.history.rows()) == 6)  # every run of both is saved
    screen.choose(TABLE, "2")
    with qtbot.waitSignal(context.runs.ended):
        screen.press("Open B’s run")
    assert context.runs.state.started.request.sampling.seed == 2 and context.runs.state.text == OTHER
    assert context.navigator.visits == [(PageId.PLAYGROUND, None)]
    assert context.project.options.sampling.temperature == 0, "the playground's settings stay"


@pytest.mark.slow
def test_the_prompts_panel_and_the_run_keys_reach_the_two_prompts(open_window, qtbot):
    window = open_window(lambda _name, **_options: Obedient(GOOD))
    window.context.project.set_options(constraint="off")
    screen = Prompts(qtbot, window)
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    window.context.project.prompt.set_system("Call briefly.")
    changes = window.panels.prompt.changes
    qtbot.waitUntil(lambda: not changes.link.isHidden())
    changes.link.click()
    assert window.navigator.current is PageId.COMPARE
    screen.write(SEEDS, "1-3")
    window.activateWindow()
    screen.find(SEEDS).setFocus()
    screen.key(SEEDS, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert not screen.can(RUN)
    screen.until_can(RUN)
    assert len(screen.rows(TABLE)) == 3


@pytest.mark.slow
def test_a_stored_prompt_ignores_later_edits_and_stop_stops(page, screen, qtbot):
    screen.press("Keep as A")
    assert screen.read(f"{SOURCE} A") == "Kept prompt" and "default, 7 tools" in screen
    page.context.project.tools.set_description("search", "Look it up, briefly.")
    screen.write(HEAT, 0.0)
    screen.write(SEEDS, "1-9")
    screen.run()
    assert len(screen.rows(TABLE)) == 1 and "One pair" in screen and "Differences: tools" in screen
    assert screen.rows(TABLE)[0][3].startswith("A wrote query"), "the edit reaches only B"
    screen.write(HEAT, 0.5)
    screen.press(RUN, STOP)
    screen.until_can(RUN)
    assert "Stopped: the figures cover the finished pairs." in screen
    assert "…" in screen.rows(TABLE)[8]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "A and B are the same prompt"),
        ({SEEDS: "3-"}, "not a seed"),
        ({SEEDS: "1-200"}, "100 seeds"),
        ({EXPECTED: "{"}, "Expected answer: character 1"),
        ({EXPECTED: "[]"}, "no call in this list"),
        ({EXPECTED: '{"tool": "x", "arguments": 3}'}, "This is not a call"),
        ({f"{SOURCE} A": "Prompt of the run shown"}, "no prompt for A yet"),
        ({f"{SOURCE} B": "Prompt of the run shown"}, "no prompt for B yet"),
    ],
)
def test_a_plan_that_cannot_run_is_rejected_with_the_reason(screen, changes, said):
    screen.choose(f"{SOURCE} A", "Current prompt")
    for name, value in changes.items():
        (screen.choose if name.startswith(SOURCE) else screen.write)(name, value)
    screen.press(RUN)
    assert said in screen and not screen.can(STOP)


def test_only_the_prompt_differs_between_the_two():
    other = RunRequest(prompt="q", registry=BASE.registry, constraint="gbnf", notation="json", max_tokens=3)
    made = planned_results(BASE, BASE, other, "1-2", 0.7, "")
    assert made.differ == ("prompt",) and made.plan.seeds == (1, 2)
    assert made.plan.arms["b"].constraint == "off"


@pytest.mark.slow
def test_a_project_file_supplies_a_prompt_and_an_unreadable_one_changes_nothing(
    page, screen, qtbot, tmp_path
):
    project, path = page.context.project, tmp_path / "brief.glyphscope"
    project.prompt.set_system("Call briefly.")
    save_project(path, project.project(), None)
    project.prompt.set_system("Call.")
    screen.choose(f"{SOURCE} A", "A project…")
    screen.pick_file(path)
    qtbot.waitUntil(lambda: screen.read(f"{SOURCE} A") == "Project brief")
    assert "custom template" in screen
    screen.choose(f"{SOURCE} B", "A project…")
    screen.pick_file(tmp_path / "none")
    qtbot.waitUntil(lambda: bool(page.context.errors))
    assert screen.read(f"{SOURCE} B") == "Current prompt"


@pytest.mark.slow
def test_results_of_prompts_that_are_no_longer_chosen_are_marked(page, screen, qtbot):
    run_playground(qtbot, page)
    page.context.project.prompt.set_system("Call briefly.")
    screen.write(HEAT, 0.0)
    screen.run()
    assert "earlier" not in screen
    page.context.project.prompt.set_user("Another prompt")
    assert "B: These results are of an earlier request" in screen


@pytest.mark.parametrize("tools", [None, 7, "x", [None, {"enabled": None}, {"name": "a"}]])
def test_a_prompt_of_a_damaged_record_is_described(page, screen, qtbot, tools):
    started, *_ = bundled_run("search-mask.jsonl")
    damaged = msgspec.structs.replace(started.request, registry={"tools": tools})
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.show_record((msgspec.structs.replace(started, request=damaged),))
    assert f", {1 if isinstance(tools, list) else 0} tool" in screen
    assert earlier_words(damaged, page.context.project.next_request().request)


@pytest.mark.slow
def test_an_unknown_number_of_prompt_tokens_is_left_out(page, screen, qtbot):
    run_playground(qtbot, page)
    page.context.project.prompt.set_system("Call briefly.")
    screen.write(SEEDS, "1")
    screen.run()
    assert "Prompt tokens: A " in screen
    results = page.ab.results
    known = [
        (stage.prompt, stage.finished) for state in results.states.values() for stage in state.stages[:1]
    ]
    for unknown in ((0, 1), (0,), (1,)):
        for place, (state, (prompt, done)) in enumerate(zip(results.states.values(), known)):
            replaced = msgspec.structs.replace
            if place in unknown:
                prompt, done = replaced(prompt, tokens=0), replaced(done, prompt_tokens=0)
            state.stages[0].prompt, state.stages[0].finished = prompt, done
        words = "\n".join(result_lines(results))
        assert "Differences" in words and "tokens" not in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "text", "other"),
    [
        (Answer("choice", "yes\nno"), "yes", "no"),
        (Answer("lark", 'start: "a" "\\n" "b" | "c"'), "a\nb", "c"),
        (Answer("schema", '{"type": "object"}'), '{"n": 1}', "{n=2}"),
    ],
)
def test_an_answer_of_any_kind_is_expected(open_page, qtbot, answer, text, other):
    page = open_page(PageId.COMPARE, lambda _name, **_options: ScriptedModel(text))
    page.context.project.set_options(constraint="off", answer=answer, notation="json")
    page.go_to(PromptsPlace())
    screen = Prompts(qtbot, page.widget)
    run_playground(qtbot, page)
    assert page.context.runs.state.outcome == "valid"
    assert answer.text[:3] in screen and "7 tools" not in screen, (
        "a prompt is described by its answer, not by tools"
    )
    page.context.project.prompt.set_system("Answer briefly.")
    screen.write(SEEDS, "1")
    screen.press("Answer of the run shown")
    screen.run()
    assert "A: 1 of 1" in screen and "as expected" in screen
    screen.write(EXPECTED, other)
    screen.run()
    assert "A: 0 of 1" in screen and screen.rows(TABLE)[0][1].startswith("✕ ")
