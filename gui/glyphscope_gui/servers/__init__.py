"""The page of MCP servers: connect, list and call their tools."""

from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.servers.presenter import ServersPresenter


def create(context: AppContext) -> Page:
    """Make the page."""
    return ServersPresenter(context)
