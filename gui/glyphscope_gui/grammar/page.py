"""The grammar page: the text with its problems, the rule as a diagram, examples, stepping, changes by an edit, samples,
and the cost of each rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QFrame, QHeaderView, QMenu, QSplitter, QWidget

from glyphscope.base.figures import duration_ms, plain_ms
from glyphscope_gui.enforcement.table import EnforcementTable
from glyphscope_gui.grammar.edit import GrammarEdit
from glyphscope_gui.grammar.examples import GrammarExamples, GrammarExamplesModel
from glyphscope_gui.grammar.problems import GrammarDiagnostics
from glyphscope_gui.grammar.railroad_view import RailroadView
from glyphscope_gui.grammar.step import GrammarStep
from glyphscope_gui.runs.token_rules import RuleCost
from glyphscope_gui.shared.actions import pop_up
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.cells import TextDelegate, WordsDelegate
from glyphscope_gui.shared.file_drops import TakesFiles
from glyphscope_gui.shared.labels import ElidedLabel, ElidedLink, PlainLabel, link, named, show_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, holder, splitter, stack, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.sizes import GAP, PAD


class _Rows(TableModel[tuple[str, str]]):
    titles = ("", "")

    def words(self, row: tuple[str, str], column: int) -> str:
        shown = row[column].replace("\n", "⏎").replace("\t", "→")
        return shown if shown or not column else tr("(empty text)")

    def tip(self, row: tuple[str, str], column: int) -> str:
        tip = tr("Click to step through.")
        return f"{row[column]}\n{tip}" if column else row[column]

    def color(self, row: tuple[str, str], column: int) -> str:
        return "" if column else "text-muted"


class _TextTable(PlainTable):
    """Rows as high as their wrapped texts, which are as wide as there is room, also beside a scroll bar."""

    def __init__(self, model: _Rows, parent: QWidget) -> None:
        super().__init__(model, stretch=1, parent=parent)
        self._texts = model
        self.setWordWrap(True)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setItemDelegateForColumn(0, WordsDelegate(self))
        self.setItemDelegateForColumn(1, TextDelegate(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        model.modelReset.connect(self._fit)

    def _fit(self) -> None:
        widest = self.widest(0)
        self.setColumnHidden(0, not widest)
        first = widest + 18 if widest else 0
        self.setColumnWidth(0, first)
        self.setColumnWidth(1, max(self.viewport().width() - first, 60))
        for row in range(self._texts.rowCount()):
            self.resizeRowToContents(row)
        self.updateGeometry()


class GrammarTexts(QWidget):
    """Texts with a word before each, or a sentence if there are none.

    `stepRequested` carries a text that was chosen, `exampleRequested` one to keep and whether it must match.
    """

    stepRequested = Signal(str)
    exampleRequested = Signal(str, bool)

    def __init__(self, name: str, accessible: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = _Rows()
        self.table = named(_TextTable(self.model, self), name, accessible)
        self.model.setParent(self.table)
        self.words = PlainLabel(self, role="hint", wordWrap=True)
        self.words.setContentsMargins(8, 4, 8, 4)
        column = vbox(self.words, (self.table, 1), parent=self, spacing=4)
        column.addStretch(0)
        column.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.table.clicked.connect(self._chosen)
        self.table.activated.connect(self._chosen)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)

    def show_rows(self, rows: Sequence[tuple[str, str]], words: str = "") -> None:
        """Show `words`, and below them rows of a word and a text each."""
        self.model.show_rows(list(rows))
        show_words(self.words, words)
        self.table.setVisible(bool(rows))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = sum(self.table.rowHeight(row) for row in range(self.model.rowCount()))
        return QSize(260, rows + (self.words.sizeHint().height() if self.words.isVisible() else 0) + 6)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        place = self.table.viewport().mapFromGlobal(event.globalPos())
        index = self.table.indexAt(place)
        if not index.isValid():
            return
        text = self.model.rows[index.row()][1]
        pop_up(
            QMenu(self),
            event.globalPos(),
            (tr("Step through"), lambda: self.stepRequested.emit(text)),
            (tr("Add as an example that must match"), lambda: self.exampleRequested.emit(text, True)),
            (tr("Add as an example that must not match"), lambda: self.exampleRequested.emit(text, False)),
        )

    def _chosen(self, index: QModelIndex) -> None:
        self.stepRequested.emit(self.model.rows[index.row()][1])


_GBNF = (
    ('root ::= "{" pair "}"', tr("A rule: its name and its definition. The start rule is root.")),
    (
        '"text"',
        tr(
            'This text literally. Escapes: \\" \\\\ \\n \\t, and \\x41 or \\u0041 for a character by '
            "its code point."
        ),
    ),
    ("[a-z0-9_]", tr("One of these characters; [^…] is any other character, . is any character.")),
    ("a b", tr("A sequence.")),
    ("a | b", tr("Alternatives. A rule may continue on a new line only after | and inside ( ).")),
    ("(a b)", tr("A group.")),
    ("x?  x*  x+", tr("Zero or one, zero or more, one or more.")),
    ("x{3}  x{2,}  x{2,5}", tr("Exactly m times, at least m times, or m to n times.")),
    ("# words", tr("A comment, to the end of the line.")),
)
_LARK = (
    ("start: sum", tr("A rule: its name in lower case, and its definition. The start rule is start.")),
    ("INT: /[0-9]+/", tr("A terminal, in upper case: one lexeme, of which the longest text is read.")),
    ('"text"  "text"i', tr("This text, as one lexeme; with i, in upper or lower case. Escapes as in JSON.")),
    ("/[a-z]+/", tr("A regular expression in Rust’s syntax, as one lexeme.")),
    ('"a".."z"', tr("One of these characters.")),
    ("a b", tr("A sequence.")),
    ("a | b", tr("Alternatives. A rule may continue on a new line only before |.")),
    ("(a b)  [a b]", tr("A group; in brackets, an optional one.")),
    ("x?  x*  x+  x{2,5}", tr("Zero or one, zero or more, one or more, 2 to 5 times.")),
    ("A: B & ~C", tr("In terminals: a text of B, except those of C.")),
    ("%ignore WS", tr("Text that may be after each lexeme.")),
    ("%import common.WS", tr("A terminal that llguidance has: INT, NUMBER, CNAME, ESCAPED_STRING, WS …")),
    ("%json {…}  %regex {…}", tr("A value of a JSON Schema; a part of a text.")),
    ("<think>  <[5]>", tr("One token of the model’s vocabulary.")),
    ("x[lazy]: …", tr("A lexeme that ends as soon as it can. Also: suffix, stop, max_tokens, temperature.")),
    ("// words  # words", tr("A comment, to the end of the line.")),
)
REFERENCES = {"GBNF": _GBNF, "Lark": _LARK}
KEYS = (
    ("Ctrl+.", tr("apply the fix for the problem at the cursor")),
    ("F8", tr("next problem; Shift+F8: previous problem")),
    ("Ctrl+Space", tr("complete a rule name")),
    ("F12", tr("go to a rule’s definition; also Ctrl+click")),
    ("F2", tr("rename a rule everywhere")),
    ("Esc, Tab", tr("move to the next part of the page; Tab alone works before you type")),
)


class GrammarHelp(QDialog):
    """Stays open beside the window while the user writes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("grammarHelp")
        self._language = "GBNF"
        self.setModal(False)
        self.label, self.keys = self._part(tr("Language")), self._part(tr("Keys of the editor"))
        vbox(self.label, self.keys, parent=self, margins=PAD)

    def _part(self, name: str) -> PlainLabel:
        label = PlainLabel(self, wordWrap=True, accessibleName=name)
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setMinimumWidth(36 * self.fontMetrics().averageCharWidth() * 2)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    def set_language(self, name: str) -> None:
        """Explain the language with that name."""
        if name != self._language:
            self._language = name
            if self.isVisible():
                self._fill()

    def showEvent(self, event: QShowEvent) -> None:
        self._fill()
        super().showEvent(event)

    def _fill(self) -> None:
        self.setWindowTitle(tr("{language} reference", language=self._language))
        self.label.setText(_table(REFERENCES[self._language], "json-string"))
        self.keys.setText(_table(KEYS, "accent"))
        self.adjustSize()


