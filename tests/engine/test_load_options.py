"""Loading a model file: options, the memory they need, and their record."""

from __future__ import annotations

import json
import struct
from importlib import import_module
from unittest.mock import Mock

import msgspec
import pytest

from cli_command import command as glyphscope
from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.cli import load_options
from glyphscope.cli.branch import options_of
from glyphscope.cli.load_options import LoadingOption
from glyphscope.cli.option_groups import Given
from glyphscope.events import DEFAULT_LOAD, LoadOptions, ModelInfo, RunRequest, decode_event, encode_event
from glyphscope.models import open_model, share_cores
from glyphscope.models.memory import memory_needed, read_facts
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from glyphscope.store import Settings, load_settings, save_settings

SMOL = {
    "llama.block_count": 30,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.embedding_length": 576,
    "llama.context_length": 8192,
}
"""llama.cpp reports a cache of 90.00 MiB for 4,096 tokens of such a model."""


@pytest.fixture
def facts(tmp_path):
    """Return a function that reads the facts of a GGUF file with given metadata: numbers, lists of numbers, texts."""

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def value_of(value):
        if isinstance(value, list):
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
        return struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<Ii", 5, value)

    def read(**values):
        values = {"general.architecture": "llama", **values}
        body = b"".join(text(key) + value_of(value) for key, value in values.items())
        path = tmp_path / "m.gguf"
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + body)
        return read_facts(path)

    return read


def test_the_cache_has_the_size_that_llama_cpp_reports(facts):
    model = facts(**SMOL)
    assert memory_needed(model, LoadOptions()).cache == 90 << 20
    assert memory_needed(model, LoadOptions(kv_type="q8_0")).cache == (90 << 20) * 34 // 64
    assert memory_needed(model, LoadOptions(context=4000)).cache == 90 << 20, "rounded up to 256 tokens"
    assert memory_needed(model, LoadOptions(context=1 << 20)).cache == 180 << 20, "no more than trained"


def test_layers_without_attention_need_no_cache_and_layers_with_fewer_heads_less(facts):
    model = facts(**SMOL | {"llama.attention.head_count_kv": [3] * 15 + [0] * 15})
    assert memory_needed(model, LoadOptions()).cache == 45 << 20
    wide = facts(**SMOL | {"llama.attention.key_length": 128, "llama.attention.value_length": 128})
    assert memory_needed(wide, LoadOptions()).cache == 180 << 20


@pytest.mark.parametrize(
    "values",
    [
        {},
        SMOL | {"llama.attention.head_count": 0},
        SMOL | {"llama.attention.head_count_kv": -3},
        SMOL | {"llama.attention.head_count_kv": "3"},
        SMOL | {"llama.attention.head_count_kv": [-1] * 30},
        SMOL | {"llama.block_count": -1, "llama.context_length": -5},
    ],
)
def test_a_file_without_usable_facts_has_an_unknown_cache(facts, values):
    memory = memory_needed(facts(**values), LoadOptions(), free=1 << 30)
    assert memory.cache is None and memory.fits and memory.total == memory.weights


