"""Stored data: projects, run records, the history, unsaved edits and settings."""

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
