"""The page of MCP servers: connect, list and call their tools."""
