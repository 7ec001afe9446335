"""Markers in texts: indivisible tokens, common parts of texts, and pairs of opening and closing markers."""

from __future__ import annotations

import re
from functools import lru_cache

from glyphscope.base.lines import common_length

_SPACE = re.compile(r"\s*")
_NAMESPACE = re.compile(r"\]<\]\w+\[>\[")
_MARK = (
    r"\]<\]\w+\[>\[|[\[\]]\w*~\w*[\[\]]|<[^<>\s][^<>\n]{0,80}>|\[/?[A-Z][A-Z_ ]+\]|\[\|[^\[\]|\s]{1,80}\|\]"
)
"""A namespace (`]<]name[>[`), a sign between brackets (`[e~[`), a tag, and between brackets a word in capital letters
or between bars (`[|end|]`).
"""
_TOKEN = re.compile(rf"{_MARK}|\n|[ \t]+|\w+|.", re.DOTALL)
_TAG = re.compile(_MARK)
_QUOTE = "[\"']"
_SIDES = re.compile(r"begin|start|open|prefix|end|close|suffix|[/|｜\s]", re.IGNORECASE)
_CLOSING = re.compile(r"^</|^\[/|end|close|suffix|^<[^|]*\|>$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """The text in pieces: tags, words, line ends, runs of spaces, single signs."""
    return tuple(_TOKEN.findall(text))


def is_tag(token: str) -> bool:
    """Whether a token is a marker in angle brackets, or capital letters in square brackets."""
    return _TAG.fullmatch(token) is not None


def tags_of(text: str) -> list[str]:
    """The tags of a text that has nothing else, each with its namespace; [] for other texts."""
    out: list[str] = []
    space = ""
    for token in tokens(text):
        if not token.strip():
            continue
        if not is_tag(token):
            return []
        if _NAMESPACE.fullmatch(token):
            space += token
        else:
            out.append(space + token)
            space = ""
    return out


def without_namespace(text: str) -> str:
    """A text without the namespaces of its markers."""
    return _NAMESPACE.sub("", text)


def after_space(text: str, at: int) -> int:
    """The first place after white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def solid_tokens(text: str) -> list[str]:
    """The tokens of a text other than white space."""
    return [token for token in tokens(text) if token.strip()]


def through_solid(text: str, count: int) -> str:
    """A text up to and including its first `count` tokens other than white space."""
    parts = tokens(text)
    ends = [end for end, token in enumerate(parts, 1) if token.strip()]
    return "".join(parts[: ends[count - 1]])


def common_prefix(one: str, other: str) -> str:
    """The common prefix of both texts, in whole tokens."""
    parts = tokens(one)
    return "".join(parts[: common_length(parts, tokens(other))])


def common_suffix(one: str, other: str) -> str:
    """The common suffix of both texts, in whole tokens."""
    parts = tokens(one)
    return "".join(parts[len(parts) - common_length(parts[::-1], tokens(other)[::-1]) :])


def mirrors(opening: str, closing: str) -> bool:
    """Whether one marker closes the other: `<x>` and `</x>`, `…begin…` and `…end…`, `<|x>` and `<x|>`."""
    return (
        opening != closing
        and is_tag(opening)
        and is_tag(closing)
        and _SIDES.sub("", opening.lower()) == _SIDES.sub("", closing.lower())
    )


def closes(tag: str) -> bool:
    """Whether a marker looks like a closing marker."""
    return bool(_CLOSING.search(tag))


def mirror_of(tag: str) -> str:
    """The marker that would close this one: `</x>` for `<x>`, `[/X]` for `[X]`, `<x|>` for `<|x>`."""
    if tag.startswith("<|") and not tag.endswith("|>"):
        return f"<{tag[2:-1]}|>"
    return f"{tag[0]}/{tag[1:]}"


def last_tag(text: str) -> str:
    """The last marker of a text with the white space after it; "" if something else is last."""
    parts = tokens(text)
    end = len(parts)
    while end and not parts[end - 1].strip():
        end -= 1
    return "".join(parts[end - 1 :]) if end and is_tag(parts[end - 1]) else ""


def first_tag(text: str) -> str:
    """The marker with which a text begins after white space, or ""."""
    first = "".join(solid_tokens(text)[:1])
    return first if is_tag(first) else ""


@lru_cache(maxsize=4096)
def loose(literal: str) -> str:
    """A regular expression for a marker with any white space between its tokens but none around it.

    `Ġ` and `▁` are white space in vocabularies, which a tokenizer may leave in the text.
    """
    written = (
        (f"[\\sĠ]{gap}" if gap else "")
        + (_QUOTE if token == '"' else re.escape(token).replace("▁", r"(?:▁|\\?_| )"))
        for gap, token in loose_tokens(literal)
    )
    return "".join(written)


def loose_tokens(literal: str) -> list[tuple[str, str]]:
    """The tokens of a marker, each after the white space that may precede it: "" for none, "*" any, "+" some."""
    out: list[tuple[str, str]] = []
    spaced, before = False, ""
    for token in tokens(literal.strip()):
        if not token.strip():
            spaced = True
            continue
        gap = ""
        if before and spaced:
            words = re.match(r"\w", token) and re.match(r"\w", before[-1])
            gap = "+" if words and not literal.lstrip().startswith("<") else "*"
        elif before and _apart(before, token):
            gap = "*"
        out.append((gap, token))
        spaced, before = False, token
    return out


def _apart(before: str, token: str) -> bool:
    """Whether white space between two tokens has no meaning: next to a whole tag, or after a fence's bracket."""
    return (
        (is_tag(before) and (is_tag(token) or token in "[{<`" or re.match(r"\w", token) is not None))
        or (is_tag(token) and before in "]}`")
        or (before in "]}" and token in "]}`")
    )


def without_overlap(opening: str, closing: str, whole: str) -> tuple[str, str, str]:
    """Opening, closing and the text between them in `closing + … + opening`, if both claim the same characters.

    These characters go to the closing, except for a namespace, with which its markers begin.
    """
    shared = len(opening) + len(closing) - len(whole)
    if shared > 0:
        if found := _NAMESPACE.search(opening[:shared]):
            closing = closing[: len(closing) - shared + found.start()]
            opening = opening[found.start() :]
        else:
            opening = opening[shared:]
    return opening, closing, whole[len(closing) : len(whole) - len(opening)]
