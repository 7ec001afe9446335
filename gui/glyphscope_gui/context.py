"""The interface between the application and its pages: a page gets only an `AppContext`, and the window knows a page
only as a `Page`. A test makes a page with fakes, without the window (tests/support/fake_context.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, TypeAlias

from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from glyphscope.events import AnyEvent
from glyphscope_gui.project import ProjectController, SettingsStore
from glyphscope_gui.runs.recorder import Recorder
from glyphscope_gui.runs.run_controller import Phase, RunController
from glyphscope_gui.runs.run_rules import RunRules
from glyphscope_gui.runs.shown_record import ShownRecord
from glyphscope_gui.services import Services
from glyphscope_gui.shared.actions import Actions
from glyphscope_gui.shared.background import end_work, is_working
from glyphscope_gui.shared.page_ids import HeaderPart, MenuId, PageId, PanelId
from glyphscope_gui.shared.verdict import EnforcementMap
from glyphscope_gui.theme import ThemeManager


@dataclass(frozen=True)
class FilePlace:
    """A file that a page opens."""

    path: Path


@dataclass(frozen=True)
class RulePlace:
    """A rule of the shown run's grammar; `grammar` is that run's custom grammar, None for the tools'."""

    rule: str
    grammar: str | None


@dataclass(frozen=True)
class PromptsPlace:
    """The comparison of two prompts."""


@dataclass(frozen=True)
class LackingPlace:
    """The constraints that the run's constraint does not enforce."""


@dataclass(frozen=True)
class RunsPlace:
    """The comparison of recorded runs: the events of each."""

    runs: tuple[tuple[AnyEvent, ...], ...]


Place: TypeAlias = FilePlace | RulePlace | PromptsPlace | LackingPlace | RunsPlace
"""A place on a page to open."""


class Navigator(Protocol):
    """Switches pages. `leaving` carries the PageId of the page that is still shown, then `shown` that of the next."""

    leaving: SignalInstance
    shown: SignalInstance

    @property
    def current(self) -> PageId: ...

    def show(self, page: PageId, place: Place | None = None) -> None:
        """Show a page as it was left, or at a place on it."""

    def begin_presentation(self) -> None:
        """Hide everything but the page, in full screen."""

    def end_presentation(self) -> None:
        """Show everything again, as it was before."""


class Panels(Protocol):
    """The panels beside the pages. `argumentSelected` carries the names of a tool and of an argument, or None."""

    argumentSelected: SignalInstance

    def reveal(self, panel: PanelId) -> None:
        """Bring a panel to the front."""

    def reveal_argument(self, tool: str, argument: str | None, *, focus: bool = False) -> None:
        """Select an argument, or a whole tool, in its editor; `focus` moves the keyboard focus there."""

    def import_tools(self, path: Path) -> None:
        """Read a file of tools, and ask what to do with them."""

    def reveal_rendered_prompt(self) -> None:
        """Show the last prompt that was sent."""

    def reveal_messages(self) -> None:
        """Show the editor of the conversation's messages."""

    def show_enforcement(self, badges: EnforcementMap) -> None:
        """Show beside each argument how its constraints are enforced."""

    def show_unenforced(self, count: int) -> None:
        """Show how many constraints of the tools only the validator checks."""


class Status(Protocol):
    """The status line."""

    def set_activity(self, words: str, *, of_run: bool = False) -> None:
        """Show the page's activity in place of the state of the run or model, and of the shown run's figures unless it
        is `of_run`; "" for none.
        """

    def set_note(self, words: str) -> None:
        """Show a note, until the next one."""

    def show_result(self, words: str) -> None:
        """Show the result of an action in place of the note, until another page is shown."""


@dataclass(frozen=True)
class AppContext:
    """The parts of the application that a page may use. `window` is the parent of its dialogs."""

    services: Services
    runs: RunController
    rules: RunRules
    record: ShownRecord
    recorder: Recorder
    actions: Actions
    navigator: Navigator
    panels: Panels
    status: Status
    themes: ThemeManager
    window: QWidget
    show_error: Callable[[BaseException], None]
    offer: Callable[[str, str, Callable[[], None]], None]
    """Show a notice. The arguments are its text, its button's text and its button's action."""

    @property
    def project(self) -> ProjectController:
        return self.services.project

    @property
    def settings(self) -> SettingsStore:
        return self.services.settings


class Page(QObject):
    """A page of the window. A subclass sets `id`, `title`, `tip` and `widget`, and overrides what it needs.

    `headerChanged` is emitted when `header` changes.
    """

    headerChanged = Signal()

    id: ClassVar[PageId]
    title: ClassVar[str]
    tip: ClassVar[str]
    """The purpose of the page, in a sentence."""
    in_rail: ClassVar[bool] = True
    """Whether it has a button in the rail of pages."""
    can_run: ClassVar[bool] = False
    """Whether Run (Ctrl+Enter) does something on this page."""
    widget: QWidget

    def __init__(self, context: AppContext) -> None:
        super().__init__(context.window)
        self.context = context

    @property
    def menu_actions(self) -> Mapping[MenuId, Sequence[QAction]]:
        """Actions for menus of the window, each with its shortcut."""
        return {}

    @property
    def header(self) -> frozenset[HeaderPart]:
        """The parts of the top bar on this page: the settings that it uses, and Run unless it has its own button."""
        return frozenset({HeaderPart.MODEL})

    @property
    def is_busy(self) -> bool:
        """Whether anything of the page is running or about to."""
        return is_working(self, self.widget)

    @property
    def unfinished(self) -> str:
        """The work that closing the window would interrupt, in sentences; empty if there is none."""
        return ""

    @property
    def side_panel(self) -> QWidget | None:
        """This page's panel on the right."""
        return None

    def run(self) -> None:
        """Run the project's next request; while stepping, continue without pauses. A page may do something else."""
        runs = self.context.runs
        if runs.phase is Phase.STEPPING:
            runs.resume()
        else:
            runs.run(self.context.project.next_run())

    def step(self) -> None:
        """Decode one step; the first press starts the run."""
        runs = self.context.runs
        if runs.phase is Phase.STEPPING:
            runs.step()
        else:
            runs.run(self.context.project.next_run(), stepping=True)

    def go_to(self, place: Place) -> None:
        """Go to a place on this page, which is already shown."""

    def offer(self, words: str, button: str, do: Callable[[], None]) -> None:
        """Show a notice about an event elsewhere; called only on the first page."""

    def complete(self) -> None:
        """Make the parts that the window's first picture does not contain; called once, soon after it is painted."""

    def close(self) -> None:
        """Stop timers and background work, as the window closes."""
        end_work(self, self.widget)
