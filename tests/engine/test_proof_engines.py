"""Proofs by the real engines: leaks are shown with their witness, and nothing is called enforced untested."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from glyphscope.base.errors import GrammarError, ModelDied
from glyphscope.explain.proof import BatchedReader, Proof, Report, iterate_proofs, prove, spellings
from glyphscope.explain.proof import proofs as proof_steps
from glyphscope.grammar import MaskReader, call_schema
from glyphscope.registry import ToolRegistry, default_registry, make_tool

needs_llama = [
    pytest.mark.model,
    pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="needs llama-cpp-python"),
]


def registry(**properties: Any) -> ToolRegistry:
    return ToolRegistry((make_tool("f", "", {"type": "object", "properties": properties}),))


def by_place(report: Report) -> dict[tuple[str, str], Proof]:
    return {(proof.pointer, proof.engine): proof for proof in report.proofs}


@pytest.mark.parametrize("notation", ["json", "glyph"])
@pytest.mark.parametrize("shape", ["flat", "tool-args", "name-arguments"])
def test_every_constraint_of_the_bundled_tools_is_enforced_by_the_mask(notation: Any, shape: Any) -> None:
    report = prove(default_registry(), notation, shape, ("mask",))
    assert [proof for proof in report.proofs if proof.status != "enforced"] == []
    assert report.counts["mask"]["enforced"] > 40


def test_many_tools_are_proved_in_grammars_of_a_few_of_them_with_the_same_proofs_and_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools, shown = default_registry(), list[tuple[int, int]]()
    whole = list(iterate_proofs(tools, "json", "flat", ("mask",)))
    sizes = []
    made = proof_steps.EngineCalls.grammar
    monkeypatch.setattr(
        proof_steps.EngineCalls,
        "grammar",
        lambda calls, tool=None: sizes.append(len(calls.registry.tools)) or made(calls, tool),
    )
    monkeypatch.setattr(proof_steps, "TOGETHER", 3)
    progress = lambda *done: shown.append(done)  # noqa: E731
    assert list(iterate_proofs(tools, "json", "flat", ("mask",), progress=progress)) == whole
    count = len(tools.allowed)
    assert max(sizes) == 3 and shown == [(n, count) for n in range(1, count + 1)]


def test_a_leak_has_its_witness() -> None:
    tools = registry(v={"type": "array", "items": {"type": "integer"}, "uniqueItems": True})
    proof = by_place(prove(tools, "json", "flat", ("mask",)))["/properties/v/uniqueItems", "mask"]
    assert proof.status == "checked"
    assert proof.witness == '{"action":"f","v":[1,1]}'
    assert proof.what == "an item twice"
    assert "repeat" in proof.why


def test_an_undecided_constraint_is_unsupported() -> None:
    tools = registry(v={"type": "string", "format": "unheard-of"})
    proof = by_place(prove(tools, "json", "flat", ("mask",)))["/properties/v/format", "mask"]
    assert proof.status == "unsupported"
    assert proof.why == "no rules are known for this format"


def test_values_that_are_not_written_or_judged_late_are_named_beside_the_constraint() -> None:
    tools = registry(
        at={"type": "string", "format": "time"},
        x={"type": "number", "minimum": 0, "maximum": 90},
        n={"type": "integer"},
        small={"type": "integer", "minimum": 0, "maximum": 9},
        listed={"enum": [1, "a"]},
        word={"enum": ["a"]},
        mail={"type": "string", "pattern": r"^(?!.*\.\.)[a-z.]+$"},
        plain={"type": "string", "pattern": "^[a-z.]+$"},
    )
    proofs = by_place(prove(tools, "json", "flat", ("mask",)))
    named = {
        place: proof.why for (place, _), proof in proofs.items() if proof.status == "enforced" and proof.why
    }
    assert named == {
        "/properties/at/format": "it does not write leap seconds with another offset than UTC's; "
        "check judges a leap second with an offset at the end of the text only",
        "/properties/mail/pattern": "check judges the pattern at the end of the text only",
        "/properties/x/type": "it does not write some numbers of more than 15 digits",
        "/properties/n/type": "it does not write integers of more than 20 digits",
        "/properties/listed/enum": "it does not write other spellings of a listed number, such as 1.0 for 1",
    }


def test_a_schema_that_an_engine_rejects_is_unsupported() -> None:
    tools = registry(v={"type": "integer", "not": {"const": 3}})
    proofs = by_place(prove(tools, "json", "flat", ("schema", "mask")))
    assert proofs["/properties/v/not", "schema"].status == "unsupported"
    assert "llguidance" in proofs["/properties/v/not", "schema"].why
    assert proofs["/properties/v/not", "mask"].status == "checked"


def test_an_impossible_tool_does_not_affect_the_others() -> None:
    impossible = {"type": "object", "properties": {"x": False}, "required": ["x"]}
    sound = {"type": "object", "properties": {"x": {"type": "integer", "maximum": 3}}}
    tools = ToolRegistry(
        (
            make_tool("bad", "", impossible),
            make_tool("good", "", sound),
        )
    )
    report = prove(tools, "json", "flat", ("mask",))
    assert {proof.status for proof in report.proofs if proof.tool == "good"} == {"enforced"}
    assert {proof.status for proof in report.proofs if proof.tool == "bad"} == {"unsupported"}


def test_glyph_is_unsupported_by_engines_of_json_only() -> None:
    report = prove(default_registry(), "glyph", "flat", ("schema",))
    assert report.counts["schema"] == {"enforced": 0, "checked": 0, "unsupported": len(report.proofs)}
    assert all("JSON only" in proof.why for proof in report.proofs)


def test_a_cancelled_proof_stops() -> None:
    reported: list[tuple[int, int]] = []
    report = prove(
        default_registry(),
        "json",
        "flat",
        ("mask",),
        progress=lambda done, of: reported.append((done, of)),
        cancelled=lambda: len(reported) == 2,
    )
    assert report.cancelled
    assert reported == [(1, 7), (2, 7)]
    assert len({proof.tool for proof in report.proofs}) == 2


def test_proofs_are_returned_one_by_one() -> None:
    first = list(itertools.islice(iterate_proofs(default_registry(), "json", "flat", ("mask",)), 3))
    assert [proof.tool for proof in first] == ["search"] * 3


@pytest.mark.parametrize(
    ("value", "notation", "expected"),
    [
        (101, "json", ["101.0", "1010e-1", "101e0"]),
        (0.5, "json", ["0.50", "5e-1"]),
        ("ab", "json", ['"\\u0061b"']),
        ("ab", "glyph", ['"\\u0061b"', "ab"]),
        ("😀", "json", ['"\\ud83d\\ude00"']),
        (True, "glyph", ["true"]),
        (None, "glyph", ["null", "∅"]),
        (None, "json", []),
    ],
)
def test_every_spelling_of_a_value_is_tested(value: Any, notation: Any, expected: list[str]) -> None:
    assert spellings(value, notation) == expected


def test_references_in_the_schema_of_a_call_lead_to_the_same_places() -> None:
    schema = {
        "type": "object",
        "properties": {"v": {"$ref": "#/$defs/small"}},
        "$defs": {"small": {"type": "integer", "maximum": 3}},
    }
    for shape in ("flat", "tool-args"):
        tools = ToolRegistry((make_tool("f", "", schema),))
        reader = MaskReader(schema=call_schema(tools, shape))  # type: ignore[arg-type]
        inner = '"v":%d' if shape == "flat" else '"args":{"v":%d}'
        key = "action" if shape == "flat" else "tool"
        assert reader.accepts(f'{{"{key}":"f",{inner % 3}}}')
        assert not reader.accepts(f'{{"{key}":"f",{inner % 4}}}')


def test_a_grammar_that_llguidance_rejects_is_an_error() -> None:
    with pytest.raises(GrammarError, match="llguidance"):
        MaskReader(lark="start: nothing_of_the_kind")
    assert not MaskReader(lark='start: "a"').accepts("\ud800")


class TestLlamaCpp:
    pytestmark = needs_llama

    @pytest.mark.parametrize("notation", ["json", "glyph"])
    def test_every_constraint_of_the_bundled_tools_is_enforced_by_the_gbnf(self, notation: Any) -> None:
        report = prove(default_registry(), notation, "flat", ("gbnf",))
        assert [proof for proof in report.proofs if proof.status != "enforced"] == []

    def test_the_leak_of_the_converter_is_shown(self) -> None:
        tools = registry(v={"type": "integer", "minimum": 1, "maximum": 100})
        proofs = by_place(prove(tools, "json", "flat", ("gbnf", "converter")))
        leak = proofs["/properties/v/maximum", "converter"]
        assert (leak.status, leak.witness) == ("checked", '{"action":"f","v":101}')
        assert proofs["/properties/v/maximum", "gbnf"].status == "enforced"

    @pytest.mark.slow
    def test_long_texts_are_tested_without_a_time_limit_for_all_together(self) -> None:
        tools = registry(**{f"v{i}": {"type": "string", "maxLength": 40_000} for i in range(6)})
        report = prove(tools, "json", "flat", ("gbnf",))
        assert not [proof for proof in report.proofs if "come to an end" in proof.why]
        assert report.counts["gbnf"]["unsupported"] == 0

    def test_a_grammar_of_the_converter_that_is_rejected_is_unsupported(self) -> None:
        r"""It turns `\d` in a class into a GBNF that llama.cpp cannot read."""
        tools = registry(v={"type": "string", "pattern": r"^[\w]+$"}, w={"type": "integer", "maximum": 3})
        proofs = by_place(prove(tools, "json", "flat", ("gbnf", "converter")))
        assert proofs["/properties/v/pattern", "converter"].status == "unsupported"
        assert "rejects" in proofs["/properties/v/pattern", "converter"].why
        assert proofs["/properties/v/pattern", "gbnf"].status == "enforced"


WEAK = {
    "first": {"enum": ["a"]},
    "second": {"not": {"allOf": [{"items": {"not": {"$ref": "#/$defs/first"}}}]}},
    "steps": {"anyOf": [{"not": {"multipleOf": 5}}, {"multipleOf": 24}]},
}


@pytest.mark.slow
@pytest.mark.parametrize("notation", ["json", "glyph"])
def test_a_leak_caused_by_an_overlapping_alternative_is_explained(notation: Any) -> None:
    choice = {"oneOf": [{"$ref": "#/$defs/first"}, {"$ref": "#/$defs/second"}]}
    steps = {"type": "integer", "minimum": 1, "allOf": [{"$ref": "#/$defs/steps"}]}
    schema = {"type": "object", "properties": {"v": choice, "n": steps}, "$defs": WEAK}
    report = prove(ToolRegistry((make_tool("f", "", schema),)), notation, "tool-args", ("mask",))
    proofs = by_place(report)
    for place in ("/$defs/first/enum", "/properties/v/oneOf"):
        assert proofs[place, "mask"].status == "checked"
        assert "alternative 2 lets through what /$defs/second/not would reject" in proofs[place, "mask"].why
    assert proofs["/$defs/first/enum", "mask"].why.startswith("/properties/v/oneOf: ")
    assert proofs["/$defs/steps/anyOf", "mask"].status == "checked"
    assert "alternative 1" in proofs["/$defs/steps/anyOf", "mask"].why
    assert [proof for proof in report.proofs if proof.status == "checked" and not proof.why] == []


class Tired(MaskReader):
    """An engine that fails on long texts."""

    def read(self, texts: Sequence[str]) -> list[bool | str]:
        read = super().read(texts)
        return [
            "too many expressions constructed" if len(text) > 60 else answer
            for text, answer in zip(texts, read, strict=True)
        ]


def test_a_constraint_over_which_an_engine_failed_is_unsupported_and_the_rest_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("glyphscope.explain.proof.engines.MaskReader", Tired)
    tools = registry(long={"type": "string", "maxLength": 40}, n={"type": "integer", "maximum": 3})
    proofs = by_place(prove(tools, "json", "flat", ("mask",)))
    assert proofs["/properties/n/maximum", "mask"].status == "enforced"
    long = proofs["/properties/long/maxLength", "mask"]
    assert (long.status, long.unproved) == ("unsupported", True)
    assert long.why.startswith("unproved: the engine failed. too many expressions")
    assert proofs["/properties/long/type", "mask"].status == "enforced"


class Dying:
    """An engine that hangs on some texts."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.asked: list[int] = []

    def read(self, texts: Sequence[str]) -> list[bool | str]:
        self.asked.append(len(texts))
        if any(len(text) > self.most for text in texts):
            raise ModelDied("It did not come to an end.", signal="timeout")
        return ["1" in text for text in texts]


def test_a_text_that_hangs_llama_cpp_does_not_affect_the_others() -> None:
    probe = Dying(30)
    read = BatchedReader(probe.read, lambda: False).read
    assert read([""]) == [False]
    texts = ["x" * 31, "1", "x", "1" * 30]
    assert read(texts) == ["It did not come to an end.", True, False, True]
    assert probe.asked == [1, 4, 1, 1, 1, 1]
    answers = read(["y" * 50 + str(number) for number in range(300)])
    assert len(probe.asked) < 10, "after three crashes there are no more attempts"
    assert all(isinstance(answer, str) for answer in answers)
    assert "not used again" in str(answers[-1])


def test_a_grammar_that_kills_llama_cpp_is_not_blamed_on_a_text() -> None:
    with pytest.raises(ModelDied):
        BatchedReader(Dying(-1).read, lambda: False).read([""])


def test_a_stopped_proof_asks_llama_cpp_nothing() -> None:
    probe = Dying(30)
    assert BatchedReader(probe.read, lambda: True).read(["1"]) == ["It was stopped."]
    assert not probe.asked
