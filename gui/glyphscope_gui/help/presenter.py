"""The commands of the Help menu, and the tour of the first start."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenuBar

from glyphscope.events import CallReady
from glyphscope_gui.context import AppContext
from glyphscope_gui.help.commands import Command, CommandPalette, commands_of
from glyphscope_gui.help.guide import GuideDialog
from glyphscope_gui.help.hints import GLOSSARY, GlossaryHints, term_at_cursor
from glyphscope_gui.help.pages import SHORTCUTS, slug_of
from glyphscope_gui.help.tour import Tour, tour_cards
from glyphscope_gui.shared.page_ids import PageId


class HelpPresenter(QObject):
    """The palette lists the commands of the menu bar, the guide their keys."""

    def __init__(self, context: AppContext, bar: QMenuBar) -> None:
        super().__init__(context.window)
        self._context, self._bar = context, bar
        self.guide: GuideDialog | None = None
        self.tour: Tour | None = None
        actions = context.actions
        self._hints = GlossaryHints(context.window)
        actions.guide.triggered.connect(self._show_guide_or_term)
        actions.shortcuts.triggered.connect(lambda: self.show_guide(SHORTCUTS))
        actions.glossary.triggered.connect(lambda: self.show_guide(GLOSSARY))
        actions.palette.triggered.connect(self.show_palette)
        actions.tour.triggered.connect(self.show_tour)
        context.navigator.shown.connect(self._page_shown)

    def show_guide(self, page: str, heading: str = "") -> GuideDialog:
        """Open the guide at a page, or bring it there."""
        if self.guide is None:
            self.guide = GuideDialog(self._commands(), self._context.window)
            self.guide.finished.connect(self._guide_closed)
        self.guide.show_page(page, heading)
        self.guide.show()
        self.guide.activateWindow()
        return self.guide

    def show_palette(self) -> CommandPalette:
        palette = CommandPalette(self._commands(), self._context.window)
        palette.open()
        return palette

    def show_tour(self) -> None:
        """Over the playground, about the run that is shown."""
        self._context.navigator.show(PageId.PLAYGROUND)
        if self.tour is not None:
            self.tour.end()
        runs = self._context.runs
        call = next((event for event in reversed(runs.events) if isinstance(event, CallReady)), None)
        self.tour = Tour(tour_cards(runs.state, call), self._context.window, self._tour_ended)

    def close(self) -> None:
        """Close the guide and end the tour."""
        if self.tour is not None:
            self.tour.end()
        if self.guide is not None:
            self.guide.close()

    def _show_guide_or_term(self) -> None:
        """The guide, or the glossary at the term whose hint is shown."""
        term = term_at_cursor()
        if term:
            self.show_guide(GLOSSARY, slug_of(term))
        else:
            self.show_guide("guide.md")

    def _commands(self) -> list[Command]:
        return commands_of(self._bar)

    def _guide_closed(self) -> None:
        self.guide = None

    def _page_shown(self, page: PageId) -> None:
        if self.tour is not None:
            self.tour.set_in_sight(page is PageId.PLAYGROUND)

    def _tour_ended(self) -> None:
        self.tour = None
