"""A cheap search for known names in a prompt, also misspelt ones, before the model is used; and the router's settings,
which list the names.

Every sequence of words in the prompt is compared with every known name, in lower case and without apostrophes;
rapidfuzz scores their similarity. The same prompt and names give the same candidates, and the search has limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from glyphscope.base import resources
from glyphscope.base.errors import PromptError, find_named
from glyphscope.base.structs import ready
from glyphscope.events import NameCandidate, RouterSettings

MIN_SCORE = 84.0
"""Of 100: about one letter in seven is wrong, missing or added."""
MIN_FUZZY = 5
"""Characters: a shorter name is one letter away from too many words, so it is found only as it is written."""
MAX_CHARACTERS = 4_000
"""Characters of the prompt that are searched, from its beginning."""
MAX_WORDS = 6
"""Words of a name that is also found misspelt; a longer one is found only as it is written."""
MAX_COMPARISONS = 8_000_000
"""About half a second; beyond it, the last names are found only as they are written."""
MAX_CANDIDATES = 12
"""The best names are reported, at most this many."""

_WORD = re.compile(r"[^\W_]+(?:['’‘ʼ\-][^\W_]+)*")
_APOSTROPHES = str.maketrans("", "", "'’‘ʼ")


class _Piece(NamedTuple):
    """Consecutive words of the prompt; `key` is their text in the form that is compared."""

    key: str
    start: int
    end: int


class _Known(NamedTuple):
    """A known name; `place` is its place in the settings, as the first of equal names counts."""

    key: str
    name: str
    kind: str
    place: int


class _Match(NamedTuple):
    """A name that words of the prompt may mean; `score` is their similarity, up to 100."""

    piece: _Piece
    score: float
    known: _Known


def find_candidates(prompt: str, names: Mapping[str, Sequence[str]]) -> tuple[NameCandidate, ...]:
    """The known names (by kind) that the prompt seems to mean, best first.

    A place in the prompt matches only the most similar name; if several are equal, the longest. A name known under two
    kinds is reported under both.
    """
    known = [
        _Known(key, name, kind, index)
        for index, (kind, name) in enumerate((kind, name) for kind in names for name in names[kind])
        for key in _keys(name)
    ]
    longest = max((one.key.count(" ") + 1 for one in known), default=0)
    pieces = list(_pieces(prompt[:MAX_CHARACTERS], longest))
    found = sorted(
        {*_written(pieces, known), *_alike(pieces, known)},
        key=lambda one: (-one.score, one.piece.start - one.piece.end, one.piece.start, one.known.place),
    )
    taken: list[tuple[int, int, float]] = []  # start, end, score
    candidates: list[NameCandidate] = []
    for piece, score, one in found:
        mine = (piece.start, piece.end, score)
        if mine not in taken and any(piece.start < end and start < piece.end for start, end, _ in taken):
            continue
        taken.append(mine)
        text = prompt[piece.start : piece.end]
        candidates.append(NameCandidate(one.name, one.kind, text, piece.start, piece.end, round(score, 1)))
    return tuple(candidates[:MAX_CANDIDATES])


def _keys(name: str) -> set[str]:
    """The forms of a name that are compared, such as `The Crucible`: with and without the article."""
    key = _key(_WORD.findall(name))
    return {key, key.removeprefix("the ")} - {""}


def _key(words: Iterable[str]) -> str:
    return " ".join(word.casefold().translate(_APOSTROPHES) for word in words)


def library() -> str:
    """The library that scores, with its version."""
    import rapidfuzz

    return f"rapidfuzz {rapidfuzz.__version__}"


def _pieces(text: str, longest: int) -> Iterable[_Piece]:
    words = list(_WORD.finditer(text))
    keys = [_key((word[0],)) for word in words]
    for first in range(len(words)):
        for size in range(1, min(longest + 1, len(words) - first) + 1):
            if size > MAX_WORDS + 1 and size != longest:
                continue
            last = first + size - 1
            yield _Piece(" ".join(keys[first : last + 1]), words[first].start(), words[last].end())


def _written(pieces: Sequence[_Piece], known: Sequence[_Known]) -> Iterable[_Match]:
    """The names that the prompt contains literally."""
    by_key: dict[str, list[_Known]] = {}
    for one in known:
        by_key.setdefault(one.key, []).append(one)
    for piece in pieces:
        for one in by_key.get(piece.key, ()):
            yield _Match(piece, 100.0, one)


def _alike(pieces: Sequence[_Piece], known: Sequence[_Known]) -> Iterable[_Match]:
    """The names that are similar to a piece. A piece may have one word more than the name: `gjallar horn`."""
    from rapidfuzz import fuzz, process  # here and above, as only a router with known names needs it

    compared = [one for one in known if len(one.key) >= MIN_FUZZY and one.key.count(" ") < MAX_WORDS]
    asked = [piece for piece in pieces if len(piece.key) >= MIN_FUZZY - 1]
    compared = compared[: MAX_COMPARISONS // max(1, len(asked))]
    keys = [one.key for one in compared]
    for piece in asked:
        for _, score, place in process.extract(
            piece.key, keys, scorer=fuzz.ratio, score_cutoff=MIN_SCORE, limit=3
        ):
            if score < 100:
                yield _Match(piece, score, compared[place])


# the router's settings

_FOLDER, _SUFFIX = "routers", ".json"


@lru_cache(maxsize=1)
def router_presets() -> tuple[str, ...]:
    """The names of the bundled settings. Each belongs to the registry of the same name."""
    return tuple(name.removesuffix(_SUFFIX) for name in resources.names(_FOLDER, _SUFFIX))


def router_preset(name: str) -> RouterSettings:
    """The settings of that name. Raises PromptError if there are none."""
    files = {known: f"{_FOLDER}/{known}{_SUFFIX}" for known in router_presets()}
    file = find_named(files, name, f'preset "{name}" of the router', error=PromptError)
    return read_router(resources.read_bytes(file), name)


def read_router(data: str | bytes, where: str = "") -> RouterSettings:
    """The settings in a JSON text: an object with any of their fields. Raises PromptError with the place."""
    try:
        fields = msgspec.json.decode(data, type=ready(dict[str, msgspec.Raw]))
        known = RouterSettings.__struct_fields__
        for name in fields:
            if name not in known:
                raise PromptError(
                    f'Router settings have no "{name}".', where=where, hint=f"They have {', '.join(known)}."
                )
        return msgspec.json.decode(data, type=ready(RouterSettings))
    except (msgspec.DecodeError, RecursionError) as error:
        raise PromptError(
            f"Invalid router settings: {error}.",
            where=where,
            hint="They are a JSON object; `rules` is a list of texts, `synonyms` and `names` are lists by name.",
        ) from None
