"""Formats: valid values made from the grammars of the RFCs, for the validator, the mask and GBNF alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.grammar import example_arguments
from glyphscope.grammar.regular import FORMATS, written_format
from glyphscope.notation import write_call
from glyphscope.registry import ToolRegistry, load_registry, make_tool, normalise
from glyphscope.tools import argument_problems
from glyphscope.turns import build_call_grammar
from glyphscope.validation import CallValidator
from glyphscope.validation.checker import Checker
from lark_reader import lark_reader


def _of(alphabet: str, least: int = 1, most: int = 6) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most)


def _joined(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(p) if isinstance(p, str) else p for p in parts)).map("".join)


def _maybe(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.just("") | part


def _some(part: st.SearchStrategy[str], most: int = 4, between: str = "") -> st.SearchStrategy[str]:
    return st.lists(part, min_size=1, max_size=most).map(between.join)


LOWER, DIGITS, HEX = "abcxyz", "0123456789", "0123456789abcdefABCDEF"
LETTERS = LOWER + LOWER.upper()
_two = lambda low, high: st.integers(low, high).map("{:02}".format)  # noqa: E731
DATE = st.dates().map(str)
FRACTION = _maybe(_joined(".", _of(DIGITS, 1, 12)))
OFFSET = st.sampled_from("Zz") | _joined(st.sampled_from("+-"), _two(0, 23), ":", _two(0, 59))
TIME = _joined(_two(0, 23), ":", _two(0, 59), ":", _two(0, 59), FRACTION, OFFSET)
_digits = _of(DIGITS, 1, 7)
CLOCK = _joined("T", _digits, "H", _maybe(_joined(_digits, "M", _maybe(_joined(_digits, "S"))))) | _joined(
    "T", _digits, st.sampled_from("MS")
)
DAYS = _joined(_digits, "Y", _maybe(_joined(_digits, "M"))) | _joined(_digits, st.sampled_from("MD"))
DURATION = _joined("P", _joined(_digits, "W") | _joined(DAYS, _maybe(CLOCK)) | CLOCK)
_label = _joined(_of(LETTERS + DIGITS, 1, 1), _of(LETTERS + DIGITS + "-", 0, 61), _of(LETTERS + DIGITS, 1, 1))
HOSTNAME = _some(_of(LETTERS + DIGITS, 1, 9) | _label, 8, ".")
ATOM = _of(LETTERS + DIGITS + "!#$%&'*+-/=?^_`{|}~", 1, 40)
IPV4 = st.ip_addresses(v=4).map(str)
_h16 = _of(HEX, 1, 4)
IPV6 = (
    st.ip_addresses(v=6).map(str)
    | st.lists(_h16, min_size=8, max_size=8).map(":".join)
    | st.lists(_h16, min_size=6, max_size=6)
    .map(":".join)
    .flatmap(lambda six: IPV4.map(lambda v4: f"{six}:{v4}"))
    | st.tuples(st.lists(_h16, max_size=3), st.lists(_h16, max_size=3)).map(
        lambda sides: ":".join(sides[0]) + "::" + ":".join(sides[1])
    )
    | IPV4.map("::ffff:{}".format)
)
_quoted = _joined('"', _of(LETTERS + " @.!#[]", 0, 9), _maybe(st.sampled_from(['\\"', "\\\\", "\\ "])), '"')
EMAIL = _joined(
    _some(ATOM, 4, ".") | _quoted,
    "@",
    HOSTNAME | _joined("[", IPV4 | _joined("IPv6:", IPV6), "]"),
)
_signs = LETTERS + DIGITS + "-._~!$&'()*+,;="
_encoded = st.sampled_from(["%20", "%C3%A9", "%2f"])
PCHAR = _some(_of(_signs + ":@") | _encoded, 2)
HOST = (
    HOSTNAME
    | IPV4
    | _joined("[", IPV6, "]")
    | _of(_signs, 0, 5)
    | st.just("my_service")
    | st.just("[v1.a:b]")
)
AUTHORITY = _joined(
    _maybe(_joined(_of(_signs + ":", 0, 5), "@")), HOST, _maybe(_joined(":", _of(DIGITS, 0, 5)))
)
LATER = _maybe(_joined("/", _some(_maybe(PCHAR), 4, "/")))
AFTER = _joined(
    _maybe(_joined("?", _of(_signs + ":@/?[]", 0, 9))), _maybe(_joined("#", _of(_signs + ":@/?", 0, 9)))
)
HIERARCHY = _joined("//", AUTHORITY, LATER) | _joined("/", PCHAR, LATER) | _joined(PCHAR, LATER) | st.just("")
SCHEME = st.sampled_from(["http", "file", "git+ssh", "redis", "urn", "x-a.b", "Z39"])
URI = _joined(SCHEME, ":", HIERARCHY, AFTER)
RELATIVE = (
    _joined("//", AUTHORITY, LATER)
    | _joined("/", _maybe(_joined(PCHAR, LATER)))
    | _joined(_of(_signs + "@"), LATER)
    | st.just("")
)
REFERENCE = URI | _joined(RELATIVE, AFTER)
POINTER = _some(
    _joined("/", _of("ab~é/ ", 0, 5).map(lambda t: t.replace("~", "~0").replace("/", "~1"))), 3
) | st.just("")
_variable = _joined(_of(LETTERS + DIGITS + "_"), _maybe(st.sampled_from([":3", "*", ".b", "%20c"])))
TEMPLATE = _some(_of(_signs + "/:?", 0, 5) | _joined(
    "{", st.sampled_from(["", "+", "#", ".", "/", ";", "?", "&"]), _some(_variable, 3, ","), "}"
))  # fmt: skip

VALID = {
    "date": DATE,
    "time": TIME | st.sampled_from(["23:59:60Z", "23:59:60.25z", "23:59:60+00:00"]),
    "date-time": _joined(DATE, st.sampled_from("Tt"), TIME),
    "duration": DURATION | st.just("PT86400S"),
    "email": EMAIL,
    "idn-email": EMAIL | st.sampled_from(["실례@실례.테스트", "jürgen@exämple.com"]),
    "hostname": HOSTNAME.filter(lambda name: len(name) <= 253) | st.just("xn--4gbwdl.xn--wgbh1c"),
    "idn-hostname": st.sampled_from(
        ["실례.테스트", "bücher.example", "localhost", "xn--4gbwdl.xn--wgbh1c", "例。com"]
    ),
    "ipv4": IPV4,
    "ipv6": IPV6,
    "uuid": st.uuids().map(str) | st.uuids().map(lambda u: str(u).upper()),
    "uri": URI,
    "uri-reference": REFERENCE,
    "iri": URI | st.sampled_from(["http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://例え.jp/道?名=\ue000"]),
    "iri-reference": REFERENCE | st.sampled_from(["//ƒøø.ßår/?∂", "é", "#ƒräg"]),
    "uri-template": TEMPLATE,
    "json-pointer": POINTER,
    "relative-json-pointer": _joined(st.sampled_from(["0", "1", "120"]), POINTER | st.just("#")),
    "regex": st.sampled_from(["^a+$", "[^]", r"\u{1F600}", "(?<n>a)", ""]),
}

INVALID = {
    "date": ["2025-02-29", "1900-02-29", "2025-13-01", "2025-1-1", "2025-01-32", "２025-01-01"],
    "time": ["24:00:00Z", "12:60:00Z", "12:00:00", "12:00:00.Z", "12:00:00+24:00", "12:00:61Z", "12:00:00+1:00"],
    "date-time": ["2025-01-01", "2025-01-01T12:00:00", "2025-01-01 12:00:00Z", "2025-02-30T12:00:00Z"],
    "duration": ["P", "PT", "1D", "P1", "P1YT", "PT1H2S", "P1Y1D", "P1W1D", "p1D", "PT1.5S", "P1S"],
    "email": ["a", "a@", "@b", "a..b@c", ".a@b", "a.@b", "a b@c", "a@b_c", "a@-b", "a@b.", "a@[300.1.1.1]", '"a@b'],
    "idn-email": ["a", "a@", "a..b@c", "é @c"],
    "hostname": ["", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a" * 64, "é.com", "a b", "xn--X", "XN--aa---o47jg78q",
                 ".".join(["a" * 63] * 4)],
    "idn-hostname": ["", ".", "a.", "a..b", "-a", "a_b", "a" * 64, "a b", "xn--X", "\u0300a", "l·",
                     ".".join(["é" * 30] * 9)],
    "ipv4": ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4 ", "a.b.c.d"],
    "ipv6": ["", ":", ":::", "1::2::3", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1.2.3", "::g",
             "fe80::1%eth0"],
    "uuid": ["", "00000000-0000-4000-8000-00000000000", "00000000000040008000000000000000"],
    "uri": ["", "a", "//a/b", "/a", ":a", "1a:b", "http://a b", "http://a/<", "http://a/%z", "http://[::1", "http://[1.2.3.4]/",
            "http://a:b/", "http://a/\\", "http://a/é", "a_b:c", "https://[@a/", "http://a@b@c/"],
    "uri-reference": [" ", "a b", "%", "1:b", "a\\b", "#a#b", "é", "//[a]/"],
    "iri": ["", "/a", "http://a b", "http://2001:db8::1/a:b:c:d@é@", "http://a/\\"],
    "iri-reference": ["a b", "\\", "#é#é", "%é"],
    "uri-template": ["{", "}", "{}", "{a", "{a:0}", "{a:12345}", "a b", "{a b}", "<", "{a}}", "%"],
    "json-pointer": ["a", "/~", "/~2", "#/a"],
    "relative-json-pointer": ["", "/a", "01", "-1/a", "+1/a", "0a", "0##", "1/~2"],
    "regex": ["(", "a**", "[b-a]", r"\Z", "a{,4}", "a++"],
}  # fmt: skip


def registry_of(name):
    schema = {"type": "object", "properties": {"x": {"type": "string", "format": name}}, "required": ["x"]}
    return load_registry([{"name": "tool", "parameters": schema}])


def test_every_format_has_an_example():
    for name in FORMATS:
        example = example_arguments(registry_of(name).tools[0].parameters)
        assert example and Checker({"format": name}).valid(example["x"], {"format": name}), name


@pytest.mark.parametrize("name", [*FORMATS])
def test_a_second_example_of_a_format_has_it_too_whatever_the_description_says(name):
    said = {"type": "string", "format": name, "description": "As in ISO 8601, such as 'noon', e.g. 12"}
    names = ["start_time", "end_time", "third"]
    schema = {"type": "object", "properties": dict.fromkeys(names, said), "required": names}
    example = example_arguments(normalise(schema))
    assert example and all(Checker(said).valid(example[each], said) for each in names)
    if name in ("date", "time", "date-time"):
        assert example["start_time"] != example["end_time"]


def test_every_format_is_tried():
    assert VALID.keys() == INVALID.keys() == FORMATS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_valid_value_of_a_format_is_valid_and_written_by_the_mask(name):
    accepts = lark_reader(build_call_grammar(registry_of(name), "json", "flat"))
    checker = Checker({"format": name})

    @at_most(60)
    @given(VALID[name])
    def check(text):
        assert checker.valid(text, {"format": name}), text
        assert accepts(write_call("tool", {"x": text}, style="json", shape="flat")), text

    check()


@pytest.mark.parametrize("name", FORMATS)
def test_an_invalid_value_of_a_format_is_rejected_by_the_validator_and_the_mask(name):
    registry = registry_of(name)
    accepts = lark_reader(build_call_grammar(registry, "json", "flat"))
    checker = Checker({"format": name})
    for text in INVALID[name]:
        call = write_call("tool", {"x": text}, style="json", shape="flat")
        validator = CallValidator(registry, "json", "flat")
        validator.feed(call)
        validator.finish()
        assert [each.code for each in validator.violations] == ["CONSTRAINT_FORMAT"], text
        assert not checker.valid(text, {"format": name}), text
        assert written_format(name).why or not accepts(call), text


LEAP_SECONDS = [
    ("23:59:60Z", True), ("23:59:60.5z", True), ("22:59:60Z", False), ("12:59:60Z", False), ("23:58:60Z", False),
    ("23:59:60+00:00", True), ("23:59:60-00:00", True), ("01:29:60+01:30", True), ("23:29:60+23:30", True),
    ("15:59:60-08:00", True), ("00:29:60-23:30", True), ("00:06:60+00:07", True), ("23:59:60+01:00", False),
    ("23:59:60+00:30", False), ("00:59:60-08:00", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "valid"), LEAP_SECONDS)
@pytest.mark.parametrize("name", ["time", "date-time"])
def test_a_leap_second_is_the_last_one_before_midnight_utc(name, text, valid):
    text = text if name == "time" else f"1998-12-31T{text}"
    assert Checker({"format": name}).valid(text, {"format": name}) == valid
    validator = CallValidator(registry_of(name), "json", "flat")
    validator.feed(write_call("tool", {"x": text}, style="json", shape="flat"))
    validator.finish()
    assert validator.valid == valid


@pytest.mark.parametrize("name", ["color", "unknown", "int32"])
def test_a_format_without_rules_is_neither_enforced_nor_checked(name):
    assert Checker({"format": name}).valid("(", {"format": name})
    assert written_format(name).why and not written_format(name).checked
    unenforced = build_call_grammar(registry_of(name), "json", "flat").unenforced
    assert [(each.keyword, each.checked) for each in unenforced] == [("format", False)]


@pytest.mark.parametrize("pattern", [r"^([a-z][0-9])+$", r"^\S+@\S+$", "^.*foo.*bar.*$"])
@pytest.mark.parametrize("size", [2_000, 3_500, 10_000])
def test_a_length_beside_a_pattern_is_enforced_or_named_by_its_size_and_not_by_the_machine_s_speed(
    pattern, size
):
    value = {"type": "string", "pattern": pattern, "minLength": size}
    tool = make_tool("f", "", {"type": "object", "properties": {"value": value}, "required": ["value"]})
    grammar = build_call_grammar(ToolRegistry((tool,)), "json", "flat")
    lark_reader(grammar)  # llguidance takes it
    assert [each.keyword for each in grammar.unenforced] == (["minLength"] if size > 2_500 else [])


@pytest.mark.parametrize("notation", ["json", "glyph"])
@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [  # the first one counts the alternatives that "today" fits: without formats, two
        ({"oneOf": [{"type": "string", "format": "date"}, {"enum": ["today"]}]}, "today", "tomorrow"),
        ({"oneOf": [{"const": "me"}, {"type": "string", "format": "email"}]}, "me", "you"),
        ({"type": "string", "format": "date", "enum": ["today", "2026-02-28"]}, "2026-02-28", "today"),
        ({"format": "ipv4", "enum": ["1.2.3.4", "localhost"]}, "1.2.3.4", "localhost"),
        ({"not": {"format": "date"}, "enum": ["2026-02-28", "x"]}, "x", "2026-02-28"),
    ],
)
def test_listed_values_are_judged_by_formats_everywhere(schema, valid, invalid, notation):
    tool = make_tool("t", "", {"type": "object", "properties": {"v": schema}, "required": ["v"]})
    registry = ToolRegistry((tool,))
    accepts = lark_reader(build_call_grammar(registry, notation, "flat"))
    for value, expected in ((valid, True), (invalid, False)):
        text = write_call("t", {"v": value}, style=notation, shape="flat")
        validator = CallValidator(registry, notation, "flat")
        validator.feed(text)
        validator.finish()
        assert accepts(text) == validator.valid == (not argument_problems(tool, {"v": value})) == expected
    assert example_arguments(tool.parameters, [{"v": invalid}]) != {"v": invalid}
