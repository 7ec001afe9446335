"""Judge a member's name being written against a Spec's constraints on names."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence, Set

from glyphscope.grammar.regular import pattern
from glyphscope.grammar.regular.pattern import StringLanguage
from glyphscope.notation.scalars import STRING, is_bare_key
from glyphscope.validation.candidates import Candidate
from glyphscope.validation.reasons import Reason
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import Spec, SpecPlace
from glyphscope.validation.strings import StringCheck

_MAX_JUDGED_PREFIX = 512
"""Each prefix of a name is matched from its start again; a name longer than this is judged when it is complete."""


def names_left(
    schemas: SchemaSet, spec: Spec, prefix: str, used: Container[str], *, bare: bool = False
) -> Iterator[str]:
    """The names in the schema that begin with `prefix` and are not `used`; `bare`: only those that need no quotes."""
    for name in schemas.names(spec).listed:
        if name.startswith(prefix) and name not in used and (not bare or is_bare_key(name)):
            yield name


def possible_names(
    schemas: SchemaSet, spec: Spec, prefix: str, used: Set[str], *, bare: bool = False
) -> Iterator[str]:
    """The possible names of a further member that begin with `prefix`: those of the schema, then others in words."""
    if not room(spec, used):
        return
    yield from names_left(schemas, spec, prefix, used, bare=bare)
    if not can_begin_unlisted(schemas, spec, prefix):
        return
    if spec.open_names:
        yield "any other name" if not spec.member_names else "any name that `propertyNames` allows"
    else:
        for source in spec.name_patterns:
            if _pattern_can_begin(source, prefix):
                yield f"a name that matches {source}"


def can_begin(schemas: SchemaSet, spec: Spec, prefix: str, used: Set[str], *, bare: bool = False) -> bool:
    """Whether a further member can come, with a name that begins with `prefix`; `bare`: without quotes."""
    if spec.any_name:
        return True
    if not room(spec, used):
        return False
    if next(names_left(schemas, spec, prefix, used, bare=bare), None) is not None:
        return True
    return can_begin_unlisted(schemas, spec, prefix)


def can_begin_unlisted(schemas: SchemaSet, spec: Spec, prefix: str) -> bool:
    """Whether a name that the schema does not list can begin with `prefix`; True also if that is not decidable."""
    if not schemas.names(spec).others:
        return False
    if len(prefix) > _MAX_JUDGED_PREFIX:
        return True
    if not all(_name_can_begin(schemas, place, prefix) for place in spec.member_names):
        return False
    return spec.open_names or any(_pattern_can_begin(source, prefix) for source in spec.name_patterns)


def _name_can_begin(schemas: SchemaSet, place: SpecPlace, prefix: str) -> bool:
    return any(
        StringCheck(spec).feed(prefix) == len(prefix)
        for spec in schemas.specs((place,))
        if spec.kinds & STRING
    )


def _pattern_can_begin(source: str, prefix: str) -> bool:
    matcher = pattern.start(StringLanguage((source,)))
    return matcher is None or matcher.feed(prefix) == len(prefix)


def room(spec: Spec, used: Set[str]) -> bool:
    """Whether the number of members allows another one."""
    return spec.members.most is None or len(used) < spec.members.most


def name_reason(
    candidates: Sequence[Candidate],
    prefix: str,
    used: Set[str],
    no_members_message: str,
    *,
    whole: bool,
    member: str = "argument",
) -> Reason:
    """Why no further member's name can begin with `prefix` or, if `whole`, be equal to it."""
    roomy = [candidate for candidate in candidates if room(candidate.spec, used)]
    if not roomy:
        spec = max((candidate.spec for candidate in candidates), key=lambda one: one.members.most or 0)
        message = f"may have at most {spec.members.most} members"
        return Reason("CONSTRAINT_OTHER", message, spec.members.most_rule)
    names = [candidate.schemas.names(candidate.spec) for candidate in roomy]
    for candidate, known in zip(roomy, names, strict=True):
        if prefix in used and candidate.spec.member(prefix) is not None:
            return already_given(prefix)
        given = [name for name in known.listed if name in used and name.startswith(prefix)]
        if prefix and given and not whole:
            return already_given(given[0])
    any_name = any(known.listed or known.others for known in names)
    rule = _rule_of_names(roomy[0].spec, prefix)
    return unknown_name(prefix, whole, rule, "" if any_name else no_members_message, member)


def already_given(name: str) -> Reason:
    return Reason("DUPLICATE_ARGUMENT", f"'{name}' is already given")


def unknown_name(
    prefix: str, whole: bool, rule: str = "", message: str = "", member: str = "argument"
) -> Reason:
    """No member's name begins with `prefix` or, if `whole`, is equal to it; `message` replaces the words for it."""
    if whole:
        words = f"no remaining {member} is named '{prefix}'"
    else:
        words = f"no remaining {member} begins with '{prefix}'" if prefix else f"no {member} remains"
    return Reason("UNKNOWN_ARGUMENT", message or words, rule)


def _rule_of_names(spec: Spec, prefix: str) -> str:
    """The keyword that rejects the name."""
    if spec.member_names and (spec.open_names or prefix in spec.names):
        return spec.member_names[0].pointer
    closed = (p.additional.pointer for p in spec.objects if p.additional and p.additional.schema is False)
    return next(closed, "")
