"""`glyphscope check --template --readers`: which readers of turns accept one answer."""

from __future__ import annotations

from rich.text import Text

from glyphscope.cli.inputs import read_text
from glyphscope.cli.output import PlainTable, console, marked, print_json, print_text
from glyphscope.cli.template_forms import read_template
from glyphscope.events import Thinking
from glyphscope.registry import ToolRegistry
from glyphscope.text.shorten import shorten
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
    all_readings = readings(text, form, registry, _STATES[thinking])
    if as_json:
        print_json({"readers": all_readings})
    else:
        _print(text, all_readings)
    return all_readings[0].reads


def _print(text: str, all_readings: tuple[Reading, ...]) -> None:
    out = console()
    out.print(marked(text, all_readings[0].left_at, out.width))
    table = PlainTable("reader", "accepts it", "calls", "deviates at")
    shown = [each for each in all_readings if each.reads or each.kind != "other"]
    for each in shown:
        words = "text" if not each.calls else "✓"
        mark = Text(words, style="green") if each.reads else Text("✗", style="red")
        table.add_row(each.reader, mark, call_words(each), left_words(each))
    out.print(table)
    if rest := len(all_readings) - len(shown):
        print_text(f"{rest} other notations find no call in it.", "dim")


def call_words(reading: Reading) -> str:
    """The calls that were found, with a mark for those that are not valid."""
    names = [f"{visible(call.name)}{'' if call.valid else ' (not valid)'}" for call in reading.calls]
    more = f", … {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more if names else "none"


def left_words(reading: Reading) -> str:
    """Where and why the text left the form."""
    if reading.left_at is None:
        return "" if reading.complete else "incomplete"
    return f"character {reading.left_at}: {shorten(visible(reading.left_why), _LONGEST)}"
