"""`glyphscope gui`: the window, found by its entry point, so that the engine never imports it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from glyphscope.cli.probes import has_display
from glyphscope.errors import GlyphscopeError

GROUP = "glyphscope.apps"


def gui(
    project: Annotated[
        Path | None, typer.Argument(help="A .glyphscope project to open.", show_default=False)
    ] = None,
) -> None:
    """Open the window."""
    if find_spec("PySide6") is None or find_spec("pyqtgraph") is None:
        raise GlyphscopeError(
            "The window needs PySide6 and pyqtgraph, which are not installed.",
            hint="Install them with: pip install 'glyphscope[gui]'. Everything but the window works without.",
        )
    if not has_display():
        raise GlyphscopeError(
            "There is no display for the window.",
            hint="The terminal does the same job: glyphscope run PROMPT. Or give it one: xvfb-run glyphscope",
        )
    main = _window()
    raise typer.Exit(main([str(project)] if project else []))


def _window() -> Callable[[list[str]], int]:
    """The window's `main(arguments) -> exit code`."""
    found = entry_points(group=GROUP, name="gui")
    if not found:
        raise GlyphscopeError(
            "The window is not part of this installation.",
            hint="Install it with: pip install 'glyphscope[gui]'.",
        )
    main: Callable[[list[str]], int] = next(iter(found)).load()
    return main
