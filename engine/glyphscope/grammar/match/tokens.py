"""The tokens of a vocabulary that may come next.

A vocabulary is a trie over characters, so that common prefixes of tokens are read once. Tokens are bytes: a token that
ends inside a character is allowed if a character with these first bytes may follow; a token that begins inside a
character is only possible if the text so far ends inside one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import State
from glyphscope.grammar.tree import TokenMatch

_MANY = 64  # with more children, only those of possible characters are read


class _Node:
    __slots__ = ("children", "partial", "tokens")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.tokens: list[int] = []  # that end here
        self.partial: list[
            tuple[bytes, int]
        ] = []  # that end inside the next character: its first bytes, the token


class TokenTrie:
    """A vocabulary: the bytes of each token by id; `names` maps control tokens such as `<think>` to their ids.

    A token without bytes has no text. Building the trie for 150,000 tokens takes some seconds.
    """

    def __init__(self, tokens: Sequence[bytes], names: Mapping[str, int] | None = None) -> None:
        self.tokens = tuple(tokens)
        self._names = dict(names or {})
        self._root = _Node()
        self._inside: list[tuple[int, bytes]] = []  # tokens that begin inside a character
        for token, spelled in enumerate(self.tokens):
            if spelled and 0x80 <= spelled[0] < 0xC0:
                self._inside.append((token, spelled))
            elif spelled:
                _put(self._root, spelled, token)

    def root(self, pending: bytes) -> _Node:
        """The trie of the texts of tokens after `pending`, the first bytes of a character."""
        if not pending:
            return self._root
        root = _Node()
        for token, spelled in self._inside:
            _put(root, pending + spelled, token)
        return root

    def matching(self, match: TokenMatch) -> set[int]:
        """The ids of the tokens that a `TokenMatch` of a grammar accepts."""
        if isinstance(match.token, int):
            named = {match.token} & set(range(len(self.tokens)))
        else:
            ids = (self._names.get(name) for name in (match.token, f"<{match.token}>"))
            named = {token for token in ids if token is not None}
        return set(range(len(self.tokens))) - named if match.negated else named


def allowed_tokens(
    state: State, vocabulary: TokenTrie, *, pending: bytes = b"", cancel: Callable[[], bool] | None = None
) -> list[int]:
    """The ids of the tokens after which the state is still alive, in order; the end of the text is not a token here.

    `pending`: the first bytes of a character inside which the last token ended; `state` was not fed with them.
    `cancel` is called every few milliseconds. Raises MatchLimit, MatchCancelled.
    """
    allowed: set[int] = set()
    known: dict[object, State] = {}  # inside a lexeme the same items are reached again and again
    waiting = [(vocabulary.root(pending), state)]
    while waiting:
        node, at = waiting.pop()
        allowed.update(node.tokens)
        children = node.children
        if node.partial or len(children) > _MANY:
            possible = at.next_chars()
            allowed.update(token for first_bytes, token in node.partial if _fits(first_bytes, possible))
            if len(children) > _MANY:
                children = {char: n for char, n in children.items() if _meets(ord(char), ord(char), possible)}
        for char, child in children.items():
            key = (at.items, char)
            following = known.get(key)
            if following is None:
                following = known[key] = at.feed(char, cancel=cancel)
            if following.alive:
                waiting.append((child, following))
    if not pending:
        for match in state.token_matches():
            allowed |= vocabulary.matching(match)
    return sorted(allowed)


def _put(node: _Node, spelled: bytes, token: int) -> None:
    try:
        text, first_bytes = spelled.decode(), b""
    except UnicodeDecodeError as error:
        text, first_bytes = spelled[: error.start].decode(), spelled[error.start :]
        if error.reason != "unexpected end of data":
            return  # no text has these bytes
    for char in text:
        node = node.children.setdefault(char, _Node())
    if first_bytes:
        node.partial.append((first_bytes, token))
    else:
        node.tokens.append(token)


def _fits(first_bytes: bytes, possible: Ranges) -> bool:
    """Whether one of the characters begins with these UTF-8 bytes."""
    size = 2 if first_bytes[0] < 0xE0 else 3 if first_bytes[0] < 0xF0 else 4
    code = first_bytes[0] & (0x7F >> size)
    for byte in first_bytes[1:]:
        code = code << 6 | byte & 0x3F
    missing = 6 * (size - len(first_bytes))
    least = (0x80, 0x800, 0x10000)[size - 2]
    return _meets(max(least, code << missing), min(0x10FFFF, (code + 1 << missing) - 1), possible)


def _meets(low: int, high: int, possible: Ranges) -> bool:
    return any(first <= high and low <= last for first, last in possible)
