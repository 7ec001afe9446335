"""The search of the history: words, tags and scores, as conditions of SQLite."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from glyphscope.events.encoding import whole_text

MAX_TAGS, MAX_TAG = 20, 40
MAX_SCORE = 5
_MAX_WORDS, _MAX_WORD = 50, 500
_SCORE = re.compile(r"score(:|=|>=|<=|>|<)([0-9])")
_SEARCHED = ("title", "model", "tool", "outcome", "notation", "name", "note", "tags")
_TEXT = "(" + " || ' ' || ".join(_SEARCHED) + ")"


def tags_of(words: Iterable[str]) -> tuple[str, ...]:
    """Tags in stored form: lower case, without `#`, white space, commas and duplicates."""
    found = (part.lstrip("#").casefold() for word in words for part in re.split(r"[\s,]+", whole_text(word)))
    return tuple(dict.fromkeys(tag[:MAX_TAG] for tag in found if tag))[:MAX_TAGS]


def tag_column(tags: Iterable[str]) -> str:
    """Tags as one column: ` bug slow `, so that a whole tag is found between spaces."""
    found = tags_of(tags)
    return f" {' '.join(found)} " if found else ""


def folded(text: str | None) -> str:
    """A text as it is searched: without upper case, which SQLite itself only knows in ASCII."""
    return (text or "").casefold()


def conditions(search: str) -> tuple[str, list[Any]]:
    """The condition and its values for a search, with `folded` as a function of SQLite: every word must match.

    `#slow` is a whole tag; `score:4`, `score>=3` and so on compare the score (0 for a run without one); any other word
    is a part of the texts of a row. Only the first words of an overlong text count, because SQLite limits searches.
    """
    where, values = "1", list[Any]()
    for word in list(dict.fromkeys(whole_text(search).split()))[:_MAX_WORDS]:
        score = _SCORE.fullmatch(word.lower())
        if score is not None:
            where += f" AND score {score[1].replace(':', '=')} ?"
            values.append(int(score[2]))
            if score[1].startswith("<"):
                where += " AND score > 0"
        elif word.startswith("#") and (tags := tag_column([word])):
            where += " AND instr(tags, ?)"
            values.append(tags)
        else:
            where += f" AND instr(folded({_TEXT}), ?)"
            values.append(folded(word[:_MAX_WORD]))
    return where, values
