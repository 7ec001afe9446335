"""The English spelling of the regular endings -s, -ed and -ing.

If the last syllable is stressed and ends in one consonant after one vowel, that consonant doubles. A single syllable is
always stressed; for longer verbs, the caller decides (admit, not visit), in American spelling (traveled).
"""

from __future__ import annotations

import re

_CONSONANT = "[bcdfghjklmnpqrstvwxyz]"
_ONE_SYLLABLE = re.compile("[^aeiou]*(?:qu)?[aeiouy][^aeiouwxy]")
_DOUBLES = re.compile("(?:^|[^aeiou]|qu)[aeiouy][^aeiouwxy]$")


def third_person(base: str) -> str:
    """`goes`, `watches`, `studies`, `plays`."""
    if re.search(f"{_CONSONANT}y$", base):
        return base[:-1] + "ies"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    return base + "s"


def past(base: str, stressed: bool = False) -> str:
    """`loved`, `studied`, `stopped`, `panicked`, `walked`."""
    if base.endswith("e"):
        return base + "d"
    if re.search(f"{_CONSONANT}y$", base):
        return base[:-1] + "ied"
    return _before_vowel(base, stressed) + "ed"


def gerund(base: str, stressed: bool = False) -> str:
    """`loving`, `studying`, `stopping`, `lying`, `seeing`, `being`."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and base != "be" and not base.endswith(("ee", "oe", "ye")):
        return base[:-1] + "ing"
    return _before_vowel(base, stressed) + "ing"


def _before_vowel(base: str, stressed: bool) -> str:
    if base.endswith("c"):
        return base + "k"
    if _DOUBLES.search(base) and (stressed or _ONE_SYLLABLE.fullmatch(base)):
        return base + base[-1]
    return base
