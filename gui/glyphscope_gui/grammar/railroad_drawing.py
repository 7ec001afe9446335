"""A rule's railroad diagram as SVG in the theme's colours, with the places of its boxes.

It is bounded, so that no rule is too large to draw: parts beyond the bounds are drawn as `…`, whose tip describes them.
Long sequences continue in another row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import railroad

from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.grammar.chars import ALL, Ranges, complement, subtract, union
from glyphscope.grammar.gbnf.parse import syntax
from glyphscope.grammar.match.words import class_words
from glyphscope_gui.shared.language import tr

MARGIN = 10
ROLES = {
    "text": ("holds-soft", "holds-line", "text"),
    "class": ("open-soft", "open-line", "text"),
    "rule": ("panel", "border-strong", "accent"),
    "more": ("hover", "border-strong", "text-muted"),
}
"""By kind of box, the colours of its background, line and words."""


class RailroadBox(NamedTuple):
    """A box of the diagram, in the diagram's pixels; `rule` is the target of a click, "" for none."""

    x: float
    y: float
    width: float
    height: float
    words: str
    rule: str
    tip: str


class RailroadDrawing(NamedTuple):
    """`left_out` is the number of pieces that were too many to draw."""

    rule: str
    svg: bytes
    width: float
    height: float
    boxes: tuple[RailroadBox, ...]
    left_out: int


class _Start(railroad.Start):  # type: ignore[misc]
    def format(self, x: float, y: float, width: float) -> _Start:
        railroad.Path(x, y).right(self.width).addTo(self)
        return self


class _End(railroad.End):  # type: ignore[misc]
    def format(self, x: float, y: float, width: float) -> _End:
        self.attrs["d"] = f"M {x} {y} h 20"
        return self


def draw_rule(rule: syntax.RuleSyntax, colors: Mapping[str, str], family: str) -> RailroadDrawing:
    """Draw a rule. `colors` are the theme's by role, `family` the fixed-pitch font's name."""
    items = RailroadItems()
    diagram = railroad.Diagram(_Start(), items.make(rule.body), _End())
    diagram.format(MARGIN)
    boxes: list[RailroadBox] = []
    _dress(diagram, colors, family, boxes)
    boxes.sort(key=lambda box: (box.y, box.x))  # in reading order, for the arrow keys
    parts: list[str] = []
    diagram.attrs["xmlns"] = "http://www.w3.org/2000/svg"
    diagram.writeSvg(parts.append)
    return RailroadDrawing(
        rule.name,
        "".join(parts).encode("utf-8", "replace"),
        float(diagram.attrs["width"]),
        float(diagram.attrs["height"]),
        tuple(boxes),
        items.left_out,
    )


def _dress(diagram: Any, colors: Mapping[str, str], family: str, boxes: list[RailroadBox]) -> None:
    """Set colours as attributes, as Qt supports style sheets inside SVG only in part."""
    waiting: list[tuple[Any, Any]] = [(diagram, None)]
    while waiting:
        item, owner = waiting.pop()
        if isinstance(item, railroad.Path) or getattr(item, "name", "") == "path":
            item.attrs.update({"fill": "none", "stroke": colors["text-muted"], "stroke-width": "1.6"})
            continue
        if not isinstance(item, railroad.DiagramItem):
            continue
        kind = owner.kind if isinstance(owner, (RailroadPiece, Link)) else ""
        if item.name == "rect":
            _dress_box(item, owner, kind, colors, boxes)
        elif item.name == "text":
            color = colors[ROLES[kind][2]] if kind else colors["text-muted"]
            item.attrs.update(
                {
                    "fill": color,
                    "font-family": family,
                    "font-size": "13" if kind else "11",
                    "text-anchor": "middle",
                    "xml:space": "preserve",
                }
            )
        inner = (
            item
            if isinstance(item, (RailroadPiece, Link))
            else (owner if item.name in ("rect", "text") else None)
        )
        waiting += [(child, inner) for child in item.children]


