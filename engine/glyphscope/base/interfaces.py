"""The interface of a package whose modules are imported when one of their names is first used.

A process then imports no more than it uses, and the modules behind the names may change.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def interface(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that gives what its `if TYPE_CHECKING` block imports from its modules.

    That block is compiled as other code is, and never run: the names are read from it, so that they are stated once.
    """
    code = sys._getframe(1).f_code

    @cache
    def module_of() -> dict[str, str]:
        found, module = {}, ""
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                module = step.argval
            elif step.opname == "IMPORT_FROM" and module.startswith(f"{package}."):
                found[step.argval] = module
        return found

    def attribute(name: str) -> Any:
        if name not in module_of():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(module_of()[name]), name)

    return attribute
