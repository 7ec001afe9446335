"""Presets of the loop: each has its changes, and composing them gives plain settings."""

from pathlib import Path

import msgspec
import pytest

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import LoopSettings
from glyphscope.runs import TRANSFORMS, transforms
from glyphscope.runs.strategies import compose, loop_preset, loop_presets

NAMES = [preset.name for preset in loop_presets()]


def test_the_default_preset_is_first_and_the_documented_ones_exist():
    assert NAMES[0] == "default"
    assert set(NAMES) >= {
        "strict", "chat-only", "content-tag-fallback", "function-call-shape", "tolerant", "small-context",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_has_valid_settings(name):
    preset = loop_preset(name)
    assert preset.about and set(preset.settings) <= set(LoopSettings.__struct_fields__) - {"presets"}
    settings = compose([name])
    assert settings.presets == (name,)
    assert msgspec.convert(msgspec.to_builtins(settings), LoopSettings) == settings
    transforms(settings.transforms)


def test_the_default_preset_equals_the_default_settings_except_for_its_limit():
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


def test_an_unknown_preset_is_reported_with_the_existing_ones():
    with pytest.raises(GlyphscopeError, match=r'no preset "nonsense".*default, chat-only'):
        compose(["default", "nonsense"])


def test_the_guide_names_every_setting_preset_and_transform():
    guide = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text()
    names = {*NAMES, *TRANSFORMS, *LoopSettings.__struct_fields__} - {"presets"}
    assert [name for name in sorted(names) if f"`{name}`" not in guide] == []