def test_the_memory_counts_the_files_of_adapters(facts, tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(bytes(1000))
    model = facts(**SMOL)
    plain, both = (
        memory_needed(model, LoadOptions(lora=lora), free=0) for lora in ((), (f"{path}:0.5", "missing.gguf"))
    )
    assert (both.adapters, both.total - plain.total) == (1000, 1000)


def test_a_model_larger_than_the_free_memory_does_not_fit(facts):
    model = facts(**SMOL)
    assert memory_needed(model, LoadOptions(), free=1 << 20).fits is False
    assert memory_needed(model, LoadOptions(), free=1 << 30).fits is True


def test_models_show_has_facts_and_memory_and_fails_where_it_does_not_fit(facts, monkeypatch):
    texts = {"general.name": "Ti\x1b[31mny", "tokenizer.chat_template": "{{ x }}"}
    path = facts(**SMOL, **texts, **{"tokenizer.ggml.tokens": [1, 2]}).path
    shown = glyphscope("models", "show", path, "--context", "2048")
    assert shown.exit_code == 0, shown.output
    assert "47.2 MB for 2,048 tokens, f16" in shown.output and "8,192 tokens" in shown.output
    assert "\x1b" not in shown.output
    monkeypatch.setattr("glyphscope.models.memory.available_memory", lambda: 1 << 20)
    shown = glyphscope("models", "show", path, "--json")
    document = json.loads(shown.output)
    assert shown.exit_code == 1 and document["memory"]["fits"] is False
    assert document["layers"] == 30 and document["memory"]["cache"] == 90 << 20


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kv-type", "q4_0", "--flash-attention", "off"], "needs flash attention"),
        (["--threads", "2", "--model", "http://127.0.0.1:1/v1"], "--threads cannot be used"),
        (["--threads", "-1"], "greater than or equal to 0"),
        (["--gpu-layers", "-2"], "greater than or equal to -1"),
        (["--kv-type", "q3_k"], "is not one of"),
        (["--batch", "100"], "is not one of"),
    ],
)
def test_an_invalid_option_is_rejected_before_anything_is_loaded(arguments, said):
    result = glyphscope("run", "x", *arguments)
    words = result.output if isinstance(result.exception, SystemExit) else str(result.exception)
    assert result.exit_code != 0 and said in " ".join(words.split())


@pytest.mark.parametrize(
    "command", ["ab", "bench", "branch", "prompt", "run", "sizes", "eval run", "lab mask-driven", "mcp call"]
)
def test_a_command_that_loads_a_model_takes_all_load_options(command):
    shown = glyphscope(*command.split(), "--help").output
    for option in ("--context", "--threads", "--gpu-layers", "--kv-type", "--flash-attention", "--batch"):
        assert option in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["prompt", "x"],
        ["sizes", "-", "--model", "embedded"],
        ["bench"],
        ["ab", "a.txt", "b.txt", "--prompt", "x"],
        ["lab", "mask-driven", "--out", "lab"],
    ],
)
def test_the_load_options_given_are_those_that_the_model_is_opened_with(arguments, monkeypatch, tmp_path):
    asked = []

    def opened(name, *, options, **_more):
        asked.append(options)
        raise GlyphscopeError("not opened here")

    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("{{ tools }}")
    for module in (
        "glyphscope.cli.prompt",
        "glyphscope.cli.sizes",
        "glyphscope_benchmarks.command",
        "glyphscope.cli.ab",
        "glyphscope_plugins.lab.command",
    ):
        monkeypatch.setattr(import_module(module), "opened", opened)
    monkeypatch.setattr("glyphscope_plugins.lab.command.McpServer", Mock())
    given = ["--context", "512", "--threads", "1", "--kv-type", "q8_0", "--batch", "128"]
    glyphscope(*arguments, *given, text='{"tool": "a", "arguments": {}}\n')
    assert asked == [LoadOptions(context=512, threads=1, kv_type="q8_0", batch=128)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sizes", "-"], "Without --model"),
        (["prompt", "--run", "none.jsonl"], "needs no model"),
        (["mcp", "call", "server", "tool"], "without --model"),
    ],
)
def test_load_options_are_rejected_where_no_model_is_loaded(arguments, said):
    result = glyphscope(*arguments, "--context", "512", text="")
    assert said in result.output


def test_options_that_exclude_each_other_are_an_error_of_the_model_too(tmp_path):
    with pytest.raises(ModelError, match="needs flash attention"):
        open_model(str(tmp_path / "m.gguf"), options=LoadOptions(kv_type="q8_0", flash_attention="off"))


def test_a_branch_has_the_options_of_its_run_that_change_the_result():
    kept = LoadOptions(context=2048, kv_type="q8_0", flash_attention="on", batch=512)
    load = msgspec.structs.replace(kept, threads=64, gpu_layers=40)
    usual = options_of(ModelInfo(name="m", context=2048, load=load))
    assert usual == kept
    older = msgspec.structs.replace(load, batch=msgspec.UNSET)
    assert options_of(ModelInfo(name="m", context=2048, load=older)).batch == 64, "whatever is measured now"
    assert options_of(ModelInfo(name="m", context=512)) == LoadOptions(context=512), "an older record"
    off = msgspec.structs.replace(usual, kv_type="f16", flash_attention="off")
    assert LoadingOption(given=Given(kv_type="q8_0")).options("m", off).flash_attention == "auto"
    with pytest.raises(GlyphscopeError):
        LoadingOption(given=Given(flash_attention="off")).options("m", usual)


