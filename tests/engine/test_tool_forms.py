"""Lists of tools in the forms of other programs: read, listed where something is not used, saved to an equal file."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from time import process_time

import pytest

from cli_command import command
from glyphscope.base.errors import RegistryError
from glyphscope.events import RunRequest
from glyphscope.grammar.generate.example import example_problems
from glyphscope.prompting.messages import example_calls, render_messages
from glyphscope.registry import Tool, ToolRegistry, load_registry, parse_document, to_json, to_openai
from glyphscope.registry.saving import name_problems, strict_problems, to_form, unused
from glyphscope.registry.tool_forms import FORMS
from glyphscope.tools.mcp.listing import ListReader
from glyphscope.validation import CallValidator

FILES = {path.stem: path for path in sorted((Path(__file__).parent / "tool_lists").glob("*.json"))}
"""One for each form, named like it, and others whose names begin with it, as its libraries write them."""
SILENT = ("type", "jsonrpc", "id", "in", "info")
EMPTY = (None, [], {}, "", {"type": "text"}, {"type": "object", "properties": {}})
"""Members that say nothing more: the form of an item, and where an argument would be in a request."""
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def document(file: str):
    return json.loads(FILES[file].read_text())


def words(registry: ToolRegistry) -> dict[str, str]:
    return {each.what: each.why for each in unused(registry)}


def test_every_form_has_a_file():
    assert {file.partition(".")[0] for file in FILES} == set(FORMS) <= set(FILES)


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_saved_to_an_equal_file_also_after_the_registry_was_saved(file):
    form = file.partition(".")[0]
    registry = load_registry(FILES[file])
    assert to_form(registry, form) == document(file)
    again = load_registry(to_json(registry))
    assert again == registry and again.digest == registry.digest
    assert to_form(again, form) == document(file)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_each_member_of_a_file_is_used_or_listed(file):
    """Without it, the registry or the list of what is not used is another one, unless it says nothing."""

    def state(value):
        try:
            registry = load_registry(value)
        except RegistryError:
            return "an error", ()
        return registry.to_document(kept=False), [str(each) for each in unused(registry)]

    def silent(at):
        holder = reduce(getitem, at, document(file))
        for step in holder if isinstance(holder, dict) else range(len(holder)):
            if holder[step] in EMPTY or holder[step] is False or step in SILENT:
                continue
            without = document(file)
            del reduce(getitem, at, without)[step]
            changed = state(without)
            if changed == before:
                yield (*at, step)
            elif changed[0] != before[0] and isinstance(holder[step], dict | list):
                yield from silent((*at, step))

    before = state(document(file))
    assert list(silent(())) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("source", FORMS)
def test_tools_in_another_form_have_the_same_names_and_arguments(source, form):
    registry = load_registry(FILES[source])
    written = load_registry(json.dumps(to_form(registry, form)))
    assert [tool.name for tool in written] == [tool.name for tool in registry]
    if form != "openapi":  # whose operations have each argument elsewhere
        arguments = [[tool.parameters.get("properties", {}) for tool in each] for each in (written, registry)]
        assert arguments[0] == arguments[1]


@pytest.mark.parametrize("file", FILES)
def test_of_a_changed_tool_only_the_changed_member_is_written(file):
    form = file.partition(".")[0]
    registry = load_registry(FILES[file])
    tool = registry.tools[0]
    changed = replace(registry, tools=(replace(tool, description="Changed"), *registry.tools[1:]))
    before, after = json.dumps(document(file)), json.dumps(to_form(changed, form))
    assert after != before
    assert load_registry(after).tools[0] == changed.tools[0]
    assert load_registry(after).tools[1:] == registry.tools[1:]
    assert words(load_registry(after)).keys() >= words(registry).keys() - {"summary"}


@pytest.mark.parametrize("file", FILES)
def test_removed_and_added_tools_leave_the_others_where_they_are(file):
    form = file.partition(".")[0]
    registry = load_registry(FILES[file])
    new = Tool("new_tool", "New", CITY)
    changed = replace(registry, tools=(*registry.tools[1:], new))
    read = load_registry(json.dumps(to_form(changed, form)))
    assert sorted(tool.name for tool in read) == sorted(tool.name for tool in changed)
    assert {each.what for each in unused(read)} <= {each.what for each in unused(registry)} | {
        "responses.200.description"
    }


def test_custom_tools_have_their_grammars_and_namespaces_their_tools():
    chat = load_registry(FILES["openai-chat"])
    assert chat.get("calc").format["syntax"] == "lark" and chat.get("note").format == {"type": "text"}
    responses = load_registry(FILES["openai-responses"])
    assert [tool.name for tool in responses] == ["forecast", "ping", "when", "crm.find", "crm.query"]
    assert responses.get("when").format["definition"] == "[0-9]{2}:[0-9]{2}"
    assert responses.get("crm.query").format["syntax"] == "lark"


def test_a_new_tool_named_like_a_namespace_is_written_into_it():
    registry = load_registry(FILES["openai-responses"])
    registry = registry.with_tool(Tool("crm.remove", "R", CITY))
    written = to_form(registry, "openai-responses")
    assert [tool["name"] for tool in written[3]["tools"]] == ["find", "query", "remove"]


def test_what_is_used_is_a_member_of_the_tool():
    tool = load_registry(FILES["anthropic"]).tools[0]
    assert tool.strict is True
    assert tool.input_examples == ({"city": "Bern"}, {"city": "Rom", "days": 3})
    mcp = load_registry(FILES["mcp"]).tools[0]
    assert mcp.output_schema["properties"] == {"degrees": {"type": "number"}}
    assert mcp.annotations["readOnlyHint"] is True
    assert load_registry(FILES["gemini"]).tools[0].parameters["properties"]["city"] == {
        "type": "string", "maxLength": 40
    }  # fmt: skip
    operation = load_registry(FILES["openapi"]).tools[0]
    assert operation.parameters["required"] == ["id"]
    assert set(operation.parameters["properties"]) == {"id", "fields", "header_id"}
    assert operation.output_schema["$defs"]["Pet"]["properties"]["parent"] == {"$ref": "#/$defs/Pet"}
    body = load_registry(FILES["openapi"]).get("putPet").parameters
    assert body["properties"]["body"] == {"$ref": "#/$defs/Pet"} and "body" in body["required"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("openai-chat", set()),
        (
            "openai-responses",
            {
                "allowed_callers", "description of a namespace", "tool_search", "web_search",
                "file_search", "code_interpreter", "mcp", "authorization", "programmatic_tool_calling",
                "namespace",
            },
        ),
        (
            "anthropic",
            {
                "allowed_callers", "cache_control", "eager_input_streaming",
                "web_search_20260318", "tool_search_tool_bm25_20251119", "bash_20250124", "mcp_toolset",
            },
        ),
        ("gemini", {"behavior", "googleSearch", "codeExecution"}),
        ("mcp", {"title", "icons", "execution", "_meta", "nextCursor", "ttlMs"}),
        (
            "openapi",
            {
                "servers", "tags", "summary", "responses.200.description", "responses.404",
                "responses.204", "responses.default.description", "security", "deprecated", "securitySchemes",
            },
        ),
        ("functions", {"x"}),
        ("json-schema", set()),
        ("pydantic-ai", {"sequential", "kind", "metadata"}),
    ],
)  # fmt: skip
def test_everything_that_is_not_used_is_listed_with_its_reason(form, expected):
    found = words(load_registry(FILES[form]))
    assert {name for name in found if name != "namespace"} == expected - {"namespace"}
    assert all(found.values())


def test_tools_that_the_provider_runs_are_said_to_do_so():
    found = words(load_registry(FILES["openai-responses"]))
    assert "runs at the provider" in found["web_search"] and "credential" in found["authorization"]


def test_of_a_request_to_gemini_only_the_tools_are_read():
    parts = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"temperature": 0},
    }
    body = {**parts, "tools": [{"functionDeclarations": [{"name": "a"}]}, {"googleSearch": {}}]}
    found = {each.what: each.why for each in unused(parse_document(body))}
    assert [tool.name for tool in parse_document(body)] == ["a"]
    assert "at the provider" in found.pop("googleSearch")
    assert found == dict.fromkeys(parts, "not used.")


def test_a_declaration_of_gemini_may_have_plain_types():
    schema = {
        "type": "object",
        "properties": {"b": {"type": ["string", "null"]}, "any_of": {"type": "STRING"}},
    }
    (tool,) = load_registry([{"functionDeclarations": [{"name": "a", "parameters": schema}]}])
    assert tool.parameters["properties"] == {"b": {"type": ["string", "null"]}, "any_of": {"type": "string"}}
    with pytest.raises(RegistryError):
        load_registry([{"name": "a", "parameters": {"type": {}}}])


def test_members_that_may_be_credentials_are_named_also_beside_the_tools():
    server = {"type": "url", "url": "https://e.org", "authorization_token": "t"}
    body = {
        "tools": [{"name": "a", "input_schema": CITY}],
        "mcp_servers": [server],
        "messages": [{"headers": 1}],
    }
    assert "credential" in words(load_registry(body))["authorization_token"] and "headers" not in words(
        load_registry(body)
    )


def test_an_input_example_is_the_example_of_the_prompt_unless_it_violates_the_schema():
    tool = {"name": "a", "input_schema": CITY, "input_examples": [{"city": 5}, {"city": "Chur"}]}
    registry = load_registry([tool])
    assert example_calls(registry) == [("a", {"city": "Chur"})]
    request = RunRequest(prompt="x", registry=registry.to_document())
    assert "Chur" in render_messages(request, registry).messages[0].content
    assert example_problems(registry) == [
        'Input example 1 of a violates its schema and is not used (/city): 5 is not of type "string".'
    ]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("", {
            'missing: "additionalProperties": false (OpenAI, Anthropic)', "not required: days (OpenAI)",
            "not supported in days: minimum (Anthropic)", "not supported in at: not (OpenAI)",
        }),
        ("openai-chat", {
            'missing: "additionalProperties": false (OpenAI)', "not required: days (OpenAI)",
            "not supported in at: not (OpenAI)",
        }),
        ("mcp", set()),
    ],
)  # fmt: skip
def test_a_strict_tool_says_where_its_schema_is_rejected(form, expected):
    properties = {"days": {"type": "integer", "minimum": 1}, "at": {"not": {}}}
    schema = {"type": "object", "properties": properties, "required": ["at"]}
    assert set(strict_problems(Tool("a", parameters=schema, strict=True), form)) == expected
    assert strict_problems(Tool("a", parameters=schema)) == ()
    closed = {**CITY, "additionalProperties": False}
    assert strict_problems(Tool("a", parameters=closed, strict=True)) == ()


def test_a_call_of_a_strict_tool_has_no_other_arguments_even_if_the_registry_allows_them():
    given = [{"name": name, "parameters": CITY} | ({"strict": True} if name == "b" else {}) for name in "ab"]
    registry = load_registry({"glyphscope": 1, "unknown_arguments": "allow", "tools": given})
    found = {}
    for name in "ab":
        validator = CallValidator(registry, "json", "flat")
        validator.feed(f'{{"action":"{name}","city":"Bern","more":1}}')
        validator.finish()
        found[name] = [each.code for each in validator.report().errors]
    assert found == {"a": [], "b": ["UNKNOWN_ARGUMENT"]}


def test_a_template_gets_names_descriptions_and_schemas_alone():
    registry = load_registry(FILES["anthropic"])
    assert all(set(tool["function"]) == {"name", "description", "parameters"} for tool in to_openai(registry))
    assert to_openai(registry, "chat")[0]["function"]["strict"] is True


@pytest.mark.parametrize(
    ("tool", "pointer"),
    [
        ({"name": "a", "input_schema": CITY, "strict": "yes"}, "/0/strict"),
        ({"name": "a", "input_schema": CITY, "input_examples": {"city": "x"}}, "/0/input_examples"),
        ({"name": "a", "input_schema": CITY, "input_examples": ["x"]}, "/0/input_examples"),
        ({"name": "a", "input_schema": CITY, "defer_loading": "yes"}, "/0/defer_loading"),
        ({"name": "a", "inputSchema": CITY, "outputSchema": []}, "/0/output_schema"),
        ({"name": "a", "inputSchema": CITY, "annotations": []}, "/0/annotations"),
    ],
)
def test_a_fact_of_another_kind_is_an_error_at_its_place(tool, pointer):
    with pytest.raises(RegistryError) as caught:
        load_registry([tool])
    assert [problem.pointer for problem in caught.value.problems] == [pointer]


def test_namespaces_that_clash_are_errors_with_both_places():
    inner = [{"type": "function", "name": "find", "parameters": CITY}]
    twice = [{"type": "namespace", "name": "crm", "description": "", "tools": inner} for _ in range(2)]
    with pytest.raises(RegistryError) as caught:
        load_registry([*twice, {"type": "function", "name": "crm.find", "parameters": CITY}])
    places = {problem.pointer: problem.message for problem in caught.value.problems}
    assert set(places) == {"/1/tools/0/name", "/2/name"}
    assert all("/0/tools/0" in message for message in places.values())


def test_five_thousand_tools_are_read_and_saved_in_seconds():
    tools = [
        {
            "type": "function",
            "name": f"tool_{n}",
            "description": "D",
            "parameters": CITY,
            "defer_loading": True,
        }
        for n in range(5000)
    ]
    began = process_time()
    registry = load_registry(tools)
    assert to_form(registry, "openai-responses") == tools
    assert process_time() - began < 20
    assert all(tool.defer_loading for tool in registry) and not unused(registry)


def test_a_name_of_200_characters_is_read_and_its_api_is_said_to_reject_it():
    registry = load_registry([{"name": "a" * 200, "input_schema": CITY}, {"name": "b", "input_schema": CITY}])
    assert name_problems(registry, "anthropic") == ("a" * 200,)
    assert name_problems(registry, "mcp") == ()


def test_a_damaged_file_is_read_and_saved_without_its_origin():
    for kept in (5, {"form": "none"}, {"form": "anthropic", "at": ["x", 3], "item": {"name": "$tool"}}):
        tool = {"name": "a", "parameters": CITY, "kept": kept}
        for beside in (5, {}, {"form": "anthropic", "document": {"tools": "$tool"}}):
            registry = load_registry({"glyphscope": 1, "kept": beside, "tools": [tool]})
            assert "city" in json.dumps(to_form(registry, "anthropic"))
            unused(registry)


def test_convert_writes_a_form_and_lists_what_is_not_used(tmp_path):
    result = command("tools", "convert", str(FILES["anthropic"]), "--to", "mcp", "-o", tmp_path / "x.json")
    assert (
        result.exit_code == 0
        and "allowed_callers (forecast)" in result.stderr
        and "another form" in result.stderr
    )
    assert json.loads((tmp_path / "x.json").read_text())["tools"][0]["inputSchema"]
    result = command("tools", "convert", FILES["anthropic"], "-o", tmp_path / "own.json")
    assert "kept" in result.stderr
    again = command("tools", "convert", tmp_path / "own.json", "--to", "anthropic")
    assert json.loads(again.stdout) == document("anthropic")
    listed = command("tools", "convert", FILES["mcp"], "--json")
    assert json.loads(listed.stdout)["from"] == "mcp"


def test_convert_names_a_grammar_that_cannot_be_read_examples_and_names(tmp_path):
    path = tmp_path / "tools.json"
    bad = {"type": "grammar", "syntax": "lark", "definition": "start: missing"}
    path.write_text(json.dumps([{"type": "custom", "name": "a.b", "format": bad}]))
    result = command("tools", "convert", path, "--to", "openai-chat")
    assert (
        result.exit_code == 0 and "No call can be written of" in result.stderr and "missing" in result.stderr
    )
    assert "accepts names of letters" in result.stderr
    path.write_text(json.dumps([{"name": "a", "input_schema": CITY, "input_examples": [{}]}]))
    assert "Input example 1 of a violates" in command("tools", "convert", path).stderr
    path.write_text(json.dumps([{"name": "a", "input_schema": CITY, "strict": True}]))
    assert (
        'a is strict; missing: "additionalProperties": false (OpenAI, Anthropic)'
        in command("tools", "convert", path).stderr
    )


def test_tools_of_a_server_keep_their_output_schema_and_annotations():
    reader = ListReader()
    for tool in document("mcp")["tools"]:
        reader.take(tool)
    read = load_registry(FILES["mcp"])
    assert [tool.facts() for tool in reader.listing().tools] == [tool.facts() for tool in read]


PETS = """# a comment
openapi: 3.0.3
info: {title: Pets, version: 2020-01-01}
paths:
  /pets/{id}:
    get:
      operationId: get_pet
      summary: One pet
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer, minimum: 1}}
      responses:
        200: {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
components:
  schemas:
    Pet: {type: object, properties: {name: {type: string}}}
"""


def test_an_openapi_document_may_be_yaml(tmp_path):
    file = tmp_path / "pets.yaml"
    file.write_text(PETS)
    registry = load_registry(file)
    (tool,) = registry.tools
    assert tool.name == "get_pet" and tool.parameters["properties"]["id"] == {"type": "integer", "minimum": 1}
    assert tool.output_schema["$defs"]["Pet"]["properties"] == {"name": {"type": "string"}}
    saved = to_form(registry, "openapi")
    assert (
        saved["info"]["version"] == "2020-01-01" and "200" in saved["paths"]["/pets/{id}"]["get"]["responses"]
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("openapi: 3.0.3\npaths: {", "not YAML"),
        (
            "openapi: 3.0.3\na: &a [1]\nb: &b [" + "*a, " * 9 + "]\nc: &c [" + "*b, " * 9 + "*c]",
            "contains itself",
        ),
        ("tools:\n  - name: x", "not JSON"),
    ],
)
def test_yaml_that_is_broken_or_not_openapi_is_an_error_with_its_place(tmp_path, text, words):
    file = tmp_path / "pets.yaml"
    file.write_text(text)
    with pytest.raises(RegistryError, match=words):
        load_registry(file)
