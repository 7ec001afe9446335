"""`glyphscope check --template X --readers`: who would read an answer, and where it left the form."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from glyphscope.cli.caret import marked
from glyphscope.cli.inputs import read_text
from glyphscope.cli.output import console, print_json
from glyphscope.cli.template_forms import read_template
from glyphscope.events import Thinking
from glyphscope.registry import ToolRegistry
from glyphscope.turns import form_of
from glyphscope.turns.readers import Reading, readings
from glyphscope.visible import visible

_STATES: dict[Thinking, bool | None] = {"on": True, "off": False, "auto": None}
_LONGEST = 60


def show_readers(
    template: str, file: str, registry: ToolRegistry, thinking: Thinking, *, as_json: bool
) -> bool:
    """Shows what each reader makes of the text in a file; whether the form's own strict reading takes it.

    Raises InputError and PromptError.
    """
    form, _ = form_of(read_template(template))
    text = read_text(file)
    found = readings(text, form, registry, _STATES[thinking])
    if as_json:
        print_json({"readers": found})
    else:
        _print(text, found)
    return found[0].reads


def _print(text: str, found: tuple[Reading, ...]) -> None:
    out = console()
    out.print(marked(text, found[0].left_at, out.width))
    table = Table(
        "reader", "accepts it", "calls", "deviates at", box=None, header_style="bold", pad_edge=False
    )
    shown = [each for each in found if each.reads or each.kind != "other"]
    for each in shown:
        words = "text" if not each.calls else "✓"
        mark = Text(words, style="green") if each.reads else Text("✗", style="red")
        table.add_row(Text(visible(each.reader)), mark, Text(call_words(each)), Text(left_words(each)))
    out.print(table)
    if rest := len(found) - len(shown):
        out.print(Text(f"{rest} other notations find no call in it.", style="dim"))


def call_words(reading: Reading) -> str:
    """The calls that were found, with a mark for those that are not valid."""
    names = [f"{visible(call.name)}{'' if call.valid else ' (not valid)'}" for call in reading.calls]
    more = f", … {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more if names else "none"


def left_words(reading: Reading) -> str:
    """Where and why the text left the form."""
    if reading.left_at is None:
        return "" if reading.complete else "incomplete"
    return f"character {reading.left_at}: {visible(reading.left_why)[:_LONGEST]}"
