"""Make invisible characters and controls visible: one rule for every output.

It uses the Unicode properties of the `regex` package, whose updates add new characters: controls, format characters
(including bidirectional ones), surrogates, private use, unassigned code points, line and paragraph separators, and all
of Default_Ignorable_Code_Point. Three more characters are blank although no property says so. Joiners and variation
selectors are kept if a standard gives them a visible effect: inside an emoji (UTS 51), and after a joining letter or a
virama (RFC 5892, appendix A).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import regex

    _Match: TypeAlias = re.Match[str] | regex.Match[str]

_NO_SHAPE = "\u2800\ufffc\U0001d159"  # braille blank, object replacement, musical null notehead
_UNSEEN = (
    r"[[\p{C}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}"
    + _NO_SHAPE
    + r"]--\p{Prepended_Concatenation_Mark}]"
)
_JOINS = (
    r"(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier})\uFE0F"
    r"|(?<=[0-9#*])\uFE0F(?=\u20E3|\Z)"
    r"|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\uFE0F?)\u200D(?=\p{Extended_Pictographic}|\Z)"
    r"|(?<=\p{Canonical_Combining_Class=Virama})[\u200C\u200D]"
    r"|(?<=[\p{Joining_Type=D}\p{Joining_Type=L}]\p{Joining_Type=T}*)\u200C"
    r"(?=\p{Joining_Type=T}*[\p{Joining_Type=D}\p{Joining_Type=R}]|\Z)"
)
_CONTROLS = re.compile(r"(?P<joins>(?!))?[\x00-\x1f\x7f]")
"""The characters in ASCII to replace, none of which joins others."""
_MAY_BE_IGNORED = {"Lo", "Mn", "Mc", "Me"}
"""The categories of printable characters of which some are in Default_Ignorable_Code_Point."""
_LAYOUT = "\n\t"
_WITHOUT_LAYOUT = re.compile(f"[{_LAYOUT}]")
_LISTED = 6


@lru_cache
def _pattern(*, spaces: bool = False) -> regex.Pattern[str]:
    """The characters to replace, or whatever joins others."""
    import regex

    more = r"|[\p{Zs}--\x20]" if spaces else ""
    return regex.compile(rf"(?P<joins>{_JOINS})|{_UNSEEN}{more}", regex.V1)


def visible(text: str, *, lines: bool = False, spaces: bool = False, single: bool = False) -> str:
    """The text with a sign for each character that is not visible as itself: `␛` for controls, else `⟨U+202E⟩`.

    `lines`: line feeds and tabs are kept. `spaces`: spaces other than U+0020 also get a sign. `single`: the sign is one
    character (U+FFFD if there is none), so that positions are preserved, and a text may end inside an emoji.
    """
    if _is_plain(_WITHOUT_LAYOUT.sub("", text) if lines else text):
        return text

    def sign(found: _Match) -> str:
        return found[0] if _stays(found, lines=lines, single=single) else _sign(found[0], single=single)

    return str((_CONTROLS if text.isascii() else _pattern(spaces=spaces)).sub(sign, text))


def escaped(text: str) -> str:
    """JSON, or a text with the same escapes, with the same values: invisible characters are written as `\\u202e`."""
    if text.isascii():
        return text.replace("\x7f", "\\u007f")

    def escape(found: regex.Match[str]) -> str:
        return found[0] if _stays(found, lines=True, single=False) else json.dumps(found[0])[1:-1]

    return str(_pattern().sub(escape, text))


def one_line(text: str) -> str:
    """The text on one line: white space of any kind becomes one space, and invisible characters get signs."""
    return visible(" ".join(text.split()))


def unseen(text: str, *, lines: bool = True) -> str:
    """`U+202E, U+200B ×2`: the characters for which `visible` shows a sign; empty if there are none."""
    kinds = "".join(set(text).difference("\n\t\r" if lines else ""))
    if _is_plain(kinds) or not _pattern().search(kinds):  # a text of megabytes has few kinds of characters
        return ""
    found: Counter[str] = Counter()
    for match in _pattern().finditer(text):
        if not _stays(match, lines=lines, single=False):
            found[match[0]] += 1
    if lines:
        found.pop("\r", None)
    named = [
        f"U+{ord(char):04X}" + (f" ×{count}" if count > 1 else "")
        for char, count in found.most_common(_LISTED)
    ]
    return ", ".join(named) + (" …" if len(found) > _LISTED else "")


def is_seen(char: str) -> bool:
    """Whether a single character is visible as itself."""
    return (char.isascii() and char.isprintable()) or _pattern(spaces=True).fullmatch(char) is None


def character_words(char: str) -> str:
    """A single character: itself if it is visible, otherwise its number, `U+200B`."""
    return char if is_seen(char) and unicodedata.category(char)[0] != "M" else f"U+{ord(char):04X}"


def _is_plain(text: str) -> bool:
    """Whether every character is certainly visible, as nearly all of what the program itself writes.

    It spares the import of `regex`, which takes longer than that of any other module here.
    """
    if not text.isprintable():
        return False
    return text.isascii() or not any(
        char in _NO_SHAPE or unicodedata.category(char) in _MAY_BE_IGNORED for char in set(text)
    )


def _stays(found: _Match, *, lines: bool, single: bool) -> bool:
    """Whether it is only layout, or joins the characters around it; at the text's end there is nothing to join."""
    if found["joins"] is not None:
        return single or found[0] == "\ufe0f" or found.end() < len(found.string)
    return lines and found[0] in _LAYOUT


def _sign(char: str, *, single: bool) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if single else f"⟨U+{code:04X}⟩"
