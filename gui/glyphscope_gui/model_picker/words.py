"""Texts on models, downloads and their sources; without Qt."""

from __future__ import annotations

from importlib.util import find_spec

from glyphscope.base.figures import byte_size, estimate, parameter_count, percent, rate
from glyphscope.events import LoadOptions
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.finding import EMBEDDED_SOURCE, FOLDER, FoundModel
from glyphscope.models.memory import Memory, ModelFacts
from glyphscope_gui.model_picker.downloads import Downloading
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import model_name, opened_name

FIX_HUB = "pip install 'glyphscope[hub]'"


def hub_is_here() -> bool:
    """Whether the extra for downloads by name is installed."""
    return find_spec("huggingface_hub") is not None


def name_words(model: FoundModel) -> str:
    """The name of a found model: from its file, as everywhere, except for Ollama's files, which have no names."""
    return model_name(model.path).name if model.source != "Ollama" else model.name


def source_words(model: FoundModel) -> str:
    if model.source == EMBEDDED_SOURCE:
        return tr("bundled with Glyphscope")
    return tr("model folder") if model.source == FOLDER else model.source


def facts_words(facts: ModelFacts) -> str:
    """Return the facts in the model's file, in one line."""
    known = (
        (facts.architecture, facts.architecture),
        (facts.parameters, tr("{number} parameters", number=parameter_count(facts.parameters))),
        (facts.layers, tr("%n layer(s)", "", facts.layers)),
        (facts.quantisation, facts.quantisation),
        (facts.vocabulary, tr("vocabulary {tokens:,}", tokens=facts.vocabulary)),
        (facts.context, tr("context up to {tokens:,} tokens", tokens=facts.context)),
        (True, tr("chat template") if facts.has_chat_template else tr("no chat template")),
    )
    return "  ·  ".join(words for value, words in known if value)


def memory_words(memory: Memory) -> str:
    """Return the memory that the model needs, and whether it is free."""
    cache = tr("KV cache unknown")
    if memory.cache is not None:
        cache = tr("{size} KV cache", size=byte_size(memory.cache))
    parts = [tr("{size} weights", size=byte_size(memory.weights)), cache]
    if memory.adapters:
        parts.append(tr("{size} adapters", size=byte_size(memory.adapters)))
    words = tr("Memory: about {total} ({parts}).", total=byte_size(memory.total), parts=", ".join(parts))
    if memory.free is None:
        return words
    free = byte_size(memory.free)
    fits = tr("Fits: {free} free.", free=free) if memory.fits else tr("Does not fit: {free} free.", free=free)
    return f"{words} {fits}"


def batches_words(times: BatchTimes) -> str:
    """The measured speed in batches of each size, and the size that is used."""
    sizes = sorted(times.ms.items())
    speeds = ", ".join(f"{size}: {rate(size * 1000 / ms)}" for size, ms in sizes)
    return tr("Prompt batches: {tokens} tokens, measured ({speeds}).", tokens=times.best, speeds=speeds)


def load_words(load: LoadOptions) -> str:
    """The load options of a model."""
    layers = (
        tr("all layers on the GPU") if load.gpu_layers < 0 else tr("%n GPU layer(s)", "", load.gpu_layers)
    )
    parts = (
        tr("context {tokens:,}", tokens=load.context),
        tr("%n thread(s)", "", load.threads),
        layers,
        tr("KV cache {kind}", kind=load.kv_type),
        tr("flash attention {state}", state=load.flash_attention),
        tr("prompts in batches of {tokens}", tokens=load.batch_size),
        *([tr("%n LoRA adapter(s)", "", len(load.lora))] if load.lora else ()),
    )
    return ", ".join(parts)


def status_words(status: ModelStatus) -> str:
    """Describe the state of the model's process with its options, or of the connection to its endpoint."""
    name = model_name(status.name).name if status.name else ""
    match status.phase:
        case "opening" if status.is_endpoint:
            return tr("Connecting to {name}…", name=name)
        case "ready" if status.is_endpoint:
            return tr("Connected: {name}", name=name)
        case "failed" if status.is_endpoint:
            return tr("Not connected: {message}", message=status.message)
        case "opening":
            share = "" if status.progress is None else f" {percent(status.progress, 0)}"
            return tr("Loading {name}…{share}", name=name, share=share)
        case "ready":
            load = status.info.load if status.info is not None else None
            name = opened_name(status.info).name if status.info is not None else name
            return tr("Loaded: {name}", name=name) + (f" ({load_words(load)})" if load else "")
        case "unloading":
            return tr("Unloading {name}…", name=name)
        case "failed":
            return tr("Not loaded: {message}", message=status.message)
        case _:
            return tr("No model is loaded; the next run loads it.")


def progress_words(download: Downloading) -> str:
    """Return the progress, the speed and the time left, as far as they are known."""
    progress = download.progress
    if progress.phase == "waiting":
        return progress.words
    of = (
        tr("{done} of {total}", done=byte_size(progress.done), total=byte_size(progress.total))
        if progress.total
        else byte_size(progress.done)
    )
    if progress.phase == "checking":
        return tr("Checking the partial download: {progress}", progress=of)
    if progress.phase == "naming":
        return tr("Complete, hash verified: {done}", done=byte_size(progress.done))
    words = of
    if download.speed > 0:
        words = tr("{progress}, {speed}/s", progress=of, speed=byte_size(round(download.speed)))
        if left := max(progress.total - progress.done, 0):
            words = tr(
                "{progress}, {duration} left", progress=words, duration=estimate(left / download.speed)
            )
    return words
