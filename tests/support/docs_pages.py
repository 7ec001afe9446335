"""README and docs/ as the commands for a reader to type, and the files that they show.

A command is each line of a fenced `sh` block, each `$` line of a `console` block (the lines below are its output,
`…` for anything), and inline code that begins with one of `PROGRAMS`. A block whose fence names a file, as in
```json kitchen.json, is that file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PROGRAMS = ("glyphscope", "make", "pip", "python")


class Command(NamedTuple):
    """`inline`: it is inside a sentence. `output` is the output on the page; None if it shows none."""

    page: str
    line: int
    text: str
    inline: bool = False
    output: tuple[str, ...] | None = None


class ShownFile(NamedTuple):
    """A file that the page shows."""

    name: str
    text: str


def pages(root: Path) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


class Block(NamedTuple):
    """The text between two fences; `line` is that of its first line, `name` the file that the fence names."""

    line: int
    language: str
    name: str
    lines: list[str]


def blocks_of(page: Path) -> Iterator[Block | tuple[int, str]]:
    """Yield the blocks of a page, and the lines outside of blocks with their numbers, in its order."""
    lines = page.read_text(encoding="utf-8").split("\n")
    number = 0
    while number < len(lines):
        fence = re.match(r"\s*(`{3,}|~{3,})\s*(\S*)\s*(\S*)", lines[number])
        number += 1
        if not fence:
            yield number, lines[number - 1]
            continue
        first = number
        while number < len(lines) and not lines[number].lstrip().startswith(fence[1]):
            number += 1
        yield Block(first + 1, fence[2], fence[3], lines[first:number])
        number += 1


def parts_of(page: Path, name: str) -> Iterator[Command | ShownFile]:
    """Commands and files of a page, in its order."""
    for part in blocks_of(page):
        if not isinstance(part, Block):
            yield from _inline(part[1], name, part[0])
        elif part.name:
            yield ShownFile(part.name, "\n".join(part.lines) + "\n")
        elif part.language == "console" or (
            not part.language and part.lines[:1] and part.lines[0].startswith("$ ")
        ):
            yield from console_commands(part.lines, name, part.line)
        elif part.language in ("sh", "bash", "shell"):
            yield from _script(part.lines, name, part.line)


def _inline(line: str, page: str, number: int) -> Iterator[Command]:
    for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
        words = code.replace("\\|", "|").split()
        if (without_variables(words) or [""])[0] in PROGRAMS:
            yield Command(page, number, " ".join(words), inline=True)


def _script(block: Sequence[str], page: str, first: int) -> Iterator[Command]:
    for number, text in _joined(block):
        if text.strip() and not text.lstrip().startswith("#"):
            yield Command(page, first + number, text.strip())


def console_commands(block: Sequence[str], page: str, first: int) -> Iterator[Command]:
    """Commands of a `console` block with their output; `first` is the number of its first line."""
    shown: list[tuple[int, str, list[str]]] = []
    for number, text in _joined(block):
        if text.startswith("$ "):
            shown.append((number, text[2:], []))
        elif shown:
            shown[-1][2].append(text)
    for number, text, output in shown:
        yield Command(page, first + number, text, output=tuple(output) or None)


def _joined(block: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield lines, those that end with a backslash joined with the next, and a here-document with its text."""
    number = 0
    while number < len(block):
        first, text = number, block[number]
        while text.endswith("\\") and number + 1 < len(block):
            number += 1
            text = f"{text}\n{block[number]}"
        if here := re.search(r"<<-?\s*['\"]?(\w+)", text):
            while number + 1 < len(block) and text.split("\n")[-1].strip() != here[1]:
                number += 1
                text = f"{text}\n{block[number]}"
        number += 1
        yield first, text


def without_variables(words: Sequence[str]) -> list[str]:
    """Return it without the `NAME=value` before a program."""
    first = next((n for n, word in enumerate(words) if not re.match(r"[A-Z_]+=", word)), len(words))
    return list(words[first:])


def plain(command: Command) -> str:
    """Return it on one line, without the comment at its end and variables before it, as the tables match it."""
    text = re.sub(r"\s+#\s.*$", "", " ".join(command.text.replace("\\\n", " ").split()))
    return " ".join(without_variables(text.split(" ")))


def same_output(shown: Sequence[str], printed: str) -> bool:
    """Compare line by line, but for trailing white space. A line of `…` matches any lines, other `…` any text."""
    lines = [line.rstrip() for line in shown]
    patterns = ("(.|\n)*?" if line == "…" else re.escape(line).replace("…", ".*") for line in lines)
    text = "\n".join(line.rstrip() for line in printed.rstrip("\n").split("\n"))
    return re.fullmatch("\n".join(patterns), text) is not None
