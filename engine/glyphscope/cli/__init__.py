"""`glyphscope …`: everything the engine does, without a window."""

from glyphscope.cli.app import main

__all__ = ["main"]
