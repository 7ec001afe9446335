"""Expected texts in files, in blocks with an empty line between them.

With `GLYPHSCOPE_UPDATE=1` in the environment a file becomes what is found: its difference is then read before it is
committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import ndiff
from itertools import zip_longest
from pathlib import Path

import pytest


def blocks_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")


def as_in_file(path: Path, blocks: Iterable[str]) -> None:
    """Compare the blocks with those of the file; the first one that differs is the failure."""
    found = list(blocks)
    if os.environ.get("GLYPHSCOPE_UPDATE"):
        path.write_text("\n\n".join(found) + "\n", encoding="utf-8")
    for mine, theirs in zip_longest(found, blocks_of(path), fillvalue=""):
        if mine != theirs:
            pytest.fail("\n".join(ndiff(theirs.split("\n"), mine.split("\n"))), pytrace=False)
