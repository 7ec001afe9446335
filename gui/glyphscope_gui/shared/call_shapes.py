"""The shapes of a call, as the pickers offer them: value, words, and an example as the hint."""

from __future__ import annotations

from glyphscope_gui.shared.language import tr

SHAPES = (
    ("flat", tr("flat"), '{"action": name, …arguments}'),
    ("tool-args", "tool/args", '{"tool": name, "args": {…}}'),
    ("name-arguments", "name/args", '{"name": name, "arguments": {…}}'),
)
