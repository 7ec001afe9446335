"""The expected answer of a prompt: the calls, or the text or value, that a person wants. Runs are judged by it, and so
are the samples of an evaluation.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from glyphscope.base.shorten import shorten

MAX_SHOWN = 200
"""Characters of an expected answer in words."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of an expected answer: an unknown member is an error, and a default is not written."""


class ExpectedCall(_Part, frozen=True, kw_only=True):
    """A right call. Without `arguments`, `any_of` and `schema`, any arguments are right.

    `tools` are the names of which any one is right. `arguments` must be equal (`exact`), or among others (`subset`).
    `any_of` lists, by argument, values of which any one is right, as BFCL's ground truth does; an argument named in
    `optional` may be left out, and have any value if none is listed. `schema` is a JSON Schema that the arguments must
    satisfy. `unordered`: lists are compared as bags, at any depth. `folded`: texts are compared without regard to case
    and runs of white space. Numbers are compared by value: 10 equals 10.0, and no number equals a boolean.
    """

    tools: tuple[str, ...]
    arguments: dict[str, Any] | None = None
    match: Literal["exact", "subset"] = "exact"
    any_of: dict[str, tuple[Any, ...]] = {}
    optional: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    unordered: bool = False
    folded: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether one call alone is right: one tool with exactly these arguments."""
        return (
            self == ExpectedCall(tools=self.tools[:1], arguments=self.arguments)
            and self.arguments is not None
        )

    def __str__(self) -> str:
        """`search(query="AI news" …)`, in short."""
        given = {**(self.arguments or {}), **{name: values[0] for name, values in self.any_of.items()}}
        inside = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
        more = " …" if self.any_of or self.schema or self.match == "subset" else ""
        return f"{'|'.join(self.tools)}({inside}{more})"


class FinalText(_Part, frozen=True, kw_only=True):
    """The rules for an answer that is not a call: for its text, without white space at its ends, or for its value.

    `equals`, or one of `any_of`, is that text; of an answer of a schema it is the value, whatever its notation. Values
    are compared as in a call: numbers by value, with `folded` and `unordered`. `schema` is a JSON Schema of the value.
    """

    equals: Any = msgspec.UNSET
    any_of: tuple[Any, ...] = ()
    folded: bool = False
    unordered: bool = False
    schema: dict[str, Any] | None = None
    contains: tuple[str, ...] = ()
    pattern: str | None = None
    least_characters: int = 0

    @property
    def right(self) -> tuple[Any, ...]:
        """The texts or values of which any one is right; empty if the answer is judged otherwise."""
        return (*(() if self.equals is msgspec.UNSET else (self.equals,)), *self.any_of)

    def __str__(self) -> str:
        """The right answers, in short; empty if the answer is judged otherwise."""
        written = (json.dumps(value, ensure_ascii=False) for value in self.right)
        return " or ".join(shorten(each, MAX_SHOWN) for each in written)


class ExpectedAnswer(_Part, frozen=True, kw_only=True):
    """The calls of a right run, in any order and no others, or its `final` answer that is not a call."""

    calls: tuple[ExpectedCall, ...] = ()
    final: FinalText | None = None

    def __str__(self) -> str:
        """In short, for lists and titles."""
        final = "" if self.final is None else str(self.final)
        return shorten(", ".join(filter(None, (*map(str, self.calls), final))), MAX_SHOWN)
