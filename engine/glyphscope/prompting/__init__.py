"""Prompts: their templates, messages and costs, and what changed since the last one."""
