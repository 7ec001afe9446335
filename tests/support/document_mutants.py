"""Registries, projects and lessons with errors, from small to hostile, and all that the engine does with them.

Seeded: a number is always the same file. `python tests/support/hostile_files.py registries 10000` tries many.
"""

from __future__ import annotations

import json
import random
import traceback
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from glyphscope import resources
from glyphscope.errors import GlyphscopeError
from glyphscope.events import Message, RouterSettings, RunRequest
from glyphscope.grammar.builder.calls import build_call_grammar
from glyphscope.grammar.builder.contradictions import registry_contradictions
from glyphscope.grammar.builder.uncallable import uncallable
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.lark.emit import to_lark
from glyphscope.lessons.checking import check_lesson
from glyphscope.lessons.library import LessonPlace
from glyphscope.lessons.website import website
from glyphscope.models.scripted import ScriptedModel
from glyphscope.notation.shapes import fitting_shape
from glyphscope.prompting.messages import example_calls, render_messages
from glyphscope.registry import (
    ToolRegistry,
    bundled_registries,
    bundled_registry,
    load_registry,
    to_json,
    to_openai,
)
from glyphscope.sessions.project import VERSION, GrammarWork, Project, load_project, save_project
from glyphscope.strategies import first_prompt, run
from glyphscope.validation.call import CallValidator
from record_mutants import json_value, with_another_value
from schema_mutants import mutated

CALLS = (
    '{action="search" query="AI news" max_results=10}', '{"action":"browse","url":"https://a.example"}', "{a=[1 {b=",
    '{action="calculate" expression="1" precision=3}', '{action="" a=1 b="x" c={d=[t _ 1e5]}}',
)  # fmt: skip
CALL = CALLS[0]


# registries


@lru_cache(maxsize=1)
def _registries() -> list[Any]:
    """Documents of all forms that are read."""
    whole = [bundled_registry(name) for name in bundled_registries()]
    mcp = [
        {"tools": [{"name": t.name, "description": t.description, "inputSchema": t.parameters} for t in each]}
        for each in whole
    ]
    seeds = {
        "search": {
            "args": {"q": {"type": "str", "required": True, "maxLength": 9}, "n": {"type": "int", "max": 9}}
        }
    }
    return [
        *(each.to_document() for each in whole),
        *map(to_openai, whole),
        *mcp,
        seeds,
        {"t": whole[0].tools[0].parameters},
    ]


def registry_mutant(chance: random.Random) -> bytes:
    """Return a registry file with one to six changes."""
    document = chance.choice(_registries())
    for _ in range(chance.choice((1, 1, 2, 3))):
        if chance.random() < 0.6:
            document = mutated(document, _registries(), chance)
        else:
            document = with_another_value(document, chance)
    return _damaged(json_value(document), chance)


