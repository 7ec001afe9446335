"""The grammar page's parts by themselves: words of a line, positions, diagrams, jobs, origins."""

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
from glyphscope.grammar.gbnf import CheckCancelled, read_gbnf
from glyphscope.grammar.tree import Origin
from glyphscope.proof import Proof
from glyphscope.registry import default_registry
from glyphscope.sessions import GrammarExample, GrammarWork
from glyphscope_gui.enforcement import proving
from glyphscope_gui.enforcement.rows import EnforcementRows
from glyphscope_gui.enforcement.table import EnforcementModel
from glyphscope_gui.grammar import work as grammar_work
from glyphscope_gui.grammar.diagnostics import FIX, GrammarDiagnostics
from glyphscope_gui.grammar.examples import ExampleVerdict, result_pill, result_words
from glyphscope_gui.grammar.line_lexer import (
    break_long_lines,
    find_definition,
    is_name,
    name_at,
    occurrences,
    words,
)
from glyphscope_gui.grammar.page import GrammarTexts
from glyphscope_gui.grammar.problems import GrammarProblem, TextPositions
from glyphscope_gui.grammar.railroad_drawing import (
    MAX_ITEMS,
    RailroadItems,
    class_words,
    draw_rule,
    text_words,
)
from glyphscope_gui.grammar.railroad_view import RailroadView
from glyphscope_gui.grammar.workbench import GrammarBench
from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.project.registry_document import RegistryDocument
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.theme import load_theme


def test_fixing_a_problem_leaves_the_next_fix_under_the_pointer(qtbot, monkeypatch):
    table = GrammarDiagnostics()
    qtbot.addWidget(table)
    table.resize(500, 200)
    table.set_room(2_000)
    problems = [
        GrammarProblem("error", "unclosed-literal", "not closed", n, 1, n, n, "close it") for n in range(4)
    ]
    table.show_problems(problems)
    table.show()
    height, place = table.height(), table.visualRect(table.model().index(0, FIX))
    monkeypatch.setattr(table, "underMouse", lambda: True)
    table.show_problems(problems[1:])
    assert table.height() == height and table.visualRect(table.model().index(0, FIX)) == place
    monkeypatch.undo()
    table.leaveEvent(QEvent(QEvent.Type.Leave))
    assert table.height() < height


def drawing(text, theme="light"):
    return draw_rule(read_gbnf(text).rules[0], load_theme(theme).roles, "monospace")


# -- words ------------------------------------------------------------------------------------------------------


@given(st.text(alphabet='ab-_ "[]\\#:=|<>!{}().*+?1\n', max_size=60))
def test_a_word_is_at_its_place(text):
    last = 0
    for word in words(text):
        assert last <= word.start < word.end
        assert text[word.start : word.end] == word.text
        last = word.end


def test_names_in_literals_classes_and_comments_are_not_rules():
    text = 'a ::= "a" [a] b # a b\nb ::= a "\\" a"\n'
    assert occurrences(text, "a") == [0, text.index(' a "') + 1]
    assert find_definition('# b ::= \n"b ::= "\n' + text, "b") == 19 + text.index("b ::=") - 0 - 1
    assert find_definition(text, "c") is None


def test_the_name_at_a_place_is_found():
    assert name_at("root ::= pair", 13).text == "pair"
    assert name_at("root ::= pair", 2).kind == "definition"
    assert name_at('root ::= "pair"', 12) is None


@pytest.mark.parametrize(
    ("text", "good"), [("a-b1", True), ("", False), ("a_b", False), ("a b", False), ("é", False)]
)
def test_rule_names_are_those_of_llama_cpp(text, good):
    assert is_name(text) == good


def test_a_long_line_is_broken_without_changing_its_meaning():
    line = "root ::= " + " | ".join(['"a | b"'] * 20_000)
    shown = break_long_lines(line)
    assert max(map(len, shown.split("\n"))) < 3000
    assert shown.replace("\n ", "") == line
    assert break_long_lines("x" * 100_000) == "x" * 100_000
    assert read_gbnf(shown).problems == ()


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
    ("ranges", "negated", "said"),
    [
        (((0x30, 0x39), (0x61, 0x66)), False, "0–9  a–f"),
        (((0x22, 0x22), (0x5C, 0x5C)), True, 'any except "  \\'),
        (((0x00, 0x1F),), True, "any except controls"),
        (((0x20, 0x21), (0x23, 0xD7FF), (0xE000, 0x10FFFF)), False, 'any except controls  "'),
        ((), True, "any character"),
        ((), False, "no character"),
        (((0x61, 0x62),), False, "a  b"),
    ],
)
def test_a_character_class_is_described(ranges, negated, said):
    assert class_words(ranges, negated) == said
    assert text_words(" a\n") == "·a\\n"


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


