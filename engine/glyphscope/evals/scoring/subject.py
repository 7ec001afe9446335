"""The result of a prompt as a document: what JSONPath selects from, Python functions are given and a judge reads."""

from __future__ import annotations

from typing import Any

from glyphscope.evals.scoring.outcome import MadeCall, RunReading


def subject(prompt: str, reading: RunReading, workspace: dict[str, Any] | None) -> dict[str, Any]:
    """`prompt`, `calls` (each with `tool`, `arguments`, and `ok` and `result` where it was executed), `answer` (the
    final text; None without one), `text` (what the model wrote last) and `workspace` (None without demo tools).
    """
    return {
        "prompt": prompt,
        "calls": [_call(call) for call in reading.calls],
        "answer": reading.said,
        "text": reading.last_text,
        "workspace": workspace,
    }


def _call(call: MadeCall) -> dict[str, Any]:
    made: dict[str, Any] = {"tool": call.made.tool, "arguments": call.made.arguments}
    if call.result is not None:
        made |= {"ok": call.result.ok, "result": call.result.told or call.result.message}
    return made
