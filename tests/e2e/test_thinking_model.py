"""The three states of thinking in a model's own process: a model file whose chat template has a switch for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from glyphscope.events import ChatOptions, Message, RunRequest, Thinking
from glyphscope.models import EMBEDDED, embedded_path, open_model
from glyphscope.models.llama import LlamaModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.running import first_prompt

pytestmark = [pytest.mark.model, pytest.mark.slow]

MESSAGES = [Message("user", "Hello")]
STATES: tuple[Thinking, ...] = ("auto", "on", "off")
SWITCH = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined %}<think>{% if not enable_thinking %}</think>{% endif %}{% endif %}"
)


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaModel]:
    """The embedded model with another template of the same length: nothing else in its file moves."""
    data = embedded_path().read_bytes()
    key = data.index(b"tokenizer.chat_template") + len(b"tokenizer.chat_template") + 4
    length = int.from_bytes(data[key : key + 8], "little")
    own = SWITCH.encode()
    assert len(own) + len("{##}") <= length
    own = b"{#" + b" " * (length - len(own) - 4) + b"#}" + own
    path: Path = tmp_path_factory.mktemp("switched") / "switched.gguf"
    path.write_bytes(data[: key + 8] + own + data[key + 8 + length :])
    with closing(LlamaModel(path)) as model:
        yield model


def test_the_model_recognizes_the_switch_of_its_template(switched: LlamaModel) -> None:
    assert switched.info.reads_thinking is True


def test_each_state_has_its_own_prompt(switched: LlamaModel) -> None:
    rendered = [switched.render_chat(MESSAGES, (), ChatOptions(thinking=state)) for state in STATES]
    assert [prompt.text.rpartition("assistant\n")[2] for prompt in rendered] == [
        "",
        "<think>",
        "<think></think>",
    ]
    assert {prompt.note for prompt in rendered} == {""}


def test_the_cache_of_one_state_is_not_used_for_another(switched: LlamaModel) -> None:
    """The cached part of a prompt follows from its tokens, so a state reuses its common prefix, and no more."""
    registry = default_registry().to_document()
    tokens = {}
    for state in STATES:
        request = RunRequest(prompt="Hello", registry=registry, thinking=state, max_tokens=1, stop_on="never")
        reported = run_state(run(request, switched))
        assert reported.prompt is not None and reported.prompt.text == first_prompt(request, switched).text
        tokens[state] = (switched.tokenize(reported.prompt.text), reported.prompt.cached)
    for before, state in (("auto", "on"), ("on", "off")):
        first, second = tokens[before][0], tokens[state][0]
        common = next(
            (i for i, (a, b) in enumerate(zip(first, second)) if a != b), min(len(first), len(second))
        )
        assert 0 < tokens[state][1] <= common < len(second)


def test_the_embedded_model_has_no_switch_and_says_so() -> None:
    with closing(open_model(EMBEDDED)) as model:
        assert model.info.reads_thinking is False
        plain, off = (
            model.render_chat(MESSAGES, (), ChatOptions(thinking=state)) for state in ("auto", "off")
        )
    assert plain.text == off.text
    assert plain.note == "" and "no switch" in off.note
