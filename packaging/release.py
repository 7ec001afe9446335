"""The release checklist, step by step: `make release`; `make release FROM=4` resumes at a step.

It publishes nothing: the last step prints the commands for that. Uses only the standard library.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version(root: Path = ROOT) -> str:
    """The version in `pyproject.toml`, which is the only place to change it, with CHANGELOG and CITATION."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def version_problems(root: Path = ROOT) -> list[str]:
    """Places where the version of `pyproject.toml` is missing or different; [] if all agree."""
    found, number = [], version(root)
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(number)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        found.append(f"CHANGELOG.md: there is no heading `## [{number}] - YYYY-MM-DD`")
    unreleased = re.search(r"^## \[Unreleased\]\s*(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if unreleased is None or unreleased[1].strip():
        found.append(f"CHANGELOG.md: move the entries of `## [Unreleased]` to {number}, and keep its heading")
    citation = re.search(
        r"^version: (.+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    if citation is None or citation[1].strip() != number:
        found.append(f"CITATION.cff: `version` is not {number}")
    return found


def tree_problems(root: Path = ROOT) -> list[str]:
    """The reasons against releasing this commit; [] for a clean tree without a tag of this version."""

    def git(*words: str) -> str:
        return subprocess.run(("git", *words), cwd=root, capture_output=True, text=True, check=True).stdout

    changed = git("status", "--porcelain").splitlines()
    found = [f"uncommitted: {line[3:]}" for line in changed]
    if git("tag", "--list", f"v{version(root)}").strip():
        found.append(f"the tag v{version(root)} exists: raise `version` in pyproject.toml")
    return found


def checked(look: Callable[[], list[str]]) -> Callable[[], bool]:
    """A step that prints the problems that it finds."""

    def step() -> bool:
        found = look()
        print("\n".join(f"  {line}" for line in found))
        return not found

    return step


def command(*words: str) -> Callable[[], bool]:
    """A step that is a command; it passes with exit code 0."""

    def step() -> bool:
        print(f"  $ {' '.join(words)}", flush=True)
        return subprocess.run(words, cwd=ROOT, check=False).returncode == 0

    return step


def asked(question: str) -> Callable[[], bool]:
    """A step that a person must confirm."""

    def step() -> bool:
        try:
            return input(f"  {question} [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:  # there is no one to ask
            return False

    return step


STEPS: Sequence[tuple[str, Callable[[], bool]]] = (
    ("the working tree is clean, the version is new", checked(tree_problems)),
    ("version and changelog agree", checked(version_problems)),
    ("all tests pass", command("make", "test")),
    ("the benchmarks meet their targets", command("make", "bench")),
    ("the documentation builds without warnings", command("make", "docs")),
    ("the pictures are made again", command("make", "screenshots")),
    (
        "the pictures are right",
        asked("`git diff --stat docs/images`: did you look at every changed picture?"),
    ),
    ("the wheel installs into an empty environment", command(sys.executable, "packaging/empty_env.py")),
    ("the package builds, installs and runs", command("make", "package")),
    (
        "a fresh clone runs",
        asked("`make run` in a fresh clone on another machine: does a run end in a valid call?"),
    ),
)


def main(start: int = 1) -> int:
    """Execute the steps from `start`; exit code 1 at the first that fails."""
    for number, (title, step) in enumerate(STEPS, 1):
        if number < start:
            continue
        print(f"{number}/{len(STEPS)} {title}", flush=True)
        if not step():
            print(f"Not ready: fix this, then resume with `make release FROM={number}`.")
            return 1
    print(f"Ready. Publish with:\n  git tag -s v{version()} -m 'Glyphscope {version()}'\n  git push --tags")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
