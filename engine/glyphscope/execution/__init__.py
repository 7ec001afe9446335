"""From a valid call to its result: whether it may run, its execution, and the message to the model."""

from glyphscope.execution.recorded import RecordedInteraction
from glyphscope.execution.tool_execution import execute

__all__ = ["RecordedInteraction", "execute"]
