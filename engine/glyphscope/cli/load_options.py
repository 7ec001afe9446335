"""The options of how a GGUF file is loaded, once for all commands that load one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, TypeVar

import msgspec
import typer

from glyphscope.cli.inputs import InputError
from glyphscope.events import DEFAULT_LOAD, FlashAttention, KvType, LoadOptions
from glyphscope.events.load_options import MOST_CONTEXT, MOST_LAYERS, MOST_THREADS
from glyphscope.models.remote import is_address

_CONTEXT = Annotated[
    int | None,
    typer.Option(
        min=16,
        max=MOST_CONTEXT,
        help=f"Context size in tokens, at most the model's own. [{DEFAULT_LOAD.context}]",
        show_default=False,
    ),
]
_THREADS = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=MOST_THREADS,
        help="Number of threads; 0 is one for each physical core. [0]",
        show_default=False,
    ),
]
_GPU_LAYERS = Annotated[
    int | None,
    typer.Option(
        min=-1,
        max=MOST_LAYERS,
        help="Layers on the GPU; -1 is all, if llama.cpp was built for one. [-1]",
        show_default=False,
    ),
]
_KV_TYPE = Annotated[
    KvType | None,
    typer.Option(help=f"Type of the KV cache. [{DEFAULT_LOAD.kv_type}]", show_default=False),
]
_FLASH_ATTENTION = Annotated[
    FlashAttention | None,
    typer.Option(help="Flash attention; a quantised KV cache needs it. [auto]", show_default=False),
]


Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Loading:
    """The load options given on the command line, None for the others."""

    context: int | None = None
    threads: int | None = None
    gpu_layers: int | None = None
    kv_type: KvType | None = None
    flash_attention: FlashAttention | None = None

    @property
    def given(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def options(self, name: str, usual: LoadOptions | None = None) -> LoadOptions:
        """Those to load the model of that name with: `usual` with the ones given.

        Raises InputError for a model that has no such options, and for options that exclude each other.
        """
        chosen = self.given
        if is_address(name):
            self.refuse("An endpoint loads its own model", "Set it at the server.")
        if "kv_type" in chosen:
            chosen.setdefault("flash_attention", "auto")
        options = msgspec.structs.replace(usual or DEFAULT_LOAD, **chosen)
        if options.problem:
            raise InputError(options.problem, hint="Use --flash-attention on, or --kv-type f16.")
        return options

    def refuse(self, why: str, hint: str) -> None:
        """For a command that loads no model this time: raises InputError if options are given."""
        if self.given:
            names = ", ".join(f"--{option.replace('_', '-')}" for option in self.given)
            raise InputError(f"{why}: {names} cannot be used.", hint=hint)


NOT_GIVEN = Loading()
_OPTIONS = {
    "context": _CONTEXT,
    "threads": _THREADS,
    "gpu_layers": _GPU_LAYERS,
    "kv_type": _KV_TYPE,
    "flash_attention": _FLASH_ATTENTION,
}


def loads_models(*names: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Decorates a command with a parameter `loading: Loading`: in its place the command line has the load options.

    `names` are those that the command takes; without, all of them.
    """
    taken = names or tuple(field.name for field in fields(Loading))

    def decorate(command: Callable[..., Result]) -> Callable[..., Result]:
        own = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            if parameter.name == "loading":
                kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
                parameters += [
                    inspect.Parameter(name, kind, default=None, annotation=_OPTIONS[name]) for name in taken
                ]
            else:
                parameters.append(parameter)

        @functools.wraps(command)
        def wrapped(**given: object) -> Result:
            loading = Loading(**{name: given.pop(name) for name in taken if name in given})  # type: ignore[arg-type]
            return command(**given, loading=loading)

        wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
        return wrapped

    return decorate
