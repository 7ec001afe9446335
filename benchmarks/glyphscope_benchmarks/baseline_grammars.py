"""The cost of grammars on a real vocabulary, compared with each engine's own: a task of the baseline process.

Every method builds its constraint from the same tools and then reads the same text, one token at a time.
"""

from __future__ import annotations

import json
import time
from collections import deque
from functools import cached_property
from typing import Any

import llama_cpp as llama

from glyphscope.events import LoadOptions, ModelInfo
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.lark.emit import to_lark
from glyphscope.models import wire
from glyphscope.models.decoding.mask import Constraint, TokenMask, schema_grammar
from glyphscope.models.gbnf import GbnfConstraint
from glyphscope.models.session import Session
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.turns import TurnOptions, build_call_grammar


class GrammarTasks:
    """The methods of `{"task": "constraint"}`.

    - `mask`: our grammar in llguidance; `any`: the same with the arguments in any order.
    - `schema`: llguidance's JSON Schema compiler.
    - `gbnf`: our grammar in llama.cpp's sampler; `converter`: llama-cpp-python's conversion in the same sampler.
    """

    def __init__(self, path: str, options: LoadOptions) -> None:
        self._path, self._options = path, options

    def constraint(self, request: dict[str, Any]) -> dict[str, Any]:
        """`built`: the seconds until the first tokens are known; `spent`: the seconds of each token of `text` after it.

        Without a text to read, a converter's result is not passed to llama.cpp, which may reject it.
        """
        session, text = self._session, request["text"]
        registry = parse_document(request["registry"])
        start = time.perf_counter()
        if request["way"] == "converter" and not text:
            _converted(request["schema"])
            return {"built": time.perf_counter() - start}
        constraint = self._made(request, registry)
        constraint.allowed()
        built = time.perf_counter() - start
        spent = []
        for token in session.engine.tokenize(text):
            start = time.perf_counter()
            constraint.allowed()
            constraint.commit(token)
            spent.append(time.perf_counter() - start)
        return {"built": built, "spent": spent}

    def first_mask(self, registry: dict[str, Any]) -> None:
        """Open the model, and compute the first mask of a JSON grammar of the tools."""
        self._made({"way": "mask", "notation": "json"}, parse_document(registry)).allowed()

    def _made(self, request: dict[str, Any], registry: ToolRegistry) -> Constraint:
        session, notation = self._session, request["notation"]
        match request["way"]:
            case "mask":
                return TokenMask(
                    session.mask_tokenizer, to_lark(build_call_grammar(registry, notation, "flat"))
                )
            case "any":
                grammar = build_call_grammar(registry, notation, "flat", TurnOptions(order="any"))
                return TokenMask(session.mask_tokenizer, to_lark(grammar))
            case "schema":
                return TokenMask(session.mask_tokenizer, schema_grammar(request["schema"]))
            case "gbnf":
                return GbnfConstraint(
                    session.engine, emit_gbnf(build_call_grammar(registry, notation, "flat")).text
                )
            case "converter":
                return GbnfConstraint(session.engine, _converted(request["schema"]))
            case way:
                raise ValueError(f"there is no way {way!r}")

    @cached_property
    def _session(self) -> Session:
        load = wire.Load(self._path, ModelInfo(name=""), self._options)
        session = Session(load, progress=lambda _: None, log=deque())
        # made once per model, so not part of any grammar's time
        TokenMask(session.mask_tokenizer, 'start: "a"').allowed()
        return session


def _converted(schema: dict[str, Any]) -> str:
    return str(llama.llama_grammar.json_schema_to_gbnf(json.dumps(schema)))
