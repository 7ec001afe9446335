"""The best-known verdicts: the tables of the design, and the deciding character."""

from __future__ import annotations

import json
import threading

import pytest

from glyphscope.events import Notation, Shape, Violation, violations_of
from glyphscope.grammar import example_arguments, sample_texts
from glyphscope.notation import write_call
from glyphscope.registry import ToolRegistry, default_registry, load_registry, make_tool
from glyphscope.tools import argument_problems
from glyphscope.turns import build_call_grammar
from glyphscope.validation import CallValidator, CheckReport, Limits


def check(text: str, notation: Notation = "glyph", shape: Shape = "flat", chunk: int = 0) -> CheckReport:
    validator = CallValidator(default_registry(), notation, shape)
    if chunk:
        for at in range(0, len(text), chunk):
            validator.feed(text[at : at + chunk])
    else:
        validator.feed(text)
    validator.finish()
    return validator.report()


ALLOW_LIST = [
    ('{action="search" query="test"}', '{"action":"search","query":"test"}', None),
    (
        '{action="delete_database" target="prod"}',
        '{"action":"delete_database","target":"prod"}',
        "UNKNOWN_TOOL",
    ),
    ('{action="execute" command="rm -rf /"}', '{"action":"execute","command":"rm -rf /"}', None),
    (
        '{action="browse" url="file:///etc/passwd"}',
        '{"action":"browse","url":"file:///etc/passwd"}',
        "CONSTRAINT_PATTERN",
    ),
    (
        '{action="read_file" path="/tmp" encoding="invalid"}',
        '{"action":"read_file","path":"/tmp","encoding":"invalid"}',
        "CONSTRAINT_ENUM",
    ),
    (
        '{action="calculate" expression="1+1" precision=999}',
        '{"action":"calculate","expression":"1+1","precision":999}',
        "CONSTRAINT_MAX",
    ),
    (
        '{action="send_email" to="x@x.com" subject="Hi" body="Hello"}',
        '{"action":"send_email","to":"x@x.com","subject":"Hi","body":"Hello"}',
        None,
    ),
]


@pytest.mark.parametrize(("in_glyph", "in_json", "code"), ALLOW_LIST)
def test_the_allow_list_table_has_its_verdicts(in_glyph: str, in_json: str, code: str | None) -> None:
    for notation, text in (("glyph", in_glyph), ("json", in_json)):
        for chunk in (0, 1, 4):
            report = check(text, notation, chunk=chunk)
            assert report.complete
            assert [e.code for e in report.errors] == ([code] if code else [])
            assert report.tool_allowed is (code != "UNKNOWN_TOOL")


# `^` precedes the deciding character.
DECIDED = [
    ('{action="calculate" precision=9^99', "CONSTRAINT_MAX"),
    ('{action="^delete_database"', "UNKNOWN_TOOL"),
    ('{action="browse" url="^file:', "CONSTRAINT_PATTERN"),
    ('{action="search" query="x" max_results=50^0}', "CONSTRAINT_MAX"),
    ('{action="search" query="x" max_results=^0', "CONSTRAINT_MIN"),
    ('{action="search" query="x" max_results=5^.', "TYPE_MISMATCH"),
    ('{action="search" query="^"', "CONSTRAINT_LEN"),
    ('{action="search" max_results=^"ten"', "TYPE_MISMATCH"),
    ('{action="search"^}', "MISSING_REQUIRED"),
    ('{query="test"^}', "MISSING_TOOL"),
    ('{action="search" ^foo=1', "UNKNOWN_ARGUMENT"),
    ('{action="search" query="x" ^query="y"', "DUPLICATE_ARGUMENT"),
    ("{^foo=1", "UNKNOWN_ARGUMENT"),
    ("{precision=9^9", "CONSTRAINT_MAX"),
    ('{precision=3 action="^search"', "UNKNOWN_ARGUMENT"),
    ('{action="read_file" path="x" encoding="utf^9', "CONSTRAINT_ENUM"),
    ("{action=read_file path=x encoding=utf^9", "CONSTRAINT_ENUM"),
    ('{action="search" query="a\\^q"', "SYNTAX"),
    ('^Sure: {action="search" query="x"}', "LEADING_TEXT"),
    ("^```", "LEADING_TEXT"),
    ('{action="search" query="x"} ^ok', "TRAILING_TEXT"),
    ('{action="search" query="x"^', "TRUNCATED"),
    ("^delete_database{", "UNKNOWN_TOOL"),
    ("search{max_results=^x", "TYPE_MISMATCH"),
    ("search{query=5^}", "TYPE_MISMATCH"),
    ("^", "NO_TOOL_CALL"),
]
DECIDED_JSON = [
    ('{"action":"calculate","precision":9^99', "CONSTRAINT_MAX"),
    ('{"action":"^delete_database"', "UNKNOWN_TOOL"),
    ('{"action":"browse","url":"^file:', "CONSTRAINT_PATTERN"),
    ('{"action":"search","query":^null', "TYPE_MISMATCH"),
    ('{"action":^5', "TYPE_MISMATCH"),
    ('{"action":"read_file","path":"x","encoding":"utf8"^,', "UNKNOWN_ARGUMENT"),
    ('{"^foo"', "UNKNOWN_ARGUMENT"),
    ('{"action":"search","query":"x",^}', "SYNTAX"),
    ('{"action":"search","query":"x","sources":["a"^}', "SYNTAX"),
    ('{"action":"search","query":"x","sources":["a",^1', "TYPE_MISMATCH"),
    ('{"action":"search","query":"\\ud83d^x', "SYNTAX"),
    ('{"action":"calculate","precision":0^1', "SYNTAX"),
]


