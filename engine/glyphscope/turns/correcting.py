"""Corrections to derived forms, for facts that rendering cannot show: a table of rows with conditions and reasons.

A row is selected by the derived form or the renderings, never by a model's name. The table is an asset
(`forms/corrections.toml`); docs/native-forms.md prints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from glyphscope.base import resources
from glyphscope.base.structs import ready
from glyphscope.turns.form import CallForm, Correction, Encoding, Piece, ReasoningForm, TurnForm, Wrap
from glyphscope.turns.markup import is_tag, without_namespace

TABLE = "forms/corrections.toml"


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a row applies: all given fields must be true.

    `rendered`: each of the texts is in some rendering. `opening`: the first call's opening contains it. `header`: the
    turn's header contains it. `calls`, `reasoning`: whether these were derived. `unmarked`, `listed`: the first call's
    values.
    """

    rendered: tuple[str, ...] = ()
    opening: str = ""
    header: str = ""
    encoding: Encoding | Literal[""] = ""
    id: str = ""
    calls: bool | None = None
    reasoning: bool | None = None
    unmarked: bool | None = None
    listed: bool | None = None


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A correction. `call` changes slots of the derived call; `calls` are further ways of writing calls."""

    name: str
    reason: str
    source: str
    when: Condition = Condition()
    call: dict[str, Any] = {}
    calls: tuple[CallForm, ...] = ()
    reasoning: ReasoningForm | None = None
    call_ends: bool = False
    again: bool = False
    wraps: tuple[Wrap, ...] = ()
    skips: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    text_before: bool | None = None


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    row: tuple[Row, ...]


@lru_cache(maxsize=1)
def corrections() -> tuple[Row, ...]:
    """The rows of the table, in its order."""
    return msgspec.toml.decode(resources.read_text(TABLE), type=ready(_Table)).row


def correct(form: TurnForm, renderings: dict[str, str]) -> TurnForm:
    """The form with all rows applied that match it; `corrections` of the result lists them.

    Before the rows' ways of writing calls are those in which models leave out a part of the first one.
    """
    if form.calls:
        form = replace(form, calls=(*form.calls, *_without_parts(form.calls[0])))
    for row in corrections():
        if _applies(row.when, form, renderings):
            form = _corrected(form, row)
    return form


def _without_parts(call: CallForm) -> Iterator[CallForm]:
    """A call without the list that it is in, and without the namespace of its markers; both are only read."""
    opened, closed = call.section_open.rstrip(), call.section_close.lstrip()
    if call.listed and call.object is not None and is_tag(opened[:-1].rstrip()) and closed.startswith("]"):
        closing = Piece("text", closed[1:].strip(), ("",))
        pieces = (Piece("text", opened[:-1].rstrip()), Piece("object"), *([closing] if closing.text else []))
        yield CallForm(pieces, call.arguments, call.object, strict=False)
    texts = [call.section_open, *(piece.text for piece in call.pieces)]
    if any(without_namespace(text) != text for text in texts):
        arguments = replace(call.arguments, parameter=tuple(map(_bare, call.arguments.parameter)))
        yield replace(
            call,
            pieces=tuple(map(_bare, call.pieces)),
            arguments=arguments,
            section_open=without_namespace(call.section_open),
            section_close=without_namespace(call.section_close),
            separator=without_namespace(call.separator),
            strict=False,
        )


def _bare(piece: Piece) -> Piece:
    return replace(piece, text=without_namespace(piece.text), also=tuple(map(without_namespace, piece.also)))


def _applies(when: Condition, form: TurnForm, renderings: dict[str, str]) -> bool:
    first = form.calls[0] if form.calls else None
    derived = {
        "calls": bool(form.calls),
        "reasoning": form.reasoning is not None,
        "unmarked": first and first.unmarked,
        "listed": first and first.listed,
        "encoding": form.encoding,
        "id": first and first.id,
    }
    return (
        all(getattr(when, name) in (None, "", value) for name, value in derived.items())
        and when.opening in (first.opening if first else "")
        and when.header in form.header
        and all(any(text in rendering for rendering in renderings.values()) for text in when.rendered)
    )


def _corrected(form: TurnForm, row: Row) -> TurnForm:
    calls = form.calls
    if row.call and calls:
        changes = dict(row.call)
        if "pieces" in changes:
            changes["pieces"] = msgspec.convert(changes["pieces"], ready(tuple[Piece, ...]))
        calls = (replace(calls[0], **changes), *calls[1:])
    reasoning = row.reasoning or form.reasoning
    if reasoning is not None and (row.call_ends or row.again):
        reasoning = replace(
            reasoning, call_ends=row.call_ends or reasoning.call_ends, again=row.again or reasoning.again
        )
    return replace(
        form,
        calls=(*calls, *row.calls),
        reasoning=reasoning,
        wraps=(*form.wraps, *(wrap for wrap in row.wraps if wrap not in form.wraps)),
        skips=tuple(dict.fromkeys((*form.skips, *row.skips))),
        strays=tuple(dict.fromkeys((*form.strays, *row.strays))),
        ends=tuple(dict.fromkeys((*form.ends, *row.ends))),
        text_before=form.text_before if row.text_before is None else row.text_before,
        corrections=(*form.corrections, Correction(row.name, row.reason, row.source)),
    )
