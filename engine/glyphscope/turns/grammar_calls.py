"""The calls in a turn's grammar: for every tool, in a model's own form or in GLYPH or JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, product

import msgspec
from msgspec.structs import replace

from glyphscope.base.errors import GrammarError
from glyphscope.base.lines import common_length
from glyphscope.events import Shape
from glyphscope.grammar import chars
from glyphscope.grammar.builder.context import Form, ToolContext
from glyphscope.grammar.builder.schema import Place
from glyphscope.grammar.builder.tools import MAX_ALTERNATIVES, ToolRules, choice_of, whole_value
from glyphscope.grammar.notation_syntax import NotationSyntax, WhiteSpace, notation_syntax
from glyphscope.grammar.regular.numbers import integer_node
from glyphscope.grammar.tree import (
    CharClass,
    Literal,
    Node,
    RuleRef,
    Seq,
    alt,
    optional,
    repeat,
    seq,
    terminal,
)  # fmt: skip
from glyphscope.notation.shapes import shape_keys
from glyphscope.registry import Tool
from glyphscope.turns.form import ArgumentsForm, CallForm, CallObject, Piece, TurnForm
from glyphscope.turns.grammar_arguments import entries_of, surface_of
from glyphscope.turns.grammar_markers import Markers
from glyphscope.turns.own import OwnCall
from glyphscope.turns.own_text import call_opening, next_call, up_to, words_only, words_to_call
from glyphscope.turns.read import read_turn
from glyphscope.turns.starts import marker_like
from glyphscope.turns.tools import TurnTools

_ID = repeat(CharClass(chars.union(chars.WORD, chars.of("-"))), 1, 40)
_INDEX = terminal(repeat(CharClass(chars.DIGITS), 1, 4))
_SAFE = chars.union(chars.WORD, chars.of(".-"))
"""Characters of names that every form can write."""


@dataclass
class CallRules:
    """Makes the rules of calls in a model's own form, at most `most` calls."""

    form: TurnForm
    rules: ToolRules
    markers: Markers
    tools: TurnTools
    allowed: list[Tool]
    most: int | None
    _made: dict[tuple[str, bytes, WhiteSpace], RuleRef] = field(default_factory=dict)

    def openings(self) -> dict[str, Node]:
        """For each marker that begins calls, everything from there to the end of the calls.

        Raises GrammarError if no tool can be called in the form.
        """
        rests: dict[str, list[Node]] = {}
        for call in self.form.calls:
            names = [t for t in self.allowed if not call.fixed_name or t.name == call.fixed_name]
            known = call.object or call.fixed_name or any(piece.kind == "name" for piece in call.pieces)
            if call.strict and names and known:
                for opening, rest in self._calls(call, names).items():
                    rests.setdefault(opening, []).append(rest)
        if not rests:
            raise GrammarError(
                "This model's form has no way to write a call of these tools.",
                where="form",
                hint="Use a notation of Glyphscope, or a template that writes tool calls.",
            )
        return {opening: self.rules.book.inner("calls", alt(*nodes)) for opening, nodes in rests.items()}

    def _calls(self, call: CallForm, tools: list[Tool]) -> dict[str, Node]:
        white: WhiteSpace = (
            "lines" if call.object and "\n " in call.section_open + call.separator else "single"
        )
        texts, pieces = call.call_opens, call.pieces[call.pieces[0].kind == "text" :]
        one = self._one(call, pieces, tools, white)
        least = min(texts, key=len)
        if all(text.startswith(least) for text in texts):  # the rest of longer ones may be omitted
            one = seq(alt(*(self.markers.written(text[len(least) :]) for text in texts)), one)
            texts = (least,)
        if call.unmarked and call.object is None and not marker_like(call.opening):
            return self._named(call, tools, white)
        opening = ""
        if not (call.section_open + texts[0]) and call.object is not None:  # the object itself begins it
            shape = call.object
            opening = "{" + f'"{shape.wrapper or shape.name_key}":'
            one = self._one(call, pieces, tools, white, begun=True)
        again = alt(*(self.markers.written(call.separator + text + opening) for text in texts))
        most = None if self.most is None else self.most - 1
        more = repeat(seq(again, one), 0, most) if self.form.parallel else Seq(())
        rest = seq(one, more, self.markers.written(call.section_close))
        return {call.section_open + text + opening: rest for text in texts}

    def _named(self, call: CallForm, tools: list[Tool], white: WhiteSpace) -> dict[str, Node]:
        """Calls that only their tools' names distinguish from text: these are a part of the marker."""
        place = next(at for at, piece in enumerate(call.pieces) if piece.kind == "name")
        before = call.section_open + "".join(piece.text for piece in call.pieces[:place])
        following = call.pieces[place + 1]
        link = following.text if following.kind == "text" else ""
        rest = call.pieces[place + 1 + bool(link) :]
        one = self._one(call, call.pieces, tools, white)
        most = None if self.most is None else self.most - 1
        again = seq(self.markers.written(call.separator), one)
        more = repeat(again, 0, most) if self.form.parallel else Seq(())
        end = seq(more, self.markers.written(call.section_close))
        return {before + tool.name + link: seq(self._pieces(rest, call, tool, white), end) for tool in tools}

    def _one(
        self,
        call: CallForm,
        pieces: tuple[Piece, ...],
        tools: list[Tool],
        white: WhiteSpace,
        *,
        begun: bool = False,
    ) -> Node:
        """A call after the first piece's text."""
        if call.object is not None:
            place = next(at for at, piece in enumerate(pieces) if piece.kind == "object")
            before, after = self._plain(pieces[:place]), self._plain(pieces[place + 1 :])
            made = self._object(call, call.object, tools, white, begun)
            return self.rules.book.inner("call", seq(before, made, after))
        if call.fixed_name:
            (tool,) = tools
            return self.rules.book.inner("call", self._pieces(pieces, call, tool, white))
        place = next(at for at, piece in enumerate(pieces) if piece.kind == "name")
        before, rest = self._plain(pieces[:place]), pieces[place + 1 :]
        named = []
        for tool in tools:
            self._check_name(tool.name, call)
            tail = self._pieces(rest, call, tool, white)
            if call.empty is not None and self._may_be_empty(tool):
                tail = self._or_empty(rest, call, call.empty, tool, white)
            named.append((tool.name, self.rules.book.inner(f"call-{tool.name}", tail)))
        return self.rules.book.inner("call", seq(before, self._choice(named)))

    def _or_empty(
        self, pieces: tuple[Piece, ...], call: CallForm, empty: str, tool: Tool, white: WhiteSpace
    ) -> Node:
        """The pieces after the name, or the text of a call without arguments; their common beginning is written once,
        because a lexeme never goes back.
        """
        first = pieces[0]
        shared = common_length(first.text, empty) if first.kind == "text" and not first.also else 0
        after = (replace(first, text=first.text[shared:]), *pieces[1:]) if shared else pieces
        after = after[1:] if shared and shared == len(first.text) else after
        rest = self._pieces(after, call, tool, white)
        return seq(self.markers.written(empty[:shared]), alt(rest, self.markers.written(empty[shared:])))

    def _choice(self, named: list[tuple[str, Node]]) -> Node:
        names = sorted(name for name, _ in named)
        nested = any(b.startswith(a) for a, b in pairwise(names))
        if len(named) > MAX_ALTERNATIVES and not nested:
            return choice_of(self.rules.book, named)
        return alt(*(seq(name, following) for name, following in named))

    def _plain(self, pieces: tuple[Piece, ...]) -> Node:
        return self._row(pieces, lambda _: Seq(()))

    def _pieces(self, pieces: tuple[Piece, ...], call: CallForm, tool: Tool, white: WhiteSpace) -> Node:
        return self._row(
            pieces,
            lambda kind: seq(tool.name) if kind == "name" else self._arguments(call, tool, white),
        )

    def _row(self, pieces: tuple[Piece, ...], of_tool: Callable[[str], Node]) -> Node:
        """Pieces in sequence. Texts with several spellings are written out, because a lexeme never goes back."""
        out: list[Node] = []
        run: list[tuple[str, ...]] = []
        for place, piece in enumerate(pieces):
            following = pieces[place + 1].kind if place + 1 < len(pieces) else ""
            before = pieces[place - 1] if place else None
            if piece.kind == "text":
                loose = following in ("id", "index") and "" in piece.also  # omitted together
                run.append(tuple(text for text in piece.texts if text or not loose))
                continue
            word = (
                _INDEX
                if piece.kind == "index"
                else terminal(_ID)
                if piece.kind == "id"
                else of_tool(piece.kind)
            )
            whole = seq(self._texts(run), word)
            run = []
            left_out = piece.kind in ("id", "index") and before is not None and "" in before.also
            out.append(optional(whole) if left_out else whole)
        return seq(*out, self._texts(run))

    def _texts(self, run: list[tuple[str, ...]]) -> Node:
        """Consecutive texts with several spellings: those accepted by the reader, which tries the longest first."""
        spelled = ("".join(texts) for texts in product(*run))
        return alt(*(self.markers.written(text) for text in dict.fromkeys(spelled) if _is_read(text, run)))

    def _object(
        self, call: CallForm, shape: CallObject, tools: list[Tool], white: WhiteSpace, begun: bool
    ) -> Node:
        """A call as a JSON object; `begun`: from after its first key and colon."""
        if call.arguments.as_string:
            raise GrammarError(
                "Arguments that are JSON in a string are not masked.", where="form",
                hint="Use a notation of Glyphscope, or run without the constraint.",
            )  # fmt: skip
        spelled = surface_of(ArgumentsForm(), white, self.markers)
        ids = [self._id_entry(shape, spelled)] if shape.id_key and not begun else []
        named: list[tuple[str, Node]] = []
        for tool in tools:
            arguments = self._arguments(call, tool, white)
            name = spelled.constant(tool.name)
            assert isinstance(name, Literal)
            if shape.name_key:
                arguments = seq(spelled.separator, spelled.key(shape.arguments_key), arguments)
            else:
                arguments = seq(spelled.key_end, arguments)
            named.append((name.text, self.rules.book.inner("call-of", arguments)))
        chosen = self._choice(named)
        if shape.name_key and not (begun and not shape.wrapper):
            chosen = seq(spelled.key(shape.name_key), chosen)
            chosen = alt(
                seq(chosen, *(optional(seq(spelled.separator, one)) for one in ids)),
                *(seq(one, spelled.separator, chosen) for one in ids),
            )
        elif begun:
            chosen = seq(self._after_colon(), chosen)
        whole = seq(chosen, spelled.close_object)
        if shape.wrapper:
            whole = seq(spelled.open_object, whole, spelled.close_object)
            whole = seq(self._after_colon(), whole) if begun else seq(spelled.key(shape.wrapper), whole)
        return whole if begun else seq(spelled.open_object, whole)

    def _after_colon(self) -> Node:
        return optional(Literal(" "))

    def _id_entry(self, shape: CallObject, spelled: NotationSyntax) -> Node:
        return seq(
            spelled.key(shape.id_key), alt(terminal(seq('"', _ID, '"')), terminal(integer_node(0, 9999)))
        )

    def _arguments(self, call: CallForm, tool: Tool, white: WhiteSpace) -> Node:
        form, after = call.arguments, call.after_arguments
        key = (tool.name, msgspec.json.encode((form, after)), white)
        if key not in self._made:
            entries = entries_of(form, white, self.markers, self.tools, tool.name, after)
            kind: Form = "value" if entries is None else "arguments"
            self._made[key] = self.rules.add(
                f"{tool.name}-arguments", tool, surface_of(form, white, self.markers),
                lambda context: context.ref((Place(""),), kind, f"{tool.name}-args"), entries,
            )  # fmt: skip
        return self._made[key]

    def _may_be_empty(self, tool: Tool) -> bool:
        schemas = self.tools.schemas(tool.name)
        return schemas is not None and not schemas.checker.errors({}, 1)

    def _check_name(self, name: str, call: CallForm) -> None:
        """Raises GrammarError for a name that the reader would not read back from its place."""
        if not chars.subtract(chars.of(name), _SAFE):
            return
        empty = "{}" if call.arguments.encoding == "json" else ""
        written = {"name": name, "index": "0", "id": "a1", "arguments": empty}
        sample = call.section_open + "".join(written.get(piece.kind, piece.text) for piece in call.pieces)
        turn = read_turn(sample, self.form, self.tools)
        if not turn.calls or turn.calls[0].name != name or "\n" in name:
            raise GrammarError(
                "The tool's name cannot be written as this model writes calls.",
                where=repr(name),
                hint="Rename the tool: letters, digits and underscores can be written in every form.",
            )


