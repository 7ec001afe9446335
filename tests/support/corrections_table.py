"""Writes the correction table into docs/native-forms.md: python tests/support/corrections_table.py."""

from __future__ import annotations

from pathlib import Path

import msgspec

from glyphscope.turns import corrections

PAGE = Path(__file__).parents[2] / "docs" / "native-forms.md"
SLOTS = ("call", "calls", "reasoning", "call_ends", "again", "wraps", "skips", "strays", "ends")
BEGIN, END = "## The correction table\n", "## Limits\n"


def table() -> str:
    """Return the rows as a Markdown table: name, condition, changes, reason, source."""
    lines = [
        "| row | applies when | changes | reason | source |",
        "|-----|--------------|---------|--------|--------|",
    ]
    for row in corrections():
        when = msgspec.to_builtins(row.when)
        given = {key: value for key, value in when.items() if value not in (None, "", [], ())}
        words = "; ".join(f"{key} {_words(value)}" for key, value in given.items()) or "always"
        changes = ", ".join(slot for slot in SLOTS if getattr(row, slot))
        lines.append(
            f"| {row.name} | {_cell(words)} | {changes} | {_cell(row.reason)} | {_cell(row.source)} |"
        )
    return "\n".join(lines)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    items = value if isinstance(value, list | tuple) else [value]
    return ", ".join(f"`{item}`" for item in items)


def _cell(text: str) -> str:
    return text.replace("\n", "⏎").replace("|", "\\|")


def page() -> str:
    """Return the page with the current table."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(BEGIN) + len(BEGIN)
    intro = text[start:].lstrip().split("\n\n")[0]
    return f"{text[:start]}\n{intro}\n\n{table()}\n\n{text[text.index(END) :]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
