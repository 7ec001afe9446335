"""The window's own texts in the user's language.

The source texts are English, and each text of the window goes through `tr`, which it also passes to the engine's
functions that put events in words (`glyphscope.base.translate`). Texts of the user, of a model and of the rest of the
engine (errors, reports, diagnostics) are shown unchanged. The language is chosen once, when this module is imported:
tables of texts in a module are translated when it is imported. docs/translations.md describes how to make a
translation.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from glyphscope.base.resources import read_bytes
from glyphscope.base.translate import english, english_form, filled
from glyphscope.store import places

VARIABLE = "GLYPHSCOPE_LANGUAGE"
"""Names a language, such as `de` or `pt_BR`; otherwise the system's languages are used in order."""


class _Catalogue:
    """The texts of one language. Qt reads them in place, so their bytes are kept."""

    def __init__(self, language: str, data: bytes) -> None:
        self.language = language
        self._data = data
        self._translator = QTranslator()
        self.is_readable = is_sound(data) and self._translator.load(data)

    def text(self, text: str, comment: str, n: int) -> str:
        """The translation, or "" if there is none."""
        return self._translator.translate("", text, comment, n) or ""


def tr(text: str, comment: str = "", n: int = -1, /, **parts: object) -> str:
    """Return the text in the chosen language, with its parts inserted: `tr("{count} of {whole}", count=3, whole=4)`.

    `text` and `comment` must be literals for pyside6-lupdate to find them; `comment` helps translators. With `n`, a
    translation has a form for each grammatical number, and `n` replaces `%n`: `tr("%n tool(s)", "", 3)`; English has
    the `(s)`. A translation whose parts differ from those of the English text is not used. Invisible characters of a
    part are replaced by visible symbols (`visible`).
    """
    return _in_language(text, comment, n, parts)


def in_language(text: str, **parts: object) -> str:
    """`tr` for a text that is stated with a setting (`packaging/setting_texts.py` lists them for Qt's tools)."""
    return _in_language(text, "", -1, parts) if text else ""


def _in_language(text: str, comment: str, n: int, parts: dict[str, object]) -> str:
    translated = _CATALOGUE.text(text, comment, n) if _CATALOGUE else ""
    try:
        return filled(translated or english_form(text, n), n, parts)
    except (LookupError, ValueError, AttributeError, TypeError):
        return english(text, comment, n, **parts)


def translate_qt(app: QCoreApplication) -> None:
    """Load Qt's own words (buttons of dialogs, menus of fields) in the language of the window."""
    if _CATALOGUE is None:
        return
    translator = QTranslator(app)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(QLocale(_CATALOGUE.language), "qtbase", "_", folder):
        app.installTranslator(translator)


def _languages() -> Iterator[str]:
    """The preferred languages in order, each with its country and without: `pt_BR`, `pt`."""
    if asked := os.environ.get(VARIABLE):
        preferred = [asked]
    else:
        preferred = QLocale.system().uiLanguages()
    for language in preferred:
        name = language.replace("-", "_")
        yield name
        yield name.split("_")[0]


def _chosen() -> _Catalogue | None:
    """The first available language; None for English, or if none is available."""
    own = places().config / "translations"
    for language in _languages():
        if language in ("C", "en"):
            return None
        if not language.replace("_", "").isalnum():
            continue
        name = f"glyphscope_{language}.qm"
        for read in (
            lambda name=name: (own / name).read_bytes(),
            lambda name=name: read_bytes(f"translations/{name}"),
        ):
            try:
                catalogue = _Catalogue(language, read())
            except OSError:
                continue
            if catalogue.is_readable:
                return catalogue
    return None


# A check of compiled translations (`.qm`): Qt reads them without bounds, and ends the process for a damaged one. The
# format is that of Qt's `QTranslator`: a magic number, then blocks, each with a tag and its length. `Hashes` has the
# places of the messages, each of which is a list of tagged texts. Numbers are big-endian.

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


_CATALOGUE = _chosen()
