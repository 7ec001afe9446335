"""The GBNF snippets of the user's guide, verbatim (`tests/support/guide`): checked, matched, run.

The builder's grammar of its three tools, with the guide's own strings and with JSON's, has its language, apart from
differences that are proved.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from glyphscope.grammar import Bound, match_text, sample_texts, shortest_differences, to_lark
from glyphscope.grammar.gbnf import apply_fixes, check_gbnf, emit_gbnf, load_gbnf
from glyphscope.grammar.tree import Grammar
from glyphscope.models import GrammarProbe
from glyphscope.registry import parse_document
from glyphscope.turns import build_turn_grammar, own_form
from llama_verdict import llama_verdict

GUIDE = Path(__file__).parents[1] / "support" / "guide"
NAVIGATE = {"tool": "navigate", "args": {"action": "list_directory", "directory": "pkg"}}
SEARCH = {"tool": "search", "args": {"action": "grep", "pattern": "func.*Execute", "path": "pkg/agents"}}
EDIT = {
    "tool": "code_edit",
    "args": {"file": "main.go", "operation": "edit", "line_number": 42, "new_content": "func main() {"},
}
EMPTY_CALL = '{ "tool": "file", "args": {} }'

TOOLS = {
    "navigate": (["list_directory", "get_file_outline", "find_imports", "get_tree"], ["directory", "file"]),
    "search": (["grep", "find_files", "find_definition"], ["pattern", "path"]),
    "file": (["read", "write", "append"], ["file", "content"]),
}


def built(string: dict[str, str]) -> Grammar:
    tools = {
        name: {
            "type": "object",
            "properties": {"action": {"enum": actions}} | dict.fromkeys(others, string),
            "required": ["action", "file"] if name == "file" else ["action"],
        }
        for name, (actions, others) in TOOLS.items()
    }
    return build_turn_grammar(own_form("json", "tool-args", white_space="any"), parse_document(tools))


OURS = built({"type": "string"})

OWN_ARGUMENTS = (
    '"\\"tool\\"" ws ":" ws tool-name ws "," ws\n  "\\"args\\"" ws ":" ws tool-args ws',
    '"\\"tool\\"" ws ":" ws ('
    + " | ".join(
        f'"\\"{name}\\"" ws "," ws "\\"args\\"" ws ":" ws {name}-args'
        for name in ("navigate", "search", "file")
    )
    + ") ws",
)
"""The stricter part of the built grammar: a tool takes its own arguments, not those of any tool."""
HEX = "[0-9a-fA-F]"
PAIR = rf'[dD] [89abAB] {HEX}{{2}} "\\u" [dD] [c-fC-F] {HEX}{{2}}'
JSON_STRINGS = (
    r'string-value ::= "\"" [^"]* "\""',
    r'string-value ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" '
    rf'([0-9a-cA-Ce-fE-F] {HEX}{{3}} | [dD] [0-7] {HEX}{{2}} | {PAIR})))* "\""',
)
"""And: a string is one of JSON, of whole characters. The guide's ends at the first quote, even after a backslash, and
may span lines."""


def read(name: str) -> str:
    return (GUIDE / f"{name}.gbnf").read_text(encoding="utf-8")


def fixed_guide(*changes: tuple[str, str]) -> str:
    """Return the guide's grammar of three tools, fixed for llama.cpp, with changes."""
    text = apply_fixes(check_gbnf(read("generated")))[0]
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def as_written(call: object) -> str:
    return json.dumps(call, indent=2)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("single-tool", [as_written(NAVIGATE), json.dumps(NAVIGATE)], [as_written(SEARCH), EMPTY_CALL]),
        ("manual-test", [EMPTY_CALL, '{"tool":"navigate","args":{}}'], [json.dumps(NAVIGATE)]),
    ],
)
def test_a_complete_snippet_is_valid_and_matches(name: str, good: list[str], bad: list[str]) -> None:
    check = check_gbnf(read(name))
    assert [d.code for d in check.diagnostics if d.severity == "error"] == []
    assert check.grammar is not None
    assert [text for text in good if not match_text(check.grammar, text).accepted] == []
    assert [text for text in bad if match_text(check.grammar, text).accepted] == []


