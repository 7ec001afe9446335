"""The grammar page's parts by themselves: positions, diagrams, examples, jobs, origins."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QPushButton

from glyphscope.explain.grammar_origins import constraint_words, rule_origin, rules_by_argument
from glyphscope.explain.proof import Proof
from glyphscope.grammar.gbnf import CheckCancelled, read_gbnf
from glyphscope.grammar.generate.sample import short_samples
from glyphscope.grammar.languages import GBNF
from glyphscope.grammar.line_lexer import LEXERS
from glyphscope.grammar.tree import Origin
from glyphscope.registry import default_registry
from glyphscope.store import GrammarExample
from glyphscope_gui.enforcement.rows import EnforcementRows
from glyphscope_gui.enforcement.table import EnforcementModel
from glyphscope_gui.grammar import work as grammar_work
from glyphscope_gui.grammar import workbench
from glyphscope_gui.grammar.examples import GrammarExamplesModel
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.problems import GrammarProblem, TextPositions
from glyphscope_gui.grammar.railroad_drawing import MAX_ITEMS, draw_rule
from glyphscope_gui.grammar.work import Checked, ExampleVerdict, summary_words
from glyphscope_gui.project import GrammarDocument, RegistryDocument
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.table_model import PILL_ROLE
from glyphscope_gui.theme import load_theme
from whole_grammars import WHOLE_GRAMMARS


@pytest.fixture
def view(qtbot):
    """The view of the page, without a presenter; its parts are shown as windows."""
    page = GrammarPage(GrammarExamplesModel(GrammarDocument()))
    qtbot.addWidget(page)
    return page


def by_itself(part, width, height):
    part.setParent(None)
    part.resize(width, height)
    return part


def test_fixing_a_problem_leaves_the_next_fix_under_the_pointer(view, qtbot, monkeypatch):
    table = by_itself(view.diagnostics, 500, 200)
    qtbot.addWidget(table)
    table.set_room(2_000)
    problems = [
        GrammarProblem("error", "unclosed-literal", "not closed", n, 1, n, n, "close it") for n in range(4)
    ]
    table.show_problems(problems)
    table.show()
    height, place = table.height(), table.visualRect(table.model().index(0, 2))
    monkeypatch.setattr(table, "underMouse", lambda: True)
    table.show_problems(problems[1:])
    assert table.height() == height and table.visualRect(table.model().index(0, 2)) == place
    monkeypatch.undo()
    table.leaveEvent(QEvent(QEvent.Type.Leave))
    assert table.height() < height


def drawing(text, theme="light"):
    return draw_rule(read_gbnf(text).rules[0], load_theme(theme).roles, "monospace")


@given(st.text(alphabet="a\n😀é", max_size=40))
def test_positions_of_a_document_and_of_a_text_are_converted(text):
    places = TextPositions(text)
    for place in range(len(text) + 1):
        position = len(text[:place].encode("utf-16-le")) // 2
        assert places.in_qt(place) == position
        assert places.from_qt(position) == place
        line, column = places.line_column(place)
        assert (line, column) == (
            text.count("\n", 0, place) + 1,
            place - (text.rfind("\n", 0, place) + 1) + 1,
        )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("[0-9a-f]", "0-9 a-f"),
        (r'[^"\\]', 'any character but " \\'),
        (r"[^\x00-\x1F]", "any character but controls"),
        (r"[\x20-\x21\x23-\U0010FFFF]", 'any character but controls "'),
        ("[^]", "any character"),
        ("[]", "no character"),
        ("[a-b]", "a b"),
        (r'" a\n"', r"·a\n"),
    ],
)
def test_a_class_and_a_text_are_described_in_their_box(body, said):
    assert [box.words for box in drawing(f"root ::= {body}").boxes] == [said]


# -- diagrams ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "text",
    [
        'root ::= "a" b [0-9]+ | c{2,5} | ("x" d)? . !<[5]> <think>',
        "root ::=",
        'root ::= "<&\\"\\u0001é😀"',
        "root ::= [^\\x00-\\x1f] [z-a] []",
        'root ::= "a"{0} "b"{3} "c"{2,} "d"{,4}',
    ],
)
def test_a_diagram_is_an_svg_that_qt_can_draw(qapp, text, theme):
    drawn = drawing(text, theme)
    assert QSvgRenderer(drawn.svg).isValid()
    assert all(box.x >= 0 and box.x + box.width <= drawn.width for box in drawn.boxes)
    assert all(box.y >= 0 and box.y + box.height <= drawn.height for box in drawn.boxes)


@pytest.mark.parametrize(
    "text",
    [
        "root ::= " + "(" * 5000 + '"a"' + ")" * 5000,
        "root ::= " + " | ".join(f'"{n}"' for n in range(5000)),
        "root ::= " + " ".join(f"r{n}" for n in range(5000)),
        "root ::= " + '("a" | ' * 1000 + '"b"' + ")" * 1000,
        'root ::= "' + "x" * 100_000 + '"',
    ],
)
def test_a_large_rule_is_drawn_in_part(qapp, text):
    drawn = drawing(text)
    assert len(drawn.boxes) <= MAX_ITEMS + 40
    assert drawn.width < 3000
    assert QSvgRenderer(drawn.svg).isValid()


def test_omitted_items_of_a_diagram_are_counted(qapp):
    drawn = drawing("root ::= " + " | ".join(f'"{n}"' for n in range(100)))
    shown = [box for box in drawn.boxes if box.words != "…"]
    assert len(shown) + drawn.left_out == 100
    assert any("more, not drawn" in box.tip for box in drawn.boxes)


def test_buttons_of_a_diagram_cover_none_of_it(view, qtbot):
    railroad = by_itself(view.railroad, 220, 120)
    qtbot.addWidget(railroad)
    railroad.show()
    railroad.show_drawing(drawing("root ::= " + " | ".join(f'"call-{number}"' for number in range(9))))
    top = railroad.findChild(QPushButton).mapTo(railroad, QPoint(0, 0)).y()
    assert railroad.viewport().geometry().bottom() < top < railroad.height()


def test_texts_wrap_beside_a_scroll_bar(view, qtbot):
    texts = by_itself(view.samples, 280, 100)
    qtbot.addWidget(texts)
    texts.show()
    for count in (1, 8):
        texts.show_rows([("", "a text that is wider than there is room")] * count)
        qtbot.waitUntil(lambda count=count: texts.table.verticalScrollBar().isVisible() is (count > 1))
    assert texts.table.columnWidth(1) == texts.table.viewport().width()


def test_a_diagram_grows_with_the_text(view, qtbot):
    view = by_itself(view.railroad, 900, 400)
    qtbot.addWidget(view)
    view.show()
    view.show_drawing(drawing('root ::= "a" other'))
    before, width = view.zoom, view.widget().width()
    font = view.font()
    font.setPointSizeF(1.5 * font.pointSizeF())
    view.setFont(font)
    assert view.zoom == pytest.approx(1.5 * before, rel=0.12)
    assert view.widget().width() == pytest.approx(width * view.zoom / before, rel=0.01)


def test_a_diagram_zooms_and_is_saved(view, qtbot, tmp_path):
    view = by_itself(view.railroad, 400, 200)
    qtbot.addWidget(view)
    view.show()
    view.show_drawing(drawing('root ::= "a" other'))
    before = view.zoom
    qtbot.keyClick(view, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    assert view.zoom == pytest.approx(before * 1.2)
    box = view.drawing.boxes[1]
    assert [other.words for other in view.drawing.boxes] == ["a", "other"]
    place = QPointF((box.x + box.width / 2) * view.zoom, (box.y + box.height / 2) * view.zoom)
    assert view.box_at(place) == box
    with qtbot.waitSignal(view.ruleChosen) as chosen:
        qtbot.mouseClick(view.widget(), Qt.MouseButton.LeftButton, pos=place.toPoint())
    assert chosen.args == ["other"]
    view.save(tmp_path / "a.svg")
    view.save(tmp_path / "a.png")
    assert (tmp_path / "a.svg").read_bytes() == view.drawing.svg
    assert QImage(str(tmp_path / "a.png")).width() == round(view.drawing.width * 2)
    failures = []
    view.failed.connect(failures.append)
    view.save(tmp_path)
    assert failures


# -- documents and words for people -----------------------------------------------------------------------------


ACCEPTED = ExampleVerdict(True, None, 2, ())
FAILING = ExampleVerdict(False, 1, 2, ('"x"', "0-9", "end of text"))
SHORT = ExampleVerdict(False, None, 2, ('"x"',))


@pytest.mark.parametrize(
    ("matches", "verdict", "pill"),
    [
        (True, ACCEPTED, ("✓", "holds")),
        (False, ACCEPTED, ("✕ is accepted", "impossible")),
        (True, FAILING, ('✕ rejected at 1: "x" or 0-9 …', "impossible")),
        (False, FAILING, ("✓ rejected at 1, as expected", "holds")),
        (True, SHORT, ('✕ incomplete: "x"', "impossible")),
        (False, SHORT, ("✓ incomplete, as expected", "holds")),
        (True, None, None),
    ],
)
def test_the_result_of_an_example_is_described(qapp, matches, verdict, pill):
    document = GrammarDocument()
    model = GrammarExamplesModel(document)
    document.set_examples((GrammarExample("ab", matches=matches),))
    model.show_verdicts({} if verdict is None else {"ab": verdict})
    cell = model.index(0, 2)
    assert cell.data(PILL_ROLE) == pill
    said = "Not checked" if pill is None else "Pass: " if pill[1] == "holds" else "Fail: "
    assert cell.data(Qt.ItemDataRole.AccessibleTextRole).startswith(said)


def test_the_origin_of_a_rule_is_described():
    registry = default_registry()
    found = rule_origin(registry, Origin("search", "/properties/max_results"))
    assert found == (
        "search",
        "max_results",
        "minimum 1, maximum 100",
        "search · max_results · minimum 1, maximum 100",
    )
    assert rule_origin(registry, Origin("search", "")).words == "search"
    inner = rule_origin(registry, Origin("search", "/properties/sources/items"))
    assert (inner.argument, inner.words) == ("sources", "search · sources · items · string")
    gone = rule_origin(registry, Origin("gone", "/properties/a~1b"))
    assert gone.words == "gone · a/b"
    assert constraint_words({"enum": ["x" * 99]}).endswith("…")
    origins = {
        "b": Origin("t", "/properties/a/items"),
        "a": Origin("t", "/properties/a"),
        "r": Origin("t", ""),
    }
    assert rules_by_argument(origins) == {("t", "a"): "a", ("t", None): "r"}


# -- checks -----------------------------------------------------------------------------------------------------


@pytest.fixture
def bench(qapp, monkeypatch):
    """A page's bench with a given text, and without the tools' grammar and the proof."""
    monkeypatch.setattr(grammar_work, "generate", lambda *_options: grammar_work.GeneratedExamples(""))
    monkeypatch.setattr(workbench, "prove", lambda *_options: None)
    owner, document = QObject(), GrammarDocument()
    document.open_text('root ::= "a"\n', "")
    bench = workbench.GrammarBench(document, RegistryDocument(default_registry()), owner)
    yield bench, document
    end_work(bench)


@pytest.mark.slow
def test_a_check_of_an_older_text_is_cancelled(bench, qtbot, monkeypatch):
    bench, document = bench
    begun, ended = [], []
    real = grammar_work.check

    def slow(text, language, cancel):
        begun.append(text)
        if len(begun) in (1, 3):  # a check that seems endless
            begins = time.monotonic()
            while not cancel() and time.monotonic() < begins + 20:
                time.sleep(0.001)
            ended.append(cancel())
            raise CheckCancelled("stopped")
        return real(text, language, cancel)

    monkeypatch.setattr(grammar_work, "check", slow)
    crashes = []
    bench.crashed.connect(crashes.append)
    bench.activate()
    qtbot.waitUntil(lambda: len(begun) == 1)
    document.open_text('root ::= "b"\n', "")
    qtbot.waitUntil(lambda: bench.last is not None)
    assert ended == [True] and bench.last.text == document.text
    document.open_text('root ::= "c"\n', "")
    qtbot.waitUntil(lambda: len(begun) == 3)
    end_work(bench)
    assert ended == [True, True] and not crashes


@pytest.mark.slow
def test_a_check_of_a_large_text_can_be_cancelled():
    text = "root ::= " + '"ab" [a-z] x ' * 20_000 + '\nx ::= "y"'
    asked = []

    def cancel():
        asked.append(True)
        return len(asked) == 20

    with pytest.raises(CheckCancelled):
        grammar_work.check(text, GBNF, cancel)
    assert len(asked) == 20
    assert grammar_work.check(text, GBNF, lambda: False).grammar is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE_GRAMMARS)
def test_every_place_of_a_sample_is_a_step_with_open_rules_and_what_is_expected(name):
    of = WHOLE_GRAMMARS[name]
    grammar = grammar_work.check(of.text, of.language, lambda: False).grammar
    for text in short_samples(grammar, 3, 0):
        steps = [grammar_work.step(grammar, text, at, lambda: False) for at in range(len(text) + 1)]
        assert all(step.rules and step.expected and step.alive and step.failed_at is None for step in steps)


def test_the_rows_of_proofs_grow_without_a_reset_and_name_their_tools():
    registry = default_registry()
    proofs = [
        Proof(
            tool="search",
            pointer=f"/properties/{name}/{keyword}",
            keyword=keyword,
            engine="mask",
            status="enforced",
        )
        for name, keyword in (("query", "minLength"), ("max_results", "minimum"), ("max_results", "maximum"))
    ]
    rows, model = EnforcementRows(registry), EnforcementModel()
    resets = []
    for count, proof in enumerate(proofs, 1):
        rows.add(proof)
        model.show(rows(), of_one_tool=False)
        assert model.rowCount() == count
        if count == 1:
            model.modelReset.connect(lambda: resets.append(1))
    assert not resets
    assert model.index(2, 0).data() == "search · max_results · maximum 100"
    model.show(rows())
    assert resets == [1] and model.index(2, 0).data() == "max_results · maximum 100"


@pytest.mark.parametrize(
    ("counts", "forms"),
    [
        ({"error": 2, "warning": 1}, ("9 rules, 2 errors, 1 warning", "2 errors, 1 warning", "2 errors")),
        ({"hint": 1}, ("9 rules, no errors, 1 hint", "no errors, 1 hint", "1 hint")),
        ({}, ("9 rules, no problems", "no problems", "9 rules")),
    ],
)
def test_the_summary_of_a_check_is_shortened_to_the_worst_that_it_found(counts, forms):
    checked = Checked("", (), counts, dict.fromkeys(map(str, range(9))), None, 0.004)
    assert summary_words(checked) == (f"{forms[0]}, checked in 4 ms", *forms)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ('start: "a//b"i /[^"]+/i // end', ["definition", "mark", "literal", "class", "comment"]),
        ("?x[lazy]: <think> %json", ["mark", "definition", "mark", "name", "mark", "mark", "token", "token"]),
        (
            'x: "a".."z" ~ 2 .. 3 y{1,2}',
            ["definition", "mark", "literal", "mark", "mark", "literal", "bounds", "name", "bounds"],
        ),
    ],
)
def test_the_words_of_lark_have_their_colours(line, kinds):
    assert [word.kind for word in LEXERS["Lark"].words(line)] == kinds
