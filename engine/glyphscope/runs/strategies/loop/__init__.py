"""The tool loop: a conversation of calls and results, its guardrails and presets."""
