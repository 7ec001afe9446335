"""The pages of the window and the panels beside them, by name."""

from __future__ import annotations

from enum import StrEnum


class PageId(StrEnum):
    """The pages, in the order of the rail.

    Each is the package of that name in `glyphscope_gui`, whose `create(context)` makes the page.
    """

    PLAYGROUND = "playground"
    GRAMMAR = "grammar"
    SERVERS = "servers"
    EVALUATE = "evaluate"
    COMPARE = "compare"
    TEMPLATE = "template"
    LESSONS = "lessons"


class PanelId(StrEnum):
    """The panels on the left, which all pages share; the value is the objectName of the dock."""

    TOOLS = "toolsDock"
    PROMPT = "promptDock"
    HISTORY = "historyDock"


class HeaderPart(StrEnum):
    """The parts of the top bar. A page shows those that it uses (`Page.header`)."""

    MODEL = "model"
    CALL = "call"
    """Notation and constraint."""
    OPTIONS = "options"
    RUN = "run"
    """Step, Stop and Run."""


class MenuId(StrEnum):
    """The menus to which a page adds actions; the value is the menu's objectName."""

    FILE = "fileMenu"
    RUN = "runMenu"
    VIEW = "viewMenu"
