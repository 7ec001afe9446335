"""The grammar page: the text with its problems, the rule as a diagram, examples, stepping, changes by an edit, samples,
and the cost of each rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QDialog, QFrame, QHeaderView, QMenu, QTabWidget, QWidget

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
from glyphscope_gui.shared.layouts import Part, hbox, holder, splitter, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_table import PlainTable, WholeRows
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.sizes import GAP, PAD


class _Rows(TableModel[tuple[str, str]]):
    titles = ("", "")
    _signs: ClassVar[Mapping[str, str]] = {"+": "holds", "−": "impossible"}

    def __init__(self, steps: bool) -> None:
        super().__init__()
        self._tip = tr("Click to step through.") if steps else tr("Click to show the rule.")

    def words(self, row: tuple[str, str], column: int) -> str:
        shown = row[column].replace("\n", "⏎").replace("\t", "→")
        return shown if shown or not column else tr("(empty text)")

    def tip(self, row: tuple[str, str], column: int) -> str:
        return f"{row[column]}\n{self._tip}" if column else row[column]

    def color(self, row: tuple[str, str], column: int) -> str:
        return self._signs.get(row[0], "" if column else "text-muted")


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

    `stepRequested` carries a text that was chosen, `exampleRequested` one to keep and whether it must match. If not
    `steps`, they are lines of a grammar, and the chosen one is to be shown.
    """

    stepRequested = Signal(str)
    exampleRequested = Signal(str, bool)

    def __init__(
        self, name: str, accessible: str, parent: QWidget | None = None, *, steps: bool = True
    ) -> None:
        super().__init__(parent)
        self._steps = steps
        self.model = _Rows(steps)
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
        if not index.isValid() or not self._steps:
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
    ("a | b", tr("Alternatives. A rule may continue on a new line only after | and inside parentheses.")),
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


SOURCES = (
    ("tools", tr("From tools"), tr("Show the generated grammar; your grammar is kept")),
    ("text", tr("My grammar"), tr("Show your grammar: an edited copy, or one from a file")),
)
LACKING = (
    ("all", tr("All"), tr("All constraints of the tool whose rule is shown, or of all tools")),
    (
        "lacking",
        tr("Not enforced"),
        tr("Constraints of all tools that are not enforced, or not as far as is known"),
    ),
)


