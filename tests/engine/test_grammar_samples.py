"""Whatever the mask allows is a valid call: random walks over the allowed bytes, judged by independent readers."""

import random

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from examples import at_most
from glyphscope.events import NOTATIONS
from glyphscope.grammar import build_call_grammar, to_lark
from glyphscope.notation import call_document
from glyphscope.registry import Tool, ToolRegistry, default_registry
from glyphscope.validation import CallValidator
from reference_readers import READ

TOKENIZER = LLTokenizer("byte")
CLOSERS = frozenset(b'"}] ,')


def walk(matcher, rng):
    """Return a random text of the grammar, preferring closing characters; None if it has no end in 600 bytes."""
    text = bytearray()
    while not matcher.is_accepting():
        if len(text) > 600:
            return None
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8), bitorder="little")
        allowed = [int(byte) for byte in np.flatnonzero(bits) if byte < 256]
        assert allowed, f"the mask is empty after {bytes(text)!r}: {matcher.get_error()[:200]}"
        closing = [byte for byte in allowed if byte in CLOSERS]
        printable = [byte for byte in allowed if 0x20 <= byte < 0x7F]
        ending = closing and rng.random() < 0.3
        byte = rng.choice(closing if ending else printable if printable and rng.random() < 0.9 else allowed)
        assert matcher.try_consume_tokens([byte]) == 1
        text.append(byte)
    return text.decode()


def check(tools, notation, shape, seed, texts):
    template = LLMatcher(
        TOKENIZER, LLMatcher.grammar_from_lark(to_lark(build_call_grammar(tools, notation, shape)))
    )
    rng = random.Random(seed)
    for _ in range(texts):
        text = walk(template.deep_copy(), rng)
        if text is None:
            continue
        document = READ[notation](text)
        name = next(iter(document.values()))
        arguments = document if shape == "flat" else list(document.values())[1]
        if shape == "flat":
            arguments = {key: value for key, value in document.items() if key != "action"}
        assert call_document(name, arguments, shape) == document
        tool = tools.get(name)
        assert tool is not None and tool.enabled
        error = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(tool.parameters).iter_errors(arguments)
        )
        assert error is None, (text, error.message)
        judge = CallValidator(tools, notation, shape)
        for char in text:
            judge.feed(char)
        judge.finish()
        assert not judge.violations and judge.valid, (text, judge.violations)


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize(
    "shape",
    ["flat", *(pytest.param(shape, marks=pytest.mark.slow) for shape in ("tool-args", "name-arguments"))],
)
def test_every_text_of_the_default_registry_is_a_valid_call(notation, shape):
    check(default_registry(), notation, shape, seed=7, texts=40)


bounds = st.tuples(st.integers(-50, 50), st.integers(0, 40))
ranged = bounds.map(lambda b: {"minimum": b[0], "maximum": b[0] + b[1]})
scalars = st.one_of(
    st.sampled_from([{"type": "string"}, {"type": "boolean"}, {"type": ["null", "number"]}, {"type": "integer"}]),
    ranged.map(lambda r: {"type": "integer"} | r),
    ranged.map(lambda r: {"type": "number", "exclusiveMinimum": r["minimum"], "exclusiveMaximum": r["maximum"] + 0.5}),
    st.integers(2, 12).map(lambda m: {"type": "integer", "multipleOf": m}),
    st.tuples(st.integers(0, 3), st.integers(0, 5)).map(
        lambda n: {"type": "string", "minLength": n[0], "maxLength": sum(n)}
    ),
    st.sampled_from(["^[a-z]+$", "^a|b$", r"\d{2}", r"^\S+@\W", "[^\"'x]$"]).map(
        lambda p: {"type": "string", "pattern": p}
    ),
    st.sampled_from(["date", "uuid", "ipv4"]).map(lambda f: {"type": "string", "format": f}),
    st.lists(st.none() | st.integers(-3, 3) | st.text(max_size=3), min_size=1, max_size=4, unique_by=repr).map(
        lambda e: {"enum": e}
    ),
)  # fmt: skip
NAMES = st.sampled_from(["a", "b", "t", "null", "x y", "größe", 'q"', "_k"])


def containers(inner):
    objects = st.dictionaries(NAMES, inner, max_size=3)
    return st.one_of(
        st.tuples(inner, st.integers(0, 2), st.integers(0, 2)).map(
            lambda a: {"type": "array", "items": a[0], "minItems": a[1], "maxItems": a[1] + a[2]}
        ),
        st.tuples(inner, inner).map(lambda a: {"type": "array", "prefixItems": list(a), "items": False}),
        st.tuples(objects, st.randoms(use_true_random=False)).map(
            lambda o: (
                {"type": "object", "properties": o[0], "required": [k for k in o[0] if o[1].random() < 0.5]}
                | {"additionalProperties": False}
            )
        ),
        st.tuples(inner, inner).map(lambda a: {"anyOf": list(a)}),
    )


schemas = st.dictionaries(NAMES, st.recursive(scalars, containers, max_leaves=5), min_size=1, max_size=3)


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.slow
@at_most(40)
@given(properties=schemas, seed=st.integers(0, 2**32), required=st.booleans())
def test_every_text_of_any_schema_is_a_valid_call(notation, properties, seed, required):
    schema = {"type": "object", "properties": properties, "required": list(properties) if required else []}
    tools = ToolRegistry((Tool("tool", "", schema), Tool("other")))
    grammar = build_call_grammar(tools, notation, "flat")
    assert not grammar.unenforced
    check(tools, notation, "flat", seed, texts=3)
