"""Requests of an agent to its server, captured on the way: each is forwarded unchanged and recorded as a run.

`proxy.py` forwards and writes each exchange to a file while it comes (`exchange.py`); a process beside it makes the
records of runs of these files (`recording.py`), so that no judgement delays an answer, and a killed capture loses
nothing.
Only `glyphscope capture` imports the server's library.
"""

from __future__ import annotations

from importlib.util import find_spec

from glyphscope.base.errors import ModelError

_PACKAGES = ("anyio", "httpx2", "starlette", "uvicorn")
"""Imported by the other modules: whoever asks for a capture asks for these first."""


def require_packages() -> None:
    """Raises ModelError if the packages of a capture are not installed."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ModelError(
            f"A capture needs {', '.join(missing)}.",
            hint="Install it: pip install 'glyphscope[capture,remote]'.",
        )
