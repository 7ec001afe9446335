"""The MCP servers that runs and pages use: which are known, which run, and the tools they list."""
