"""A lesson's Markdown divided into its steps and blocks, with their lines; the blocks are not interpreted.

A heading of the first or second level begins a step. A fenced block whose first word is in `KINDS` is a block of the
lesson; any other fenced block is part of the text, including headings inside it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

KINDS = ("lesson", "run", "question", "experiment", "note")


class Block(NamedTuple):
    """A piece of a step: its `kind` is one of `KINDS`, or empty for text. `line` is its first line, from 1."""

    kind: str
    text: str
    line: int


class Section(NamedTuple):
    """The content below a heading; the first section has no heading."""

    title: str
    blocks: list[Block]
    line: int


class UnclosedBlock(NamedTuple):
    """A fenced block that is never closed: its kind, and the line of its fence."""

    kind: str
    line: int


def split_steps(text: str) -> tuple[list[Section], UnclosedBlock | None]:
    """The sections of a text, and the block that is open at its end. Takes linear time."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    sections, left_open, done = [Section("", [], 1)], None, 0
    tokens = _markdown().parse("\n".join([*lines, ""]))
    for number, token in enumerate(tokens):
        begin, end = token.map or (0, 0)
        kind = (token.info.split() or [""])[0].lower()
        is_fence = token.type == "fence"
        if is_fence and token.content.count("\n") == end - begin - 1:  # no closing line
            left_open = UnclosedBlock(kind, begin + 1)
        if not (is_fence and kind in KINDS) and not (
            token.type == "heading_open" and token.tag in ("h1", "h2")
        ):
            continue
        _add_prose(sections[-1], lines[done:begin], done + 1)
        if not is_fence:
            sections.append(Section(tokens[number + 1].content, [], begin + 1))
        elif left_open is None:
            sections[-1].blocks.append(Block(kind, "\n".join(lines[begin + 1 : end - 1]), begin + 2))
        done = end
    _add_prose(sections[-1], lines[done:], done + 1)
    return sections, left_open


def _add_prose(section: Section, lines: list[str], first: int) -> None:
    lead = next((number for number, line in enumerate(lines) if line.strip()), None)
    if lead is not None:
        section.blocks.append(Block("", "\n".join(lines).strip("\n"), first + lead))


@cache
def _markdown() -> MarkdownIt:
    """A parser of headings and code blocks only."""
    from markdown_it import MarkdownIt  # imported with the first lesson, not with the window

    return MarkdownIt("zero").enable(["code", "fence", "heading"]).disable("inline")
