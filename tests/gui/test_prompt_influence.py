"""The influence of a prompt's parts: a heat map and a list, computed with the open model between runs."""

from threading import Event
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QRect, Qt

from glyphscope.models.interface import Cancelled, PromptProgress
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.shared.table_model import LINES_ROLE
from scoring_model import ScoringModel

CALL = '{action="search" query="AI news" max_results=10}'
EXAMPLE = '{action="browse" url="https://example.com"}'
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(open_playground, qtbot, screen_of):
    """A function that shows the playground after a run of the model."""

    def show(model):
        page = open_playground(lambda _name, **_options: model)
        with qtbot.waitSignal(page.context.runs.ended):
            page.run()
        for name in ("influence", "pairs"):
            page.evidence.sections[name].button.click()
        view = page.evidence.influence
        return SimpleNamespace(page=page, context=page.context, screen=screen_of(page.evidence), view=view)

    return show


def parts_of(view):
    """The rows of the list: the part, what is known of it, and its change."""
    lines = [view.model.index(row, 0).data(LINES_ROLE) for row in range(view.model.rowCount())]
    return [(first.words, second.words, second.beside) for first, second in lines]


def explained(shown, qtbot):
    shown.screen.press("Explain")
    qtbot.waitUntil(lambda: shown.view.model.ablation is not None)


def test_the_parts_that_decided_are_listed_and_coloured(panel, qtbot):
    shown = panel(ScoringModel(CALL, {EXAMPLE: 0.7}))
    screen, view = shown.screen, shown.view
    screen.choose("Choice to explain", "Tool search")
    explained(shown, qtbot)
    rows = parts_of(view)
    assert {rows[0][0], rows[1][0]} == {"tool browse", "example of browse"}
    assert rows[0][1].endswith("% without it") and rows[0][2].startswith("-")
    assert "falls from" in view.detail.text() and "the whole prompt" in view.words.text()
    text = view.heat.toPlainText()
    assert {text[start:end].strip() for start, end, *_ in view.heat._heat} >= {EXAMPLE}
    # a place in the text selects the smallest part there, and a part marks its text
    view.heat.placeChosen.emit(text.index(EXAMPLE))
    assert view.model.row(view.list.currentIndex().row()).omission.kind == "example"
    assert [text[start:end].strip() for start, end in view.heat._spans] == [EXAMPLE]
    view.heat.mark(())
    qtbot.mouseClick(view.list.viewport(), LEFT, pos=view.list.visualRect(view.list.currentIndex()).center())
    assert [text[start:end].strip() for start, end in view.heat._spans] == [EXAMPLE]


def test_the_kinds_of_parts_and_the_budget_are_chosen(panel, qtbot):
    shown = panel(ScoringModel(CALL, {EXAMPLE: 0.7}))
    screen, view = shown.screen, shown.view
    for kind in ("Tools", "Descriptions", "Messages", "Sentences"):
        screen.press(f"Leave out: {kind}")
    explained(shown, qtbot)
    assert {effect.omission.kind for effect in view.model.rows} == {"example"} and "≈" not in str(
        parts_of(view)
    )
    screen.press("Leave out: Sentences", "Leave out: Examples")
    screen.choose("Budget", "1.5 times the prompt")
    view.model.show_ablation(None)
    explained(shown, qtbot)
    found = view.model.ablation
    assert {effect.omission.kind for effect in found.effects} == {"sentence"}
    assert found.evaluated <= 1.5 * found.tokens and any(
        words.startswith("≈") for _, words, _ in parts_of(view)
    )
    assert not any(estimated for *_, estimated in view.heat._heat)  # no sentence of them changes anything
    screen.press("Leave out: Sentences")
    assert not screen.can("Explain")


def test_prompt_and_list_are_visible_together_in_a_small_window(panel, qtbot):
    shown = panel(ScoringModel(CALL, {EXAMPLE: 0.7}))
    evidence = shown.page.evidence
    evidence.resize(300, 520)
    evidence.show()
    explained(shown, qtbot)
    visible = evidence.viewport()
    for part in (shown.view.heat, shown.view.list):
        qtbot.waitUntil(
            lambda part=part: visible.rect().contains(QRect(part.mapTo(visible, QPoint()), part.size()))
        )


