"""state_get and state_patch: pointers, operations that are all done or none, and helpful errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demo_calls import call, refused, said
from glyphscope.tools.demo import DemoTools


def test_a_value_is_read_by_its_path(demo: DemoTools) -> None:
    assert said(demo, "state_get", workspace_id="trip-1", path="/budget/items/0/name") == '"train"'
    assert json.loads(said(demo, "state_get", workspace_id="trip-1")) == demo.workspace
    assert call(demo, "state_get", workspace_id="trip-1", path="/todo").structured == {
        "path": "/todo",
        "value": ["book the museum", "pack a rain coat"],
        "revision": 0,
    }


def test_operations_are_applied_in_order(demo: DemoTools) -> None:
    ops = [
        {"op": "set", "path": "/budget/limit", "value": 950.5},
        {"op": "set", "path": "/budget/items/1/paid", "value": True},
        {"op": "set", "path": "/a~1b", "value": {"~": 1}},
        {"op": "set", "path": "/a~1b/~0", "value": 2},
        {"op": "append", "path": "/todo", "value": "buy stamps"},
        {"op": "append", "path": "/todo/-", "value": "sleep"},
        {"op": "set", "path": "/todo/-", "value": "wake"},
        {"op": "delete", "path": "/todo/0"},
        {"op": "delete", "path": "/settings/reminders"},
        {"op": "set", "path": "/note", "value": ["from null to anything"]},
    ]
    assert said(demo, "state_patch", workspace_id="trip-1", ops=ops) == (
        "10 operations were applied; the workspace is at revision 1."
    )
    now = demo.workspace
    assert (now["budget"]["limit"], now["budget"]["items"][1]["paid"], now["a/b"]) == (
        950.5,
        True,
        {"~": 2},
    )
    assert now["todo"] == ["pack a rain coat", "buy stamps", "sleep", "wake"]
    assert now["settings"] == {"language": "en"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "/title"}, 'workspace_id is missing, for example "trip-1"'),
        ({"workspace_id": "", "path": "/title"}, "too short"),
        ({"workspace_id": "trip-2"}, 'no workspace "trip-2". The workspace is "trip-1"'),
        ({"workspace_id": "trip-1", "path": "title"}, 'for example "/budget/limit"'),
        ({"workspace_id": "trip-1", "path": "/bugdet"}, "The workspace has id, title"),
        ({"workspace_id": "trip-1", "path": "/budget/limit/x"}, "nothing is below it"),
        ({"workspace_id": "trip-1", "path": "/todo/2"}, "places are 0 to 1"),
        ({"workspace_id": "trip-1", "path": "/todo/01"}, "not a place in it"),
        ({"workspace_id": "trip-1", "path": "/todo/-1"}, "counted 0, 1, 2"),
        ({"workspace_id": "trip-1", "path": "/a~2"}, "~0 for ~"),
        ({"workspace_id": "trip-1", "path": "/a" * 10_000}, "at most 32"),
    ],
)
def test_an_invalid_place_is_rejected_with_a_hint(demo: DemoTools, arguments: Any, words: str) -> None:
    assert words in refused(demo, "state_get", **arguments)


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (
            {"op": "set", "path": "/budget/limit", "value": "lots"},
            "/budget/limit is a number, and the value is a text",
        ),
        ({"op": "set", "path": "/title", "value": None}, "the value is null"),
        ({"op": "set", "path": "/settings/reminders", "value": 1}, "true or false"),
        ({"op": "set", "path": "/title"}, "set needs a value"),
        ({"op": "set", "path": "/id", "value": "x"}, "cannot be changed"),
        ({"op": "set", "path": "/dates/from/year", "value": 1}, "nothing is below it"),
        ({"op": "set", "path": "/nowhere/x", "value": 1}, "no /nowhere"),
        ({"op": "set", "path": "/todo/9", "value": "x"}, "places are 0 to"),
        ({"op": "append", "path": "/title", "value": "x"}, "not a list"),
        ({"op": "append", "path": "/todo", "value": 5}, "Each item of /todo is a text"),
        ({"op": "append", "path": "/todo"}, "append needs a value"),
        ({"op": "delete", "path": "/todo/5"}, "places are 0 to"),
        ({"op": "delete", "path": "/nothing"}, "no /nothing"),
        ({"op": "delete", "path": "/title", "value": 1}, "takes no value"),
        ({"op": "set", "path": "title", "value": "x"}, 'for example "/title"'),
        ({"op": "replace", "path": "/title", "value": "x"}, "one of set, delete, append"),
        ({"op": "set", "path": "/big", "value": "x" * 200_000}, "at most 200,000"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_patch_changes_nothing(demo: DemoTools, operation: Any, words: str) -> None:
    before = demo.workspace
    first = {"op": "append", "path": "/todo", "value": "first"}
    message = refused(demo, "state_patch", workspace_id="trip-1", ops=[first, operation])
    assert words in message
    assert demo.workspace == before
    assert call(demo, "state_get", workspace_id="trip-1").structured["revision"] == 0


def test_a_copy_of_the_workspace_does_not_change_it(demo: DemoTools) -> None:
    demo.workspace["title"] = "changed"
    call(demo, "state_get", workspace_id="trip-1").structured["value"]["title"] = "changed"
    mine = {"id": "w", "list": [1]}
    own = DemoTools(workspace=mine)
    call(own, "state_patch", workspace_id="w", ops=[{"op": "append", "path": "/list", "value": 2}])
    assert (demo.workspace["title"], mine) == ("A weekend in Lisbon", {"id": "w", "list": [1]})
    assert own.workspace == {"id": "w", "list": [1, 2]}
