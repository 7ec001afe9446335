"""Suites imported from files of other programs, for tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from glyphscope.evals.suites import IMPORTERS, ImportedSuite, check_suite, encode_suite, parse_suite

WEATHER = """
description: Weather of cities
prompts: ['What is the weather in {{city}}?']
providers:
  - id: openai:chat:gpt-4.1-mini
    config:
      temperature: 0
      tools:
        - type: function
          function:
            name: weather
            description: The weather of a city.
            parameters:
              type: object
              properties: {city: {type: string}, days: {type: integer, maximum: 7}}
              required: [city]
        - type: function
          function: {name: book, parameters: {type: object, properties: {to: {type: string}}}}
"""


def promptfoo(folder: Path, tests: str, head: str = WEATHER) -> ImportedSuite:
    path = folder / "promptfooconfig.yaml"
    path.write_text(head + "tests:\n" + indent(dedent(tests), "  "))
    imported = IMPORTERS.get("promptfoo").read(path)
    assert check_suite(imported.suite) == ()
    assert parse_suite(encode_suite(imported.suite)) == imported.suite
    return imported


def skipped(imported: ImportedSuite) -> dict[str, str]:
    return {each.id: each.reason for each in imported.left_out}
