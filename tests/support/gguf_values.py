"""Values of a GGUF file's metadata as bytes."""

import struct


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, value):
    if isinstance(value, str):
        return string(key) + struct.pack("<I", 8) + string(value)
    if isinstance(value, list):
        return string(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(string, value))
    if isinstance(value, float):
        return string(key) + struct.pack("<If", 6, value)
    return string(key) + struct.pack("<II", 4, value)
