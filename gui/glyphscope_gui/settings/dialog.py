"""All settings, in sections, with search. Changes apply at once, without confirmation: to the looks, the context of the
model, the history, the first project. One section lists the data that leaves this computer, with every configured
endpoint and server that gets some, and the data stored here; the history can be cleared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QListWidget, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import byte_size
from glyphscope.events.setting import settings_of
from glyphscope.models.prompt_cache import StoredFile, clear_cache, stored_files
from glyphscope.models.remote import is_address, read_address
from glyphscope.store import History, Places, Settings
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope_gui.context import AppContext
from glyphscope_gui.project.project_controller import first_project
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.settings.sections import (
    SettingRow,
    SettingSection,
    appearance,
    limits,
    new_projects,
    places_section,
)
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import Role, ask
from glyphscope_gui.shared.labels import PlainLabel, named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, ScrollArea, hbox, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Standard
from glyphscope_gui.shared.tab_order import focus_next
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme import FollowsLooks
from glyphscope_gui.theme.fonts import window_points
from glyphscope_gui.theme.sizes import GAP, is_crowded, letters

SIZE = QSize(780, 560)
"""The size at the usual text size; larger with larger text, up to the size of the screen."""
LEAST_POINTS = 6
"""The least text size by key, at which the key for a larger one can still be read."""


class SettingsDialog(FollowsSize, FollowsLooks, PlainDialog):
    """Edits a SettingsStore directly; open it with `open()`, it deletes itself. `historyCleared`: runs were deleted."""

    historyCleared = Signal()

    def __init__(
        self,
        store: SettingsStore,
        home: Places,
        history: History,
        contacts: Sequence[Contact] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("settingsDialog", tr("Settings"), parent)
        self.clearer = HistoryClearer(history)
        self.prompt_clearer = PromptClearer(home.prompts)
        self.sections = (
            appearance(store),
            new_projects(store),
            limits(store),
            places_section(store, home),
            privacy_section(contacts, self.clearer, self.prompt_clearer, home.logs),
        )
        room = parent.window().size() if parent else SIZE * letters(self)
        self.resize((SIZE * letters(self)).boundedTo(room.expandedTo(SIZE)))
        self._make_search()
        self.notice = words_label(store.notice, "problem", self, name="settingsNotice")
        self.notice.setVisible(bool(store.notice))
        self._make_pages()
        self._lay_out()
        self.clearer.cleared.connect(lambda _count: self.historyCleared.emit())
        store.changed.connect(self._follow)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus in the reading order of the dialog."""
        parts = (self.search_edit, self.list, *self.sections, self.buttons)
        return focus_next(parts, self.focusWidget(), forward=forward) or super().focusNextPrevChild(forward)

    def _make_search(self) -> None:
        self.search_edit = LineEdit(
            self, placeholderText=tr("Find a setting (Ctrl+F)"), clearButtonEnabled=True
        )
        named(self.search_edit, "settingsSearch", tr("Find a setting"))
        self.search_edit.textChanged.connect(self._find)
        QShortcut(QKeySequence.StandardKey.Find, self, self.search_edit.setFocus)

    def _make_pages(self) -> None:
        self.list = named(QListWidget(self), "settingsSections", tr("Sections of the settings"))
        self.list.addItems([section.title for section in self.sections])
        self.list.setCurrentRow(0)  # without one, the keyboard is in it unseen
        self.none = PlainLabel(tr("No setting matches."), self, alignment=Qt.AlignmentFlag.AlignCenter)
        self.none.setProperty("role", "muted")
        self.none.hide()
        body = named(QWidget(self), "centre")
        vbox(*self.sections, self.none, STRETCH, parent=body, spacing=GAP)
        self.scroll_area = ScrollArea(body, self)
        self.list.currentRowChanged.connect(self._go_to)
        self._following = QTimer(self, singleShot=True, interval=0)
        self._following.timeout.connect(self._mark_section)
        self.scroll_area.verticalScrollBar().valueChanged.connect(lambda _value: self._following.start())

    def _lay_out(self) -> None:
        buttons = self.buttons = self.button_box(Standard.Close)
        buttons.button(Standard.Close).setAutoDefault(False)
        row = hbox(self.list, (self.scroll_area, 1), spacing=GAP)
        parts = (self.search_edit, self.notice, (row, 1), buttons)
        vbox(*parts, parent=self, margins=(18, 16, 18, 14), spacing=GAP)
        self._fit()

    def _fit(self) -> None:
        """Show the list of sections only if there is room for it."""
        self.list.setVisible(not is_crowded(self))
        width = max(self.fontMetrics().horizontalAdvance(section.title) for section in self.sections)
        self.list.setFixedWidth(width + 44)
        for section in self.sections:
            for row in section.rows:
                row.fit()

    def _restyle(self) -> None:
        self._fit()

    def _follow(self, settings: Settings) -> None:
        for section in self.sections:
            for row in section.rows:
                row.follow(settings)
        self._fit()

    def _find(self, word: str) -> None:
        found = [section.show_matching(word.strip()) for section in self.sections]
        for index, here in enumerate(found):
            self.list.item(index).setHidden(not here)
        self.none.setVisible(not any(found))

    def _go_to(self, index: int) -> None:
        if index >= 0 and not self._following.isActive():
            self.scroll_area.verticalScrollBar().setValue(self.sections[index].y())

    def _mark_section(self) -> None:
        """Select the topmost visible section in the list."""
        top = self.scroll_area.verticalScrollBar().value()
        at_end = top == self.scroll_area.verticalScrollBar().maximum()
        shown = [place for place, section in enumerate(self.sections) if section.isVisibleTo(self)]
        above = [place for place in shown if self.sections[place].y() <= top + GAP]
        if not shown or at_end:
            return
        with QSignalBlocker(self.list):
            self.list.setCurrentRow(above[-1] if above else shown[0])


