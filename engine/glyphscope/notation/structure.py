"""The structural events of all readers, the same for every notation.

An event is the tuple `(kind, start, end, text)`: characters `start` to `end` (exclusive) of the document, counted in
Unicode code points from 0 across all that was fed. Readers emit an event as early as its character: the pieces of a
key, a string or a scalar come as they arrive, so that a validator can decide inside a value. Plain tuples, because a
reader makes one for every token that a model writes.
"""

from __future__ import annotations

from typing import TypeAlias

Structural: TypeAlias = tuple[int, int, int, str]

OBJECT_OPEN = 0
OBJECT_CLOSE = 1
ARRAY_OPEN = 2
ARRAY_CLOSE = 3
KEY_OPEN = 4  # text: '"' for a quoted key, "" for a bare one
KEY_TEXT = 5  # text: decoded characters; a run of plain characters, or exactly one that an escape wrote
KEY_END = 6  # start: the character that ended it (the quote, or what follows a bare key)
STRING_OPEN = 7
STRING_TEXT = 8
STRING_END = 9
SCALAR_TEXT = 10  # text: the next characters of a number, a literal or a bare word
SCALAR_END = 11  # start: the character that ended it; text: the whole scalar
ESCAPE_OPEN = 12  # a backslash: one more character of the string or key is certain to come
SEPARATOR = 13  # a comma after which another member or item must come (JSON)
HEAD_TEXT = 14  # the name before the brace in GLYPH's head form
HEAD_END = 15  # text: the whole name
DOCUMENT_END = 16
LEADING_TEXT = 17  # text before the call; the reader skips to the first brace
TRAILING_TEXT = 18
SYNTAX = 19  # text: what was wrong; the reader reads no further
TOO_DEEP = 20

# Strings without quotation marks, whose end is seen late (of readers of turns only):
PENDING_TEXT = 21  # text that looked like the string's end until the character `end` (exclusive)
RAW_END = 22  # the string ended before `start`; up to `end` (exclusive) is what shows it, which is `text`
QUOTE_END = 23  # the same with a closing quotation mark, which is part of the field
