"""Lists of tools in an editor: their problems, what the engines' grammars enforce, and constraints in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec.structs import replace

from glyphscope.base.errors import GlyphscopeError, RegistryError, Stopped
from glyphscope.base.lines import Lines
from glyphscope.base.pointer import steps_of, to_pointer
from glyphscope.cli.problems import FileProblem, WrittenTools, places_of, pointer_in, problems
from glyphscope.events import RunRequest
from glyphscope.explain.proof import OURS
from glyphscope.grammar.tree import Unenforced
from glyphscope.registry.document import parse_text
from glyphscope.registry.keywords import said
from glyphscope.registry.places import scan
from glyphscope.registry.references import SchemaPlace, SchemaPlaces
from glyphscope.runs import PreparedRequest
from glyphscope.runs.strategies import unenforced

_NAMED = re.compile(r"(^|/|\.)(tools|registry|suite)\.(json|ya?ml)$", re.IGNORECASE)
"""Files that are meant for Glyphscope: any other one may be something else."""
_ENGINES = {"mask": "the mask", "gbnf": "llama.cpp's grammar"}


def registry_problems(text: str, path: str) -> list[FileProblem]:
    """The problems of a text; none of a file that is something else."""
    found = list(problems(text, path))
    return found if _NAMED.search(path) else [each for each in found if each["code"] != "json"]


def _tools_of(text: str, path: str) -> WrittenTools | None:
    with suppress(RegistryError):
        return WrittenTools.of(parse_text(text, path))
    return None


def unenforced_problems(text: str, path: str) -> Iterator[FileProblem]:
    """A problem for each constraint that a grammar of calls in JSON does not enforce, with severity `information`."""
    if (tools := _tools_of(text, path)) is None:
        return
    found: dict[tuple[str, str, str], dict[str, Unenforced]] = {}
    request = RunRequest(prompt="", registry={}, notation="json")
    for kind in OURS:
        try:
            claims = unenforced(PreparedRequest(replace(request, constraint=kind), tools.registry))
        except Stopped:
            raise
        except GlyphscopeError:  # no call can be written, which is another problem
            continue
        for each in claims:
            found.setdefault((each.tool, each.pointer, each.keyword), {})[kind] = each
    written = {tool.name: raw for tool, raw in tools.written()}
    pointers = {key: pointer_in(written[key[0]], key[1]) for key in found if key[0] in written}
    places = places_of(text, pointers.values())
    lines = Lines(text)
    for key, pointer in pointers.items():
        engines = found[key]
        why = "; ".join(dict.fromkeys(each.why for each in engines.values()))
        checked = all(each.checked for each in engines.values())
        message = f"{key[2]} is not enforced by {' or '.join(_ENGINES[kind] for kind in engines)}: {why}. "
        message += "It is checked after generation." if checked else "It is not checked either."
        place = places[pointer]
        at = lines.span(place.start, place.end)
        yield {"severity": "information", "code": "unenforced", "message": message, "pointer": pointer, **at}


def hover_words(text: str, path: str, offset: int, more: list[FileProblem]) -> tuple[str, int, int] | None:
    """The constraints of the schema at a code point, in Markdown, and the span of that place."""
    if (tools := _tools_of(text, path)) is None:
        return None
    known: dict[str, tuple[str, SchemaPlace]] = {}
    for tool, raw in tools.written():
        for place in SchemaPlaces(tool.parameters).all:
            known.setdefault(pointer_in(raw, to_pointer(place.path)), (tool.name, place))
    places = places_of(text, known)
    spans = [(place.start, place.end, pointer) for pointer, place in places.items()]
    if text.lstrip()[:1] in ("{", "["):
        names = ((place.start, place.end, at) for at, place, is_name in scan(text, known) if is_name)
        spans += (each for each in names if each[2] in known)
    here = [each for each in spans if each[0] <= offset < each[1]]
    if not here:
        return None
    start, end, pointer = min(here, key=lambda each: each[1] - each[0])
    name, place = known[pointer]
    words = said(place.schema)
    open_ = {each["pointer"]: each["message"] for each in more}
    rows = []
    for keyword, constraint in words.items():
        why = open_.get(f"{pointer}/{keyword}")
        rows.append(f"- {constraint}" + (f" — {why}" if why else ""))
    inner = [step for step in steps_of(to_pointer(place.path)) if step != "properties"]
    about = place.schema.get("description", "") if isinstance(place.schema, dict) else ""
    head = f"**{' · '.join([name, *inner])}**"
    return "\n\n".join(filter(None, (head, str(about), "\n".join(rows) or "Any value."))), start, end
