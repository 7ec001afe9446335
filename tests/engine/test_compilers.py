"""Native compilers on untrusted text: in a separate process, where a crash or a hang becomes an error message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from glyphscope.base.errors import GrammarError
from glyphscope.events import RunFailed, RunRequest, Token
from glyphscope.explain.proof import BatchedReader
from glyphscope.grammar import MaskReader, build_value_grammar, to_lark
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.grammar.regular.pattern import StringLanguage, found, start
from glyphscope.models.scripted import ScriptedModel
from glyphscope.processes import Child
from glyphscope.processes.compilers import service
from glyphscope.registry import check_schema
from glyphscope.runs.strategies import run
from glyphscope.validation.checker import Checker

HOSTILE = "a" * 60 + "!"


@pytest.fixture(scope="module", autouse=True)
def compilers_that_are_no_forks() -> Iterator[None]:
    """Start them without a fork: these tests look at their processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GLYPHSCOPE_FORKS", raising=False)
        service.close()
        yield
        service.close()


def chain(rules: int, name: str = "r") -> str:
    """Rules that each refer to the next one: llguidance's compiler recurses along them."""
    each = "".join(f'{name}{i}: "a" {name}{i + 1}\n' for i in range(rules))
    return f'start: {name}0\n{each}{name}{rules}: "b"\n'


@pytest.mark.slow
def test_a_grammar_that_crashes_llguidance_is_rejected_and_the_next_one_answered() -> None:
    said = service.refusal(chain(40_000))
    assert "llguidance's process was ended by SIG" in said
    assert "too large or nested too deeply" in said
    before = service._GRAMMARS.starts
    assert service.refusal(chain(40_000)) == said, "after a crash there is no second attempt"
    assert service._GRAMMARS.starts == before
    assert service.refusal(chain(3)) == ""
    with pytest.raises(GrammarError, match="llguidance rejects the grammar: llguidance's process"):
        MaskReader(lark=chain(40_000))


@pytest.mark.slow
def test_a_grammar_that_takes_too_long_is_rejected_in_time_and_may_be_tried_again() -> None:
    slow = "start: " + " | ".join(f'"{i}"' for i in range(30_000)) + "\n"
    assert "did not finish within 100 ms" in service.refusal(slow, seconds=0.1)
    assert service.refusal(slow[:2000].rpartition(" |")[0] + "\n") == ""
    before = service._GRAMMARS.starts
    service.refusal(slow, seconds=0.1)
    assert service._GRAMMARS.starts == before, "the second answer's process is used again, not a cached error"


@pytest.mark.slow
def test_texts_that_crash_llguidance_are_found_among_those_that_do_not() -> None:
    def read(texts: Any) -> list[bool | str]:
        if any(len(text) > 3 for text in texts):
            service.read_texts(chain(40_000, "x"), texts)
        return MaskReader(lark=chain(2)).read(texts)

    answers = BatchedReader(read, lambda: False)
    assert answers.read([""]) == [False]
    assert answers.read(["aab", "ab", "aaaa"])[:2] == [True, False]
    assert "SIGSEGV" in str(answers.read(["aaaa", "aab"])[0])


def test_a_text_is_searched_although_the_engine_was_killed() -> None:
    assert found("(?=a)[a-z]{3}", "xabc")
    (pid,) = service._PATTERNS.pids
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert found("(?=b)[a-z]{3}", "abc") is None, "the request that finds it dead fails"
    assert found("(?=c)[a-z]{3}", "abc") is False and found("(?=c)[a-z]{3}", "cab"), "its successor answers"
    assert service._PATTERNS.pids != {pid}


def test_strings_that_are_read_at_the_same_time_are_separate() -> None:
    language = StringLanguage(("^(ab)*c$",))
    one, other = start(language), start(language)
    assert one is not None and other is not None
    assert one.feed("aba") == 3 and other.feed("c") == 1
    assert one.feed("bc") == 2 and other.feed("c") == 0 and other.feed("c") == 0
    assert one.matches() and not one.can_grow() and not other.matches() and not other.can_grow()


