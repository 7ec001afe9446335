"""Executing calls: the sources of tools, their results, and permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.tools.approval import ApprovalError, decide, needs_consent, parse_approvals
    from glyphscope.tools.arguments import argument_problems
    from glyphscope.tools.source import CallOptions, Outcome, ToolSource
else:
    __getattr__ = interface(__name__)