@pytest.mark.parametrize(
    ("notation", "marked", "code"),
    [("glyph", *case) for case in DECIDED] + [("json", *case) for case in DECIDED_JSON],
)
@pytest.mark.parametrize("chunk", [0, 1, 3])
def test_a_violation_is_at_the_deciding_character(
    notation: Notation, marked: str, code: str, chunk: int
) -> None:
    char = marked.index("^")
    first = check(marked.replace("^", ""), notation, chunk=chunk).errors[0]
    assert (first.code, first.char) == (code, char)
    if chunk:
        assert first.token == (char // chunk if code not in ("TRUNCATED", "NO_TOOL_CALL") else first.token)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("tool-args", '{"tool":"search","args":{"query":"x"}}'),
        ("name-arguments", '{"arguments":{"query":"x"},"name":"search"}'),
        ("flat", '{"query":"x","action":"search"}'),
    ],
)
def test_every_shape_gives_the_same_arguments(shape: Shape, text: str) -> None:
    report = check(text, "json", shape)
    assert report.valid
    assert (report.tool, report.arguments) == ("search", {"query": "x"})


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        ('{"tool":"search"^}', "MISSING_REQUIRED"),
        ('{"tool":"search","args":{"query":"x"}^,', "UNKNOWN_ARGUMENT"),
        ('{"tool":"search","^x"', "UNKNOWN_ARGUMENT"),
        ('{"args":{"precision":9,"expression":"1"},"tool":"^search"', "UNKNOWN_ARGUMENT"),
        ('{"tool":"search","args":^[', "TYPE_MISMATCH"),
        ('{"tool":"search","^tool"', "DUPLICATE_ARGUMENT"),
    ],
)
def test_the_envelope_is_validated_too(marked: str, code: str) -> None:
    first = check(marked.replace("^", ""), "json", "tool-args").errors[0]
    assert (first.code, first.char) == (code, marked.index("^"))


def test_a_violation_names_the_rule_and_the_remaining_values() -> None:
    [error, _] = check('{"action":"search","query":"x","max_results":500', "json").errors
    assert error.path == "/max_results"
    assert error.rule == "/properties/max_results/maximum"
    assert error.viable == "an integer from 1 to 100"


def test_fields_have_the_spans_of_their_values() -> None:
    text = '{action="search" query="AI news" max_results=10}'
    fields = {f.path: text[f.start : f.end] for f in check(text).fields}
    assert fields == {"/action": '"search"', "/query": '"AI news"', "/max_results": "10"}


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ('{action="search" query="x" foo=3 max_results=4}', {"/foo": "impossible", "/max_results": "holds"}),
        (
            '{action="write_file" path="x" contents="y" content="z"}',
            {"/contents": "impossible", "/content": "holds"},
        ),
        ('{action="search" query="x" query="y"}', {"/query": "impossible"}),  # the second one
    ],
)
def test_no_value_of_an_argument_that_the_call_cannot_have_is_valid(
    text: str, statuses: dict[str, str]
) -> None:
    assert {f.path: f.status for f in check(text).fields}.items() >= statuses.items()


