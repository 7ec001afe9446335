"""The menu bar: every action is here, with its shortcut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QMenuBar

from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.shared.actions import Actions
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import MenuId


def fill_menus(
    bar: QMenuBar,
    actions: Actions,
    undo: Sequence[QAction],
    pages: Sequence[QAction],
    panels: Sequence[QAction],
    settings: SettingsStore,
    open_project: Callable[[Path], None],
    of_pages: Mapping[MenuId, Sequence[QAction]],
    tools: Sequence[QAction],
) -> QMenu:
    """Fill the menus; `undo` are undo and redo, `of_pages` the actions of pages by menu, `tools` those that import
    tools. Returns the Edit menu.
    """
    file = named(bar.addMenu(tr("&File")), MenuId.FILE)
    file.addActions([actions.new, actions.open])
    file.addMenu(_recent_menu(file, settings, open_project))
    file.addActions([actions.save, actions.save_as])
    file.addSeparator()
    file.addActions(list(tools))
    file.addSeparator()
    file.addActions([actions.get_model, actions.open_model, actions.model_page, actions.unload_model])
    file.addActions(of_pages[MenuId.FILE])
    file.addActions([actions.open_record, actions.save_record, actions.share])
    file.addSeparator()
    file.addActions([actions.settings, actions.quit])
    edit = bar.addMenu(tr("&Edit"))
    edit.addActions(list(undo))
    edit.addSeparator()
    edit.addActions([actions.cut, actions.copy, actions.paste, actions.select_all])
    edit.addSeparator()
    edit.addAction(actions.find)
    run = named(bar.addMenu(tr("&Run")), MenuId.RUN)
    run.addActions([actions.run, actions.step, actions.stop])
    run.addSeparator()
    run.addAction(actions.options)
    run.addSeparator()
    run.addActions([actions.continue_aborted, actions.replay, actions.run_again])
    run.addSeparator()
    run.addActions(list(of_pages[MenuId.RUN]))
    run.addSeparator()
    run.addAction(actions.capture)
    view = named(bar.addMenu(tr("&View")), MenuId.VIEW)
    view.addActions(list(pages))
    view.addSeparator()
    view.addActions([actions.focus_prompt, actions.focus_stream, actions.focus_tokens, actions.focus_notice])
    view.addSeparator()
    view.addActions(list(panels))
    view.addSeparator()
    view.addActions([actions.larger, actions.smaller, actions.usual_size])
    _add_themes(view, settings)
    view.addSeparator()
    view.addActions(list(of_pages[MenuId.VIEW]))
    help_menu = bar.addMenu(tr("&Help"))
    help_menu.addActions([actions.guide, actions.shortcuts, actions.glossary, actions.tour])
    help_menu.addSeparator()
    help_menu.addAction(actions.palette)
    help_menu.addSeparator()
    help_menu.addAction(actions.about)
    return edit


def _recent_menu(parent: QMenu, settings: SettingsStore, open_project: Callable[[Path], None]) -> QMenu:
    menu = QMenu(tr("Open re&cent"), parent)

    def fill() -> None:
        menu.clear()
        for path in settings.value.recent_projects:
            action = menu.addAction(path.replace("&", "&&"))
            action.triggered.connect(lambda _checked=False, chosen=path: open_project(Path(chosen)))
        if menu.isEmpty():
            menu.addAction(tr("No projects yet")).setEnabled(False)

    menu.aboutToShow.connect(fill)
    return menu


def _add_themes(menu: QMenu, settings: SettingsStore) -> None:
    group = QActionGroup(menu)
    themes = {"system": tr("System theme"), "light": tr("Light theme"), "dark": tr("Dark theme")}
    for value, words in themes.items():
        action = menu.addAction(words)
        action.setCheckable(True)
        action.setData(value)
        action.setChecked(settings.value.theme == value)
        action.triggered.connect(lambda _checked=False, chosen=value: settings.update(theme=chosen))
        group.addAction(action)

    def follow(value: object) -> None:
        for action in group.actions():
            action.setChecked(action.data() == settings.value.theme)

    settings.changed.connect(follow)
