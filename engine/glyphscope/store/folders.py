"""The folders of files: the platform's, or all of them under GLYPHSCOPE_HOME."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

from glyphscope.base.inputs import home_path

HOME_VARIABLE = "GLYPHSCOPE_HOME"


@dataclass(frozen=True)
class Places:
    """The user's folders; none is created before something is written."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def settings(self) -> Path:
        return self.config / "settings.json"

    @property
    def servers(self) -> Path:
        """The file of the window's MCP servers."""
        return self.config / "servers.json"

    @property
    def tool_lists(self) -> Path:
        """The folder of the lists of tools that MCP servers had."""
        return self.data / "tool-lists"

    @property
    def engines(self) -> Path:
        """The folder of the environments of other engines, for the test of enforcement."""
        return self.data / "engines"

    @property
    def history(self) -> Path:
        return self.data / "history.sqlite3"

    @property
    def journal(self) -> Path:
        """The folder of unsaved edits."""
        return self.state / "journal"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def models(self) -> Path:
        """The folder for models that the user puts there."""
        return self.data / "models"

    @property
    def lessons(self) -> Path:
        """The folder for lessons that the user puts there; the recordings of their runs are in `runs` below it."""
        return self.data / "lessons"

    @property
    def lesson_progress(self) -> Path:
        return self.state / "lessons.json"

    @property
    def prompts(self) -> Path:
        """The folder of the KV states of evaluated prompts."""
        return self.cache / "prompts"

    @property
    def batches(self) -> Path:
        """The folder of the batch sizes that were measured for models."""
        return self.cache / "batches"

    @property
    def captures(self) -> Path:
        """The folder of the records of captures."""
        return self.data / "captures"

    @property
    def suites(self) -> Path:
        """The folder of the user's suites."""
        return self.data / "suites"

    @property
    def results(self) -> Path:
        """The folder below which the window puts the results of evaluations."""
        return self.data / "results"

    @property
    def scratch(self) -> Path:
        """The folder in which the demo tools read and write files."""
        return self.data / "scratch"


def places() -> Places:
    """The places, determined on each call, so that a test or a second window may set GLYPHSCOPE_HOME."""
    if home := os.environ.get(HOME_VARIABLE):
        root = home_path(home)
        return Places(config=root, data=root, state=root, cache=root / "cache")
    folders = PlatformDirs("glyphscope", appauthor=False)
    return Places(
        config=folders.user_config_path,
        data=folders.user_data_path,
        state=folders.user_state_path,
        cache=folders.user_cache_path,
    )
