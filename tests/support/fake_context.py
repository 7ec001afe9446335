"""An `AppContext` without the window: real services and runs, and fakes that record a page's requests to the shell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QWidget

from glyphscope.models.scripted import ScriptedModel
from glyphscope.store import places
from glyphscope_gui.context import AppContext, Place
from glyphscope_gui.runs import RunController, RunRules, ShownRecord
from glyphscope_gui.runs.recorder import Recorder
from glyphscope_gui.services import make_services
from glyphscope_gui.shared import Actions
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.theme import ThemeManager

CALL = '{action="search" query="AI news" max_results=10}'


class FakeNavigator(QObject):
    """`visits` are the pages that were shown, each with the place on it."""

    leaving = Signal(object)
    shown = Signal(object)

    def __init__(self, parent: QObject, current: PageId) -> None:
        super().__init__(parent)
        self.current = current
        self.visits: list[tuple[PageId, Place | None]] = []
        self.is_presenting = False

    def show(self, page: PageId, place: Place | None = None) -> None:
        self.visits.append((page, place))
        if page != self.current:
            self.leaving.emit(self.current)
            self.current = page
            self.shown.emit(page)

    def begin_presentation(self) -> None:
        self.is_presenting = True

    def end_presentation(self) -> None:
        self.is_presenting = False


class FakePanels(QObject):
    """`revealed` are the requested panels, arguments, rendered prompt and messages."""

    argumentSelected = Signal(str, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.revealed: list[Any] = []
        self.badges: dict[tuple[str, str], str] = {}

    def reveal(self, panel: PanelId) -> None:
        self.revealed.append(panel)

    def reveal_argument(self, tool: str, argument: str | None, *, focus: bool = False) -> None:
        self.revealed.append((tool, argument))

    def reveal_rendered_prompt(self) -> None:
        self.revealed.append("rendered prompt")

    def reveal_messages(self) -> None:
        self.revealed.append("messages")

    def show_unenforced(self, count: int) -> None:
        self.unenforced = count

    def show_enforcement(self, badges: Any) -> None:
        self.badges = dict(badges)


@dataclass
class FakeStatus:
    """`activity` is the page's current activity, `notes` are all that were shown, with the results of actions."""

    activity: str = ""
    notes: list[str] = field(default_factory=list)

    def set_activity(self, words: str, *, of_run: bool = False) -> None:
        self.activity = words

    def set_note(self, words: str) -> None:
        self.notes.append(words)

    show_result = set_note


@dataclass(frozen=True)
class FakeContext(AppContext):
    """`errors` and `offers` are those that a page showed."""

    errors: list[BaseException] = field(default_factory=list)
    offers: list[tuple[str, str, Callable[[], None]]] = field(default_factory=list)

    def close(self) -> None:
        self.runs.close()
        self.services.close()
        end_work(self.window)
        self.window.deleteLater()


def scripted(_name: str, **_options: object) -> ScriptedModel:
    return ScriptedModel(CALL)


def fake_context(
    app: QApplication, opener: Callable[..., Any] = scripted, *, current: PageId = PageId.PLAYGROUND
) -> FakeContext:
    """Return a context with the model that `opener` opens; the caller closes it, after the pages that use it."""
    window = QWidget()
    services = make_services(places(), window, opener)
    errors: list[BaseException] = []
    offers: list[tuple[str, str, Callable[[], None]]] = []
    runs = RunController(services.open_model, window, services.servers.sources, services.settings.options_of)
    return FakeContext(
        services=services,
        runs=runs,
        rules=RunRules(window),
        record=ShownRecord(runs, services.project, window),
        recorder=Recorder(services.history, services.settings.value.history_limit, window),
        actions=Actions(window),
        navigator=FakeNavigator(window, current),
        panels=FakePanels(window),
        status=FakeStatus(),
        themes=ThemeManager(app, "light", parent=window),
        window=window,
        show_error=errors.append,
        offer=lambda words, button, do: offers.append((words, button, do)),
        errors=errors,
        offers=offers,
    )
