"""Start-up code of each Python process that a test starts.

The model's process takes its prompts from `saved_prompts`; this and the program are forks of `forks`' servers.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

# typing, and importlib.abc with its base class, take longer to import than Python to start
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

MODEL, ENGINE = "glyphscope.models.child", "glyphscope.models.llama_engine"
FOLDER = os.environ.get("GLYPHSCOPE_SAVED_PROMPTS", "")


class EngineFinder:
    """Finds the engine's module as usual, and patches it with `saved_prompts` after its import."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != ENGINE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def and_keep_prompts(module: ModuleType) -> None:
            execute(module)
            from saved_prompts import keep_prompts

            keep_prompts(module, FOLDER)

        spec.loader.exec_module = and_keep_prompts  # type: ignore[method-assign]
        return spec


if FOLDER and MODEL in sys.orig_argv:
    sys.meta_path.insert(0, EngineFinder())  # type: ignore[arg-type]

if (servers := os.environ.get("GLYPHSCOPE_FORKS", "")) and "-m" in sys.orig_argv[1:3]:
    from forks import continue_in_fork

    continue_in_fork(servers)
