"""Damaged and hostile records and results: mutants of real ones, and all that Glyphscope does with them.

`python tests/support/hostile_files.py records 10000` tries many, and `results` those of results.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from glyphscope import resources
from glyphscope.cli.bundle import rerun
from glyphscope.cli.run import show
from glyphscope.errors import GlyphscopeError
from glyphscope.evals.results.changes import changes_between
from glyphscope.evals.results.export import export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import publish
from glyphscope.events import AnyEvent
from glyphscope.explain.mask_impact import loss_words, mask_impact, worst_words
from glyphscope.explain.relaxation_cost import cost_words, relaxation_cost
from glyphscope.explain.segments import earlier_call, part_costs
from glyphscope.runs import branch_request, branch_tree, run_state
from glyphscope.sessions import first_difference
from glyphscope.sessions.archive import pack
from glyphscope.sessions.bundle import make_bundle, parse_bundle, redacted
from glyphscope.sessions.exports import EXPORTS, RecordedRun, export
from glyphscope.sessions.exports.html_page import html_page
from glyphscope.sessions.records import encode_record, parse_record
from glyphscope_plugins.spans import run_spans, spans_json

FILES = [f"runs/{name}" for name in resources.names("runs", ".jsonl")]
FILES += [f"lessons/runs/{name}" for name in resources.names("lessons/runs", ".jsonl")]
SECONDS = 20.0
"""The processor time of one action on a mutant of a bundled record, at most."""
BYTES = 2 << 30

_VALUES: Sequence[Any] = (
    None, True, False, 0, -1, 1, 7, 10**6, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.5, 1e-308,
    1e15, 1e308, -1e308, 1e400, "", " ", "\0", "/", "../x", "\ud800", "x" * 5000, "NaN", "2026-13-45T99:99", "𝄞", "{",
    "valid", "call", [], {}, [[]], [None], {"": ""}, {"a": {"b": []}}, [1, 2, 3],
)  # fmt: skip


def record(name: str) -> bytes:
    """Return the bytes of a bundled record."""
    return resources.read_bytes(name)


def mutant(data: bytes, random: random.Random) -> bytes:
    """Return a record with one to three changes: of lines, of values in them, or of bytes."""
    lines = data.rstrip(b"\n").split(b"\n")
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = random.choice((_lines, _lines, _value, _value, _value, _value, _values_alike))
        lines = change(lines, random)
    if random.random() < 0.03:
        lines = _bytes(lines, random)
    return b"\n".join(lines) + random.choice((b"\n", b"\n", b"\n", b""))


def _lines(lines: list[bytes], random: random.Random) -> list[bytes]:
    at, other = (random.randrange(len(lines)) for _ in range(2))
    size = random.choice((1, 1, 2, 5, len(lines)))
    moved = lines[at : at + size]
    rest = lines[:at] + lines[at + size :]
    return random.choice(
        (
            rest or lines,
            lines[:at] + moved + lines[at:],
            rest[:other] + moved + rest[other:],
            lines[: max(at, 1)],
            lines[:1] + moved,
            [*lines[:at], lines[other], *lines[at + 1 :]],
        )
    )


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in the value with each of its keys."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        for key in one if isinstance(one, dict) else range(len(one)):
            yield one, key
            if isinstance(one[key], dict | list):
                waiting.append(one[key])


def _value(lines: list[bytes], random: random.Random) -> list[bytes]:
    at = random.randrange(len(lines))
    with contextlib.suppress(ValueError):
        document = with_another_value(json.loads(lines[at]), random)
        return [*lines[:at], json_value(document), *lines[at + 1 :]]
    return lines


def with_another_value(document: Any, random: random.Random) -> Any:
    """Return a copy of a document in JSON in which one value is another one, or gone."""
    document = json.loads(json_value(document))
    places = list(_places(document)) if isinstance(document, dict | list) else []
    if places:
        container, key = random.choice(places)
        if random.random() < 0.1:
            del container[key]
        else:
            container[key] = _changed(container[key], random)
    return document


def _changed(old: Any, random: random.Random) -> Any:
    """Another value, mostly of the same type, which decoding does not notice."""
    alike = [value for value in _VALUES if type(value) is type(old)]
    number = isinstance(old, int | float) and not isinstance(old, bool)
    if number and random.random() < 0.5:
        return random.choice((-old, old + 1, old - 1, old * 1000, type(old)(old / 3)))
    return random.choice(alike if alike and random.random() < 0.8 else _VALUES)


def _values_alike(lines: list[bytes], random: random.Random) -> list[bytes]:
    """The same member of every event of one kind gets the same value."""
    kinds = sorted({line.partition(b'"type":"')[2].partition(b'"')[0] for line in lines})
    kind = random.choice(kinds)
    found: list[Any] = [None] * len(lines)
    for at, line in enumerate(lines):
        with contextlib.suppress(ValueError):
            found[at] = json.loads(line) if kind and b'"type":"' + kind + b'"' in line else None
    members = sorted({key for each in found if isinstance(each, dict) for key in each if key != "type"})
    if not members:
        return lines
    member = random.choice(members)
    value = _changed(
        next(each[member] for each in found if isinstance(each, dict) and member in each), random
    )
    return [
        line if not isinstance(each, dict) else json_value({**each, member: value})
        for line, each in zip(lines, found)
    ]


def _bytes(lines: list[bytes], random: random.Random) -> list[bytes]:
    at = random.randrange(len(lines))
    line = bytearray(lines[at])
    for _ in range(random.choice((1, 1, 4))):
        if line:
            line[random.randrange(len(line))] = random.randrange(256)
    return [*lines[:at], bytes(line).replace(b"\n", b" "), *lines[at + 1 :]]


def json_value(value: Any) -> bytes:
    """Return the value as JSON, in which infinity is a number that is too large."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("Infinity", "1e999").replace("NaN", "0").encode()


