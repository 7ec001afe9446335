"""The four verb tools, also as an MCP server; each answers with a sentence or a form, and with structured data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from glyphscope.base import resources
from glyphscope.base.errors import ToolError
from glyphscope.registry import Tool, load_registry
from glyphscope.tools.source import Answer, ToolFunctions
from glyphscope_plugins.verbs.lexicon import Part, Spanish, Verb, agreement, form_of, readings, unknown


def conjugate(verb: str, tense: str, person: str) -> Answer:
    """`ate`. Raises ToolError for an unknown verb, tense or person."""
    form, *variants = form_of(verb, tense, person)
    return form, {"verb": verb, "tense": tense, "person": person, "form": form, "variants": variants}


def lookup_irregular_verb(verb: str) -> Answer:
    """`go is irregular: go, went, gone.` for any form of the verb. Raises ToolError for an unknown verb."""
    found = readings(verb)
    if not found:
        raise unknown(verb.strip().lower())
    # "found" is a base form and the past of find: base forms are preferred, then irregular verbs
    known = min(found, key=lambda reading: ("base" not in reading[1], not reading[0].irregular))[0]
    past, participle = "/".join(known.past), "/".join(known.participle)
    word = "irregular" if known.irregular else "regular"
    return f"{known.base} is {word}: {known.base}, {past}, {participle}.", {
        "verb": known.base,
        "irregular": known.irregular,
        "past_simple": list(known.past),
        "past_participle": list(known.participle),
    }


def lookup_spanish(english_form: str) -> Answer:
    """`comí (yo), comió (él, ella)`, for each verb with the form. Raises ToolError if there is no Spanish."""
    form = english_form.strip().lower()
    found = readings(form)
    if not found:
        raise unknown(form)
    translations = [
        {"verb": verb.base, "form": part, "spanish": text}
        for verb, parts in found
        if verb.spanish is not None
        for part, text in _spanish(form, verb, parts, verb.spanish)
    ]
    if not translations:
        raise ToolError(f"{found[0][0].base} is a known verb, but its Spanish is not in the list.")
    text = "; ".join(dict.fromkeys(item["spanish"] for item in translations))
    return text, {"english_form": form, "readings": translations}


def check_subject_verb_agreement(subject: str, verb_form: str) -> Answer:
    """`No: "he go" does not agree. Write "he goes".` Raises ToolError for an invalid subject or a non-finite verb."""
    found = agreement(subject, verb_form)
    said, better = f"{subject.strip()} {verb_form.strip()}", f"{subject.strip()} {found.better}"
    text = f'Yes: "{said}" agrees.' if found.agrees else f'No: "{said}" does not agree. Write "{better}".'
    return f"{text} {found.reason}", {
        "agrees": found.agrees,
        "persons": list(found.persons),
        "correct_form": found.better or verb_form.strip(),
    }


VERB_TOOLS: dict[str, Callable[..., Answer]] = {
    "conjugate": conjugate,
    "lookup_irregular_verb": lookup_irregular_verb,
    "lookup_spanish": lookup_spanish,
    "check_subject_verb_agreement": check_subject_verb_agreement,
}
"""The functions by tool name; each takes the tool's arguments by name."""


_BE = {
    "am": "soy / estoy (yo)",
    "are": "eres / estás (tú), somos / estamos (nosotros), son / están (ellos)",
    "were": "fuiste / estuviste (tú), fuimos / estuvimos (nosotros), fueron / estuvieron (ellos)",
}
"""The forms that only `be` has."""


@lru_cache(maxsize=1)
def verb_tools() -> tuple[Tool, ...]:
    """The tools of registries/verbs.json."""
    return load_registry(resources.read_text("registries/verbs.json")).tools


def _spanish(form: str, verb: Verb, parts: list[Part], spanish: Spanish) -> list[tuple[str, str]]:
    texts: dict[Part, str] = {
        "base": spanish.infinitive,
        "third": f"{spanish.present_el} (él, ella)",
        "past": f"{spanish.past_yo} (yo), {spanish.past_el} (él, ella)",
        "participle": f"{spanish.participle} (participle)",
        "gerund": spanish.gerund,
    }
    if verb.base == "be" and form in _BE:
        return [(parts[0], _BE[form])]
    return [(part, texts[part]) for part in parts]


TOOLS = ToolFunctions(verb_tools, VERB_TOOLS)


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_READING = _object({"verb": _TEXT, "form": _TEXT, "spanish": _TEXT})
_OUTPUT: dict[str, dict[str, Any]] = {
    "conjugate": {"verb": _TEXT, "tense": _TEXT, "person": _TEXT, "form": _TEXT, "variants": _TEXTS},
    "lookup_irregular_verb": {
        "verb": _TEXT,
        "irregular": {"type": "boolean"},
        "past_simple": _TEXTS,
        "past_participle": _TEXTS,
    },
    "lookup_spanish": {"english_form": _TEXT, "readings": {"type": "array", "items": _READING}},
    "check_subject_verb_agreement": {
        "agrees": {"type": "boolean"},
        "persons": _TEXTS,
        "correct_form": _TEXT,
    },
}


def serve() -> None:
    """Serve the verb tools over MCP, on stdin and stdout, until stdin is closed."""
    from glyphscope_plugins.mcp_server import serve_tools

    described = (replace(tool, output_schema=_object(_OUTPUT[tool.name])) for tool in verb_tools())
    serve_tools(
        "glyphscope-verbs",
        "English verbs: conjugate, look up irregular ones and their Spanish, check agreement.",
        [(tool, VERB_TOOLS[tool.name]) for tool in described],
    )
