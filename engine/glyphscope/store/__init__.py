"""Stored data: projects, run records, the history, unsaved edits and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope.store.files import ChangedOnDisk, atomic_file, atomic_write, replace_folder
from glyphscope.store.folders import Places, places
from glyphscope.store.history import History, HistoryRow, Kin
from glyphscope.store.journal import Journal
from glyphscope.store.project import (
    GrammarExample,
    GrammarWork,
    Project,
    StoredProject,
    load_project,
    save_project,
)
from glyphscope.store.records import Record, RecordWriter, first_difference, strip_words
from glyphscope.store.servers import MAX_LISTS, KnownServers, SeenTools, load_servers, save_servers
from glyphscope.store.settings import Settings, load_settings, save_settings

if TYPE_CHECKING:
    from glyphscope.store.archive import pack, unpack
    from glyphscope.store.named_models import NamedModels, downloaded_file, fixed_batch
    from glyphscope.store.settings import LIMIT_VARIABLE, prompt_cache
else:
    __getattr__ = interface(__name__)
