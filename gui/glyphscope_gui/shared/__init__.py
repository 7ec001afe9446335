"""Widgets and helpers that know no feature."""
