"""All settings, in sections, with search. Changes apply at once, without confirmation: to the looks, the context of the
model, the history, the first project.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QListWidget, QWidget

from glyphscope.sessions import History, Places, Settings
from glyphscope_gui.context import AppContext
from glyphscope_gui.project.project_controller import first_project
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.settings.privacy import Contact, HistoryClearer, PromptClearer, contacts, privacy_section
from glyphscope_gui.settings.sections import appearance, limits, new_projects, places_section
from glyphscope_gui.shared.labels import PlainLabel, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, ScrollArea, hbox, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Standard
from glyphscope_gui.shared.tab_order import focus_next
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import GAP, is_crowded, letters

SIZE = QSize(780, 560)
"""The size at the usual text size; larger with larger text, up to the size of the screen."""


class SettingsDialog(FollowsSize, PlainDialog):
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
        self.list = named(QListWidget(self, currentRow=0), "settingsSections", tr("Sections of the settings"))
        self.list.addItems([section.title for section in self.sections])
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

    def _follow(self, settings: Settings) -> None:
        for section in self.sections:
            for row in section.rows:
                row.follow(settings)
        self._fit()

    def _find(self, word: str) -> None:
        found = [section.show_matching(word.strip()) for section in self.sections]
        for place, here in enumerate(found):
            self.list.item(place).setHidden(not here)
        self.none.setVisible(not any(found))

    def _go_to(self, place: int) -> None:
        if place >= 0 and not self._following.isActive():
            self.scroll_area.verticalScrollBar().setValue(self.sections[place].y())

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
        self._store.failed.connect(context.show_error)
        self._store.changed.connect(self._changed)

    def show(self) -> None:
        services = self._context.services
        dialog = SettingsDialog(
            self._store, services.places, services.history, self.contacts(), self._context.window
        )
        dialog.historyCleared.connect(self.historyCleared)
        dialog.open()

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
