"""The errors of the inspected template, and its comparison with another: two tables, whose rows the pair shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, QObject

from glyphscope.base.errors import PromptError
from glyphscope.events import DEFAULT_CHAT, ChatOptions
from glyphscope.models.template_lint import (
    ConversationPair,
    compare_templates,
    lint_template,
    prove_response_template,
)
from glyphscope.models.templates import TemplateSource
from glyphscope.models.tokenizer_config import response_template_of
from glyphscope.models.turn_forms import open_template
from glyphscope.store.files import atomic_write
from glyphscope.turns.conversations import BY_KEY
from glyphscope.turns.lint import Fault, Level, TemplateLint
from glyphscope.turns.pairs import Pair, Side, differences
from glyphscope.turns.response_export import ResponseProof
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import ask_for_file, ask_where_to_save
from glyphscope_gui.shared.language import tr
from glyphscope_gui.template.page import TemplatePage
from glyphscope_gui.template.tables import LateTable, Row, TextCell

TEMPLATE_FILES = tr("Templates and models (*.jinja *.gguf *.json);;All files (*)")
_TURNS = 100
_LEVELS: dict[Level, tuple[str, str]] = {
    "error": (tr("error"), "impossible"),
    "warning": (tr("warning"), "open"),
    "note": (tr("note"), "forced"),
}


def lint_rows(found: TemplateLint) -> list[Row]:
    rows: list[Row] = []
    for fault in found.faults:
        level, role = _LEVELS[fault.level]
        titles = "; ".join(BY_KEY[key].title for key in fault.conversations)
        words = f"{fault.message} {fault.why}"
        rows.append((TextCell(level, fault.code, role), TextCell(words), TextCell(titles or tr("all"))))
    return rows


def response_row(proof: ResponseProof | PromptError) -> Row:
    """How transformers reads the turns of the template, by the response template beside it."""
    where = TextCell(tr("random turns"))
    if isinstance(proof, PromptError):
        return TextCell(tr("error"), pill="impossible"), TextCell(proof.message), where
    read = tr(
        "With the response_template beside it, transformers reads {equal:,} of {turns:,} turns as they were.",
        equal=proof.equal,
        turns=proof.turns,
    )
    pill = TextCell(tr("note"), pill="forced") if proof.proved else TextCell(tr("warning"), pill="open")
    return pill, TextCell(read, proof.failures[0].text if proof.failures else read), where


def fault_pair(fault: Fault, found: TemplateLint) -> Pair | None:
    """The messages of the first conversation that shows a fault, and its rendering with the fault marked."""
    if not fault.conversations:
        return None
    key = fault.conversations[0]
    shown = next(each for each in found.conversations if each.key == key)
    marks = ((fault.start, fault.end),) if fault.end else ()
    sides = Side(tr("Messages"), BY_KEY[key].words), Side(tr("Prompt"), shown.text or shown.raised, marks)
    return Pair(key, shown.title, f"{fault.message} {fault.why}", sides)


def compared_rows(pairs: Sequence[ConversationPair]) -> list[Row]:
    return [_compared_row(pair) for pair in pairs]


def _compared_row(pair: ConversationPair) -> Row:
    if pair.same:
        return TextCell(pair.title), TextCell(tr("same"), pill="holds"), TextCell("")
    result = TextCell(tr("different"), pill="impossible")
    place = tr("line {line}, column {column}", line=pair.line, column=pair.column)
    raised = [side.raised for side in (pair.first, pair.second) if side.raised]
    return TextCell(pair.title), result, TextCell(tr("raises: {error}", error=raised[0]) if raised else place)


class TemplateFile(NamedTuple):
    """The inspected template: of several in a model's file that of this `name`, or Jinja instead of it, with the
    variables of `chat`; and the vocabulary whose tokens show its markers.
    """

    path: Path
    vocabulary: Path | None
    name: str = ""
    chat: ChatOptions = DEFAULT_CHAT

    def template(self) -> TemplateSource:
        """Raises ModelError and PromptError."""
        return open_template(self.path, self.name).under(self.chat)


class LintPresenter(QObject):
    """`found` are the errors of the inspected template, None while there is none; `pairs` the last comparison."""

    def __init__(self, view: TemplatePage, parent: QObject) -> None:
        super().__init__(parent)
        self.found: TemplateLint | None = None
        self.pairs: tuple[ConversationPair, ...] = ()
        self._view = view
        self._source: TemplateFile | None = None
        self._other = ""
        self._background = Background(self)
        view.compare_link.clicked.connect(self._ask_for_other)
        view.details.export_link.clicked.connect(self._ask_where_to_export)
        view.details.lint.chosen.connect(self._show_fault)
        view.details.compared.chosen.connect(self._show_pair)

    def inspect(self, source: TemplateFile | None) -> None:
        """Look for the errors of another template; None clears the tables."""
        self._source, self.found, self.pairs = source, None, ()
        self._view.details.export_link.setEnabled(source is not None)
        self._view.details.exported.setText("")
        self._view.details.views.button("lint").setText(tr("Lint"))
        self._fill(self._view.details.lint, [])
        self._fill(self._view.details.compared, _one_row(tr("Choose another template with Compare…")))
        if source is not None:
            self._background.start("lint", partial(_lint, source), self._linted, self._failed)

    def export_response(self, path: Path) -> None:
        """Write the response_template that follows from the inspected template, and test it."""
        if self._source is not None:
            self._view.details.exported.setText(tr("Testing the response_template…"))
            work = partial(_export, self._source, path)
            self._background.start("export", work, partial(self._exported, path), self._not_exported)

    def compare(self, other: Path) -> None:
        """Compare the inspected template with that of another file."""
        if self._source is None:
            return
        self._other = other.name
        self._view.details.show_view("compared")
        self._fill(self._view.details.compared, _one_row(tr("Rendering both templates…")))
        work = partial(_compare, self._source, other)
        self._background.start("compare", work, self._compared, self._not_compared)

    def _ask_for_other(self) -> None:
        title = tr("Compare with a template")
        ask_for_file(self._view.window(), title, self.compare, TEMPLATE_FILES, name="compareTemplateDialog")

    def _ask_where_to_export(self) -> None:
        ask_where_to_save(
            self._view.window(), tr("Export response_template"), self.export_response, "JSON (*.json)",
            start="response_template.json", suffix="json", name="exportResponseDialog",
        )  # fmt: skip

    def _exported(self, path: Path, proof: ResponseProof) -> None:
        self._view.details.exported.setText(
            tr(
                "{file}: with it, transformers reads {equal:,} of {turns:,} turns as they were.",
                file=path.name,
                equal=proof.equal,
                turns=proof.turns,
            )
            if proof.turns
            else tr("{file}: not tested, as the template writes no calls.", file=path.name)
        )

    def _not_exported(self, error: BaseException) -> None:
        self._view.details.exported.setText(str(error))

    def _linted(self, linted: tuple[TemplateLint, ResponseProof | PromptError | None]) -> None:
        found, proof = linted
        self.found = found
        count = found.count("error")
        self._view.details.views.button("lint").setText(
            tr("Lint ({count})", count=count) if count else tr("Lint")
        )
        none = (TextCell(tr("none"), pill="holds"), TextCell(tr("No errors.")), TextCell(""))
        rows = lint_rows(found) or [none]
        if proof is not None:
            rows.append(response_row(proof))
        self._fill(self._view.details.lint, rows)

    def _failed(self, error: BaseException) -> None:
        self._fill(self._view.details.lint, [(TextCell(""), TextCell(str(error)), TextCell(""))])

    def _compared(self, pairs: tuple[ConversationPair, ...]) -> None:
        self.pairs = pairs
        self._fill(self._view.details.compared, compared_rows(pairs))

    def _not_compared(self, error: BaseException) -> None:
        self.pairs = ()
        self._fill(self._view.details.compared, _one_row(str(error)))

    def _fill(self, table: LateTable, rows: list[Row]) -> None:
        table.rows.show_rows(rows)

    def _show_fault(self, index: QModelIndex) -> None:
        if self.found is None or not 0 <= index.row() < len(self.found.faults):
            return
        pair = fault_pair(self.found.faults[index.row()], self.found)
        if pair is not None:
            self._view.pair.show_pair(pair, 0, 0)

    def _show_pair(self, index: QModelIndex) -> None:
        if not 0 <= index.row() < len(self.pairs):
            return
        pair = self.pairs[index.row()]
        texts = [side.raised or side.text for side in (pair.first, pair.second)]
        marks = differences(*texts)
        assert self._source is not None
        sides = Side(self._source.path.name, texts[0], marks[0]), Side(self._other, texts[1], marks[1])
        self._view.pair.show_pair(Pair(pair.key, pair.title, BY_KEY[pair.key].words, sides), 0, 0)


def _one_row(words: str) -> list[Row]:
    return [(TextCell(words), TextCell(""), TextCell(""))]


def _lint(source: TemplateFile) -> tuple[TemplateLint, ResponseProof | PromptError | None]:
    template = source.template()
    found = lint_template(template)
    try:
        data = response_template_of(source.path)
        return found, None if data is None else prove_response_template(template, data, _TURNS)[1]
    except PromptError as error:
        return found, error


def _export(source: TemplateFile, path: Path) -> ResponseProof:
    made, proof = prove_response_template(source.template(), None, _TURNS)
    atomic_write(path, json.dumps(made, ensure_ascii=False, indent=2).encode() + b"\n")
    return proof


def _compare(source: TemplateFile, other: Path) -> tuple[ConversationPair, ...]:
    return compare_templates(source.template(), open_template(other).under(source.chat))
