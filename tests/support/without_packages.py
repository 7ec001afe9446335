"""`python without_packages.py NAME,NAME…`: commands, one a line as JSON, in a Python that has none of those packages.

Each answer is a line of JSON too: exit code, stdout, stderr, and the exception that was not caught, if there was one.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from importlib.machinery import PathFinder
from typing import Any


def hide(modules: set[str], distributions: set[str]) -> None:
    """Hide packages as if they were not installed: neither found nor listed."""
    find, version = PathFinder.find_spec, metadata.version

    def found(name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.partition(".")[0] in modules else find(name, path, target)

    def listed(name: str) -> str:
        if name.lower() in distributions:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    PathFinder.find_spec = staticmethod(found)  # type: ignore[method-assign,assignment]
    metadata.version = listed


def main() -> None:
    modules, distributions = (set(filter(None, names.split(","))) for names in sys.argv[1:3])
    hide(modules, distributions)
    from typer.testing import CliRunner

    from glyphscope.cli.app import app

    for line in sys.stdin:
        result = CliRunner().invoke(app, json.loads(line))
        wrong = "" if isinstance(result.exception, SystemExit | None) else repr(result.exception)
        print(json.dumps([result.exit_code, result.stdout, result.stderr, wrong]), flush=True)


if __name__ == "__main__":
    main()