def _table(rows: tuple[tuple[str, str], ...], role: str) -> str:
    family, color = mono_font().families()[0], theme().color(role).name()
    look = f"font-family:'{family}'; color:{color}"
    cells = "".join(
        f'<tr><td style="white-space:pre; padding:3px 18px 3px 0"><span style="{look}">{escape(left)}</span></td>'
        f'<td style="padding:3px 0">{escape(right)}</td></tr>'
        for left, right in rows
    )
    return f"<table>{cells}</table>"


NOT_MEASURED = tr("Run the model to see the cost of each rule.")
NO_MASKS = tr("The last run computed no masks.")
RULE, SUM, MEAN = range(3)
_COLUMNS = (
    (tr("rule"), tr("The rule that the tokens belong to. Click to show it.")),
    (tr("mask ms"), tr("Total time of the masks for its tokens, in milliseconds")),
    (tr("per token"), tr("Mean time per mask, in milliseconds. Forced tokens need no mask.")),
)


class _Costs(TableModel[RuleCost]):
    titles = tuple(title for title, _ in _COLUMNS)
    tips = tuple(tip for _, tip in _COLUMNS)
    figures = frozenset({SUM, MEAN})

    def words(self, row: RuleCost, column: int) -> str:
        return (row.rule, plain_ms(row.ms), plain_ms(row.ms / row.masks))[column]

    def tip(self, row: RuleCost, column: int) -> str:
        masks = tr("%n mask(s)", "", row.masks)
        return tr("{rule}: {masks}, {time} together", rule=row.rule, masks=masks, time=duration_ms(row.ms))

    def color(self, row: RuleCost, column: int) -> str:
        return "" if column == RULE else "text-muted"


