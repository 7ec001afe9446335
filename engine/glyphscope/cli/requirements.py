"""What Glyphscope asks for of other packages: as its installation says, so that no second list has to be kept."""

from __future__ import annotations

import re
from importlib import metadata
from typing import NamedTuple

DISTRIBUTION = "glyphscope"
_LINE = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_BOUND = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([\w.]+)")
_ALL = "all"


class Requirement(NamedTuple):
    """`extra` is empty for what the engine needs. `least` is the first version that will do, `below` the first that
    will not; either may be empty."""

    package: str
    extra: str = ""
    least: str = ""
    below: str = ""

    @property
    def range(self) -> str:
        bounds = (f">={self.least}" if self.least else "", f"<{self.below}" if self.below else "")
        return ",".join(bound for bound in bounds if bound)

    def allows(self, version: str) -> bool:
        """Whether a version is within the range; one that cannot be read is."""
        found = _release(version)
        if not found:
            return True
        return not (
            (self.least and found < _release(self.least)) or (self.below and found >= _release(self.below))
        )


def requirements() -> list[Requirement]:
    """Those of the engine, then those of each extra; none where the program was installed without its description."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    read = [each for line in lines if (each := _read(line)) is not None]
    return sorted(read, key=lambda each: bool(each.extra))  # the rest as it stands


def _read(line: str) -> Requirement | None:
    match = _LINE.match(line)
    if match is None:
        return None
    package, bounds, marker = match[1], match[2], match[3] or ""
    extra = _EXTRA.search(marker)
    name = extra[1] if extra else ""
    if name == _ALL or package.lower() == DISTRIBUTION:
        return None
    told = dict(_BOUND.findall(bounds.strip("()")))
    return Requirement(package, name, told.get(">=", ""), told.get("<", ""))


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end; what comes after them does not count."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    numbers = [int(number) for number in match[1].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
