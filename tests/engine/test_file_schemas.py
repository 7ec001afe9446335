"""The published JSON Schemas of Glyphscope's own files, against the types and against files of each kind."""

import json
from pathlib import Path

import jsonschema
import pytest

import file_schemas
from docs_pages import ShownFile, pages, parts_of
from glyphscope.base import resources
from glyphscope.events import RunRequest
from glyphscope.registry import bundled_registries, bundled_registry
from glyphscope.store import Project, save_project
from glyphscope.store.bundle import MANIFEST, make_bundle
from glyphscope.store.project import GrammarExample, GrammarWork
from glyphscope.store.records import parse_record

ROOT = Path(__file__).parents[2]
SCHEMAS = file_schemas.schemas()
RECORDS = sorted((ROOT / "assets/glyphscope_assets").rglob("*.jsonl"))
SHOWN = [
    pytest.param(
        "suite" if "glyphscope_suite" in part.text else "registry", part.text, id=f"{page.name}-{part.name}"
    )
    for page in pages(ROOT)
    for part in parts_of(page, page.name)
    if isinstance(part, ShownFile)
    and part.text.lstrip().startswith(('{\n  "glyphscope":', '{\n  "glyphscope_suite":'))
]


def errors(kind, document):
    """Return the errors of a document by the schema of its kind, each with its place."""
    found = jsonschema.Draft202012Validator(SCHEMAS[kind]).iter_errors(document)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


def test_the_published_schemas_are_those_of_the_types():
    written = {path.name: path.read_text(encoding="utf-8") for path in file_schemas.FOLDER.glob("*.json")}
    expected = {path.name: text for path, text in file_schemas.files()}
    assert written == expected, "update them: python tests/support/file_schemas.py"


@pytest.mark.parametrize("kind", SCHEMAS)
def test_each_is_a_schema_that_needs_its_version(kind):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])
    assert any("is a required property" in error for error in errors(kind, {}))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(
            (kind, resources.read_text(f"{folder}/{name}"))
            for kind, folder in (("registry", "registries"), ("suite", "suites"))
            for name in resources.names(folder, ".json")
        ),
        *SHOWN,
    ],
)
def test_bundled_files_and_those_in_the_documentation_are_valid(kind, text):
    assert errors(kind, json.loads(text)) == []


def test_files_that_the_program_writes_are_valid(tmp_path):
    for name in bundled_registries():
        assert errors("registry", bundled_registry(name).to_document()) == []
    request = RunRequest(prompt="Search for é", registry=bundled_registry("custom").to_document())
    work = GrammarWork(source="text", text='root ::= "a"', examples=(GrammarExample("a"),))
    save_project(
        tmp_path / "p.glyphscope", Project(request=request, notes="n", drafts={"a": "{"}, grammar=work)
    )
    assert errors("project", json.loads((tmp_path / "p.glyphscope").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", RECORDS[:3], ids=lambda path: path.name)
def test_a_recorded_run_and_its_bundle_are_valid(path):
    data = path.read_bytes()
    assert errors("record-header", json.loads(data.partition(b"\n")[0])) == []
    bundle = make_bundle(parse_record(data).events)
    assert errors("bundle-manifest", json.loads(bundle.files[MANIFEST])) == []


@pytest.mark.parametrize(
    ("kind", "document", "error"),
    [
        ("registry", {"glyphscope": 1, "tools": [{"name": "a", "paramters": {}}]}, "$.tools[0]: Additional properties"),
        ("registry", {"glyphscope": 2, "tools": []}, "$.glyphscope: 1 was expected"),
        ("registry", {"glyphscope": 1, "tools": [{"description": "a"}]}, "$.tools[0]: 'name' is a required"),
        ("suite", {"glyphscope_suite": 1, "name": "a", "about": "", "scenarios": [{"id": 1}]}, "$.scenarios[0].id: 1"),
        ("suite", {"glyphscope_suite": 1, "name": "a", "about": "", "answers": []}, "$: Additional properties"),
        ("project", {"glyphscope_project": 2, "request": {"prompt": 1}}, "$.request.prompt: 1 is not of type"),
    ],
)  # fmt: skip
def test_wrong_members_are_errors_at_their_place(kind, document, error):
    assert any(found.startswith(error) for found in errors(kind, document)), errors(kind, document)
