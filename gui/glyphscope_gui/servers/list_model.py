"""The list of servers: the tools that come with the program first, then those that the user has configured."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractListModel, QObject, Qt

from glyphscope.visible import visible
from glyphscope_gui.mcp.servers import DEMO, ServersController
from glyphscope_gui.servers.words import StateWords, state_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import NO_INDEX, Index

STATE_ROLE = Qt.ItemDataRole.UserRole
NAME_ROLE = Qt.ItemDataRole.UserRole + 1
DEMO_TITLE = tr("Demo tools")


class ServersListModel(QAbstractListModel):
    def __init__(self, servers: ServersController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._servers = servers
        self._names = self._found()
        servers.listChanged.connect(self._reset)
        servers.stateChanged.connect(self._state_changed)

    def name(self, row: int) -> str:
        """Under which the row's source is known; "" for no row."""
        return self._names[row] if 0 <= row < len(self._names) else ""

    def row_of(self, name: str) -> int:
        return self._names.index(name) if name in self._names else -1

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._names)

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        name = self._names[index.row()]
        state = self._state(name)
        if role == Qt.ItemDataRole.DisplayRole:
            return DEMO_TITLE if name == DEMO else name
        if role == NAME_ROLE:
            return name
        if role == STATE_ROLE:
            return state
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{DEMO_TITLE if name == DEMO else name}: {state.words}"
        if role == Qt.ItemDataRole.ToolTipRole:
            known = self._servers.get(name)
            if known is None:
                return tr("The tools bundled with Glyphscope. They have no effect outside this computer.")
            return plain_tip(
                visible(known.source.config.identity, spaces=True) if known.source else known.problem
            )
        return None

    def _state(self, name: str) -> StateWords:
        known = self._servers.get(name)
        if known is None:
            return StateWords(tr("built in · %n tool(s)", "", len(self._servers.demo.tools())), "holds", "●")
        return state_words(known)

    def _found(self) -> list[str]:
        return [DEMO, *(known.name for known in self._servers.known)]

    def _reset(self) -> None:
        self.beginResetModel()
        self._names = self._found()
        self.endResetModel()

    def _state_changed(self, name: str) -> None:
        row = self.row_of(name)
        if row >= 0:
            self.dataChanged.emit(self.index(row), self.index(row))
