"""Running a matrix: each sample once, whatever happens in between."""

from glyphscope.evals.running.evaluate import evaluate
from glyphscope.evals.running.progress import (
    Begun,
    Control,
    Ended,
    ModelMissing,
    ModelOpened,
    Progress,
    SampleBegun,
    SampleDone,
    SampleGrew,
)

__all__ = [
    "Begun",
    "Control",
    "Ended",
    "ModelMissing",
    "ModelOpened",
    "Progress",
    "SampleBegun",
    "SampleDone",
    "SampleGrew",
    "evaluate",
]
