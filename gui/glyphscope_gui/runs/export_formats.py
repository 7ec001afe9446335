"""A run as files for others: the file name and the content of each form; no Qt.

A file's summary, shown before the user shares the file, is made from the run itself. Keys are never in the file;
everything else is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from glyphscope.base.figures import byte_size
from glyphscope.events import AnyEvent, RunStarted
from glyphscope.store.bundle import SUFFIX, BundleManifest, redacted
from glyphscope.store.exports import RecordedRun, form_named
from glyphscope.store.exports.forms import request_note
from glyphscope.store.exports.grammars import constraint_note
from glyphscope_gui.shared.language import in_language, tr

RECORD_SUFFIX = ".jsonl"
PAGE_SUFFIX = ".html"


_GRAMMARS = ("gbnf", "lark")


class ExportedRun(NamedTuple):
    """A run in another form: `name` is the proposed name of its file, `note` a line on its content."""

    form: str
    text: str
    name: str
    note: str


def exported(events: Sequence[AnyEvent], form: str, text: str) -> ExportedRun:
    """`text` is the run in that form."""
    note = in_language(form_named(form).holds)
    if form in _GRAMMARS and (constrained := constraint_note(RecordedRun(events))):
        note = f"{constrained} {note}"
    if left := request_note(form, RecordedRun(events)):
        note = f"{note} {left}"
    prefix = "test_" if form == "pytest" else ""
    slug = _slug(events).replace("-", "_") if prefix else _slug(events)
    return ExportedRun(form, text, f"{prefix}{slug}{form_named(form).ending}", note)


def file_name(events: Sequence[AnyEvent]) -> str:
    """The proposed name of a bundle of that run: from its first words."""
    return _slug(events) + SUFFIX


def bundle_summary(path: Path, manifest: BundleManifest, size: int) -> str:
    """The content of a bundle that was just written, and what it omits. `size` is in bytes."""
    words = tr(
        "{name}, {size}. In it: the prompt, the answers and what tools answered. "
        "Not in it: API keys, servers’ command lines and addresses, the path of your home folder.",
        name=path.name,
        size=byte_size(size),
    )
    without = "".join(
        tr(" Without {name}: {reason}", name=name, reason=reason) for name, reason in manifest.missing.items()
    )
    return words + without


def page_summary(path: Path) -> str:
    """The content of a page that was just written."""
    return tr(
        "{name} was saved. It contains the prompts, the answers and the results of tools, but no API keys.",
        name=path.name,
    )


def page_name(events: Sequence[AnyEvent]) -> str:
    """The proposed name of a page of several runs, of which these events are the first."""
    return f"{_slug(events)}-compared{PAGE_SUFFIX}"


def record_summary(path: Path, events: Sequence[AnyEvent]) -> str:
    """The content of a record, which is written unchanged."""
    if tuple(redacted(events)) == tuple(events):
        return tr(
            "{name} was saved. It contains the prompt, the answers and the results of tools, but "
            "no API keys.",
            name=path.name,
        )
    return tr(
        "{name} was saved. It contains no API keys, but paths or server command lines and "
        "addresses of this computer. To share the run, save it as {suffix}.",
        name=path.name,
        suffix=SUFFIX,
    )


def _slug(events: Sequence[AnyEvent]) -> str:
    """The letters and digits of the prompt's first words, as a name that any file system accepts."""
    first = events[0] if events else None
    words = (
        re.findall(r"[a-z0-9]+", first.request.prompt[:200].lower()) if isinstance(first, RunStarted) else []
    )
    return "-".join(words[:5])[:40].strip("-") or "run"
