"""Rule names that llama.cpp does not read, and better ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from glyphscope.grammar.gbnf import codes
from glyphscope.grammar.gbnf.codes import report
from glyphscope.grammar.gbnf.diagnostic import Diagnostic, fix
from glyphscope.grammar.gbnf.syntax import GbnfRule

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9-]+")


def bad_names(found: Mapping[str, Sequence[tuple[int, int]]], rules: Sequence[GbnfRule]) -> list[Diagnostic]:
    """A mistake for each place in which a bad name stands; the fix of one renames all of them."""
    taken = {rule.name for rule in rules} - found.keys()
    taken.update(ref.name for rule in rules for ref in rule.references if ref.name not in found)
    mistakes = []
    for name, spans in found.items():
        new = free_name(_NOT_OF_A_NAME.sub("-", name).strip("-") or "rule", taken)
        taken.add(new)
        mend = fix(f"Rename it to {new} everywhere", *((start, end, new) for start, end in spans))
        what = "`_`" if name.isascii() else "these letters"
        message = f"A rule's name has only letters a-z, A-Z, digits and `-`: llama.cpp stops at {what}. Write {new}."
        mistakes += [report(codes.BAD_NAME, message, start, end, mend) for start, end in spans]
    return mistakes


def free_name(name: str, taken: set[str]) -> str:
    """The name, or the first of name-2, name-3 … that is not taken."""
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)
