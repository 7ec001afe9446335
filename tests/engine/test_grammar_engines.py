"""Real schemas in both engines: texts that llguidance reads by the Lark grammar, llama.cpp reads by the GBNF."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from examples import some
from glyphscope.base.errors import GrammarError
from glyphscope.events import NOTATIONS
from glyphscope.grammar import MaskReader, build_value_grammar, to_lark
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.models import GrammarProbe
from glyphscope.notation import write_value

SAMPLE = Path(os.environ.get("GLYPHSCOPE_SCHEMAS", "../shared/data/schemas/sample.jsonl"))


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample of real schemas is not there")
@pytest.mark.parametrize("notation", NOTATIONS)
def test_both_engines_agree_on_real_schemas(notation):
    counts = Counter()
    with GrammarProbe() as probe:
        lines = some(SAMPLE.read_text().splitlines(), 3)
        for line in lines[NOTATIONS.index(notation) :: 2]:
            row = json.loads(line)
            try:
                grammar = build_value_grammar(row["schema"], notation)
            except GrammarError as error:
                assert error.where.startswith("schema")
                counts["refused"] += 1
                continue
            emitted = emit_gbnf(grammar)
            texts = [write_value(test["data"], notation) for test in row["tests"]]
            accepted_by_mask = MaskReader(lark=to_lark(grammar)).read(texts)
            found_by_llama = probe.match_all(emitted.text, texts)
            for text, accepted, found in zip(texts, accepted_by_mask, found_by_llama, strict=True):
                counts["same" if found.accepted == accepted else "wider"] += 1
                assert found.accepted == accepted or (found.accepted and emitted.unenforced), (
                    row["name"],
                    text[:200],
                )
    print(notation, dict(counts))
    assert counts["same"] > 100 * counts["wider"] and counts["refused"] < 5
