"""`glyphscope eval profiles`: how tokens can be drawn."""

from __future__ import annotations

import msgspec
from rich.table import Table
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.evals.matrix.profiles import profiles as all_profiles


def profiles(as_json: JsonOption = False) -> None:
    """List the sampling profiles and the recommended settings of models, with their sources."""
    if as_json:
        print_json([msgspec.to_builtins(profile) for profile in all_profiles()])
        return
    table = Table("profile", "for", "sampling", "about", box=None, header_style="bold")
    for profile in all_profiles():
        table.add_row(profile.name, "", _members(profile.sampling), Text(profile.about))
        for family in profile.for_models:
            table.add_row("", " ".join(family.models), _members(family.sampling), Text(family.source, "dim"))
    console().print(table)


def _members(sampling: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sampling.items())