def test_reports_that_arrive_together_with_the_result_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reporting.py").write_text(
        "from collections.abc import Callable\n"
        "def count(most: int, report: Callable[[int], None]) -> int:\n"
        "    for number in range(most): report(number)\n"
        "    return most\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    got: list[int] = []

    def report(number: int) -> None:
        got.append(number)
        time.sleep(0.2)  # the child is faster

    child = Child("the counter", "reporting", memory=8 << 30)
    try:
        assert child.call(20.0, import_module("reporting").count, 4, report) == 4
    finally:
        child.close()
    assert got == [0, 1, 2, 3]


def test_a_fork_of_the_program_uses_a_separate_process() -> None:
    assert found("(?=x)x", "x")
    started = service._PATTERNS.starts
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        answers = [found(f"(?=b){char}+", "bb") for char in "abc"]
        os.write(writing, json.dumps([answers, service._PATTERNS.starts - started]).encode())
        service.close()
        os._exit(0)
    os.close(writing)
    answers = [found(f"(?=y){char}+", "yy") for char in "xyz"]
    with open(reading, "rb") as file:
        assert json.load(file) == [[False, True, False], 1]
    os.waitpid(pid, 0)
    assert answers == [False, True, False]


def test_the_compilers_memory_is_limited() -> None:
    assert found("(?=y)y", "y") and service._PATTERNS.pids
    limits = Path(f"/proc/{min(service._PATTERNS.pids)}/limits")
    if not limits.exists():
        pytest.skip("only Linux reports the limits of a process")
    addresses = next(line for line in limits.read_text().splitlines() if line.startswith("Max address space"))
    assert int(addresses.split()[3]) <= 2 << 30


def test_a_run_whose_mask_crashes_the_compiler_fails_without_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parameters = {"type": "object", "properties": {"x": {"type": "string"}}}
    tools = {"tools": [{"name": "crashing", "description": "", "parameters": parameters}]}
    monkeypatch.setattr(service, "refusal", lambda *_, **__: "llguidance's process was ended by SIGSEGV.")
    model = ScriptedModel('{action="crashing" x="y"}')
    events = list(run(RunRequest(prompt="Go.", registry=tools, constraint="mask"), model))
    failed = events[-1]
    assert isinstance(failed, RunFailed) and failed.code == "CONSTRAINT_FAILED"
    assert "SIGSEGV" in failed.message and "smaller" in failed.hint
    assert not any(isinstance(event, Token) for event in events)


@pytest.mark.slow
def test_the_compilers_end_when_their_parent_is_killed() -> None:
    _ends_with_its_parent(
        "from glyphscope.processes.compilers import service\n"
        "service.refusal('start: \"a\"'); print(*service._GRAMMARS.pids, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)"
    )


@pytest.mark.slow
def test_a_process_ends_by_itself_when_its_parent_is_killed_in_the_middle_of_a_call() -> None:
    _ends_with_its_parent(
        "import os, threading, time\n"
        "from glyphscope.processes import Child\n"
        "from glyphscope.base.visible import visible\n"
        "child = Child('Python', '', memory=10**9)\n"
        "child.call(60, visible, 'x'); print(*child.pids, flush=True)\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), 9)).start(); child.call(1, time.sleep, 600)"
    )


