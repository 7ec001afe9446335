"""The window's own texts in the user's language.

The source texts are English, and each text of the window goes through `tr`, which it also passes to the engine's
functions that put events in words (`glyphscope.text.translate`). Texts of the user, of a model and of the rest of the
engine (errors, reports, diagnostics) are shown unchanged. The language is chosen once, when this module is imported:
tables of texts in a module are translated when it is imported. docs/translations.md describes how to make a
translation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from glyphscope.resources import read_bytes
from glyphscope.sessions import places
from glyphscope.text.translate import english, english_form, filled
from glyphscope_gui.shared.qm_file import is_sound

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


_CATALOGUE = _chosen()
