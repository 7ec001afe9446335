"""The problems of the next run's request: beside their fields, at Run, and in the notice after Run."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from glyphscope.models import ScriptedModel

pytestmark = pytest.mark.slow

GOOD = '{action="search" query="AI news" max_results=10}'
FAULTS = {"strategy": "two-stage", "free_text": True, "tool_choice": "sreach", "stop": ("x" * 300,)}
WORDS = ("exclude each other", "not one of the registry's", "at most 200 characters")


def child(window, name, kind=QWidget):
    return window.findChild(kind, name)


def test_three_problems_are_beside_their_fields_and_at_run_and_vanish_with_their_causes(open_window, qtbot):
    window = open_window(lambda _name, **_options: ScriptedModel(GOOD))
    project = window.services.project
    run_button = child(window, "runButton", QPushButton)
    usual = run_button.toolTip()
    project.set_options(**FAULTS)
    qtbot.waitUntil(lambda: all(words in run_button.accessibleDescription() for words in WORDS))
    assert all(words in run_button.toolTip() for words in WORDS)
    sampling, strategy = (child(window, name) for name in ("samplingButton", "strategySettingsButton"))
    assert WORDS[2] in sampling.toolTip() and sampling.property("refused")
    assert all(words in strategy.toolTip() for words in WORDS[:2])
    shown = [label.text() for label in child(window, "strategySettings").findChildren(QLabel)]
    assert any(WORDS[0] in text and WORDS[1] in text for text in shown)
    assert WORDS[1] in child(window, "toolChoicePicker").toolTip()
    assert "3 problem" in child(window, "statusMessage", QLabel).text()
    run_button.click()
    banners = window.findChildren(QWidget, "noticeBanner")
    qtbot.waitUntil(
        lambda: any(
            all(words in label.text() for words in WORDS)
            for banner in banners
            for label in banner.findChildren(QLabel)
        ),
        timeout=9000,
    )
    project.set_options(strategy="direct", free_text=False, tool_choice="required", stop=())
    qtbot.waitUntil(lambda: "problem" not in child(window, "statusMessage", QLabel).text())
    assert run_button.toolTip() == usual
    assert not sampling.property("refused") and WORDS[2] not in sampling.toolTip()


def test_a_native_notation_that_the_model_lacks_is_marked_at_the_notation(open_window, qtbot):
    window = open_window(lambda _name, **_options: ScriptedModel(GOOD))
    window.services.project.set_options(native="auto")
    picker = child(window, "notationPicker")
    qtbot.waitUntil(
        lambda: any("native notation" in each.toolTip() for each in picker.findChildren(QPushButton))
    )
