"""How much of a tool's schema the mask keeps, for the list of a server's tools."""

from __future__ import annotations

from glyphscope_gui.enforcement.model import EnforcementRow
from glyphscope_gui.servers.tool_model import EnforcementSummary
from glyphscope_gui.shared.language import tr

_STATES = {
    "enforced": tr("enforced: no call can violate it"),
    "checked": tr("checked by the validator while the call is generated"),
    "unsupported": tr("neither enforced nor checked"),
    "leaks": tr("leaks"),
    "unknown": tr("unknown: no text can demonstrate it"),
    "error": tr("no grammar could be built"),
}


def enforcement_words(rows: tuple[EnforcementRow, ...]) -> EnforcementSummary:
    """How much of a schema the mask keeps: in few words, and in full."""
    states = [row.cells["mask"].state for row in rows if "mask" in row.cells]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    total, enforced = len(states), counts.get("enforced", 0)
    if not total:
        return EnforcementSummary(tr("no constraints"), "open", tr("The schema has no constraints."))
    lines = [
        tr("{count} of {total}: {state}", count=counts[state], total=total, state=words)
        for state, words in _STATES.items()
        if state in counts
    ]
    tip = "\n".join(lines)
    if enforced == total:
        return EnforcementSummary(tr("{total} enforced", total=total), "holds", tip)
    bad = counts.get("unsupported", 0) + counts.get("leaks", 0) + counts.get("error", 0)
    return EnforcementSummary(
        tr("{enforced} of {total} enforced", enforced=enforced, total=total),
        "impossible" if bad else "open",
        tip,
    )
