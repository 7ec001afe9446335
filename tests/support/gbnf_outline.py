"""GBNF bodies in short, for comparing them without their places."""

from __future__ import annotations

from typing import Any

from glyphscope.grammar.gbnf.parse.syntax import (
    Alternatives,
    AnyCharacter,
    Class,
    GroupItem,
    Quoted,
    Reference,
    Repetition,
    TokenItem,
)


def outline(node: Any) -> Any:
    """Return a body in short, for comparing by eye."""
    match node:
        case Alternatives(options=options):
            return [[outline(item) for item in option.items] for option in options]
        case Quoted(text=text):
            return text
        case Class(ranges=ranges, negated=negated):
            return ("not" if negated else "class", ranges)
        case AnyCharacter():
            return "."
        case Reference(name=name):
            return f"→{name}"
        case TokenItem(token=token, negated=negated):
            return ("!token" if negated else "token", token)
        case GroupItem(body=body):
            return outline(body)
        case Repetition(item=item, minimum=minimum, maximum=maximum):
            return (outline(item), minimum, maximum)
