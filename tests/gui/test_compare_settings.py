"""Columns with their own model, sampling and prompts: their requests, their order, and their cost."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QScrollArea

from comparing import GLYPH, GLYPH_OFF, Answers, arrange, pills, run_all, variant
from fake_context import scripted
from glyphscope.base.errors import ModelError
from glyphscope_gui.compare import (
    BRIEF,
    OWN,
    PICKED,
    TEMPERATURES,
    column_request,
    next_variant,
    variant_names,
)
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.theme import ThemeManager, theme


def off(**changes):
    return {**GLYPH_OFF, **changes}


def changes(variant):
    return {name: value for name, value in variant.items() if name not in PICKED}


class Models:
    """Opens a model for each name, and records the order and the number of models open at the same time."""

    def __init__(self, broken=()):
        self.broken, self.opened, self.open = broken, [], set()

    def __call__(self, name, **_options):
        if name in self.broken:
            raise ModelError(f"There is no {name}.")
        assert not self.open, "two models in memory"
        self.opened.append(name)
        self.open.add(name)
        model = Answers(GLYPH if name != "scripted:b" else GLYPH.replace("10", "15"))
        close = model.close
        model.close = lambda: (close(), self.open.discard(name))
        return model


@pytest.fixture
def make(open_page):
    def build(opener=None, **looks):
        page = open_page(PageId.COMPARE, opener or (lambda _name, **_options: Answers()), **looks)
        page.context.project.set_options(constraint="off", model="scripted:a")
        return page

    return build


def choose(page, key):
    presets = page.view.presets
    presets.setCurrentIndex(presets.findData(key))
    presets.activated.emit(presets.currentIndex())


def test_a_column_sends_its_own_settings_and_the_playgrounds_for_the_rest(make):
    page = make()
    page.context.project.set_options(max_tokens=99)
    base = page.context.project.next_request()
    changed = off(prompt="Find cats", temperature=0.5, model="scripted:b", system_prompt="Be brief.")
    request = column_request(changed, base).request
    assert (request.prompt, request.model, request.system_prompt) == ("Find cats", "scripted:b", "Be brief.")
    assert request.sampling.temperature == 0.5 and request.sampling.top_k == base.request.sampling.top_k
    assert request.max_tokens == 99 and not request.dispatch
    assert column_request(off(), base).request.prompt == base.request.prompt


def test_names_are_the_changes_that_differ():
    warm = [off(temperature=value) for value in (0.0, 0.7)]
    assert variant_names(warm) == ["temperature 0", "temperature 0.7"]
    assert variant_names([off(), off(top_k=5)]) == ["as the playground", "top-k 5"]
    both = [off(), variant(temperature=0.7, top_k=5)]
    assert variant_names(both) == ["no constraint", "mask, temperature 0.7, top-k 5"]
    models = [off(model=f"/m/Qwen-{quant}.gguf") for quant in ("Q4_K_M", "Q8_0")]
    assert variant_names(models) == ["Qwen Q4_K_M", "Qwen Q8_0"]
    prompts = [off(system_prompt=""), off(system_prompt="x " * 40)]
    assert variant_names(prompts) == ["no system prompt", "system prompt “x x x x x x x x x x x x…”"]
    assert changes(next_variant(warm)) == {"temperature": 1.0}


@pytest.mark.slow
def test_the_presets_of_temperatures_and_prompts_bring_their_columns(make, qtbot):
    page = make()
    choose(page, "temperatures")
    assert [v["temperature"] for v in page.comparison.variants] == list(TEMPERATURES)
    assert "temperature" not in page.view.facts.text() and "seed 1" in page.view.facts.text()
    columns = run_all(qtbot, page)
    sent = [column.state.started.request.sampling.temperature for column in columns]
    assert sent == list(TEMPERATURES) and pills(page) == ["✓ valid"] * 3
    choose(page, "prompts")
    assert [v["system_prompt"] for v in page.comparison.variants] == ["", BRIEF]
    page.context.project.prompt.set_system_prompt("You are terse.")
    choose(page, "prompts")
    assert [v["system_prompt"] for v in page.comparison.variants] == ["You are terse.", ""]


@pytest.mark.slow
def test_columns_of_one_model_run_together_and_one_model_is_in_memory(make, qtbot):
    models = Models()
    page = make(models)
    arrange(page, *(off(model=f"scripted:{name}") for name in "abab"))
    assert "2 models" in page.view.turn.text() and "only one is in memory" in page.view.turn.text()
    before = len(models.opened)
    columns = run_all(qtbot, page)
    assert models.opened[before : before + 2] == ["scripted:a", "scripted:b"]
    assert [column.state.call.arguments["max_results"] for column in columns] == [10, 15, 10, 15]
    qtbot.waitUntil(lambda: page.context.runs.model.name == "scripted:a")
    assert models.opened[-1] == "scripted:a", "the playground's model is opened again"
    qtbot.waitUntil(lambda: page.context.runs.model.phase == "ready")


@pytest.mark.slow
def test_a_model_that_cannot_be_opened_fails_its_column_and_the_others_run(make, qtbot):
    page = make(Models(broken=("scripted:b",)))
    arrange(page, *(off(model=f"scripted:{name}") for name in "bab"))
    columns = run_all(qtbot, page)
    assert pills(page) == ["✕ failed", "✓ valid", "not run"]
    assert "no scripted:b" in columns[2].why
    qtbot.waitUntil(lambda: page.context.runs.model.phase == "ready")


@pytest.mark.slow
def test_recent_models_are_columns_of_the_models_preset(make, qtbot):
    page = make()
    settings = page.context.settings
    settings.replace(settings.value.with_recent_model("scripted:c").with_recent_model("scripted:b"))
    choose(page, "models")
    names = [variant["model"] for variant in page.comparison.variants]
    assert names[:3] == ["scripted:a", "scripted:b", "scripted:c"]
    with qtbot.waitSignal(page.columns.models.found, raising=False, timeout=2000):
        pass
    assert page.view.presets.currentData() == "models"


@pytest.mark.slow
@pytest.mark.qt_log_ignore("This plugin does not support")
def test_every_popup_of_settings_has_a_border_in_the_dark_theme(open_window, qtbot):
    window = open_window(scripted, theme="dark")
    window.navigator.show(PageId.COMPARE)
    compared = window.page(PageId.COMPARE)
    compared.view.columns[0].settings_button.click()
    for popup in (compared.view.settings, window.header.sampling, window.header.settings):
        popup.show()
        picture = popup.grab().toImage()
        assert picture.pixelColor(0, picture.height() // 2) == theme().color("border-strong")
        popup.close()


@pytest.mark.slow
@pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True)
def test_the_settings_of_a_column_are_edited_in_its_popup(make, qtbot):
    page = make()
    view, comparison = page.view, page.comparison
    view.columns[1].settings_button.click()
    settings = view.settings
    assert settings.isVisible() and settings.title.text() == "Column 2"
    assert settings.fields["temperature"].value() == 0 and settings.model.currentData() == "scripted:a"
    settings.fields["temperature"].setValue(0.9)
    settings.fields["prompt"].setPlainText("Find cats")
    assert changes(comparison.variants[1]) == {"temperature": 0.9, "prompt": "Find cats"}
    assert changes(comparison.variants[0]) == {} and view.presets.currentData() == OWN
    assert "temperature 0.9, “Find cats”" in view.columns[1].settings_button.toolTip()
    settings.fields["stop"].setPlainText("x\\n")
    assert comparison.variants[1]["stop"] == ("x\n",)
    settings.reset_button.click()
    assert changes(comparison.variants[1]) == {} and settings.fields["temperature"].value() == 0
    assert "As in the playground" in view.columns[1].settings_button.toolTip()
    settings.close()


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_settings_of_a_column_scroll_only_where_the_screen_has_no_room(make, qapp, qtbot):
    page = make()
    ThemeManager(qapp, "light", parent=page.widget)
    popup = page.view.settings
    popup.fields["prompt"].setPlainText("Search for llamas.\n" * 4)
    popup.show_below(page.view.presets)
    bar = popup.findChild(QScrollArea).verticalScrollBar()
    qtbot.waitUntil(lambda: not bar.isVisible() and not bar.maximum())
    popup.hide()
