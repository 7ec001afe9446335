"""Glyphscope's engine: tool calls of local language models, watched while they are written. No Qt in here."""

__version__ = "0.1.0"
