"""The structural events of all readers, the same for every notation.

An event is the tuple `(kind, start, end, text)`: characters `start` to `end` (exclusive) of the document, counted in
Unicode code points from 0 across all feeds. Readers emit an event as soon as its character is read: the pieces of a
key, a string or a scalar are passed on as they arrive, so that a validator can decide inside a value. Events are plain
tuples, because a reader makes one for every token that a model writes.
"""

from __future__ import annotations

from typing import TypeAlias

Structural: TypeAlias = tuple[int, int, int, str]

OBJECT_OPEN = 0
OBJECT_CLOSE = 1
ARRAY_OPEN = 2
ARRAY_CLOSE = 3
KEY_OPEN = 4  # text: '"' for a quoted key, "" for a bare one
KEY_TEXT = 5  # text: decoded characters: a run of plain ones, or exactly one from an escape
KEY_END = 6  # start: the character that ended it (the quote, or the one after a bare key)
STRING_OPEN = 7
STRING_TEXT = 8
STRING_END = 9
SCALAR_TEXT = 10  # text: the next characters of a number, literal or bare word; of one in one piece, optional
SCALAR_END = 11  # start: the character that ended it; text: the whole scalar, just before that character
ESCAPE_OPEN = 12  # a backslash: at least one more character of the string or key must follow
SEPARATOR = 13  # a comma after which another member or item must come (JSON)
HEAD_TEXT = 14  # the name before the brace in GLYPH's head form
HEAD_END = 15  # text: the whole name
DOCUMENT_END = 16
LEADING_TEXT = 17  # text before the call; the reader skips to the first brace
TRAILING_TEXT = 18
SYNTAX = 19  # text: the error; the reader stops
TOO_DEEP = 20

# Strings without quotation marks, whose end is recognised late (only in readers of turns):
PENDING_TEXT = 21  # text that looked like the string's end until the character `end` (exclusive)
RAW_END = 22  # the string ended before `start`, as `text`, up to `end` (exclusive), shows
QUOTE_END = 23  # like RAW_END, with a closing quotation mark, which belongs to the field
BARE_END = 24  # a text that began as a scalar, which no mark encloses, is complete; text: the whole of it
DEPARTURE = 25  # text: an error after which the reader continues
