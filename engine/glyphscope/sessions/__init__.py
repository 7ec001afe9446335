"""Stored data: projects, run records, the history, unsaved edits and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.interfaces import interface
from glyphscope.sessions.files import ChangedOnDisk, atomic_file, atomic_write, replace_folder
from glyphscope.sessions.folders import Places, places
from glyphscope.sessions.history import History, HistoryRow, Kin, kin_of
from glyphscope.sessions.journal import Journal
from glyphscope.sessions.project import (
    GrammarExample,
    GrammarWork,
    Project,
    StoredProject,
    load_project,
    save_project,
)
from glyphscope.sessions.records import (
    Record,
    RecordWriter,
    encode_record,
    first_difference,
    parse_record,
    read_record,
    strip_times,
    strip_words,
)
from glyphscope.sessions.servers import KnownServers, load_servers, save_servers
from glyphscope.sessions.settings import Settings, load_settings, save_settings

if TYPE_CHECKING:
    from glyphscope.sessions.archive import pack, unpack
    from glyphscope.sessions.bundle import (
        MANIFEST,
        make_bundle,
        parse_bundle,
        read_bundle,
        read_run,
        redacted,
        write_bundle,
    )
    from glyphscope.sessions.named_models import NamedModels, downloaded_file, fixed_batch
    from glyphscope.sessions.settings import LIMIT_VARIABLE, prompt_cache
else:
    __getattr__ = interface(__name__)
