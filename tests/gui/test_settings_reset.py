"""A setting can be reset by itself, in every form that is made of settings."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtWidgets import QToolButton, QWidget

from fake_context import scripted
from glyphscope.events import RunRequest, Sampling
from glyphscope_gui.run_settings.options import OPTIONS
from glyphscope_gui.run_settings.panel import OptionsPanel
from glyphscope_gui.shared.page_ids import PageId

WARM = Sampling(temperature=0.8, top_k=7, top_p=0.9, min_p=0.1, repeat_penalty=1.1, seed=3)


@pytest.fixture
def panel(qtbot):
    made = OptionsPanel()
    qtbot.addWidget(made)
    made.said = []
    made.optionsChosen.connect(made.said.append)
    made.show_options(RunRequest(prompt="", registry={}, sampling=WARM, max_tokens=99))
    made.groups.open("sampling.top_k")
    return made


def test_a_setting_can_be_reset_by_itself(panel):
    buttons = {button.accessibleName(): button for button in panel.findChildren(QToolButton)}
    shown = {name for name, button in buttons.items() if not button.isHidden()}
    assert shown == {
        "Reset “Temperature” to 0.0", "Reset “Seed” to 1",
        "Reset “Top-k” to 40", "Reset “Top-p” to 0.95", "Reset “Min-p” to 0.05", "Reset “Repeat penalty” to off",
        "Reset “Max tokens” to 512",
    }  # fmt: skip
    button, field = buttons["Reset “Top-k” to 40"], panel.groups.field("sampling.top_k")
    button.click()
    assert panel.said == [{"sampling": msgspec.structs.replace(WARM, top_k=40)}]
    assert field.value() == 40 and button.isHidden()
    field.setValue(3)
    assert not button.isHidden()


def test_every_field_of_a_setting_has_its_reset_beside_it(open_window, qtbot):
    window = open_window(scripted)
    window.header.panel.groups.open(*OPTIONS)
    evaluate = window.page(PageId.EVALUATE)
    window.navigator.show(PageId.EVALUATE)
    qtbot.waitUntil(lambda: not evaluate.making.is_busy)
    fields = [
        field
        for field in window.findChildren(QWidget)
        if isinstance(getattr(field, "reset", None), QToolButton)
    ]
    assert len(fields) > 30
    assert [field.reset.accessibleName() for field in fields if field.reset.parentWidget() is field] == []
