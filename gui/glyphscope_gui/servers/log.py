"""The messages exchanged with the chosen server, and the output of its process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QActionGroup, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QMenu, QPlainTextEdit, QStackedWidget, QWidget

from glyphscope.base.figures import byte_size
from glyphscope.base.visible import visible
from glyphscope.tools.mcp.log import LEVELS, TEXT_LIMIT, LogEntry, log_message
from glyphscope_gui.servers.call_result import shown_text
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.json_editor import JsonEditor
from glyphscope_gui.shared.labels import link, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, splitter, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.table_model import NO_INDEX, FilteredModel
from glyphscope_gui.shared.text_edits import LineEdit, WrappingEdit
from glyphscope_gui.shared.whole_text import WholeText, show_whole
from glyphscope_gui.theme import mono_font, use_font

TIME, WAY, METHOD, ID, SIZE, TEXT = range(6)
WAYS = {"sent": tr("→ sent"), "received": tr("← received"), "dropped": tr("✕ dropped")}
_ROLES = {"sent": "accent", "received": "holds", "dropped": "impossible"}
SHOWN = 300
"""The maximum number of characters of a message in its row; the full message is shown beside the table."""


class ServersLogModel(FilteredModel[LogEntry]):
    titles = (tr("Time"), tr("Direction"), tr("Method"), tr("Id"), tr("Size"), tr("Message"))
    tips = (
        tr("Time of writing or reading, to the millisecond"),
        tr("Sent by Glyphscope, received from the server, or received and dropped"),
        tr("The JSON-RPC method; empty for responses"),
        tr("The JSON-RPC id that a response shares with its request; empty for notifications"),
        tr("Bytes of the message"),
        tr("The message as JSON; secrets from the configuration are redacted"),
    )
    figures = frozenset({SIZE})
    key = "number"

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._notifications_only = False
        self._least = ""
        """The least severity of shown log messages; "" for all."""
        self._rows: list[LogEntry] = []

    def show(self, entries: Sequence[LogEntry]) -> None:
        """Show the current log: append new entries, remove those that the log dropped."""
        before, self._all = self._all, tuple(entries)
        old_last = before[-1].number if before else 0
        first = self._all[0].number if self._all else 0
        if not (before and self._all and before[0].number <= first <= old_last):
            self._show_all(self._all)
            return
        gone = sum(entry.number < first for entry in self._rows)
        if gone:
            self.beginRemoveRows(NO_INDEX, 0, gone - 1)
            del self._rows[:gone]
            self.endRemoveRows()
        more = [entry for entry in self._all if entry.number > old_last and self.fits(entry)]
        self._insert(len(self._rows), more)

    def set_notifications_only(self, only: bool) -> None:
        """Set whether only the server's unsolicited messages are shown, in words instead of JSON."""
        if only != self._notifications_only:
            self._notifications_only = only
            self._show_all(self._all)

    def set_least(self, level: str) -> None:
        """Set the least severity of the log messages shown among the notifications; "" for all."""
        if level != self._least:
            self._least = level
            self._show_all(self._all)

    def text(self) -> str:
        """Return all visible messages, one per line."""
        return "\n".join(
            "\t".join((_time(e), WAYS[e.direction], e.method, e.id, str(e.size), e.text)) for e in self._rows
        )

    def words(self, row: LogEntry, column: int) -> str:
        if self._notifications_only and column == METHOD:
            return row.method.removeprefix("notifications/")
        words = notification_words(row) if self._notifications_only and column == TEXT else ""
        return words or _cell(row, column)

    def tip(self, row: LogEntry, column: int) -> str:
        return row.note

    def color(self, row: LogEntry, column: int) -> str:
        return _ROLES[row.direction] if column == WAY else "text" if column == METHOD else "text-muted"

    def searched(self, row: LogEntry) -> str:
        return "\n".join((row.method, row.id, row.text, row.note, row.direction)) if self._filter else ""

    def fits(self, row: LogEntry) -> bool:
        if self._notifications_only:
            message = log_message(row) if self._least else None
            if not is_notification(row) or (message is not None and not message.reaches(self._least)):
                return False
        return super().fits(row)


