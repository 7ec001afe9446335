"""Real vocabularies, read as llama.cpp reads them, and the untrained models made with them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples import some
from untrained_models import PAIRS, Pair, maker, model_file

llama = pytest.importorskip("llama_cpp")

from glyphscope.events import LoadOptions, Sampling  # noqa: E402
from glyphscope.models import open_model  # noqa: E402
from glyphscope.models.interface import GenerateRequest  # noqa: E402
from glyphscope.models.llama_engine import model_parameters  # noqa: E402
from glyphscope.models.tokens import read_ends, read_pieces, read_special  # noqa: E402


@pytest.fixture(scope="module")
def silent() -> Iterator[None]:
    """Silence llama.cpp's warnings about these files' tokens."""
    quiet = llama.llama_log_callback(lambda *_: None)
    llama.llama_log_set(quiet, None)
    yield
    llama.llama_log_set(llama.llama_log_callback(0), None)


EDGE = 2000
BUFFER = ctypes.create_string_buffer(1024)
CONTROL, USER_DEFINED = llama.LLAMA_TOKEN_ATTR_CONTROL, llama.LLAMA_TOKEN_ATTR_USER_DEFINED


def piece(vocab: int, token: int) -> bytes:
    """Return the piece, as users of llama-cpp-python request it."""
    size = llama.llama_token_to_piece(vocab, token, BUFFER, len(BUFFER), 0, True)
    return BUFFER[:size]


def special(vocab: int, token: int, text: bytes) -> bool:
    kind = llama.llama_vocab_get_attr(vocab, token)
    return bool(kind & CONTROL or (kind & USER_DEFINED and text.startswith(b"<") and text.endswith(b">")))


@pytest.mark.slow
def test_every_vocabulary_is_read_as_by_llama_cpp(llama_data: Path, silent: None) -> None:
    files = sorted(llama_data.glob("*.gguf"))
    assert len(files) > 15
    for file in files:
        parameters = model_parameters()
        parameters.vocab_only = True
        model = llama.llama_model_load_from_file(os.fsencode(file), parameters)
        vocab = llama.llama_model_get_vocab(model)
        count = llama.llama_vocab_n_tokens(vocab)
        pieces = read_pieces(vocab, count)
        ends, specials = set(read_ends(vocab, count)), set(read_special(vocab, pieces))
        most = range(EDGE, count - EDGE)  # words; the tokens with a meaning are at the beginning and the end
        for token in (*range(min(EDGE, count)), *some(most, 8), *range(max(count - EDGE, EDGE), count)):
            text = piece(vocab, token)
            of_the_token = (text, llama.llama_vocab_is_eog(vocab, token), special(vocab, token, text))
            assert (pieces[token], token in ends, token in specials) == of_the_token, (file.name, token)
        llama.llama_model_free(model)


def test_a_generated_model_has_the_tokenizer_of_its_vocabulary_byte_for_byte(llama_data: Path) -> None:
    vocabulary = (llama_data / "ggml-vocab-llama-spm.gguf").read_bytes()
    made = maker.untrained_model(vocabulary, name="made", template="{{ messages }}")
    given = {key: value for key, value in maker.metadata(vocabulary) if key.startswith("tokenizer.ggml.")}
    found = dict(maker.metadata(made))
    assert given.items() <= found.items() and len(given) > 5
    assert found["tokenizer.chat_template"].endswith(b"{{ messages }}")
    assert made == maker.untrained_model(vocabulary, name="made", template="{{ messages }}")
    assert made != maker.untrained_model(vocabulary, name="made", template="{{ messages }}", seed=1)


@pytest.mark.slow
def test_a_generated_model_has_the_missing_markers_and_diverse_logits(
    llama_data: Path,
) -> None:
    pair = Pair("llama-spm", "mistralai-Mistral-Nemo-Instruct-2407", "[INST] [TOOL_CALLS] </s>")
    model = open_model(model_file(llama_data, pair), options=LoadOptions(context=256))
    try:
        assert model.info.vocabulary == 32_002 and model.info.has_chat_template
        assert (
            model.vocabulary().names.items() >= {"[INST]": 32_000, "[TOOL_CALLS]": 32_001, "</s>": 2}.items()
        )
        assert model.tokenize("a[TOOL_CALLS]")[-1] == 32_001
        sampling = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
        request = GenerateRequest(prompt="Once upon a time", sampling=sampling, max_tokens=24, alternatives=0)
        steps = [step for output in model.generate(request) if isinstance(output, tuple) for step in output]
        assert all(5 < (step.entropy or 0) < 13 for step in steps), [step.entropy for step in steps]
        assert len({step.id for step in steps}) > len(steps) // 2
    finally:
        model.close()


@pytest.mark.slow
def test_generated_models_are_cached_by_their_inputs(llama_data: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "templates").mkdir(parents=True)
    (data / "ggml-vocab-llama-spm.gguf").symlink_to(llama_data / "ggml-vocab-llama-spm.gguf")
    (data / "templates" / "t.jinja").write_text("one")
    pair = Pair("llama-spm", "t")
    first = maker.model_file(data, pair)
    made = first.stat().st_mtime_ns
    assert maker.model_file(data, pair) == first and first.stat().st_mtime_ns == made
    others = {maker.model_file(data, pair, seed=1), maker.model_file(data, Pair("llama-spm", "t", "[A]"))}
    assert set(first.parent.iterdir()) == {first, *others} and len(others) == 2
    (data / "templates" / "t.jinja").write_text("two")
    again = maker.model_file(data, pair)
    assert set(first.parent.iterdir()) == {again, *others} and again != first  # the older file is removed
    with pytest.raises(OSError, match="none"):
        maker.model_file(data, Pair("none"))


def test_the_pairs_have_every_encoding_of_arguments_and_ten_vocabularies(llama_data: Path) -> None:
    assert len(PAIRS) >= 12 and len({pair.vocabulary for pair in PAIRS}) >= 10
    for pair in PAIRS:
        assert (llama_data / f"ggml-vocab-{pair.vocabulary}.gguf").is_file(), pair
        assert (llama_data / "templates" / f"{pair.template}.jinja").is_file(), pair
