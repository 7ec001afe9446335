"""The file of settings: older ones are migrated, wrong values are reported and ignored, newer keys are kept."""

from __future__ import annotations

import json

import msgspec
import pytest

from glyphscope.events import (
    LoadOptions,
    LoopSettings,
    RepairSettings,
    RouterSettings,
    RunRequest,
    Sampling,
    settings_of,
    wrong_values,
)
from glyphscope.store import Settings, load_settings, save_settings

OLD = {
    "glyphscope_settings": 1,
    "recent_models": ["embedded"],
    "recent_projects": ["/p/a.glyphscope"],
    "model": "embedded",
    "model_folders": ["/m"],
    "context": 8192,
    "theme": "dark",
    "font_size": 12,
    "geometry": "AAA",
    "state": "BBB",
    "history_limit": 100,
}


def loaded(path, document):
    path.write_text(json.dumps(document))
    return load_settings(path)


def test_a_settings_file_of_version_1_is_upgraded(tmp_path):
    settings, notice = loaded(tmp_path / "s.json", OLD)
    assert notice == ""
    assert settings == Settings(
        recent_models=("embedded",), recent_projects=("/p/a.glyphscope",), model="embedded",
        model_folders=("/m",), context=8192, theme="dark", font_size=12, geometry="AAA", state="BBB",
        history_limit=100,
    )  # fmt: skip
    save_settings(tmp_path / "s.json", settings)
    assert json.loads((tmp_path / "s.json").read_text())["glyphscope_settings"] == 2
    assert load_settings(tmp_path / "s.json") == (settings, "")


def test_values_of_version_1_outside_the_bounds_are_adjusted(tmp_path):
    settings, notice = loaded(
        tmp_path / "s.json", {**OLD, "context": 100, "history_limit": 0, "font_size": 99}
    )
    assert notice == ""
    assert (settings.context, settings.history_limit, settings.font_size) == (512, 1, 32)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("context", 3, "context was 3 (it is a number from 512 to 131072)"),
        ("theme", "pink", 'theme was "pink" (it is one of system, light, dark)'),
        ("temperature", float("nan"), "temperature was NaN"),
        ("temperature", -1, "from 0 to 5"),
        ("seed", 10**40, "from 0 to 2147483647"),
        ("constraint", "endpoint", "off, mask, gbnf"),
        ("model_folders", "/m", "array"),
        ("code_font", "x\n" * 500, ""),
        ("alternatives", True, "from 1 to 100"),
    ],
)
def test_an_invalid_value_is_reported_and_replaced_by_its_default(tmp_path, name, value, words):
    document = {**OLD, "glyphscope_settings": 2, name: value}
    settings, notice = loaded(tmp_path / "s.json", document)
    assert words in notice and len(notice) < 300
    assert settings.font_size == 12
    if words:
        assert getattr(settings, name) == getattr(Settings(), name)


def test_settings_of_a_newer_version_are_preserved(tmp_path):
    path = tmp_path / "s.json"
    settings, notice = loaded(path, {"glyphscope_settings": 9, "theme": "dark", "holograms": {"on": True}})
    assert notice == "" and settings.theme == "dark"
    save_settings(path, msgspec.structs.replace(settings, theme="light"))
    document = json.loads(path.read_text())
    assert document["holograms"] == {"on": True} and document["glyphscope_settings"] == 9


@pytest.mark.parametrize("version", [-(10**12), 0, True, None, "2", 1.5])
def test_an_impossible_version_is_read_in_time(tmp_path, version):
    settings, _notice = loaded(tmp_path / "s.json", {"glyphscope_settings": version, "theme": "dark"})
    assert settings.theme == "dark"


def test_a_new_project_equals_a_default_request_with_the_order_of_its_constraint():
    usual = RunRequest(prompt="", registry={}, order="any")
    assert RunRequest(prompt="", registry={}, **Settings().first_options()) == usual
    assert Settings(constraint="gbnf").first_options()["order"] == "schema"


def test_every_default_is_within_the_bounds_of_its_setting():
    structs = (Settings, Sampling, RepairSettings, RouterSettings, LoopSettings, LoadOptions)
    for struct in structs:
        assert list(wrong_values(struct())) == []
    assert list(wrong_values(RunRequest(prompt="", registry={}))) == []
    context = settings_of(Settings)["context"].setting
    assert (context.least, context.most) == (512, 131_072), "as msgspec checks them"
