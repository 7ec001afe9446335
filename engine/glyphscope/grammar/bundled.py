"""The bundled grammars, each with texts that it must and must not match."""

from __future__ import annotations

from functools import cache

import msgspec

from glyphscope.base.resources import read_text
from glyphscope.base.structs import ready


class BundledGrammar(msgspec.Struct, frozen=True, kw_only=True):
    """A grammar of the assets: its title, its text, in Lark, and its examples."""

    title: str
    matches: tuple[str, ...]
    rejects: tuple[str, ...]
    text: str = ""


@cache
def bundled_grammars() -> dict[str, BundledGrammar]:
    """The bundled grammars by name, in the order of the assets."""
    listed = msgspec.json.decode(read_text("grammars/examples.json"), type=ready(dict[str, BundledGrammar]))
    texts = {name: read_text(f"grammars/{name}.lark") for name in listed}
    return {name: msgspec.structs.replace(one, text=texts[name]) for name, one in listed.items()}
