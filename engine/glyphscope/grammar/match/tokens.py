"""Which tokens of a vocabulary may come next.

A vocabulary is a trie over characters, so what tokens begin with in common is read once. Tokens are bytes: one may end
within a character, and is allowed if some character that begins so may come; one that begins within a character only
fits where the text so far ends within one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.match.earley import State
from glyphscope.grammar.tree import TokenMatch

MANY = 64  # children of a node from which on it is asked first which characters may come


class _Node:
    __slots__ = ("children", "halves", "tokens")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.tokens: list[int] = []  # that end here
        self.halves: list[tuple[bytes, int]] = []  # that end within the next character: its bytes, the token


class TokenTrie:
    """A vocabulary: the bytes of each token, by its id; `names` are the ids of control tokens such as `<think>`.

    A token without bytes is never spelled. Making the trie takes some seconds for 150,000 tokens.
    """

    def __init__(self, tokens: Sequence[bytes], names: Mapping[str, int] | None = None) -> None:
        self.tokens = tuple(tokens)
        self._names = dict(names or {})
        self._root = _Node()
        self._inside: list[tuple[int, bytes]] = []  # tokens that begin within a character
        for token, spelled in enumerate(self.tokens):
            if spelled and 0x80 <= spelled[0] < 0xC0:
                self._inside.append((token, spelled))
            elif spelled:
                _put(self._root, spelled, token)

    def root(self, pending: bytes) -> _Node:
        """The trie of what tokens spell after `pending`, the first bytes of a character."""
        if not pending:
            return self._root
        root = _Node()
        for token, spelled in self._inside:
            _put(root, pending + spelled, token)
        return root

    def matching(self, match: TokenMatch) -> set[int]:
        """The ids of the tokens that a place for a token in a grammar takes."""
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

    `pending`: the first bytes of a character that the last token ended within; `state` has not been fed with them.
    `cancel` is asked every few milliseconds. Raises MatchLimit, MatchCancelled.
    """
    allowed: set[int] = set()
    known: dict[object, State] = {}  # what is read inside of a lexeme leads to the same items again and again
    waiting = [(vocabulary.root(pending), state)]
    while waiting:
        node, at = waiting.pop()
        allowed.update(node.tokens)
        children = node.children
        if node.halves or len(children) > MANY:
            possible = at.next_chars()
            allowed.update(token for half, token in node.halves if _fits(half, possible))
            if len(children) > MANY:
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
        text, half = spelled.decode(), b""
    except UnicodeDecodeError as error:
        text, half = spelled[: error.start].decode(), spelled[error.start :]
        if error.reason != "unexpected end of data":
            return  # no text has these bytes
    for char in text:
        node = node.children.setdefault(char, _Node())
    if half:
        node.halves.append((half, token))
    else:
        node.tokens.append(token)


def _fits(half: bytes, possible: Ranges) -> bool:
    """Whether one of the characters begins with these bytes of UTF-8."""
    size = 2 if half[0] < 0xE0 else 3 if half[0] < 0xF0 else 4
    code = half[0] & (0x7F >> size)
    for byte in half[1:]:
        code = code << 6 | byte & 0x3F
    missing = 6 * (size - len(half))
    least = (0x80, 0x800, 0x10000)[size - 2]
    return _meets(max(least, code << missing), min(0x10FFFF, (code + 1 << missing) - 1), possible)


def _meets(low: int, high: int, possible: Ranges) -> bool:
    return any(first <= high and low <= last for first, last in possible)
