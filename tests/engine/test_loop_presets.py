"""Presets of the loop: each says what it changes, and composing them gives plain settings."""

from pathlib import Path

import msgspec
import pytest

from glyphscope.errors import GlyphscopeError
from glyphscope.events import LoopSettings
from glyphscope.runs.transforms import TRANSFORMS, transforms
from glyphscope.strategies.loop.presets import compose, loop_preset, loop_presets

NAMES = [preset.name for preset in loop_presets()]


def test_the_default_comes_first_and_all_that_were_promised_are_there():
    assert NAMES[0] == "default"
    assert set(NAMES) >= {
        "strict", "chat-only", "content-tag-fallback", "function-call-shape", "tolerant", "small-context",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_holds_settings_that_there_are(name):
    preset = loop_preset(name)
    assert preset.about and set(preset.settings) <= set(LoopSettings.__struct_fields__) - {"presets"}
    settings = compose([name])
    assert settings.presets == (name,)
    assert msgspec.convert(msgspec.to_builtins(settings), LoopSettings) == settings
    transforms(settings.transforms)


def test_the_default_is_what_the_settings_are_anyway_but_for_the_limit_that_it_names():
    settings = msgspec.structs.replace(compose(["default"]), presets=(), max_tool_calls_per_turn=None)
    assert settings == LoopSettings() == compose([])


def test_a_later_preset_wins_and_transforms_add_up():
    settings = compose(["strict", "content-tag-fallback", "function-call-shape", "chat-only"])
    assert settings.tool_use == "disabled" and settings.failure_policy == "fatal"
    assert settings.transforms == (
        "content-tags", "fenced-calls", "arguments-from-text", "function-call", "tool-calls", "blank-arguments",
    )  # fmt: skip
    assert settings.presets == ("strict", "content-tag-fallback", "function-call-shape", "chat-only")
    assert compose(["chat-only", "strict"]).tool_use == "enforced"


def test_an_unknown_preset_is_told_with_those_that_there_are():
    with pytest.raises(GlyphscopeError, match=r'no preset "nonsense".*default, chat-only'):
        compose(["default", "nonsense"])


def test_the_guide_names_every_setting_preset_and_transform():
    guide = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text()
    names = {*NAMES, *TRANSFORMS, *LoopSettings.__struct_fields__} - {"presets"}
    assert [name for name in sorted(names) if f"`{name}`" not in guide] == []
