"""Numbers of things in words, for all that is told in English of runs and evaluations."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """`1 arm`, `1,200 arms`."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
