"""The environment that is frozen: Glyphscope and its dependencies, without development tools."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from setup_env import EMBEDDED_MODEL, ROOT, SUPPORTED, llama_wheel, run, say

BUILD = ROOT / "build" / "package"
ENVIRONMENT = BUILD / "env"
EXTRAS = "gui,local,mcp,remote,capture,hub,lsp"


def build_python() -> str:
    """The system's Python if it is suitable, because no user's folder is compiled into it; otherwise this one.

    PyInstaller needs Python as a shared library (Debian's `libpython3.x`).
    """
    for major, minor in reversed(SUPPORTED):
        python = Path(f"/usr/bin/python{major}.{minor}")
        if python.exists() and _has_library(python):
            return str(python)
    return sys.executable


def site_packages(environment: Path = ENVIRONMENT) -> Path:
    """The folder of the environment's packages."""
    return next((environment / "lib").glob("python3.*/site-packages"))


def make_environment() -> Path:
    """Create `ENVIRONMENT` with Glyphscope from this checkout, a portable llama.cpp, the model, and PyInstaller."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "bin" / "pip").exists():
        say("making the environment that is frozen")
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        run(build_python(), "-m", "venv", ENVIRONMENT)
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--upgrade", "pip")
    llama, ours = llama_wheel(portable=True, python=python), checkout_wheel(python, BUILD / "wheel", "1")
    say("installing what is frozen")
    run(*pip, llama, f"glyphscope[{EXTRAS}] @ {ours.as_uri()}")
    # the same version may have different sources, so these two are always reinstalled
    run(*pip, "--no-deps", "--force-reinstall", ours, llama)
    run(*pip, "--no-deps", EMBEDDED_MODEL)
    run(*pip, "-r", ROOT / "packaging" / "requirements.txt")
    return python


def checkout_wheel(python: Path, folder: Path, compiled: str = "0") -> Path:
    """The wheel of this checkout, built in that folder, which is emptied; with "1" for this system only."""
    shutil.rmtree(folder, ignore_errors=True)
    run(
        python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT, GLYPHSCOPE_COMPILED=compiled
    )
    return next(folder.glob("glyphscope-*.whl"))


def _has_library(python: Path) -> bool:
    asked = "import ensurepip, sysconfig, ctypes; ctypes.CDLL(sysconfig.get_config_var('INSTSONAME'))"
    return subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode == 0
