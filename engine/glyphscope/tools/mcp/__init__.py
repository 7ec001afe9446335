"""Servers of tools that use the Model Context Protocol: their configuration, processes and calls.

The official SDK, which is an extra, is not loaded before a server is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.tools.mcp.config import (
        OAuthConfig,
        ServerConfig,
        command_server,
        read_servers,
        server_entries,
    )
    from glyphscope.tools.mcp.content import read_prompt, read_resource, read_result
    from glyphscope.tools.mcp.lines import BoundedLines, Line
    from glyphscope.tools.mcp.listing import ToolProblem
    from glyphscope.tools.mcp.offers import Completion, OfferReader, read_completion
    from glyphscope.tools.mcp.questions import MAX_QUESTION_BYTES, Answer, Question
    from glyphscope.tools.mcp.server import McpServer
    from glyphscope.tools.mcp.tokens import forget_sign_in, stored_sign_in
else:
    __getattr__ = interface(__name__)
