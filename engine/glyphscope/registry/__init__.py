"""Tools and the registry, with its import and export."""

from glyphscope.registry.check import check_schema
from glyphscope.registry.facts import Range
from glyphscope.registry.forms import to_json, to_openai, under_strict
from glyphscope.registry.keywords import KEYWORDS
from glyphscope.registry.load import (
    bundled_registries,
    bundled_registry,
    check_tool,
    default_registry,
    load_registry,
    make_tool,
    parse_document,
)
from glyphscope.registry.normal_form import normalise
from glyphscope.registry.places import find_places
from glyphscope.registry.tool import Tool, ToolRegistry
