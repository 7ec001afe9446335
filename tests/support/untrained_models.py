"""Untrained models around real vocabularies and templates, for tests: what `packaging/untrained.py` makes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _maker() -> ModuleType:
    path = Path(__file__).parents[2] / "packaging" / "untrained.py"
    spec = importlib.util.spec_from_file_location("untrained", path)
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = _maker()
Pair, PAIRS = maker.Pair, maker.PAIRS


def model_file(llama_data: Path, pair: Pair) -> str:  # type: ignore[valid-type]
    """Return the path of the pair's model file, which is made if it is not cached."""
    return str(maker.model_file(llama_data, pair))


def several_templates(llama_data: Path, folder: Path, template: str) -> Path:
    """A model with the template after the word plain, one for tools, and one of the name rag."""
    pair = Pair("llama-spm", "mistralai-Mistral-Nemo-Instruct-2407", "</s>")
    model = Path(model_file(llama_data, pair)).read_bytes()
    named = {"tool_use": "tools {{ tools | length }} " + template, "rag": "rag " + template}
    path = folder / "several.gguf"
    path.write_bytes(maker.retemplated(model, name="several", template="plain " + template, named=named))
    return path
