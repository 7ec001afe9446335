"""A module of the project as text and syntax tree: read and walked once for all that is asked of it in turn."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def source_of(path: Path) -> tuple[str, tuple[ast.AST, ...]]:
    """Return the text of a module, and all nodes of its tree."""
    text = path.read_text(encoding="utf-8")
    return text, tuple(ast.walk(ast.parse(text)))


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return source_of(path)[1]
