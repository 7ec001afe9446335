"""What the pictures of the grammar page show: the tools' grammar, and a text with mistakes."""

from __future__ import annotations

from PySide6.QtCore import QEventLoop, QTimer

from glyphscope.sessions import GrammarExample
from glyphscope_gui.grammar.presenter import PAGE
from glyphscope_gui.shell.main_window import MainWindow

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


def show_tools_grammar(window: MainWindow) -> None:
    """The grammar of the tools, at the rule of an argument with bounds."""
    window.pages.show(PAGE)
    _pause()
    window.parts.project.grammar.set_examples(EXAMPLES)
    page = window.grammar_page
    page.step.set_text(STEP)
    page.step.slider.setValue(46)
    origins = window.grammar.bench.origins.items()
    rules = [rule for rule, origin in origins if origin.pointer == "/properties/max_results"]
    page.edit.go_to_rule(rules[0] if rules else "root")


def show_mistakes(window: MainWindow) -> None:
    """A text with three planted mistakes."""
    window.pages.show(PAGE)
    window.parts.project.grammar.open_text(MISTAKES, "call.gbnf")
    window.parts.project.grammar.set_examples(EXAMPLES)
    _pause()
    window.grammar_page.edit.go_to_rule("search")
    window.grammar_page.step.set_text(STEP)


def _pause() -> None:
    loop = QEventLoop()
    QTimer.singleShot(1500, loop.quit)
    loop.exec()
