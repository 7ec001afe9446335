"""English verbs: forms by rule and by list, Spanish, and agreement."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base import resources
from glyphscope.base.errors import ToolError
from glyphscope.tools import argument_problems
from glyphscope_plugins.verbs.tools import VERB_TOOLS, verb_tools

DATA = json.loads(resources.read_text("verbs.json"))
VERBS = sorted({*(item["base"] for item in (*DATA["irregular"], *DATA["regular"])), *DATA["others"].split()})
PERSONS = {"1sg": "I", "2sg": "you", "3sg": "he", "1pl": "we", "2pl": "you", "3pl": "they"}


def forms_of(verb: str, tense: str, person: str = "3sg") -> list[str]:
    """The form and its variants."""
    found = VERB_TOOLS["conjugate"](verb, tense, person)[1]
    return [found["form"], *found["variants"]]


def test_there_are_enough_irregular_verbs_and_each_has_spanish() -> None:
    looked_up = [VERB_TOOLS["lookup_irregular_verb"](item["base"])[1] for item in DATA["irregular"]]
    assert len(looked_up) >= 80 and all(each["irregular"] for each in looked_up)
    assert all(item["spanish"][0].endswith(("r", "rse", "ír", "pie")) for item in DATA["irregular"])
    for verb in VERBS:
        for tense in ("present_simple", "past_simple", "past_participle", "present_participle"):
            for form in forms_of(verb, tense):
                assert form.isascii() and form.isalpha() and form.islower(), form


@pytest.mark.parametrize(
    ("base", "third", "past", "gerund"),
    [
        ("walk", "walks", "walked", "walking"),
        ("love", "loves", "loved", "loving"),
        ("agree", "agrees", "agreed", "agreeing"),
        ("study", "studies", "studied", "studying"),
        ("play", "plays", "played", "playing"),
        ("stop", "stops", "stopped", "stopping"),
        ("plan", "plans", "planned", "planning"),
        ("fix", "fixes", "fixed", "fixing"),
        ("snow", "snows", "snowed", "snowing"),
        ("watch", "watches", "watched", "watching"),
        ("kiss", "kisses", "kissed", "kissing"),
        ("die", "dies", "died", "dying"),
        ("visit", "visits", "visited", "visiting"),
        ("travel", "travels", "traveled", "traveling"),
        ("panic", "panics", "panicked", "panicking"),
        ("wait", "waits", "waited", "waiting"),
        ("obey", "obeys", "obeyed", "obeying"),
        ("zip", "zips", "zipped", "zipping"),
    ],
)
def test_a_regular_ending_is_spelled(base: str, third: str, past: str, gerund: str) -> None:
    tenses = ("present_simple", "past_simple", "present_participle")
    assert [forms_of(base, tense)[0] for tense in tenses] == [third, past, gerund]


@pytest.mark.parametrize(
    ("verb", "gerund"),
    [
        ("be", "being"),
        ("begin", "beginning"),
        ("quit", "quitting"),
        ("lie", "lying"),
        ("see", "seeing"),
        ("admit", "admitting"),
        ("forget", "forgetting"),
        ("write", "writing"),
        ("swim", "swimming"),
        ("read", "reading"),
        ("undo", "undoing"),
    ],
)
def test_a_known_verb_has_its_ing_form(verb: str, gerund: str) -> None:
    assert forms_of(verb, "present_participle") == [gerund]


@pytest.mark.parametrize(
    ("verb", "tense", "forms"),
    [
        ("be", "present_simple", "am are is are are are"),
        ("be", "past_simple", "was were was were were were"),
        ("have", "present_simple", "have have has have have have"),
        ("do", "present_simple", "do do does do do do"),
        ("have", "past_simple", "had had had had had had"),
        ("eat", "past_simple", "ate ate ate ate ate ate"),
        ("go", "past_participle", "gone gone gone gone gone gone"),
        ("study", "present_simple", "study study studies study study study"),
    ],
)
def test_a_verb_is_conjugated_for_each_person(verb: str, tense: str, forms: str) -> None:
    assert [forms_of(verb, tense, person)[0] for person in PERSONS] == forms.split()


def test_a_compound_tense_is_formed() -> None:
    said = [
        forms_of("write", tense)[0] for tense in verb_tools()[0].parameters["properties"]["tense"]["enum"]
    ]
    assert said == [
        "writes", "wrote", "will write", "is writing", "was writing",
        "has written", "had written", "to write", "writing", "written",
    ]  # fmt: skip
    assert forms_of("learn", "past_simple", "1sg") == ["learned", "learnt"]


@at_most(300)
@given(st.sampled_from(VERBS), st.sampled_from(list(PERSONS)))
def test_conjugated_forms_agree_with_their_person(verb: str, person: str) -> None:
    for tense in ("present_simple", "past_simple", "present_continuous", "present_perfect", "future_simple"):
        for form in forms_of(verb, tense, person):
            _, reported = VERB_TOOLS["check_subject_verb_agreement"](PERSONS[person], form)
            assert reported["agrees"], (person, form)


@pytest.mark.parametrize(
    ("subject", "verb_form", "correct"),
    [
        ("he", "go", "goes"),
        ("they", "was", "were"),
        ("I", "is", "am"),
        ("we", "has eaten", "have eaten"),
        ("Ann and Bob", "sings", "sing"),
        ("the children", "plays", "play"),
        ("everyone", "know", "knows"),
        ("the list of items", "are", "is"),
        ("a lot of people", "is", "are"),
        ("neither he nor they", "is", "are"),
        ("the news", "are", "is"),
        ("two dogs", "barks", "bark"),
        ("he", "don't like", "doesn't like"),
        ("you and I", "am", "are"),
        ("each of them", "have", "has"),
    ],
)
def test_a_verb_that_does_not_agree_is_corrected(subject: str, verb_form: str, correct: str) -> None:
    check = VERB_TOOLS["check_subject_verb_agreement"]
    text, reported = check(subject, verb_form)
    assert (reported["agrees"], reported["correct_form"]) == (False, correct)
    assert text.startswith("No:")
    text, reported = check(subject, correct)
    assert reported["agrees"] and text.startswith("Yes:")


@pytest.mark.parametrize(
    ("subject", "verb_form"),
    [
        ("you", "are"),
        ("sheep", "is"),
        ("sheep", "are"),
        ("he", "can go"),
        ("he", "put"),
        ("she", "won't"),
        ("she", "can’t go"),
        ("it", "was"),
    ],
)
def test_a_verb_that_agrees_is_accepted(subject: str, verb_form: str) -> None:
    assert VERB_TOOLS["check_subject_verb_agreement"](subject, verb_form)[1]["agrees"]


@pytest.mark.parametrize(
    ("form", "spanish"),
    [
        ("ate", "comí (yo), comió (él, ella)"),
        ("eats", "come (él, ella)"),
        ("eating", "comiendo"),
        ("put", "poner; puse (yo), puso (él, ella); puesto (participle)"),
        ("found", "encontré (yo), encontró (él, ella); encontrado (participle)"),
        ("lay", "colocar; me acosté (yo), se acostó (él, ella)"),
        ("am", "soy / estoy (yo)"),
        ("Walked", "caminé (yo), caminó (él, ella); caminado (participle)"),
    ],
)
def test_a_form_has_its_spanish(form: str, spanish: str) -> None:
    assert VERB_TOOLS["lookup_spanish"](form)[0] == spanish


def test_an_irregular_verb_is_described() -> None:
    look = VERB_TOOLS["lookup_irregular_verb"]
    assert look("go") == look("went")
    assert look("go")[0] == "go is irregular: go, went, gone."
    assert look("be")[0] == "be is irregular: be, was/were, been."
    assert look("walked")[1]["irregular"] is False
    assert look("found")[1]["verb"] == "find"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("conjugate", {"verb": "eet", "tense": "past_simple", "person": "3sg"}, "Is meet"),
        ("conjugate", {"verb": "ate", "tense": "past_simple", "person": "3sg"}, "a form of eat: write eat"),
        ("conjugate", {"verb": "qwx", "tense": "past_simple", "person": "3sg"}, 'No verb "qwx"'),
        ("conjugate", {"verb": "eat", "tense": "pluperfect", "person": "3sg"}, "no tense"),
        ("conjugate", {"verb": "eat", "tense": "past_simple", "person": "he"}, "1sg, 2sg"),
        ("conjugate", {"verb": "a" * 10_000_000, "tense": "past_simple", "person": "1sg"}, "too long"),
        ("lookup_irregular_verb", {"verb": "goo"}, 'No verb "goo"'),
        ("lookup_spanish", {"english_form": "admired"}, "not in the list"),
        ("lookup_spanish", {"english_form": ""}, "No verb"),
        ("check_subject_verb_agreement", {"subject": "!", "verb_form": "go"}, "no word"),
        ("check_subject_verb_agreement", {"subject": "he", "verb_form": "?"}, "no word"),
        ("check_subject_verb_agreement", {"subject": "he", "verb_form": "eaten"}, "past participle"),
        ("check_subject_verb_agreement", {"subject": "he", "verb_form": "eating"}, "present participle"),
        ("check_subject_verb_agreement", {"subject": "he", "verb_form": "gooes"}, "goes"),
    ],
)
def test_an_invalid_argument_is_explained(tool: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError) as caught:
        VERB_TOOLS[tool](**arguments)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


def test_every_bundled_example_fits_its_schema() -> None:
    for tool in verb_tools():
        for example in tool.parameters["examples"]:
            assert argument_problems(tool, example) == ""
            assert VERB_TOOLS[tool.name](**example)[0]
