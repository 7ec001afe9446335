"""Pages of commands and what they print, run in the test's own process: `tests/engine/command_pages/*.md`.

A page is written as those of docs/ are (`docs_pages.py`): a fence that names a file shows it, and a `console` block
has commands behind `$` with their output below, in which `…` stands for anything. Lines of standard error begin with
`2> `, and the last line is the exit code in brackets unless it is 0. A command gets its input from `printf 'TEXT' |`
or `< FILE`, and its output may go to `> FILE`; `cat FILE` shows a file, and `sed` changes one. Line breaks in a text
are those of `$'A\\nB'`, durations as `… ms`, and `$SERVER` is the command of the scripted MCP server. Each `##`
section is a test in a separate folder and home, with the files before the first section.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from difflib import ndiff
from pathlib import Path
from typing import NamedTuple

from cli_command import command
from docs_pages import Block, blocks_of, console_commands, same_output

FOLDER = Path(__file__).parents[1] / "engine" / "command_pages"
SERVER = shlex.join((sys.executable, str(Path(__file__).with_name("scripted_server.py"))))
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


class Section(NamedTuple):
    """A section of a page: its heading, and its blocks after those of the page's beginning."""

    page: Path
    title: str
    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        return f"{self.page.stem}: {self.title}"


def sections() -> Iterator[Section]:
    """Every section of every page, in its order."""
    for page in sorted(FOLDER.glob("*.md")):
        title, found = "", list[Block]()
        shared: tuple[Block, ...] = ()
        for part in blocks_of(page):
            if isinstance(part, Block):
                found.append(part)
            elif part[1].startswith("## "):
                if title:
                    yield Section(page, title, (*shared, *found))
                else:
                    shared = tuple(found)
                title, found = part[1].removeprefix("## "), []
        yield Section(page, title, (*shared, *found))


def check(section: Section, *, update: bool) -> list[str]:
    """Run the section in the current folder; return the lines that differ, or write what is printed into the page."""
    wrong: list[str] = []
    for block in section.blocks:
        if block.name:
            Path(block.name).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        for asked in console_commands(block.lines, section.page.name, block.line):
            printed, expected = _run(asked.text), asked.output or ()
            if same_output(expected, "\n".join(printed)):
                continue
            wrong += [f"{asked.page}:{asked.line}: $ {asked.text}", *ndiff(expected, printed)]
            if update:
                _replace(section, asked.text, expected, printed)
    return [] if update else wrong


def _replace(section: Section, line: str, expected: tuple[str, ...], printed: list[str]) -> None:
    """Write the lines below the command; those that were right stay as they are, with their `…`."""
    right = [old for old in expected if old != "…"]
    printed = [next((old for old in right if same_output((old,), new)), new) for new in printed]
    if "…" in expected:
        before = expected.index("…")
        after = len(printed) - (len(expected) - before - 1)
        printed = [*printed[:before], "…", *printed[after:]]
    whole = section.page.read_text(encoding="utf-8")
    heading = whole.index(f"## {section.title}\n")
    old, new = ("\n".join([f"$ {line}", *lines, ""]) for lines in (expected, printed))
    changed = whole[heading:].replace(old, new, 1)
    section.page.write_text(whole[:heading] + changed, encoding="utf-8")


def _unescaped(text: str) -> bytes:
    r"""Return the text with the escapes of `printf`: \n, \t, \r, \0, \\ and \xff."""

    def byte(found: re.Match[bytes]) -> bytes:
        escape = found[1].decode()
        return bytes.fromhex(escape[1:]) if escape[0] == "x" else _ESCAPES[escape]

    return re.sub(rb"\\([ntr0\\]|x[0-9a-f]{2})", byte, text.encode())


def _run(line: str) -> list[str]:
    """Return the lines that a command prints, as a page shows them."""
    line = line.replace("$SERVER", SERVER)
    line = re.sub(r"\$'([^']*)'", lambda found: shlex.quote(_unescaped(found[1]).decode()), line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    words, given, target = list(lexer), b"", ""
    if words[0] == "cat":
        return Path(words[1]).read_text(encoding="utf-8").splitlines()
    if words[0] == "sed":
        with Path(words[-1]).open("wb") as changed:
            subprocess.run(words[:-2], stdout=changed, check=True)
        return []
    if words[0] == "printf":
        given = _unescaped(words[1])
        words = words[words.index("|") + 1 :]
    if "<" in words:
        given = Path(words[-1]).read_bytes()
        words = words[: words.index("<")]
    if ">" in words:
        words, target = words[: words.index(">")], words[-1]
    assert words[0] == "glyphscope", line
    done = command(*words[1:], text=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if target:
        Path(target).write_text(done.stdout, encoding="utf-8")
    lines = [] if target else done.stdout.splitlines()
    lines += [f"2> {line}" for line in done.stderr.splitlines()]
    lines += [f"[{done.exit_code}]"] if done.exit_code else []
    return [re.sub(r"<?[\d.,]+ ms\b", "… ms", line.replace(SERVER, "$SERVER")).rstrip() for line in lines]
