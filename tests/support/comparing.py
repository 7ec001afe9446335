"""Models and shorthands for the tests of comparisons."""

from __future__ import annotations

import threading
import time

from glyphscope.models.scripted import ScriptedModel
from on_screen import Screen

GLYPH = '{action="search" query="AI news" max_results=10}'
BROKEN = '{action="search" query="AI news" max_results=500}'
JSON = '{"action": "search", "query": "AI news", "max_results": 5}'
NOTATIONS = "What does the model write unconstrained?"
"""The question with a column in GLYPH, one in JSON, and one in the model's own notation, which the model lacks here."""


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


class Columns(Screen):
    """The columns of the compare page."""

    @property
    def titles(self):
        return [self.column(number).texts()[0][1:].strip() for number in range(1, self.count + 1)]

    @property
    def count(self):
        return len(self.named("Column "))

    @property
    def ends(self):
        """The words of each column's state."""
        return [self.column(number).texts()[1] for number in range(1, self.count + 1)]

    def column(self, number):
        return self.part(f"Column {number}")

    def text(self, number):
        """The model's text in that column."""
        return self.read(f"The text of column {number}")

    def ask(self, question, count=0):
        """Choose a question, and its first columns, if not all."""
        self.choose("Question", question)
        while count and self.count > count:
            self.press(f"Remove column {self.count}")

    def vary(self, setting):
        """Add a setting to the columns, or remove it."""
        menu = self.find("Vary").menu()
        menu.aboutToShow.emit()
        menus = (menu, *(action.menu() for action in menu.actions() if action.menu()))
        next(action for each in menus for action in each.actions() if action.text() == setting).trigger()

    def read_facts(self):
        """The line of what is the same in every column."""
        return next(words for words in self.texts() if words.startswith("The same in every column"))

    def run_all(self):
        self.press("Run all columns")
        self.until_can("Run all columns")


def variant(**settings):
    """The settings of a column: the mask in GLYPH, with these instead."""
    usual = {"notation": "glyph", "shape": "flat", "constraint": "mask", "strategy": "direct"}
    return {**usual, "constrain_from": "reasoning", **settings}