def judge_registry(data: bytes, place: Path, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield each of some uses of the registry with an exception other than GlyphscopeError."""
    path = place / "registry.json"
    path.write_bytes(data)
    registry = yield from tried("read", lambda: load_registry(path))
    if isinstance(registry, ToolRegistry):
        for name in chance.sample(list(REGISTRY_USES), 3):
            yield from tried(name, lambda: REGISTRY_USES[name](registry))  # noqa: B023 - called at once


def _validated(registry: ToolRegistry) -> None:
    for text in CALLS:
        for notation in ("glyph", "json"):
            validator = CallValidator(registry, notation, "flat")
            for start in range(0, len(text), 3):
                validator.feed(text[start : start + 3])
            validator.finish()
            validator.report()


def _asked(registry: ToolRegistry) -> RunRequest:
    return RunRequest(prompt="Hi", registry=registry.to_document(), model="s")


REGISTRY_USES: dict[str, Callable[[ToolRegistry], Any]] = {
    "write": lambda registry: (to_json(registry), json.dumps(to_openai(registry)), registry.digest),
    "check": _validated,
    "examples": example_calls,
    "prompt": lambda registry: render_messages(_asked(registry), registry),
    "uncallable": uncallable,
    "contradictions": registry_contradictions,
    "gbnf": lambda registry: emit_gbnf(build_call_grammar(registry, "json", fitting_shape(registry, "flat"))),
    "lark": lambda registry: to_lark(build_call_grammar(registry, "glyph", fitting_shape(registry, "flat"))),
    "run": lambda registry: tuple(run(_asked(registry), ScriptedModel(CALL))),
}


# projects


@lru_cache(maxsize=1)
def _projects() -> list[Any]:
    """Projects as they are saved, of several strategies, with drafts, a grammar, a history and settings."""
    document = bundled_registry("default").to_document()
    history = (Message("user", "Hi"), Message("assistant", "Hello"))
    ways = (("direct", "mask"), ("loop", "off"), ("two-stage", "gbnf"), ("route-execute", "mask"))
    requests = [
        RunRequest(
            prompt="news", registry=document, strategy=strategy, constraint=constraint, history=history
        )
        for strategy, constraint in ways
    ]
    grammar = GrammarWork(text='root ::= "x"')
    made = [Project(request=each, notes="n", drafts={"search": "{"}, grammar=grammar) for each in requests]
    made.append(Project(request=msgspec.structs.replace(requests[0], router=RouterSettings(rules=("a",)))))
    return [{"glyphscope_project": VERSION, **msgspec.to_builtins(each)} for each in made]


def project_mutant(chance: random.Random) -> bytes:
    """Return a project file with one to three changes."""
    document = chance.choice(_projects())
    for _ in range(chance.choice((1, 1, 2, 3))):
        change = with_another_value if chance.random() < 0.8 else _mutated_project
        document = change(document, chance)
    return _damaged(json_value(document), chance)


def _mutated_project(document: Any, chance: random.Random) -> Any:
    return mutated(document, _projects(), chance)


def judge_project(data: bytes, place: Path) -> Iterator[tuple[str, str]]:
    """Yield each use of the project with an exception other than GlyphscopeError."""
    path = place / "mutant.glyphscope"
    path.write_bytes(data)
    stored = yield from tried("read", lambda: load_project(path))
    if stored is None:
        return
    request = stored.project.request

    def saved() -> None:
        save_project(path, stored.project, stored.digest)
        assert load_project(path).project == stored.project

    yield from tried("save", saved)
    yield from tried("prompt", lambda: first_prompt(request, ScriptedModel(CALL)))
    yield from tried("run", lambda: tuple(run(request, ScriptedModel(CALL))))


# lessons


@lru_cache(maxsize=1)
def _lessons() -> list[str]:
    return [resources.read_text(f"lessons/{name}") for name in resources.names("lessons", ".md")]


_PIECES = (
    "```run\n", "```question\n", "```\n", "---\n", "# ", "## ", "+++\n", "[[", "]]", "= ", '"""', "\0", "\t", "](",
    "<b>", "![x](y)", "𝄞", "a" * 5000, "*" * 3000, "[" * 2000, "> " * 500, "- " * 500, "1e999", "-1", "`" * 99,
)  # fmt: skip


def lesson_mutant(chance: random.Random) -> bytes:
    """Return a lesson with one to four changes of lines and characters."""
    text = chance.choice(_lessons())
    for _ in range(chance.choice((1, 1, 2, 4))):
        lines = text.splitlines(keepends=True) or [""]
        at, size = chance.randrange(len(lines)), chance.choice((1, 1, 3, 20))
        match chance.randrange(6):
            case 0:
                del lines[at : at + size]
            case 1:
                lines[at:at] = lines[at : at + size] * chance.choice((1, 2, 40))
            case 2:
                other = chance.choice(_lessons()).splitlines(keepends=True)
                start = chance.randrange(len(other))
                lines[at : at + 1] = other[start : start + size]
            case 3:
                lines[at] = chance.choice(_PIECES) + lines[at]
            case _:
                line = lines[at]
                a = chance.randrange(len(line) + 1)
                b = min(len(line), a + chance.choice((0, 1, 5)))
                lines[at] = line[:a] + chance.choice((*_PIECES, "", "", line[a:b] * 2)) + line[b:]
        text = "".join(lines)
    return _damaged(text.encode(errors="surrogatepass"), chance)


def judge_lesson(data: bytes, place: Path) -> Iterator[tuple[str, str]]:
    """Yield each use of the lesson with an exception other than GlyphscopeError."""
    path = place / "07-mutant.md"
    path.write_bytes(data)
    lesson = LessonPlace(path.name, path)
    yield from tried("read", lesson.read)
    yield from tried("check", lambda: check_lesson(lesson))
    yield from tried("website", lambda: website([lesson]))


def tried(name: str, use: Callable[[], Any]) -> Generator[tuple[str, str], None, Any]:
    """Yield the exception, if it is not a GlyphscopeError with a message; returns the result, or None."""
    try:
        return use()
    except GlyphscopeError as error:
        if not error.message or "Traceback" in str(error):
            yield name, f"a useless message: {error!r}"
    except Exception:
        yield name, traceback.format_exc()
    return None


def _damaged(data: bytes, chance: random.Random) -> bytes:
    """The data, now and then with other bytes, or cut."""
    if data and chance.random() < 0.04:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 3))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed[: chance.randrange(len(changed))] if chance.random() < 0.3 else changed)
    return data