def _dress_box(rect: Any, owner: Any, kind: str, colors: Mapping[str, str], boxes: list[RailroadBox]) -> None:
    if not kind:  # the frame of a group
        rect.attrs.update({"fill": "none", "stroke": colors["border-strong"], "stroke-dasharray": "4 3"})
        return
    ground, line, _ = ROLES[kind]
    round_ = "4" if kind == "rule" else "11"
    rect.attrs.update({"fill": colors[ground], "stroke": colors[line], "rx": round_, "ry": round_})
    at = rect.attrs
    boxes.append(
        RailroadBox(
            float(at["x"]),
            float(at["y"]),
            float(at["width"]),
            float(at["height"]),
            owner.text,
            owner.rule if isinstance(owner, Link) else "",
            owner.tip,
        )
    )


MAX_ITEMS = 160
MAX_DEPTH = 14
MAX_OPTIONS = 24
"""Ranges of a class of characters that are listed."""
MAX_WORDS_LENGTH = 36
ENOUGH = 10_000
"""Omitted items are counted up to this number."""
ROW_WIDTH = 700
"""Largest width of a sequence, in the diagram's pixels; a wider one continues below."""
SHORT_ROW = 260
"""A row is not ended before it has this width, which would only separate related items."""

railroad.INTERNAL_ALIGNMENT = "left"  # rows that are aligned at one edge are easier to read than centred ones
railroad.CHAR_WIDTH = 8.2
railroad.COMMENT_CHAR_WIDTH = 6.6


class RailroadPiece(railroad.Terminal):  # type: ignore[misc]
    """A rounded box: a literal text. `tip` is the full text if the words are shortened."""

    def __init__(self, words: str, tip: str = "", kind: str = "text") -> None:
        super().__init__(shorten(words, MAX_WORDS_LENGTH))
        self.tip = tip or (words if len(words) > MAX_WORDS_LENGTH else "")
        self.kind = kind


class Link(railroad.NonTerminal):  # type: ignore[misc]
    """A square box: a reference to another rule."""

    def __init__(self, rule: str) -> None:
        super().__init__(shorten(rule, MAX_WORDS_LENGTH))
        self.rule = rule
        self.tip = tr("Rule {rule}: click to go there", rule=rule)
        self.kind = "rule"


class RailroadItems:
    """Makes the pieces of one rule; `left_out` counts omitted pieces."""

    def __init__(self) -> None:
        self._room = MAX_ITEMS
        self.left_out = 0

    def make(
        self, node: syntax.Item | syntax.Sequence | syntax.Alternatives, depth: int = 0
    ) -> railroad.DiagramItem:
        """The drawing of a node, as deep and as wide as the bounds allow."""
        if self._room <= 0 or depth > MAX_DEPTH:
            return self._more(node)
        if isinstance(node, syntax.GroupItem):
            return self.make(node.body, depth + 1)
        if isinstance(node, syntax.Alternatives):
            return self._choice(node, depth)
        if isinstance(node, syntax.Sequence):
            return self._sequence(node, depth)
        self._room -= 1
        if isinstance(node, syntax.Quoted):
            return (
                RailroadPiece(text_words(node.text), tr("The text {text!r}", text=node.text))
                if node.text
                else railroad.Skip()
            )
        if isinstance(node, syntax.Class):
            words = class_words(_ranges(node), tr)
            return RailroadPiece(words, tr("One character: {characters}", characters=words), "class")
        if isinstance(node, syntax.AnyCharacter):
            return RailroadPiece(tr("any character"), tr("Any one character"), "class")
        if isinstance(node, syntax.Reference):
            return Link(node.name)
        if isinstance(node, syntax.TokenItem):
            shown = f"<{node.token}>" if isinstance(node.token, str) else f"<[{node.token}]>"
            if node.negated:
                tip = tr("Any token of the model’s vocabulary except this one")
                return RailroadPiece(tr("any token but {token}", token=shown), tip, "class")
            return RailroadPiece(
                tr("token {token}", token=shown), tr("One token of the model's vocabulary"), "class"
            )
        if isinstance(node, syntax.Pattern):
            return RailroadPiece(node.words, tr("One lexeme: {expression}", expression=node.words), "class")
        if isinstance(node, syntax.Embedded):
            tip = tr("A grammar or a JSON Schema inside of this one; see the grammar text")
            return RailroadPiece(f"%{node.kind}", tip, "class")
        if isinstance(node, syntax.Negation):
            return railroad.Group(self.make(node.item, depth + 1), tr("any text but"))
        if isinstance(node, syntax.Conjunction):
            parts = [self.make(part, depth + 1) for part in node.parts]
            return railroad.Group(railroad.Stack(*parts), tr("all of these"))
        return self._repeat(node, depth)

    def _sequence(self, node: syntax.Sequence, depth: int) -> railroad.DiagramItem:
        if not node.items:
            return railroad.Skip()
        rows: list[list[railroad.DiagramItem]] = [[]]
        width = 0.0
        for index, part in enumerate(node.items):
            if self._room <= 0:
                rows[-1].append(self._more(*node.items[index:]))
                break
            item = self.make(part, depth + 1)
            if width > SHORT_ROW and width + item.width > ROW_WIDTH:
                rows.append([])
                width = 0.0
            rows[-1].append(item)
            width += item.width + 20
        lines = [railroad.Sequence(*row) if len(row) > 1 else row[0] for row in rows]
        return lines[0] if len(lines) == 1 else railroad.Stack(*lines)

    def _choice(self, node: syntax.Alternatives, depth: int) -> railroad.DiagramItem:
        shown = []
        for index, option in enumerate(node.options):
            if index >= MAX_OPTIONS or self._room <= 0:
                shown.append(self._more(*node.options[index:]))
                break
            shown.append(self.make(option, depth + 1))
        return railroad.Choice(0, *shown) if len(shown) > 1 else shown[0]

    def _repeat(self, node: syntax.Repetition, depth: int) -> railroad.DiagramItem:
        body = self.make(node.item, depth + 1)
        least, most = node.minimum, node.maximum
        if most == 0:
            return railroad.Skip()
        if (least, most) == (1, 1):
            return body
        if (least, most) == (0, 1):
            return railroad.Optional(body)
        words = repeat_words(least, most)
        loop = railroad.OneOrMore(body, railroad.Comment(words)) if words else railroad.OneOrMore(body)
        return loop if least else railroad.Optional(loop)

    def _more(self, *nodes: syntax.Syntax) -> RailroadPiece:
        count = _size(nodes)
        self.left_out += count
        return RailroadPiece(
            "…",
            tr(
                "{count} more, not drawn; see the grammar text",
                count=f"{count:,}{'+' if count >= ENOUGH else ''}",
            ),
            "more",
        )


def repeat_words(least: int, most: int | None) -> str:
    """Return the bounds of a repetition; "" for one or more, and for any number."""
    if most is None:
        return tr("{least:,} or more", least=least) if least > 1 else ""
    if least == most:
        return tr("{count:,} times", count=most)
    return (
        tr("up to {count:,} times", count=most)
        if least <= 1
        else tr("{least:,} to {most:,} times", least=least, most=most)
    )


def _ranges(node: syntax.Class) -> Ranges:
    """A class's characters in order; a reversed range is empty, which a diagnostic reports."""
    ordered = [(low, min(high, ALL[-1][1])) for low, high in node.ranges if low <= high and low <= ALL[-1][1]]
    surrogates: Ranges = ((0xD800, 0xDFFF),)
    chosen = subtract(union(ordered), surrogates)
    return complement(chosen) if node.negated else chosen


def _size(nodes: tuple[syntax.Syntax, ...]) -> int:
    """The number of pieces, counted up to a bound."""
    waiting: list[syntax.Syntax] = list(nodes)
    count = 0
    while waiting and count < ENOUGH:
        inner = waiting.pop()
        if isinstance(inner, syntax.Sequence):
            waiting += inner.items
        elif isinstance(inner, syntax.Alternatives):
            waiting += inner.options
        elif isinstance(inner, syntax.GroupItem):
            waiting.append(inner.body)
        elif isinstance(inner, syntax.Repetition | syntax.Negation):
            waiting.append(inner.item)
        elif isinstance(inner, syntax.Conjunction):
            waiting += inner.parts
        else:
            count += 1
    return count


_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", " ": "·"})


def text_words(text: str) -> str:
    """A text with invisible characters made visible: spaces as dots, controls as escapes."""
    return visible(text.translate(_ESCAPES), spaces=True)
