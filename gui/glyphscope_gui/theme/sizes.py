"""Distances, in logical pixels: the same everywhere, so that edges line up."""

from __future__ import annotations

GAP = 12
"""Between cards, and between groups of controls."""
PAD = 14
"""Inside a card, at its sides."""
TIGHT = 6
"""Between things that belong together."""
RADIUS = 8
"""Corners of cards; controls have 5."""
ROW = 8
"""What a table row is higher than its text."""
