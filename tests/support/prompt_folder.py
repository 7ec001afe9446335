"""The folder in which evaluated prompts stay for the next test session (`every_process/saved_prompts.py`).

A prompt's state depends on more than the name of its file has: on llama.cpp's libraries, on the engine's code and on
the processor. They are the name of the folder, and other folders are removed.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
MAX_BYTES = 3 << 30
"""When they take more, those that were not used for longest are removed."""


def prompt_folder(cache: Path, most_bytes: int = MAX_BYTES) -> Path:
    """Make the folder in `cache`, and remove everything else there."""
    folder = cache / what_decides()
    for other in cache.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    _remove_oldest(folder, most_bytes)
    return folder


def what_decides() -> str:
    """Return a digest of everything that decides a prompt's state, except what the names of the files have."""
    code = sorted((REPOSITORY / "engine" / "glyphscope" / "models").glob("*.py"))
    digest = hashlib.sha256(_processor().encode())
    for path in (*code, REPOSITORY / "tests" / "support" / "every_process" / "saved_prompts.py"):
        digest.update(path.read_bytes())
    package = find_spec("llama_cpp")
    for root in package.submodule_search_locations or () if package else ():
        for path in sorted(Path(root).glob("lib/*")):
            digest.update(repr((path.name, path.stat().st_size, path.stat().st_mtime_ns)).encode())
    return digest.hexdigest()[:16]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return repr(platform.uname())
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def _remove_oldest(folder: Path, most_bytes: int) -> None:
    names: dict[tuple[float, int, int], list[Path]] = defaultdict(
        list
    )  # a file has a name for each of its prompts
    for path in folder.iterdir():
        state = path.stat()
        names[state.st_mtime, state.st_ino, state.st_size].append(path)
    left = sum(size for _, _, size in names)
    for used, number, size in sorted(names):
        if left <= most_bytes:
            return
        left -= size
        for path in names[used, number, size]:
            path.unlink(missing_ok=True)
