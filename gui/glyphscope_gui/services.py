"""What the window is put together from: documents, stores, and where models come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QObject

from glyphscope.events import RunRequest
from glyphscope.models import open_model
from glyphscope.registry import default_registry
from glyphscope.sessions import History, Journal, Places, Project, Settings
from glyphscope.tools.demo import DemoTools
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.project.prompt_document import PromptContext, PromptDocument
from glyphscope_gui.project.registry_document import RegistryDocument
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.runs.worker.interaction import Sources
from glyphscope_gui.runs.worker.model_keeper import Open
from glyphscope_gui.servers.servers import ServersController

FIRST_PROMPT = "Search for AI news, 10 results"


@dataclass(frozen=True)
class Parts:
    """Made once, by the composition root; a test makes them with a model of its own.

    `results` is the folder below which results of evaluations are.

    `sources` is asked whenever a call is to be carried out, from the run's thread; those it has at the end are closed.
    """

    settings: SettingsStore
    document: RegistryDocument
    prompt: PromptDocument
    project: ProjectController
    history: History
    open_model: Open
    servers: ServersController
    results: Path
    places: Places
    sources: Sources = field(default=dict)

    def close(self) -> None:
        self.servers.close()
        for source in self.sources().values():
            source.close()
        self.prompt.shut_down()
        self.project.close()
        self.settings.close()


def first_project(settings: Settings) -> Project:
    """What a new project shows: seven tools, a prompt that one of them answers, and the rest as the user has it."""
    registry = default_registry().to_document()
    return Project(request=RunRequest(prompt=FIRST_PROMPT, registry=registry, **settings.first_options()))


def make_parts(places: Places, owner: QObject, opener: Open = open_model) -> Parts:
    """The parts of a window whose files live in `places`; `owner` is the parent of all of them."""
    settings = SettingsStore(places.settings, owner)
    registry = default_registry()
    document = RegistryDocument(registry, owner)
    prompt = PromptDocument(PromptContext(registry), parent=owner)
    project = ProjectController(document, prompt, settings, Journal(places.journal), owner)
    project.new(first_project(settings.value))
    servers = ServersController(places.servers, DemoTools(scratch=places.scratch), owner)
    history = History(places.history)
    results = places.results
    return Parts(
        settings, document, prompt, project, history, opener, servers, results, places, servers.sources
    )
