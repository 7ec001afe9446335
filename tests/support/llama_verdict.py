"""llama.cpp's verdict on a grammar, which ours are compared with."""

from __future__ import annotations

from typing import NamedTuple

from glyphscope.base.errors import GrammarError, ModelDied
from glyphscope.models import GrammarProbe


class Verdict(NamedTuple):
    """Whether llama.cpp accepts a grammar, and why not. `crashed`: the signal that ended its process, or `timeout`."""

    ok: bool
    reason: str = ""
    crashed: str = ""


def llama_verdict(probe: GrammarProbe, gbnf: str) -> Verdict:
    try:
        probe.match_all(gbnf, ())
    except GrammarError as error:
        return Verdict(False, error.message)
    except ModelDied as error:
        return Verdict(False, error.message, error.signal)
    return Verdict(True)
