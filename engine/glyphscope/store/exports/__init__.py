"""A recorded run in other programs' forms: grammars, a JSON Schema, OpenAI tools, a pytest file, a curl line."""

from __future__ import annotations

from glyphscope.store.exports.forms import EXPORTS, export, export_forms, form_named
from glyphscope.store.exports.recorded_run import RecordedRun
