"""`glyphscope gui`: the window, found by its entry point, so that the engine never imports it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.plugins import PluginError, PluginGroup
from glyphscope.cli.probes import display_problem

APPS: PluginGroup[Callable[[list[str]], int]] = PluginGroup("glyphscope.apps", Callable)
NEEDED = {"PySide6": "PySide6", "pyqtgraph": "pyqtgraph", "railroad-diagrams": "railroad"}
"""The window's packages, with the modules whose presence shows that they are installed."""


def gui(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A file to open: a .glyphscope project, a .glyphrun or .jsonl run, a .gbnf or .lark grammar, "
            "a .gguf model.",
        ),
    ] = None,
) -> None:
    """Open the window."""
    missing = [package for package, module in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise GlyphscopeError(
            f"The window needs packages that are not installed: {', '.join(missing)}.",
            hint="Install them with: pip install 'glyphscope[gui]'. The command line works without them.",
        )
    if problem := display_problem():
        raise GlyphscopeError(
            f"No display is available for the window: {problem}.",
            hint="Use the command line: glyphscope run PROMPT. Or provide a display: xvfb-run glyphscope",
        )
    main = _window()
    raise typer.Exit(main([str(file)] if file else []))


def _window() -> Callable[[list[str]], int]:
    """The window's `main(arguments) -> exit code`."""
    if "gui" not in APPS.names:
        raise GlyphscopeError(
            "The window is not part of this installation.",
            hint="Install it with: pip install 'glyphscope[gui]'.",
        )
    gc.disable()  # saves a fifth of the loading time; the window collects by itself
    try:
        main = APPS.get("gui")
    except PluginError as error:  # a missing system library, or a damaged package
        raise GlyphscopeError(
            f"The window cannot be loaded: {error.__cause__}.",
            hint="Run glyphscope doctor to list missing components and the commands that install them",
        ) from error
    assert main is not None, "its name is listed"
    return main
