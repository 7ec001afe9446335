from glyphscope.notation.write import STYLES, call_sizes, text_sizes


def test_sizes_count_code_points_utf8_bytes_and_the_tokens_of_the_given_model():
    size = text_sizes('{q="é😀"}', "glyph", lambda text: text.count('"'))
    assert (size.characters, size.bytes, size.tokens) == (8, 12, 2)


def test_without_a_tokenizer_there_is_no_token_count():
    sizes = call_sizes("search", {"query": "AI news", "max_results": 10}, "flat")
    assert [size.style for size in sizes] == list(STYLES)
    assert [size.bytes for size in sizes] == [54, 59, 105, 48, 46]
    assert {size.tokens for size in sizes} == {None}
