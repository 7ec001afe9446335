"""Servers of tools that use the Model Context Protocol: their configuration, processes and calls.

The official SDK, which is an extra, is not loaded before a server is started.
"""

from glyphscope.tools.mcp.config import ServerConfig, command_server, read_servers
from glyphscope.tools.mcp.listing import ToolProblem
from glyphscope.tools.mcp.server import McpServer
