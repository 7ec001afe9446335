"""Pictures from tools, which may have any content: decoded within limits, or the reason why not."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from glyphscope_gui.shared.language import tr

_FORMATS = (b"png", b"jpeg", b"gif", b"webp", b"bmp")
MAX_PIXELS = 50_000_000
"""Pixels of a decoded picture: a small file can expand to a large picture."""


def read_picture(data: bytes, room: QSize) -> tuple[QImage | None, str]:
    """The picture, no larger than `room`, and its size in words; or None, and why it cannot be shown."""
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    if bytes(reader.format().data()) not in _FORMATS:  # an SVG could refer to files of this computer
        return None, tr("Not an image in a supported format (PNG, JPEG, GIF, WebP, BMP).")
    size = reader.size()
    if not size.isValid():
        return None, tr("The image is corrupt.")
    if size.width() * size.height() > MAX_PIXELS:
        return None, tr(
            "The image has {width:,} × {height:,} pixels: too large to show.",
            width=size.width(),
            height=size.height(),
        )
    if size.width() > room.width() or size.height() > room.height():
        reader.setScaledSize(size.scaled(room, Qt.AspectRatioMode.KeepAspectRatio))
    image = reader.read()
    if image.isNull():
        return None, tr("The image cannot be read: {reason}.", reason=reader.errorString())
    return image, tr("{width:,} × {height:,} pixels", width=size.width(), height=size.height())
