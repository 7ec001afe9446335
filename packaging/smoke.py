"""Use the packaged program like a user: its command line, then its window on a virtual screen.

The program has no test hooks. This tests the frozen folder here, and the installed package in a root without Python
(`Place.root`). The window is tested in smoke_window.py.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from setup_env import say

PROMPT = "Search for AI news, 10 results"
CALL = '{action="search" query="AI news" max_results=10}'
USER = 1000
"""In a separate root, the program runs with this user id, which may write only to its home."""
_PATIENCE = 120.0  # seconds


class SmokeFailed(Exception):
    """The packaged program does not work."""


@dataclass(frozen=True)
class Place:
    """The place of the test: `program` is the program's path there, `root` the folder that is `/` there."""

    name: str
    program: str
    root: Path = Path("/")
    home: str = "/tmp/home"

    def command(self, *words: str, user: bool = True) -> list[str]:
        """The words as a command in this place."""
        if self.root == Path("/"):
            return list(words)
        as_user = [f"--userspec={USER}:{USER}"] if user else []
        # the mounts exist only for this command, and end with it
        script = 'mount -t proc proc "$0/proc" && exec chroot "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(self.root), *as_user, str(self.root), *words]

    def environment(self, **more: str) -> dict[str, str]:
        """An environment without PYTHONPATH, virtual environment or folders of this checkout."""
        known = {"HOME": self.home, "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"}
        return known | more

    def outside(self, path: str) -> Path:
        """A path in this place, as seen from outside."""
        return self.root / path.lstrip("/")


@dataclass(frozen=True)
class Line:
    """A command line, its exit code, and a word that its output must contain."""

    words: tuple[str, ...]
    has: str
    code: int = 0
    given: str = ""


def lines(place: Place) -> list[Line]:
    """Commands, each of which starts a different process of the program, or none."""
    return [
        Line(("--version",), "glyphscope "),
        Line(("check", "-"), "valid", given=CALL),
        Line(("check", "-"), "CONSTRAINT_MAX", code=1, given=CALL.replace("10", "500")),
        Line(("run", PROMPT, "--record", f"{place.home}/run.jsonl"), "search"),
        Line(("replay", f"{place.home}/run.jsonl", "--verify", "--speed", "0"), ""),
        Line(("bundle", f"{place.home}/run.jsonl", "-o", f"{place.home}/run.glyphrun"), ""),
        Line(("export", f"{place.home}/run.glyphrun", "--to", "pytest"), "def test_"),
        Line(("mcp", "list", "--", place.program, "mcp", "serve-verbs"), "conjugate"),
        Line(("mcp", "list", "--", place.program, "mcp", "serve"), "check_grammar"),
        Line(("grammar", "build", "--report"), "Glyphscope's grammar in llama.cpp"),
        Line(("models",), "embedded"),
        Line(("lesson", "list"), "name-first"),
        Line(("doctor",), "starts, and loads llama.cpp"),
    ]


def try_lines(place: Place) -> None:
    """Test the command lines. Raises SmokeFailed."""
    for line in lines(place):
        started = time.monotonic()
        done = subprocess.run(
            place.command(place.program, *line.words),
            input=line.given,
            env=place.environment(QT_QPA_PLATFORM="offscreen"),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        shown = f"glyphscope {' '.join(line.words)}"
        if done.returncode != line.code or line.has not in done.stdout:
            raise SmokeFailed(
                f"{place.name}: {shown} ended with {done.returncode}, not {line.code} with “{line.has}”:\n"
                f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
            )
        say(f"{place.name}: {shown}: {time.monotonic() - started:.1f} s")
