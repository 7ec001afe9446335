"""The JSON Schema Test Suite: expected verdicts against `check`, and the grammar under the mask against `check`.

    python tests/support/schema_test_suite.py [FOLDER]

`FOLDER` is the folder `json/tests` of the source archive of jsonschema on PyPI, or one of the same form: a folder for
each draft, with files of groups: `{"description", "schema", "tests": [{"description", "data", "valid"}]}`. The default
is `schema_suite` beside this file: cases of the same kinds, which `make test` runs. Each schema is that of the argument
`value` of a tool. Differences that docs/schemas.md lists are counted by reason; every other one is printed, and the
exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from glyphscope.base.errors import GrammarError, NotationError, RegistryError
from glyphscope.base.pointer import follow_reference, to_pointer
from glyphscope.grammar import match_text
from glyphscope.grammar.regular.pattern import found
from glyphscope.grammar.tree import Grammar
from glyphscope.notation import write_call
from glyphscope.registry import load_registry
from glyphscope.turns import TurnOptions, build_call_grammar
from glyphscope.validation import CallValidator
from glyphscope.validation.checker import Checker

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
SELECTION = Path(__file__).with_name("schema_suite")
TOOL, ARGUMENT = "tool", "value"
_AT = f"#/properties/{ARGUMENT}"

REMOTE = "rejected: a reference to another document, or a dynamic one between identifiers"
FORMAT = "format is checked"
VOCABULARY = "a custom metaschema is not followed"
INTEGER = "an integer is an integer literal"
EXPONENT = "a limited number has no exponent"
TYPE = "a keyword implies its type"
KEY = "further keys need permission"
KEY_TEXT = "a free key has quotes, backslashes or control characters"
CONDITION = "a key that only a condition evaluates"
DIGITS = "more digits or a larger exponent"
SPELLING = "another spelling of the same value"
GAP = "accepted by the mask only, and listed as not enforced"

TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
SPOKEN = {
    "object": "properties required additionalProperties patternProperties propertyNames minProperties maxProperties "
    "unevaluatedProperties dependentRequired dependentSchemas",
    "array": "items prefixItems contains minItems maxItems uniqueItems unevaluatedItems minContains maxContains",
    "string": "minLength maxLength pattern format",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
}
LIMITS = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "const")
)


@dataclass
class Tally:
    """The cases by outcome and reason, and those with a difference that is not listed."""

    counts: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{count:>6,}  {what}" for what, count in sorted(self.counts.items())]
        return "\n".join([*lines, f"{len(self.bad):>6,}  differences that are not listed"])


def parameters_of(schema: Any, draft: str) -> dict[str, Any]:
    """The parameters of a tool with that schema, of that draft, as its one argument."""
    schema, root = deepcopy(schema), {"$schema": draft}
    identifier = "id" if draft == DRAFTS["draft4"] else "$id"
    if isinstance(schema, dict):
        beside = draft.startswith("http:")
        root["$schema"] = schema.pop("$schema", draft)
        dynamic = any(f'"{keyword}"' in json.dumps(schema) for keyword in ("$dynamicRef", "$recursiveRef"))
        if dynamic and _is_resource(
            schema, identifier, beside=beside
        ):  # a second one would make them undecided
            root[identifier] = schema.pop(identifier)
        _relocate(schema, identifier, beside=beside)
    return root | {"type": "object", "properties": {ARGUMENT: schema}, "required": [ARGUMENT]}


def _is_resource(node: dict[str, Any], identifier: str, *, beside: bool) -> bool:
    """Whether references in the schema are relative to it; `beside`: an identifier beside `$ref` has no effect."""
    own = node.get(identifier)
    ignored = beside and isinstance(node.get("$ref"), str)
    return isinstance(own, str) and not own.startswith("#") and not ignored


def _relocate(node: Any, identifier: str, *, beside: bool) -> None:
    """Let the references to the root lead to the argument."""
    if isinstance(node, list):
        for item in node:
            _relocate(item, identifier, beside=beside)
    if not isinstance(node, dict):
        return
    if _is_resource(node, identifier, beside=beside):
        return
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        to = node.get(keyword)
        if isinstance(to, str) and (to == "#" or to.startswith("#/")):
            node[keyword] = _AT + to[1:]
    for keyword, item in node.items():
        if keyword not in ("enum", "const", "default", "examples"):
            _relocate(item, identifier, beside=beside)


def try_group(group: dict[str, Any], draft: str, tally: Tally, name: str = "") -> None:
    """Compare the verdicts on each case of a group; `draft` is the identifier of the metaschema."""
    where = f"{name} | {group['description']}"
    schema, cases = group["schema"], group["tests"]
    try:
        registry = load_registry([{"name": TOOL, "parameters": parameters_of(schema, draft)}])
    except RegistryError as error:
        said = " ".join(problem.message for problem in error.problems) or str(error)
        if any(words in said for words in _NOT_FOLLOWED):
            tally.counts[REMOTE] += len(cases)
        else:
            tally.bad.append(f"{where}: rejected: {said[:200]}")
        return
    parameters = registry.tools[0].parameters
    judge = Checker(parameters)
    grammar: Grammar | None = None
    try:
        grammar = build_call_grammar(registry, "json", "flat", TurnOptions(order="any"))
    except GrammarError as error:
        tally.counts["schemas without any call"] += 1
        impossible = str(error)
    for case in cases:
        value, listed_by = case["data"], f"{where} | {case['description']}: {json.dumps(case['data'])[:80]}"
        final = judge.valid({ARGUMENT: value}, parameters)
        if final != case["valid"]:
            reason = _not_standard(schema, draft, value, case["valid"])
            tally.counts[reason or "wrong"] += 1
            if reason is None:
                tally.bad.append(f"{listed_by}: check says {final}, expected {case['valid']}")
        else:
            tally.counts["the expected verdict"] += 1
        try:
            text = write_call(TOOL, {ARGUMENT: value}, style="json", shape="flat")
        except NotationError:
            tally.counts["values that JSON cannot write"] += 1
            continue
        stream = CallValidator(registry, "json", "flat")
        stream.feed(text)
        stream.finish()
        rule = Written(parameters, judge).excuse(value)
        if stream.valid != final:
            if final and rule in (INTEGER, EXPONENT, SPELLING):
                tally.counts[f"check: {rule}"] += 1
            else:
                tally.bad.append(f"{listed_by}: while it streams {stream.valid}, at its end {final} ({rule})")
        masked = grammar is not None and match_text(grammar, text).accepted
        if masked == stream.valid:
            tally.counts["mask and check agree"] += 1
        elif masked:
            assert grammar is not None
            missing = [at for at in _errors(judge, parameters, value) if not _has_gap(grammar, at)]
            tally.counts[GAP] += not missing
            if missing:
                gaps = sorted({one.pointer for one in grammar.unenforced if one.keyword})
                tally.bad.append(f"{listed_by}: mask accepts, check does not: {missing}; gaps {gaps}")
        elif rule is not None:
            tally.counts[f"not written: {rule}"] += 1
        else:
            why = impossible if grammar is None else ""
            tally.bad.append(f"{listed_by}: check accepts, mask does not {why}")


_NOT_FOLLOWED = ("another document", "$dynamicRef", "$recursiveRef", "fetch")


def _not_standard(schema: Any, draft: str, value: Any, expected: bool) -> str | None:
    """The listed reason for a verdict that is not the standard's."""
    if isinstance(schema, dict) and schema.get("$schema", draft) not in DRAFTS.values():
        return VOCABULARY
    plain = _without_format(schema)
    if plain != schema:
        registry = load_registry([{"name": TOOL, "parameters": parameters_of(plain, draft)}])
        plain_parameters = registry.tools[0].parameters
        if Checker(plain_parameters).valid({ARGUMENT: value}, plain_parameters) == expected:
            return FORMAT
    return None


