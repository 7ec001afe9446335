"""Engines of other servers in the enforcement table: which have a column, and their installation after consent."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope.explain.proof.outside import OUTSIDE, OutsideName, install, installed
from glyphscope_gui.enforcement.rows import Outside
from glyphscope_gui.enforcement.table import OUTSIDE_ENGINES, Engines
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import Role, ask
from glyphscope_gui.shared.language import tr


class OtherEngines(QObject):
    """`changed`: other engines are shown, or one is being installed; `failed` carries the error of an installation.

    They are tested only while they are shown, as each tool takes two starts of their process.
    """

    changed = Signal()
    failed = Signal(object)

    def __init__(self, folder: Path, view: QWidget) -> None:
        super().__init__(view)
        self._folder, self._view, self._jobs = folder, view, Background(self)
        self._shown: tuple[OutsideName, ...] = ()
        self.installing = ""
        """The package that is being installed; empty for none."""

    @property
    def outside(self) -> Outside:
        """The shown engines, with their folder."""
        return Outside(self._shown, self._folder)

    @property
    def columns(self) -> Engines:
        return tuple(column for column in OUTSIDE_ENGINES if column[0] in self._shown)

    def fill(self, menu: QMenu) -> None:
        """Fill the menu with the engines; those whose column is shown are checked."""
        menu.clear()
        for name, (package, _, _) in OUTSIDE.items():
            absent = name not in installed(self._folder)
            action = menu.addAction(tr("Install {package}…", package=package) if absent else package)
            action.setCheckable(True)
            action.setChecked(name in self._shown)
            action.setEnabled(not self.installing)
            action.triggered.connect(partial(self._choose, name, absent))

    def _choose(self, name: OutsideName, absent: bool, _checked: bool = False) -> None:
        if not absent:
            self._toggle(name)
            return
        package, megabytes, _ = OUTSIDE[name]
        ask(
            self._view,
            "installEngineDialog",
            tr("Install {package}?", package=package),
            tr(
                "pip installs it from its package index into {folder}, about {megabytes} MB, apart from Glyphscope. "
                "It tests which constraints it enforces. To uninstall it, remove the folder.",
                folder=str(self._folder / name), megabytes=megabytes,
            ),
            (tr("Install"), Role.AcceptRole, partial(self._install, name)),
        )  # fmt: skip

    def _install(self, name: OutsideName) -> None:
        self.installing = OUTSIDE[name].package
        self._jobs.start(
            "install",
            partial(install, self._folder, name),
            lambda _nothing: self._installed(name),
            self._not_installed,
        )
        self.changed.emit()

    def _installed(self, name: OutsideName) -> None:
        self.installing = ""
        self._toggle(name)

    def _not_installed(self, error: BaseException) -> None:
        self.installing = ""
        self.changed.emit()
        self.failed.emit(error)

    def _toggle(self, name: OutsideName) -> None:
        shown = {*self._shown} ^ {name}
        self._shown = tuple(each for each in OUTSIDE if each in shown)
        self.changed.emit()
