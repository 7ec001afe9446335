"""The notations of llama.cpp's chat templates, as an asset: python packaging/known_forms.py.

It writes assets/glyphscope_assets/forms/known.json from the templates that `make setup` keeps. It does not contain the
templates, only the forms derived from them, each under the beginning of its calls. `--table` writes
docs/native-templates.md instead: a row for each template, with its proof by 1,000 random turns (minutes).
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.events import pair_value
from glyphscope.models.inspection import Inspection, inspect_template, with_proof
from glyphscope.models.template_variables import TemplateVariable
from glyphscope.models.turn_forms import derived_form, open_template
from glyphscope.turns.foreign import KNOWN, KnownForm
from glyphscope.turns.form import STATES
from glyphscope.turns.readers import own_notation, same_calls
from glyphscope.turns.slots import written

ROOT = Path(__file__).parents[1]
ABOUT = (
    "Forms of turns derived from the chat templates that llama.cpp ships (models/templates), with the corrections of "
    "corrections.toml. A form is listed once, with the templates whose calls are written so. "
    "Made by packaging/known_forms.py."
)
MAX_LENGTH = 60
TURNS = 1000
HEAD = f"""# The chat templates that llama.cpp ships, and their forms

For each template: how a call begins, the encoding of its arguments, the reasoning markers with the prompt's part in
them (thinking on, off, undefined), and the proof: of {TURNS:,} random turns that the template rendered, how many were
read back equal, and how many of these without any departure from the form. The last column has the variables that
`--template-var` can set, with the values that change a prompt, and what the change needs; in brackets those that
change none of the tried conversations ([template variables](models.md#template-variables-and-reasoning-effort)).
`python packaging/known_forms.py --table` writes this page. The columns are explained in
[native forms](native-forms.md).

| template | call | arguments | reasoning | equal | strict | variables |
|---|---|---|---|---|---|---|
"""


def known_forms(folder: Path) -> list[KnownForm]:
    """A form for each way of writing calls among the templates in a folder."""
    found: list[KnownForm] = []
    for path in sorted((folder / "templates").glob("*.jinja")):
        try:
            form = own_notation(derived_form(open_template(path)))
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
    """The beginning of a call on one line; with the template's name if another form begins the same way."""
    line = " ".join(call.split())
    short = line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH]}…"
    return f"{short} ({source.stem})" if any(each.name == short for each in found) else short


def document(forms: list[KnownForm]) -> bytes:
    """The file's text."""
    data = msgspec.json.encode({"about": ABOUT, "forms": forms})
    return msgspec.json.format(data, indent=1) + b"\n"


def table(folder: Path) -> str:
    """The page of all templates in a folder."""
    rows = []
    for path in sorted((folder / "templates").glob("*.jinja")):
        template = open_template(path)
        rows.append(_row(path.stem, with_proof(inspect_template(template), template, TURNS)))
    return HEAD + "\n".join(rows) + "\n"


def _row(name: str, found: Inspection) -> str:
    form, proof = found.form, found.proof
    cells = [name, "none", "", "none", "", "", variables(found.variables)]
    if form.calls:
        cells[1:3] = [_code(written(form.calls[0])), form.calls[0].arguments.encoding]
        proved = proof["turns"] > 0
        cells[4] = f"{proof['equal']:,} of {proof['turns']:,}" if proved else "from the table of corrections"
        cells[5] = f"{proof['strict']:,}" if proved else ""
    if form.reasoning is not None:
        markers = f"{_code(form.reasoning.open)} {_code(form.reasoning.close)}"
        prompt = [form.reasoning.prompt.get(state, "leaves") for state in STATES]
        cells[3] = markers + f" ({'always ' + prompt[0] if len(set(prompt)) == 1 else ', '.join(prompt)})"
    return f"| {' | '.join(cells)} |"


def variables(found: Sequence[TemplateVariable]) -> str:
    """Each variable with its values that change a prompt; in brackets one that has none."""
    words = []
    for each in found:
        changes = [tried for tried in each.values if tried.changes]
        changing = [pair_value(tried.value) for tried in changes]
        needed = [tried.conversation.partition(",")[0] for tried in changes if not tried.in_runs]
        needed += [f"`{name}`" for tried in changes for name in tried.beside]
        simple = each.kind in ("switch", "choice", "number")
        values = f" {' '.join(changing)}" if simple else f" ({each.kind})"
        only = f" (only with {needed[0]})" if changes and len(needed) == len(changes) else ""
        words.append(f"`{each.name}`{values}{only}" if changing else f"[`{each.name}`]")
    return ", ".join(words)


def _code(text: str) -> str:
    line = "⏎".join(text.strip().splitlines())
    short = line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH]}…"
    return f"`{short}`".replace("|", "\\|")


if __name__ == "__main__":
    data = runpy.run_path(str(ROOT / "packaging" / "setup_env.py"))["llama_data"]()
    if "--table" in sys.argv[1:]:
        target = ROOT / "docs" / "native-templates.md"
        target.write_text(table(data), encoding="utf-8")
    else:
        target = ROOT / "assets" / "glyphscope_assets" / KNOWN
        target.write_bytes(document(known_forms(data)))
    print(target)
