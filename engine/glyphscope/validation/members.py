"""Judge a member's name being written against a Spec's constraints on names."""

from __future__ import annotations

from collections.abc import Container, Iterator, Set

from glyphscope.grammar.regular import pattern
from glyphscope.grammar.regular.pattern import StringLanguage
from glyphscope.notation.scalars import STRING, is_bare_key
from glyphscope.validation.reasons import Reason, one_of
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import Place, Spec
from glyphscope.validation.strings import StringCheck

_MAX_JUDGED_PREFIX = 512
"""Each prefix of a name is matched from its start again; a name longer than this is judged when it is complete."""


def names_left(spec: Spec, prefix: str, used: Container[str], *, bare: bool = False) -> Iterator[str]:
    """The names in the schema that begin with `prefix` and are not `used`; `bare`: only those that need no quotes."""
    for name in spec.names:
        if name not in used and name.startswith(prefix) and (not bare or is_bare_key(name)):
            yield name


def can_begin(
    schemas: SchemaSet, spec: Spec, prefix: str, used: Container[str], *, bare: bool = False
) -> bool:
    """Whether a further member can have a name that begins with `prefix`; `bare`: without quotes."""
    if spec.open_names and not spec.member_names:
        return True
    if next(names_left(spec, prefix, used, bare=bare), None) is not None:
        return True
    if len(prefix) > _MAX_JUDGED_PREFIX:
        return True
    if spec.open_names:
        return all(_name_can_begin(schemas, place, prefix) for place in spec.member_names)
    return any(_pattern_can_begin(source, prefix) for source in spec.name_patterns)


def _name_can_begin(schemas: SchemaSet, place: Place, prefix: str) -> bool:
    return any(
        StringCheck(spec).feed(prefix) == len(prefix)
        for spec in schemas.specs((place,))
        if spec.kinds & STRING
    )


def _pattern_can_begin(source: str, prefix: str) -> bool:
    matcher = pattern.start(StringLanguage((source,)))
    return matcher is None or matcher.feed(prefix) == len(prefix)


def may_be_given(schemas: SchemaSet, spec: Spec, name: str) -> bool:
    """Whether a member of exactly this name is allowed."""
    return spec.member(name) is not None and all(
        schemas.checker.valid(name, place.schema) for place in spec.member_names
    )


def another_possible(schemas: SchemaSet, spec: Spec, used: Set[str]) -> bool:
    """Whether one more member can come."""
    if spec.max_members is not None and len(used) >= spec.max_members:
        return False
    return can_begin(schemas, spec, "", used)


def name_reason(
    spec: Spec, prefix: str, used: Set[str], no_members_message: str, *, whole: bool = False
) -> Reason:
    """Why no further member's name can begin with `prefix` or, if `whole`, be equal to it."""
    viable = one_of(names_left(spec, "", used)) or "no further argument"
    if spec.max_members is not None and len(used) >= spec.max_members:
        message = f"may have at most {spec.max_members} members"
        return Reason("CONSTRAINT_OTHER", message, spec.max_members_rule)
    given = [name for name in spec.names if name in used and name.startswith(prefix)]
    if prefix in used and spec.member(prefix) is not None:
        return Reason("DUPLICATE_ARGUMENT", f"'{prefix}' is already given", "", viable)
    if prefix and given and not whole:
        return Reason("DUPLICATE_ARGUMENT", f"'{given[0]}' is already given", "", viable)
    rule = next(
        (p.additional.pointer for p in spec.objects if p.additional and p.additional.schema is False), ""
    )
    if not spec.names and not spec.name_patterns:
        message = no_members_message
    else:
        message = f"no remaining argument begins with '{prefix}'" if prefix else "no argument remains"
    return Reason("UNKNOWN_ARGUMENT", message, rule, viable)
