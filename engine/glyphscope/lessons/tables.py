"""A lesson's Markdown divided into its steps and blocks, with their lines; and the content of the blocks: a struct for
each kind, from which all errors of form are reported.

A heading of the first or second level begins a step. A fenced block whose first word is in `KINDS` is a block of the
lesson; any other fenced block is part of the text, including headings inside it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from glyphscope.base.pointer import Path
from glyphscope.lessons.lesson import CharacterQuestion, LessonPart, NextQuestion, Option, View
from glyphscope.lessons.run_settings import LessonRunSettings
from glyphscope.registry.document import plain

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_LENGTH = 64 * 1024
"""The maximum characters of one block."""
MAX_DOTS = 64
"""The maximum dots of a line, outside quotes: reading a dotted key takes quadratic time in its parts."""
_QUOTED = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)")
_END = " (at end of document)"


class TomlProblem(NamedTuple):
    """A problem at a line and column of the block, both from 1."""

    message: str
    line: int
    column: int


def read_toml(text: str) -> tuple[dict[str, Any], TomlProblem | None]:
    """The table of a block. A value without a JSON type (a date, NaN) is also an error."""
    if len(text) > MAX_LENGTH:
        return {}, TomlProblem(
            f"The block has {len(text):,} characters; at most {MAX_LENGTH:,} are read.", 1, 1
        )
    for number, written in enumerate(text.split("\n"), 1):
        if written.count(".") > MAX_DOTS and _QUOTED.sub("", written).count(".") > MAX_DOTS:
            return {}, TomlProblem(f"The line has more than {MAX_DOTS} dots.", number, 1)
    try:
        table = tomllib.loads(text)
        copy, problems = plain(table)
    except RecursionError:
        return {}, TomlProblem("The block is nested too deeply.", 1, 1)
    except tomllib.TOMLDecodeError as error:
        return {}, _of_error(str(error), text)
    except ValueError as error:  # a number with thousands of digits, an invalid date
        return {}, TomlProblem(f"The block cannot be read: {error}.", 1, 1)
    if problems:
        line, column = place(text, tuple(problems[0].pointer.split("/")[1:]))
        return {}, TomlProblem(problems[0].message, line, column)
    return copy, None


def place(text: str, path: Path) -> tuple[int, int]:
    """Line and column, from 1, of the key at `path`, or of the nearest key above it; (1, 1) if none is found."""
    lines = text.split("\n")
    first, last, found = 0, len(lines), (1, 1)
    steps = list(path)
    while steps:
        step = steps.pop(0)
        if isinstance(step, int) or not lines:
            continue
        key = re.escape(str(step))
        # `[key]`, `[[key]]`, `[above.key]`; then `key =`, `key.below =`, `{key = …, key = …}`, `above.key =`
        header = re.compile(rf'^\s*+\[++\s*+(?:[^\]=]*\.)?"?{key}"?\s*+\]')
        member = re.compile(
            rf'^\s*+(?:\[++[^\]]*+\]++)?\s*+"?{key}"?\s*+[.=]|[{{,]\s*+"?{key}"?\s*+=|\.\s*+"?{key}"?\s*+='
        )
        heads = [n for n in range(first, last) if header.match(lines[n])]
        nth = steps[0] if steps and isinstance(steps[0], int) else 0
        if heads:
            at = heads[min(int(nth), len(heads) - 1)]
            first, found = at + 1, (at + 1, 1 + len(lines[at]) - len(lines[at].lstrip()))
            after = [n for n in range(first, len(lines)) if lines[n].lstrip().startswith("[")]
            last = after[0] if after else len(lines)
            continue
        at = next((n for n in range(first, last) if member.search(lines[n])), -1)
        if at < 0:
            break
        found = at + 1, 1 + lines[at].find(str(step))
        first = at
    return found


def _of_error(message: str, text: str) -> TomlProblem:
    hint = ' Put a text in quotes: name = "value".'
    if (found := _PLACE.search(message)) is not None:
        words = message[: found.start()]
        return TomlProblem(
            f"{words}.{hint if words == 'Invalid value' else ''}", int(found[1]), int(found[2])
        )
    lines = text.split("\n")
    return TomlProblem(f"{message.removesuffix(_END)}.", len(lines), len(lines[-1]) + 1)


class LessonHead(msgspec.Struct, frozen=True, kw_only=True):
    """The block `lesson`."""

    title: str
    about: str
    minutes: int
    order: int = 1000


class RunTable(LessonRunSettings, frozen=True, kw_only=True):
    """The block `run`: the settings of a new run, or only the name of an already defined one, and its playback."""

    name: str
    caption: str = ""
    stage: str = ""
    start: int = msgspec.field(default=0, name="from")
    stop: int | None = msgspec.field(default=None, name="to")
    token: int | None = None
    pace: float = 3.0
    show: tuple[View, ...] = ("alternatives",)


class ChoiceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The block `question` of the kind choice."""

    kind: Literal["choice"]
    ask: str
    option: tuple[Option, ...]
    why: str = ""


class ExperimentTable(LessonRunSettings, frozen=True, kw_only=True):
    """The block `experiment`."""

    name: str
    title: str
    of: str = ""
    about: str = ""
    vary: tuple[str, ...] = ()
    show: tuple[View, ...] = ("alternatives",)


def _table(part: type[LessonPart]) -> type[msgspec.Struct]:
    """The block of a question: the members of its part, except for the line, which is not in the text."""
    members: Iterable[tuple[str, Any] | tuple[str, Any, Any]] = (
        (each.name, each.type) if each.required else (each.name, each.type, each.default)
        for each in msgspec.structs.fields(part)
        if each.name != "line"
    )
    return msgspec.defstruct(part.__name__, [("kind", str), *members], frozen=True, kw_only=True)


QUESTIONS: dict[str, type[msgspec.Struct]] = {
    "next": _table(NextQuestion),
    "character": _table(CharacterQuestion),
    "choice": ChoiceTable,
}


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
