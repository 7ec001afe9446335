"""Rendering a user's template: sandboxed, limited, strict, and with the origin of every piece of the prompt.

A value that belongs to a part is a `PartText`. If a template prints one, the marked rendering puts marks around it
that no text can contain, because they are random in each process; the template's own words and other printed values
are marked with their line. The pieces are read from the marks. A template that treats printed text as data
(`{% filter %}`) could mangle marks: then it no longer equals the plain rendering, and the text counts as one part.
"""

from __future__ import annotations

import re
import secrets
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from glyphscope.base import resources
from glyphscope.base.errors import PromptError, find_named
from glyphscope.processes.limited import NO_MEMORY, ProcessLimitReached, limited

FOLDER, STRATEGIES = "prompts", "prompts/strategies"
_SUFFIX = ".jinja"


@lru_cache(maxsize=2)
def presets(folder: str = FOLDER) -> Mapping[str, str]:
    """The templates of the system message in a folder of the assets by name, the default first."""
    names = [name.removesuffix(_SUFFIX) for name in resources.names(folder, _SUFFIX)]
    names.sort(key=lambda name: (name != "default", name))
    return MappingProxyType({name: resources.read_text(f"{folder}/{name}{_SUFFIX}") for name in names})


def preset(name: str) -> str:
    """The template of that name, which a user's own replaces. Raises PromptError if there is none."""
    return find_named(presets(), name, f'prompt preset "{name}"', error=PromptError)


@lru_cache(maxsize=1)
def _bundled() -> frozenset[str]:
    return frozenset({*presets(FOLDER).values(), *presets(STRATEGIES).values()})


def is_bundled(template: str) -> bool:
    """Whether a template is one of Glyphscope's own, also as a copy in a project: these need no limits."""
    return template in _bundled()


MAX_CHARACTERS = 4_000_000
"""A longer rendered prompt is an error: no model's context is as large."""
LINE = "line "
"""The prefix of the name of a piece of the template's own words, followed by the line's number, from 1."""

_NONCE = str(secrets.randbits(60))
_OPEN, _MIDDLE, _CLOSE = f"\x02{_NONCE}\x1e", f"\x1e{_NONCE}\x02", f"\x03{_NONCE}\x03"
_MARKED = re.compile(f"{_OPEN}([0-9]+){_MIDDLE}(.*?){_CLOSE}", re.DOTALL)
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_OWN = "_glyphscope_own"


class WrittenSpan(NamedTuple):
    """Characters of a rendered prompt; `of` as in `PromptPart`."""

    start: int
    end: int
    of: str


class Locate(Protocol):
    def __call__(self, text: str, start: int, end: int) -> list[WrittenSpan]:
        """The spans that the chat template writes between these characters, in order; empty if it writes none."""


class MessagePart(NamedTuple):
    """A piece of a message: system, tools, examples or user, and its text; `of` as in `PromptPart`.

    With `locate`, the chat template writes it in its own form, or not at all: `text` is empty.
    """

    name: str
    text: str
    of: str = ""
    locate: Locate | None = None


class PartText(str):
    """Text of the prompt that belongs to a part. Filters turn it into plain text, which belongs to the template.

    `of` is the JSON Pointer of its place in the tools; `pieces` (of, text) are its pieces with their own places.
    """

    __slots__ = ("of", "part", "pieces")
    part: str
    of: str
    pieces: tuple[tuple[str, str], ...]

    def __new__(cls, part: str, text: str, of: str = "") -> PartText:
        self = super().__new__(cls, text)
        self.part, self.of, self.pieces = part, of, ((of, text),)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return PartText.of_pieces, (self.part, self.pieces, self.of)

    @classmethod
    def of_pieces(cls, part: str, pieces: Sequence[tuple[str, str]], of: str = "") -> PartText:
        """The text of these pieces."""
        self = cls(part, "".join(text for _, text in pieces), of)
        self.pieces = tuple(pieces)
        return self


