"""The bench's answer: the figures, and the machine, the versions and the model that they hold for."""

from __future__ import annotations

import contextlib
import os

import msgspec
from rich.table import Table
from rich.text import Text

from glyphscope.evals.results.manifest import processor_name, system_name
from glyphscope.events import ModelInfo
from glyphscope.runs.emitter import versions
from glyphscope.text.figures import estimate
from glyphscope_benchmarks.figures import Figure

_CALM = 0.5
"""Processes that wait for the processor on a machine that does nothing else, at most."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """`load` is the load average of the minute before the bench; None where the system has none."""

    system: str
    processor: str
    cores: int
    load: float | None

    @property
    def busy(self) -> bool:
        """Whether others' work disturbs the figures."""
        return self.load is not None and self.load > _CALM


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `glyphscope bench --json`. `met`: every figure that was measured and has a target meets it."""

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
    """The figures with everything that they hold for."""
    return Report(
        met=all(figure.met is not False for figure in figures),
        quick=quick,
        figures=figures,
        seconds=seconds,
        machine=machine,
        versions=versions(),
        model=model,
    )


def this_machine() -> Machine:
    """The present state of the machine."""
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
    """The figures as people read them."""
    lines = Table(box=None, header_style="bold", pad_edge=False)
    lines.add_column("figure", overflow="fold")
    for name in ("measured", "target"):
        lines.add_column(name, justify="right", no_wrap=True)
    lines.add_column("met", no_wrap=True)
    for figure in found.figures:
        lines.add_row(figure.name, _value(figure), _target(figure), _met(figure))
    return lines


def footnotes(found: Report) -> list[Text]:
    """The conditions under which the figures are valid, and why some are missing."""
    machine, model = found.machine, found.model
    notes = [f"{figure.name}: {figure.note}" for figure in found.figures if figure.measured is None]
    named = f"{model.name} {model.quantisation}, sha256 {model.sha256[:12]}" if model else "no model"
    notes.append(
        f"{named}; {machine.processor or 'processor unknown'}, {machine.cores} cores; {estimate(found.seconds)}"
    )
    if machine.busy:
        notes.append(
            f"Other programs were using the machine (load {machine.load:.1f}): the figures may be "
            "too high or too low."
        )
    return [Text(note, style="dim") for note in notes]


def _value(figure: Figure) -> Text:
    if figure.measured is None:
        return Text("not measured", style="yellow")
    return Text(f"{figure.measured:,.2f} {_unit(figure)}".strip())


def _target(figure: Figure) -> Text:
    if figure.target is None:
        return Text("–", style="dim")
    sign = "≤" if figure.target.kind == "at most" else "≥"
    return Text(f"{sign} {figure.target.value:g} {_unit(figure)}".strip())


def _unit(figure: Figure) -> str:
    return "×" if figure.unit == "ratio" else figure.unit


def _met(figure: Figure) -> Text:
    if figure.met is None:
        return Text("–", style="dim")
    return Text("✓ yes", style="green") if figure.met else Text("✗ no", style="bold red")
