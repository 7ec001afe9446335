"""Recorded runs for tests of bundles and exports, and an exported pytest file run in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from glyphscope.events import AnyEvent, RepairSettings, RunRequest, decode_event, encode_event
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from glyphscope.store import RecordWriter
from glyphscope.store.exports import RecordedRun, export

GOOD = '{action="search" query="AI news" max_results=10}'
BAD = '{action="search" query="AI news" max_results=500}'
HERMES = """{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>
Answer with <tool_call>
{"name": <name>, "arguments": <object>}
</tool_call>
{% endif %}{% for message in messages %}{{ message.role }}: {{ message.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"""
"""A chat template with a place for tools."""
REGISTRY = default_registry().to_document()

CALLS = [
    GOOD,
    BAD,
    '{"action":"search","query":"AI"}',
    '{action="delete"}',
    "I will search.",
    "",
    "{",
    GOOD + " x",
]
TEXTS = st.one_of(
    st.sampled_from(CALLS),
    st.builds(lambda text, at: text[:at], st.sampled_from(CALLS), st.integers(0, 40)),
    st.text(max_size=30),
    st.builds(lambda a, b: a + b, st.text(max_size=10), st.sampled_from(CALLS)),
    st.lists(st.binary(max_size=3), max_size=8),
)
REQUESTS = st.fixed_dictionaries(
    {
        "prompt": st.text(max_size=20),
        "notation": st.sampled_from(["glyph", "json"]),
        "shape": st.sampled_from(["flat", "tool-args", "name-arguments"]),
        "constraint": st.sampled_from(["off", "mask"]),
        "strategy": st.sampled_from(["direct", "two-stage", "route-execute", "loop"]),
        "stop_on": st.sampled_from(["error", "unknown-tool", "never"]),
        "free_text": st.booleans(),
        "repair": st.builds(RepairSettings, attempts=st.integers(0, 2)),
    }
)


def run_of(*turns: Any, host: Any = None, template: str | None = None, **request: Any) -> list[AnyEvent]:
    """Return the events of a run in which a scripted model says `turns`, as in a record."""
    asked = RunRequest(
        **{"prompt": "Search for AI news", "registry": REGISTRY, "constraint": "off", **request}
    )
    model = ScriptedModel(turns=turns, name="scripted:x", template=template)
    events = run(asked, model, host) if host is not None else run(asked, model)
    return [decode_event(encode_event(event)) for event in events]


def written(path: Path, events: list[AnyEvent]) -> Path:
    with RecordWriter(path) as writer:
        for event in events:
            writer.write(event)
    return path


def pytest_text(events: list[AnyEvent]) -> str:
    return export(RecordedRun(events), "pytest")


def execute(text: str) -> list[str]:
    """Return the names of the file's tests, all of which passed. Raises AssertionError if one did not."""
    names: dict[str, Any] = {}
    exec(compile(text, "exported.py", "exec"), names)
    tests = [name for name in names if name.startswith("test_")]
    for name in tests:
        names[name]()
    return tests
