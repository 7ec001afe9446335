"""The window: its frame, menus, rail of pages, docks, files and status line. It puts the pages together."""

from glyphscope_gui.shell.main_window import MainWindow as Window
