"""The menu bar: every action is reachable from here, and says its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtGui import QAction, QActionGroup, QUndoStack
from PySide6.QtWidgets import QMenu, QMenuBar

from glyphscope_gui.actions import Actions
from glyphscope_gui.settings.sections import THEMES
from glyphscope_gui.settings.settings_store import SettingsStore


def fill_menus(
    bar: QMenuBar,
    actions: Actions,
    undo_stack: QUndoStack,
    pages: Sequence[QAction],
    panels: Sequence[QAction],
    settings: SettingsStore,
    open_project: Callable[[Path], None],
    exports: QMenu,
) -> None:
    """Put everything in its menu."""
    file = bar.addMenu("&File")
    file.addActions([actions.new, actions.open])
    file.addMenu(_recent_menu(file, settings, open_project))
    file.addActions([actions.save, actions.save_as])
    file.addSeparator()
    file.addActions([actions.get_model, actions.open_model, actions.open_record, actions.save_record])
    file.addMenu(exports)
    file.addSeparator()
    file.addActions([actions.settings, actions.quit])
    edit = bar.addMenu("&Edit")
    edit.addActions([undo_stack.createUndoAction(edit, "&Undo"), undo_stack.createRedoAction(edit, "&Redo")])
    run = bar.addMenu("&Run")
    run.addActions([actions.run, actions.step, actions.stop])
    run.addSeparator()
    run.addActions([actions.continue_aborted, actions.replay])
    view = bar.addMenu("&View")
    view.addActions(list(pages))
    view.addSeparator()
    view.addActions(
        [actions.focus_prompt, actions.focus_timeline, actions.focus_stream, actions.focus_tokens]
    )
    view.addSeparator()
    view.addActions(list(panels))
    view.addSeparator()
    _add_themes(view, settings)
    bar.addMenu("&Help").addAction(actions.about)


def _recent_menu(parent: QMenu, settings: SettingsStore, open_project: Callable[[Path], None]) -> QMenu:
    menu = QMenu("Open re&cent", parent)

    def fill() -> None:
        menu.clear()
        for path in settings.value.recent_projects:
            action = menu.addAction(path.replace("&", "&&"))
            action.triggered.connect(lambda _checked=False, chosen=path: open_project(Path(chosen)))
        if menu.isEmpty():
            menu.addAction("No projects yet").setEnabled(False)

    menu.aboutToShow.connect(fill)
    return menu


def _add_themes(menu: QMenu, settings: SettingsStore) -> None:
    group = QActionGroup(menu)
    for value, words in THEMES:
        action = menu.addAction(words if value == "system" else f"{words} colours")
        action.setCheckable(True)
        action.setData(value)
        action.setChecked(settings.value.theme == value)
        action.triggered.connect(lambda _checked=False, chosen=value: settings.update(theme=chosen))
        group.addAction(action)

    def follow(value: object) -> None:
        for action in group.actions():
            action.setChecked(action.data() == settings.value.theme)

    settings.changed.connect(follow)
