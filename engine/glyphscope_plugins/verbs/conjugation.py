"""The form of a verb for a tense and a person."""

from __future__ import annotations

from glyphscope.errors import ToolError
from glyphscope_plugins.verbs.lexicon import Verb, find

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


def conjugate(verb: str, tense: str, person: str) -> tuple[str, ...]:
    """The form and its variants, the usual one first: ("ate",), ("was",), ("learned", "learnt").

    Raises ToolError for an unknown verb, tense or person.
    """
    if person not in SUBJECTS:
        raise ToolError(
            f'There is no person "{person[:40]}".', hint=f"The persons are {', '.join(SUBJECTS)}."
        )
    return forms(find(verb), tense, person)


def forms(verb: Verb, tense: str, person: str) -> tuple[str, ...]:
    """`conjugate` for a known verb."""
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
