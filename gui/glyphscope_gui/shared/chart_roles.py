"""The colour roles of charts, for code that names them without drawing a chart."""

from __future__ import annotations

PALE = ("chart-soft", "chart-faint")
"""Roles with little contrast to the background: a bar filled with one gets an edge."""


def edge_role(role: str) -> str:
    """Return the role of the edge of a bar filled with that role."""
    return "border-strong" if role in PALE else role
