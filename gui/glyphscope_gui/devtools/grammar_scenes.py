"""What the pictures of the grammar page show: the tools' grammar, and a text with mistakes."""

from __future__ import annotations

from PySide6.QtCore import QEventLoop, QTimer

from glyphscope.sessions import GrammarExample
from glyphscope_gui.grammar.presenter import GrammarPresenter
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window

EXAMPLES = (
    GrammarExample('{action="search" query="AI news" max_results=10}'),
    GrammarExample('{action="search" query="AI news" max_results=101}', matches=False),
    GrammarExample('{action="search" max_results=5}'),
)
STEP = '{action="search" query="AI news" max_results=10}'
MISTAKES = r"""# A call of one of three tools, in GLYPH
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
    page = _shown(window)
    _pause()
    window.services.project.grammar.set_examples(EXAMPLES)
    page.view.step.set_text(STEP)
    page.view.step.slider.setValue(46)
    origins = page.bench.origins.items()
    rules = [rule for rule, origin in origins if origin.pointer == "/properties/max_results"]
    page.view.edit.go_to_rule(rules[0] if rules else "root")


def show_mistakes(window: Window) -> None:
    """A text with three planted mistakes."""
    page, document = _shown(window), window.services.project.grammar
    document.open_text(MISTAKES, "call.gbnf")
    document.set_examples(EXAMPLES)
    _pause()
    page.view.edit.go_to_rule("search")
    page.view.step.set_text(STEP)


def _shown(window: Window) -> GrammarPresenter:
    window.navigator.show(PageId.GRAMMAR)
    page = window.page(PageId.GRAMMAR)
    assert isinstance(page, GrammarPresenter)
    return page


def _pause() -> None:
    loop = QEventLoop()
    QTimer.singleShot(1500, loop.quit)
    loop.exec()
