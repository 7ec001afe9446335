"""A bundle: one run in one file, with everything that is needed to validate, repeat and continue it.

A `.glyphrun` is a zip with the record and files derived from it: registry, prompt, grammars, schema, tools. These are
included for other programs, in the state in which the bundle was made. The same record gives the same bytes.
`docs/bundles.md` describes the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from glyphscope.base.errors import GlyphscopeError, RecordError
from glyphscope.base.inputs import home_path, refuse_special, storage_error
from glyphscope.base.json_values import json_file, json_or_text
from glyphscope.events import (
    AnyEvent,
    ApprovalNeeded,
    ModelInfo,
    RunFailed,
    RunFinished,
    RunStarted,
    encode_event,
)
from glyphscope.events.encoding import whole_text
from glyphscope.registry import to_json
from glyphscope.runs.emitter import versions
from glyphscope.store.archive import MAGIC, pack, read_packed, unpack
from glyphscope.store.exports import RecordedRun, export
from glyphscope.store.exports.grammars import constraint_note
from glyphscope.store.exports.run_page import html_page
from glyphscope.store.files import Migrations, atomic_write, convert_versioned, digest_of
from glyphscope.store.records import Record, encode_record, parse_record, read_record

VERSION = 1
SUFFIX = ".glyphrun"
MANIFEST = "manifest.json"
RECORD = "run.jsonl"
STORED: dict[str, str] = {
    "gbnf": "grammar.gbnf",
    "lark": "grammar.lark",
    "json-schema": "schema.json",
    "openai-tools": "openai-tools.json",
    "prompt": "prompt.txt",
}
"""The exports that are files in the bundle."""
MAX_LINES = 1_000_000
"""The maximum lines of a record in a bundle, more than any run has; even empty lines need memory."""

_KEY = "glyphscope_bundle"
_MIGRATIONS: Migrations = {}
_HINT = "Request the bundle again, or create it again with: glyphscope bundle."


class BundledFile(msgspec.Struct, frozen=True):
    """A file in the manifest: its length in bytes and its SHA-256 in hex."""

    bytes: int
    sha256: str


class BundleManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the run, and the contents of the bundle.

    `versions` are the packages that ran, `packed_with` those that made the other files. `request` is the run's request
    without its registry. `whole`: the record contains the run's end. `missing` has the reasons for omitted files.
    """

    glyphscope_bundle: int = VERSION
    run: str = ""
    time: str = ""
    model: ModelInfo
    seed: int
    versions: dict[str, str] = {}
    packed_with: dict[str, str] = {}
    request: dict[str, Any] = {}
    events: int = 0
    whole: bool = True
    notes: tuple[str, ...] = ()
    files: dict[str, BundledFile] = {}
    missing: dict[str, str] = {}


class Bundle(NamedTuple):
    """`files` by name, including the manifest and the record, as written."""

    manifest: BundleManifest
    record: Record
    files: dict[str, bytes]


def make_bundle(events: Sequence[AnyEvent], where: str = "") -> Bundle:
    """The bundle of a run. The manifest lists files that cannot be made. `where` is the place of the record.

    Raises RecordError for events without the beginning of a run.
    """
    RecordedRun(events, where)
    written = encode_record(redacted(events))
    again = parse_record(written)  # as a reader sees it: a record cannot contain everything that memory can
    run = RecordedRun(again.events, where)
    files = {RECORD: written}
    missing: dict[str, str] = {}
    for name, make in _makers(run).items():
        try:
            files[name] = whole_text(make()).encode()
        except GlyphscopeError as error:
            missing[name] = str(error)
    manifest = _manifest(run, files, missing)
    files[MANIFEST] = whole_text(json_file(msgspec.to_builtins(manifest))).encode()
    return Bundle(manifest, again, files)


def write_bundle(path: Path, events: Sequence[AnyEvent], where: str = "") -> BundleManifest:
    """Pack the run into that file, completely or not at all. `where` as in `make_bundle`.

    Raises StorageError, also for a run that is too large for a bundle.
    """
    bundle = make_bundle(events, where)
    atomic_write(path, pack(bundle.files, where))
    return bundle.manifest


def write_run(path: Path, events: Sequence[AnyEvent]) -> BundleManifest | None:
    """Write the run as a bundle, returning its manifest, or as a record, depending on the file's suffix.

    Raises StorageError like `write_bundle`.
    """
    if path.suffix.lower() == SUFFIX:
        return write_bundle(path, events)
    atomic_write(path, encode_record(events))
    return None


def read_bundle(path: Path) -> Bundle:
    """Read a bundle. Raises StorageError, and RecordError if it is not a bundle, damaged, or of a newer version."""
    return parse_bundle(read_packed(path), str(path))


