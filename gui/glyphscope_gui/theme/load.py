"""A theme: roles over a few base colours, read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer

from glyphscope.base.resources import read_text

FOLDER = "themes"
_SCALES = (1, 2, 3)


@dataclass(frozen=True)
class Theme:
    """The colours of a theme. `roles` maps a role to #rrggbb; a missing role is a KeyError, never a guess."""

    name: str
    roles: Mapping[str, str]

    def color(self, role: str) -> QColor:
        """The colour of a role, such as `text-muted` or `impossible-soft`."""
        return QColor(self.roles[role])

    def svg(self, icon: str, role: str) -> bytes:
        """An icon as SVG in the colour of a role."""
        return _drawing(icon).replace("currentColor", self.roles[role]).encode()

    def pixmap(self, icon: str, role: str, size: int = 16, scale: float = 1) -> QPixmap:
        """An icon, `size` logical pixels wide, for a screen of that scale."""
        pixmap = QPixmap(round(size * scale), round(size * scale))
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        QSvgRenderer(QByteArray(self.svg(icon, role))).render(
            painter, QRectF(0, 0, pixmap.width(), pixmap.height())
        )
        painter.end()
        pixmap.setDevicePixelRatio(scale)
        return pixmap

    def icon(self, name: str, role: str = "text", size: int = 16) -> QIcon:
        icon = QIcon()
        for mode, colour in ((QIcon.Mode.Normal, role), (QIcon.Mode.Disabled, "text-disabled")):
            for scale in _SCALES:
                icon.addPixmap(self.pixmap(name, colour, size, scale), mode)
        return icon

    def palette(self) -> QPalette:
        """The palette for Qt's own drawing, in the theme's colours; the style sheet has those of disabled widgets."""
        palette = QPalette()
        role = QPalette.ColorRole
        for part, name in (
            (role.Window, "window"),
            (role.Base, "panel"),
            (role.AlternateBase, "panel"),
            (role.Button, "panel"),
            (role.ToolTipBase, "panel"),
            (role.WindowText, "text"),
            (role.Text, "text"),
            (role.ButtonText, "text"),
            (role.ToolTipText, "text"),
            (role.BrightText, "on-accent"),
            (role.PlaceholderText, "text-faint"),
            (role.Highlight, "accent"),
            (role.HighlightedText, "on-accent"),
            (role.Link, "accent"),
            (role.LinkVisited, "accent"),
            (role.Accent, "accent"),
            (role.Light, "panel"),
            (role.Midlight, "hover"),
            (role.Mid, "border"),
            (role.Dark, "border-strong"),
            (role.Shadow, "border-strong"),
        ):
            palette.setColor(part, self.color(name))
        return palette


@cache
def _drawing(icon: str) -> str:
    return read_text(f"icons/{icon}.svg")


@cache
def load_theme(name: str) -> Theme:
    """The theme of that name. Raises FileNotFoundError, and KeyError for a missing base colour."""
    document: dict[str, Any] = tomllib.loads(read_text(f"{FOLDER}/{name}.toml"))
    base = document["base"]
    roles = {
        role: value if value.startswith("#") else base[value] for role, value in document["roles"].items()
    }
    return Theme(name, roles)