def _without_format(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_format(item) for item in node]
    if isinstance(node, dict):
        return {k: _without_format(v) for k, v in node.items() if k != "format" or not isinstance(v, str)}
    return node


def _errors(judge: Checker, parameters: Any, value: Any) -> Iterator[str]:
    """The place of the keyword of each error, with references followed."""
    for error in judge.errors({ARGUMENT: value}, 100):
        path: tuple[Any, ...] = ()
        for step in error.absolute_schema_path:
            path = (*path, step)
            if step in ("$ref", "$dynamicRef"):
                node = follow_reference(parameters, to_pointer(path))
                target = (
                    follow_reference(parameters, node[1][1:]) if node and isinstance(node[1], str) else None
                )
                path = target[0] if target else path
        yield to_pointer(path)


def _has_gap(grammar: Grammar, at: str) -> bool:
    """Whether a constraint at, around or inside that place is listed; `if` stands for `then` and `else` too."""
    for one in grammar.unenforced:
        places = [one.pointer] if one.keyword else []
        if one.keyword == "if":
            places += [one.pointer.removesuffix("if") + branch for branch in ("then", "else")]
        for place in places:
            if f"{at}/".startswith(f"{place}/") or f"{place}/".startswith(f"{at}/"):
                return True
    return False


class Written:
    """Which deliberate rule of docs/schemas.md keeps a grammar from writing a valid value.

    It applies the rules to the schema and the value, and knows nothing of grammars.
    """

    def __init__(self, root: dict[str, Any], judge: Checker) -> None:
        self.root, self.judge = root, judge

    def excuse(self, value: Any) -> str | None:
        """The rule; None if a grammar writes the value."""
        return self._value([self.root["properties"][ARGUMENT]], value)

    def _value(self, schemas: Sequence[Any], value: Any) -> str | None:
        why: str | None = None
        for parts in self._ways(schemas, value):
            why = self._typed(parts, value)
            if why is None:
                return None
        return why

    def _ways(self, schemas: Sequence[Any], value: Any) -> Iterator[list[dict[str, Any]]]:
        """The schemas that apply to the value together, for each choice of valid alternatives."""
        parts, choices = [], []
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict) or any(schema is known for known in parts):
                continue
            parts.append(schema)
            waiting += schema.get("allOf", ())
            for keyword in ("$ref", "$dynamicRef"):
                if isinstance(schema.get(keyword), str):
                    target = follow_reference(self.root, schema[keyword][1:])
                    waiting += [target[1]] if target else []
            choices += [
                [one for one in schema[keyword] if self.judge.valid(value, one)]
                for keyword in ("anyOf", "oneOf")
                if keyword in schema
            ]
        for chosen in product(*choices):
            if chosen:
                for inner in self._ways(chosen, value):
                    yield [*parts, *inner]
            else:
                yield parts

    def _typed(self, parts: list[dict[str, Any]], value: Any) -> str | None:
        keywords = {keyword for part in parts for keyword in part}
        kind = _kind(value)
        listed = "enum" in keywords or "const" in keywords
        if not listed and not any("type" in part for part in parts):
            spoken = {name for name, words in SPOKEN.items() if keywords & set(words.split())}
            if spoken and (kind if kind != "integer" else "number") not in spoken:
                return TYPE
        if listed:
            return SPELLING if _has_whole_float(value) else None
        whole = any("type" in part and "number" not in _listed(part["type"]) for part in parts)
        if whole and _has_whole_float(value) and kind == "number":
            return INTEGER
        if kind in ("number", "integer"):
            return _number(value, keywords)
        if isinstance(value, dict):
            return self._object(parts, value)
        return self._array(parts, value) if isinstance(value, list) else None

    def _object(self, parts: list[dict[str, Any]], value: dict[str, Any]) -> str | None:
        names = {name for part in parts for name in (*part.get("properties", ()), *part.get("required", ()))}
        patterns = {one: s for part in parts for one, s in part.get("patternProperties", {}).items()}
        allowed = any(
            part.get(keyword, False) is not False
            for part in parts
            for keyword in ("additionalProperties", "unevaluatedProperties")
        ) or not (names or any(schema is not False for schema in patterns.values()))
        for key, item in value.items():
            if key not in names:
                matched = any(found(pattern, key) for pattern in patterns)
                if not matched and _is_conditional(parts):
                    return CONDITION
                if not matched and not allowed:
                    return KEY
                if (names or patterns) and any(char in '"\\' or char < " " for char in key):
                    return KEY_TEXT
            if (why := self._value(list(_member(parts, key)), item)) is not None:
                return why
        return None

    def _array(self, parts: list[dict[str, Any]], value: list[Any]) -> str | None:
        for index, item in enumerate(value):
            places = []
            for part in parts:
                first = part.get("prefixItems", ())
                places.append(first[index] if index < len(first) else part.get("items", True))
            if not any(index < len(part.get("prefixItems", ())) or "items" in part for part in parts):
                places += [part.get("unevaluatedItems", True) for part in parts]
            if (why := self._value(places, item)) is not None:
                return why
        return None


