"""Reads texts with another engine: a program for the environment that has it, with nothing of Glyphscope.

`engine_reader.py ENGINE < REQUEST`: `{"schema": JSON Schema as text, "texts": [...]}`. It prints `{"answers": [...]}`,
or `{"refused": REASON}` for a schema that is rejected.
"""

import contextlib
import json
import re
import sys
import types
from collections.abc import Callable
from typing import Any

_MEMORY = 4 << 30


def outlines(schema: str) -> Callable[[bytes], bool]:
    from outlines_core import Guide, Index, Vocabulary  # type: ignore[import-not-found]
    from outlines_core.json_schema import build_regex_from_schema  # type: ignore[import-not-found]

    # each byte is a token, so that the text decides, not the way in which it is divided
    index = Index(build_regex_from_schema(schema), Vocabulary(256, {bytes([b]): [b] for b in range(256)}))

    def accepts(text: bytes) -> bool:
        guide = Guide(index)
        try:
            for byte in text:
                guide.advance(byte, False)
        except ValueError:  # no such token from here
            return False
        return bool(guide.is_finished())

    return accepts


class _Absent(types.ModuleType):
    """A package that XGrammar imports for the arrays of its masks, or for tokenizers; reading a text uses neither."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *_args, **_named: None})


def xgrammar(schema: str) -> Callable[[bytes], bool]:
    import tvm_ffi  # type: ignore[import-not-found]  # noqa: F401 (looks for PyTorch)

    for name in ("torch", "transformers"):
        sys.modules[name] = _Absent(name)
    from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType  # type: ignore[import-not-found]

    end = 256
    vocabulary = [*(bytes([b]) for b in range(end)), b"<end>"]
    compiler = GrammarCompiler(TokenizerInfo(vocabulary, VocabType.RAW, stop_token_ids=[end]))
    grammar = compiler.compile_json_schema(schema)

    def accepts(text: bytes) -> bool:
        matcher = GrammarMatcher(grammar, terminate_without_stop_token=True)
        return bool(matcher.accept_string(text) and matcher.is_completed())

    return accepts


def main() -> None:
    with contextlib.suppress(ImportError):  # Windows has no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    request = json.load(sys.stdin)
    try:
        accepts = {"outlines": outlines, "xgrammar": xgrammar}[sys.argv[1]](request["schema"])
    except ImportError:
        raise
    except Exception as error:
        reason = re.sub(r"^\[[\d:]+\] \S+: ", "", str(error).strip())
        print(json.dumps({"refused": reason or type(error).__name__}))
        return
    print(
        json.dumps({"answers": [accepts(text.encode("utf-8", "surrogatepass")) for text in request["texts"]]})
    )


if __name__ == "__main__":
    main()
