"""The JSON Schemas of Glyphscope's own files, from their types: `python tests/support/file_schemas.py` writes them to
`docs/file-schemas`, and a test compares them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.evals.suites import suite
from glyphscope.evals.suites.suite import Suite
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.store import bundle, project, records

FOLDER = Path(__file__).parents[2] / "docs" / "file-schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of each kind of file by its name."""
    return {
        "registry": _registry(),
        "suite": _suite(),
        "project": _versioned(project.Project, "glyphscope_project", project.VERSION),
        "record-header": _versioned(records.RecordHeader, "glyphscope_record", records.VERSION),
        "bundle-manifest": _versioned(bundle.BundleManifest, "glyphscope_bundle", bundle.VERSION),
    }


def files() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each schema's file."""
    for name, schema in schemas().items():
        yield FOLDER / f"{name}.schema.json", json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _versioned(kind: Any, key: str, version: int) -> dict[str, Any]:
    """Return the schema of a type whose file has the version in a required member."""
    schema: dict[str, Any] = {"$schema": _DIALECT, **msgspec.json.schema(kind)}
    root = schema["$defs"][kind.__name__]
    root["properties"] = {
        key: {"const": version},
        **{k: v for k, v in root["properties"].items() if k != key},
    }
    root["required"] = list(dict.fromkeys([key, *root.get("required", ())]))
    return schema


def _registry() -> dict[str, Any]:
    """Return the schema of a registry: the types are what a file becomes, and a custom tool has a format instead."""
    schema = _versioned(ToolRegistry, "glyphscope", default_registry().to_document()["glyphscope"])
    for name, more in (
        ("ToolRegistry", {}),
        ("Tool", {"type": {"const": "custom"}, "format": {"type": "object"}}),
    ):
        part = schema["$defs"][name]
        part["properties"] |= more
        part["additionalProperties"] = False
        for each in part["properties"].values():  # the defaults of these are of the type, not of the file
            each.pop("default", None)
    schema["$defs"]["ToolRegistry"]["required"] = ["glyphscope", "tools"]
    parts = schema["$defs"]["Tool"]["properties"]
    parts["name"]["minLength"] = 1
    parts["parameters"]["description"] = "A JSON Schema of type object."
    parts["description"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    return schema


def _suite() -> dict[str, Any]:
    """Return the schema of a suite, in which an answer may also be described, or be a schema."""
    schema = _versioned(Suite, "glyphscope_suite", suite.VERSION)
    for name in ("Suite", "Scenario"):
        schema["$defs"][name]["properties"]["answer"]["anyOf"] += [
            {"type": "string"},
            {
                "type": "object",
                "properties": {"schema": {}},
                "required": ["schema"],
                "additionalProperties": False,
            },
        ]
    return schema


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in files():
        path.write_text(text, encoding="utf-8")