def _is_conditional(parts: list[dict[str, Any]]) -> bool:
    """Whether only a condition could evaluate a key that no part names."""
    closed = any(part.get("unevaluatedProperties") is False for part in parts)
    return closed and any(keyword in part for part in parts for keyword in ("if", "dependentSchemas"))


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_whole_float, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer()


def _member(parts: list[dict[str, Any]], key: str) -> Iterator[Any]:
    evaluated = False
    for part in parts:
        matched = [s for pattern, s in part.get("patternProperties", {}).items() if found(pattern, key)]
        named = key in part.get("properties", {})
        evaluated = evaluated or bool(matched) or named or "additionalProperties" in part
        yield from matched
        if named:
            yield part["properties"][key]
        elif not matched:
            yield part.get("additionalProperties", True)
    if not evaluated:
        yield from (part.get("unevaluatedProperties", True) for part in parts)


def _listed(names: Any) -> Sequence[str]:
    return [names] if isinstance(names, str) else names or ()


def _kind(value: Any) -> str:
    for kind, python in (
        ("boolean", bool), ("integer", int), ("number", float), ("string", str), ("array", list), ("object", dict),
    ):  # fmt: skip
        if isinstance(value, python):
            return kind
    return "null"


def _number(value: int | float, keywords: set[str]) -> str | None:
    text = json.dumps(value)
    digits, _, exponent = text.partition("e")
    if exponent and keywords & LIMITS:
        return EXPONENT
    whole, _, fraction = digits.lstrip("-").partition(".")
    if max(len(whole), len(fraction)) > 20 or (exponent and abs(int(exponent)) > 99):
        return DIGITS
    if "multipleOf" in keywords and fraction.endswith("0"):
        return SPELLING
    return None


def try_folder(folder: Path) -> Tally:
    """Compare the cases of all drafts in the folder, without `optional`."""
    tally = Tally()
    for draft, identifier in DRAFTS.items():
        for file in sorted((folder / draft).glob("*.json")):
            for group in json.loads(file.read_text(encoding="utf-8")):
                tally.counts["cases"] += len(group["tests"])
                try_group(group, identifier, tally, f"{draft}/{file.stem}")
    return tally


def main() -> int:
    """Compare, and print the counts and every difference that is not listed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=SELECTION)
    tally = try_folder(parser.parse_args().folder)
    print(*tally.bad, tally, sep="\n")
    return 1 if tally.bad or not tally.counts["cases"] else 0


if __name__ == "__main__":
    sys.exit(main())
