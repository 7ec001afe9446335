"""Reads texts with outlines-core: a program for the environment that has it, with nothing of Glyphscope.

`outlines_reader.py < REQUEST`: `{"schema": JSON Schema as text, "texts": [...]}`. It prints `{"answers": [...]}`, or
`{"refused": REASON}` for a schema that is rejected.
"""

import json
import resource
import sys

_MEMORY = 4 << 30


def main() -> None:
    from outlines_core import Guide, Index, Vocabulary  # type: ignore[import-not-found]
    from outlines_core.json_schema import build_regex_from_schema  # type: ignore[import-not-found]

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    request = json.load(sys.stdin)
    try:
        # each byte is a token, so that the text decides, not the way in which it is divided
        index = Index(
            build_regex_from_schema(request["schema"]), Vocabulary(256, {bytes([b]): [b] for b in range(256)})
        )
    except Exception as error:
        print(json.dumps({"refused": str(error).strip() or type(error).__name__}))
        return
    answers = []
    for text in request["texts"]:
        guide = Guide(index)
        try:
            for byte in text.encode("utf-8", "surrogatepass"):
                guide.advance(byte, False)
            answers.append(guide.is_finished())
        except ValueError:  # no such token from here
            answers.append(False)
    print(json.dumps({"answers": answers}))


if __name__ == "__main__":
    main()