REOPEN_MS = 900
"""Delay after the last change of a load option, so that the model is not reloaded at each step of a spin box."""


class SettingsPresenter(QObject):
    """Opens the dialog and applies its changes at once. `historyCleared`: runs of the history were deleted."""

    historyCleared = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__(context.window)
        self._context = context
        self._store = context.settings
        self._before = self._store.value
        self._reopen = QTimer(self, singleShot=True, interval=REOPEN_MS)
        self._reopen.timeout.connect(self._open_again)
        context.actions.settings.triggered.connect(self.show)
        for action, by in (
            (context.actions.larger, 1),
            (context.actions.smaller, -1),
            (context.actions.usual_size, 0),
        ):
            action.triggered.connect(lambda _checked=False, by=by: self._change_text_size(by))
        self._store.failed.connect(context.show_error)
        self._store.changed.connect(self._changed)

    def show(self) -> None:
        services = self._context.services
        dialog = SettingsDialog(
            self._store, services.places, services.history, self.contacts(), self._context.window
        )
        dialog.historyCleared.connect(self.historyCleared)
        dialog.open()

    def _change_text_size(self, by: int) -> None:
        """Make the text of the whole window larger by some points; 0 for the system's size."""
        most = int(settings_of(Settings)["font_size"].setting.most)
        points = round(window_points()) + by
        self._store.update(font_size=min(max(points, LEAST_POINTS), most) if by else 0)

    def contacts(self) -> list[Contact]:
        """The recipients of data: the models in use and recently used, and the servers."""
        settings, known = self._store.value, self._context.services.servers.known
        models = (self._context.project.model, settings.model, *settings.recent_models)
        servers = [each.config for each in known if not each.problem]
        return contacts(models, servers)

    def _changed(self, settings: Settings) -> None:
        before, self._before = self._before, settings
        look = (settings.theme, settings.font_size, settings.code_font)
        if look != (before.theme, before.font_size, before.code_font):
            self._context.themes.choose(*look)
        model = self._context.project.model
        if settings.load_options_of(model) != before.load_options_of(model):
            self._reopen.start()
        self._context.recorder.limit = settings.history_limit
        project = self._context.project
        untouched = project.path is None and not project.is_dirty
        if settings.first_options() != before.first_options() and untouched:
            project.new(first_project(settings))

    def _open_again(self) -> None:
        runs = self._context.runs
        if runs.model.phase not in ("none", "unloading"):
            runs.open_model(self._context.project.model)