class _Marks:
    """The marks of one rendering: a number, which no filter changes, for each part."""

    def __init__(self, rest: str, numbers: Mapping[tuple[str, str], int] = MappingProxyType({})) -> None:
        self._rest = rest
        self._numbers = dict(numbers)

    def of_rendering(self) -> _Marks:
        """A copy with the numbers of the compiled template, to which one rendering adds its own."""
        return _Marks(self._rest, self._numbers)

    def finalize(self, value: Any) -> Any:
        """The printed value, with marks if it is a part."""
        if not isinstance(value, PartText):
            return value
        return "".join(self._marked((value.part, of), text) for of, text in value.pieces)

    def own(self, value: Any, line: int) -> Any:
        """The template's own words in that line, marked; text that is already marked is unchanged."""
        if isinstance(value, PartText | jinja2.Undefined):
            return value
        text = str(value)
        return text if _OPEN in text else self._marked((self._rest, f"{LINE}{line}"), text)

    def lines(self, data: str, line: int) -> str:
        """Words of the template that begin in that line."""
        return "".join(self.own(text, line + n) for n, text in enumerate(_LINES.findall(data)))

    def read(self, marked: str) -> list[MessagePart]:
        """The pieces in order."""
        known = list(self._numbers)
        split = _MARKED.split(marked)  # without a mark, number, text, without a mark, number, text, …
        parts = [MessagePart(self._rest, split[0])]
        for number, text, after in zip(split[1::3], split[2::3], split[3::3]):
            name, of = known[int(number)]
            parts += [MessagePart(name, text, of), MessagePart(self._rest, after)]
        return [part for part in parts if part.text]

    def _marked(self, what: tuple[str, str], text: str) -> str:
        number = self._numbers.setdefault(what, len(self._numbers))
        return f"{_OPEN}{number}{_MIDDLE}{text}{_CLOSE}"


def _environment(finalize: Callable[[Any], Any] | None = None) -> ImmutableSandboxedEnvironment:
    """A template cannot reach files or code, or change its values."""
    return ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=finalize
    )


@lru_cache(maxsize=8)
def _compiled(template: str) -> jinja2.Template:
    return _environment().from_string(template)


def render(template: str, values: Mapping[str, Any], *, rest: str) -> list[MessagePart]:
    """The parts in order; together they are the rendered text without white space around it.

    `rest` names the part of the template's own words. A template that is not bundled is rendered in a process with
    limits. Raises PromptError with the line (from 1), and Stopped.
    """
    if is_bundled(template):
        return render_here(template, values, rest)
    try:
        parts = limited(None, _plain_parts, template, values, rest)
    except ProcessLimitReached as error:
        raise _error(error.message, 0, values) from None
    return [MessagePart(*part) for part in parts]


def _plain_parts(template: str, values: Mapping[str, Any], rest: str) -> list[tuple[str, str, str]]:
    return [part[:3] for part in render_here(template, values, rest)]


def render_here(template: str, values: Mapping[str, Any], rest: str) -> list[MessagePart]:
    """As `render`, in this process."""
    plain = _render(_compiled, template, values, MAX_CHARACTERS)
    parts = _marked_parts(template, values, rest)
    if "".join(part.text for part in parts) != plain:
        parts = [MessagePart(rest, plain)]
    return _stripped(_joined(parts, rest))


def _marked_parts(template: str, values: Mapping[str, Any], rest: str) -> list[MessagePart]:
    """The marked pieces; empty if the template cannot be rendered with marks."""
    try:
        compiled, numbered = _marking(template, rest)
        with _marked_by(numbered.of_rendering()) as marks:
            return marks.read(_render(lambda _: compiled, template, values, 8 * MAX_CHARACTERS))
    except (PromptError, LookupError, ValueError, jinja2.TemplateError):
        return []


_MARKS: ContextVar[_Marks] = ContextVar("the marks of this rendering")


@contextmanager
def _marked_by(marks: _Marks) -> Iterator[_Marks]:
    token = _MARKS.set(marks)
    try:
        yield marks
    finally:
        _MARKS.reset(token)


@lru_cache(maxsize=8)
def _marking(template: str, rest: str) -> tuple[jinja2.Template, _Marks]:
    """The template with marks around everything that it prints, and the marks that are compiled into it."""
    with _marked_by(_Marks(rest)) as marks:  # constants are printed during compilation
        return _with_marks(template, marks), marks


