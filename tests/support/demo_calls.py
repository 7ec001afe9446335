"""Calls of demo tools as tests make them."""

from __future__ import annotations

import threading
from typing import Any

from glyphscope.tools import Outcome, ToolSource

NEVER = threading.Event()
"""A cancellation that never happens."""


def call(source: ToolSource, tool: str, **arguments: Any) -> Outcome:
    return source.call(tool, arguments, seconds=5, cancel=NEVER)


def said(source: ToolSource, tool: str, **arguments: Any) -> str:
    """Return the text of a successful call."""
    outcome = call(source, tool, **arguments)
    assert outcome.ok, outcome.message
    return outcome.content[0].text


def refused(source: ToolSource, tool: str, **arguments: Any) -> str:
    """Return the message of a call that ends with the tool's own fault, short enough for a model."""
    outcome = call(source, tool, **arguments)
    assert outcome.fault == "tool" and outcome.content == ()
    assert len(outcome.message) < 700
    return outcome.message
