"""English verbs: their forms, their Spanish, and whether a subject agrees. `server` serves them over MCP."""