def test_a_diagram_of_a_builtin_rule_has_its_items(qapp):
    items = RailroadItems()
    items.make(read_gbnf('root ::= "a"').rules[0].body)
    assert items.left_out == 0


def test_buttons_of_a_diagram_cover_none_of_it(qapp, qtbot):
    view = RailroadView()
    qtbot.addWidget(view)
    button = QPushButton("Fit")
    view.set_corner([button])
    view.resize(220, 120)
    view.show()
    view.show_drawing(drawing("root ::= " + " | ".join(f'"call-{number}"' for number in range(9))))
    top = button.mapTo(view, QPoint(0, 0)).y()
    assert view.viewport().geometry().bottom() < top < view.height()


def test_texts_wrap_beside_a_scroll_bar(qapp, qtbot):
    texts = GrammarTexts("texts", "Texts")
    qtbot.addWidget(texts)
    texts.resize(280, 100)
    texts.show()
    for count in (1, 8):
        texts.show_rows([("", "a text that is wider than there is room")] * count)
        qtbot.waitUntil(lambda count=count: texts.table.verticalScrollBar().isVisible() is (count > 1))
    assert texts.table.columnWidth(1) == texts.table.viewport().width()


def test_a_diagram_zooms_and_is_saved(qapp, qtbot, tmp_path):
    view = RailroadView()
    qtbot.addWidget(view)
    view.resize(400, 200)
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


def test_only_an_edited_grammar_is_saved_in_the_project(qapp):
    document = GrammarDocument()
    document.set_generated("root ::= x")
    assert document.saved_work is None
    assert document.text == "root ::= x"
    document.edit_as_text()
    document.set_generated("root ::= y")
    assert document.text == "root ::= x"
    assert document.base == "root ::= x"
    document.typed(lambda: "root ::= z")
    assert document.work == GrammarWork(source="text", text="root ::= z")
    document.set_use(True)
    document.follow_tools()
    assert document.text == "root ::= y"
    assert not document.work.use
    document.return_to_custom_text()
    assert document.text == "root ::= z"


def test_example_results_are_described():
    good, bad = GrammarExample("ab"), GrammarExample("ab", matches=False)
    accepted = ExampleVerdict(True, None, 2, ())
    failing = ExampleVerdict(False, 1, 2, ('"x"', "0-9", "end of text"))
    short = ExampleVerdict(False, None, 2, ('"x"',))
    assert result_pill(good, accepted) == ("✓", "holds")
    assert result_pill(bad, accepted) == ("✕ is accepted", "impossible")
    assert result_pill(good, failing) == ('✕ fails at 1: "x" or 0-9 …', "impossible")
    assert result_pill(bad, failing) == ("✓ fails at 1", "holds")
    assert result_pill(good, short) == ('✕ incomplete: "x"', "impossible")
    assert result_pill(good, None) is None
    for example in (good, bad):
        for verdict in (accepted, failing, short):
            right = verdict.accepted == example.matches
            assert result_words(example, verdict).startswith("Pass: " if right else "Fail: ")


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
    monkeypatch.setattr(grammar_work, "generate", lambda *_options: grammar_work.Generated(""))
    monkeypatch.setattr(proving, "prove", lambda *_options: None)
    owner, document = QObject(), GrammarDocument()
    document.open_text('root ::= "a"\n', "")
    bench = GrammarBench(document, RegistryDocument(default_registry()), owner)
    yield bench, document
    end_work(bench)


@pytest.mark.slow
def test_a_check_of_an_older_text_is_cancelled(bench, qtbot, monkeypatch):
    bench, document = bench
    begun, ended = [], []
    real = grammar_work.check

    def slow(text, cancel):
        begun.append(text)
        if len(begun) in (1, 3):  # a check that seems endless
            begins = time.monotonic()
            while not cancel() and time.monotonic() < begins + 20:
                time.sleep(0.001)
            ended.append(cancel())
            raise CheckCancelled("stopped")
        return real(text, cancel)

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
        grammar_work.check(text, cancel)
    assert len(asked) == 20
    assert grammar_work.check(text, lambda: False).grammar is not None


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
