"""The stores and controllers that the whole application shares, and the source of models."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from glyphscope.models.opening import open_model
from glyphscope.registry import default_registry
from glyphscope.store import History, Journal, Places
from glyphscope.store.servers import SeenTools
from glyphscope.store.settings import prompt_cache
from glyphscope.tools.demo import DemoTools
from glyphscope_gui.mcp.servers import ServersController
from glyphscope_gui.project import (
    ProjectController,
    PromptContext,
    PromptDocument,
    RegistryDocument,
    SettingsStore,
    first_project,
)
from glyphscope_gui.runs.worker.model_keeper import Open
from glyphscope_gui.shared.named_files import NamedFiles


@dataclass(frozen=True)
class Services:
    """The services of the application, made once by the composition root; tests make them with their own model."""

    settings: SettingsStore
    project: ProjectController
    history: History
    servers: ServersController
    places: Places
    open_model: Open
    named_files: NamedFiles = field(default_factory=NamedFiles)

    @property
    def results(self) -> Path:
        """The folder of evaluation results."""
        return self.places.results

    def close(self) -> None:
        self.servers.close()
        for source in self.servers.sources().values():
            source.close()
        self.project.close()
        self.settings.close()


def make_services(places: Places, owner: QObject, opener: Open | None = None) -> Services:
    """The services of an application whose files are in `places`; `owner` is the parent of all of them.

    The default opener stores prompts within the limit in the settings, which is read again for each generation.
    """
    settings = SettingsStore(places.settings, owner)
    registry = default_registry()
    project = ProjectController(
        RegistryDocument(registry, owner),
        PromptDocument(PromptContext(registry), parent=owner),
        settings,
        Journal(places.journal),
        owner,
    )
    project.new(first_project(settings.value))
    servers = ServersController(
        places.servers, DemoTools(scratch=places.scratch), owner, seen=SeenTools(places.tool_lists)
    )
    opener = opener or partial(
        open_model, prompts=lambda: prompt_cache(settings.value, places), batches=places.batches
    )
    return Services(settings, project, History(places.history), servers, places, opener)