def test_a_disabled_tool_is_named_as_such() -> None:
    registry = default_registry()
    execute = registry.get("execute")
    assert execute is not None
    document = registry.to_document()
    document["tools"] = [{**t, "enabled": t["name"] != "execute"} for t in document["tools"]]
    validator = CallValidator(load_registry(document), "glyph", "flat")
    validator.feed('{action="execute"')
    assert [(v.code, v.char) for v in validator.violations] == [("UNKNOWN_TOOL", 9)]
    assert validator.tool == "execute"
    assert not validator.tool_allowed


def test_a_tool_with_an_argument_named_action_is_called_in_the_shape_tool_args_instead_of_flat() -> None:
    registry = load_registry({"move": {"type": "object", "properties": {"action": {"type": "string"}}}})
    for shape in ("flat", "tool-args"):
        validator = CallValidator(registry, "json", shape)
        validator.feed('{"tool":"move","args":{"action":"up"}}')
        assert validator.valid and validator.arguments == {"action": "up"}


def test_with_many_tools_arguments_before_the_name_wait_for_it() -> None:
    tools = {
        f"tool{i}": {"type": "object", "properties": {"n": {"type": "integer", "maximum": i}}}
        for i in range(200)
    }
    validator = CallValidator(load_registry(tools), "json", "flat")
    validator.feed('{"n":150,"action":"tool7"')
    assert [(v.code, v.path, v.char) for v in validator.violations] == [("CONSTRAINT_MAX", "/n", 24)]


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(text=40), '{action="search" query="' + "x" * 100),
        (Limits(depth=5), "{action=search sources=" + "[" * 50),
        (Limits(fields=3), "{action=execute " + "a=1 " * 10),
        (Limits(errors=2), "{action=search sources=[" + "1 " * 10),
    ],
)
def test_every_limit_ends_the_validation_with_its_code(limits: Limits, text: str) -> None:
    registry = load_registry(
        {
            "execute": {"type": "object", "additionalProperties": True},
            "search": {
                "type": "object",
                "properties": {"sources": {"items": {"type": ["string", "array"]}}, "query": {}},
            },
        }
    )
    if limits.fields == 3:
        text = "{action=execute " + " ".join(f"a{i}=1" for i in range(10))
    validator = CallValidator(registry, "glyph", "flat", limits=limits)
    validator.feed(text)
    assert validator.violations[-1].code == "LIMIT_EXCEEDED"
    assert not validator.feed(text)


def test_bytes_may_end_inside_a_character() -> None:
    text = '{action="search" query="é😀"}'
    validator = CallValidator(default_registry(), "glyph", "flat")
    for byte in text.encode():
        validator.feed(bytes([byte]))
    validator.finish()
    assert validator.valid
    assert validator.arguments == {"query": "é😀"}
    assert validator.chars == len(text)


def test_a_hostile_pattern_is_matched_in_time() -> None:
    registry = load_registry(
        {"t": {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}}
    )
    validator = CallValidator(registry, "json", "flat")
    validator.feed('{"action":"t","s":"' + "a" * 50_000)
    assert not validator.violations
    validator.feed("!")
    assert validator.violations[0].code == "CONSTRAINT_PATTERN"