# everything that is done with a record


def _show(events: tuple[AnyEvent, ...]) -> None:
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):
        show(events, as_json=False)
        show(events, as_json=True)


def _explain(events: tuple[AnyEvent, ...]) -> None:
    state = run_state(events)
    for stage in state.stages:
        impact = mask_impact(state, stage)
        for field in impact.conflicts:
            loss_words(field)
            list(worst_words(field, state.registry))
        part_costs(stage)
        for part in stage.segments:
            if state.started is not None and part.kind == "reasoning":
                earlier_call(stage, part, state.started.request)


def _branch(events: tuple[AnyEvent, ...]) -> None:
    branch_tree([events])
    for token in (0, 3, len(run_state(events).tokens)):
        with contextlib.suppress(GlyphscopeError):
            branch_request(events, token)


def _compare(events: tuple[AnyEvent, ...]) -> None:
    first_difference(events, RELATED)
    first_difference(RELATED, events, 0.1)
    for one, other in ((events, RELATED), (RELATED, events)):
        with contextlib.suppress(GlyphscopeError):
            cost_words(relaxation_cost(one, other))


def _bundle(events: tuple[AnyEvent, ...]) -> None:
    made = make_bundle(events)
    assert parse_bundle(pack(made.files)).files == made.files
    assert parse_record(encode_record(made.record.events)).events == made.record.events


RELATED = parse_record(record("runs/search-mask.jsonl")).events
ACTIONS: dict[str, Callable[[tuple[AnyEvent, ...]], Any]] = {
    "show": _show,
    "explain": _explain,
    "branch": _branch,
    "compare": _compare,
    "bundle": _bundle,
    "replay": rerun,
    "compare pages": lambda events: html_page([RecordedRun(redacted(events)), RecordedRun(RELATED)]),
    "spans": lambda events: spans_json(run_spans([RecordedRun(redacted(events))], content=True)),
    **{f"export {form}": lambda events, form=form: export(RecordedRun(events), form) for form in EXPORTS},
}


def failures(data: bytes, actions: Sequence[str] = tuple(ACTIONS)) -> Iterator[tuple[str, str]]:
    """Yield each action that neither succeeds nor raises a GlyphscopeError in time, with what happened."""
    try:
        events = parse_record(data, "run.jsonl").events
    except GlyphscopeError:
        return
    except Exception:
        yield "read", traceback.format_exc()
        return
    for name in actions:
        yield from _tried(name, lambda: ACTIONS[name](events))  # noqa: B023 - called at once


def _tried(name: str, action: Callable[[], Any]) -> Iterator[tuple[str, str]]:
    started = time.process_time()
    try:
        action()
    except GlyphscopeError as error:
        assert error.message, name
    except Exception:
        yield name, traceback.format_exc()
    if (took := time.process_time() - started) > SECONDS:
        yield name, f"took {took:.1f} s"


# results


RESULT_ACTIONS: dict[str, Callable[[Path], Any]] = {
    "publish": publish,
    "changes": lambda path: _changes(ResultFolder.open(path)),
    "records": lambda path: _records(ResultFolder.open(path)),
    **{
        f"to {form}": lambda path, form=form: export_samples(
            ResultFolder.open(path), path.parent / f"out.{form}"
        )
        for form in ("csv", "parquet", "eval", "json")
    },
}


def _changes(folder: ResultFolder) -> None:
    changes_between((folder.manifest, folder.samples()), (folder.manifest, folder.samples()))


def _records(folder: ResultFolder) -> None:
    for sample in folder.samples():
        for name in sample.runs:
            if folder.has_record(name):
                folder.record(name)


def result_mutant(original: Path, place: Path, random: random.Random) -> Path:
    """Return a copy of a result, below `place`, whose samples, manifest or a record are changed."""
    copy = Path(shutil.copytree(original, place / "result"))
    for _ in range(random.choice((1, 1, 2))):
        path = random.choice([copy / "samples.jsonl", copy / "samples.jsonl", copy / "manifest.json"])
        if random.random() < 0.2:
            path = random.choice([path, *copy.rglob("*.jsonl")])
        lines = path.read_bytes().rstrip(b"\n").split(b"\n")
        if path.name == "manifest.json":
            with contextlib.suppress(ValueError):
                lines = [json_value(json.loads(b"\n".join(lines)))]
        change = random.choice((_value, _value, _value, _values_alike if len(lines) > 1 else _value, _lines))
        path.write_bytes(b"\n".join(change(lines, random)) + b"\n")
    return copy


def result_failures(path: Path, actions: Sequence[str] = tuple(RESULT_ACTIONS)) -> Iterator[tuple[str, str]]:
    """Yield each action that neither succeeds nor raises a GlyphscopeError in time, with what happened."""
    for name in actions:
        yield from _tried(name, lambda: RESULT_ACTIONS[name](path))  # noqa: B023 - called at once
