"""A model made of a table, and a constraint made of a list, for tests of the decoding loop."""

import numpy as np

from glyphscope.models.decoding import Allowed

PIECES = [b"a", b"b", b"\xc3", b"\xa9", b"{", b"}", b"x", b"y", b"z", b"<end>"]
END = 9


class Table:
    """After token n comes token n + 1, and after 8 the end. Remembers its batches."""

    pieces = PIECES

    def __init__(self, room=500):
        self.room = room
        self.batches = []

    def decode(self, tokens, outputs):
        assert 0 < outputs <= len(tokens) <= 64
        self.batches.append((list(tokens), outputs))
        self.room -= len(tokens)
        rows = np.zeros((len(tokens), len(PIECES)), dtype=np.float32)
        for row, token in zip(rows, tokens):
            row[(token + 1) % len(PIECES)] = 5
        return list(rows[len(tokens) - outputs :])

    def is_end(self, token):
        return token == END


class ScriptedConstraint:
    """Forces or allows what each place names; a list is forced, a set allowed."""

    def __init__(self, *places, spelled=()):
        self.places = list(places)
        self.spelled = spelled

    @property
    def stopped(self):
        return not self.places

    def forced(self):
        return list(self.places[0]) if self.places and isinstance(self.places[0], list) else []

    def allowed(self):
        place = self.places[0]
        return Allowed.listing(list(place)[:1] if isinstance(place, list) else list(place), len(PIECES))

    def takes(self, token):
        return token in self.allowed() or token in self.spelled

    def commit(self, token):
        assert token in self.places[0] or token in self.spelled
        if isinstance(self.places[0], list) and len(self.places[0]) > 1:
            self.places[0] = self.places[0][1:]
        else:
            self.places.pop(0)
