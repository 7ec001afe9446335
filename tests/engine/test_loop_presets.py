"""Presets of the loop: each has its changes, and composing them gives plain settings."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from glyphscope.base.errors import GlyphscopeError, meant
from glyphscope.events import Code, LoopSettings, RunRequest
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
    assert (
        preset.about
        and (preset.of or preset.settings)
        and set(preset.settings) <= set(LoopSettings.__struct_fields__) - {"presets"}
    )
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


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("provider_defaults", ["default"]),
        ("deepseek_openrouter_compat", ["default", "function-call-shape"]),
        ("gemini_openrouter_compat", ["default", "function-call-shape"]),
        ("content_tag_tool_call_fallback", ["default", "content-tag-fallback"]),
        ("tool_use_disabled", ["default", "chat-only"]),
    ],
)
def test_the_presets_of_the_reliability_study_have_its_names(name, same):
    assert msgspec.structs.replace(compose([name]), presets=()) == msgspec.structs.replace(
        compose(same), presets=()
    )


@pytest.mark.parametrize(
    ("other", "known", "ours"),
    [
        ("tool_use_mode", LoopSettings.__struct_fields__, "tool_use"),
        ("tool_failure_policy", LoopSettings.__struct_fields__, "failure_policy"),
        ("request_overrides", RunRequest.__struct_fields__, "extra_body"),
        ("NO_TOOL_CALLS", get_args(Code), "NO_TOOL_CALL"),
        ("tool_usse", LoopSettings.__struct_fields__, "tool_use"),
    ],
)
def test_names_of_the_reliability_study_ask_for_ours(other, known, ours):
    assert meant(other, known) == f'Did you mean "{ours}"?'


def test_a_code_without_one_of_the_same_meaning_says_what_it_is_here():
    assert "FINAL_TEXT, WRONG_ARGUMENTS" in meant("ASSERTION_FAILED", get_args(Code))
    assert '"extra_body" here, in another place' in meant("request_overrides", LoopSettings.__struct_fields__)
    assert meant("nonsense", ("default",)) == ""


def test_an_unknown_preset_is_reported_with_the_existing_ones():
    with pytest.raises(GlyphscopeError, match=r'no preset "nonsense".*default, chat-only'):
        compose(["default", "nonsense"])


def test_the_guide_names_every_setting_preset_and_transform():
    guide = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text()
    names = {*NAMES, *TRANSFORMS, *LoopSettings.__struct_fields__} - {"presets"}
    assert [name for name in sorted(names) if f"`{name}`" not in guide] == []
