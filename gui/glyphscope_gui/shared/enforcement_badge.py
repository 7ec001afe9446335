"""A pill beside a constraint: how it is enforced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.verdict import Pill

Enforcement: TypeAlias = Literal["enforced", "checked", "unsupported", "contradiction"]
EnforcementMap: TypeAlias = Mapping[tuple[str, str], Enforcement]
"""By tool and JSON Pointer into its parameters."""

_WORDS: dict[Enforcement, tuple[str, str, str]] = {
    "enforced": (
        tr("enforced"),
        "holds",
        tr("The grammar excludes every token that would violate this constraint."),
    ),
    "checked": (
        tr("checked after"),
        "open",
        tr("The grammar cannot enforce this; the validator checks it while the text is generated."),
    ),
    "contradiction": (
        tr("contradiction"),
        "impossible",
        tr(
            "Other constraints exclude it, partly or entirely: the grammar is built without the "
            "excluded values."
        ),
    ),
    "unsupported": (
        tr("not checked"),
        "impossible",
        tr("Neither the grammar nor the validator enforces this."),
    ),
}

_GAP = 6
"""Pixels to the field on the left: without a badge, the fields reach the edge."""


class EnforcementBadge(Pill):
    """Hidden until the constraint's enforcement is known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, gap=_GAP)

    def set_kind(self, kind: Enforcement | None) -> None:
        self.set_words(*(("", "open") if kind is None else _WORDS[kind]))
