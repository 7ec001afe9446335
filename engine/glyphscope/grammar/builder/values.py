"""The rules of values: listed values, alternatives, each type with its keywords; and the unenforced constraints.

`_node` decides from which keyword a value's rule is made: a custom grammar, a list of values, a choice, or the types.
The functions below it are in this order; objects and arrays are in `containers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from fractions import Fraction
from typing import Any

from glyphscope.base.errors import GrammarError
from glyphscope.events import Notation
from glyphscope.grammar import chars, tree
from glyphscope.grammar.builder.alternatives import distinct, may_overlap, note_weak_choices
from glyphscope.grammar.builder.any_order import listed_values
from glyphscope.grammar.builder.containers import arguments_node, array_node, object_node, uncertain_items
from glyphscope.grammar.builder.context import (
    ContextChoice,
    Form,
    Impossible,
    NotationEntries,
    TaggedValue,
    ToolContext,
)
from glyphscope.grammar.builder.schema import Part, Parts, Place, join, sizes_of, type_of
from glyphscope.grammar.checking import listed_by_all
from glyphscope.grammar.lark.lexeme_partition import as_lexeme
from glyphscope.grammar.lexemes import is_possible
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.formats import written_format
from glyphscope.grammar.regular.numbers import (
    PRECISION,
    fractions_node,
    integer_node,
    integers_of,
    multiples_node,
    number_node,
)
from glyphscope.grammar.regular.regex import PatternNotEnforced, text_node
from glyphscope.grammar.regular.strings import (
    StringStyle,
    alphabet,
    escaped,
    first_characters,
    string_node,
    style_of,
)
from glyphscope.grammar.text_grammar import UnreadableGrammar, one_expression, text_grammar, written_grammar
from glyphscope.grammar.tree import (
    NEVER,
    Grammar,
    Node,
    Origin,
    RuleRef,
    alt,
    joined,
    refs,
    replace_refs,
    seq,
    terminal,
)
from glyphscope.registry import facts
from glyphscope.registry.keywords import ABOUT, CHOICES, CUSTOM, KEYWORDS, LIMITS, TYPES, Keyword, companions

_MAX_STATES = 2_000  # of a custom grammar that becomes one lexeme
_FOLLOWED = frozenset({"$ref", "allOf", CUSTOM})
"""Their schemas are among the parts."""
_BEYOND = tuple(keyword for keyword in KEYWORDS.values() if keyword.unenforced)
_MAX_RULES = 100  # alternatives with separate rules, if all of them only list values
_MAX_AT_ONCE = 1_500  # llguidance reads 2,000 alternatives at one point of a text
_NOT_ENDINGS = "only whole steps, and steps that divide 1, are enforced"
_MAX_LENGTH = 2_500
"""States from which a text of a pattern and a length is looked for, about one for each character of the shortest one.
llguidance 1.9.1 has fuel for 2,600 to 5,000, by the pattern, and rejects the grammar beyond that.
"""
_TOO_LONG = "together with the pattern it is too large for an automaton"
_NOT_TOGETHER = "a text that markup ends is not written by recursive rules, or by many"
_RULES_REPLACE = "the rules of its grammar are recursive or many, and replace it"
_OF_TEXT = (*ABOUT["string"], CUSTOM)
_TOO_LARGE = "the step, together with others, is too large for an automaton of digits"


def build_values(context: ToolContext, root: str) -> None:
    """Make all pending rules, and the rules that they request. The `root` of the tool gets no text if a grammar in the
    schema cannot be read: the other tools can still be called.
    """
    try:
        while context.pending:
            context.rule, parts, form = context.pending.pop()
            node = _node(context, context.rule, parts, form)
            context.book.add(context.rule, node, context.origins[context.rule])
    except UnreadableGrammar as error:
        context.unreadable = Impossible(root, error.where, error.message.partition("\n")[0].rstrip("."))
        context.pending, context.unlexed = [], False
        context.book.add(root, NEVER, Origin(context.schema.tool, ""))
        return
    note_weak_choices(context)


def _node(context: ToolContext, name: str, parts: Parts, form: Form) -> Node:
    """The body of a rule for parts that apply together, from the first of the keywords below that any of them has."""
    written = (part for part in parts if CUSTOM in part.schema)  # by its custom grammar, with its quotes
    custom = next((part for part in written if not isinstance(part.schema[CUSTOM], Mapping)), None)
    if custom is not None and not (isinstance(form, TaggedValue) and form.style):
        return _closed(_custom(context, name, custom, parts, form), form)
    if custom is not None:
        context.note_unenforced(custom, CUSTOM, "a raw text is not written as the grammar of a value says")
    listing = next((part for part in parts if facts.listed(part.schema) is not None), None)
    if listing is not None and (form == "value" or isinstance(form, TaggedValue)):
        return _closed(
            _listed(context, listing, parts, form if isinstance(form, TaggedValue) else None), form
        )
    if listing is not None and (found := facts.listed(listing.schema)) is not None:
        context.note_unenforced(listing, found.keyword, "whole calls are not listed")
    for part in parts:
        for keyword in CHOICES:
            if keyword in part.schema and keyword not in part.place.taken:
                return _branches(context, name, part, keyword, parts, form)
    known = len(context.impossible)
    types = facts.written_types(parts)
    _note_beyond(context, types, parts)
    if form == "members":
        entries = NotationEntries(context.syntax)
        node = arguments_node(context, name, parts, entries, leading=True) if "object" in types else NEVER
    elif form == "arguments":
        node = arguments_node(context, name, parts, context.entries) if "object" in types else NEVER
    elif isinstance(form, TaggedValue):
        node = _closed(_typed(context, name, types & form.types, parts, form.style), form)
    elif types == set(TYPES) and not any("type" in part.schema or _forbids(part) for part in parts):
        node = context.any_value(parts[0])
    else:
        node = _typed(context, name, types, parts)
    if node == NEVER and len(context.impossible) == known:  # no part of it has already given a reason
        context.impossible.append(
            Impossible(name, parts[0].place.pointer, "its constraints contradict each other")
        )
    return node


def _custom(context: ToolContext, name: str, part: Part, parts: Parts, form: Form) -> Node:
    """A value written by its custom grammar: GBNF under `x-grammar`, which replaces all other constraints on the value.

    It is one expression, or rules with a `root`, for the text of the value in either notation, including its quotes.
    The validator decides whether that text is a valid value. Raises GrammarError, with the place in the schema, if the
    grammar has problems.
    """
    where = join(part.place.pointer, CUSTOM)
    if form in ("members", "arguments"):
        raise GrammarError(
            "The arguments as a whole cannot have a custom grammar in a shape with the tool's name among them.",
            where=f"{context.schema.tool}: {where}",
            hint="Use the shape tool-args or name-arguments.",
        )
    for other in parts:
        for keyword in other.schema:
            if keyword in KEYWORDS and KEYWORDS[keyword].decides and keyword not in _FOLLOWED:
                context.note_unenforced(other, keyword, "the value's own grammar replaces it")
    grammar = written_grammar(part.schema, where)
    assert grammar is not None, "the part has one"
    piece = as_lexeme(grammar)
    if piece is not None and not any(p.place.taken for p in parts) and _closes_itself(piece):
        return terminal(piece)
    context.lexed = False  # its lexemes may be in conflict and must be partitioned
    return _imported(context, name, grammar, part)


def _closes_itself(piece: Node) -> bool:
    """Whether none of its texts is a prefix of another one: then it never conflicts with the text that follows."""
    automaton = Automaton.of(piece)
    for number, state in enumerate(automaton.states()):
        if number == _MAX_STATES or (state.final and automaton.moves(state)):
            return False
    return True


def _imported(
    context: ToolContext, name: str, grammar: Grammar, part: Part, style: StringStyle | None = None
) -> Node:
    """The rules of a part's own grammar, each with its place in it; with a style, for the content of such a string."""
    names = {rule: context.book.reserve(f"{name}-{rule}") for rule in grammar.rules}

    def changed(node: Node) -> Node:
        if isinstance(node, RuleRef):
            return RuleRef(names[node.name])
        if style is None:
            return replace_refs(node, lambda inner: RuleRef(names[inner]))
        if isinstance(node, tree.Terminal):
            return terminal(escaped(node.body, style))
        if isinstance(node, tree.Seq | tree.Alt | tree.Repeat):
            return joined(node, map(changed, node.inner))
        return escaped(node, style)

    for rule in grammar.rules.values():
        pointer = join(part.place.pointer, CUSTOM, rule.name)
        context.book.add(names[rule.name], changed(rule.body), Origin(context.schema.tool, pointer))
    return RuleRef(names[grammar.root])