class RuleCosts(QWidget):
    """The mask's cost by rule in the last run, measured: a short table, or a sentence if there are no costs.

    `ruleChosen` carries a rule's name.
    """

    ruleChosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = _Costs(self)
        self.table = named(PlainTable(self._model, stretch=RULE, parent=self), "ruleCosts")
        self.table.setAccessibleName(tr("Mask cost by rule"))
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        for column, widest in ((SUM, "0,000"), (MEAN, "000.0")):
            self.table.fit_column(column, widest)
        self.table.give_way(MEAN)
        self.words = PlainLabel(NOT_MEASURED, self, role="hint", wordWrap=True)
        self.words.setContentsMargins(8, 4, 8, 4)
        layout = vbox(self.words, (self.table, 1), parent=self)
        layout.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.table.hide()
        for signal in (self.table.clicked, self.table.activated):
            signal.connect(lambda index: self.ruleChosen.emit(index.siblingAtColumn(RULE).data()))

    def show_costs(self, costs: tuple[RuleCost, ...] | None) -> None:
        """Show the costs, the highest first; None until a run was measured."""
        self._model.show_rows(costs or ())
        self.table.setVisible(bool(costs))
        self.words.setVisible(not costs)
        self.words.setText(NOT_MEASURED if costs is None else NO_MASKS)


WIDE = 1180
"""Width in pixels from which differences, samples and costs have a separate column."""


