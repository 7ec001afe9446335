"""The influence of a prompt's parts: a heat map and a list, computed with the open model between runs."""

from types import SimpleNamespace

import pytest

from glyphscope.models import ScriptedModel
from scoring_model import ScoringModel

CALL = '{action="search" query="AI news" max_results=10}'
EXAMPLE = '{action="browse" url="https://example.com"}'


@pytest.fixture
def panel(open_playground, qtbot, screen_of):
    """A function that shows the playground after a run of the model."""

    def show(model):
        page = open_playground(lambda _name, **_options: model)
        with qtbot.waitSignal(page.context.runs.ended):
            page.run()
        view = page.evidence.influence
        return SimpleNamespace(page=page, context=page.context, screen=screen_of(page.evidence), view=view)

    return show


def test_the_parts_that_decided_are_listed_and_coloured(panel, qtbot):
    shown = panel(ScoringModel(CALL, {EXAMPLE: 0.7}))
    screen, view = shown.screen, shown.view
    screen.choose("Choice to explain", "Tool search")
    screen.press("Explain")
    qtbot.waitUntil(lambda: view.model.ablation is not None)
    rows = [
        [view.model.index(row, column).data() for column in range(3)] for row in range(view.model.rowCount())
    ]
    assert {rows[0][0], rows[1][0]} == {"tool browse", "example of browse"}
    assert rows[0][2].startswith("-")
    assert "falls from" in view.detail.text() and "the whole prompt" in view.words.text()
    text = view.heat.toPlainText()
    assert {text[start:end].strip() for start, end, _ in view.heat._heat} >= {EXAMPLE}
    # a place in the text selects the smallest part there, and a part marks its text
    view.heat.placeChosen.emit(text.index(EXAMPLE))
    assert view.model.row(view.table.currentIndex().row()).omission.kind == "example"
    assert [text[start:end].strip() for start, end in view.heat._spans] == [EXAMPLE]


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
    assert shown.view.explain_button.isVisible() and not shown.view.bar.isVisible()


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
    shown.screen.press("Explain")
    qtbot.waitUntil(lambda: shown.view.model.ablation is not None)
    found = shown.view.model.ablation
    assert not found.complete and any(effect.score is not None for effect in found.effects)
    assert "Only estimated" in shown.view.cost.text()
    with qtbot.waitSignal(shown.context.runs.ended):
        shown.context.runs.run(shown.context.project.next_run())
    assert shown.view.model.rowCount() == 0 and shown.view.explain_button.isEnabled()
