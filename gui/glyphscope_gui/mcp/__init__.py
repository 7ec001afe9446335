"""The MCP servers that runs and pages use: the known ones, the running ones, and their tools."""