def test_the_tools_of_the_run_are_compared_two_at_a_time(panel, qtbot):
    model = ScoringModel(CALL, {"Search the web": 0.4})
    model.present = {"browse(": 1.0}
    shown = panel(model)
    pairs = shown.page.evidence.tool_pairs
    shown.screen.press("Compare tools")
    qtbot.waitUntil(lambda: "compared" in pairs.words.text())
    first = pairs.model.rows[0]
    assert (first.called, first.other) == ("search", "browse") and first.is_confused
    assert (
        pairs.model.rowCount() == 6
        and "6 pairs compared. Confused, of all that are listed: 1." in pairs.words.text()
    )
    assert "Separated by: description of search" in pairs.detail.text()
    with qtbot.waitSignal(shown.context.runs.ended):
        shown.context.runs.run(shown.context.project.next_run())
    shown.screen.press("Compare tools")
    qtbot.waitUntil(lambda: "compared" in pairs.words.text())
    assert pairs.model.rowCount() == 6  # those of the same prompt are replaced


def test_a_field_a_token_and_the_answer_can_be_chosen(panel):
    view = panel(ScoringModel(CALL, {})).view
    names = [view.choices.itemText(index) for index in range(view.choices.count())]
    assert names[:2] == ["Tool search", "Field action"] and {
        "Field query",
        "Whole answer",
        "Token 0: {",
    } <= set(names)


def test_a_selected_token_is_the_choice(panel):
    shown = panel(ScoringModel(CALL, {}))
    shown.page.view.tokens.choose(4)
    assert shown.view.choices.currentText().startswith("Token 4: ")
    assert shown.view.choices.currentData().first == 4


def test_a_model_that_cannot_score_says_so(panel, qtbot):
    shown = panel(ScriptedModel(CALL))
    shown.screen.press("Explain")
    qtbot.waitUntil(lambda: "cannot score a given text" in shown.view.words.text())
    controls = shown.view.controls
    assert controls.start_button.isVisible() and not controls.bar.isVisible()


def test_stop_ends_with_the_parts_so_far_and_a_run_clears_them(panel, qtbot):
    model = ScoringModel(CALL, {})
    shown = panel(model)
    scored = model.scored
    generate = model.generate

    def slowly(request):
        if len(scored) == 5:
            shown.context.runs.queries.stop_scoring()
        yield from generate(request)

    model.generate = slowly
    explained(shown, qtbot)
    found = shown.view.model.ablation
    assert not found.complete and any(effect.score is not None for effect in found.effects)
    assert "Only estimated" in shown.view.cost.text()
    with qtbot.waitSignal(shown.context.runs.ended):
        shown.context.runs.run(shown.context.project.next_run())
    assert shown.view.model.rowCount() == 0 and shown.screen.can("Explain")


class SlowModel(ScoringModel):
    """Evaluates the fifth prompt until it is cancelled, as llama.cpp is in the middle of a batch."""

    def __init__(self):
        super().__init__(CALL, {})
        self.evaluates, self.cancelled = Event(), Event()

    def cancel(self):
        self.cancelled.set()
        super().cancel()

    def generate(self, request):
        if len(self.scored) == 5:
            self.cancelled.clear()
            self.evaluates.set()
            yield PromptProgress(0, 100, 0.0)
            assert self.cancelled.wait(20)
            yield Cancelled()
            return
        yield from super().generate(request)


def test_stop_ends_the_prompt_that_is_evaluated(panel, qtbot):
    model = SlowModel()
    shown = panel(model)
    shown.screen.press("Explain")
    qtbot.waitUntil(model.evaluates.is_set)
    shown.screen.press("Stop")
    qtbot.waitUntil(lambda: shown.view.model.ablation is not None)
    assert model.cancelled.is_set() and not shown.view.model.ablation.complete
    assert not shown.view.controls.bar.isVisible()


def test_the_window_closes_while_a_prompt_is_evaluated(open_window, qtbot, screen_of):
    model = SlowModel()
    window = open_window(lambda _name, **_options: model)
    page = window.navigator.page
    with qtbot.waitSignal(window.runs.ended):
        page.run()
    page.evidence.sections["influence"].button.click()
    screen_of(page.evidence).press("Explain")
    qtbot.waitUntil(model.evaluates.is_set)
    window.close()
    qtbot.waitUntil(model.cancelled.is_set)


def test_a_strategy_whose_prompt_cannot_be_explained_says_so_before(panel, qtbot):
    shown = panel(ScoringModel(CALL, {}))
    project = shown.context.project
    project.set_options(strategy="two-stage")
    with qtbot.waitSignal(shown.context.runs.ended):
        shown.context.runs.run(project.next_run())
    assert "The strategy two-stage makes another prompt for each part" in shown.view.words.text()
    assert not shown.screen.can("Explain") and not shown.screen.can("Compare tools")
