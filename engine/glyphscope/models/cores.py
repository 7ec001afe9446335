"""The processor, its cores, and the threads of each of several models that compute at the same time."""

from __future__ import annotations

import os
import platform
import re

import msgspec

from glyphscope.events import LoadOptions


def share_cores(options: LoadOptions, models: int) -> LoadOptions:
    """The options for each of several models that compute at once: an equal share of the cores, at least one.

    An explicit number of threads is unchanged.
    """
    if options.threads or models < 2:
        return options
    return msgspec.structs.replace(options, threads=max(1, physical_cores() // models))


def physical_cores() -> int:
    """The number of physical cores to compute with; hyper-threads of one core only compete with each other."""
    try:
        usable = os.sched_getaffinity(0)
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            cores = {core for cpu, core in _cores(file.read()) if cpu in usable}
    except (OSError, AttributeError):
        return max(1, (os.cpu_count() or 2) // 2)
    return len(cores) or len(usable)


def processor_name() -> str:
    """The processor's name, as the system reports it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*:\s*(.+)$", file.read(1 << 16), re.MULTILINE)
    except OSError:
        return platform.processor()
    return found.group(1).strip() if found else platform.processor()


def _cores(cpuinfo: str) -> list[tuple[int, tuple[str, str]]]:
    """Each logical processor with its package and core."""
    found = []
    for block in cpuinfo.split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in pairs}
        if "core id" in fields and fields.get("processor", "").isdigit():
            found.append((int(fields["processor"]), (fields.get("physical id", ""), fields["core id"])))
    return found
