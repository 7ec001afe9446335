"""The progress of an evaluation in words, for the bars of terminals and notebooks."""

from __future__ import annotations

from dataclasses import dataclass, field

from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.words import sample_words
from glyphscope.evals.running.progress import (
    Begun,
    ModelOpened,
    Progress,
    SampleBegun,
    SampleDone,
    SampleGrew,
)
from glyphscope.text.figures import estimate, pluralize
from glyphscope.visible import visible


@dataclass
class ProgressWords:
    """The state after the reports so far: `done` of `total` samples, the present sample as `now`, the results so far
    with the time left as `left`. `name` is that of the last finished sample.
    """

    total: int = 0
    done: int = 0
    now: str = "beginning"
    left: str = ""
    name: str = ""
    _manifest: Manifest = field(default_factory=Manifest)
    _names: dict[str, str] = field(default_factory=dict)
    _ok: int = 0
    _made: int = 0

    def add(self, report: Progress) -> None:
        """Include the next report."""
        match report:
            case Begun(manifest=manifest, done=done):
                self._manifest, self.total, self.done = manifest, manifest.planned, done
            case ModelOpened(name=name):
                self.now = visible(f"{name} is open")
            case SampleBegun(id, arm, suite, scenario, trial):
                self._names[id] = words = sample_words(self._manifest, arm, suite, scenario, trial)
                self.now = visible(f"{words}: reading the prompt")
            case SampleGrew(id=id, tokens=tokens, judge=judge):
                name = self._names.get(id, id) + (f", judge {judge}" if judge else "")
                self.now = visible(
                    f"{name}: {pluralize(tokens, 'token') if tokens else 'reading the prompt'}"
                )
            case SampleDone(sample=sample, done=done, left=left):
                self._made += 1
                self._ok += sample.ok
                self.done, self.name = done, self._names.pop(sample.id, sample.id)
                self.left = f"{self._ok}/{self._made} ok, about {estimate(left)} left"
            case _:
                pass
