"""The scenes of the screenshots: each `show_` function brings the window into a state worth a picture.

`screenshots.py` lists the pictures of the scenes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, Qt, QTimer

from glyphscope.base import resources
from glyphscope.lessons.library import find_lesson
from glyphscope.models.opening import embedded_path
from glyphscope.runs import reduce_event
from glyphscope.store import GrammarExample
from glyphscope_gui.compare.experiment import RunPhase
from glyphscope_gui.compare.presenter import ComparePresenter
from glyphscope_gui.compare.variants import PRESETS
from glyphscope_gui.grammar.presenter import GrammarPresenter
from glyphscope_gui.lessons.presenter import LessonsPresenter
from glyphscope_gui.lessons.run import LessonRun
from glyphscope_gui.playground.presenter import PlaygroundPresenter
from glyphscope_gui.prompt.dock import RENDERED
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.servers.presenter import ServersPresenter
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.shell import Window
from glyphscope_gui.template.presenter import TemplatePresenter

BRANCH = "search-relaxed.jsonl"
"""A branch of `search-mask.jsonl`: `glyphscope branch … --take 0 --relax search:/properties/max_results/minimum`."""


def show_masked(window: Window) -> None:
    """The `0` of `max_results`, masked by `minimum`."""
    page = window.page(PageId.PLAYGROUND)
    assert isinstance(page, PlaygroundPresenter)
    evidence = page.evidence
    for token in window.runs.state.tokens:
        for row, one in enumerate(token.step.alternatives):
            if one.text == "0" and one.allowed is False and not token.step.forced:
                page.view.tokens.choose(token.step.index)
                if row >= evidence.alternatives_model.rowCount():
                    evidence.all_button.click()
                evidence.alternatives.selectRow(row)
                return


def show_branch(window: Window) -> None:
    """The branch of the shown run, beside it in the tree."""
    window.runs.show_record(bundled_run(BRANCH))


RECORDS = ("search-mask.jsonl", "search-mask-json.jsonl")


def show_compare(window: Window) -> None:
    """Fill the columns from their records, so that nothing is run for the picture."""
    window.navigator.show(PageId.COMPARE)
    page = window.page(PageId.COMPARE)
    assert isinstance(page, ComparePresenter)
    comparison = page.comparison
    notation = next(preset for preset in PRESETS if preset.key == "notation")
    page.view.presetChosen.emit(notation.key)
    for place, name in enumerate(RECORDS):
        column, events = comparison.columns[place], bundled_run(name)
        column.phase = RunPhase.RUNNING
        comparison.changed.emit(place)
        column.events.extend(events)
        for event in events:
            reduce_event(column.state, event)
        comparison.grew.emit(place)
        column.phase = RunPhase.DONE
        comparison.changed.emit(place)


def show_evaluate(window: Window) -> None:
    """Only the setup, without an invented result."""
    window.navigator.show(PageId.EVALUATE)


EXAMPLES = (
    GrammarExample('{action="search" query="AI news" max_results=10}'),
    GrammarExample('{action="search" query="AI news" max_results=101}', matches=False),
    GrammarExample('{action="search" max_results=5}'),
)
STEP = '{action="search" query="AI news" max_results=10}'
STEP_AT = STEP.index("10}")
COMPUTED_MS = 1500
"""The time in which the page computes its answers for a text."""
PROBLEMS = r"""# A call of one of three tools, in GLYPH
root ::= "{action=" call "}"
call ::= search | calculate | browse
search ::= "\"search\" query=" text (" max_results=" max-results)?
max-results ::= [1-9] [0-9]? | "100"
calculate ::= "\"calculate\" expression=" text
browse ::= "\"browse\" url=" text
text ::= "\"" char+ "\""
char ::= [^"\\\x00-\x1f] | escape
year ::= [\d]{4}
"""


def show_tools_grammar(window: Window) -> None:
    """The grammar of the tools, at the rule of an argument with bounds."""
    page = _grammar_page(window)
    _pause(COMPUTED_MS)
    window.services.project.grammar.set_examples(EXAMPLES)
    page.view.step.set_text(STEP)
    page.view.step.slider.setValue(STEP_AT)
    origins = page.bench.origins.items()
    rules = [rule for rule, origin in origins if origin.pointer == "/properties/max_results"]
    page.view.edit.go_to_rule(rules[0] if rules else "root")


def show_problems(window: Window) -> None:
    """A text with three deliberate errors."""
    page, document = _grammar_page(window), window.services.project.grammar
    document.open_text(PROBLEMS, "call.gbnf")
    document.set_examples(EXAMPLES)
    _pause(COMPUTED_MS)
    page.view.edit.go_to_rule("search")
    page.view.step.set_text(STEP)


def _grammar_page(window: Window) -> GrammarPresenter:
    window.navigator.show(PageId.GRAMMAR)
    page = window.page(PageId.GRAMMAR)
    assert isinstance(page, GrammarPresenter)
    return page


def _pause(ms: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()


LESSON, SLIDE, TOKENS = "mask", 3, 7
"""The lesson, the number of its slide from 0, and the tokens of its run that are shown."""


def show_lesson(window: Window) -> None:
    """The run with the mask, after some tokens."""
    window.navigator.show(PageId.LESSONS)
    lessons = window.page(PageId.LESSONS)
    assert isinstance(lessons, LessonsPresenter)
    lessons.open(find_lesson(LESSON))
    while lessons.is_busy or lessons.opened is None:
        _pause(100)
    lessons.show_slide(SLIDE)
    _pause(300)
    run = lessons.view.findChild(LessonRun)
    assert run is not None
    for key in (Qt.Key.Key_Home, *[Qt.Key.Key_Right] * TOKENS):
        run.press(key, Qt.KeyboardModifier.NoModifier)


def show_first_turn(window: Window) -> None:
    """The first turn of a conversation, at its top."""
    page = window.page(PageId.PLAYGROUND)
    assert isinstance(page, PlaygroundPresenter)
    page.stages.choice.choose(0)
    _pause(300)
    page.view.stream.verticalScrollBar().setValue(0)


def show_prompt(window: Window) -> None:
    """The costs by tool, and the description of a tool in the text."""
    window.panels.reveal(PanelId.PROMPT)
    dock = window.panels.prompt
    dock.tabs.setCurrentIndex(RENDERED)
    costs = dock.costs_model
    if not costs.rowCount():
        loop = QEventLoop()
        window.prompts.watch.shown.connect(loop.quit)
        loop.exec()
    dock.costs.setExpanded(costs.index_of(("tools", "", False)), True)
    dock.costs.choose(costs.index_of(("tools", "/search/description", False)))


VERBS = {"command": "glyphscope", "args": ["mcp", "serve-verbs"]}
TIMEOUT_MS = 20_000
LOOK_MS = 100
"""The maximum wait of a scene for a server, and the time between two checks."""


def show_servers(window: Window) -> None:
    """A ready server, a second one that waits for consent, and the answer to a call."""
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ.get("PATH", "")
    presenter = window.page(PageId.SERVERS)
    assert isinstance(presenter, ServersPresenter)
    servers, view = window.services.servers, presenter.view
    window.navigator.show(PageId.SERVERS)
    servers.add("verbs", VERBS, allowed=True)
    servers.add("time", {"command": "uvx", "args": ["mcp-server-time"]}, allowed=False)
    view.list.choose("verbs")
    servers.start("verbs")
    _wait(lambda: view.tools.model.rowCount() > 0)
    if view.panel.tool is None:
        return
    view.panel.example_button.click()
    _wait(lambda: view.panel.form.arguments() != {} and view.panel.call_button.isEnabled())
    view.panel.call_button.click()
    _wait(lambda: view.panel.result.view is not None)


def _wait(until: Callable[[], bool]) -> None:
    waited = 0
    while not until() and waited < TIMEOUT_MS:
        _pause(LOOK_MS)
        waited += LOOK_MS


EXAMPLE = "forms/example.jinja"


def show_template(window: Window) -> None:
    """The template, with the slot of the arguments selected."""
    window.navigator.show(PageId.TEMPLATE)
    page = window.page(PageId.TEMPLATE)
    assert isinstance(page, TemplatePresenter)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "example.jinja")
        path.write_bytes(resources.read_bytes(EXAMPLE))
        page.open(path, embedded_path())
        while page.is_busy or page.found is None:
            _pause(100)
    page.view.slots.selectRow(next(n for n, slot in enumerate(page.found.slots) if slot.key == "arguments"))
    page.view.details.show_view("thinking")
