"""Texts against any context-free grammar: accepted or not, where it fails, what may come next, by which rules."""
