"""The known verbs: the parts of irregular verbs, the names of regular ones, and Spanish for common ones."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, TypeAlias

from glyphscope import resources
from glyphscope.errors import ToolError
from glyphscope.text.shorten import shorten

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


Part: TypeAlias = Literal["base", "third", "past", "participle", "gerund"]

MAX_WORD = 40


@dataclass(frozen=True)
class Spanish:
    """A verb in Spanish: `yo` and `él` in the present and in the preterite; variants are separated by slashes."""

    infinitive: str
    present_yo: str
    present_el: str
    past_yo: str
    past_el: str
    participle: str
    gerund: str


@dataclass(frozen=True)
class Verb:
    """An English verb; the first of its `past` and `participle` variants is the preferred one."""

    base: str
    past: tuple[str, ...]
    participle: tuple[str, ...]
    third: str
    gerund: str
    irregular: bool
    spanish: Spanish | None = None

    @property
    def forms(self) -> dict[Part, tuple[str, ...]]:
        """Its forms by part."""
        return {
            "base": (self.base, "am", "are") if self.base == "be" else (self.base,),
            "third": (self.third,),
            "past": self.past,
            "participle": self.participle,
            "gerund": (self.gerund,),
        }

    def parts_of(self, form: str) -> list[Part]:
        """The parts of this verb that a form can be: `put` is its base, its past and its participle."""
        return [part for part, forms in self.forms.items() if form in forms]


def find(verb: str) -> Verb:
    """The verb with this base form. Raises ToolError for another form or an unknown verb, with similar ones."""
    word = _word(verb)
    found = lexicon().get(word)
    if found is not None:
        return found
    if bases := [known.base for known, _ in readings(word)]:
        raise ToolError(
            f"{word} is not a base form.", hint=f"It is a form of {' and '.join(bases)}: write {bases[0]}."
        )
    raise unknown(word)


def readings(form: str) -> list[tuple[Verb, list[Part]]]:
    """Every verb with this form, and the parts that it can be; empty if there is none."""
    word = _word(form)
    return [(verb, verb.parts_of(word)) for verb in _by_form().get(word, ())]


def unknown(word: str) -> ToolError:
    """The error for an unknown verb, with the known forms that are similar to the word."""
    near = difflib.get_close_matches(word, _by_form(), n=3, cutoff=0.7)
    hint = (
        f"Is {' or '.join(near)} meant?"
        if near
        else "Common English verbs are known, such as go, eat or walk."
    )
    return ToolError(f'No verb "{word}" is known.', hint=hint)


@lru_cache(maxsize=1)
def lexicon() -> dict[str, Verb]:
    """All known verbs by their base forms."""
    data = json.loads(resources.read_text("verbs.json"))
    doubling = frozenset(data["doubling"].split())
    verbs = [_verb(item["base"], doubling, item) for item in (*data["irregular"], *data["regular"])]
    verbs += [_verb(base, doubling, {}) for base in data["others"].split()]
    return {verb.base: verb for verb in verbs}


@lru_cache(maxsize=1)
def _by_form() -> dict[str, tuple[Verb, ...]]:
    found: dict[str, dict[str, Verb]] = {}
    for verb in lexicon().values():
        for form in chain(*verb.forms.values()):
            found.setdefault(form, {})[verb.base] = verb
    return {form: tuple(verbs.values()) for form, verbs in found.items()}


def _verb(base: str, doubling: frozenset[str], item: dict[str, Any]) -> Verb:
    """The verb of `item`, which has the past and participle of an irregular verb, and the Spanish of a common one."""
    regular = past(base, base in doubling)
    return Verb(
        base,
        tuple(item.get("past", regular).split("/")),
        tuple(item.get("participle", regular).split("/")),
        {"be": "is", "have": "has"}.get(base) or third_person(base),
        gerund(base, base in doubling),
        "past" in item,
        Spanish(*item["spanish"]) if "spanish" in item else None,
    )


def _word(text: str) -> str:
    word = text.strip().lower()
    if len(word) > MAX_WORD:
        raise ToolError(
            f'"{shorten(word, MAX_WORD)}" is not a verb: too long.', hint="Write one word, such as go."
        )
    return word.removeprefix("to ").strip()
