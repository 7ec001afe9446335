"""The servers, with the demo tools first: a sign, a name, and the state of each."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QSize, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.visible import visible
from glyphscope_gui.mcp.servers import DEMO, ServersController
from glyphscope_gui.servers.words import StateWords, state_words
from glyphscope_gui.shared.cells import LinesDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import Line, ListModel

DEMO_TITLE = tr("Demo tools")


class ServersListModel(ListModel[str]):
    """A row for each server, by its name."""

    def __init__(self, servers: ServersController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._servers = servers
        self._reset()
        servers.listChanged.connect(self._reset)
        servers.stateChanged.connect(self._state_changed)

    def words(self, row: str, column: int) -> str:
        return DEMO_TITLE if row == DEMO else row

    def spoken(self, row: str, column: int) -> str:
        return f"{self.words(row, column)}: {self._state(row).words}"

    def tip(self, row: str, column: int) -> str:
        known = self._servers.get(row)
        if known is None:
            return tr("The tools bundled with Glyphscope. They have no effect outside this computer.")
        return visible(known.source.config.identity, spaces=True) if known.source else known.problem

    def lines(self, row: str) -> tuple[Line, ...]:
        """The name, with the sign of the state, and the state in words."""
        state = self._state(row)
        role = state.role if state.role != "holds" else "text-muted"
        name = Line(self.words(row, 0), small=False, sign=state.sign, sign_role=state.role)
        return name, Line(state.words, role)

    def _state(self, name: str) -> StateWords:
        known = self._servers.get(name)
        if known is None:
            return StateWords(tr("built in · %n tool(s)", "", len(self._servers.demo.tools())), "holds", "●")
        return state_words(known)

    def _reset(self) -> None:
        self.show_rows([DEMO, *(known.name for known in self._servers.known)])

    def _state_changed(self, name: str) -> None:
        if (row := self.row_of(name)) >= 0:
            self._changed(row, row + 1)


class ServerList(PlainList):
    """`chosen` carries the name of the shown server."""

    chosen = Signal(str)

    def __init__(self, model: ServersListModel, parent: QWidget | None = None) -> None:
        super().__init__(model, "serverList", tr("Servers"), parent, uniformItemSizes=True)
        self._model = model
        self.current = ""
        self.setItemDelegate(LinesDelegate(self))
        self.setMouseTracking(True)
        self.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self._keep)

    def choose(self, name: str) -> None:
        self.setCurrentIndex(self._model.index(self._model.row_of(name), 0))

    def sizeHint(self) -> QSize:
        return QSize(220, 200)

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        name = self._model.row(current.row())
        if name is not None and name != self.current:
            self.current = name
            self.chosen.emit(name)

    def _keep(self) -> None:
        """Select the same server after the list has changed, or the first if it was removed."""
        self.choose(self.current if self._model.row_of(self.current) >= 0 else DEMO)
