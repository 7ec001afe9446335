"""A pseudo-language: every text of the window between ⟦ and ⟧, as pyside6-lupdate finds them."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import glyphscope
import glyphscope_gui

LANGUAGE = "qps"
WINDOW = Path(glyphscope_gui.__file__).parent
SOURCES = [
    *sorted(WINDOW.rglob("*.py")),
    *(
        p
        for p in sorted(Path(glyphscope.__file__).parent.rglob("*.py"))
        if "import Translate" in p.read_text("utf-8")
    ),
]
"""The files with calls of `tr`: those of the window, and those of the engine whose functions take one."""


def texts_found(folder: Path) -> tuple[Path, set[str]]:
    """Return the file of translations that pyside6-lupdate makes, in the folder, and all texts in it."""
    made, stated = folder / f"glyphscope_{LANGUAGE}.ts", folder / "setting_texts.py"
    stated.write_text("".join(f"tr({text!r})\n" for text in sorted(stated_texts())), "utf-8")
    _qt_tool("lupdate", *map(str, SOURCES), str(stated), "-ts", str(made))
    return made, {message.findtext("source", "") for message in ET.parse(made).iter("message")}


def stated_texts() -> set[str]:
    """Return the texts of the settings, as `make translation` lists them."""
    listed = runpy.run_path(str(Path(__file__).parents[2] / "packaging/setting_texts.py"))["texts"]
    return set(filter(None, listed()))


def texts_said() -> set[str]:
    """Return all first arguments of calls of `tr`, and the texts of settings; a failure names the place of an argument
    that is not a literal.
    """
    said = stated_texts()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tr":
                text = node.args[0]
                assert isinstance(text, ast.Constant), f"{path}:{node.lineno}"
                said.add(text.value)
    return said


def write_catalogue(folder: Path, home: Path) -> None:
    """Write the language to the place of a user's own translations."""
    made, _texts = texts_found(folder)
    place = home / "translations" / f"glyphscope_{LANGUAGE}.qm"
    place.parent.mkdir(parents=True)
    _translate(made, place)


def small_catalogue(folder: Path, texts: Sequence[str]) -> bytes:
    """Return the compiled pseudo-translation of these texts; those with `%n` have forms of numbers."""
    source, made = folder / "small.ts", folder / "small.qm"
    messages = "".join(
        f'<message numerus="yes"><source>{text}</source>'
        "<translation><numerusform/><numerusform/></translation></message>"
        if "%n" in text
        else f"<message><source>{text}</source><translation/></message>"
        for text in texts
    )
    source.write_text(f'<TS version="2.1" language="de"><context><name></name>{messages}</context></TS>')
    _translate(source, made)
    return made.read_bytes()


def _translate(made: Path, place: Path) -> None:
    """Write the pseudo-language to a file of translations, and compile it."""
    tree = ET.parse(made)
    for message in tree.iter("message"):
        source = message.findtext("source", "")
        translation = message.find("translation")
        translation.attrib.pop("type", None)
        forms = translation.findall("numerusform") or [translation]
        for form in forms:
            form.text = f"⟦{source.replace('(s)', 's')}⟧"
    tree.write(made, "utf-8", xml_declaration=True)
    _qt_tool("lrelease", str(made), "-qm", str(place))


def _qt_tool(name: str, *arguments: str) -> None:
    tool = Path(sys.executable).with_name(f"pyside6-{name}")
    done = subprocess.run([str(tool), *arguments], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
