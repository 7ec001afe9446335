"""The project file `.glyphscope`: the registry, prompts and settings of a run in versioned JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import read_file
from glyphscope.base.json_values import json_file
from glyphscope.base.locks import folder_lock
from glyphscope.events import RunRequest
from glyphscope.prompting.request_bodies import OpenedBody, api_of, read_body
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.registry.document import MAX_BYTES, parse_text
from glyphscope.store.files import ChangedOnDisk, Migrations, atomic_write, convert_versioned, digest_of

VERSION = 2
SUFFIX = ".glyphscope"
_KEY = "glyphscope_project"
_HINT = "Restore it from a copy."
_MIGRATIONS: Migrations = {1: dict}
"""2 added `grammar`. A program of version 1 would drop it with the next save, so it must not open such a file."""


class GrammarExample(msgspec.Struct, frozen=True):
    """A text that a grammar must accept or reject."""

    text: str
    matches: bool = True


class GrammarWork(msgspec.Struct, frozen=True, kw_only=True):
    """The work on a grammar: its source, the user's text, and the examples for checking it.

    `source` is "tools" for the grammar that follows the registry, "text" for `text`, whose file is `path` (empty if
    there is none yet). With `use`, the text constrains the runs of the project.
    """

    source: Literal["tools", "text"] = "tools"
    text: str = ""
    path: str = ""
    use: bool = False
    examples: tuple[GrammarExample, ...] = ()


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project: the request of its next run, the user's notes, and unfinished edits.

    `drafts` are schema texts, by tool, that are not valid yet; the request's registry has the last valid ones.
    `grammar` is None until a grammar was edited.
    """

    request: RunRequest
    notes: str = ""
    drafts: dict[str, str] = {}
    grammar: GrammarWork | None = None


class StoredProject(NamedTuple):
    """A project on disk with its registry; the next save recognises the file's content by `digest`.

    The body of a request of another program has no digest, and `opened`, in which its unused parts are listed.
    """

    project: Project
    digest: str
    registry: ToolRegistry
    opened: OpenedBody | None = None


def load_project(path: Path) -> StoredProject:
    """Load a project, or the body of a request to Chat Completions, Responses or Messages as one.

    Raises StorageError (missing, no permission), RecordError (damaged, newer), RegistryError, and PromptError for the
    messages of a body.
    """
    data = read_file(path, MAX_BYTES, "a project")
    document, where = _document(data, str(path)), str(path)
    if isinstance(document, dict) and _KEY not in document and api_of(document):
        opened = read_body(parse_text(data, where), where)
        return StoredProject(Project(request=opened.request), "", opened.registry, opened)
    if isinstance(document, dict) and _KEY not in document:
        if isinstance(document.get("contents"), list):
            raise RecordError(
                "This is the body of a request to Gemini, of which only the tools are read.",
                where=where,
                hint="Import its tools: Import tools… in the window, or --registry with this file.",
            )
        raise RecordError(
            f"Neither a Glyphscope project nor the body of a request: no version ({_KEY}) and no messages found.",
            where=where,
            hint="Choose a file that Glyphscope saved, or the JSON body of a request to Chat Completions, Responses "
            "or Messages.",
        )
    project, registry = _decode(document, where)
    return StoredProject(project, digest_of(data), registry)


def save_project(path: Path, project: Project, expected: str | None = None) -> str:
    """Write the project and return its new digest.

    `expected` is the digest that was last loaded or saved: if the file has different content, another window has saved
    it; ChangedOnDisk is raised, and nothing is written. None always writes (save as, or the user's decision). Raises
    StorageError for a project that is too large to be opened again.
    """
    data = json_file({_KEY: VERSION, **msgspec.structs.asdict(project)}).encode()
    if len(data) > MAX_BYTES:  # it could not be opened again
        raise StorageError(
            f"The project has {byte_size(len(data))}; a project has at most {byte_size(MAX_BYTES)}.",
            where=str(path),
            hint="Remove messages or tools.",
        )
    with folder_lock(path.parent):
        if expected is not None and path.exists():
            there = digest_of(read_file(path))
            if there not in (expected, digest_of(data)):
                raise ChangedOnDisk(
                    "Another window or program has changed this project since it was opened.",
                    where=str(path),
                    hint="Save under another name, open it again, or overwrite it.",
                )
        atomic_write(path, data)
    return digest_of(data)


def _document(data: bytes, where: str) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"This project is damaged: {error}.", where=where, hint=_HINT) from None


def _decode(document: Any, where: str) -> tuple[Project, ToolRegistry]:
    versions = (_KEY, VERSION, _MIGRATIONS)
    project = convert_versioned(document, Project, versions, where, what="This project", hint=_HINT)
    registry = parse_document(project.request.registry, where)
    request = msgspec.structs.replace(project.request, registry=registry.to_document())
    return msgspec.structs.replace(project, request=request), registry
