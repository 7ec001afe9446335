"""Pictures of the window in a third of the room: 256 colours are enough for what has few, and text at its edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage

MOST = 256
_FREQUENT = 176
"""Of these the most frequent ones; the rest of the table is for what is rare and far from all of them."""


def save_small(image: QImage, path: Path) -> bool:
    """Writes it as PNG with a table of colours; the same picture gives the same bytes. Whether it could."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    height, width = image.height(), image.width()
    rows = np.frombuffer(image.constBits(), np.uint32).reshape(height, image.bytesPerLine() // 4)[:, :width]
    colours, place, counts = np.unique(rows, return_inverse=True, return_counts=True)
    table, index = _table(colours, counts)
    small = QImage(width, height, QImage.Format.Format_Indexed8)
    small.setColorTable([int(colour) for colour in colours[table]])
    bits = np.frombuffer(small.bits(), np.uint8).reshape(height, small.bytesPerLine())
    bits[:, :width] = index[place.reshape(height, width)]
    return small.save(str(path), quality=0)


def _table(colours: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of the chosen colours, and for each colour the number of the nearest one among them."""
    parts = np.stack([colours >> shift & 255 for shift in (16, 8, 0)], axis=1).astype(np.int32)
    chosen = list(np.argsort(-counts, kind="stable")[: _FREQUENT if len(colours) > MOST else MOST])
    distance = np.min([((parts - parts[each]) ** 2).sum(axis=1) for each in chosen], axis=0)
    while len(chosen) < min(MOST, len(colours)):
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((parts - parts[chosen[-1]]) ** 2).sum(axis=1))
    all_distances = np.stack([((parts - parts[each]) ** 2).sum(axis=1) for each in chosen])
    return np.array(chosen), all_distances.argmin(axis=0).astype(np.uint8)
