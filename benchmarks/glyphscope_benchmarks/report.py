"""The bench's report: the figures, and the machine, the versions and the model to which they apply."""

from __future__ import annotations

import contextlib
import os

import msgspec
from rich.table import Table
from rich.text import Text

from glyphscope.base.figures import UNKNOWN, estimate
from glyphscope.evals.results.manifest import system_name
from glyphscope.events import ModelInfo
from glyphscope.models.cores import processor_name
from glyphscope.runs.emitter import versions
from glyphscope_benchmarks.figures import Figure

_CALM = 0.5
"""The maximum number of processes waiting for the processor on an otherwise idle machine."""
UNDECIDABLE = (
    "undecidable: the median misses the target and a repeat meets it; measure on a machine without other work"
)


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """`load` is the number of running processes in the minute before the bench; None if unknown."""

    system: str
    processor: str
    cores: int
    load: float | None

    @property
    def busy(self) -> bool:
        """Whether other work disturbs the figures."""
        return self.load is not None and self.load > _CALM

    @property
    def load_text(self) -> str:
        return "load unknown" if self.load is None else f"load {self.load:.1f}"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `glyphscope bench --json`. `met`: no figure clearly misses its target."""

    met: bool
    quick: bool
    figures: list[Figure]
    seconds: float
    machine: Machine
    versions: dict[str, str]
    model: ModelInfo | None


def report(
    figures: list[Figure], *, quick: bool, seconds: float, machine: Machine, model: ModelInfo | None
) -> Report:
    """The figures with the conditions to which they apply."""
    return Report(
        met=all(figure.verdict != "missed" for figure in figures),
        quick=quick,
        figures=figures,
        seconds=seconds,
        machine=machine,
        versions=versions(),
        model=model,
    )


def this_machine() -> Machine:
    """The current state of the machine."""
    load = None
    with contextlib.suppress(OSError, AttributeError):
        load = os.getloadavg()[0]
    return Machine(
        system=system_name(),
        processor=processor_name(),
        cores=os.cpu_count() or 1,
        load=load,
    )


def table(found: Report) -> Table:
    """The figures as a table for users."""
    lines = Table(box=None, header_style="bold", pad_edge=False)
    lines.add_column("figure", overflow="fold")
    for name in ("minimum", "median", "maximum", "target"):
        lines.add_column(name, justify="right", no_wrap=True)
    lines.add_column("met", no_wrap=True)
    for figure in found.figures:
        extremes = (
            UNKNOWN if value is None else value_text(value) for value in (figure.minimum, figure.maximum)
        )
        least, most = (Text(text, style="dim") for text in extremes)
        lines.add_row(figure.name, least, _value(figure), most, _target(figure), _met(figure))
    return lines


def footnotes(found: Report) -> list[Text]:
    """The conditions under which the figures are valid, and the reasons for missing ones."""
    machine, model = found.machine, found.model
    notes = [f"{figure.name}: {figure.note}" for figure in found.figures if figure.measured is None]
    if any(figure.verdict == "undecidable" for figure in found.figures):
        notes.append(UNDECIDABLE)
    named = f"{model.name} {model.quantisation}, sha256 {model.sha256[:12]}" if model else "no model"
    processor = machine.processor or "processor unknown"
    notes.append(
        f"{named}; {processor}, {machine.cores} cores, {machine.load_text}; {estimate(found.seconds)}"
    )
    if machine.busy:
        notes.append("Other programs were using the machine: the figures may be too high or too low.")
    return [Text(note, style="dim") for note in notes]


def _value(figure: Figure) -> Text:
    if figure.measured is None:
        return Text("not measured", style="yellow")
    return Text(f"{value_text(figure.measured)} {unit_text(figure.unit)}".strip())


def value_text(value: float) -> str:
    return f"{value:,.2f}"


def _target(figure: Figure) -> Text:
    if figure.target is None:
        return Text(UNKNOWN, style="dim")
    sign = "≤" if figure.target.kind == "at most" else "≥"
    return Text(f"{sign} {figure.target.value:g} {unit_text(figure.unit)}".strip())


def unit_text(unit: str) -> str:
    return "×" if unit == "ratio" else unit


def _met(figure: Figure) -> Text:
    match figure.verdict:
        case None:
            return Text(UNKNOWN, style="dim")
        case "met":
            return Text("✓ yes", style="green")
        case "missed":
            return Text("✗ no", style="bold red")
    return Text("? undecidable", style="yellow")
