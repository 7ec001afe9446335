"""The window's texts: translated by `tr`, all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication

import pseudo_language
from glyphscope_gui.shared import language
from glyphscope_gui.shared.language import tr


class Texts:
    """A catalogue for a test."""

    language = "de"

    def __init__(self, **texts):
        self.texts = texts

    def text(self, text, _comment, _n):
        return self.texts.get(text, "")


@pytest.fixture
def translated(monkeypatch):
    return lambda **texts: monkeypatch.setattr(language, "_CATALOGUE", Texts(**texts))


def test_english_texts_are_those_in_the_code():
    assert tr("Undo") == "Undo"
    assert tr("{action=search}") == "{action=search}"
    assert tr("{{{name}}} of {whole:,}", name="a", whole=4000) == "{a} of 4,000"
    assert [tr("%n tool(s) of {server}", "", n, server="x") for n in (0, 1, 2000)] == [
        "0 tools of x", "1 tool of x", "2,000 tools of x",
    ]  # fmt: skip


def test_a_translation_is_used_with_its_values(translated):
    translated(**{"{a} before {b}": "{b} nach {a}", "%n tool(s)": "%n outil(s)"})
    assert tr("{a} before {b}", a=1, b=2) == "2 nach 1"
    assert tr("%n tool(s)", "", 1234) == "1,234 outil(s)"
    assert tr("Undo") == "Undo"


@pytest.mark.parametrize("wrong", ["{name}", "{0}", "{count", "{count.x}", "{count:q}", "{count[0]}", "}"])
def test_a_translation_with_other_placeholders_is_ignored(translated, wrong):
    translated(**{"{count:,} left": wrong})
    assert tr("{count:,} left", count=5) == "5 left"


@pytest.mark.parametrize("name", ["qps", "qps_XX", "qps-XX"])
def test_an_invalid_or_missing_language_is_ignored(monkeypatch, own_home, name):
    place = own_home / "translations" / "glyphscope_qps.qm"
    place.parent.mkdir()
    place.write_bytes(b"no translations")
    monkeypatch.setenv(language.VARIABLE, name)
    assert language._chosen() is None
    place.unlink()
    assert language._chosen() is None
    monkeypatch.setenv(language.VARIABLE, "../../x")
    assert language._chosen() is None


def test_qt_speaks_the_language_of_the_window(qapp, translated):
    language.translate_qt(qapp)
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Cancel"
    translated()
    language.translate_qt(qapp)
    try:
        assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"
    finally:
        for translator in qapp.findChildren(language.QTranslator):
            qapp.removeTranslator(translator)
            translator.deleteLater()


@pytest.mark.slow
def test_every_text_of_the_window_is_found_by_the_tools(tmp_path):
    _made, found = pseudo_language.texts_found(tmp_path)
    assert pseudo_language.texts_said() == found


@pytest.mark.slow
def test_every_text_of_the_window_is_translated(tmp_path):
    pseudo_language.write_catalogue(tmp_path, tmp_path / "home")
    environment = {
        **os.environ,
        "GLYPHSCOPE_HOME": str(tmp_path / "home"),
        language.VARIABLE: pseudo_language.LANGUAGE,
    }
    walk = Path(__file__).with_name("pseudo_walk.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(walk)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout
