"""A rule's railroad diagram as SVG in the theme's colours, with the places of its boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import railroad

from glyphscope.grammar.gbnf.parse.syntax import GbnfRule
from glyphscope_gui.grammar.railroad_items import Link, Piece, RailroadItems

MARGIN = 10
_ROLES = {
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


def draw_rule(rule: GbnfRule, colors: Mapping[str, str], family: str) -> RailroadDrawing:
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
        kind = owner.kind if isinstance(owner, (Piece, Link)) else ""
        if item.name == "rect":
            _dress_box(item, owner, kind, colors, boxes)
        elif item.name == "text":
            color = colors[_ROLES[kind][2]] if kind else colors["text-muted"]
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
            item if isinstance(item, (Piece, Link)) else (owner if item.name in ("rect", "text") else None)
        )
        waiting += [(child, inner) for child in item.children]


def _dress_box(rect: Any, owner: Any, kind: str, colors: Mapping[str, str], boxes: list[RailroadBox]) -> None:
    if not kind:  # the frame of a group
        rect.attrs.update({"fill": "none", "stroke": colors["border-strong"], "stroke-dasharray": "4 3"})
        return
    ground, line, _ = _ROLES[kind]
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
