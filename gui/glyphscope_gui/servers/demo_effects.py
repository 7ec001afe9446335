"""The effects of the demo tools: written mails, which are never sent, files in the scratch folder, the workspace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QStackedWidget, QWidget

from glyphscope.base.figures import byte_size
from glyphscope.base.visible import visible
from glyphscope.tools.demo import Mail, ScratchFile
from glyphscope_gui.context import AppContext
from glyphscope_gui.servers.call_result import shown_text
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import splitter
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.table_model import TableModel
from glyphscope_gui.shared.text_edits import WrappingEdit
from glyphscope_gui.theme import mono_font, use_font


class MailModel(TableModel[Mail]):
    key = "number"
    titles = ("#", tr("To"), tr("Subject"), tr("Written"))
    figures = frozenset({0})

    def words(self, row: Mail, column: int) -> str:
        written = datetime.fromisoformat(row.at).astimezone().strftime("%H:%M:%S")
        return (str(row.number), ", ".join((row.to, *row.cc)), row.subject, written)[column]


class ScratchModel(TableModel[ScratchFile]):
    key = "path"
    titles = (tr("File"), tr("Size"))
    figures = frozenset({1})

    def words(self, row: ScratchFile, column: int) -> str:
        return (row.path, byte_size(row.bytes))[column]


VIEWS = (
    ("outbox", tr("Outbox"), tr("E-mails written by send_email; none was sent")),
    ("scratch", tr("Scratch folder"), tr("Files written by write_file, in a separate folder")),
    ("workspace", tr("Workspace"), tr("The document that state_get and state_patch use, in memory")),
)


class DemoEffects(Card):
    """`fileChosen` carries the path of a file in the scratch folder to show."""

    fileChosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        self.views = named(Segmented(VIEWS, small=True), "", tr("Outbox, scratch folder or workspace"))
        stack = QStackedWidget()
        super().__init__(tr("Effects"), stack, actions=(self.views,), padded=False, parent=parent)
        self._stack = stack
        self._counts = {"outbox": "", "scratch": "", "workspace": ""}
        self._file = ""
        self.mails = MailModel(self)
        self.files = ScratchModel(self)
        self.outbox_table = _table(self.mails, 2, "outboxTable", tr("E-mails in the outbox"))
        self.scratch_table = _table(self.files, 0, "scratchTable", tr("Files in the scratch folder"))
        self.mail_view = _text("outboxMail", tr("Selected e-mail"), tr("Nothing has been written yet."))
        self.file_view = _text("scratchText", tr("Selected file"), tr("Select a file to read it."))
        self.workspace_view = named(JsonEditor(), "workspaceView", tr("The workspace"), readOnly=True)
        self.workspace_view.setStyleSheet("#workspaceView { border: none; }")
        self.outbox_table.fit_column(0, "000")
        self.outbox_table.fit_column(1, "somebody@example.com")
        self.outbox_table.fit_column(3, "00:00:00")
        self.outbox_table.give_way(3, 0)
        self.scratch_table.fit_column(1, "000.0 kB")
        stack.addWidget(_beside(self.outbox_table, self.mail_view))
        stack.addWidget(_beside(self.scratch_table, self.file_view))
        stack.addWidget(self.workspace_view)
        self.views.chosen.connect(self.show_view)
        self.outbox_table.selectionModel().currentChanged.connect(self._mail_chosen)
        self.scratch_table.selectionModel().currentChanged.connect(self._file_chosen)

    def show_view(self, name: str) -> None:
        self.views.set_value(name)
        self._stack.setCurrentIndex(self.views.place(name))
        self.heading.hint.setText(self._counts[name])

    def show_mails(self, mails: Sequence[Mail]) -> None:
        """Show the mails; the newest is selected, unless the user is reading another."""
        at = self.outbox_table.currentIndex().row()
        newest_shown = at < 0 or at == self.mails.rowCount() - 1
        self.mails.refresh(mails)
        if newest_shown and mails:
            self.outbox_table.setCurrentIndex(self.mails.index(len(mails) - 1, 0))
        count = len(mails)
        self._count("outbox", tr("%n written, none sent", "", count) if count else "")

    def show_files(self, files: Sequence[ScratchFile], folder: str) -> None:
        self.files.refresh(files)
        total = sum(file.bytes for file in files)
        self._count(
            "scratch", tr("%n file(s), {size}", "", len(files), size=byte_size(total)) if files else ""
        )
        self.scratch_table.setToolTip(plain_tip(folder))
        names = [file.path for file in files]
        if self._file in names:
            self.scratch_table.setCurrentIndex(self.files.index(names.index(self._file), 0))
            self.fileChosen.emit(self._file)
        elif names:
            self.scratch_table.setCurrentIndex(self.files.index(0, 0))
        else:
            self._file = ""
            self.file_view.clear()

    def show_file(self, path: str, text: str) -> None:
        if path == self._file:
            _put(self.file_view, shown_text(text))

    def show_workspace(self, document: dict[str, Any]) -> None:
        text = json.dumps(document, indent=2, ensure_ascii=False)
        self.workspace_view.show_text(text)
        self._count("workspace", tr("{size} as text", size=byte_size(len(text.encode("utf-8", "replace")))))

    def _mail_chosen(self, current: QModelIndex, _before: QModelIndex) -> None:
        mail = self.mails.row(current.row())
        if mail is None:
            self.mail_view.clear()
            return
        lines = [
            tr("To: {address}", address=mail.to),
            tr("Cc: {addresses}", addresses=", ".join(mail.cc)) if mail.cc else "",
            tr("Subject: {subject}", subject=mail.subject),
        ]
        head = "\n".join(line for line in lines if line)
        _put(self.mail_view, shown_text(f"{head}\n\n{mail.body}"))

    def _file_chosen(self, current: QModelIndex, _before: QModelIndex) -> None:
        file = self.files.row(current.row())
        if file is not None and file.path != self._file:
            self._file = file.path
            self.file_view.clear()
            self.fileChosen.emit(file.path)

    def _count(self, name: str, words: str) -> None:
        self._counts[name] = words
        if self.views.value == name:
            self.heading.hint.setText(words)


def _table(model: Any, stretch: int, name: str, words: str) -> PlainTable:
    return named(PlainTable(model, stretch), name, words)


def _text(name: str, words: str, empty: str) -> QPlainTextEdit:
    edit = named(WrappingEdit(), name, words, placeholderText=empty, readOnly=True)
    use_font(edit, mono_font, -0.5)
    edit.setStyleSheet(f"#{name} {{ border: none; }}")
    return edit


def _put(edit: QPlainTextEdit, text: str) -> None:
    text = visible(text, lines=True)
    if edit.toPlainText() != text:
        edit.setPlainText(text)


def _beside(left: QWidget, right: QWidget) -> QSplitter:
    split = splitter(Qt.Orientation.Horizontal, (left, right), (0, 0), of_cards=False)
    split.setSizes([500, 500])
    return split


PLACES = ("outbox", "scratch", "workspace")


class DemoEffectsPresenter(QObject):
    """Shows the effects of tools, which runs call in other threads, while the page is visible, and updates when it is
    shown again.
    """

    def __init__(self, context: AppContext, effects: DemoEffects) -> None:
        super().__init__(effects)
        self._context = context
        self._effects = effects
        self._demo = context.services.servers.demo
        self._background = Background(self)
        context.services.servers.effectsChanged.connect(self._changed)
        context.navigator.shown.connect(self._page_shown)
        effects.fileChosen.connect(self._read)

    def _page_shown(self, page: PageId) -> None:
        if page is PageId.SERVERS:
            for place in PLACES:
                self._changed(place)

    def _changed(self, place: str) -> None:
        if self._context.navigator.current is not PageId.SERVERS:
            return
        if place == "outbox":
            self._effects.show_mails(self._demo.outbox)
        elif place == "workspace":
            self._effects.show_workspace(self._demo.workspace)
        else:
            self._background.start("files", self._look, self._show_files, self._context.show_error)

    def _look(self) -> tuple[Any, str]:
        scratch = self._demo.scratch
        return scratch.files(), str(scratch.folder or "")

    def _show_files(self, found: tuple[Any, str]) -> None:
        self._effects.show_files(*found)

    def _read(self, path: str) -> None:
        scratch = self._demo.scratch
        self._background.start(
            "file",
            lambda: scratch.read(path).decode("utf-8", "replace"),
            lambda text: self._effects.show_file(path, text),
            lambda error: self._effects.show_file(path, f"({error})"),
        )