def _listed(context: ToolContext, part: Part, parts: Parts, form: TaggedValue | None) -> Node:
    """One of the values of `const` or `enum` that satisfy all the parts."""
    found = facts.listed(part.schema)
    assert found is not None, "the part lists values"
    return _possible_of(context, part, *found, [p.place for p in parts], form)


def _possible_of(
    context: ToolContext, part: Part, keyword: str, values: Sequence[Any], places: Sequence[Place],
    form: TaggedValue | None,
) -> Node:  # fmt: skip
    """One of the values that a keyword of the part lists, if it satisfies all the places."""
    pointer = join(part.place.pointer, keyword)
    possible = []
    for value, why in zip(values, context.schema.excluded(places, values), strict=True):
        context.note_listed(pointer, json.dumps(value, ensure_ascii=False), why)
        if why is None:
            possible.append(_plain(value))
    if not possible:
        why = "no listed value satisfies the other constraints"
        context.impossible.append(Impossible(context.rule, part.place.pointer, why))
    if form is not None:
        possible = [value for value in possible if type_of(value) in form.types]
    return listed_values(context, part, possible, form.style if form else None) if possible else NEVER


def _plain(value: Any) -> Any:
    """The value to write: an integer as an integer literal, even if the schema lists it as 5.0."""
    return int(facts.exact(value)) if isinstance(value, float) and value.is_integer() else value


