"""The tree of the shown run's branches: read from the history, extended by new branches, navigated back and forward.

A branch is a run like any other: it is started here, and stored by the recorder.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import AnyEvent, ConstraintKind, Relaxed, RunRequest, RunStarted
from glyphscope.runs import branch_request, branch_tree
from glyphscope.runs.branch import Branch
from glyphscope.store import History, Kin
from glyphscope.store.history import kin_of
from glyphscope_gui.runs.run_controller import EndedRun
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.shared.background import Background

MAX_BRANCHES = 64
"""Number of runs whose events are cached, so that switching between them reads no file."""
Events = tuple[AnyEvent, ...]


@dataclass(frozen=True)
class Replacement:
    """A replacement for a token: the alternative `take`, the `text`, both, or nothing.

    `relax` and `constraint` say which constraint the branch drops.
    """

    token: int
    take: int | None = None
    text: str = ""
    constraint: ConstraintKind | None = None
    relax: Relaxed | None = None


class Branches(QObject):
    """The tree of branches, and the shown one of its runs.

    `changed`: either changed. `runRequested` carries the events of a run to be shown, `ready` the request of a branch
    to be run, `refused` why it is not possible, in words; `failed` a GlyphscopeError of the history, `notFound` one
    that only leaves the tree without relatives; `keepRequested` the events of a parent run that may not be in the
    history; `described` the id of a run with a new name.
    """

    changed = Signal()
    runRequested = Signal(object)
    ready = Signal(object)
    refused = Signal(str)
    failed = Signal(object)
    notFound = Signal(object)
    keepRequested = Signal(object)
    described = Signal(str)

    def __init__(self, history: History, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._background = Background(self)
        self._cache: OrderedDict[str, Events] = OrderedDict()
        """By run, in order of use, the least recent first."""
        self._saved_requests: set[str] = set()
        """Runs that are in the history, or are being stored."""
        self._last: dict[str, str] = {}
        """By run, the last of its branches that was shown."""
        self.kin: dict[str, Kin] = {}
        """The runs of the tree, by id."""
        self.roots: list[Branch] = []
        self.shown = ""
        """The id of the shown run."""
        self._started: RunStarted | None = None

    @property
    def parent_run(self) -> str:
        """The parent of the shown run, if it is in the tree; else ""."""
        kin = self.kin.get(self.shown)
        point = kin.started.request.branch_of if kin is not None else None
        return point.run if point is not None and point.run in self.kin else ""

    @property
    def child_run(self) -> str:
        """The last shown branch of the shown run, otherwise the newest; "" if there is none."""
        last = self._last.get(self.shown, "")
        if last in self.kin:
            return last
        children = (kin for kin in self.kin.values() if _parent(kin.started.request) == self.shown)
        newest = max(children, key=lambda kin: kin.row.time, default=None)
        return newest.started.run if newest is not None and self.shown else ""

    def request_of(self, run: str) -> RunRequest | None:
        kin = self.kin.get(run)
        return kin.started.request if kin is not None else None

    # -- the shown run -----------------------------------------------------------------------------------------

    def show_run(self, shown: ShownRun) -> None:
        """When another run begins, live or recorded, add it to the tree, or begin another tree with it."""
        started = shown.run.started
        if started is self._started:
            return
        self._started = started
        if started is None:  # it is not identified yet
            self.shown = ""
        else:
            self._begin(started, is_new=shown.kind == "run")

    def finish(self, ended: EndedRun) -> None:
        first = ended.events[0] if ended.events else None
        if not self.shown or not isinstance(first, RunStarted) or first.run != self.shown:
            return
        if ended.kind == "run":
            self._saved_requests.add(self.shown)  # the recorder of runs saves it now
        kin, before = kin_of(ended.events, ended.run), self.kin.get(self.shown)
        if before is not None:
            users = {name: getattr(before.row, name) for name in ("name", "note", "pinned", "tags", "score")}
            kin = kin._replace(row=kin.row._replace(**users))
        self.kin[self.shown] = kin
        self._remember(self.shown, ended.events)
        self._grow()

    # -- requests of the user ----------------------------------------------------------------------------------

    def start(self, events: Events, replacement: Replacement, model: Callable[[RunStarted], str]) -> None:
        """Continue from a token of that run. `model` returns the name of the model to open for it."""

        def work() -> RunRequest:
            more = (
                {"relax": (replacement.relax.tool, replacement.relax.pointer)}
                if replacement.relax is not None
                else {}
            )
            return branch_request(
                events,
                replacement.token,
                take=replacement.take,
                text=replacement.text,
                constraint=replacement.constraint,
                **more,
            )

        def run(request: RunRequest) -> None:
            started = events[0]
            assert isinstance(started, RunStarted), "a run without its beginning has no request"
            try:
                name = model(started)
            except GlyphscopeError as error:  # another model was opened meanwhile, or its file is missing
                self._refuse(error)
                return
            if started.run not in self._saved_requests:
                self._saved_requests.add(started.run)
                self.keepRequested.emit(events)
            self.ready.emit(msgspec.structs.replace(request, model=name))

        self._background.start("branch", work, run, self._refuse)

    def why_not(self, events: Events, done: Callable[[str], None]) -> None:
        """Call `done` with the reason why that run cannot have branches, in words; "" if it can."""

        def work() -> str:
            try:
                branch_request(events, 0, text="x")
            except GlyphscopeError as error:
                return error.words
            return ""

        self._background.start("why", work, done, self.failed.emit)

    def show(self, run: str) -> None:
        """Request a run of the tree to be shown."""
        if run in self.kin and run != self.shown:
            self.read(run, self.runRequested.emit)

    def back(self) -> None:
        """Show the parent of the shown run."""
        self.show(self.parent_run)

    def forward(self) -> None:
        """Show the last shown branch."""
        self.show(self.child_run)

    def read(self, run: str, then: Callable[[Events], None]) -> None:
        """Call `then` with the events of a run of the tree."""
        cached = self._cache.get(run)
        if cached is not None:
            self._cache.move_to_end(run)
            then(cached)
            return

        def done(events: Events) -> None:
            self._remember(run, events)
            then(events)

        self._background.start("read", lambda: self._history.events(run), done, self.failed.emit)

    def rename(self, run: str, name: str) -> None:
        """Give a run of the tree a name, which the history stores."""
        kin = self.kin.get(run)
        if kin is None or kin.row.name == name:
            return
        self.kin[run] = kin._replace(row=kin.row._replace(name=name))
        cached = None if run in self._saved_requests else self._cache.get(run)

        def work() -> None:
            if cached is not None:
                self._history.add(cached)
            self._history.describe(run, name=name)

        self._saved_requests.add(run)
        self._background.start(f"describe {run}", work, lambda _: self.described.emit(run), self.failed.emit)
        self.changed.emit()

    def look_again(self, run: str) -> None:
        """Reread the description of a run that the user changed elsewhere."""
        if run in self.kin:
            self._find(run)

    def _begin(self, started: RunStarted, *, is_new: bool) -> None:
        parent = _parent(started.request)
        is_known = started.run in self.kin
        if not started.run or not (is_known or parent in self.kin):
            self.kin, self._last = {}, {}
            self._cache.clear()
            self._saved_requests.clear()
        self.shown = started.run
        if started.run:
            if parent:
                self._last[parent] = started.run
            if not is_known:
                self.kin[started.run] = kin_of((started,))
        self._grow()
        if started.run and not is_new and not is_known:
            self._find(started.run)

    def _find(self, run: str) -> None:
        """Look for the run's relatives in the history."""
        self._background.start(
            "family",
            lambda: self._history.family(run),
            lambda family: self._found(run, family),
            self.notFound.emit,
        )

    def _found(self, run: str, family: list[Kin]) -> None:
        """Add the relatives, with the names and notes from the history."""
        if run not in self.kin:  # another tree is now shown
            return
        self._saved_requests |= {kin.started.run for kin in family}
        for kin in family:
            if kin.started.run in self._cache or kin.started.run != self.shown:
                self.kin[kin.started.run] = kin
            else:
                known = self.kin[self.shown]
                row = known.row._replace(name=kin.row.name, note=kin.row.note)
                self.kin[self.shown] = known._replace(row=row)
        self._grow()

    def _grow(self) -> None:
        self.roots = branch_tree([kin.started] for kin in self.kin.values())
        self.changed.emit()

    def _remember(self, run: str, events: Events) -> None:
        self._cache[run] = events
        self._cache.move_to_end(run)
        while len(self._cache) > MAX_BRANCHES:
            self._cache.popitem(last=False)

    def _refuse(self, error: BaseException) -> None:
        if not isinstance(error, GlyphscopeError):
            raise error  # a bug, which is reported like any other
        self.refused.emit(error.words)


def _parent(request: RunRequest) -> str:
    return request.branch_of.run if request.branch_of is not None else ""
