"""A lesson's Markdown cut into its steps and blocks, with the line of each. Nothing here knows what a block means.

A heading of the first or second level begins a step. A fenced block whose first word is one of `KINDS` is a block of
ours; any other fenced block is a part of the text, and so is a heading within it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

KINDS = ("lesson", "run", "question", "experiment", "note")
# nothing in these is tried twice (`+` after a count), so that no line makes them slow
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^`\s]*+)[^`]*+$")
_HEADING = re.compile(r"^#{1,2}[ \t]++(.*+)$")


class Block(NamedTuple):
    """A piece of a step: its `kind` is one of `KINDS`, or empty for text. `line` is its first line, from 1."""

    kind: str
    text: str
    line: int


class Section(NamedTuple):
    """What stands below a heading; the first section has none."""

    title: str
    blocks: list[Block]
    line: int


class Open(NamedTuple):
    """A fenced block that is never closed: its kind, and the line of its fence."""

    kind: str
    line: int


def cut(text: str) -> tuple[list[Section], Open | None]:
    """The sections of a text, and the block that its end leaves open. Linear in the text."""
    sections = [Section("", [], 1)]
    prose: list[str] = []
    begun = 1
    inside: list[str] = []
    fence, kind, at = "", "", 0

    def end_prose() -> None:
        if (written := "\n".join(prose)).strip():
            lead = next(n for n, line in enumerate(prose) if line.strip())
            sections[-1].blocks.append(Block("", written.strip("\n"), begun + lead))
        prose.clear()

    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if fence:
            if _closes(line, fence):
                if kind in KINDS:
                    sections[-1].blocks.append(Block(kind, "\n".join(inside), at + 1))
                else:
                    prose.append(line)
                fence = ""
            else:
                (inside if kind in KINDS else prose).append(line)
            continue
        opened = _FENCE.match(line)
        if opened is not None:
            fence, kind, inside, at = opened[1], opened[2].lower(), [], number
            if kind in KINDS:
                end_prose()
                continue
        elif (heading := _HEADING.match(line)) is not None:
            end_prose()
            title = heading[1].rstrip(" \t").rstrip("#").rstrip(" \t")
            sections.append(Section(title, [], number))
            continue
        if not prose:
            begun = number
        prose.append(line)
    end_prose()
    return sections, Open(kind, at) if fence else None


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]} and len(line) - len(line.lstrip(" ")) < 4