def _ends_with_its_parent(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    (pid,) = map(int, done.stdout.split())
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
def test_no_command_calls_llguidance_in_its_own_process(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    (tmp_path / "call.txt").write_text('{action="search" query="x"}')
    code = (
        "import llguidance, sys\n"
        "def never(*_, **__): raise SystemExit('llguidance was called')\n"
        "class Never:\n"
        "    __init__ = never\n"
        "    grammar_from_lark = grammar_from_json_schema = staticmethod(never)\n"
        "llguidance.LLMatcher = llguidance.LLTokenizer = Never\n"
        "from glyphscope.cli import main\n"
        "sys.argv = ['glyphscope', *sys.argv[1:]]; main()"
    )
    for arguments in (
        ["grammar", "build", "--schema", "s.json"],
        ["grammar", "build", "--report"],
        ["check", "call.txt", "--notation", "glyph"],
        ["run", "--model", 'scripted:{action="search" query="x"}', "Search."],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1) and "llguidance was called" not in done.stderr, (
            arguments,
            done.stderr,
        )


@pytest.mark.slow
def test_objects_with_the_same_members_share_their_rules() -> None:
    """As in a configuration's schema whose 100 sections may each contain all that the whole may."""
    sections = {f"s{i}": {"type": "object", "description": str(i), "$ref": "#"} for i in range(60)}
    plain = {f"p{i}": {"type": "string"} for i in range(120)}
    grammar = build_value_grammar({"type": "object", "properties": sections | plain}, "json")
    assert len(grammar.rules) < 600
    text = to_lark(grammar)
    assert len(text) < 100_000
    mask = MaskReader(lark=text)
    assert mask.accepts('{"s0":{"s59":{"p3":"x"},"p0":"y"}}') and not mask.accepts('{"s0":{"q":{}}}')


@pytest.mark.parametrize("at", ["root", "member"])
def test_no_pattern_hangs_the_check_of_a_constant(at: str) -> None:
    """A schema that names its draft makes jsonschema take its own keywords, with `re`."""
    hostile = {"type": "string", "pattern": "^(a+)+$", "enum": [HOSTILE, "aaa"]}
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    member = {**draft, "type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": hostile}}
    schema = {**draft, **hostile} if at == "root" else member
    text = to_lark(build_value_grammar(schema, "json", order="schema"))
    assert "aaa" in text and HOSTILE not in text
    deep = {
        **schema,
        "anyOf": [{"$ref": "#/$defs/x"}, {"type": "object"}],
        "$defs": {"x": {**draft, **hostile}},
    }
    value: Any = HOSTILE if at == "root" else {"x": HOSTILE}
    assert Checker(deep).best_error(value) is not None


@pytest.mark.slow
def test_work_on_a_grammar_is_limited_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {f"p{i}": {"type": "object", "properties": {"x": {"minimum": i}}} for i in range(300)}
    grammar = build_value_grammar({"properties": properties}, "json")
    monkeypatch.setattr("glyphscope.grammar.time_limit.SECONDS", 0.01)
    with pytest.raises(GrammarError, match=r"takes more than 10 ms"):
        build_value_grammar({"properties": properties, "title": "again"}, "json")
    with pytest.raises(GrammarError, match="takes more than"):
        to_lark(grammar)
    monkeypatch.undo()
    assert to_lark(grammar) and emit_gbnf(grammar).text


def test_a_schema_nested_too_deep_is_rejected_at_its_place() -> None:
    schema: Any = {}
    for _ in range(400):
        schema = {"allOf": [schema]}
    with pytest.raises(GrammarError, match="nested more than") as caught:
        build_value_grammar(schema, "json")
    assert caught.value.where.startswith("schema: /allOf/0")


@pytest.mark.slow
def test_a_schema_with_too_many_subschemas_is_rejected() -> None:
    inner = {f"p{i}": {} for i in range(400)}
    problems = check_schema({"properties": {f"o{i}": {"properties": inner} for i in range(400)}})
    assert problems == [((), "It has more than 100,000 schemas in it.")]


def test_a_grammar_with_more_symbols_than_llguidance_has_numbers_says_what_helps(monkeypatch) -> None:
    monkeypatch.setattr(service, "refusal", lambda *_args, **_more: "panic: assertion failed: symbols.len()")
    with pytest.raises(GrammarError) as error:
        to_lark(build_value_grammar({"enum": ["too many symbols"]}, "json"))
    assert "fewer tools" in error.value.hint
