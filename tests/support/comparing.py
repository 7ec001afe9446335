"""Models and shorthands for the tests of comparisons."""

from __future__ import annotations

import threading
import time

from glyphscope.models import ScriptedModel
from glyphscope_gui.compare import OWN

GLYPH = '{action="search" query="AI news" max_results=10}'


BROKEN = '{action="search" query="AI news" max_results=500}'


JSON = '{"action": "search", "query": "AI news", "max_results": 5}'


NAMES = (
    "comparePage",
    "compareRunButton",
    "compareStopButton",
    "comparePromptEdit",
    "comparePresets",
    "compareColumns",
    "compareFields",
)


class Answers(ScriptedModel):
    """Answers in the notation of the request, and records the requests; slowly, or up to the `gate`, if it is to
    be stopped."""

    def __init__(self, glyph=GLYPH, json=JSON, seconds=0.0, *, gated=False, **options):
        super().__init__(**options)
        self.scripts = {"glyph": glyph, "json": json}
        self.seconds = seconds
        self.gate = threading.Event()
        if not gated:
            self.gate.set()
        self.asked = []

    def generate(self, request):
        self.asked.append(request)
        script = self.scripts["json" if '{"action"' in request.prompt else "glyph"]
        if isinstance(script, Exception):
            raise script
        self._turns = [[piece.encode() for piece in script]]
        for place, item in enumerate(super().generate(request)):
            if place == 30:
                self.gate.wait(10)
            time.sleep(self.seconds)
            yield item


def opens(model):
    def opener(_name, **_options):
        if isinstance(model, Exception):
            raise model
        return model

    return opener


def arrange(page, *variants):
    page.comparison.arrange(variants)
    page.columns.preset = OWN


def run_all(qtbot, page):
    with qtbot.waitSignal(page.comparison.runningChanged, check_params_cb=lambda on: not on):
        page.view.run_button.click()
    return page.comparison.columns


def pills(page):
    count = len(page.comparison.columns)
    return [column.pill.words for column in page.view.columns[:count]]


def table(page):
    model = page.view.fields_model
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def variant(**settings):
    """The settings of a column: the mask in GLYPH, with these instead."""
    usual = {"notation": "glyph", "shape": "flat", "constraint": "mask", "strategy": "direct"}
    return {**usual, "constrain_from": "reasoning", **settings}


GLYPH_OFF = variant(constraint="off")


JSON_OFF = variant(notation="json", constraint="off")


NATIVE_OFF = variant(notation="native", constraint="off")