def _is_read(text: str, run: list[tuple[str, ...]]) -> bool:
    at = 0
    for options in run:
        found = [option for option in options if text.startswith(option, at)]
        if not found:
            return False
        at += len(max(found, key=len))
    return at == len(text)


@dataclass
class OwnCalls:
    """Makes the rules of calls in GLYPH or JSON, or of a part of one, and of the text around them.

    `free_text`: any text may precede the call. `words`: also a text without a call is possible. `most`: the maximum
    number of consecutive calls, None for any number.
    """

    call: OwnCall
    rules: ToolRules
    tools: list[Tool]
    free_text: bool
    words: bool
    most: int | None

    def root(self) -> RuleRef:
        """The rule of everything. Raises GrammarError for white space where calls must begin in one way."""
        syntax = notation_syntax(self.call.notation, self.call.white_space)
        book, part = self.rules.book, self.call.part
        root = book.reserve(part)
        if part == "name":
            body = choice_of(book, [(_text_of(syntax, tool.name), seq()) for tool in self.tools])
        elif part == "arguments":
            (tool,) = self.tools
            body = self.rules.add(f"call-{tool.name}", tool, syntax, whole_value)
        else:
            body = self._calls(syntax)
        book.add(root, body)
        return RuleRef(root)

    def _calls(self, syntax: NotationSyntax) -> Node:
        """The calls with the text before them, and text without a call as an alternative."""
        shape = self.call.shape
        opening = self._opening(syntax, shape)
        named: list[tuple[str, Node]] = [
            (_text_of(syntax, tool.name), self._after_name(tool, syntax, shape)) for tool in self.tools
        ]
        call = choice_of(self.rules.book, named)
        if self.most == 1 and not self.words:
            return seq(opening, call, syntax.margin)
        call = self.rules.book.inner("named-call", call)
        most = None if self.most is None else self.most - 1
        calls = seq(opening, call, repeat(seq(next_call(syntax.notation, shape), call), 0, most))
        return alt(calls, words_only(syntax.notation, shape)) if self.words else calls

    def _opening(self, syntax: NotationSyntax, shape: Shape) -> Node:
        """Everything before the tool's name."""
        alone = not self.words and not self.free_text
        if (not alone or self.most != 1) and self.call.white_space != "none":
            raise GrammarError(
                "Text and several calls need calls that begin in one way only.",
                hint="Build the grammar without white space.",
            )
        if alone:
            return seq(syntax.margin, syntax.open_object, syntax.key(shape_keys(shape).name_key))
        if self.words:
            return words_to_call(syntax.notation, shape)
        return up_to(call_opening(syntax.notation, shape))

    def _after_name(self, tool: Tool, syntax: NotationSyntax, shape: Shape) -> RuleRef:
        """The part after the tool's name: its arguments, and the call's last brace."""
        key = shape_keys(shape).args_key

        def rest(context: ToolContext) -> Node:
            if key is None:
                return seq(context.ref((Place(""),), "members", f"{tool.name}-args"), syntax.close_object)
            arguments = context.ref((Place(""),), "value", f"{tool.name}-{key}")
            return seq(syntax.separator, syntax.key(key), arguments, syntax.close_object)

        return self.rules.add(f"call-{tool.name}", tool, syntax, rest)


def _text_of(syntax: NotationSyntax, name: str) -> str:
    """A tool's name as written in the notation."""
    node = syntax.constant(name)
    if not isinstance(node, Literal):
        raise GrammarError("The tool's name cannot be written.", where=repr(name))
    return node.text
