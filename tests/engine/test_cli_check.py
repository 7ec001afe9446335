import json
import os
import subprocess
import sys

import pytest

from cli_command import command

CALL = '{action="search" query="AI news" max_results=10}'
LATE = '{action="calculate" expression="1" precision=999'


def check(*arguments: str, text: str | bytes | None = None):
    return command("check", *arguments, text=text)


def answer(*arguments: str, text: str | bytes | None = None):
    return json.loads(check("--json", *arguments, text=text).stdout)


def test_a_valid_call_is_a_yes_with_exactly_the_documented_keys():
    result = check("--json", "-", text=CALL)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert list(report) == [
        "complete", "valid", "tool", "tool_allowed", "tool_char", "arguments", "errors", "fields", "chars", "tokens",
        "stopped_at",
    ]  # fmt: skip
    assert (report["tool"], report["arguments"]) == ("search", {"query": "AI news", "max_results": 10})


@pytest.mark.parametrize(
    ("text", "notation", "code", "char"),
    [
        (LATE, "glyph", "CONSTRAINT_MAX", LATE.index("99") + 1),
        ('{action="delete_database"', "glyph", "UNKNOWN_TOOL", 9),
        ('{action="browse" url="file:', "glyph", "CONSTRAINT_PATTERN", 22),
        ('{"action":"delete_database"', "json", "UNKNOWN_TOOL", 11),
        ('{"action":"browse","url":"file:', "json", "CONSTRAINT_PATTERN", 26),
        ("", "glyph", "NO_TOOL_CALL", 0),
    ],
)
@pytest.mark.parametrize("chunk", [[], ["--chunk", "1"], ["--chunk", "4"]])
def test_the_deciding_character_is_named_and_the_answer_is_no(text, notation, code, char, chunk):
    result = check("--json", "--notation", notation, *chunk, "-", text=text)
    first = json.loads(result.stdout)["errors"][0]
    assert (result.exit_code, first["code"], first["char"]) == (1, code, char)


def test_the_token_of_a_violation_is_the_chunk_it_happened_in():
    report = answer("--chunk", "4", "-", text=LATE)
    assert report["tokens"] == -(-len(LATE) // 4)
    assert report["errors"][0]["token"] == report["errors"][0]["char"] // 4
    assert report["stopped_at"] is None


def test_stop_reads_no_further_than_the_token_of_the_first_violation():
    text = LATE + " " * 100
    report = answer("--chunk", "4", "--stop", "-", text=text)
    token = report["errors"][0]["token"]
    assert (report["stopped_at"], report["chars"], report["tokens"]) == (
        4 * (token + 1),
        4 * (token + 1),
        token + 1,
    )
    assert len(report["errors"]) == 1


def test_line_ends_of_a_file_count_as_characters(tmp_path):
    file = tmp_path / "call"
    file.write_bytes(CALL.encode() + b"\r\n")
    assert answer(str(file))["chars"] == len(CALL) + 2


def test_the_deciding_character_is_marked_without_colour():
    result = check("-", text=LATE)
    lines = result.stdout.splitlines()
    assert lines[1].index("▲") == LATE.index("99") + 1
    assert (
        "CONSTRAINT_MAX at character" in result.stdout
        and "still possible: an integer from 0 to 15" in result.stdout
    )


def test_the_caret_is_below_wide_and_control_characters():
    text = '{action="search" query="日本\t" max_results=999'
    lines = check("-", text=text).stdout.splitlines()
    assert lines[1].index("▲") == len(lines[0]) - 1 + 2  # two wide characters take one more cell each
    assert "␉" in lines[0]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "no such file"),
        (b"\xff\xfe\x00\x01", "not UTF-8"),
        (b'{action="caf\xe9"', "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_exit_code_2(tmp_path, content, why):
    file = tmp_path / "call"
    if content is not None:
        file.write_bytes(content)
    result = check("--json", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr and str(file) in result.stderr.replace("\n", "")
    assert "Traceback" not in result.stderr


def test_a_folder_is_not_a_file(tmp_path):
    result = check(str(tmp_path))
    assert result.exit_code == 2 and "folder" in result.stderr


@pytest.mark.parametrize(
    "registry",
    ["{", "[1]", '{"glyphscope": 1, "tools": [{"name": "a", "parameters": {"type": "strin"}}]}', ""],
)
def test_an_invalid_registry_is_reported_with_exit_code_2(tmp_path, registry):
    file = tmp_path / "registry.json"
    file.write_text(registry)
    result = check("--json", "--registry", str(file), "-", text=CALL)
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(file) in result.stderr.replace("\n", "") and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["--lines", "-", "-"], ["--notation", "xml", "-"], ["--chunk", "0", "-"], ["--nonsense"]],
)
def test_bad_usage_is_exit_code_2_and_prints_no_answer(arguments):
    result = check(*arguments, text="")
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_line_with_a_bad_registry_is_an_error_that_names_it_and_the_others_are_read():
    good = {"text": '{action="a"}', "registry": {"tools": [{"name": "a"}]}}
    lines = [good | {"registry": {"tools": [{"name": 1}]}}, good, good | {"registry": "nowhere.json"}, good]
    result = check("--lines", "-", text="\n".join(map(json.dumps, lines)))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert [answers[place].get("valid") for place in (1, 3)] == [True, True]
    for place in (0, 2):
        assert (
            f"line {place + 1}" in answers[place]["error"]["where"] and f"line {place + 1}" in result.stderr
        )


