"""A form for users: its slots with their values, each with the pairs of renderings from which it is known."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from glyphscope.turns.correcting import Row, corrections
from glyphscope.turns.form import STATES, ArgumentsForm, CallForm, Piece, TurnForm

ENCODINGS = {
    "json": "a JSON object",
    "tagged": "a tag for each argument",
    "pythonic": "Python's keyword arguments",
    "dict": "a dictionary with bare keys",
}
PROMPT_PARTS = {
    "opens": "the prompt opens it",
    "closes": "the prompt closes it",
    "leaves": "the model may open it",
}
_IDS = {
    "given": "as given in the history",
    "index": "a number that counts the calls",
    "functions": "made of the tool's name and a number",
}


class Slot(msgspec.Struct, frozen=True):
    """One part of a form. `value` is its text, with words in capital letters for the parts that differ between calls.

    `markers` are the fixed texts in it; `pairs` are keys of pairs (`turns.pairs`) that show it, `rows` the rows of the
    table of corrections that changed it. `note` describes the rest in words.
    """

    key: str
    title: str
    value: str
    note: str = ""
    markers: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


class ThinkingState(msgspec.Struct, frozen=True):
    """The end of a prompt with thinking on, off or undefined; `added` is the text after the header, part of the turn.

    `part`: its effect on reasoning, "" for a form without reasoning. `like` is an earlier state with the same end.
    """

    state: str
    prompt: str
    added: str
    part: str = ""
    like: str = ""


def thinking_states(form: TurnForm) -> tuple[ThinkingState, ...]:
    """The three states, in the order on, off, undefined."""
    out: list[ThinkingState] = []
    parts = form.reasoning.prompt if form.reasoning is not None else {}
    for state in STATES:
        added = form.begun.get(state, "")
        like = next((each.state for each in out if each.added == added), "")
        out.append(ThinkingState(state, form.header + added, added, parts.get(state, ""), like))
    return tuple(out)


def slots_of(form: TurnForm, shown: Collection[str]) -> tuple[Slot, ...]:
    """Every informative slot of a form, in the order in which a turn is written.

    `shown` are the keys of the pairs that show a difference; slots do not refer to other pairs.
    """
    return tuple(
        replace(slot, pairs=tuple(key for key in slot.pairs if key in shown)) for slot in _slots(form)
    )


def _slots(form: TurnForm) -> list[Slot]:
    out = [Slot("header", "Turn begins", form.header, markers=_marks(form.header), pairs=("call",))]
    if form.reasoning is not None:
        out.append(_reasoning(form))
    for wrap in form.wraps:
        value = f"{wrap.open}TEXT{wrap.close}"
        out.append(Slot("text", "Text", value, markers=_marks(wrap.open, wrap.close), pairs=("reasoning",),
                        rows=_rows(form, "wraps")))  # fmt: skip
    own = [call for call in form.calls if call.strict]
    if own:
        out += _call_slots(form, own[0])
    for call in own[1:]:
        only = f"for the tool {call.fixed_name} alone" if call.fixed_name else ""
        out.append(Slot("also", "Or", written(call), only, call_markers(call), rows=_rows(form, "calls")))
    if not own:
        out.append(Slot("calls", "Calls", "", "none: the template has no notation for them"))
    out.append(
        Slot("ends", "Turn ends", " or ".join(form.ends), "" if form.ends else "without its own marker",
             form.ends, ("call", "result"), _rows(form, "ends"))
    )  # fmt: skip
    described = (
        "by the template" if form.describes_tools else "none: the system prompt has to describe the tools"
    )
    out.append(Slot("tools", "Tool descriptions", "", described, pairs=("tools",)))
    return out


def written(form: CallForm) -> str:
    """A call with its section: fixed texts unchanged, words in capital letters for the rest."""
    one = "".join(_piece(piece, form) for piece in form.pieces)
    more = f"{form.separator}…" if form.separator or form.section_close else ""
    return f"{form.section_open}{one}{more}{form.section_close}"


def call_markers(form: CallForm) -> tuple[str, ...]:
    """The fixed texts of a call and of its arguments, in the order in which they are written."""
    before = [piece.text for piece in form.pieces if piece.kind == "text"]
    inside = [piece.text for piece in form.arguments.parameter if piece.kind == "text"]
    return _marks(
        form.section_open, *before[:1], *inside, form.arguments.quote, *before[1:], form.section_close
    )


def form_markers(form: TurnForm) -> tuple[str, ...]:
    """Every marker of a form once, in lines without surrounding white space."""
    calls = [text for call in form.calls if call.strict for text in call_markers(call)]
    texts = (*form.reasoning_markers, *form.wrap_markers, *calls, *form.ends)
    found = (line.strip() for text in texts for line in text.split("\n"))
    return tuple(dict.fromkeys(text for text in found if len(text) > 1))


def _marks(*texts: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _reasoning(form: TurnForm) -> Slot:
    reasoning = form.reasoning
    assert reasoning is not None
    if len(set(reasoning.prompt.values())) == 1:
        words = [PROMPT_PARTS[next(iter(reasoning.prompt.values()))]]
    else:
        words = [f"thinking {state}: {PROMPT_PARTS[part]}" for state, part in reasoning.prompt.items()]
    words += ["a call may end it"] if reasoning.call_ends else []
    return Slot(
        "reasoning",
        "Reasoning",
        f"{reasoning.open}REASONING{reasoning.close}",
        "; ".join(words),
        _marks(reasoning.open, reasoning.close),
        ("reasoning", "off", "undefined"),
        tuple(dict.fromkeys((*_rows(form, "reasoning"), *_rows(form, "call_ends")))),
    )


def _call_slots(form: TurnForm, call: CallForm) -> list[Slot]:
    """The first way of writing calls, as a whole and in parts."""
    changed = tuple(dict.fromkeys((*_rows(form, "call"), *_rows(form, "calls", only_first=True))))
    opens = call.opening
    closes = "".join(call.call_closes[:1]) + call.section_close
    arguments = call.arguments
    encoding = ENCODINGS[arguments.encoding] + (", as a JSON string" if arguments.as_string else "")
    out = [Slot("calls", "Calls", written(call), "", call_markers(call), ("call", "calls"), changed)]
    if opens:
        sections = _marks(call.section_open, call.call_opens[0])
        out.append(Slot("opens", "Call opens", opens, "", sections, ("call", "calls"), changed))
    out.append(Slot("name", "Name", _name(call), "", (), ("name",)))
    out.append(Slot("arguments", "Arguments", _parameters(call), encoding,
                    _marks(*(piece.text for piece in arguments.parameter)), ("arguments", "empty")))  # fmt: skip
    quoted = f"{arguments.quote}VALUE{arguments.quote}" if arguments.quote else ""
    typed = ("integer", "boolean", "array", "object")
    out.append(Slot("values", "Values", quoted, _values(arguments), _marks(arguments.quote), typed))
    if closes:
        out.append(Slot("closes", "Call closes", closes, "", _marks(closes), ("call", "calls"), changed))
    separator = call.separator if form.parallel else ""
    between = "" if separator else "nothing" if form.parallel else "one call a turn"
    out.append(Slot("between", "Between calls", separator, between, _marks(separator), ("calls",)))
    out.append(Slot("id", "Call id", "", _IDS.get(call.id, "none"), (), ("calls",)))
    beside = [
        words for words, allowed in (("before", form.text_before), ("after", form.text_after)) if allowed
    ]
    out.append(Slot("beside", "Text beside a call", "", " and ".join(beside) or "none", (), ("before",)))
    return out


def _name(call: CallForm) -> str:
    if call.object is not None:
        return f'"{call.object.name_key}": "NAME"' if call.object.name_key else '"NAME": …'
    places = [place for place, piece in enumerate(call.pieces) if piece.kind == "name"]
    if not places:
        return call.fixed_name
    before = call.pieces[places[0] - 1].text if places[0] else ""
    after = call.pieces[places[0] + 1].text if places[0] + 1 < len(call.pieces) else ""
    return f"{before.rpartition(chr(10))[2]}NAME{after}"


def _parameters(call: CallForm) -> str:
    if call.object is not None:
        return f'"{call.object.arguments_key}": ARGUMENTS' if call.object.name_key else "ARGUMENTS"
    return _pieces_of(call) if call.arguments.parameter else "ARGUMENTS"


def _values(arguments: ArgumentsForm) -> str:
    if arguments.encoding == "json":
        return "JSON"
    strings = "texts between marks" if arguments.quote else "texts raw"
    rest = "Python's literals" if arguments.literals == "python" else "JSON"
    nested = f"; lists as <{arguments.item}> tags" if arguments.item else ""
    typed = "; the type is written before the value" if arguments.typed else ""
    return f"{strings}, other values as {rest}{nested}{typed}"


def _piece(piece: Piece, form: CallForm) -> str:
    if piece.kind == "text":
        return piece.text
    if piece.kind == "object" and form.object is not None:
        keys = form.object
        if not keys.name_key:
            return '{"NAME": ARGUMENTS}'
        extra = f', "{keys.id_key}": ID' if keys.id_key else ""
        inner = f'{{"{keys.name_key}": "NAME", "{keys.arguments_key}": ARGUMENTS{extra}}}'
        return f'{{"{keys.wrapper}": {inner}}}' if keys.wrapper else inner
    if piece.kind == "arguments" and form.arguments.parameter:
        return _pieces_of(form)
    quote = form.arguments.quote if piece.kind == "value" else ""
    return f"{quote}{piece.kind.upper()}{quote}"


def _pieces_of(form: CallForm) -> str:
    one = "".join(_piece(each, form) for each in form.arguments.parameter)
    return f"{one}{form.arguments.separator}…"


def _rows(form: TurnForm, field: str, *, only_first: bool = False) -> tuple[str, ...]:
    """The rows that changed this part of the form; `only_first`: those that added its first way of writing calls."""
    table = {row.name: row for row in corrections()}
    names = [each.row for each in form.corrections if each.row in table]
    return tuple(name for name in names if _changes(table[name], field, form, only_first))


def _changes(row: Row, field: str, form: TurnForm, only_first: bool) -> bool:
    value = getattr(row, field)
    if field != "calls":
        return bool(value)
    strict = [call for call in value if call.strict]
    return (form.calls[0] in strict) if only_first and form.calls else bool(strict)
