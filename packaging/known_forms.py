"""The notations of the chat templates that llama.cpp ships, as data of the assets: python packaging/known_forms.py.

It writes assets/glyphscope_assets/forms/known.json from the templates that `make setup` keeps. The templates are not
part of it: only the forms that were derived from them, each under the way in which its calls begin.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import msgspec

from glyphscope.cli.template_forms import read_template
from glyphscope.errors import PromptError
from glyphscope.turns import form_of
from glyphscope.turns.readers import KNOWN, KnownForm, own_notation, same_calls
from glyphscope.turns.slots import written

ROOT = Path(__file__).parents[1]
ABOUT = (
    "Forms of turns derived from the chat templates that llama.cpp ships (models/templates), with the corrections of "
    "corrections.toml. A form is listed once, with the templates whose calls are written so. "
    "Made by packaging/known_forms.py."
)
LONGEST = 60


def known_forms(folder: Path) -> list[KnownForm]:
    """A form for each way of writing calls among the templates in a folder."""
    found: list[KnownForm] = []
    for path in sorted((folder / "templates").glob("*.jinja")):
        try:
            form = own_notation(form_of(read_template(str(path)))[0])
        except PromptError:
            continue
        if not form.calls:
            continue
        place = next((n for n, each in enumerate(found) if same_calls(each.form, form)), None)
        if place is None:
            found.append(KnownForm(_name(written(form.calls[0]), path, found), (path.name,), form))
        else:
            known = found[place]
            found[place] = msgspec.structs.replace(known, sources=(*known.sources, path.name))
    return found


def _name(call: str, source: Path, found: list[KnownForm]) -> str:
    """How a call begins, on one line; with its template's name where another form begins so too."""
    line = " ".join(call.split())
    short = line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
    return f"{short} ({source.stem})" if any(each.name == short for each in found) else short


def document(forms: list[KnownForm]) -> bytes:
    """The file's text."""
    data = msgspec.json.encode({"about": ABOUT, "forms": forms})
    return msgspec.json.format(data, indent=1) + b"\n"


if __name__ == "__main__":
    setup = runpy.run_path(str(ROOT / "packaging" / "setup_env.py"))
    target = ROOT / "assets" / "glyphscope_assets" / KNOWN
    target.write_bytes(document(known_forms(setup["llama_data"]())))
    print(target)