def _branches(context: ToolContext, name: str, part: Part, keyword: str, parts: Parts, form: Form) -> Node:
    """One of the alternatives of `anyOf` or `oneOf`, each a rule to which all other parts also apply.

    Many alternatives that only list values are one list.
    """
    chosen = Place(part.place.pointer, part.place.taken | {keyword})
    others = tuple(chosen if p is part else p.place for p in parts)
    options = part.schema[keyword]
    if len(options) > _MAX_RULES and (form == "value" or isinstance(form, TaggedValue)):
        values = listed_by_all(options, keyword)
        if values is not None:
            tagged = form if isinstance(form, TaggedValue) else None
            return _closed(_possible_of(context, part, keyword, values, others, tagged), form)
    places = [part.at(keyword, index) for index in range(len(options))]
    if KEYWORDS[keyword].choice == "one" and may_overlap(context.schema, places):
        context.note_unenforced(
            part, keyword, "its alternatives may overlap, and a grammar does not count them"
        )
    if not isinstance(form, TaggedValue) or _structured(context, places, form) > 1:
        context.note_unlexed()
    branches = distinct(context.schema, places)
    if len(options) - branches.count(None) > _MAX_AT_ONCE:
        raise GrammarError(
            f"The schema has {len(options):,} alternatives at one place, more than {_MAX_AT_ONCE:,}.",
            where=f"{context.schema.tool}: {join(part.place.pointer, keyword)}",
            hint="Divide them into groups that begin differently, or into several tools.",
        )
    rules = [
        NEVER if place is None else context.ref((*others, place), form, f"{name}-{i + 1}")
        for i, place in enumerate(branches)
    ]
    names = tuple(rule.name if isinstance(rule, tree.RuleRef) else "" for rule in rules)
    context.choices.append(ContextChoice(part, keyword, parts, names))
    return alt(*rules)


def _structured(context: ToolContext, places: Sequence[Place], form: TaggedValue) -> int:
    """The number of alternatives that may be arrays or objects, which consist of several lexemes."""
    if form.style is not None or not {"array", "object"} & form.types:
        return 0
    alternatives = [context.schema.expand((place,)) for place in places]
    return sum(
        not isinstance(each, str) and bool({"array", "object"} & facts.written_types(each))
        for each in alternatives
    )


