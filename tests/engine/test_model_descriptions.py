"""Models without llama.cpp, and chat templates from GGUF files."""

import os

import msgspec
import pytest

from glyphscope.base.errors import ModelError, PromptError
from glyphscope.events import (
    Message,
    ModelInfo,
    PrefixPart,
    PromptRendered,
    RunRequest,
    RunStarted,
    Token,
    TokenStep,
)
from glyphscope.models import MERGED_SYSTEM, ChatTemplate, RecordedModel, open_model, render_plain
from glyphscope.models.interface import Cancelled, GenerateRequest, PromptReady
from glyphscope.models.scripted import ScriptedModel
from glyphscope.models.wire import Envelope, Generate, NumberedAnswer
from glyphscope.processes import Pipe

CALL = '{action="search" query="Zürich 😀 news"\nmax_results=10}'
MESSAGES = [Message("system", "Be brief."), Message("user", "Hello")]


def steps(model, **more):
    return [item for item in model.generate(GenerateRequest(prompt="a b", **more)) if isinstance(item, tuple)]


def test_a_script_is_generated_whole_and_without_probabilities():
    model = open_model(f"scripted:{CALL}")
    got = [step for batch in steps(model) for step in batch]
    assert "".join(step.text for step in got) == CALL
    assert [step.end for step in got] == [False] * (len(got) - 1) + [True]
    assert all(step.logprob is None and not step.alternatives for step in got)
    assert len(steps(model, max_tokens=3)) == 3


def test_a_script_of_bytes_shows_only_complete_characters():
    got = [step for batch in steps(ScriptedModel([b"\xf0\x9f", b"\x98\x80", "x"])) for step in batch]
    assert [step.text for step in got] == ["", "😀", "x", ""]


def test_a_script_with_a_lone_surrogate_is_generated_with_a_replacement():
    assert (
        b"".join(step.data for batch in steps(ScriptedModel("a\udcff")) for step in batch).decode()
        == "a\ufffd"
    )


def test_a_cancelled_script_ends():
    model = ScriptedModel(CALL)
    items = []
    for item in model.generate(GenerateRequest(prompt="")):
        items.append(item)
        if len(items) == 3:
            model.cancel()
    assert items[-1] == Cancelled() and len(items) == 4


def record():
    info = ModelInfo(name="m", sha256="ab")
    yield RunStarted(request=RunRequest(prompt="p", registry={}), model=info, versions={}, time="")
    for stage in ("one", "two"):
        yield PromptRendered(text=stage, tokens=5, cached=2)
        for index, forced in enumerate((True, True, False, False)):
            yield Token(
                step=TokenStep(
                    index=index, id=index, data=b"x", text=stage[index : index + 1], forced=forced
                ),
                start=0,
                end=1,
            )


def test_a_recorded_model_generates_the_recorded_steps():
    model = RecordedModel(record())
    assert model.info == ModelInfo(name="m", sha256="ab", kind="recorded")
    recorded = [event.step for event in record() if isinstance(event, Token)]
    for stage, expected in (("one", recorded[:4]), ("two", recorded[4:]), ("one", recorded[:4])):
        assert model.render_chat(MESSAGES).text == stage
        items = list(model.generate(GenerateRequest(prompt=stage)))
        assert items[0] == PromptReady(5, 2, 0.0)
        assert items[1:] == [tuple(expected[:3]), tuple(expected[3:])]
    assert list(RecordedModel([]).generate(GenerateRequest(prompt=""))) == [PromptReady(0, 0, 0.0)]


def test_a_missing_embedded_model_is_a_model_error(monkeypatch):
    monkeypatch.setattr("glyphscope.models.opening._PACKAGE", "no_such_package")
    with pytest.raises(ModelError, match="not installed"):
        open_model("embedded")


CHATML = (
    "{% for m in messages %}\n    {% if m.role == 'tool' %}\n{{ raise_exception('no tools') }}\n    {% endif %}\n"
    "{{ '<|' + m['role'] + '|>' + m['content'] }}\n{% endfor %}\n{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_a_template_is_rendered_as_transformers_does():
    text, note = ChatTemplate(CHATML).render(MESSAGES)
    assert text == "<|system|>Be brief.\n<|user|>Hello\n<|assistant|>" and not note
    assert (
        ChatTemplate("{{ bos_token }}{{ {'a': 'é<'} | tojson }}", bos="<s>").render([])[0] == '<s>{"a": "é<"}'
    )
    assert len(ChatTemplate("{{ strftime_now('%Y') }}").render([])[0]) == 4


@pytest.mark.parametrize(
    "source",
    [
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ messages[0].content }}",
        "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}",
    ],
)
def test_a_template_without_a_system_role_gets_the_system_prompt_in_the_users_message(source):
    assert ChatTemplate(source).render(MESSAGES) == ("Be brief.\n\nHello", MERGED_SYSTEM)


@pytest.mark.parametrize(
    "source", ["{% if %}", "{{ raise_exception('never') }}", "{{ ''.__class__.__mro__ }}", "{{ 1 // 0 }}"]
)
def test_an_invalid_or_hostile_template_is_a_prompt_error(source):
    with pytest.raises(PromptError) as caught:
        ChatTemplate(source).render([Message("user", "x")])
    assert caught.value.hint


def test_an_incomplete_character_of_a_prompt_reaches_the_process():
    ours, theirs = os.pipe(), os.pipe()
    written = (PrefixPart(b"\xf0\x9f", 7), PrefixPart(b"x"))
    request = GenerateRequest(prompt="a \ud83d", messages=(Message("user", "\ud800"),), written=written)
    sender, receiver = Pipe(ours[0], theirs[1], NumberedAnswer), Pipe(theirs[0], ours[1], Envelope)
    try:
        sender.write(Envelope(3, Generate(request)))
        whole = msgspec.structs.replace(request, prompt="a \ufffd", messages=(Message("user", "\ufffd"),))
        assert receiver.read() == Envelope(3, Generate(whole))
    finally:
        for handle in (*ours, *theirs):
            os.close(handle)


def test_the_plain_form_has_every_message():
    assert render_plain(MESSAGES) == "System: Be brief.\n\nUser: Hello\n\nAssistant:"
