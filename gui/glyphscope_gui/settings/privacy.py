"""The data that leaves this computer, with every configured endpoint and server that gets some, and the data stored
here; the history can be cleared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.models.prompt_cache import StoredFile, clear_cache, stored_files
from glyphscope.models.remote import is_address, read_address
from glyphscope.sessions import History
from glyphscope.text.figures import byte_size
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope_gui.settings.sections import SettingRow, SettingSection
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.dialogs import Role, ask
from glyphscope_gui.shared.labels import push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox


class ContactList(QWidget):
    """The recipients of data, and the data."""

    def __init__(self, contacts: Sequence[Contact], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = vbox(words_label(summary(contacts), "", self, name="privacySummary"), parent=self, spacing=4)
        for contact in contacts:
            column.addSpacing(6)
            column.addWidget(words_label(contact.who, "title", self))
            column.addWidget(words_label(contact.what, parent=self))


class HistoryClearer(QWidget):
    """Clears the history after the user's confirmation. `cleared` carries the number of deleted runs."""

    cleared = Signal(int)

    def __init__(self, history: History, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._background = Background(self)
        self.button = push_button(tr("Clear history…"), self, name="clearHistoryButton", clicked=self._ask)
        self.note = words_label(parent=self)
        hbox(self.button, (self.note, 1), parent=self, spacing=12)

    def clear(self, *, keep_pinned: bool) -> None:
        self.button.setEnabled(False)
        history = self._history
        self._background.start(
            "clear", lambda: history.clear(keep_pinned=keep_pinned), self._cleared, self._failed
        )

    def _ask(self) -> None:
        ask(
            self,
            "clearHistoryQuestion",
            tr("Delete the runs of the history?"),
            tr("This cannot be undone. Runs saved as files are kept."),
            (tr("Keep pinned runs"), Role.DestructiveRole, lambda: self.clear(keep_pinned=True)),
            (tr("Delete all"), Role.DestructiveRole, lambda: self.clear(keep_pinned=False)),
        )

    def _cleared(self, count: int) -> None:
        self.button.setEnabled(True)
        self.note.setText(tr("%n run(s) deleted.", "", count))
        self.cleared.emit(count)

    def _failed(self, error: BaseException) -> None:
        self.button.setEnabled(True)
        self.note.setText(str(error))


class PromptClearer(QWidget):
    """The number and size of the evaluated prompts on disk, which can be deleted at any time at no cost but time."""

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._background = Background(self)
        self.button = push_button(tr("Clear prompts"), self, name="clearPromptsButton", clicked=self.clear)
        self.note = words_label(parent=self, name="storedPrompts")
        hbox(self.button, (self.note, 1), parent=self, spacing=12)
        self._show(stored_files(folder))  # a few dozen at most

    def clear(self) -> None:
        folder = self._folder

        def work() -> list[StoredFile]:
            clear_cache(folder)
            return stored_files(folder)

        self.button.setEnabled(False)
        self._background.start("clear", work, self._show, lambda error: self.note.setText(str(error)))

    def _show(self, files: Sequence[StoredFile]) -> None:
        self.button.setEnabled(bool(files))
        size = byte_size(sum(file.size for file in files))
        self.note.setText(tr("%n prompt(s), {size}", "", len(files), size=size) if files else tr("None."))


def privacy_section(
    contacts: Sequence[Contact], clearer: HistoryClearer, prompts: PromptClearer, logs: Path
) -> SettingSection:
    """`logs` is the folder of crash reports."""
    hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    return SettingSection(
        tr("Privacy"),
        (
            SettingRow(tr("Network access"), ContactList(contacts), wide=True),
            SettingRow(
                tr("Downloads"),
                words_label(
                    tr(
                        "Only when you search for or download a model: {address} receives the search words, "
                        "the repository, the file, and your access token if one is set; nothing else.",
                        address=hub,
                    )
                ),
                wide=True,
            ),
            SettingRow(
                tr("Keys"),
                words_label(tr("Stored in the system keyring, never in a project, record or bundle.")),
                wide=True,
            ),
            SettingRow(
                tr("Crash reports"),
                words_label(
                    tr("Stored in {folder} and shown at the next start; nothing is sent.", folder=logs)
                ),
                wide=True,
            ),
            SettingRow(
                tr("History"),
                clearer,
                tr("Each run is stored on this computer with its prompt, answer and results."),
                wide=True,
            ),
            SettingRow(
                tr("Evaluated prompts"),
                prompts,
                tr(
                    "Long prompts are stored on this computer, as tokens and llama.cpp’s state, so that the next start "
                    "does not evaluate them again. The section Limits sets their size; 0 stores none."
                ),
                wide=True,
            ),
        ),
    )


NOTHING = tr(
    "Runs and calls send nothing over the network: no endpoint and no HTTP MCP server is configured."
)


class Contact(NamedTuple):
    """A recipient of data, in words, and the data. `away`: it may be another computer."""

    who: str
    what: str
    away: bool


def contacts(models: Iterable[str], servers: Iterable[ServerConfig]) -> list[Contact]:
    """The recipients among the configured or recently used models and the servers, each once."""
    found: dict[str, Contact] = {}
    for model in models:
        if not is_address(model):
            continue
        try:
            address = read_address(model)
        except GlyphscopeError:
            continue  # it cannot receive anything
        where = tr("on this computer") if address.loopback else tr("remote")
        found.setdefault(
            address.base,
            Contact(
                tr("Endpoint {address}, {where}", address=address.base, where=where),
                tr(
                    "Receives the prompt, the tools and the sampling parameters of runs that use it, and "
                    "its key if one is stored."
                ),
                not address.loopback,
            ),
        )
    programs = []
    for server in servers:
        if server.disabled:
            continue
        if not server.url:
            programs.append(server.name)
            continue
        found.setdefault(
            server.url,
            Contact(
                tr("MCP server {name}, {address}", name=server.name, address=_place_of(server.url)),
                tr(
                    "When started: receives the arguments of each call of its tools, and its configured "
                    "headers or your sign-in. Signing in also contacts its authorization server."
                ),
                True,
            ),
        )
    listed = list(found.values())
    if programs:
        listed.append(
            Contact(
                tr(
                    "Programs on this computer that are MCP servers: {programs}", programs=", ".join(programs)
                ),
                tr(
                    "They receive the arguments of each call of their tools; Glyphscope does not control "
                    "what they do with them."
                ),
                False,
            )
        )
    return listed


def _place_of(url: str) -> str:
    """The address without the query, which may contain a key."""
    return url.partition("?")[0].partition("#")[0]


def summary(listed: Iterable[Contact]) -> str:
    """A summary of the recipients in a sentence."""
    away = sum(contact.away for contact in listed)
    if not away:
        return NOTHING
    return tr("Data is sent to %n configured destination(s), only when a run or call uses them.", "", away)