def _closed(node: Node, form: Form) -> Node:
    """A value with its closing marker."""
    if not isinstance(form, TaggedValue) or form.style is not None or node == NEVER:
        return node
    options = node.options if isinstance(node, tree.Alt) else (node,)
    whole, others = [], []
    for option in options:
        body = option.body if isinstance(option, tree.Terminal) else option
        if isinstance(body, tree.Literal) or isinstance(option, tree.Terminal):
            whole.append(terminal(seq(body, form.closing)))
        else:
            others.append(seq(option, form.closing))
    return seq(alt(*whole, *others), form.after)


def _note_beyond(context: ToolContext, types: Set[str], parts: Parts) -> None:
    for part in parts:
        for keyword in _BEYOND:
            if (
                keyword.name in part.schema
                and _is_about(keyword, types)
                and _constrains(context, part, keyword.name, parts)
            ):
                context.note_unenforced(part, keyword.name, keyword.unenforced)
        if "not" in part.schema and not _excludes(part.schema["not"], types):
            context.note_unenforced(part, "not", "a grammar spells what may come, not what may not")


def _is_about(keyword: Keyword, types: Set[str]) -> bool:
    """Whether the keyword constrains values of one of these types."""
    return (
        keyword.about in types or keyword.about == "any" or (keyword.about == "number" and "integer" in types)
    )


def _constrains(context: ToolContext, part: Part, keyword: str, parts: Parts) -> bool:
    """Whether a keyword that no grammar enforces rejects any value that the others allow."""
    schema = part.schema
    if keyword == "unevaluatedItems":
        return schema[keyword] is not True and bool(uncertain_items(context.schema, part, parts))
    if keyword == "contains":
        return schema.get("minContains", 1) > 0 or "maxContains" in schema
    if keyword == "if":
        return len(companions(keyword) & schema.keys()) > 1
    return bool(schema[keyword])


def _forbids(part: Part) -> bool:
    return facts.forbidden_key(part.schema.get("not")) is not None


def _excludes(rejected: Any, types: Set[str]) -> bool:
    """Whether the types, which are those that `not` leaves, and the keys of objects enforce it completely."""
    whole, partly = facts.accepted(rejected)
    if "integer" in whole and "number" in types - whole:
        return False  # the integers are not left out of the numbers
    return types & partly <= ({"object"} if facts.forbidden_key(rejected) is not None else set())


def _own_texts(
    context: ToolContext, name: str, part: Part, grammar: Grammar, styles: Sequence[StringStyle | Notation]
) -> Node | None:
    """Strings with the texts of the grammar of a custom tool, by its rules. None if they need an intersection: for a
    style in which a text may end the string.
    """
    options = []
    for style in map(style_of, styles):
        apart = [first_characters(node) for node in (style.without, style.unlike) if node != NEVER]
        if any(chars.intersection(each, _alphabet(grammar)) for each in apart):
            return None
        content = _imported(context, name, grammar, part, style)
        options.append(seq(style.before, style.opening, content, style.closing, style.after))
        context.lexed &= bool(style.closing) and not apart
    context.note_unlexed()
    return alt(*options)


def _one_expression(grammar: Grammar) -> Node | None:
    """The grammar as one regular node; None if it is recursive or large."""
    with suppress(GrammarError):
        return one_expression(grammar) if len(grammar.rules) <= _MAX_RULES else None
    return None


def _alphabet(grammar: Grammar) -> chars.Ranges:
    leaves = (node for rule in grammar.rules.values() for node in tree.walk(rule.body) if not node.inner)
    return chars.union(
        *(alphabet(node) for node in leaves if isinstance(node, tree.Literal | tree.CharClass))
    )


def _typed(
    context: ToolContext, name: str, types: Set[str], parts: Parts, style: StringStyle | None = None
) -> Node:
    makers: tuple[tuple[str, Callable[[], Node]], ...] = (
        ("object", lambda: object_node(context, name, parts)),
        ("array", lambda: array_node(context, name, parts)),
        ("string", lambda: _string(context, name, parts, style)),
        ("number", lambda: _number(context, parts, whole=False)),
        ("integer", lambda: NEVER if "number" in types else _number(context, parts, whole=True)),
        ("boolean", lambda: context.syntax.boolean),
        ("null", lambda: context.syntax.null),
    )
    nodes = {kind: make() for kind, make in makers if kind in types}
    _note_types(context, parts, nodes)
    return alt(*nodes.values())


