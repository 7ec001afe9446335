"""The `.deb` of the frozen program: the installed files, and the required packages.

The program is in /usr/lib/glyphscope. No scripts run on installation or removal: menus, MIME types and icons are
registered by the triggers of the packages responsible for them, so removing the package leaves nothing behind.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from debian import package_of, system_libraries
from setup_env import ROOT, run, stop

HERE = Path(__file__).parent
METAINFO = "org.glyphscope.glyphscope.metainfo.xml"
# opened by name when the program runs, so not in any file's list of libraries
ALSO_NEEDED = ("libdbus-1-3",)
RECOMMENDED = (
    "desktop-file-utils",
    "fonts-inter",
    "fonts-jetbrains-mono",
    "fonts-noto-core",
    "hicolor-icon-theme",
    "shared-mime-info",
)
MAINTAINER = ("The authors of Glyphscope", "packages@glyphscope.invalid")
"""The default maintainer; set DEBFULLNAME and DEBEMAIL to build a package for others."""


def make_deb(program: Path, python: Path, version: str, build: Path, dist: Path) -> Path:
    """Write `dist/glyphscope_VERSION_ARCHITECTURE.deb`; `python` is the frozen one."""
    tree = build / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    old = os.umask(0o022)
    try:
        _lay_out(tree, program, python, version)
        depends = needed_packages(tree / "usr" / "lib" / "glyphscope", build)
        _write_control(tree, version, depends)
    finally:
        os.umask(old)
    deb = dist / f"glyphscope_{version}_{architecture()}.deb"
    dist.mkdir(exist_ok=True)
    # xz makes it 8 % smaller but takes ten times as long, mostly for a model that hardly shrinks
    run("dpkg-deb", "--root-owner-group", "-Zzstd", "-z12", "--build", tree, deb)
    return deb


def architecture() -> str:
    """Debian's name for this machine's architecture."""
    return _reported("dpkg", "--print-architecture")


def release_date() -> str:
    """SOURCE_DATE_EPOCH if it is set, otherwise the day of the last commit."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or _reported(
        "git", "-C", str(ROOT), "log", "-1", "--format=%ct"
    )
    return time.strftime("%Y-%m-%d", time.gmtime(int(seconds)))


def needed_packages(program: Path, build: Path) -> list[str]:
    """The packages that dpkg-shlibdeps finds for the program's files, and the packages of libraries opened by name."""
    work = build / "shlibdeps"
    (work / "debian").mkdir(parents=True, exist_ok=True)
    (work / "debian" / "control").write_text("Source: glyphscope\n\nPackage: glyphscope\nArchitecture: any\n")
    files = list(elf_files(program))
    own = sorted({str(file.parent) for file in files})
    # the program prefers its own copies, so their packages are not needed
    brought = sorted({package_of(library) for library in system_libraries(program)} - {""})
    command = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", *(f"-x{package}" for package in brought)]
    command += [f"-l{folder}" for folder in own]
    done = subprocess.run(
        [*command, *(f"-e{file}" for file in files)], cwd=work, capture_output=True, text=True, check=False
    )
    if done.returncode:
        stop(f"dpkg-shlibdeps does not find all that the program is linked with:\n{done.stderr[-3000:]}")
    found = done.stdout.partition("shlibs:Depends=")[2].strip().split(", ")
    return sorted({*found, *(each for each in ALSO_NEEDED if not any(f.startswith(each) for f in found))})


def elf_files(folder: Path) -> Iterator[Path]:
    """Programs and shared libraries, each once."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as opened:
                if opened.read(4) == b"\x7fELF":
                    yield file


def _lay_out(tree: Path, program: Path, python: Path, version: str) -> None:
    share = tree / "usr" / "share"
    shutil.copytree(program, tree / "usr" / "lib" / "glyphscope", symlinks=True)
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "bin" / "glyphscope").symlink_to("../lib/glyphscope/glyphscope")
    _copy(HERE / "linux" / "glyphscope.desktop", share / "applications" / "glyphscope.desktop")
    _copy(HERE / "linux" / "glyphscope.xml", share / "mime" / "packages" / "glyphscope.xml")
    metainfo = (HERE / "linux" / "glyphscope.metainfo.xml").read_text(encoding="utf-8")
    metainfo = metainfo.replace("@VERSION@", version).replace("@DATE@", release_date())
    _write(share / "metainfo" / METAINFO, metainfo.encode())
    run(python, HERE / "icons.py", share / "icons" / "hicolor", QT_QPA_PLATFORM="offscreen")
    page = subprocess.run([python, HERE / "man_page.py", version], capture_output=True, check=True).stdout
    _write(share / "man" / "man1" / "glyphscope.1.gz", gzip.compress(page, mtime=0))
    documents = share / "doc" / "glyphscope"
    overview = (program / "licences" / "OVERVIEW.txt").read_text(encoding="utf-8")
    text = f"{overview}\nThe texts are in /usr/lib/glyphscope/licences.\n"
    _write(documents / "copyright", text.encode())
    _write(documents / "changelog.gz", gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0))
    for path in tree.rglob("*"):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runs else 0o644)


def _write_control(tree: Path, version: str, depends: list[str]) -> None:
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in files) // 1024
    name = os.environ.get("DEBFULLNAME", MAINTAINER[0])
    address = os.environ.get("DEBEMAIL", MAINTAINER[1])
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files]
    control = [
        "Package: glyphscope",
        f"Version: {version}",
        f"Architecture: {architecture()}",
        f"Maintainer: {name} <{address}>",
        f"Installed-Size: {size}",
        f"Depends: {', '.join(depends)}",
        f"Recommends: {', '.join(RECOMMENDED)}",
        "Section: devel",
        "Priority: optional",
        "Description: inspect tool calls of local language models token by token",
        " Glyphscope runs a local language model and shows how it writes a tool call:",
        " what the model wanted at each token, what the grammar allowed, which argument",
        " broke which constraint and at which character, and what it cost.",
        " .",
        " A small model comes along. On x86-64, llama.cpp needs a processor with AVX2,",
        " FMA, F16C and BMI2.",
    ]
    _write(tree / "DEBIAN" / "control", ("\n".join(control) + "\n").encode())
    _write(tree / "DEBIAN" / "md5sums", "".join(sums).encode())


def _copy(source: Path, target: Path) -> None:
    _write(target, source.read_bytes())


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def _reported(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
