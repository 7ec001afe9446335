"""A check of compiled translations (`.qm`): Qt reads them without bounds, and ends the process for a damaged one.

The format is that of Qt's `QTranslator`: a magic number, then blocks, each with a tag and its length. `Hashes` has the
places of the messages, each of which is a list of tagged texts. Numbers are big-endian.
"""

from __future__ import annotations

import struct

_MAGIC = bytes.fromhex("3cb86418caef9c95cd211cbf60a1bddd")
_HASHES, _MESSAGES = 0x42, 0x69
_KNOWN = {_HASHES, _MESSAGES, 0x88, 0xA7}
"""Also the rules of numbers, which Qt checks, and the language. The table of contexts is only in stripped files."""
_TRANSLATION, _OBSOLETE = 3, 5
_TEXTS = {6, 7, 8}
"""The source text, its context and its comment."""
_NUMBER = struct.Struct(">I")


def is_sound(data: bytes) -> bool:
    """Whether Qt can read the file, as far as its structure goes: each message is within the file."""
    try:
        blocks = _blocks(data)
        hashes, messages = blocks[_HASHES], blocks[_MESSAGES]
        places = {place for _, place in struct.iter_unpack(">II", hashes)}
        return all(_is_message(messages, place) for place in places)
    except (KeyError, ValueError, struct.error):
        return False


def _blocks(data: bytes) -> dict[int, bytes]:
    """The blocks by their tags. Raises ValueError."""
    if not data.startswith(_MAGIC):
        raise ValueError("not a file of translations")
    found: dict[int, bytes] = {}
    at = len(_MAGIC)
    while at < len(data):
        tag, (length,) = data[at], _NUMBER.unpack_from(data, at + 1)
        at += 5
        if tag not in _KNOWN or tag in found or not 0 < length <= len(data) - at:
            raise ValueError("an unknown or incomplete block")
        found[tag] = data[at : at + length]
        at += length
    return found


def _is_message(messages: bytes, at: int) -> bool:
    """Whether the texts from that place on are within the file, as far as Qt reads them. Raises struct.error."""
    while at < len(messages):
        tag = messages[at]
        at += 1
        if tag == _OBSOLETE:
            at += _NUMBER.size
            continue
        if tag != _TRANSLATION and tag not in _TEXTS:  # the end of the message, also for Qt
            return True
        (length,) = _NUMBER.unpack_from(messages, at)
        if tag == _TRANSLATION and length % 2:  # none: an empty one has the length 2^32 - 1
            return True
        at += _NUMBER.size + length
    return at == len(messages)
