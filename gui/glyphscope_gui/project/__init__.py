"""The documents of a project (registry, prompt, grammar) and the settings store."""
