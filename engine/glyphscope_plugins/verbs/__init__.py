"""English verbs: their forms, their Spanish translations, and subject agreement. `server` serves them over MCP."""
