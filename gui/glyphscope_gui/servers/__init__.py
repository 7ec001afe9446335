"""The page of MCP servers: connect, list and call their tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.servers.presenter import ServersPresenter

if TYPE_CHECKING:
    from glyphscope_gui.servers.call_form import Suggestions
    from glyphscope_gui.servers.call_result import IMAGE_SIDE, MAX_TEXT, call_view, shown_text
    from glyphscope_gui.servers.debugging import RequestDialog
    from glyphscope_gui.servers.dialogs import ImportServersDialog, RootsDialog, ServerDialog, find_servers
    from glyphscope_gui.servers.log import ServerLog, ServersLogModel, is_resendable
    from glyphscope_gui.servers.tools import clashes, imported_name, plan_import, registry_words
else:
    __getattr__ = interface(__name__)


def create(context: AppContext) -> Page:
    """Make the page."""
    return ServersPresenter(context)
