"""Prompts: presets and users' templates, rendered with the registry."""
