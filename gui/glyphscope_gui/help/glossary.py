"""The terms of docs/glossary.md, which every hint on a label is made of."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from glyphscope.resources import read_page

PAGE = "glossary.md"
_ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>.+) \|$", re.MULTILINE)
_NARROWED = re.compile(r" \([^)]*\)$")
_AROUND = " \t\n:…*?&"


class Entry(NamedTuple):
    """A row of the glossary; `term` as it is written there, such as `constraint (of a run)`."""

    term: str
    meaning: str


@cache
def glossary() -> dict[str, tuple[Entry, ...]]:
    """The entries by the terms that they explain, in small letters. Empty where the page is missing."""
    try:
        page = read_page(PAGE)
    except OSError:
        return {}
    found: dict[str, tuple[Entry, ...]] = {}
    for row in list(_ROW.finditer(page))[1:]:  # the first row is the table's head
        entry = Entry(row["term"], row["meaning"].replace("`", ""))
        if not entry.term.strip("-| "):
            continue
        for name in _NARROWED.sub("", entry.term).split(", "):
            found[name.casefold()] = (*found.get(name.casefold(), ()), entry)
    return found


def entries(words: str) -> tuple[Entry, ...]:
    """What the glossary says about a label: its words are a term, or the plural of one. Empty for all others."""
    terms = glossary()
    label = " ".join(words.strip(_AROUND).casefold().split())
    singular = label[:-1] if label.endswith("s") else label
    return terms.get(label) or terms.get(singular) or ()
