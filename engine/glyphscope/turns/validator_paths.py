"""The ways in which calls of a form can continue: their pieces as operations, and a path through them for each way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from glyphscope.turns.form import CallForm
from glyphscope.turns.validator_markers import gaps

OpKind: TypeAlias = Literal[
    "call", "text", "name", "word", "arguments", "parameter", "object", "end", "closed"
]
WORD = re.compile(r"[^\s<>{}()\[\]\"'=,]")
_MAX_WORD = 200


@dataclass(frozen=True)
class Op:
    """One piece of a call. `options` are the possible texts of a text, or a parameter's opening. Pieces without text: a
    `call` begins, it is complete (`end`), or its section is complete (`closed`).
    """

    kind: OpKind
    options: tuple[str, ...] = ()


class Path(msgspec.Struct, frozen=True):
    """A way to continue: at the piece `ops[op]`, with `read` characters of its `text`, or of a word, already read.

    `strict`: it has not left the form. `unknown_name`: there is no tool `name`. `namespace`: it may be a tool's that
    follows itself as its namespace. `named`: the name is complete; `sure`: so is the text after it. `beyond`: no
    further parameter can follow. `begun`: the piece that a driver reads has begun, a parameter at `begun_at`.
    `call_at`: the character at which the call begins. `surplus`: the call exceeds the limit.
    """

    form: CallForm
    ops: tuple[Op, ...]
    op: int = -1
    text: str = ""
    read: int = 0
    strict: bool = True
    name: str = ""
    unknown_name: bool = False
    namespace: bool = False
    named: bool = False
    sure: bool = False
    beyond: bool = False
    begun: bool = False
    begun_at: int = -1
    call_at: int | None = None
    surplus: bool = False

    @property
    def kind(self) -> OpKind:
        return self.ops[self.op].kind


def beginning_of(form: CallForm, opening: str | None, *, section: bool) -> tuple[Op, ...]:
    """The pieces of a first call from its (or its section's) marker on, without white space before it."""
    ops = ops_of(form, opening)
    if section and form.section_open:
        return (Op("text", (form.section_open.lstrip(),)), *ops)
    first = ops[1]
    return (ops[0], Op(first.kind, tuple(text.lstrip() for text in first.options)), *ops[2:])


def ops_of(form: CallForm, opening: str | None = None) -> tuple[Op, ...]:
    """The pieces of one call; `opening` replaces the texts of the first piece."""
    out = [Op("call")]
    for place, piece in enumerate(form.pieces):
        if piece.kind == "text":
            out.append(Op("text", piece.texts if place or opening is None else (opening,)))
        elif piece.kind == "arguments" and form.arguments.encoding == "tagged":
            out.append(Op("parameter", (form.arguments.opening,)))
        elif piece.kind in ("arguments", "name", "object"):
            out.append(Op(piece.kind))
        else:
            out.append(Op("word"))
    return (*out, Op("end"))


class PathSteps:
    """Advances paths by one character. `names` are the allowed tools, `known` all tools."""

    def __init__(self, names: tuple[str, ...], known: frozenset[str]) -> None:
        self._names = names
        self._known = known | set(names)

    def step(self, path: Path, char: str, at: int) -> list[Path]:
        """The paths after a character, which is character `at` of the turn; empty if it does not fit."""
        kind = path.kind
        if kind in ("text", "parameter"):
            return self._text(path, char, at)
        if kind == "name":
            return self._name(path, char, at)
        if kind == "word":
            return self._word(path, char, at)
        if kind not in ("arguments", "object"):
            return []
        encoding = path.form.arguments.encoding
        if kind == "arguments" and encoding != "json":
            return [replace(path, begun=True)]
        if char.isspace():
            return [path]
        expected = '"' if kind == "arguments" and path.form.arguments.as_string else "{"
        return [replace(path, begun=True)] if char == expected else []

    def _word(self, path: Path, char: str, at: int) -> list[Path]:
        following = self.enter(path, at) if path.read else []
        ended = [each for one in following for each in self.step(one, char, at)]
        if path.read < _MAX_WORD and WORD.match(char):
            return [replace(path, read=path.read + 1), *ended]
        return ended

    def _text(self, path: Path, char: str, at: int) -> list[Path]:
        text, read = path.text, path.read
        if text[read] == char:
            return self._read_on(replace(path, read=read + 1), at)
        if char.isspace() and read in gaps(text):
            return [replace(path, strict=False)]
        if not text[read].isspace():
            return []
        after = read + len(text[read:]) - len(text[read:].lstrip())
        if after == len(text):
            following = self.enter(replace(path, strict=False), at)
            return [each for one in following for each in self.step(one, char, at)]
        if text[after] != char or (char.isalnum() and read > 0 and text[read - 1].isalnum()):
            return []
        return self._read_on(replace(path, read=after + 1, strict=False), at)

    def _read_on(self, path: Path, at: int) -> list[Path]:
        if path.read < len(path.text):
            return [path]
        if path.kind == "parameter":
            return [replace(path, begun=True, begun_at=at + 1)]
        again = path.text == path.name or any(op.kind == "name" for op in path.ops[path.op :])
        sure = path.sure or (path.named and path.strict and not again)  # some forms write the name twice
        return self.enter(replace(path, sure=sure), at + 1)

    def names_no_tool(self, path: Path) -> bool:
        """Whether its name is complete, and no tool's."""
        return path.named and bool(path.name) and path.name not in self._known

    def _name(self, path: Path, char: str, at: int) -> list[Path]:
        name = path.name + char
        if path.unknown_name or (path.name and path.name not in self._known):
            own = path.name[: len(path.name) // 2] if path.namespace else ""
            read = own if path.name == f"{own}.{own}" else path.name
            other = replace(path, name=read, unknown_name=False, namespace=False, strict=False)
            ended = self._ended(other, char, at)
        else:
            ended = self._ended(path, char, at) if path.name else []
        if not path.unknown_name and any(known.startswith(name) for known in self._names):
            return [replace(path, name=name), *ended]
        complete = path.name in self._known and bool(ended)
        if complete or char == "\n" or len(name) > _MAX_WORD:
            return ended
        if not path.unknown_name and self._repeats(name):
            return [*ended, replace(path, name=name, namespace=True, strict=False)]
        return [*ended, replace(path, name=name, unknown_name=True, namespace=False)]

    def _repeats(self, name: str) -> bool:
        """Whether a name may become a tool's after itself as its namespace (`f.f`), which is read as the tool's."""
        return any(name.startswith(f"{own}.") and f"{own}.{own}".startswith(name) for own in self._names)

    def _ended(self, path: Path, char: str, at: int) -> list[Path]:
        following = self.enter(replace(path, named=True), at)
        following = [each for each in following if each.kind != "word"]  # which would be more of the name
        return [each for one in following for each in self.step(one, char, at)]

    def enter(self, path: Path, at: int) -> list[Path]:
        """The paths after the current piece; the next piece begins at character `at`."""
        place = path.op + 1
        op = path.ops[place]
        new = replace(path, op=place, read=0, text="", begun=False)
        empty = self._empty(path)
        if op.kind == "call":
            return self.enter(replace(new, call_at=at, name="", named=False, sure=False), at)
        if op.kind == "text":
            out = [replace(new, text=option) for option in dict.fromkeys(op.options) if option]
            return out + empty + (self.enter(new, at) if "" in op.options else [])
        if op.kind == "parameter":
            beyond = self.enter(replace(new, beyond=True), at)
            return [_parameter(new, op.options[0], at), *beyond, *empty]
        if op.kind == "word":
            return [new, *self.enter(new, at)]
        if op.kind == "name" and new.named:
            ops = (*new.ops[:place], Op("text", (new.name,)), *new.ops[place + 1 :])
            return [replace(new, ops=ops, text=new.name)]
        return [new, *empty]

    def _empty(self, path: Path) -> list[Path]:
        """After a name, the form's text for a call without arguments is another way to continue."""
        text = path.form.empty
        if not text or path.op < 0 or path.kind != "name":
            return []
        ops = (*path.ops[: path.op + 1], Op("text", (text,)), Op("end"))
        return [replace(path, ops=ops, op=path.op + 1, read=0, text=text, beyond=True)]

    def again(self, path: Path, at: int) -> list[Path]:
        """The paths after a parameter: another parameter, or the pieces after the last one."""
        text = path.form.arguments.separator + path.form.arguments.opening
        beyond = self.enter(replace(path, beyond=True), at)
        return [_parameter(path, text, at), *beyond]


def _parameter(path: Path, text: str, at: int) -> Path:
    """The path at a parameter's opening; without one, the parameter begins with its key."""
    return replace(path, text=text, read=0, begun=not text, begun_at=at)


def expected(path: Path) -> str:
    """The expected text, in words."""
    if path.text:
        return repr(path.text[path.read :])
    following = path.ops[path.op + 1] if path.kind == "name" and path.name else None
    if following is not None and following.kind == "text" and any(following.options):
        return repr(next(filter(None, following.options)))
    words = {"name": "a tool's name", "object": "'{'", "word": "an id"}
    return words.get(path.kind, "arguments")
