"""Legible for everyone: text has enough contrast to its background, and no information is in colour alone."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette

from glyphscope_gui.grammar.edit import LINES
from glyphscope_gui.grammar.railroad_drawing import ROLES as DIAGRAM
from glyphscope_gui.playground.stage_rows import MARKS
from glyphscope_gui.runs import compare_fields
from glyphscope_gui.servers import words as servers_words
from glyphscope_gui.shared import verdict
from glyphscope_gui.shared.verdict import FORCED, VERDICTS
from glyphscope_gui.theme import load_theme
from glyphscope_gui.theme.manager import style_sheet

TEXT, GRAPHICS = 4.5, 3.0
"""The least contrasts of WCAG 2.2: of text (1.4.3), and of lines and shapes with a meaning (1.4.11)."""

# -- contrast: every role of a theme is one of these ---------------------------------------------------------------

GROUNDS = (
    "window", "panel", "field", "hover", "selection", "track", "accent-soft", "holds-soft", "open-soft",
    "differs-soft", "impossible-soft", "forced-soft", "reasoning-soft",
)  # fmt: skip
WORDS = (
    "text", "text-muted", "text-faint", "accent", "accent-strong", "holds", "open", "differs", "impossible", "forced",
    "mark",
    "json-name", "json-string", "json-number", "json-word", "json-mark",
)  # fmt: skip
"""Roles of text, each on any background."""
SHAPES = {
    "border-strong": ("window", "panel", "field"),
    "holds-line": ("panel", "holds-soft"),
    "open-line": ("panel", "open-soft"),
    "differs-line": ("panel", "differs-soft"),
    "impossible-line": ("panel", "window", "selection", "impossible-soft"),
    "forced-line": ("panel", "forced-soft"),
    "reasoning-line": ("panel", "reasoning-soft"),
    "chart-main": ("panel",),
    "chart-main-soft": ("panel",),
    "chart-other": ("panel",),
    "chart-forced": ("panel",),
}
"""Roles of lines and shapes, with their backgrounds."""
ON = {"on-accent": ("accent", "accent-strong"), "on-impossible": ("impossible",)}
"""Roles of text on a full colour."""
DECORATION = {
    "text-disabled": "what cannot be used is not asked for a contrast; the style sheet's test has one for it",
    "border": "a line between cards that stand apart anyway",
    "chart-grid": "the axes; their figures are words",
    "chart-soft": "bars that have an edge in border-strong",
    "chart-faint": "bars that have an edge in border-strong, and what is left of a budget",
}


def contrast(a: QColor, b: QColor) -> float:
    """WCAG 2.2's contrast ratio."""

    def luminance(colour: QColor) -> float:
        def linear(part: float) -> float:
            return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

        r, g, b = map(linear, (colour.redF(), colour.greenF(), colour.blueF()))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def too_pale(theme, pairs, least):
    """Describe the pairs of roles below that contrast."""
    found = ((front, back, contrast(theme.color(front), theme.color(back))) for front, back in pairs)
    return [
        f"{theme.name}: {front} on {back} is {ratio:.2f}:1" for front, back, ratio in found if ratio < least
    ]


def test_every_role_of_a_theme_is_checked_for_contrast():
    looked_at = {*GROUNDS, *WORDS, *SHAPES, *ON, *DECORATION}
    for name in ("light", "dark"):
        assert load_theme(name).roles.keys() - looked_at == set()
        assert looked_at - load_theme(name).roles.keys() == set()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_words_and_shapes_have_enough_contrast(name):
    theme = load_theme(name)
    assert too_pale(theme, [(word, ground) for word in WORDS for ground in GROUNDS], TEXT) == []
    assert too_pale(theme, [(front, back) for front, backs in ON.items() for back in backs], TEXT) == []
    assert (
        too_pale(theme, [(front, back) for front, backs in SHAPES.items() for back in backs], GRAPHICS) == []
    )
    assert too_pale(theme, [("on-impossible", "impossible-line"), ("panel", "accent")], GRAPHICS) == []
    looks = [(edge, "panel") for _fill, edge, _words in DIAGRAM.values()]
    assert too_pale(theme, looks, GRAPHICS) == []
    assert too_pale(theme, [(words, fill) for fill, _edge, words in DIAGRAM.values()], TEXT) == []


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_words_of_the_palette_can_be_read(name):
    palette, role = load_theme(name).palette(), QPalette.ColorRole
    for front, back in (
        (role.WindowText, role.Window), (role.Text, role.Base), (role.ButtonText, role.Button),
        (role.ToolTipText, role.ToolTipBase), (role.HighlightedText, role.Highlight), (role.Link, role.Base),
        (role.PlaceholderText, role.Base), (role.LinkVisited, role.Base), (role.BrightText, role.Accent),
    ):  # fmt: skip
        assert contrast(palette.color(front), palette.color(back)) >= TEXT, (name, front, back)
        if front in (role.WindowText, role.Text, role.ButtonText):
            off = palette.color(QPalette.ColorGroup.Disabled, front)
            assert contrast(off, palette.color(back)) >= GRAPHICS, (name, front, "disabled")


RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
PART = re.compile(r"(?P<kind>^\w+)|#(?P<id>\w+)|(?P<wants>\[[^]]*\])|(?P<state>:{1,2}[\w-]+)")
TRANSPARENT = ("window", "panel", "impossible-soft", "open-soft")
"""The backgrounds of parts without one: the window, cards and the banners."""


def rules_of(sheet):
    """Yield the selector, its last part as a set of conditions, and the colours it sets, in the order of the sheet."""
    for selectors, body in RULE.findall(re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)):
        settings = dict(re.findall(r"(?:^|;)\s*([\w-]+)\s*:\s*([^;]+)", body))
        for selector in selectors.split(","):
            last = re.sub(r"\s*=\s*", "=", selector.strip()).split(" ")[-1]
            demands = frozenset(match.group() for match in PART.finditer(last))
            yield selector.strip(), demands, {key: value.strip() for key, value in settings.items()}


def weight(demands):
    """CSS's specificity."""
    ids = sum(part.startswith("#") for part in demands)
    conditions = sum(part[0] in "[:" for part in demands)
    return ids, conditions, len(demands) - ids - conditions


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_colour_of_the_style_sheet_can_be_read_on_its_ground(qapp, tmp_path, name):
    theme = load_theme(name)
    rules = list(rules_of(style_sheet(theme, tmp_path)))
    wrong, seen = [], 0
    for selector, demands, settings in rules:
        if not {"color", "background"} & settings.keys():
            continue
        # the rules for this part: those without conditions that it does not meet
        holding = [rule for rule in rules if rule[1] <= demands | {"QWidget"}]
        holding.sort(key=lambda rule: weight(rule[1]))
        front = next((s["color"] for _, _, s in reversed(holding) if "color" in s), theme.roles["text"])
        back = next((s["background"] for _, _, s in reversed(holding) if "background" in s), "transparent")
        grounds = [QColor(back)] if back.startswith("#") else [theme.color(role) for role in TRANSPARENT]
        least = GRAPHICS if ":disabled" in demands else TEXT
        if "::" in selector and "color" not in settings:
            continue  # handles, grooves, indicators: without text
        for ground in grounds:
            seen += 1
            ratio = contrast(QColor(front), ground)
            if ratio < least:
                wrong.append(f"{name}: {selector} {front} on {ground.name()} is {ratio:.2f}:1")
    assert seen > 100
    assert wrong == []


@pytest.mark.parametrize("name", ["light", "dark"])
def test_selected_text_can_be_read(qapp, tmp_path, name):
    theme = load_theme(name)
    pairs = [
        (selector, settings["selection-color"], settings["selection-background-color"])
        for selector, _demands, settings in rules_of(style_sheet(theme, tmp_path))
        if "selection-color" in settings
    ]
    assert pairs
    for selector, front, back in pairs:
        assert contrast(QColor(front), QColor(back)) >= TEXT, (name, selector)


# -- not by colour alone -------------------------------------------------------------------------------------------


def test_states_differ_by_more_than_colour():
    drawn = [*VERDICTS.values(), FORCED]
    assert len({(verdict.line, verdict.width) for verdict in drawn}) == len(drawn)
    assert all(verdict.line != Qt.PenStyle.NoPen and verdict.words for verdict in drawn)
    assert len({verdict.sign for verdict in drawn}) == len(drawn)
    for signs in (
        [looks.sign for looks in MARKS.values() if looks.sign],
        [style for style, _role in LINES.values()],
        [words for words, _role, _tip in verdict._ENFORCEMENT.values()],
        [state.words for state in servers_words._PHASES.values()],
        list(compare_fields.MARKS.values()),
    ):
        assert all(signs)
        assert len(set(signs)) == len(signs), signs
