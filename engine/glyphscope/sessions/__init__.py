"""What outlives a run: projects, run records, the history, unsaved edits and settings."""

from glyphscope.sessions.compare import first_difference, strip_times
from glyphscope.sessions.files import ChangedOnDisk, atomic_write
from glyphscope.sessions.history import History, HistoryRow, Kin
from glyphscope.sessions.journal import Journal, Leftover, Unsaved
from glyphscope.sessions.places import Places, places
from glyphscope.sessions.project import (
    GrammarExample,
    GrammarWork,
    Project,
    StoredProject,
    load_project,
    save_project,
)
from glyphscope.sessions.records import Record, RecordHeader, RecordWriter, read_record
from glyphscope.sessions.servers import KnownServers, LoadedServers, load_servers, save_servers
from glyphscope.sessions.settings import LoadedSettings, Settings, load_settings, save_settings

__all__ = [
    "ChangedOnDisk",
    "GrammarExample",
    "GrammarWork",
    "History",
    "HistoryRow",
    "Journal",
    "Kin",
    "KnownServers",
    "Leftover",
    "LoadedServers",
    "LoadedSettings",
    "Places",
    "Project",
    "Record",
    "RecordHeader",
    "RecordWriter",
    "Settings",
    "StoredProject",
    "Unsaved",
    "atomic_write",
    "first_difference",
    "load_project",
    "load_servers",
    "load_settings",
    "places",
    "read_record",
    "save_project",
    "save_servers",
    "save_settings",
    "strip_times",
]