@pytest.mark.parametrize(
    ("name", "missing", "others"),
    [
        ("multi-tool", ["ws", "navigate-args", "search-args", "file-args"], set()),
        ("constructs", ["item"], {"no-root"}),
        ("enum", [], {"no-root"}),
    ],
)
def test_an_incomplete_snippet_is_reported_with_what_is_missing(
    name: str, missing: list[str], others: set[str]
) -> None:
    check = check_gbnf(read(name))
    errors = [d for d in check.diagnostics if d.severity == "error"]
    undefined = [check.document.text[d.start : d.end] for d in errors if d.code == "undefined-rule"]
    assert list(dict.fromkeys(undefined)) == missing
    assert {d.code for d in errors} - {"undefined-rule"} == others
    assert check.grammar is None


def test_the_grammar_of_three_tools_with_rules_over_several_lines_is_fixed() -> None:
    """llama.cpp rejects the guide's version: four bodies continue on the next line."""
    check = check_gbnf(read("generated"))
    text = check.document.text
    errors = [d for d in check.diagnostics if d.severity == "error"]
    assert {d.code for d in errors} == {"rule-on-one-line"}
    assert [text.count("\n", 0, d.start) + 1 for d in errors] == [4, 16, 28, 39]
    again, count = apply_fixes(check)
    assert count == 4
    assert check_gbnf(again).ok
    grammar = load_gbnf(again)
    for call in (NAVIGATE, SEARCH):
        assert match_text(grammar, as_written(call)).accepted
    report = match_text(grammar, as_written(EDIT))
    assert report.failed_at == as_written(EDIT).index("code_edit")
    assert [rule.name for rule in report.rules][-1] == "tool-name"


def test_the_guides_three_tools_have_the_builders_language() -> None:
    """Equal, apart from the stricter parts of the built one: they are proved to be the only differences."""
    guide = load_gbnf(fixed_guide(OWN_ARGUMENTS, JSON_STRINGS))
    found = shortest_differences(OURS, guide, bound=Bound(seconds=60))
    assert found.same, found
    assert found.exhausted, found.bound


@pytest.mark.parametrize(
    ("left_out", "only_guide", "only_ours"),
    [
        (OWN_ARGUMENTS, '{"tool":"file","args":{"action":"grep"}}', None),
        (
            JSON_STRINGS,
            '{"tool":"file","args":{"action":"read","file":"\n"}}',
            '{"tool":"file","args":{"action":"read","file":"\\""}}',
        ),
    ],
    ids=["own-arguments", "json-strings"],
)
def test_each_constraint_of_the_builder_is_missing_in_the_guide(
    left_out: tuple[str, str], only_guide: str, only_ours: str | None
) -> None:
    guide = load_gbnf(fixed_guide(*({OWN_ARGUMENTS, JSON_STRINGS} - {left_out})))
    assert match_text(guide, only_guide).accepted
    assert not match_text(OURS, only_guide).accepted
    if only_ours is not None:
        assert match_text(OURS, only_ours).accepted
        assert not match_text(guide, only_ours).accepted


@pytest.mark.slow
@pytest.mark.parametrize("written", [False, True], ids=["tree", "gbnf"])
def test_with_the_guides_strings_the_languages_are_equal(written: bool) -> None:
    ours = built({"type": "string", "x-grammar": r'"\"" [^"]* "\""'})
    ours = load_gbnf(emit_gbnf(ours).text) if written else ours
    theirs = load_gbnf(fixed_guide(OWN_ARGUMENTS))
    found = shortest_differences(ours, theirs)
    assert found.same and found.exhausted, found
    for one, other in ((ours, theirs), (theirs, ours)):
        assert all(match_text(other, text).accepted for text in sample_texts(one, 60, seed=1))


def test_the_guides_grammar_runs_under_the_mask() -> None:
    assert to_lark(load_gbnf(fixed_guide())).startswith("start: ")


@pytest.mark.model
@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="needs llama-cpp-python")
def test_the_verdicts_are_those_of_llama_cpp() -> None:
    with GrammarProbe() as probe:
        for path in sorted(GUIDE.glob("*.gbnf")):
            assert llama_verdict(probe, read(path.stem)).ok == check_gbnf(read(path.stem)).ok, path.stem
        texts = [as_written(call) for call in (NAVIGATE, SEARCH, EDIT)]
        accepted = [found.accepted for found in probe.match_all(fixed_guide(), texts)]
        assert accepted == [True, True, False]
        assert probe.match(read("single-tool"), texts[0]).accepted
        assert probe.match(read("manual-test"), EMPTY_CALL).accepted
