"""Compiles `rows.c` of the engine while the program is installed from its source, for hatchling.

An editable installation tries it, and is complete without it. A wheel has it only with GLYPHSCOPE_COMPILED=1, and is
then for this system only; the published one is for all, and reads the rows with numpy.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("engine/glyphscope/models/decoding")
FLAGS = ("-O3", "-shared", "-fPIC", "-Wno-psabi")
MARCH = {"editable": "native", "standard": "x86-64-v3"}
"""The oldest x86-64 processor on which it runs: this one, or what llama.cpp in the packaged program needs too."""


class CompiledRows(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        asked = os.environ.get("GLYPHSCOPE_COMPILED", "1" if version == "editable" else "0") == "1"
        if self.target_name != "wheel" or not asked:
            return
        source, made = (Path(self.root) / FOLDER / name for name in ("rows.c", "rows-c.so"))
        march = [f"-march={MARCH[version]}"] if platform.machine().lower() in ("x86_64", "amd64") else []
        if (error := compile_rows(source, made, march)) is not None:
            self.app.display_warning(f"rows.c is not compiled ({error}): evidence is read with numpy")
        elif version != "editable":
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
            build_data["force_include"][str(made)] = "glyphscope/models/decoding/rows-c.so"


def compile_rows(source: Path, made: Path, flags: Sequence[str]) -> str | None:
    """Compile it. Returns why not."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return "there is no C compiler"
    part = made.with_suffix(".part")  # replaced at once: a running program has the old one open
    done = subprocess.run(
        [compiler, *FLAGS, *flags, "-o", part, source, "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        part.unlink(missing_ok=True)
        return (done.stderr.strip().splitlines() or ["the compiler failed"])[0]
    part.replace(made)
    return None
