"""The choices of the options that take several values: typer wants an Enum where one of a list is chosen."""

from __future__ import annotations

from enum import StrEnum


class Notations(StrEnum):
    GLYPH = "glyph"
    JSON = "json"
    NATIVE = "native"


class Shapes(StrEnum):
    FLAT = "flat"
    TOOL_ARGS = "tool-args"
    NAME_ARGUMENTS = "name-arguments"


class Constraints(StrEnum):
    OFF = "off"
    MASK = "mask"
    GBNF = "gbnf"


class Strategies(StrEnum):
    SUITE = "suite"
    DIRECT = "direct"
    TWO_STAGE = "two-stage"
    ROUTE_EXECUTE = "route-execute"
    LOOP = "loop"


class Workarounds(StrEnum):
    PRODUCTION = "production"
    BASELINE = "baseline"


class ThinkingStates(StrEnum):
    AUTO = "auto"
    ON = "on"
    OFF = "off"


class Beginnings(StrEnum):
    START = "start"
    REASONING = "reasoning"
    CALL = "call"


class Orders(StrEnum):
    USUAL = "usual"
    SCHEMA = "schema"
    ANY = "any"


class Levels(StrEnum):
    SIMPLE = "simple"
    TYPICAL = "typical"
    EXTREME = "extreme"
