"""The one style sheet, filled with a theme's colours and the present font."""

from __future__ import annotations

from pathlib import Path
from string import Template

from glyphscope.resources import read_text
from glyphscope_gui.theme.fonts import MIN_POINTS, mono_families, ui_font, window_points
from glyphscope_gui.theme.load import Theme
from glyphscope_gui.theme.sizes import times_of

_ICONS = {
    "chevron-down": ("chevron-down", "text-muted"),
    "chevron-down-off": ("chevron-down", "text-disabled"),
    "chevron-up": ("chevron-up", "text-muted"),
    "check": ("check", "accent"),
    "check-on": ("check", "on-accent"),
}
"""Style sheets take pictures only from files: these are written out in the theme's colours."""


def style_sheet(theme: Theme, icons: Path, points: float = 0) -> str:
    """The filled sheet, for letters of that size or the window's; `icons` is the folder of its pictures."""
    points = points or window_points()
    font = ui_font()
    font.setPointSizeF(points)
    drawn = {f"px{size}": f"{round(size * times_of(font))}px" for size in (9, 12, 14, 16, 20)}
    values = {role.replace("-", "_"): colour for role, colour in theme.roles.items()}
    return Template(read_text("themes/window.qss")).substitute(
        values,
        **drawn,
        small=f"font-size: {max(points - 1, MIN_POINTS):g}pt;",
        large=f"font-size: {points + 1:g}pt;",
        mono=f"font-family: {', '.join(map(repr, mono_families()))};",
        icons=icons.as_posix(),
    )


def write_icons(theme: Theme, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (icon, role) in _ICONS.items():
        (folder / f"{name}.svg").write_bytes(theme.svg(icon, role))
