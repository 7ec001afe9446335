"""The choice of a repository and of one of its files by name; no network."""

from __future__ import annotations

import time

import pytest

from fake_hub import COMMIT, REPO, refused
from glyphscope.base.errors import ModelError
from glyphscope.models.hub.choosing import pick
from glyphscope.models.hub.files import FileListing, HubFile, choices_of, is_safe, quantisation_of
from glyphscope.models.hub.names import read_request


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b", ("a/b", "", "main")),
        (" a/b:Q4_K_M ", ("a/b", "Q4_K_M", "main")),
        ("a/b:sub/x.gguf", ("a/b", "sub/x.gguf", "main")),
        ("a/b/sub/x.gguf", ("a/b", "sub/x.gguf", "main")),
        ("a/b@v1:x.gguf", ("a/b", "x.gguf", "v1")),
        ("hf.co/a/b:Q8_0", ("a/b", "Q8_0", "main")),
        ("https://huggingface.co/a/b", ("a/b", "", "main")),
        ("https://huggingface.co/a/b/blob/main/x%20y.gguf", ("a/b", "x y.gguf", "main")),
        ("https://huggingface.co/a/b/resolve/v2/d/x.gguf?download=true", ("a/b", "d/x.gguf", "v2")),
        ("https://huggingface.co/a/b/tree/main", ("a/b", "", "main")),
    ],
)
def test_a_name_or_an_address_is_read(text, expected):
    assert tuple(read_request(text)) == expected


@pytest.mark.parametrize(
    "text", ["", "b", "a/", "/b", "../b", "a/..", "a b/c", "a/b@../x", "http://[", "a/--", "a\n/b", "é/b"]
)
def test_an_invalid_name_is_an_error_with_a_hint(text):
    with pytest.raises(ModelError) as caught:
        read_request(text)
    assert caught.value.hint


def test_a_token_in_an_address_is_not_repeated():
    error = refused(lambda: read_request("https://me:hf_secret@huggingface.co/x"))
    assert "hf_secret" not in str(error) and error.where == "https://huggingface.co/x"


@pytest.mark.parametrize(
    ("path", "quantisation"),
    [
        ("qwen2.5-0.5b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("x-UD-IQ2_XXS.gguf", "UD-IQ2_XXS"),
        ("Q8_0/model-00001-of-00002.gguf", "Q8_0"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("ggml-model-f16.gguf", "F16"),
        ("model_fp16.gguf", "F16"),
        ("smollm2-Q4_0_4_4.gguf", "Q4_0_4_4"),
        ("x-Q4_K_M-imat.gguf", "Q4_K_M"),
        ("Qwen3-0.6B.gguf", ""),
    ],
)
def test_a_quantisation_is_read_from_a_name(path, quantisation):
    assert quantisation_of(path) == quantisation


@pytest.mark.parametrize(
    "path",
    [
        "../x.gguf",
        "/x.gguf",
        "a/../x.gguf",
        ".x.gguf",
        "a//x.gguf",
        "a\\x.gguf",
        "x\0.gguf",
        "~/x.gguf",
        "x\x9b.gguf",
        "\u202efugg.gguf",
        "\u6a21" * 80 + ".gguf",
        "\ud800.gguf",
    ],
)
def test_an_unsafe_path_is_not_offered(path):
    assert not is_safe(path)
    assert choices_of([HubFile(path, 1)]) == ()


def listing(*files: tuple[str, int]) -> FileListing:
    return FileListing("http://hub", REPO, COMMIT, choices_of(HubFile(path, size) for path, size in files), 1)


SEVERAL = (("t-Q8_0.gguf", 900), ("t-Q4_K_M.gguf", 500), ("t-Q2_K.gguf", 300), ("mmproj-t-F16.gguf", 100))


@pytest.mark.parametrize(
    ("files", "which", "memory", "name"),
    [
        (SEVERAL, "", None, "t-Q4_K_M.gguf"),
        (SEVERAL, "", 10_000, "t-Q4_K_M.gguf"),
        (SEVERAL, "", 400, "t-Q2_K.gguf"),
        (SEVERAL, "", 10, "t-Q2_K.gguf"),
        (SEVERAL, "q8_0", None, "t-Q8_0.gguf"),
        (SEVERAL, "T-Q8_0.GGUF", None, "t-Q8_0.gguf"),
        (SEVERAL, "t-q8_0", None, "t-Q8_0.gguf"),
        ((("only.gguf", 5),), "", None, "only.gguf"),
        ((("b-Q8_0.gguf", 9), ("c-F16.gguf", 20)), "", None, "b-Q8_0.gguf"),
        ((("b-UD-Q4_K_XL.gguf", 9), ("c-Q2_K.gguf", 2)), "Q4_K_XL", None, "b-UD-Q4_K_XL.gguf"),
        ((("b.gguf", 9), ("c.gguf", 20)), "", None, "b.gguf"),
    ],
)
def test_the_most_suitable_file_is_picked(files, which, memory, name):
    found = pick(listing(*files), which, memory)
    assert found.choice.name == name and found.why.endswith(".")


@pytest.mark.parametrize(
    ("files", "which", "words"),
    [
        ((), "", "no GGUF model"),
        ((("mmproj-F16.gguf", 1), ("x.imatrix.gguf", 1)), "", "no GGUF model"),
        (SEVERAL, "Q5_K_M", "no GGUF file 'Q5_K_M'"),
        ((("a-Q4_K_M.gguf", 1), ("b-Q4_K_M.gguf", 1)), "", "2 of its models are Q4_K_M"),
        ((("a-Q4_K_M.gguf", 1), ("b-Q4_K_M.gguf", 1)), "q4_k_m", "2 of its models are q4_k_m"),
        ((("a-Q4_0-00001-of-00003.gguf", 1),), "", "2 parts are not in the repository"),
        ((("a-Q4_0-00001-of-00002.gguf", 1),), "", "1 part is not in the repository"),
    ],
)
def test_an_impossible_choice_is_an_error(files, which, words):
    assert words in refused(lambda: pick(listing(*files), which)).message


def test_the_parts_of_a_split_model_are_one_model():
    parts = [("d/m-Q4_K_M-00002-of-00002.gguf", 7), ("d/m-Q4_K_M-00001-of-00002.gguf", 5)]
    (choice,) = listing(*parts).choices
    assert (choice.name, choice.bytes, choice.quantisation, choice.missing) == (parts[1][0], 12, "Q4_K_M", 0)


def test_incomplete_split_models_are_listed_in_time():
    start = time.monotonic()
    found = choices_of(HubFile(f"m{n}-00001-of-99999.gguf", 1) for n in range(2000))
    assert time.monotonic() - start < 20 and len(found) == 2000 and found[0].missing == 99_998
