"""The constraints of the tools that a custom grammar enforces, by test: the proofs' examples, Glyphscope's matcher.

Only the grammar's text counts here. The validator may still report a violation that the grammar allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from glyphscope.errors import GlyphscopeError
from glyphscope.events import Notation, Shape
from glyphscope.grammar.match.earley import Limits
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.grammar.tree import Grammar
from glyphscope.proof.boundary import boundary_examples
from glyphscope.proof.renderings import as_written, texts
from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.enforcement.model import CUSTOM, Cell, EnforcementRow
from glyphscope_gui.enforcement.rows import constraint_row_words, leaking_value
from glyphscope_gui.shared.language import tr

MAX_TEXTS = 5_000
"""Texts that are matched for one answer; more would delay the next."""
LIMITS = Limits(items=20_000)
"""Limit for each text: calls are short."""


def custom_grammar_rows(
    grammar: Grammar, registry: ToolRegistry, notation: Notation, shape: Shape, cancelled: Callable[[], bool]
) -> tuple[EnforcementRow, ...]:
    """A row for each constraint of the tools that the grammar can call; none if it cannot call any."""
    start = compile_grammar(grammar).start(LIMITS)
    texts_left = MAX_TEXTS

    def accepted(text: str) -> bool:
        nonlocal texts_left
        texts_left -= 1
        try:
            return start.feed(text).accepted
        except GlyphscopeError:
            return False

    rows: list[EnforcementRow] = []
    for tool in registry.allowed:
        if cancelled() or texts_left <= 0:
            break
        rows += _tool_rows(registry, tool, notation, shape, accepted)
    return tuple(rows)


def _tool_rows(
    registry: ToolRegistry, tool: Tool, notation: Notation, shape: Shape, accepted: Callable[[str], bool]
) -> list[EnforcementRow]:
    found = boundary_examples(tool, closed=registry.unknown_arguments == "refuse")
    cells: dict[tuple[str, str], Cell] = {}
    callable_at_all = False
    for example in found.examples:
        key = (example.pointer, example.keyword)
        broken = _written(tool, example.arguments, example.path, notation, shape)
        valid = _written(tool, example.valid, example.path, notation, shape)
        if not broken or not valid:
            continue
        right = accepted(valid[0])
        callable_at_all = callable_at_all or right
        leak = next((text for text in broken if accepted(text)), None)
        before = cells.get(key)
        if before is not None and before.state == "leaks":
            continue  # the first example is the nearest
        if leak is not None:
            value = leaking_value(leak, example.pointer, notation)
            cells[key] = Cell(
                "leaks", value, tr("Accepted: {call}\n{violation}", call=leak, violation=example.what)
            )
        elif right and (before is None or before.state == "unknown"):
            cells[key] = Cell("enforced", "", tr("Rejected every violating text and accepted a valid one."))
        elif before is None:
            cells[key] = Cell(
                "unknown", "", tr("The grammar also rejects a valid call: {call}", call=valid[0])
            )
    if not callable_at_all:
        return []
    return [
        EnforcementRow(
            tool.name,
            pointer,
            keyword,
            constraint_row_words(registry, tool.name, pointer, keyword),
            {CUSTOM: cell},
        )
        for (pointer, keyword), cell in cells.items()
    ]


def _written(
    tool: Tool, arguments: object, path: object, notation: Notation, shape: Shape
) -> tuple[str, ...]:
    made: Iterator[str] = texts(tool.name, arguments, path, notation, shape, as_written)  # type: ignore[arg-type]
    return tuple(dict.fromkeys(made))
