"""The compilers' process: `python -P -m glyphscope.compilers.child`. Answers each frame from stdin on stdout.

Compiled grammars and states are cached: many texts are read with the same grammar, and strings arrive in pieces.
"""

from __future__ import annotations

import signal
from collections import OrderedDict
from functools import lru_cache

from glyphscope.compilers import wire
from glyphscope.compilers.masks import TextReader, has_text
from glyphscope.compilers.patterns import LONG, StringMatcher, TooManyStates, searched, template_of
from glyphscope.events.encoding import whole_text
from glyphscope.processes.pipe import parent_pipe
from glyphscope.processes.worker import limit_memory

_MEMORY = 2 << 30  # bytes of addresses
_MAX_SECONDS = 60
"""The limit of one request, in case the parent, which has a shorter limit, has ended."""
_READERS, _STRINGS = 4, 512
"""The maximum number of cached compiled grammars and states of strings."""


class Compilers:
    """Answers questions. The most recently used strings are kept."""

    def __init__(self) -> None:
        self._strings: OrderedDict[int, StringMatcher] = OrderedDict()

    def answer(self, question: wire.Question) -> wire.Answer:
        """Handle one request; a compiler's rejection is an answer too."""
        try:
            match question:
                case wire.Compile(grammar=grammar, is_schema=is_schema):
                    _reader(grammar, is_schema)
                    return wire.Answer()
                case wire.ReadTexts(grammar=grammar, is_schema=is_schema, texts=texts):
                    reader = _reader(grammar, is_schema)
                    return wire.Answer(read=[reader.accepts(text) for text in texts])
                case wire.FindText(grammar=grammar):
                    return wire.Answer(found=has_text(_text(grammar)))
                case wire.Begin(language=language):
                    template = template_of(language)
                    if template is None:
                        return wire.Answer(refused="the linear-time engine does not take it")
                    return _state(StringMatcher(template), 0)
                case wire.Feed(language=language, number=number, text=text, before=before, ends=ends):
                    return self._feed(language, number, _text(text), before, ends)
                case wire.Search(pattern=pattern, text=text, seconds=seconds):
                    return wire.Answer(found=searched(_text(pattern), _text(text), seconds))
        except Exception as error:
            reason = str(error).partition("<backtrace>")[0].strip()  # of a panic, and without symbol names
            return wire.Answer(refused=whole_text(reason) or type(error).__name__)

    def _feed(self, language: bytes, number: int, text: str, before: bytes | None, ends: bool) -> wire.Answer:
        string = self._strings.get(number)
        if string is None:
            template = template_of(language)
            if before is None or template is None:
                return wire.Answer(fed=-1)
            string = self._strings[number] = StringMatcher(template, _text(before))
            if len(self._strings) > _STRINGS:
                self._strings.popitem(last=False)
        self._strings.move_to_end(number)
        try:
            return _state(string, string.feed(text) if text else 0, ends)
        except TooManyStates:
            del self._strings[number]
            raise


@lru_cache(maxsize=_READERS)
def _reader(grammar: bytes, is_schema: bool) -> TextReader:
    return TextReader(_text(grammar), is_schema=is_schema)


def _state(string: StringMatcher, fed: int, ends: bool = False) -> wire.Answer:
    if string.length > LONG and not ends:
        return wire.Answer(fed=fed, matches=None)
    return wire.Answer(fed=fed, can_grow=string.can_grow(), matches=string.matches())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def main() -> None:
    """Serves until stdin closes."""
    pipe = parent_pipe(wire.Envelope)
    limit_memory(_MEMORY)
    compilers = Compilers()
    pipe.write(wire.Answer())
    while (envelope := pipe.read()) is not None:
        signal.alarm(_MAX_SECONDS)
        pipe.write(compilers.answer(envelope.body))
        signal.alarm(0)


if __name__ == "__main__":
    main()
