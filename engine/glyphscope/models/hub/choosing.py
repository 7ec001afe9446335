"""The choice of a repository's file: the requested one, otherwise the usual quantisation that fits the memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import byte_size
from glyphscope.base.shorten import and_more
from glyphscope.models.hub.files import FileChoice, FileListing

PREFERRED = (
    "Q4_K_M", "UD-Q4_K_XL", "MXFP4", "MXFP4_MOE", "Q4_K_S", "Q5_K_M", "IQ4_XS", "IQ4_NL", "Q5_K_S", "Q4_1", "Q4_0",
    "Q6_K", "Q8_0", "Q3_K_M", "BF16", "F16", "F32",
)  # fmt: skip
"""Preferred first: about four bits per weight, with answers still close to the full model's."""
_SHOWN = 12
"""The maximum number of names that an error lists."""


class Pick(NamedTuple):
    """The chosen file, and why it was chosen, as a sentence."""

    choice: FileChoice
    why: str


def pick(listing: FileListing, which: str = "", memory: int | None = None) -> Pick:
    """The file that `which` names (a path, a name or a quantisation), or the usual one for `memory`, the free bytes.

    Raises ModelError if there is none, or if the choice is ambiguous.
    """
    choices = listing.choices
    if not choices:
        raise _no_model(listing)
    if which:
        return Pick(_named(listing, which), "The requested file.")
    if len(choices) == 1:
        return Pick(_if_complete(choices[0], listing), "The only file.")
    complete = [choice for choice in choices if not choice.missing]  # the smallest first
    if not complete:
        raise _incomplete(choices[0], listing)
    for kind in PREFERRED:
        if of_kind := [choice for choice in complete if choice.quantisation == kind]:
            break
    else:
        return Pick(complete[0], "The smallest; the names contain no known quantisation.")
    if len(of_kind) > 1:
        raise _several(listing, of_kind, kind)
    usual = of_kind[0]
    if memory is None or usual.bytes <= memory:
        why = "a common balance of size and quality" if kind == "Q4_K_M" else "close to Q4_K_M"
        return Pick(usual, f"{kind}: {why}.")
    free = byte_size(memory)
    if fitting := [choice for choice in complete if choice.bytes <= memory]:
        needs = f"{kind} needs {byte_size(usual.bytes)}"
        return Pick(fitting[-1], f"The largest that fits the free memory ({free}); {needs}.")
    return Pick(complete[0], f"The smallest; it still needs more memory than is free ({free}).")


def _named(listing: FileListing, which: str) -> FileChoice:
    name = which.lower().strip("/")
    # exact matches first: a file's name may be another one's quantisation
    matches = (
        lambda choice: any(file.path == which for file in choice.files),
        lambda choice: any(name in (file.path.lower(), file.name.lower()) for file in choice.files),
        lambda choice: any(f"{name}.gguf" == file.name.lower() for file in choice.files),
        lambda choice: choice.quantisation.lower() == name,
        lambda choice: choice.quantisation.lower().removeprefix("ud-") == name,
    )
    for match in matches:
        found = [choice for choice in listing.choices if match(choice)]
        if len(found) > 1:
            raise _several(listing, found, which)
        if found:
            return _if_complete(found[0], listing)
    raise ModelError(
        f"It has no GGUF file {which!r}.", where=listing.repo, hint=f"It has: {_names(listing.choices)}."
    )


def _if_complete(choice: FileChoice, listing: FileListing) -> FileChoice:
    if choice.missing:
        raise _incomplete(choice, listing)
    return choice


def _incomplete(choice: FileChoice, listing: FileListing) -> ModelError:
    missing = "1 part is" if choice.missing == 1 else f"{choice.missing} parts are"
    return ModelError(
        f"Of the split model {choice.name}, {missing} not in the repository.",
        where=listing.repo,
        hint="Choose another file of it, or another repository.",
    )


def _no_model(listing: FileListing) -> ModelError:
    contents = f"It has {listing.others} other files." if listing.others else "It is empty."
    return ModelError(
        f"The repository has no GGUF model. {contents}",
        where=listing.repo,
        hint="Look for one of the same model whose name ends in GGUF.",
    )


def _several(listing: FileListing, found: Sequence[FileChoice], which: str) -> ModelError:
    example = f"{listing.repo}:{found[0].name}"
    return ModelError(
        f"{len(found)} of its models are {which}.",
        where=listing.repo,
        hint=f"Name one by its file, as in {example}. There are: {_names(found)}.",
    )


def _names(choices: Sequence[FileChoice]) -> str:
    return and_more([choice.name for choice in choices], _SHOWN)
