"""Stored data: projects, run records, the history, unsaved edits and settings."""

from glyphscope.sessions.compare import first_difference, strip_words
from glyphscope.sessions.files import ChangedOnDisk, atomic_file, atomic_write
from glyphscope.sessions.history import History, HistoryRow, Kin
from glyphscope.sessions.journal import Journal
from glyphscope.sessions.places import Places, places
from glyphscope.sessions.project import (
    GrammarExample,
    GrammarWork,
    Project,
    StoredProject,
    load_project,
    save_project,
)
from glyphscope.sessions.records import Record, RecordWriter, read_record
from glyphscope.sessions.servers import KnownServers, load_servers, save_servers
from glyphscope.sessions.settings import Settings, load_settings, save_settings
