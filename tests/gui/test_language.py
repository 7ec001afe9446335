"""The window's texts: translated by `tr`, all of them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication

import pseudo_language
from glyphscope_gui.shared import language
from glyphscope_gui.shared.language import is_sound, tr


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


TEXTS = ("Undo", "Redo", "%n tool(s)", "A longer text of several words")
READ = """
import sys
from pathlib import Path
from PySide6.QtCore import QTranslator
for path in sorted(Path(sys.argv[1]).glob("*.mutant")):
    translator, data = QTranslator(), path.read_bytes()
    if translator.load(data):
        for text in sys.argv[2:]:
            translator.translate("", text, "", 3)
    print(path.name, flush=True)
"""


@pytest.mark.slow
def test_no_damaged_translation_ends_the_process(tmp_path):
    whole = pseudo_language.small_catalogue(tmp_path, TEXTS)
    assert is_sound(whole)
    chance, kept = random.Random(0), 0
    for number in range(2000):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 5))):
            at = chance.randrange(16, len(data))
            data[at] = chance.choice((0, 1, 3, 0x7F, 0xFF, chance.randrange(256)))
        if chance.randrange(9) == 0:
            del data[chance.randrange(len(data)) :]
        if is_sound(bytes(data)):
            kept += 1
            (tmp_path / f"{number}.mutant").write_bytes(data)
    command = [sys.executable, "-c", READ, str(tmp_path), *TEXTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout.splitlines()[-1:]
    assert len(done.stdout.splitlines()) == kept > 200


def damaged(whole: bytes) -> dict[str, bytes]:
    """Damages of each kind that ended the process in Qt."""
    at = whole.index(b"\x03", whole.index(b"\x69") + 5)
    return {
        "a text beyond the end": whole[: at + 1] + b"\x7f\xff\xff\xfe" + whole[at + 5 :],
        "a length below zero": whole[: at + 1] + b"\xff\xff\xff\xfa" + whole[at + 5 :],
        "a message beyond the end": whole.replace(whole[25:29], b"\x7f\xff\xff\x00", 1),
        "half of it": whole[: len(whole) // 2],
        "no messages": whole[:16],
    }


@pytest.mark.slow
def test_a_damaged_translation_is_not_used(monkeypatch, own_home, tmp_path):
    whole = pseudo_language.small_catalogue(tmp_path, TEXTS)
    place = own_home / "translations" / "glyphscope_qps.qm"
    place.parent.mkdir()
    monkeypatch.setenv(language.VARIABLE, "qps")
    place.write_bytes(whole)
    chosen = language._chosen()
    assert chosen is not None and chosen.text("Undo", "", -1) == "⟦Undo⟧"
    for kind, data in damaged(whole).items():
        place.write_bytes(data)
        assert language._chosen() is None, kind


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
    assert done.returncode == 0, done.stdout + done.stderr
