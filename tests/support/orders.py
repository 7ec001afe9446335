"""The members of objects in other orders."""

from __future__ import annotations

import random
from typing import Any


def in_some_order(value: Any, chance: random.Random) -> Any:
    """The value with the members of each object shuffled."""
    if isinstance(value, list):
        return [in_some_order(item, chance) for item in value]
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: in_some_order(value[name], chance) for name in names}
    return value