def test_calls_of_a_tool_with_an_argument_called_action_are_read_in_the_shape_that_stderr_names(tmp_path):
    tools = tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"action": {"type": "string"}}}
    tools.write_text(json.dumps({"tools": [{"name": "manage", "parameters": schema}, {"name": "get_me"}]}))
    result = check("--registry", str(tools), "-", text='{tool="manage" args={action="x"}}')
    assert result.exit_code == 0 and "tool-args" in result.stderr and "manage" in result.stderr


def test_lines_are_answered_one_each_with_their_own_registry_notation_and_shape(tmp_path):
    registry = {"ping": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    file = tmp_path / "ping.json"
    file.write_text(json.dumps(registry))
    lines = [
        {"text": CALL},
        {"text": "{action=ping n=1}", "registry": str(file)},
        {
            "text": '{"tool":"ping","args":{"n":"x"}}',
            "registry": registry,
            "notation": "json",
            "shape": "tool-args",
        },
    ]
    result = check("--lines", "-", text="\n".join(map(json.dumps, lines)) + "\n\n")
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(report["tool"], report["valid"]) for report in reports] == [
        ("search", True), ("ping", True), ("ping", False),
    ]  # fmt: skip
    assert result.exit_code == 1
    assert check("--lines", "-", text=json.dumps(lines[0])).exit_code == 0


def test_a_line_names_a_registry_by_its_path_whatever_the_path_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "null").write_text(json.dumps({"ping": {"type": "object"}}))
    lines = [{"text": CALL}, {"text": "{action=ping}", "registry": "null"}]
    reports = check("--lines", "-", text="\n".join(map(json.dumps, lines))).stdout.splitlines()
    assert [json.loads(report)["valid"] for report in reports] == [True, True]


@pytest.mark.parametrize(
    "line",
    ["nonsense", "[]", "{}", '{"text": 1}', '{"text": "", "notation": "xml"}', '{"text": "", "shape": 1}'],
)
def test_an_invalid_line_is_answered_by_its_error_and_the_others_are_read(line):
    good = json.dumps({"text": CALL})
    result = check("--lines", "-", text="\n".join((good, line, good)))
    first, bad, last = map(json.loads, result.stdout.splitlines())
    assert first == last and first["valid"] and result.exit_code == 2
    assert "line 2" in bad["error"]["where"] and "line 2" in result.stderr


def test_a_lone_surrogate_in_the_answer_is_still_json():
    result = check("--json", "--notation", "json", "-", text='{"action":"search","query":"\\ud800"}')
    assert json.loads(result.stdout)["chars"] == 36


@pytest.mark.slow
def test_answers_are_utf8_whatever_the_locale_and_a_closed_pipe_is_quiet():
    line = json.dumps({"text": '{action="search" query="é😀"}'}) + "\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "glyphscope", "check", "--lines", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    )
    with process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(line.encode())
        process.stdin.close()
        assert json.loads(process.stdout.readline().decode("utf-8"))["arguments"] == {"query": "é😀"}
        assert process.wait(20) == 0


@pytest.mark.slow
def test_a_closed_pipe_ends_the_command_quietly():
    process = subprocess.Popen(
        [sys.executable, "-m", "glyphscope", "check", "--lines", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write((json.dumps({"text": CALL}) + "\n").encode() * 50)
        process.stdin.close()
        assert process.stderr.read() == b""


@pytest.mark.slow
def test_a_place_hundreds_of_levels_deep_is_shortened_on_the_screen(tmp_path):
    registry = tmp_path / "any.json"
    registry.write_text(json.dumps({"p": {"type": "object", "properties": {"deep": {}}}}))
    text = "{action=p deep=" + "{a=" * 300
    shown = check("--registry", str(registry), "-", text=text).stdout
    assert "nested deeper than 256 levels" in shown and "levels): nested" in shown
    assert all(len(line) < 220 for line in shown.splitlines())
    assert "/a" * 200 in answer("--registry", str(registry), "-", text=text)["errors"][0]["path"], (
        "JSON has it whole"
    )


def test_a_bundled_registry_is_found_by_its_name():
    call = '{action="lookup_irregular_verb" verb="go"}'
    assert answer("--registry", "verbs", "-", text=call)["tool_allowed"]


def test_a_constraint_that_nothing_checks_is_listed(tmp_path):
    properties = {
        "a": {"type": "string", "pattern": "^x{,4}$"},
        "b": {"type": "string", "format": "color"},
        "c": {"type": "object", "patternProperties": {"\\Z": {"type": "integer"}}},
        "d": {"type": "string", "format": "date", "pattern": "^[^]+$"},
    }
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "f", "parameters": {"type": "object", "properties": properties}}]))
    result = check("-r", str(path), "--notation", "json", "-", text='{"action":"f","a":"xxxxxxx"}')
    assert result.exit_code == 0
    assert (
        "/properties/a/pattern is not checked: engines read {,4} differently; {0,4} has one meaning."
        in result.stderr
    )
    assert "/properties/b/format is not checked: no rules are known for this format." in result.stderr
    assert "/properties/c/patternProperties/\\Z is not checked" in result.stderr
    assert "/properties/d" not in result.stderr


def test_an_invalid_call_of_a_tool_that_cannot_be_called_says_so_once(tmp_path):
    empty = {"type": "object", "properties": {"n": {"enum": ["abc"], "maxLength": 2}}, "required": ["n"]}
    tools = [{"name": "t", "parameters": empty}, {"name": "u", "parameters": {"type": "object"}}]
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"glyphscope": 1, "tools": tools}))
    note = "! No call can be written of t (at /properties/n/enum, "
    assert note in check("-r", str(path), "-", text='{action="t" n="abc"}').stderr
    lines = "".join(json.dumps({"text": f'{{action="{name}" n=1}}'}) + "\n" for name in "tut")
    assert check("-r", str(path), "--lines", "-", text=lines).stderr.count(note) == 1
