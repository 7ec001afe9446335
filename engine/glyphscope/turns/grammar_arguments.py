"""The arguments of a call in a turn's grammar: values, keys and members in each encoding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.builder.context import MemberEntries, NotationEntries, TaggedValue, ToolContext
from glyphscope.grammar.builder.schema import Part, Parts, Place, join, type_of
from glyphscope.grammar.lexemes import is_possible
from glyphscope.grammar.notation_syntax import KeyLanguage, NotationSyntax, WhiteSpace, notation_syntax
from glyphscope.grammar.regular.numbers import number_node
from glyphscope.grammar.regular.strings import StringStyle, quoted_style, style_of, word_except
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    CharClass,
    Literal,
    Node,
    alt,
    repeat,
    separated,
    seq,
    terminal,
)  # fmt: skip
from glyphscope.registry.facts import EVERY_NUMBER, written_types
from glyphscope.registry.keywords import ABOUT, CHOICES, CUSTOM, TYPES
from glyphscope.turns.arguments_tagged import MAX_KEY
from glyphscope.turns.form import ArgumentsForm
from glyphscope.turns.grammar_markers import Markers
from glyphscope.turns.tools import TurnTools

_WORD = chars.union(chars.WORD, chars.of(".-"))
_MIN_TAG = 4  # characters of an opening that raw texts must not contain, whatever key follows
_MAX_DEPTH = 20
"""The maximum nesting of alternatives that are examined for the types of a value."""
_STRUCTURE = seq(repeat(CharClass(chars.of(" \t\r\n"))), CharClass(chars.of("[{(")))
_ONLY_TEXT = frozenset(("string",))
_DATA = frozenset(TYPES) - _ONLY_TEXT


def surface_of(form: ArgumentsForm, white_space: WhiteSpace, markers: Markers) -> NotationSyntax:
    """The syntax of values inside the arguments."""
    json = notation_syntax("json", white_space)
    if form.encoding == "json":
        return json
    spaced = notation_syntax("json", "single")
    words = form.encoding != "tagged" or form.literals == "python"
    if words:
        spaced = replace(spaced, boolean=alt("true", "false", "True", "False"), null=alt("null", "None"))
    if form.encoding == "pythonic":
        marks = dict.fromkeys((form.quote or '"', '"', "'"))
        return replace(spaced, strings=tuple(quoted_style(mark, lines=True) for mark in marks))
    if form.encoding == "dict":
        return replace(
            spaced, separator=Literal(form.separator or ","), key_end=Literal(":"),
            strings=(_marked(form.quote, markers),), bare=_bare(),
        )  # fmt: skip
    stop = _stop(form)
    inside = replace(style_of("json"), without=stop)
    styles = (inside, quoted_style("'", without=stop)) if words else (inside,)
    return replace(spaced, strings=styles)


def _marked(quote: str, markers: Markers) -> StringStyle:
    """Unescaped strings between two markers."""
    if quote in ("", '"', "'"):
        return quoted_style(quote or '"', lines=True)
    opening = markers.written(quote)
    return replace(markers.string_style(quote, Literal(quote)), before=opening)


@lru_cache(maxsize=1)
def _bare() -> chars.Ranges:
    return chars.subtract(chars.not_space(), chars.of(":={}[],\"'<>|\x1c\x1d\x1e\x1f\x85"))


def entries_of(
    form: ArgumentsForm,
    white_space: WhiteSpace,
    markers: Markers,
    tools: TurnTools,
    tool: str,
    after: tuple[str, ...],
) -> MemberEntries | None:
    """The form of a call's arguments before the markers `after`; None for a JSON object.

    Raises GrammarError for keys that cannot be written.
    """
    if form.encoding == "json":
        return None
    keys = tools.properties(tool)
    values = surface_of(form, white_space, markers)
    if form.encoding == "tagged":
        _check_keys(tool, keys, form)
        return TaggedEntries(form, markers, keys, after)
    if form.encoding == "dict":
        return NotationEntries(values)
    for key in keys:
        if chars.subtract(chars.of(key), _WORD) or not key:
            raise _unwritable(tool, key)
    return NotationEntries(
        replace(values, separator=terminal(alt(",", ", ")), key_end=Literal("="), bare=_WORD)
    )


def _unwritable(tool: str, key: str) -> GrammarError:
    return GrammarError(
        f"The argument {key!r} cannot be written as this model writes calls.",
        where=f"{tool}: {join('/properties', key)}",
        hint="Rename the argument: letters, digits and underscores can be written in every form.",
    )


def _check_keys(tool: str, keys: tuple[str, ...], form: ArgumentsForm) -> None:
    links = [*form.own_links[:1], *form.typed.values()]
    for key in keys:
        bare = key.strip().strip("\"'")
        broken = any(
            link.strip() and (link.strip() in key or key.endswith(link.strip()[0])) for link in links
        )
        if bare != key or not key or "\n" in key or broken or len(key) > MAX_KEY:
            raise _unwritable(tool, key)


def _stop(form: ArgumentsForm) -> Node:
    """The text that ends a value, regardless of its key."""
    after = form.after_value
    if not form.closing("").strip():
        return NEVER
    texts = [piece.text for piece in after]
    whole = "".join(texts).strip() if all(piece.kind == "text" for piece in after) else texts[0].strip()
    return Literal(whole)


@dataclass(frozen=True)
class TaggedEntries:
    """Parameters between markers: strings are raw, other values JSON; if both are possible, the schema decides."""

    form: ArgumentsForm
    markers: Markers
    keys: tuple[str, ...]
    after: tuple[str, ...] = ()

    @property
    def separator(self) -> Node:
        return self.markers.written(self.form.separator)

    def entry(self, context: ToolContext, name: str, key: str, places: tuple[Place, ...], part: Part) -> Node:
        hint = f"{name}-{key}"
        return alt(
            *(
                seq(self.markers.written(self.form.opening + key + link), value)
                for link, value in self._values(context, hint, key, places)
            )
        )

    def free(
        self, context: ToolContext, name: str, keys: KeyLanguage, places: tuple[Place, ...], part: Part
    ) -> Node:
        if any(piece.kind == "key" for piece in self.form.after_value):
            context.note_unenforced(
                part, "", "keys that the schema does not name are not written in separate tags"
            )
            return NEVER
        word = keys.among(word_except(keys.named | {""}, _WORD, _WORD))
        if is_possible(word) is False:
            return NEVER
        opening = self.markers.split(self.form.opening)
        before = opening.pop() if opening and isinstance(opening[-1], Literal) else EMPTY
        options = []
        for text, value in self._values(context, f"{name}-value", "", places):
            after, rest = self.markers.first(text)
            options.append(seq(*opening, terminal(seq(before, word, after)), *rest, value))
        return alt(*options)

    def _values(
        self, context: ToolContext, hint: str, key: str, places: tuple[Place, ...]
    ) -> list[tuple[str, Node]]:
        """The values with their closings, each with the text between key and value."""
        typed: dict[str, set[str]] = {}
        for kind, link in self.form.typed.items():
            typed.setdefault(link, set()).add(kind)
        if not typed:
            typed = {"".join(self.form.own_links[:1]): set(TYPES)}
        return [
            (link, self._value(context, hint, key, places, frozenset(kinds))) for link, kinds in typed.items()
        ]

    def _value(
        self, context: ToolContext, hint: str, key: str, places: tuple[Place, ...], kinds: frozenset[str]
    ) -> Node:
        closing = self.form.closing(key)
        styles = self._raw(closing)
        parts = context.schema.expand(places) if places else ()
        if isinstance(parts, str):
            return NEVER
        raw = "string" in kinds
        if raw and _any_text(context, parts):
            # A text is read as a value that the schema allows, or as the text itself, which it also allows.
            return (
                alt(*(context.ref(places, TaggedValue(_ONLY_TEXT, s), f"{hint}-text") for s in styles))
                if places
                else alt(*(style.written(repeat(CharClass(chars.ALL))) for style in styles))
            )
        stop, rest = self.markers.begun(_stop(self.form), closing)
        form = TaggedValue(kinds & _DATA, None, stop, rest)
        if not places:
            return _anything(context, form)
        found = _types(context, parts)
        value = context.ref(places, form, hint) if form.types & found else NEVER
        if not raw or "string" not in found:
            return value
        if found & {"array", "object"}:  # a text that begins like one of these is one
            styles = [
                replace(s, unlike=alt(s.unlike, _STRUCTURE)) if s.before == EMPTY else s for s in styles
            ]
        return alt(value, *(context.ref(places, TaggedValue(_ONLY_TEXT, s), f"{hint}-text") for s in styles))

    def _raw(self, closing: str) -> list[StringStyle]:
        """The styles of raw text: unchanged, or between the markers that protect it from being read as markup."""
        if not closing.strip():  # nothing closes a value: its text has no sign of what may follow
            signs = chars.of("".join(text.strip()[:1] for text in (self.form.separator, *self.after)) or "\n")
            return [self.markers.string_style("", NEVER, chars.subtract(chars.ALL, signs))]
        opening = self.form.opening.strip()
        tags = [opening] if len(opening) >= _MIN_TAG else [f"{opening}{key}" for key in self.keys]
        opened, closed = self.form.escape
        ends = [closing.strip(), *(tag for tag in tags if tag)]
        plain = self.markers.string_style(closing, alt(*ends))
        if not opened:
            return [plain]
        plain = replace(plain, unlike=Literal(opened))
        inner = self.markers.string_style(closed + closing, alt((closed + closing).strip(), *tags))
        return [plain, replace(inner, before=Literal(opened))]


def _any_text(context: ToolContext, parts: Parts, depth: int = 0) -> bool:
    """Whether any text at all is a valid value."""
    if (
        "string" not in written_types(parts) and any("type" in part.schema for part in parts)
    ) or depth > _MAX_DEPTH:
        return False
    limits = ABOUT["string"] | {"enum", "const", "not", "if", CUSTOM}
    for part in parts:
        if limits & part.schema.keys():
            return False
        for keyword in CHOICES:
            branches = part.schema.get(keyword, ())
            inner = (context.schema.expand((part.at(keyword, place),)) for place in range(len(branches)))
            if branches and not any(
                not isinstance(i, str) and _any_text(context, i, depth + 1) for i in inner
            ):
                return False
    return "string" in written_types(parts) or not any(len(part.schema) for part in parts)


def _types(context: ToolContext, parts: Parts, depth: int = 0) -> frozenset[str]:
    """The possible types of the value, judging by types, lists of values and alternatives."""
    found = frozenset(written_types(parts) if any("type" in part.schema for part in parts) else TYPES)
    for part in parts:
        listed = [part.schema["const"]] if "const" in part.schema else part.schema.get("enum")
        if listed is not None:
            found &= {type_of(value) for value in listed} | {"number"} & {
                "number" for value in listed if type_of(value) == "integer"
            }
        for keyword in CHOICES:
            if depth < _MAX_DEPTH and keyword in part.schema:
                branches = range(len(part.schema[keyword]))
                inner = [context.schema.expand((part.at(keyword, place),)) for place in branches]
                kinds = [_types(context, each, depth + 1) for each in inner if not isinstance(each, str)]
                found &= frozenset().union(*kinds)
    return found


def _anything(context: ToolContext, form: TaggedValue) -> Node:
    """Any value of some types without further constraints, with its closing."""
    spelled = context.syntax
    anything = context.any_value(Part(Place(""), {}))
    entry = seq(spelled.map_key(), spelled.key_end, anything)
    options: list[tuple[str, Node]] = [
        ("number", terminal(number_node(EVERY_NUMBER))),
        ("boolean", spelled.boolean),
        ("null", spelled.null),
        ("array", seq(spelled.open_list, separated(anything, spelled.separator), spelled.close_list)),
        ("object", seq(spelled.open_object, separated(entry, spelled.separator), spelled.close_object)),
    ]
    return seq(alt(*(node for kind, node in options if kind in form.types)), form.closing, form.after)
