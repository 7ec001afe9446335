"""Completion of the arguments of prompts and resource templates: `completion/complete`, and a bounded result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glyphscope.tools.mcp.offers import Offer

METHOD = "completion/complete"
FEATURE = "completions"
MOST_VALUES = 100
"""Of one answer, by the protocol; further ones are left out."""
_LONGEST = 2_000


@dataclass(frozen=True)
class Completion:
    """Values that the server proposes, the most relevant first. `total`: how many it has, if it says so; `has_more`:
    more than these. `problem`: why there are none.
    """

    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False
    problem: str = ""


def completion_params(
    offer: Offer, argument: str, value: str, others: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The request for values of `argument` that continue `value`; `others` are the arguments that are known."""
    kind, key = ("ref/prompt", "name") if offer.kind == "prompt" else ("ref/resource", "uri")
    params: dict[str, Any] = {
        "ref": {"type": kind, key: offer.address},
        "argument": {"name": argument, "value": value},
    }
    known = {name: text for name, text in (others or {}).items() if name != argument}
    return params | ({"context": {"arguments": known}} if known else {})


def read_completion(result: Any) -> Completion:
    """What is usable of the result; values that are not texts, or longer than 2,000 characters, are left out."""
    found = result.get("completion") if isinstance(result, dict) else None
    values = found.get("values") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(values, list):
        return Completion(problem="The result's `completion` has no list of values.")
    texts = [each for each in values if isinstance(each, str) and len(each) <= _LONGEST]
    total = found.get("total")
    known = total if isinstance(total, int) and not isinstance(total, bool) and 0 <= total < 2**53 else None
    shown = tuple(dict.fromkeys(texts))[:MOST_VALUES]
    more = found.get("hasMore") is True or len(texts) > MOST_VALUES or (known or 0) > len(texts)
    return Completion(shown, known, more)