class ContactList(QWidget):
    """The recipients of data, and the data."""

    def __init__(self, contacts: Sequence[Contact], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = vbox(words_label(summary(contacts), "", self, name="privacySummary"), parent=self, spacing=4)
        for contact in contacts:
            column.addSpacing(6)
            column.addWidget(words_label(contact.who, "title", self))
            column.addWidget(words_label(contact.what, parent=self))


class HistoryClearer(QWidget):
    """Clears the history after the user's confirmation. `cleared` carries the number of deleted runs."""

    cleared = Signal(int)

    def __init__(self, history: History, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._background = Background(self)
        self.button = push_button(tr("Clear history…"), self, name="clearHistoryButton", clicked=self._ask)
        self.note = words_label(parent=self)
        hbox(self.button, (self.note, 1), parent=self, spacing=12)

    def clear(self, *, keep_pinned: bool) -> None:
        self.button.setEnabled(False)
        history = self._history
        self._background.start(
            "clear", lambda: history.clear(keep_pinned=keep_pinned), self._cleared, self._failed
        )

    def _ask(self) -> None:
        ask(
            self,
            "clearHistoryQuestion",
            tr("Delete the runs of the history?"),
            tr("This cannot be undone. Runs saved as files are kept."),
            (tr("Keep pinned runs"), Role.DestructiveRole, lambda: self.clear(keep_pinned=True)),
            (tr("Delete all"), Role.DestructiveRole, lambda: self.clear(keep_pinned=False)),
        )

    def _cleared(self, count: int) -> None:
        self.button.setEnabled(True)
        self.note.setText(tr("%n run(s) deleted.", "", count))
        self.cleared.emit(count)

    def _failed(self, error: BaseException) -> None:
        self.button.setEnabled(True)
        self.note.setText(str(error))


class PromptClearer(QWidget):
    """The number and size of the evaluated prompts on disk, which can be deleted at any time at no cost but time."""

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._background = Background(self)
        self.button = push_button(tr("Clear prompts"), self, name="clearPromptsButton", clicked=self.clear)
        self.note = words_label(parent=self, name="storedPrompts")
        hbox(self.button, (self.note, 1), parent=self, spacing=12)
        self._show(stored_files(folder))  # a few dozen at most

    def clear(self) -> None:
        folder = self._folder

        def work() -> list[StoredFile]:
            clear_cache(folder)
            return stored_files(folder)

        self.button.setEnabled(False)
        self._background.start("clear", work, self._show, lambda error: self.note.setText(str(error)))

    def _show(self, files: Sequence[StoredFile]) -> None:
        self.button.setEnabled(bool(files))
        size = byte_size(sum(file.size for file in files))
        self.note.setText(tr("%n prompt(s), {size}", "", len(files), size=size) if files else tr("None."))


def privacy_section(
    contacts: Sequence[Contact], clearer: HistoryClearer, prompts: PromptClearer, logs: Path
) -> SettingSection:
    """`logs` is the folder of crash reports."""
    hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    return SettingSection(
        tr("Privacy"),
        (
            SettingRow(tr("Network access"), ContactList(contacts), wide=True),
            SettingRow(
                tr("Downloads"),
                words_label(
                    tr(
                        "Only when you search for or download a model: {address} receives the search words, "
                        "the repository, the file, and your access token if one is set; nothing else.",
                        address=hub,
                    )
                ),
                wide=True,
            ),
            SettingRow(
                tr("Keys"),
                words_label(tr("Stored in the system keyring, never in a project, record or bundle.")),
                wide=True,
            ),
            SettingRow(
                tr("Crash reports"),
                words_label(
                    tr("Stored in {folder} and shown at the next start; nothing is sent.", folder=logs)
                ),
                wide=True,
            ),
            SettingRow(
                tr("History"),
                clearer,
                tr("Each run is stored on this computer with its prompt, answer and results."),
                wide=True,
            ),
            SettingRow(
                tr("Evaluated prompts"),
                prompts,
                tr(
                    "Long prompts are stored on this computer, as tokens and llama.cpp’s state, so that the next start "
                    "does not evaluate them again. The section Limits sets their size; 0 stores none."
                ),
                wide=True,
            ),
        ),
    )


NOTHING = tr(
    "Runs and calls send nothing over the network: no endpoint and no HTTP MCP server is configured."
)


class Contact(NamedTuple):
    """A recipient of data, in words, and the data. `away`: it may be another computer."""

    who: str
    what: str
    away: bool


def contacts(models: Iterable[str], servers: Iterable[ServerConfig]) -> list[Contact]:
    """The recipients among the configured or recently used models and the servers, each once."""
    found: dict[str, Contact] = {}
    for model in models:
        if not is_address(model):
            continue
        try:
            address = read_address(model)
        except GlyphscopeError:
            continue  # it cannot receive anything
        where = tr("on this computer") if address.loopback else tr("remote")
        found.setdefault(
            address.base,
            Contact(
                tr("Endpoint {address}, {where}", address=address.base, where=where),
                tr(
                    "Receives the prompt, the tools and the sampling parameters of runs that use it, and "
                    "its key if one is stored."
                ),
                not address.loopback,
            ),
        )
    programs = []
    for server in servers:
        if server.disabled:
            continue
        if not server.url:
            programs.append(server.name)
            continue
        found.setdefault(
            server.url,
            Contact(
                tr("MCP server {name}, {address}", name=server.name, address=_place_of(server.url)),
                tr(
                    "When started: receives the arguments of each call of its tools, and its configured "
                    "headers or your sign-in. Signing in also contacts its authorization server."
                ),
                True,
            ),
        )
    listed = list(found.values())
    if programs:
        listed.append(
            Contact(
                tr(
                    "Programs on this computer that are MCP servers: {programs}", programs=", ".join(programs)
                ),
                tr(
                    "They receive the arguments of each call of their tools; Glyphscope does not control "
                    "what they do with them."
                ),
                False,
            )
        )
    return listed


def _place_of(url: str) -> str:
    """The address without the query, which may contain a key."""
    return url.partition("?")[0].partition("#")[0]


def summary(listed: Iterable[Contact]) -> str:
    """A summary of the recipients in a sentence."""
    away = sum(contact.away for contact in listed)
    if not away:
        return NOTHING
    return tr("Data is sent to %n configured destination(s), only when a run or call uses them.", "", away)
