"""Make the program's icons from the logo, in the light theme's accent; run in the environment that is frozen."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from glyphscope.base import resources

SIZES = (16, 24, 32, 48, 64, 128, 256, 512)


def coloured_logo() -> str:
    """The logo as a standalone drawing; in the window, it has the colour of its surroundings."""
    theme = tomllib.loads(resources.read_text("themes/light.toml"))
    accent = theme["roles"]["accent"]
    return resources.read_text("icons/logo.svg").replace("currentColor", theme["base"].get(accent, accent))


def write_icons(hicolor: Path) -> None:
    """Write `hicolor/SIZE/apps/glyphscope.png`, and the drawing itself below `scalable`."""
    drawing = coloured_logo()
    renderer = QSvgRenderer(QByteArray(drawing.encode()))
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        file = hicolor / f"{size}x{size}" / "apps" / "glyphscope.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        if not image.save(str(file)):
            sys.exit(f"{file} cannot be written")
    scalable = hicolor / "scalable" / "apps" / "glyphscope.svg"
    scalable.parent.mkdir(parents=True, exist_ok=True)
    scalable.write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    application = QGuiApplication(["icons"])
    write_icons(Path(sys.argv[1]))
