"""The folder in which evaluated prompts stay for the next test session (`every_process/saved_prompts.py`).

A prompt's state depends on more than the name of its file has: on llama.cpp's libraries, on the engine's code and on
the processor. They are the name of the folder. All checkouts have the folders in common, beside the built wheel of
llama.cpp: a new one would read all prompts again, which takes three minutes.
"""

from __future__ import annotations

import hashlib
import platform
import runpy
import time
from collections import defaultdict
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
MAX_BYTES = 3 << 30
"""When all folders take more, the files that were not used for longest are removed."""
ENGINE = ("llama_engine.py", "llama_sequence.py", "memory.py")
"""The modules of `engine/glyphscope/models` that open a context and evaluate in it. The tokens, their batches and the
options, which the other modules decide, are in the names of the files."""
_UNUSED = 24 * 60 * 60
"""Seconds after which an empty folder is no longer that of a session."""


def common_cache() -> Path:
    """The folder of all checkouts, in which the setup keeps llama.cpp too."""
    setup = runpy.run_path(str(REPOSITORY / "packaging" / "setup_env.py"))
    return Path(setup["cache_folder"]()) / "test-prompts"


def prompt_folder(cache: Path, most_bytes: int = MAX_BYTES) -> Path:
    """Make the folder in `cache`, where others may be in use by tests of other checkouts."""
    folder = cache / what_decides()
    folder.mkdir(parents=True, exist_ok=True)
    _remove_oldest(cache, most_bytes)
    for other in cache.iterdir():
        if other != folder and time.time() - other.stat().st_mtime > _UNUSED:
            with suppress(OSError):  # it has files
                other.rmdir()
    return folder


def what_decides() -> str:
    """Return a digest of everything that decides a prompt's state, except what the names of the files have."""
    models = REPOSITORY / "engine" / "glyphscope" / "models"
    digest = hashlib.sha256(_processor().encode())
    for path in (
        *(models / name for name in ENGINE),
        REPOSITORY / "tests" / "support" / "every_process" / "saved_prompts.py",
    ):
        digest.update(path.read_bytes())
    package = find_spec("llama_cpp")
    for root in package.submodule_search_locations or () if package else ():
        for path in sorted(Path(root).glob("lib/*")):
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return repr(platform.uname())
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def _remove_oldest(cache: Path, most_bytes: int) -> None:
    names: dict[tuple[float, int, int], list[Path]] = defaultdict(
        list
    )  # a file has a name for each of its prompts
    for path in cache.glob("*/*"):
        with suppress(FileNotFoundError):  # another session has just removed it
            state = path.stat()
            names[state.st_mtime, state.st_ino, state.st_size].append(path)
    left = sum(size for _, _, size in names)
    for used, number, size in sorted(names):
        if left <= most_bytes:
            return
        left -= size
        for path in names[used, number, size]:
            path.unlink(missing_ok=True)