def _note_types(context: ToolContext, parts: Parts, nodes: Mapping[str, Node]) -> None:
    """Note which of the listed types are possible."""
    for part in parts:
        listed = part.schema.get("type")
        for kind in listed if isinstance(listed, list) and len(listed) > 1 else ():
            possible = (
                nodes.get("number" if kind == "integer" and "number" in nodes else kind, NEVER) != NEVER
            )
            context.note_listed(join(part.place.pointer, "type"), kind, None if possible else "")


def _string(context: ToolContext, name: str, parts: Parts, style: StringStyle | None) -> Node:
    contents: list[Node] = []
    own: list[tuple[Part, Grammar]] = []
    for part in parts:
        if (grammar := text_grammar(part.schema, join(part.place.pointer, CUSTOM))) is not None:
            own.append((part, grammar))
        for keyword, pattern in facts.patterns_of(part.schema):
            try:
                contents.append(text_node(pattern))
            except PatternNotEnforced as reason:
                context.note_unenforced(part, keyword, str(reason), checked=reason.checked)
        if "format" in part.schema:
            written = written_format(part.schema["format"])
            if written.why:
                context.note_unenforced(part, "format", written.why, checked=written.checked)
            if written.node is not None:
                contents.append(written.node)
    low, high = sizes_of(parts, "length")
    styles = (style,) if style else context.syntax.styles
    if own:
        whole = [_one_expression(grammar) for _, grammar in own]
        others = [(part, keyword) for part in parts for keyword in _OF_TEXT if keyword in part.schema]
        if None in whole or (len(others) == 1 and len(own[0][1].rules) > 1):
            by_rules = _own_texts(context, name, *own[0], styles)
            others.remove((own[0][0], CUSTOM))
            for part, keyword in others if by_rules is not None else ():
                context.note_unenforced(part, keyword, _RULES_REPLACE)
            if by_rules is not None:
                return by_rules
        for (part, _), node in zip(own, whole, strict=True):
            if node is None:
                context.note_unenforced(part, CUSTOM, _NOT_TOGETHER)
            else:
                contents.append(node)
    nodes = [string_node(each, tuple(contents), low, high) for each in styles]
    possible = [_is_possible(node) for node in nodes]
    if None in possible:
        for part in parts:
            for limit in LIMITS["length"]:
                if limit in part.schema:
                    context.note_unenforced(part, limit, _TOO_LONG)
        return alt(*(string_node(each, tuple(contents)) for each in styles))
    return alt(*(node for node, some in zip(nodes, possible, strict=True) if some))


def _is_possible(node: Node) -> bool | None:
    lexemes = [
        part
        for part in (node.parts if isinstance(node, tree.Seq) else (node,))
        if isinstance(part, tree.Terminal)
    ]
    return is_possible(lexemes[0].body, _MAX_LENGTH) if lexemes else node != NEVER


def _number(context: ToolContext, parts: Parts, *, whole: bool) -> Node:
    span = facts.range_of(parts)
    stepping = [part for part in parts if "multipleOf" in part.schema]
    step = facts.common_step(span.step, Fraction(int(whole)))
    if step.denominator > 1 or not step:
        node = fractions_node(span, step) if step else number_node(span)
        if node is None:
            for part in stepping:
                context.note_unenforced(part, "multipleOf", _NOT_ENDINGS)
            node = number_node(span, decimals=PRECISION)
        return terminal(node)
    low, high = integers_of(span)
    if step == 1:
        return terminal(integer_node(low, high))
    listed = multiples_node(low, high, step.numerator, context.book.shared)
    if listed is None:
        for part in stepping:
            if facts.exact(part.schema["multipleOf"]).numerator != 1:
                context.note_unenforced(part, "multipleOf", _TOO_LARGE)
        return terminal(integer_node(low, high))
    return listed if any(refs(listed)) else terminal(listed)