def test_a_pattern_with_lookaround_is_matched_at_the_end_and_says_so() -> None:
    registry = load_registry(
        {"t": {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(?!x)"}}}}
    )
    validator = CallValidator(registry, "json", "flat")
    validator.feed('{"action":"t","s":"xa')
    assert not validator.violations
    validator.feed('"')
    assert "looks around" in validator.violations[0].message


def test_arguments_at_the_depth_limit_are_validated_in_any_thread() -> None:
    node = {"type": "object", "properties": {"a": {"$ref": "#"}, "v": {"type": "integer"}}}
    registry = load_registry({"glyphscope": 1, "tools": [{"name": "f", "parameters": node}]})
    verdicts: list[bool] = []

    def judge() -> None:
        validator = CallValidator(registry, "json", "tool-args")
        validator.feed('{"tool":"f","args":' + '{"a":' * 250 + '{"v":1}' + "}" * 250 + "}")
        verdicts.append(validator.valid)

    thread = threading.Thread(target=judge)
    thread.start()
    thread.join()
    judge()
    assert verdicts == [True, True]


@pytest.mark.parametrize(
    ("schema", "marked", "viable"),
    [
        ({"enum": [1, "a", [1], {"k": 1}]}, "[^2", "1"),
        ({"enum": [1, "a", [1], {"k": 1}]}, '{"k":^2', "1"),
        ({"enum": [1, "a", [1], {"k": 1}]}, '{"^x"', "k"),
        ({"enum": [["a", "b"], ["a"]]}, '["a","b"^,', "the end of the list"),
        ({"oneOf": [{"const": "abc"}, {"const": "abd"}]}, '"ab^z', '"abc" or "abd"'),
        (
            {"anyOf": [{"properties": {"k": {"const": c}}, "type": "object"} for c in "ab"]},
            '{"k":"^c',
            '"a" or "b"',
        ),
    ],
)
def test_listed_values_are_validated_inside_and_every_alternative_is_named(
    schema: object, marked: str, viable: str
) -> None:
    registry = load_registry({"f": {"type": "object", "properties": {"x": schema}}})
    start = '{"action":"f","x":'
    validator = CallValidator(registry, "json", "flat")
    validator.feed(start + marked.replace("^", ""))
    first = validator.violations[0]
    assert first.char == len(start) + marked.index("^")
    assert first.viable == viable


def test_a_type_implied_by_a_constant_names_the_constant() -> None:
    registry = load_registry({"f": {"type": "object", "properties": {"x": {"const": "hello"}}}})
    validator = CallValidator(registry, "json", "flat")
    validator.feed('{"action":"f","x":[')
    assert validator.violations[0].rule == "/properties/x/const"


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema", [{}, {"type": "integer"}, {"enum": [9]}, {"multipleOf": 3}, {"maximum": 8}]
)
@pytest.mark.parametrize("notation", ["glyph", "json"])
@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "9." + "9" * 5000, "9" * 5000 + "x"])
def test_a_number_that_is_too_long_is_a_violation_in_any_chunks(schema, notation, number):
    registry = load_registry({"p": {"type": "object", "properties": {"n": schema}}})
    text = f"{{action=p n={number}}}" if notation == "glyph" else f'{{"action":"p","n":{number}}}'
    reported = set()
    for chunk in (len(text), 1, 7, 4001):
        validator = CallValidator(registry, notation, "flat")
        for at in range(0, len(text), chunk):
            validator.feed(text[at : at + chunk])
        validator.finish()
        reported.add(tuple((v.code, v.char) for v in validator.violations))
    ((*_, last),) = reported
    assert last == ("SYNTAX", text.index(number) + 4000)


def test_an_integer_beyond_every_float_is_checked_for_multiples():
    registry = load_registry({"p": {"type": "object", "properties": {"n": {"multipleOf": 0.5}}}})
    validator = CallValidator(registry, "glyph", "flat")
    validator.feed("{action=p n=" + "9" * 4000 + "}")
    assert validator.valid


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        ({}, "{action=p a=1}", "the tool 'p' takes no arguments"),
        ({}, "p{a=1}", "the tool 'p' takes no arguments"),
        ({"o": {"additionalProperties": False}}, "{action=p o={b=1}}", "this object takes no members"),
        ({"a": {}}, "{action=p a=1 b=1}", "no argument remains"),
    ],
)  # fmt: skip
def test_impossible_arguments_are_not_described_as_used_up(schema, text, message):
    validator = CallValidator(load_registry({"p": {"type": "object", "properties": schema}}), "glyph", "flat")
    validator.feed(text)
    assert validator.violations[0].message == message


def test_a_member_required_by_another_one_is_named():
    schema = {
        "type": "object",
        "properties": {"card": {}, "street": {}, "city": {}, "zip": {}},
        "dependentRequired": {"zip": ["city"], "card": ["street", "city", "zip"]},
    }
    validator = CallValidator(load_registry({"p": schema}), "glyph", "flat")
    validator.feed("{action=p card=1 street=1}")
    (violation,) = validator.violations
    assert violation.message == "the call lacks 'city' and 'zip', which 'card' demands"
    assert violation.rule == "/dependentRequired"