def test_a_record_has_the_options_in_use_and_older_records_keep_their_bytes():
    request = RunRequest(prompt="x", registry=default_registry().to_document())
    started = next(iter(run(request, ScriptedModel('{action="search" query="a"}'))))
    assert b'"load"' not in encode_event(started)
    load = LoadOptions(context=512, threads=2, gpu_layers=0, flash_attention="off")
    loaded = msgspec.structs.replace(started, model=msgspec.structs.replace(started.model, load=load))
    line = encode_event(loaded)
    assert b'"kv_type":"f16"' in line and decode_event(line).model.load == load
    assert b'"batch"' not in line, "a batch of 64 tokens, as in older records"
    assert load.batch_size == 64 and b'"batch":128' in encode_event(
        msgspec.structs.replace(
            started, model=msgspec.structs.replace(started.model, load=LoadOptions(batch=128))
        )
    )


def test_options_are_remembered_for_each_model(tmp_path):
    settings = Settings(context=2048)
    quick = LoadOptions(context=1024, kv_type="q8_0")
    settings = settings.with_load_options("/m/a.gguf", quick)
    assert settings.load_options_of("/m/a.gguf") == quick
    assert settings.load_options_of("/m/b.gguf") == LoadOptions(context=2048)
    file = tmp_path / "settings.json"
    save_settings(file, settings)
    assert load_settings(file).settings == settings
    assert not settings.with_load_options("/m/a.gguf", LoadOptions(context=2048)).load_options
    for number in range(60):
        settings = settings.with_load_options(f"/m/{number}", quick)
    assert len(settings.load_options) == 50 and "/m/59" in settings.load_options


def test_invalid_options_in_the_settings_are_replaced_by_their_defaults(tmp_path):
    file = tmp_path / "settings.json"
    file.write_text('{"glyphscope_settings": 2, "load_options": {"m": {"threads": -4}}, "context": 1024}')
    settings, notice = load_settings(file)
    assert settings.load_options_of("m") == LoadOptions(context=1024) and "load_options" in notice


@pytest.mark.slow
def test_an_evaluation_loads_its_models_with_the_options_given(tmp_path, monkeypatch):
    loaded = []

    def opener(name, *, options, **_more):
        loaded.append((name, options))
        return ScriptedModel('{action="search" query="a"}')

    monkeypatch.setattr(import_module("glyphscope.store.named_models"), "open_named", opener)
    model = "scripted:x"
    command = [
        "eval",
        "run",
        "--out",
        str(tmp_path),
        "--model",
        model,
        "--first",
        "1",
        "--constraint",
        "mask",
    ]
    result = glyphscope(*command, "--kv-type", "q8_0", "--context", "1024", "--json")
    assert result.exit_code == 0, result.output
    assert loaded == [(model, LoadOptions(context=1024, kv_type="q8_0"))]
    refused = glyphscope(*command, "--kv-type", "q8_0", "--flash-attention", "off")
    assert refused.exit_code != 0


def test_models_that_compute_at_once_share_the_cores(monkeypatch):
    monkeypatch.setattr("glyphscope.models.cores.physical_cores", lambda: 4)
    assert [share_cores(DEFAULT_LOAD, models).threads for models in (1, 2, 3, 8)] == [0, 2, 1, 1]
    assert share_cores(LoadOptions(threads=3), 2).threads == 3, "given"


def test_a_context_beyond_the_models_own_gives_a_note(monkeypatch, capsys):
    model = ScriptedModel("x")
    model.info = msgspec.structs.replace(model.info, kind="llama.cpp", context=8192)
    monkeypatch.setattr(import_module("glyphscope.store.named_models"), "open_named", lambda *_, **__: model)
    for asked in (8192, 131_072):
        with load_options.opened("m.gguf", options=LoadOptions(context=asked)):
            pass
    assert capsys.readouterr().err == "The model has a context of 8,192 tokens, and not of 131,072.\n"
