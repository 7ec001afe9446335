"""The machine that something is measured on: what times depend on."""

from __future__ import annotations

import os
import platform
import re

from glyphscope.evals.results.manifest import Machine


def this_machine() -> Machine:
    """Empty members where the system does not tell."""
    return Machine(
        system=system_name(),
        processor=processor_name(),
        cores=os.cpu_count() or 0,
        memory=_memory(),
        python=platform.python_version(),
    )


def system_name() -> str:
    """The kernel with its release, and the kind of processor."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def processor_name() -> str:
    """The name that the system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*:\s*(.+)$", file.read(1 << 16), re.MULTILINE)
    except OSError:
        return platform.processor()
    return found.group(1).strip() if found else platform.processor()


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0