@pytest.mark.parametrize("shape", ["flat", "tool-args"])
@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("glyph", '{"choice":"none"}'),
        ("glyph", "{x=1}"),
        ("json", '{"choice":1}'),
        ("json", '{"":1}'),
        ("json", "{}"),
    ],
)
def test_without_an_allowed_tool_every_text_is_a_violation(notation, text, shape):
    validator = CallValidator(load_registry([]), notation, shape)
    reported = [*validator.feed(text), *validator.finish()]
    assert reported and validator.violations and not validator.valid
    if shape == "flat" and len(text) > 2:
        assert validator.violations[0].message == "no tool is allowed, so there are no arguments"
        assert validator.violations[0].viable == "'action'"


@pytest.mark.parametrize("chunk", [0, 1, 3])
@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_a_key_that_begins_like_a_given_one_is_an_unknown_argument(notation, chunk):
    text = {
        "glyph": '{action="search" query="x" max_results=3 ^max_results_per=4 ^max_results_per=5 ^max_results=6}',
        "json": '{"action":"search","query":"x","max_results":3,"^max_results_per":4,"^max_re":5,"^max_results":6}',
    }[notation]
    errors = check(text.replace("^", ""), notation, chunk=chunk).errors
    assert [error.code for error in errors] == ["UNKNOWN_ARGUMENT", "UNKNOWN_ARGUMENT", "DUPLICATE_ARGUMENT"]
    places = [at - number for number, at in enumerate(at for at, char in enumerate(text) if char == "^")]
    assert [error.char for error in errors] == places
    assert errors[0].message == "no remaining argument begins with 'm'"
    assert errors[2].message == "'max_results' is already given"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_violation_is_corrected_when_the_key_is_another(size):
    text = '{action="search" query="x" max_results=3 max_results_per_page=4}'
    validator = CallValidator(default_registry(), "glyph", "flat")
    events = [event for at in range(0, len(text), size) for event in validator.feed(text[at : at + size])]
    found = violations_of(events)
    assert [(one.code, one.char) for one in found] == [("UNKNOWN_ARGUMENT", text.index("max_results_per"))]
    assert [one.code for one in validator.violations] == ["UNKNOWN_ARGUMENT"]
    reported = [event.code for event in events if isinstance(event, Violation)]
    assert reported == (["UNKNOWN_ARGUMENT"] if size == 1000 else ["DUPLICATE_ARGUMENT", "UNKNOWN_ARGUMENT"])


@pytest.mark.parametrize(
    ("notation", "text", "viable"),
    [
        ("glyph", "'", "'{', search, calculate, browse, execute, read_file, write_file or send_email"),
        ("glyph", "Sure", "'{', search, calculate, browse, execute, read_file, write_file or send_email"),
        ("glyph", "delete", "'{', search, calculate, browse, execute, read_file, write_file or send_email"),
        ("glyph", "", "'{', search, calculate, browse, execute, read_file, write_file or send_email"),
        ("glyph", "search x", "'{'"),
        ("json", "Sure", "'{'"),
    ],
)
def test_every_possible_beginning_is_named(notation, text, viable):
    """Each name is possible: the head form of a call begins with it."""
    (error,) = check(text, notation).errors[:1]
    assert error.viable == viable
    if notation == "glyph" and error.code == "LEADING_TEXT" and text != "search x":
        assert "'{' or the name of a tool" in error.message
        for name in (tool.name for tool in default_registry()):
            validator = CallValidator(default_registry(), "glyph", "flat")
            validator.feed(name)
            assert not validator.violations


_PAY = {"type": "object", "properties": {"amount": {"type": "number", "multipleOf": 0.01}}}


@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_every_price_is_a_multiple_of_a_cent_while_it_streams_and_at_its_end(notation):
    registry = load_registry([{"name": "pay", "parameters": _PAY}])
    for cents in range(0, 1000, 7):
        price = cents / 100
        for amount, valid in ((str(price), True), (f"{price:.2f}5", False)):
            text = write_call("pay", {"amount": json.loads(amount)}, style=notation, shape="flat")
            validator = CallValidator(registry, notation, "flat")
            validator.feed(text)
            validator.finish()
            assert validator.valid == valid, text
        assert not argument_problems(registry.tools[0], {"amount": price})
    assert example_arguments(registry.tools[0].parameters | {"required": ["amount"]})


UUID = {"type": "string", "format": "uuid"}
PARENT = {
    "oneOf": [
        {"type": "object", "properties": {name: UUID}, "required": [name]}
        for name in ("page_id", "database_id", "block_id")
    ]
}


