"""The known verbs and their forms: the parts of irregular verbs, the names of regular ones, Spanish for common ones.

Also the form for a tense and a person, and whether a subject and a finite verb agree. The subject's person and number
are inferred from its words: pronouns, `and`, the word before the noun, the noun's ending. That is only a heuristic for
nouns with an unmarked plural, so the answer states the assumption.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, TypeAlias

from glyphscope.base import resources
from glyphscope.base.errors import ToolError
from glyphscope.base.shorten import shorten

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


SUBJECTS: dict[str, str] = {
    "1sg": "I",
    "2sg": "you",
    "3sg": "he, she or it",
    "1pl": "we",
    "2pl": "you",
    "3pl": "they",
}
"""Persons, with their pronouns."""

_BE_PRESENT = {"1sg": "am", "3sg": "is"}


def form_of(verb: str, tense: str, person: str) -> tuple[str, ...]:
    """The form and its variants, the usual one first: ("ate",), ("was",), ("learned", "learnt").

    Raises ToolError for an unknown verb, tense or person.
    """
    if person not in SUBJECTS:
        raise ToolError(
            f'There is no person "{person[:40]}".', hint=f"The persons are {', '.join(SUBJECTS)}."
        )
    return forms(find(verb), tense, person)


def forms(verb: Verb, tense: str, person: str) -> tuple[str, ...]:
    """`form_of` for a known verb."""
    match tense:
        case "present_simple":
            return (_present(verb, person),)
        case "past_simple":
            return (_was(person),) if verb.base == "be" else verb.past
        case "future_simple":
            return (f"will {verb.base}",)
        case "present_continuous":
            return (f"{_BE_PRESENT.get(person, 'are')} {verb.gerund}",)
        case "past_continuous":
            return (f"{_was(person)} {verb.gerund}",)
        case "present_perfect":
            return tuple(f"{'has' if person == '3sg' else 'have'} {form}" for form in verb.participle)
        case "past_perfect":
            return tuple(f"had {form}" for form in verb.participle)
        case "infinitive":
            return (f"to {verb.base}",)
        case "present_participle":
            return (verb.gerund,)
        case "past_participle":
            return verb.participle
        case _:
            raise ToolError(
                f'There is no tense "{tense[:40]}".',
                hint="Use present_simple, past_simple, future_simple, present_continuous or present_perfect.",
            )


def _present(verb: Verb, person: str) -> str:
    if verb.base == "be":
        return _BE_PRESENT.get(person, "are")
    return verb.third if person == "3sg" else verb.base


def _was(person: str) -> str:
    return "was" if person in ("1sg", "3sg") else "were"


_PRONOUNS = {"i": "1sg", "you": "2sg", "he": "3sg", "she": "3sg", "it": "3sg", "we": "1pl", "they": "3pl"}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SINGULAR = _words(
    "this that a an each every either neither another one everyone everybody everything someone somebody something "
    "anyone anybody anything nobody nothing who what"
)
_PLURAL = _words(
    "these those many few several both two three four five six seven eight nine ten dozens hundreds"
)
_PLURAL_NOUNS = _words(
    "people children men women feet teeth geese mice police cattle oxen criteria phenomena"
)
_SINGULAR_NOUNS = _words(
    "news physics mathematics maths economics politics athletics gymnastics linguistics measles james "
    "christmas paris texas netherlands bus gas lens"
)
_EITHER = _words("sheep fish deer aircraft series species data media staff team family crew")
_QUANTITIES = _words("lot lots plenty most some all half majority rest none")
_PREPOSITIONS = _words("of in on at with from for by under over near behind between without about to")
_MODALS = _words("can could may might must shall should will would can't cannot won't shan't")
_NEGATED = re.compile("n't$")


@dataclass(frozen=True)
class Agreement:
    """The verdict, the persons assumed for the subject, and the form that agrees (empty if the given one does)."""

    agrees: bool
    persons: tuple[str, ...]
    better: str
    reason: str


def agreement(subject: str, verb_form: str) -> Agreement:
    """The verdict. Raises ToolError for a missing subject, an unknown verb, or a non-finite form (eaten, eating)."""
    persons = persons_of(subject)
    words = re.findall(r"[a-z]+(?:['’][a-z]+)?", verb_form.lower())
    if not words:
        raise ToolError("verb_form has no word in it.", hint="Write a verb, such as goes.")
    first = words[0].replace("’", "'")
    if first in _MODALS or _NEGATED.sub("", first) in _MODALS:
        return Agreement(True, persons, "", f'"{first}" is the same for every person.')
    found = _NEGATED.sub("", first)
    known = readings(found)
    if not known:
        raise unknown(found)
    allowed, parts = _allowed(found, known)
    if not allowed:
        kind = "present" if "gerund" in parts else "past"
        helper = "am, are or is" if kind == "present" else "have or has"
        raise ToolError(
            f"{first} is a {kind} participle, not a finite verb.", hint=f"It needs {helper} before it."
        )
    reason = f'"{first}" goes with {_listed(allowed)}; the subject is {" or ".join(persons)}.'
    if allowed.intersection(persons):
        return Agreement(True, persons, "", reason)
    better = _better(known, found, persons[0]) + first.removeprefix(found)
    rest = verb_form.lower().replace(words[0], "", 1).strip()
    return Agreement(False, persons, f"{better} {rest}".strip(), reason)


def persons_of(subject: str) -> tuple[str, ...]:
    """The person and number of a subject; two if both are possible. Raises ToolError if it contains no word."""
    words = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+", subject.lower())
    if not words:
        raise ToolError("The subject has no word in it.", hint="Write one such as he, or the dogs.")
    if len(words) == 1 and words[0] in _PRONOUNS:
        return ("2sg", "2pl") if words[0] == "you" else (_PRONOUNS[words[0]],)
    if "and" in words[1:-1] and words[0] not in ("each", "every", "either"):
        return ("1pl",) if {"i", "me", "we"} & set(words) else ("2pl",) if "you" in words else ("3pl",)
    for joint in ("or", "nor"):  # the nearer part decides
        if joint in words[1:-1]:
            return persons_of(" ".join(words[len(words) - words[::-1].index(joint) :]))
    return _phrase(words)


def _phrase(words: list[str]) -> tuple[str, ...]:
    for at, word in enumerate(words):
        if at and word in _PREPOSITIONS:
            if word == "of" and words[at - 1] in _QUANTITIES and at + 1 < len(words):
                return _phrase(words[at + 1 :])
            words = words[:at]
            break
    first, noun = words[0], words[-1]
    if first in _PLURAL or (first.isdigit() and first != "1"):
        return ("3pl",)
    if first in _SINGULAR or first == "1":
        return ("3sg",)
    if noun in _EITHER:
        return ("3sg", "3pl")
    if noun in _PLURAL_NOUNS:
        return ("3pl",)
    ends = noun.endswith("s") and not noun.endswith(("ss", "us", "is", "'s", "’s"))
    return ("3pl",) if ends and noun not in _SINGULAR_NOUNS else ("3sg",)


def _allowed(form: str, known: list[tuple[Verb, list[Part]]]) -> tuple[set[str], set[Part]]:
    """The persons with which a form can agree as a finite verb, in the present or in the past."""
    allowed: set[str] = set()
    parts: set[Part] = set()
    for verb, found in known:
        parts.update(found)
        for person in SUBJECTS:
            present, past = forms(verb, "present_simple", person), forms(verb, "past_simple", person)
            if form in (*present, *past):
                allowed.add(person)
    return allowed, parts


def _better(known: list[tuple[Verb, list[Part]]], form: str, person: str) -> str:
    """The form of the same tense that agrees."""
    verb = known[0][0]
    past = verb.base == "be" and form in ("was", "were")
    return forms(verb, "past_simple" if past else "present_simple", person)[0]


def _listed(persons: set[str]) -> str:
    if len(persons) == 6:
        return "every person"
    return ", ".join(dict.fromkeys(pronoun for person, pronoun in SUBJECTS.items() if person in persons))
