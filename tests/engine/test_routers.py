"""The bundled router settings, and custom ones from a file."""

from __future__ import annotations

import pytest

from glyphscope.base.errors import PromptError, RegistryError
from glyphscope.events import CallReady, CandidatesFound, RunRequest
from glyphscope.grammar import example_arguments
from glyphscope.prompting.strategies import render_router
from glyphscope.registry import bundled_registries, bundled_registry
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.routing.candidates import (
    find_candidates,
    read_router,
    router_preset,
    router_presets,
)
from talks import Talker


def test_each_router_belongs_to_the_registry_of_its_name() -> None:
    assert "destiny" in router_presets()
    for name in router_presets():
        tools = {tool.name for tool in bundled_registry(name).allowed}
        settings = router_preset(name)
        assert settings.synonyms.keys() <= tools
        assert settings.rules


@pytest.mark.parametrize("name", bundled_registries())
def test_every_bundled_registry_loads_and_each_of_its_tools_has_an_example(name: str) -> None:
    for tool in bundled_registry(name).allowed:
        assert example_arguments(tool.parameters) is not None


def test_the_destiny_router_knows_its_names_rules_and_phrases() -> None:
    settings = router_preset("destiny")
    names = [name for kind in settings.names.values() for name in kind]
    assert len(names) >= 60
    assert len(names) == len(set(names))
    request = RunRequest(prompt="q", registry=bundled_registry("destiny").to_document(), router=settings)
    system = render_router(request, bundled_registry("destiny")).messages[0].content
    assert '"perk pool", "rolls", "can roll", "trait columns"' in system
    assert "champion, surge" in system
    assert "minLength" not in system and "armour" not in system


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("what can gjalahorn roll?", ["Gjallarhorn"]),
        ("does palindrome roll with kill clip and rampge", ["Kill Clip", "The Palindrome", "Rampage"]),
        ("explain vault of glas", ["Vault of Glass"]),
        ("how do surge mods work", []),
        ("is recovery better than discipline", []),
        ("kinetic vs strand", []),
        ("best way to farm exotic engrams", []),
    ],
)
def test_names_are_found_only_in_questions_about_them(prompt: str, names: list[str]) -> None:
    found = find_candidates(prompt, router_preset("destiny").names)
    assert sorted(one.name for one in found) == sorted(names)


def test_a_question_about_an_item_ends_in_its_lookup() -> None:
    request = RunRequest(
        prompt="what can gjalahorn roll?",
        registry=bundled_registry("destiny").to_document(),
        router=router_preset("destiny"),
        strategy="route-execute",
        notation="json",
        shape="tool-args",
        constraint="off",
    )
    route = '{"choice": "call_tool", "tool": "item_lookup", "question": null}'
    call = '{"tool": "item_lookup", "args": {"name": "Gjallarhorn", "details": ["perks"]}}'
    events = list(run(request, Talker(route, call)))
    assert [event.arguments["name"] for event in events if isinstance(event, CallReady)] == ["Gjallarhorn"]
    found = next(event for event in events if isinstance(event, CandidatesFound))
    assert [one.text for one in found.candidates] == ["gjalahorn"]


def test_a_users_own_settings_are_read_and_their_errors_named() -> None:
    assert read_router('{"rules": ["Never."], "max_questions": 0}').max_questions == 0
    for text, reported in (
        ('{"rule": []}', '"rule"'),
        ('{"rules": "Never."}', r"\$\.rules"),
        ("[]", "object"),
        ("{", "router settings"),
        (b"\xff", "router settings"),
        ('{"rules": ' + "[" * 100_000, "router settings"),
        ('{"names": ' + '{"a":' * 3_000, "router settings"),
    ):
        with pytest.raises(PromptError, match=reported) as caught:
            read_router(text, "my.json")
        assert caught.value.where == "my.json"


def test_unknown_names_are_reported_with_the_existing_ones() -> None:
    with pytest.raises(PromptError, match="destiny"):
        router_preset("fate")
    with pytest.raises(RegistryError, match="default, destiny"):
        bundled_registry("../default")