def is_notification(entry: LogEntry) -> bool:
    """Whether the entry is an unsolicited message of the server."""
    return entry.direction != "sent" and not entry.id and entry.method.startswith("notifications/")


def notification_words(entry: LogEntry) -> str:
    """`info · db: connected`, `3 of 10 · copying`; "" if the message has no such form."""
    try:
        if (message := log_message(entry)) is not None:
            about = " · ".join(part for part in (message.level, message.logger) if part)
            return f"{about}: {message.text}"[:SHOWN] + (f" ×{entry.more + 1}" if entry.more else "")
        params = json.loads(entry.text).get("params") or {}
        if entry.method == "notifications/progress":
            total, message = params.get("total"), params.get("message")
            done = (
                tr("{done} of {total}", done=params["progress"], total=total) if total else params["progress"]
            )
            words = f"{done} · {message}" if message else str(done)
        else:
            words = str(params.get("uri") or "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    more = f" ×{entry.more + 1}" if entry.more else ""
    return words[:SHOWN] + more


def is_resendable(entry: LogEntry | None) -> bool:
    """Whether the entry is a sent request that the log contains in full."""
    return (
        entry is not None
        and entry.direction == "sent"
        and bool(entry.id and entry.method)
        and entry.method not in ("initialize", "server/discover")
        and params_of(entry) is not None
    )


def params_of(entry: LogEntry) -> dict[str, Any] | None:
    """The params of a request without the transport's; None if the log does not contain all."""
    try:
        params = json.loads(entry.whole or entry.text).get("params") or {}
        return {key: value for key, value in params.items() if key != "_meta"}
    except (ValueError, AttributeError, RecursionError):
        return None


def _cell(entry: LogEntry, column: int) -> str:
    note = f"{entry.note} " if entry.note else ""
    return (
        _time(entry),
        WAYS[entry.direction],
        entry.method,
        entry.id[:40],
        byte_size(entry.size),
        note + entry.text[:SHOWN],
    )[column]


def _time(entry: LogEntry) -> str:
    return datetime.fromtimestamp(entry.time).strftime("%H:%M:%S.%f")[:-3]


VIEWS = (
    ("messages", tr("Messages"), tr("The last 1,000 protocol messages")),
    (
        "notifications",
        tr("Notifications"),
        tr("Notifications from the server: log messages, progress, changed lists"),
    ),
    ("stderr", tr("stderr"), tr("The last lines that the server’s process wrote to stderr")),
)
ANY = ""
"""In place of a level: show log messages of all levels."""


class ServerLog(Card):
    """Shows the presenter's data; `views.value` is the visible one of the three views. Folded at first.

    `resendRequested` carries a LogEntry, `levelChosen` the level of log messages requested from the server, `folded`
    whether only the heading is shown.
    """

    resendRequested = Signal(object)
    folded = Signal(bool)
    levelChosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        self.views = named(Segmented(VIEWS, small=True), "", tr("Messages, notifications or stderr"))
        self.filter_edit = LineEdit(placeholderText=tr("Filter"), clearButtonEnabled=True)
        named(self.filter_edit, "serverLogFilter", tr("Show only messages that contain this text"))
        self.filter_edit.setMinimumWidth(60)
        self.filter_edit.setMaximumWidth(170)
        self.copy_button = push_button(tr("Copy"), role="link", tip=tr("Copy the lines shown"))
        self._stack = QStackedWidget()
        tip = tr("Levels of the log messages that the server sends, and of those shown")
        self.levels_button = link("", tip, name="logLevelsButton")
        self.show_link = link(
            "", tr("Protocol messages, notifications and stderr of the server"), name="showLogButton"
        )
        self._inside = (self.filter_edit, self.levels_button, self.copy_button, self.views, self._stack)
        super().__init__(
            tr("Log"), self._stack, actions=(*self._inside[:-1], self.show_link), padded=False, parent=parent
        )
        self.is_folded = False
        self.show_link.clicked.connect(lambda: self.set_folded(not self.is_folded))
        self.model = ServersLogModel(self)
        self._following = True
        """Whether the end of the log is shown, and stays shown as it grows."""
        self.table = named(PlainTable(self.model, TEXT), "serverLogTable", tr("Protocol messages"))
        self.detail = named(JsonEditor(), "serverLogDetail", tr("Selected message"), readOnly=True)
        self.detail.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.detail.setStyleSheet("#serverLogDetail { border: none; border-radius: 0; }")
        self.detail.hide()
        self._beside = self._make_beside()
        self._split = splitter(Qt.Orientation.Horizontal, (self.table, self._beside), (3, 2), of_cards=False)
        self.stderr = named(WrappingEdit(), "serverStderr", tr("stderr of the server"), readOnly=True)
        self.stderr.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.stderr.setStyleSheet("#serverStderr { border: none; }")
        use_font(self.stderr, mono_font, -0.5)
        self.stderr.setPlaceholderText(tr("No output on stderr."))
        self._stack.addWidget(self._split)
        self._stack.addWidget(self.stderr)
        self._make_levels()
        self._fit_columns()
        self.views.chosen.connect(self._show_view)
        self.filter_edit.textChanged.connect(self._filter)
        self.copy_button.clicked.connect(self._copy_all)
        self.table.selectionModel().currentChanged.connect(self._chosen)
        bar = self.table.verticalScrollBar()
        bar.valueChanged.connect(self._scrolled)
        bar.rangeChanged.connect(lambda _low, _high: self._keep_end())
        copy = QShortcut(QKeySequence.StandardKey.Copy, self.table, context=Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._copy_one)

    def show_level(self, level: str, settable: bool) -> None:
        """Show the set level, and whether the running server has log levels."""
        for action in self.sent_menu.actions():
            if action.data() == level:
                action.setChecked(True)
        self.sent_menu.setEnabled(settable)

    def show_entries(self, entries: Sequence[LogEntry]) -> None:
        """Show the current log; a view at the end stays there, and the chosen message stays chosen."""
        chosen = self.model.row(self.table.currentIndex().row()) if not self.detail.isHidden() else None
        self.model.show(entries)
        if chosen is not None and self.model.row(self.table.currentIndex().row()) != chosen:
            row = self.model.row_of(chosen.number)
            if row >= 0:
                self.table.setCurrentIndex(self.model.index(row, TIME))
        if self._following:
            self.table.scrollToBottom()

    def set_folded(self, folded: bool) -> None:
        """Show only the heading, or all of the log."""
        self.is_folded = folded
        self.show_link.setText(tr("Show log") if folded else tr("Hide log"))
        for part in (*self._inside, self._line):
            part.setVisible(not folded)
        if not folded:
            self._show_view(self.views.value)
        self.folded.emit(folded)

    def show_stderr(self, text: str) -> None:
        text = visible(text, lines=True)
        if text == self.stderr.toPlainText():
            return
        bar = self.stderr.verticalScrollBar()
        at_end, place = bar.value() >= bar.maximum() - 1, bar.value()
        self.stderr.setPlainText(text)
        bar.setValue(bar.maximum() if at_end else place)

    def forget(self) -> None:
        """Clear the log for another server."""
        self._following = True
        self._hide_detail()
        self.model.show(())
        self.stderr.clear()

    def _make_beside(self) -> QWidget:
        """Make the view of the chosen message, with its actions."""
        beside = QWidget()
        tip = tr("Show the whole message, with search, Copy and Save as")
        self.open_link = link(tr("Open"), tip, name="openMessageButton")
        self.copy_link = link(tr("Copy message"), tr("Copy the whole message as it was sent"))
        tip = tr("Edit this request and send it again")
        self.resend_link = link(tr("Send again…"), tip, name="resendButton")
        row = hbox(self.open_link, self.copy_link, self.resend_link, STRETCH, margins=(8, 2), spacing=12)
        vbox(row, (self.detail, 1), parent=beside, spacing=0)
        beside.hide()
        self.open_link.clicked.connect(self._open)
        self.copy_link.clicked.connect(self._copy_one)
        self.resend_link.clicked.connect(lambda: self.resendRequested.emit(self._current))
        return beside

    def _make_levels(self) -> None:
        """Make the menus of log levels: the requested level, and the least level that is shown."""
        menu = QMenu(self.levels_button)
        self.sent_menu = menu.addMenu(tr("Server &sends from"))
        self.shown_menu = menu.addMenu(tr("&Show from"))
        _add_levels(self.sent_menu, (), self.levelChosen.emit)
        _add_levels(self.shown_menu, ((ANY, tr("All")),), self._show_from)
        self.levels_button.setMenu(menu)
        self.levels_button.setStyleSheet("QPushButton::menu-indicator { image: none; width: 0; }")
        self.levels_button.hide()
        self._show_from(ANY)

    def _show_from(self, level: str) -> None:
        self.model.set_least(level)
        self.levels_button.setText(tr("Level: {level} ▾", level=level or tr("all")))

    @property
    def _current(self) -> LogEntry | None:
        return self.model.row(self.table.currentIndex().row())

    def _fit_columns(self) -> None:
        table = self.table
        table.fit_column(TIME, "00:00:00.000")
        table.fit_column(WAY, tr("← received"))
        table.fit_column(METHOD, "notifications/init")
        table.fit_column(ID, "000")
        table.fit_column(SIZE, "00.0 kB")

    def _scrolled(self, value: int) -> None:
        """Follow the log while its end is visible. Gets the bar again: a saved reference may outlive its object."""
        self._following = value >= self.table.verticalScrollBar().maximum() - 1

    def _keep_end(self) -> None:
        """Keep the end visible after rows were added or the room changed, if it was visible."""
        if self._following:
            self.table.scrollToBottom()

    def _show_view(self, name: str) -> None:
        self._stack.setCurrentIndex(1 if name == "stderr" else 0)
        self.filter_edit.setVisible(name != "stderr")
        self.levels_button.setVisible(name == "notifications")
        if name != "stderr":
            self._hide_detail()
            self.model.set_notifications_only(name == "notifications")
            self.table.scrollToBottom()

    def _filter(self, text: str) -> None:
        self._hide_detail()
        self.model.set_filter(text)

    def _chosen(self, current: QModelIndex, _before: QModelIndex) -> None:
        entry = self.model.row(current.row())
        if entry is None:
            self._hide_detail()
            return
        text = entry.text
        if len(text) <= TEXT_LIMIT:
            with suppress(ValueError, RecursionError):
                text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        self._show_detail()
        self.resend_link.setVisible(is_resendable(entry))
        self.detail.show_text(shown_text(f"{entry.note}\n\n{text}" if entry.note else text))

    def _show_detail(self) -> None:
        """Show the chosen message in place of the table's text column."""
        if self.detail.isHidden():
            self.detail.show()
            self._beside.show()
            self.table.setColumnHidden(TEXT, True)
            self.table.horizontalHeader().setSectionResizeMode(METHOD, QHeaderView.ResizeMode.Stretch)
            width = self._split.width()
            self._split.setSizes([round(width * 0.52), round(width * 0.48)])

    def _hide_detail(self) -> None:
        self.detail.hide()
        self._beside.hide()
        self.table.setColumnHidden(TEXT, False)
        self.table.horizontalHeader().setSectionResizeMode(METHOD, QHeaderView.ResizeMode.Interactive)
        self._fit_columns()

    def _copy_all(self) -> None:
        messages = self._stack.currentIndex() == 0
        QGuiApplication.clipboard().setText(self.model.text() if messages else self.stderr.toPlainText())

    def _copy_one(self) -> None:
        entry = self._current
        if entry is not None:
            copy_text(entry.whole or entry.text)

    def _open(self) -> None:
        entry = self._current
        if entry is None:
            return
        is_cut = not entry.whole and entry.text.endswith("…")
        missing = tr("Only the beginning is in the log.") if is_cut else ""
        title = entry.method or tr("Answer to {id}", id=entry.id)
        note = " ".join(part for part in (entry.note, missing) if part)
        show_whole(WholeText(title, entry.whole or entry.text, note, "message.json"), self)


def _add_levels(menu: QMenu, first: tuple[tuple[str, str], ...], choose: Callable[[str], object]) -> None:
    """Add actions for MCP's levels after the `first` ones, of which one is chosen."""
    group = QActionGroup(menu)
    for value, words in (*first, *((level, level) for level in LEVELS)):
        action = menu.addAction(words)
        action.setCheckable(True)
        action.setData(value)
        group.addAction(action)
        action.triggered.connect(lambda _on=False, value=value: choose(value))
    if first:
        menu.actions()[0].setChecked(True)
