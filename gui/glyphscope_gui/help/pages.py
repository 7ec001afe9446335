"""The pages of the guide: those of docs/, which are bundled."""

from __future__ import annotations

import re
from collections.abc import Sequence

from glyphscope.resources import read_page
from glyphscope_gui.help.commands import Command
from glyphscope_gui.shared.language import tr

SHORTCUTS = "shortcuts"
"""The page that is made of the menus."""
PAGES = (
    ("guide.md", tr("User guide")),
    (SHORTCUTS, tr("Keyboard shortcuts")),
    ("glossary.md", tr("Glossary")),
    ("strategies.md", tr("Strategies")),
    ("sampling.md", tr("Sampling")),
    ("schemas.md", tr("JSON Schema")),
    ("prompts.md", tr("Prompts")),
    ("native-forms.md", tr("Native forms")),
    ("branches.md", tr("Branches")),
    ("explaining.md", tr("Explaining a run")),
    ("grammar-diagnostics.md", tr("Grammar diagnostics")),
    ("mcp.md", tr("MCP servers")),
    ("models.md", tr("Models")),
    ("endpoints.md", tr("Endpoints")),
    ("evaluation.md", tr("Evaluation")),
    ("suites.md", tr("Suites")),
    ("lessons.md", tr("Lessons")),
    ("bundles.md", tr("Bundles")),
    ("settings.md", tr("Settings")),
    ("commands.md", tr("Command line")),
    ("python.md", tr("Python interface")),
    ("formats.md", tr("File formats")),
    ("events.md", tr("Events")),
)
_ROW = "| {command} | {keys} |"


def page_text(name: str, commands: Sequence[Command]) -> str:
    """Its Markdown. Raises FileNotFoundError for a page that there is not."""
    return _shortcuts(commands) if name == SHORTCUTS else read_page(name)


def slug_of(title: str) -> str:
    """As on the web pages of repositories: small letters, hyphens for blanks, no other signs."""
    return re.sub(r"[^\w\- ]", "", title.casefold()).strip().replace(" ", "-")


def _shortcuts(commands: Sequence[Command]) -> str:
    """All keys of the menus, a table for each menu; then those of the parts of pages, from the guide."""
    lines = ["# " + tr("Keyboard shortcuts")]
    menu = ""
    for command in commands:
        if not command.keys:
            continue
        if command.path[0] != menu:
            menu = command.path[0]
            lines += ["", f"## {menu}", "", _ROW.format(command=tr("command"), keys=tr("keys")), "|---|---|"]
        name = " › ".join(command.path[1:])
        lines.append(_ROW.format(command=name, keys=f"`{command.keys}`"))
    parts = [row for row in read_page("guide.md").partition("## Keyboard")[2].splitlines() if _is_part(row)]
    lines += ["", "## " + tr("In parts of pages"), "", _ROW.format(command=tr("keys"), keys=tr("action"))]
    return "\n".join([*lines, "|---|---|", *parts])


def _is_part(row: str) -> bool:
    return re.match(r"\| [A-Z][\w, ]+: ", row) is not None