class GrammarPage(FollowsSize, TakesFiles, QWidget):
    """Three columns: text and examples; rule and steps; differences, samples and costs. The presenter connects them.

    `fileDropped` carries a path.
    """

    fileDropped = Signal(str)
    endings = (".gbnf", ".lark", ".json", ".regex", ".txt")

    def __init__(self, examples: GrammarExamplesModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "centre", tr("Grammar"))
        self.setAcceptDrops(True)
        self.notice = NoticeBanner(self)
        self.edit = GrammarEdit(self)
        self.diagnostics = GrammarDiagnostics(self)
        self.summary = named(ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint"), "grammarSummary")
        self.summary.setAccessibleName(tr("Problems found by the check"))
        self.railroad = RailroadView(self)
        self.origin = named(ElidedLink(self), "originLink")
        self.origin.hide()
        self.enforcement = EnforcementTable(self)
        self.examples = GrammarExamples(examples, self)
        self.step = GrammarStep(self)
        self.samples = GrammarTexts("grammarSamples", tr("Random texts of the grammar"), self)
        self.differences = GrammarTexts("grammarDifferences", tr("Changes from the edit"), self)
        self.costs = RuleCosts(self)
        self.help = GrammarHelp(self)
        self._wide: bool | None = None
        self._make_links()
        self._lay_out()
        self.setFocusProxy(self.edit)

    def _fit(self) -> None:
        self._arrange(self.width() >= WIDE)
        self.diagnostics.set_room(self.edit_card.height())

    def files_dropped(self, paths: list[Path]) -> None:
        self.fileDropped.emit(str(paths[0]))

    def _make_links(self) -> None:
        self.copy_link = link(
            tr("Edit as text"), tr("Edit a copy of the generated grammar; the tools do not change"), self
        )
        self.tools_link = link(
            tr("From tools"), tr("Show the generated grammar again; your grammar is kept"), self
        )
        self.custom_link = link(tr("My grammar"), tr("Back to your grammar"), self)
        self.open_link = link(
            tr("Open…"),
            tr(
                "Open a .gbnf or .lark file, or a .json schema or .regex as a grammar; you can also drop one here"
            ),
            self,
        )
        self.save_link = link(tr("Save as…"), tr("Save the grammar as a file"), self)
        self.use_link = link(tr("Use for runs"), "", self, name="useGrammarButton")
        self.use_link.setCheckable(True)
        self.answer_link = link(
            tr("Run"), tr("Run the prompt with a text of this grammar as the answer, instead of a call"), self,
            name="runGrammarButton", spoken=tr("Run with this grammar as the answer"),
        )  # fmt: skip
        self.more_link = link(
            tr("More…"), tr("Convert the grammar to another language, or open a bundled one"), self
        )
        self.help_link = link(tr("Help"), tr("Reference of the language, and keys of the editor"), self)
        diagram = self.railroad
        diagram.set_corner(
            (
                link("−", tr("Smaller (Ctrl+wheel)"), spoken=tr("Smaller"), clicked=diagram.zoom_out),
                link("+", tr("Larger (Ctrl+wheel)"), spoken=tr("Larger"), clicked=diagram.zoom_in),
                link(tr("Fit"), tr("Fit the diagram to the view"), clicked=diagram.zoom_fit),
                link(tr("Save…"), tr("Save the diagram as SVG or PNG"), clicked=diagram.ask_where_to_save),
            )
        )
        self.add_example_link = link(
            tr("Add"),
            tr("Add a text that must match or must not match"),
            self,
            clicked=self.examples.edit_new,
        )
        self.add_run_link = link(
            tr("Add the last run"), tr("Add the text of the last run as an example"), self
        )
        self.again_link = link(tr("Regenerate"), tr("Generate other random texts"), self)

    def _lay_out(self) -> None:
        self.edit.setStyleSheet("#grammarEdit { border: none; border-radius: 0; padding: 0; }")
        line = hbox(
            (self.summary, 1),
            self.answer_link,
            self.use_link,
            self.more_link,
            self.help_link,
            margins=(PAD - 5, 5, PAD - 8, 0),
        )
        text = holder(vbox((self.edit, 1), self.diagnostics, line, spacing=0), self)
        links = (self.copy_link, self.custom_link, self.tools_link, self.open_link, self.save_link)
        self.edit_card = Card(tr("Grammar"), text, actions=links, padded=False)
        self.edit_card.setMinimumHeight(150)

        rule = splitter(Qt.Orientation.Vertical, (self.railroad, self.enforcement), (1, 1), of_cards=False)
        rule.setSizes([500, 500])
        self.rule_card = Card(tr("Rule"), rule, actions=(self.origin,), padded=False)
        self.example_card = Card(
            tr("Examples"), self.examples, actions=(self.add_run_link, self.add_example_link), padded=False
        )

        self.views = Segmented(
            (
                ("step", tr("Step"), tr("Step through a text")),
                ("differences", tr("Differences"), tr("The shortest texts whose result an edit changed")),
                ("samples", tr("Samples"), tr("Random texts of the grammar")),
                ("costs", tr("Cost"), tr("Mask cost by rule in the last run")),
            ),
            small=True,
            parent=self,
        )
        self.views.setAccessibleName(tr("Step, differences, samples or cost"))
        self.stack = stack(self.step)
        self.step_card = Card(tr("Step"), self.stack, actions=(self.views,), padded=False)
        self.views.chosen.connect(self._show_view)

        self.side = self._make_side()
        self.left = _column(self.edit_card, self.example_card, (3, 2))
        self.middle = _column(self.rule_card, self.step_card, (3, 2))
        self.columns = splitter(Qt.Orientation.Horizontal, (self.left, self.middle, self.side), (4, 5, 2))
        vbox(self.notice, (self.columns, 1), parent=self, margins=GAP, spacing=GAP)

    def _make_side(self) -> QWidget:
        side = QWidget(self)
        holders = [QFrame() for _ in range(3)]
        self._holders = [vbox(parent=holder, margins=(4, 6, 4, 2)) for holder in holders]
        self.difference_card = Card(
            tr("Differences"), holders[0], hint=tr("since it was opened or saved"), padded=False
        )
        self.sample_card = Card(
            tr("Samples"), holders[1], hint=tr("random"), actions=(self.again_link,), padded=False
        )
        self.cost_card = Card(tr("Cost"), holders[2], hint=tr("mask, per rule, last run"), padded=False)
        vbox((self.difference_card, 2), (self.sample_card, 3), (self.cost_card, 2), parent=side, spacing=GAP)
        return side

    def _arrange(self, wide: bool) -> None:
        """If there is little width, differences, samples and costs share the place of the steps."""
        if wide == self._wide:
            return
        self._wide = wide
        for column, part in zip(self._holders, (self.differences, self.samples, self.costs), strict=True):
            if wide:
                column.addWidget(part)
                part.show()
            else:
                self.stack.addWidget(part)
        self.side.setVisible(wide)
        self.views.setVisible(not wide)
        self.views.set_value("step")
        self._show_view("step")
        if wide:
            width = self.width() - 2 * GAP
            self.columns.setSizes([round(width * 0.33), round(width * 0.44), round(width * 0.23)])
        else:
            self.columns.setSizes([round(self.width() * 0.47), round(self.width() * 0.53), 0])

    def _show_view(self, name: str) -> None:
        parts = {
            "step": self.step,
            "differences": self.differences,
            "samples": self.samples,
            "costs": self.costs,
        }
        self.stack.setCurrentWidget(parts[name])
        self.step_card.heading.set_title(self.views.button(name).text())


def _column(upper: QWidget, lower: QWidget, shares: tuple[int, int]) -> QSplitter:
    column = splitter(Qt.Orientation.Vertical, (upper, lower), shares)
    column.setSizes([share * 100 for share in shares])
    return column
