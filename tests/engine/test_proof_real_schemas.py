"""530 real schemas: each compiles, grammar and validator together judge each instance right, and what is enforced.

`python tests/engine/test_proof_real_schemas.py SAMPLE.jsonl [START END]` prints how many constraints each engine
enforces, beside llama-cpp-python's converter and llguidance's own compiler.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glyphscope.errors import GlyphscopeError
from glyphscope.grammar import build_call_grammar, to_lark
from glyphscope.grammar.reading import MaskReader
from glyphscope.notation import write_call
from glyphscope.proof import ENGINES, prove
from glyphscope.registry import ToolRegistry, load_registry
from glyphscope.validation import CallValidator

NO_CALL = {
    "Handwritten---pnmp10": "asks for three members and names none: a call's own arguments are never free to a grammar"
}
"""Schemas with valid instances of which no call can be built, and why; it is told where they are used."""

_SCHEMAS = frozenset(
    {
        "properties",
        "patternProperties",
        "additionalProperties",
        "items",
        "not",
        "if",
        "then",
        "else",
        "contains",
    }
    | {"propertyNames", "dependencies"}
)


def cases(path: Path) -> Iterator[tuple[str, ToolRegistry, list[tuple[Any, bool]]]]:
    """Each schema as that of a tool `f`, with its instances as arguments and whether they are valid."""
    for line in path.read_text().splitlines():
        case = json.loads(line)
        schema = case["schema"]
        bare = isinstance(schema, dict) and schema.get("type") == "object"
        if not bare:  # its references are relative to the whole document, wherever they lead
            kept = schema if isinstance(schema, dict) else {}
            shared = {k: v for k, v in kept.items() if isinstance(v, dict) and k not in _SCHEMAS}
            schema = {"type": "object", "properties": {"value": schema}, "required": ["value"], **shared}
        document = {
            "glyphscope": 1,
            "unknown_arguments": "allow",
            "tools": [{"name": "f", "parameters": schema}],
        }
        tests = [(test["data"] if bare else {"value": test["data"]}, test["valid"]) for test in case["tests"]]
        yield case["name"], load_registry(document), [(a, valid) for a, valid in tests if isinstance(a, dict)]


@pytest.mark.slow
def test_an_instance_that_grammar_and_validator_together_judge_wrong(shared_data: Path) -> None:
    """What is invalid is refused by one of them. A valid one may be written in another order than a grammar asks for,
    so it is only refused wrongly where the validator does."""
    wrong: list[tuple[str, Any]] = []
    not_built: list[tuple[str, str]] = []
    for name, registry, tests in cases(shared_data / "schemas" / "sample.jsonl"):
        try:
            reader = MaskReader(lark=to_lark(build_call_grammar(registry, "json", "tool-args")))
        except GlyphscopeError as error:
            if (
                any(valid for _, valid in tests) and name not in NO_CALL
            ):  # otherwise there may be no call of it at all, which is told
                not_built.append((name, error.message))
            continue
        for arguments, valid in tests:
            text = write_call("f", arguments, style="json", shape="tool-args")
            validator = CallValidator(registry, "json", "tool-args")
            validator.feed(text)
            validator.finish()
            if validator.valid != valid or (reader.accepts(text) and validator.valid and not valid):
                wrong.append((name, arguments))
    assert not_built == []
    assert wrong == []


def main(path: Path, start: int, end: int) -> None:
    """Prints the figures."""
    counted: dict[str, Counter[str]] = {engine: Counter() for engine in ENGINES}
    reasons: Counter[tuple[str, ...]] = Counter()
    began = time.monotonic()
    for number, (name, registry, _) in enumerate(cases(path)):
        if not start <= number < end:
            continue
        report = prove(registry, "json", "tool-args", ENGINES)
        for engine, counts in report.counts.items():
            counted[engine].update(counts)
        for proof in report.proofs:
            if proof.status != "enforced":
                reasons[proof.engine, proof.status, proof.keyword, proof.why[:60]] += 1
            if proof.engine in ("mask", "gbnf") and "valid call" in proof.why:
                print(
                    f"{name}: {proof.engine} {proof.pointer}: {proof.why}: {proof.witness[:200]}", flush=True
                )
    for engine, statuses in counted.items():
        print(engine, dict(statuses))
    for reason, times in reasons.most_common(60):
        print(times, *reason)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(a) for a in sys.argv[2:4] or (0, 10**6)))
