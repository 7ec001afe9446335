"""The recorded turns in a model's own notation: the requests, and the model files that answer them.

Models that were trained on such a notation are too large to bundle or to run here. Instead, the embedded model's
weights are combined with their chat template, in a cached file whose name distinguishes it from the real model. The
records show the notation, its markers and its enforcement. Such a small model repeats the text that it has just read,
so its prompt contains an example of the whole conversation.

`python packaging/native_runs.py NAME` makes one of the files and prints its path.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from setup_env import llama_data
from untrained import with_template

from glyphscope.base.resources import read_text
from glyphscope.events import ApprovalRule, Message, RunRequest
from glyphscope.models.opening import embedded_path
from glyphscope.registry import bundled_registry
from glyphscope.runs.strategies.loop.presets import compose

TAGS, CHANNELS, EXAMPLE = (
    "SmolLM2-135M-Qwen3.5.gguf",
    "SmolLM2-135M-gpt-oss.gguf",
    "SmolLM2-135M-example.gguf",
)
TEMPLATES = {
    TAGS: ("Qwen3.5-4B", "SmolLM2-135M with Qwen3.5's template"),
    CHANNELS: ("openai-gpt-oss-120b", "SmolLM2-135M with gpt-oss's template"),
    EXAMPLE: ("", "SmolLM2-135M with the example template"),
}
"""For a model's name in the recorded runs: the template's file in llama.cpp, and the name in the model file."""
_TODAY = 'strftime_now("%Y-%m-%d")'


def model_file(name: str) -> Path:
    """The file for one of `TEMPLATES`, made unless it is cached. Raises OSError if there is no such template.

    The date that a template writes is fixed, so that the prompt is always the same.
    """
    template, title = TEMPLATES[name]
    weights = embedded_path()
    if weights is None:
        raise OSError("The embedded model is not installed: `make setup` installs it.")
    data = llama_data()
    if template:
        text = (data / "templates" / f"{template}.jinja").read_text(encoding="utf-8")
    else:
        text = read_text("forms/example.jinja")
    text = text.replace(_TODAY, '"2026-01-01"')
    return with_template(data.parent / "retemplated", weights, text, title)


def _registry(*names: str) -> dict[str, object]:
    document = bundled_registry("verbs").to_document()
    return {**document, "tools": [tool for tool in document["tools"] if tool["name"] in names]}


def _reported(result: Mapping[str, object]) -> str:
    """A result as the loop shows it to the model."""
    return json.dumps({"ok": True, "result": result}, separators=(",", ":"))


def _parts(verb: str, past: str, participle: str, *, irregular: bool) -> str:
    return _reported(
        {"verb": verb, "irregular": irregular, "past_simple": [past], "past_participle": [participle]}
    )


# -- two calls in one turn, arguments in tags ----------------------------------------------------------------------

_TAGGED_CALL = """\
<tool_call>
<function=lookup_irregular_verb>
<parameter=verb>
{}
</parameter>
</function>
</tool_call>"""
_TAGGED_TURNS = """\
User: Are {0} and {1} irregular verbs?

<think>
The user asks about two verbs, {0} and {1}. I look up both.
</think>

{2}

{3}

<think>
Now I have both results: {0} is {4}, and {1} is {5}.
</think>

{6} is {4}: its past is {7}. {8} is {5}: its past is {9}.<|im_end|>"""


def _tagged(first: tuple[str, str, str, bool], second: tuple[str, str, str, bool]) -> str:
    """A conversation about two verbs: base form, past, participle, whether it is irregular."""
    words = ["irregular" if irregular else "regular" for *_, irregular in (first, second)]
    results = (_parts(*parts, irregular=irregular) for *parts, irregular in (first, second))
    return _TAGGED_TURNS.format(
        first[0],
        second[0],
        "\n".join(_TAGGED_CALL.format(verb) for verb in (first[0], second[0])),
        "\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in results),
        *words,
        first[0].capitalize(),
        first[1],
        second[0].capitalize(),
        second[1],
    )


_TAGGED = "\n\n".join(
    (
        "You are a teacher. Think, look up the verbs, think again, and answer.",
        _tagged(("eat", "ate", "eaten", True), ("play", "played", "played", False)),
        _tagged(("walk", "walked", "walked", False), ("sing", "sang", "sung", True)),
    )
)


# -- a call in each of two turns, messages in channels -------------------------------------------------------------


def _channels(verb: str, past: str, participle: str, spanish: str, *, irregular: bool) -> str:
    """A conversation about one verb, as the complete text of its messages."""

    def thought(text: str) -> str:
        return f"<|start|>assistant<|channel|>analysis<|message|>{text}<|end|>"

    def called(tool: str, argument: str, result: str) -> str:
        return (
            f'<|start|>assistant to=functions.{tool}<|channel|>commentary json<|message|>{{"{argument}": "{verb}"}}'
            f"<|call|><|start|>functions.{tool} to=assistant<|channel|>commentary<|message|>{json.dumps(result)}<|end|>"
        )

    word = "irregular" if irregular else "regular"
    reading = {"verb": verb, "form": "base", "spanish": spanish}
    return "".join(
        (
            f"<|start|>user<|message|>Is {verb} irregular, and what is it in Spanish?<|end|>",
            thought(f"First I look up the verb {verb}."),
            called("lookup_irregular_verb", "verb", _parts(verb, past, participle, irregular=irregular)),
            thought(f"Its past is {past}. Next is the Spanish word."),
            called(
                "lookup_spanish", "english_form", _reported({"english_form": verb, "readings": [reading]})
            ),
            thought(f"It is {spanish}. That is all."),
            f"<|start|>assistant<|channel|>final<|message|>The verb {verb} is {word}: "
            f"its past is {past}. In Spanish it is {spanish}.<|im_end|>",
        )
    )


_CHANNELS = "\n\n".join(
    (
        "This is how you write:",
        _channels("walk", "walked", "walked", "caminar", irregular=False),
        _channels("eat", "ate", "eaten", "comer", irregular=True),
    )
)

_LOOP = RunRequest(
    prompt="",
    registry={},
    native="template",
    order="any",
    strategy="loop",
    loop=msgspec.structs.replace(
        compose(["strict"]), max_turns=4, parallel_tool_calls=True, max_tool_calls_per_turn=2
    ),
    approvals=(ApprovalRule(action="allow"),),
    reasoning_budget=40,
    max_tokens=160,
    alternatives=5,
)
NATIVE = {
    "native-tags": msgspec.structs.replace(
        _LOOP,
        prompt="Are jump and run irregular verbs?",
        model=TAGS,
        registry=_registry("lookup_irregular_verb"),
        system=_TAGGED,
        thinking="on",
    ),
    "native-channels": msgspec.structs.replace(
        _LOOP,
        prompt="Is buy irregular, and what is it in Spanish?",
        model=CHANNELS,
        registry=_registry("lookup_irregular_verb", "lookup_spanish"),
        system="You are a teacher.",
        history=(Message("user", _CHANNELS),),
    ),
}


if __name__ == "__main__":
    print(model_file(sys.argv[1]))
