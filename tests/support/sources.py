"""A module of the project as text and syntax tree: read and walked once for all that is asked of it in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def source_of(path: Path) -> tuple[str, tuple[ast.AST, ...]]:
    """Return the text of a module, and all nodes of its tree."""
    text = path.read_text(encoding="utf-8")
    return text, tuple(_walk(ast.parse(text)))


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node but `Load` and its like: as `ast.walk` in another order, in half of the time."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        for name, value in vars(node).items():
            if type(value) is list:
                left += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and name != "ctx":
                left.append(value)


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return source_of(path)[1]
