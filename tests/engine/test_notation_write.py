import json
import math

import glyph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import NotationError
from glyphscope.notation import call_document, write_call, write_value
from glyphscope.notation.write import STYLES
from reference_readers import plain

SEARCH = {"query": "AI news", "max_results": 10}
QUOTED_OR_CANONICAL = pytest.mark.parametrize("style", ["glyph", "glyph-canonical"])

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.sampled_from(
    ["t", "f", "true", "null", "nil", "none", "_", "_x", "NaN", "Inf", "b64", "-Inf", "1e5", "a-b", "∅"]
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | words, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("json", '{"action":"search","query":"AI news","max_results":10}'),
        ("json-spaced", '{"action": "search", "query": "AI news", "max_results": 10}'),
        (
            "openai",
            '{"type":"function","function":{"name":"search",'
            '"arguments":"{\\"query\\":\\"AI news\\",\\"max_results\\":10}"}}',
        ),
        ("glyph", '{action="search" query="AI news" max_results=10}'),
        ("glyph-canonical", '{action=search query="AI news" max_results=10}'),
    ],
)
def test_a_call_is_written_in_each_style(style, text):
    assert write_call("search", SEARCH, style=style) == text


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("tool-args", '{tool="search" args={query="AI news" max_results=10}}'),
        ("name-arguments", '{name="search" arguments={query="AI news" max_results=10}}'),
    ],
)
def test_each_shape_has_its_place_for_the_arguments(shape, text):
    assert write_call("search", SEARCH, shape=shape) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "_"),
        (True, "t"),
        (2**60, str(2**60)),
        (1.5e300, "1.5e+300"),
        ('a"\\\n\r\t\b\u00e9', '"a\\"\\\\\\n\\r\\t\\u0008é"'),
        (["a", ["b", 1]], '["a" ["b" 1]]'),
        ({"k": {"t": 1, "a b": 2, "_x": 3, "": 4}}, '{k={"t"=1 "a b"=2 "_x"=3 ""=4}}'),
    ],
)
def test_quoted_glyph_has_one_way_to_write_a_value(value, text):
    assert write_value(value, "glyph") == text


@QUOTED_OR_CANONICAL
@at_most(300)
@given(value=values)
def test_every_value_survives_glyph(style, value):
    # written by Glyphscope: glyph-py's own conversion turns large integers into floats
    assert plain(glyph.parse(write_value(value, style))) == value


@pytest.mark.parametrize("style", ["json", "json-spaced"])
@at_most(300)
@given(value=values)
def test_every_value_survives_json(style, value):
    assert json.loads(write_value(value, style)) == value


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "\ud800", b"x", {1: 2}, 10**4000, {"a": [object()]}]
)
def test_a_value_that_a_notation_cannot_express_is_rejected_with_its_place(style, value):
    with pytest.raises(NotationError) as error:
        write_value({"a": [value]}, style)
    assert error.value.where.startswith("/a/0")


@pytest.mark.parametrize("style", STYLES)
def test_a_value_that_is_too_deep_is_rejected_and_200_levels_are_not(style):
    def nested(levels):
        value = 1
        for _ in range(levels):
            value = [value]
        return value

    assert write_value(nested(200), style).count("[") == 200
    with pytest.raises(NotationError, match="levels deep"):
        write_value(nested(5000), style)


def test_an_argument_with_the_name_of_the_tool_key_is_rejected_in_the_flat_shape_only():
    with pytest.raises(NotationError, match="'action'"):
        call_document("edit", {"action": "x"}, "flat")
    assert call_document("edit", {"action": "x"}, "tool-args") == {"tool": "edit", "args": {"action": "x"}}
