"""A virtual screen (Xvfb), simulated key presses (xdotool), and screenshots without further programs."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smoke import Place

SIZE = (1440, 900)
_XWD_HEADER = struct.Struct(">25I")


@dataclass(frozen=True)
class Screen:
    """`display` is its name (`:7`), `buffer` the file in which the X server keeps its pixels."""

    place: Place
    display: str
    buffer: Path

    def window(self, title: str) -> str | None:
        """The number of the visible window whose title contains that word; None if there is none."""
        found = self._xdotool("search", "--onlyvisible", "--name", title).split()
        return found[0] if found else None

    def press(self, window: str, keys: str) -> None:
        """Send keys, by their xdotool names, to that window; without a window manager, it does not get the focus."""
        self._xdotool("windowfocus", "--sync", window)
        self._xdotool("key", "--clearmodifiers", keys)

    def picture(self, file: Path) -> None:
        """The screen's content as a PNG."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(png_of_xwd(self.buffer.read_bytes()))

    def _xdotool(self, *words: str) -> str:
        command = self.place.command("xdotool", *words)
        environment = self.place.environment(DISPLAY=self.display)
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout


@contextlib.contextmanager
def open_screen(place: Place) -> Iterator[Screen]:
    """A context with an X server in that place, which chooses its display number."""
    inside = tempfile.mkdtemp(prefix="glyphscope-screen-", dir=place.outside("/tmp"))
    folder = Path(inside)
    folder.chmod(0o777)
    reading, writing = os.pipe()
    named = f"/{folder.relative_to(place.root)}"
    size = f"{SIZE[0]}x{SIZE[1]}x24"
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", size, "-fbdir", named, "-nolisten", "tcp"]
    server = subprocess.Popen(
        place.command(*command), env=place.environment(), pass_fds=[writing], stderr=subprocess.DEVNULL
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise OSError(f"Xvfb does not start in {place.name}")
        yield Screen(place, f":{number}", folder / "Xvfb_screen0")
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def png_of_xwd(data: bytes) -> bytes:
    """Convert an X window dump with 32 bits per pixel, as written by Xvfb, to PNG. Raises ValueError for others."""
    header = _XWD_HEADER.unpack_from(data)
    size, width, height, big_endian, bits, line, colours = (header[i] for i in (0, 4, 5, 7, 11, 12, 19))
    if bits != 32 or big_endian:
        raise ValueError("not a dump of 32 bits a pixel, blue first")
    start = size + colours * 12
    rows = bytearray()
    for y in range(height):
        pixels = data[start + y * line : start + y * line + width * 4]
        row = bytearray(width * 3)
        row[0::3], row[1::3], row[2::3] = pixels[2::4], pixels[1::4], pixels[0::4]
        rows += b"\0" + row
    about = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", about), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
