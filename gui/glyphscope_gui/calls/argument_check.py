"""Checks the arguments of a call that waits for the user, again after each edit: by argument, and as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from glyphscope.registry import Tool
from glyphscope.registry.pointer import steps_of
from glyphscope.validation.value import ValueValidator
from glyphscope_gui.shared.language import tr


@dataclass(frozen=True)
class ArgumentCheck:
    """`by_name` has the first violation of each invalid argument, `whole` those that belong to no single argument."""

    by_name: Mapping[str, str] = field(default_factory=dict)
    whole: str = ""

    @property
    def ok(self) -> bool:
        return not self.by_name and not self.whole


def check_arguments(tool: Tool, arguments: dict[str, Any], *, closed: bool = True) -> ArgumentCheck:
    """The verdict on arguments that the user may have written. In any thread; never raises, for any arguments."""
    try:
        text = json.dumps(arguments, ensure_ascii=False)
        validator = ValueValidator(tool.parameters, closed=closed)
        validator.feed(text)
        validator.finish()
    except (RecursionError, ValueError) as error:
        return ArgumentCheck(whole=tr("The arguments cannot be checked: {error}", error=error))
    by_name: dict[str, str] = {}
    whole: list[str] = []
    for violation in validator.violations:
        name = (steps_of(violation.path) or ("",))[0]
        if name in arguments:
            by_name.setdefault(name, violation.message)
        else:
            whole.append(violation.message.replace("the value lacks", "The call lacks"))
    if not by_name and not whole and not validator.valid:
        whole.append(tr("The arguments are invalid."))
    return ArgumentCheck(by_name, " ".join(whole))