def _with_marks(template: str, marks: _Marks) -> jinja2.Template:
    environment = _environment(lambda value: _MARKS.get().finalize(value))
    environment.filters[_OWN] = lambda value, line: _MARKS.get().own(value, line)
    tree = environment.parse(template)
    for output in tree.find_all(nodes.Output):
        printed: list[nodes.Expr] = []
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                node.data = marks.lines(node.data, node.lineno)
                printed.append(node)
            else:
                line = [nodes.Const(node.lineno, lineno=node.lineno)]
                own = nodes.Filter(node, _OWN, line, [], None, None, lineno=node.lineno)
                own.set_environment(environment)
                printed.append(own)
        output.nodes = printed
    return environment.from_string(tree)


def _render(
    compiled: Callable[[str], jinja2.Template], template: str, values: Mapping[str, Any], most: int
) -> str:
    try:
        pieces, length = [], 0
        for piece in compiled(template).generate(values):
            length += len(piece)
            if length > most:
                raise OverflowError("the text is too long")
            pieces.append(piece)
    except jinja2.TemplateSyntaxError as error:
        raise _error(str(error.message), error.lineno, values) from None
    except MemoryError as error:
        raise _error(NO_MEMORY, _line(error), values) from None
    except Exception as error:  # any exception of an expression in a user's template
        raise _error(str(error) or type(error).__name__, _line(error), values) from error
    return "".join(pieces)


def _error(reason: str, line: int, values: Mapping[str, Any]) -> PromptError:
    *others, last = values
    return PromptError(
        f"The prompt's template cannot be rendered: {reason}.".replace("..", "."),
        where=f"line {line}" if line else "",
        hint=f"Its variables are {', '.join(others)} and {last}.",
    )


def _line(error: Exception) -> int:
    """The template's line that raised the error; jinja2 puts it into the traceback."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"
    ]
    return (lines[-1] if lines else None) or 0


def _joined(parts: list[MessagePart], rest: str) -> list[MessagePart]:
    """Join separators (a dash, a line end) with their neighbours: between two pieces of one part all become one piece.

    A separator between two pieces of one tool belongs to the second, which it depends on; otherwise to the first.
    """
    joined: list[MessagePart] = []
    at = 0
    while at < len(parts):
        run = at
        while run < len(parts) and parts[run].name == rest and not any(map(str.isalnum, parts[run].text)):
            run += 1
        before = joined[-1] if joined else None
        after = parts[run] if run < len(parts) else None
        if before and after and before.name == after.name != rest:
            of = after.of if _root(before.of) == _root(after.of) else before.of
            add_part(joined, MessagePart(after.name, "".join(part.text for part in parts[at:run]), of))
        else:
            for part in parts[at:run]:
                add_part(joined, _blank_of(part, joined, after))
        if after is not None:
            add_part(joined, after)
        at = run + 1
    return joined


def _blank_of(part: MessagePart, joined: list[MessagePart], after: MessagePart | None) -> MessagePart:
    """An empty line counts with the template's line before it, otherwise with the one after it."""
    if part.text.strip():
        return part
    for near in (joined[-1] if joined else None, after):
        if near is not None and near.name == part.name:
            return part._replace(of=near.of)
    return part


def add_part(joined: list[MessagePart], part: MessagePart) -> None:
    """Append a part, or its text to the last one if both have the same name and `of`; an empty one is left out."""
    if not part.text:
        return
    if joined and (joined[-1].name, joined[-1].of) == (part.name, part.of):
        joined[-1] = MessagePart(part.name, joined[-1].text + part.text, part.of)
    else:
        joined.append(part)


def _root(of: str) -> str:
    """The tool of a pointer, which is its first step."""
    return "/".join(of.split("/", 2)[:2])


def _stripped(parts: list[MessagePart]) -> list[MessagePart]:
    """The parts without white space around the whole, which chat templates remove."""
    while parts and not parts[0].text.strip():
        parts = parts[1:]
    while parts and not parts[-1].text.strip():
        parts = parts[:-1]
    if parts:
        parts[0] = parts[0]._replace(text=parts[0].text.lstrip())
        parts[-1] = parts[-1]._replace(text=parts[-1].text.rstrip())
    return parts