class GrammarPage(TakesFiles, QWidget):
    """The text at its full height; beside it the rule, and tabs with all that the text is tested by. The presenter
    connects them.

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
        self.lacking = named(Segmented(LACKING, small=True), "lackingFilter", tr("Constraints shown"))
        self.examples = GrammarExamples(examples, self)
        self.step = GrammarStep(self)
        self.samples = GrammarTexts("grammarSamples", tr("Random texts of the grammar"), self)
        self.differences = GrammarTexts("grammarDifferences", tr("Changes from the edit"), self)
        self.lines = GrammarTexts(
            "grammarLines", tr("Changed lines of the tools’ grammar"), self, steps=False
        )
        self.costs = RuleCosts(self)
        self.help = GrammarHelp(self)
        self.enforcement_hint, self.example_hint, self.step_hint = (
            ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint") for _ in range(3)
        )
        self._make_links()
        self._lay_out()
        self.setFocusProxy(self.edit)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.diagnostics.set_room(self.edit_card.height())

    def files_dropped(self, paths: list[Path]) -> None:
        self.fileDropped.emit(str(paths[0]))

    def show_lacking(self, count: int, unknown: int, of: int) -> None:
        """Show how many constraints there are, how many of them are not enforced, and of how many that is unknown."""
        self.lacking.button("all").setText(tr("All {count}", count=of))
        words = tr("Not enforced {count}", count=count)
        self.lacking.button("lacking").setText(
            tr("{words}, unknown {count}", words=words, count=unknown) if unknown else words
        )

    def show_tab(self, part: QWidget) -> None:
        """Bring the tab with that part to the front."""
        self.tabs.setCurrentWidget(next(tab for tab in self._tabs if tab.isAncestorOf(part)))

    def _make_links(self) -> None:
        self.source = named(Segmented(SOURCES, small=True), "grammarSource", tr("Grammar shown"))
        self.copy_link = link(
            tr("Edit as text"), tr("Edit a copy of the generated grammar; the tools do not change"), self
        )
        self.open_link = link(
            tr("Open…"),
            tr(
                "Open a .gbnf or .lark file, or a .json schema or .regex as a grammar; you can also drop one here"
            ),
            self,
        )
        self.use_box = named(QCheckBox(tr("Use for runs"), self), "useGrammarButton")
        self.use_box.setToolTip(tr("Use this grammar for runs instead of the generated one"))
        self.answer_link = link(
            tr("Run"), tr("Run the prompt with a text of this grammar as the answer, instead of a call"), self,
            name="runGrammarButton", spoken=tr("Run with this grammar as the answer"),
        )  # fmt: skip
        self.more_link = link(
            tr("More…"), tr("Save the grammar, convert it to another language, or open a bundled one"), self
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
        self.engines_link = link(
            tr("Other engines"), tr("Test which constraints the engines of other servers enforce"), self
        )
        self.engines_link.setMenu(QMenu(self))
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
        own = (
            self.copy_link,
            self.answer_link,
            self.use_box,
        )  # those that differ come first: the others never move
        links = (*own, self.open_link, self.more_link, self.help_link)
        line = hbox((self.summary, 1), *links, margins=(PAD - 5, 5, PAD - 8, 0))
        text = holder(vbox((self.edit, 1), self.diagnostics, line, spacing=0), self)
        self.edit_card = Card(tr("Grammar"), text, actions=(self.source,), padded=False)
        self.rule_card = Card(tr("Rule"), self.railroad, actions=(self.origin,), padded=False)
        self.tabs = named(QTabWidget(self), "grammarTabs", tr("Tests of the grammar"), documentMode=True)
        self._tabs: list[QWidget] = []
        since = _hint(tr("Texts whose result changed since the grammar was opened or saved"))
        against = _hint(tr("Lines that differ from the tools’ grammar"))
        against.setContentsMargins(PAD - 5, 6, 0, 2)
        differences = vbox(self.differences, against, (self.lines, 1), spacing=0)
        self._add_tab(
            tr("Constraints"),
            WholeRows(self.enforcement),
            self.lacking,
            (self.enforcement_hint, 1),
            self.engines_link,
        )
        self._add_tab(
            tr("Examples"), self.examples, (self.example_hint, 1), self.add_run_link, self.add_example_link
        )
        self._add_tab(tr("Step"), self.step, (self.step_hint, 1))
        self._add_tab(tr("Differences"), holder(differences), (since, 1))
        self._add_tab(
            tr("Samples"), self.samples, (_hint(tr("Random texts of the grammar")), 1), self.again_link
        )
        self._add_tab(tr("Cost"), self.costs, (_hint(tr("Mask cost by rule in the last run")), 1))
        below = named(QFrame(self), "card", tr("Tests of the grammar"))
        vbox(self.tabs, parent=below, margins=(3, 1, 3, 4))
        self.right = splitter(Qt.Orientation.Vertical, (self.rule_card, below), (2, 3))
        self.right.setSizes([200, 300])
        self.columns = splitter(Qt.Orientation.Horizontal, (self.edit_card, self.right), (1, 1))
        self.columns.setSizes([500, 500])
        vbox((self.columns, 1), parent=self, margins=GAP, spacing=GAP)

    def _add_tab(self, title: str, body: QWidget, *line: Part) -> None:
        """Add a tab with a line above its body: hints and links."""
        above = hbox(*line, margins=(PAD - 5, 6, PAD - 8, 4), spacing=GAP)
        column = vbox(above, (body, 1), spacing=0)
        column.addStretch(0)
        self._tabs.append(holder(column))
        self.tabs.addTab(self._tabs[-1], title)


def _hint(words: str) -> ElidedLabel:
    label = ElidedLabel(mode=Qt.TextElideMode.ElideRight, role="hint")
    label.setText(words)
    return label
