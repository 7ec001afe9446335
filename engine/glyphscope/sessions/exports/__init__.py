"""A recorded run in other programs' forms: grammars, a JSON Schema, OpenAI tools, a pytest file, a curl line."""

from glyphscope.sessions.exports.forms import EXPORTS, export, export_forms, form_named
from glyphscope.sessions.exports.recorded_run import RecordedRun
