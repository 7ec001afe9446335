"""Servers of tools that speak the Model Context Protocol: their configuration, their processes, their calls.

Nothing here loads the official SDK, which is an extra, before a server is started.
"""

from glyphscope.tools.mcp.config import ServerConfig, command_server, read_servers
from glyphscope.tools.mcp.listing import ToolProblem
from glyphscope.tools.mcp.server import McpServer