def parse_bundle(data: bytes, where: str = "") -> Bundle:
    """Read the bytes of a bundle. Raises RecordError like `read_bundle`."""

    def unusable(message: str, hint: str = _HINT) -> RecordError:
        return RecordError(message, where=where, hint=hint)

    def lacks(name: str) -> RecordError:
        return unusable(f"The bundle lacks {name}.")

    def inside(name: str) -> str:
        return f"{where}: {name}" if where else name

    files = unpack(data, where)
    if MANIFEST not in files:
        raise lacks(MANIFEST)
    manifest = convert_versioned(
        json_or_text(files[MANIFEST]),
        BundleManifest,
        (_KEY, VERSION, _MIGRATIONS),
        inside(MANIFEST),
        what="The manifest",
        hint="Request the bundle again.",
    )
    for name, listed in manifest.files.items():
        if name not in files:
            raise lacks(name)
        if listed != _bundled_file(files[name]):
            raise unusable(f"{name} does not match the manifest: it was changed or damaged.")
    unknown = sorted(files.keys() - manifest.files.keys() - {MANIFEST})
    if unknown:
        raise unusable(f"The zip file contains {unknown[0]}, which is not in its manifest.")
    if RECORD not in files:
        raise lacks(RECORD)
    if files[RECORD].count(b"\n") > MAX_LINES:
        raise unusable(f"The record has more than {MAX_LINES:,} lines.", "It was not created by Glyphscope.")
    return Bundle(manifest, parse_record(files[RECORD], inside(RECORD)), files)


def read_run(path: Path) -> Record:
    """The record in a file that is a record or a bundle. Raises StorageError and RecordError."""
    return read_bundle(path).record if is_bundle(path) else read_record(path)


def is_bundle(path: Path) -> bool:
    """Whether that file is meant as a bundle, judging by its name or first bytes. Raises StorageError."""
    if path.suffix == SUFFIX:
        return True
    refuse_special(path)
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise storage_error(error, path, "read") from error


def export_file(path: Path, form: str) -> str:
    """A run in another form: the file in a bundle, otherwise newly made.

    Raises StorageError and RecordError, and GlyphscopeError if the run does not have that form.
    """
    if not is_bundle(path):
        return export(RecordedRun(read_record(path).events, str(path)), form)
    bundle = read_bundle(path)
    name = STORED.get(form, "")
    if name in bundle.files:
        return bundle.files[name].decode(errors="replace")
    if name in bundle.manifest.missing:
        raise GlyphscopeError(
            f"{name} could not be made of this run: {bundle.manifest.missing[name]}",
            where=str(path),
            hint="Export another form, or see what the run says: glyphscope replay.",
        )
    return export(RecordedRun(bundle.record.events, str(path)), form)


def export_page(paths: Sequence[Path]) -> str:
    """The runs of these files on one HTML page, without details of this computer.

    Raises StorageError and RecordError, and GlyphscopeError for too many.
    """
    records = [(read_run(path), str(path)) for path in paths]
    return html_page([RecordedRun(redacted(record.events), where) for record, where in records])


def _makers(run: RecordedRun) -> dict[str, Callable[[], str]]:
    return {
        "registry.json": lambda: to_json(run.prepared.registry),
        **{name: partial(export, run, form) for form, name in STORED.items()},
    }


def _manifest(run: RecordedRun, files: dict[str, bytes], missing: dict[str, str]) -> BundleManifest:
    request = json.loads(encode_event(run.started))["request"]
    del request["registry"]
    return BundleManifest(
        run=run.started.run,
        time=run.started.time,
        model=run.started.model,
        seed=run.request.sampling.seed,
        versions=run.started.versions,
        packed_with=versions(),
        request=request,
        events=len(run.events),
        whole=any(isinstance(event, RunFinished | RunFailed) for event in run.events),
        notes=tuple(note for note in (constraint_note(run), _prompt_note(run)) if note),
        files={name: _bundled_file(files[name]) for name in sorted(files)},
        missing=missing,
    )


def _prompt_note(run: RecordedRun) -> str:
    if run.request.strategy == "direct" and not run.request.repair.attempts:
        return ""
    return "prompt.txt is the first prompt; the prompts of further stages are in the record."


def _bundled_file(content: bytes) -> BundledFile:
    return BundledFile(len(content), digest_of(content))


_PLAIN = re.compile(r"[\w.-]*")
"""The name of a source, such as `demo`, unlike a command line or an address."""


def redacted(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The events without identities of servers and without the home folder's path."""
    for event in events:
        if isinstance(event, RunStarted):
            request, model = event.request, event.model
            rules = tuple(replace(rule, identity=_hidden(rule.identity)) for rule in request.approvals)
            request = replace(request, model=_without_home(request.model), approvals=rules)
            model = replace(model, name=_without_home(model.name), path=_without_home(model.path))
            event = replace(event, request=request, model=model)
        elif isinstance(event, ApprovalNeeded):
            event = replace(event, identity=_hidden(event.identity))
        elif isinstance(event, RunFailed):
            words = {name: _without_home(getattr(event, name)) for name in ("message", "hint", "detail")}
            event = replace(event, **words)
        yield event


def _hidden(identity: str) -> str:
    """A digest that is equal for equal identities and does not reveal them."""
    if _PLAIN.fullmatch(identity):
        return identity
    return f"sha256-{digest_of(identity.encode('utf-8', 'replace'))}"


def _without_home(text: str) -> str:
    """A path, or a text that contains paths, with `~` for the home folder."""
    return re.sub(rf"(?<![\w.-]){re.escape(str(home_path('~')))}(?![\w-]|\.\w)", "~", text)