@pytest.mark.parametrize("name", ["page_id", "database_id", "block_id"])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_an_open_alternative_that_lacks_a_name_is_not_the_reason_if_another_one_has_a_wrong_value(
    name, chunk
):
    """Open objects accept each other's members, so that only the end of the object excludes the last of them."""
    tools = load_registry({"t": {"type": "object", "properties": {"parent": PARENT}}})
    text = f'{{"action":"t","parent":{{"{name}":"my-db"}}}}'
    validator = CallValidator(tools, "json", "flat")
    for at in range(0, len(text), chunk):
        validator.feed(text[at : at + chunk])
    (violation,) = validator.violations
    assert (violation.code, violation.path) == ("CONSTRAINT_FORMAT", f"/parent/{name}")
    assert violation.char == len(text) - 2 and violation.rule.endswith(f"/properties/{name}/format")
    assert violation.message == f'{name} is rejected: "my-db" is not a "uuid"'
    assert {field.path: field.status for field in validator.fields}[f"/parent/{name}"] == "impossible"


def test_an_open_alternative_that_lacks_a_name_is_the_reason_if_no_value_is_wrong():
    tools = load_registry({"t": {"type": "object", "properties": {"parent": PARENT}}})
    validator = CallValidator(tools, "json", "flat")
    validator.feed('{"action":"t","parent":{"other":1}')
    assert validator.violations[0].code == "MISSING_REQUIRED"


@pytest.mark.parametrize("schema", [{"not": {}}, {"allOf": [False]}, {"allOf": [{"type": "string"}]}])
@pytest.mark.parametrize(
    "text", ['{"query":1,"action":"t"}', '{"action":"t","query":1}', '{"query":{},"zoo":']
)
def test_a_call_of_a_tool_whose_schema_nothing_fits_is_rejected_in_any_order(schema, text):
    registry = ToolRegistry((make_tool("t", "", {"type": "object", **schema}),))
    validator = CallValidator(registry, "json", "flat")
    for char in text:
        validator.feed(char)
    validator.finish()
    assert validator.violations


@pytest.mark.parametrize("chunk", [0, 1, 3])
@pytest.mark.parametrize(
    ("notation", "value"),
    [  # `^` precedes the digit from which on every number is larger; in GLYPH, the word may become text up to its end
        ("json", "1e30^9"),
        ("json", "[-2.5E+39^9]"),
        ("json", '{"b":1e99^9}'),
        ("glyph", "1e999^ "),
        ("json", "1e308"),
        ("json", "0e999"),
        ("json", "1e-999"),
        ("json", "1" + "0" * 400),
    ],
)
def test_a_number_that_is_too_large_is_said_to_be(notation: Notation, value: str, chunk: int) -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    begun = '{"action":"t","a":' if notation == "json" else '{action="t" a='
    text = begun + value.replace("^", "") + "}"
    validator = CallValidator(ToolRegistry((make_tool("t", "", schema),)), notation, "flat")
    for at in range(0, len(text), chunk or len(text)):
        validator.feed(text[at : at + (chunk or len(text))])
    validator.finish()
    errors = validator.report().errors
    decided = [len(begun) + value.index("^")] if "^" in value else []
    assert [(each.code, each.char) for each in errors] == [("SYNTAX", char) for char in decided]
    assert all("too large" in each.message for each in errors)


@pytest.mark.parametrize("notation", ["json", "glyph"])
@pytest.mark.parametrize("value", [1e-07, 2.5e-10, 1e22, 1e300, -3e-8, 5.0, 10**30, 0.1])
@pytest.mark.parametrize("listed", [{"const": None}, {"type": "number", "enum": [None, 1]}])
def test_a_listed_number_is_valid_as_the_grammar_writes_it_and_as_json_does(
    notation: Notation, value: float, listed: dict[str, object]
) -> None:
    keyword = "const" if "const" in listed else "enum"
    schema = {**listed, keyword: value if keyword == "const" else [value, 1]}
    tool = make_tool("t", "", {"type": "object", "properties": {"a": schema}, "required": ["a"]})
    registry = ToolRegistry((tool,))
    begun = '{"action":"t","a":' if notation == "json" else '{action="t" a='
    texts = [
        *sample_texts(build_call_grammar(registry, notation, "flat"), 4),
        f"{begun}{json.dumps(value)}}}",
    ]
    for text in texts:
        validator = CallValidator(registry, notation, "flat")
        for char in text:
            validator.feed(char)
        validator.finish()
        assert validator.valid, (text, validator.report().errors)
