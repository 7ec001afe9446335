"""The interface of a package whose modules are imported when one of their names is first used.

A process then imports no more than it uses, and the modules behind the names may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def interface(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `names` has the names that each of its modules defines, separated by spaces."""
    module_of = {name: module for module, listed in names.items() for name in listed.split()}

    def attribute(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return attribute
