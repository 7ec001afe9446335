"""Texts for users, according to docs/style.md: figures with units, shortened texts, places in a text."""
