"""Small SVG drawings, one per row of a chart: rows with the same scale, one below another, make the chart.

Colours are classes of the report's style sheet. The title of every drawing describes it; texts are escaped.
"""

from __future__ import annotations

from html import escape

from markupsafe import Markup

from glyphscope.evals.results.words import share_words
from glyphscope.evals.statistics import Share, Spread
from glyphscope.text.figures import percent, plain_number
from glyphscope.text.shorten import shorten
from glyphscope.visible import visible

WIDTH, HEIGHT = 360, 26
_LEFT, _RIGHT = 8, 12
_MIDDLE = HEIGHT / 2
_MAX_TEXT = 300


def shown(text: object, most: int = _MAX_TEXT) -> str:
    """An untrusted text in a form that can be shown: cut, with visible signs for invisible and direction characters."""
    whole = str(text)
    cut = shorten(whole, most, length=True)
    return visible(cut, lines=True)


def interval_row(label: str, share: Share) -> Markup:
    """A point with its interval, from 0% to 100%."""
    inside = _grid()
    if share.n:
        low, at, high = _x(share.low), _x(share.share), _x(share.high)
        inside += _line(low, _MIDDLE, high, _MIDDLE, "whisker")
        inside += _line(low, _MIDDLE - 5, low, _MIDDLE + 5, "whisker")
        inside += _line(high, _MIDDLE - 5, high, _MIDDLE + 5, "whisker")
        inside += f'<circle cx="{at:.1f}" cy="{_MIDDLE:g}" r="5" class="point"/>'
    return _svg(f"{label}: {share_words(share)}", inside)


def spread_row(label: str, spread: Spread | None, most: float, unit: str) -> Markup:
    """A bar up to the median, a line from there to the 95th percentile, a diamond at the mean; from 0 to `most`."""
    if spread is None or most <= 0:
        return _svg(f"{label}: not measured", _grid())
    inside = _grid()
    median, high, mean = (_x(value / most) for value in (spread.p50, spread.p95, spread.mean))
    inside += _bar(0, spread.p50 / most, "median")
    inside += _line(median, _MIDDLE, high, _MIDDLE, "whisker")
    inside += _line(high, _MIDDLE - 5, high, _MIDDLE + 5, "whisker")
    inside += f'<path d="M{mean:.1f} {_MIDDLE - 5:g}l5 5l-5 5l-5 -5z" class="mean"/>'
    p50, average, p95 = map(plain_number, (spread.p50, spread.mean, spread.p95))
    return _svg(f"{label}: median {p50}, mean {average}, 95th percentile {p95} {unit}", inside)


def saved_row(label: str, decoded: int, would_have: int, most: int) -> Markup:
    """The decoded tokens, and behind them the tokens without an abort."""
    inside = _grid()
    if most > 0:
        inside += _bar(0, would_have / most, "saved") + _bar(0, decoded / most, "median")
    saved = percent((would_have - decoded) / would_have, 0) if would_have else "nothing"
    return _svg(f"{label}: {decoded:,} tokens decoded of {would_have:,}, {saved} saved", inside)


def axis(labels: list[str]) -> Markup:
    """The scale above the rows, with labels from its beginning to its end."""
    inside = ""
    for place, text in enumerate(labels):
        at = place / (len(labels) - 1)
        anchor = "start" if at == 0 else "end" if at == 1 else "middle"
        x = _x(at) - 4 if at == 0 else _x(at) + 8 if at == 1 else _x(at)
        inside += f'<text x="{x:.1f}" y="17" text-anchor="{anchor}" class="scale">{escape(text)}</text>'
    return Markup(f'<svg class="row" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{inside}</svg>')


def heat_bar(share: Share) -> Markup:
    """The interval below a cell's figure: the frame is 0% to 100%."""
    low, high, at = (100 * value for value in (share.low, share.high, share.share))
    return Markup(
        '<svg class="mini" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<path d="M0 7.5H100" class="frame"/>'
        f'<path d="M{low:.1f} 4H{high:.1f}" class="range"/><path d="M{at:.1f} 0V8" class="at"/></svg>'
    )


def scale_of(values: list[float]) -> float:
    """A round number at or above all values: 1, 2, 2.5, 4, 5 or 8 times a power of ten; 1 if all are 0."""
    most = max(values, default=0.0)
    if most < 1e-9:
        return 1.0
    power = 10.0 ** (len(f"{int(most)}") - 1) if most >= 1 else 0.1
    while power > most:
        power /= 10
    return next(step * power for step in (1, 2, 2.5, 4, 5, 8, 10) if step * power >= most)


def _svg(title: str, inside: str) -> Markup:
    label = escape(shown(title))
    return Markup(
        f'<svg class="row" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{inside}</svg>"
    )


def _x(share: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(1.0, max(0.0, share))


def _grid() -> str:
    return "".join(_line(_x(at), 0, _x(at), HEIGHT, "grid") for at in (0, 0.25, 0.5, 0.75, 1))


def _bar(begin: float, end: float, name: str) -> str:
    x = _x(begin)
    return f'<rect x="{x:.1f}" y="6" width="{_x(end) - x:.1f}" height="{HEIGHT - 12}" class="{name}"/>'


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}" class="{name}"/>'
