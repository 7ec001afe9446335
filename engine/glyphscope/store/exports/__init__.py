"""A recorded run in other programs' forms: grammars, a JSON Schema, OpenAI tools, a pytest file, a curl line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface
from glyphscope.store.exports.forms import EXPORTS, export, export_forms, form_named
from glyphscope.store.exports.recorded_run import RecordedRun

if TYPE_CHECKING:
    from glyphscope.store.exports.run_page import MAX_RUNS, html_page, run_data
else:
    __getattr__ = interface(__name__)
