"""`glyphscope models` lists the GGUF files on this machine; `show` shows the facts and the memory of one, `measure`
finds its batch size, `prompts` shows the evaluated prompts on disk, and `inspect` the form of a model's turns, derived
from its chat template, with the proof. `get` and `search` query the Hub (`models_hub.py`).
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from glyphscope.base.errors import ModelError, find_named
from glyphscope.base.figures import byte_size, duration_ms, parameter_count, rate
from glyphscope.base.inputs import home_path
from glyphscope.base.shorten import excerpt, listed
from glyphscope.base.visible import visible
from glyphscope.cli.load_options import LoadingOption, opened
from glyphscope.cli.models_hub import get, search
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, NamedTemplateOption, TemplateVarOption
from glyphscope.cli.output import (
    TextTable,
    console,
    diagnostics,
    facts_table,
    print_json,
    print_note,
    print_text,
)
from glyphscope.cli.signals import closing_when_ended
from glyphscope.cli.sources import confirm
from glyphscope.cli.template import print_fault, variables_table
from glyphscope.cli.template_forms import read_template
from glyphscope.events import LoadOptions, Strict
from glyphscope.events.load_options import USUAL_BATCH
from glyphscope.explain.asked_endpoint import MAX_TOKENS, ask, requests_of, trials
from glyphscope.models.batch_sizes import BatchFile, BatchTimes
from glyphscope.models.files import inspect_file
from glyphscope.models.finding import find_models
from glyphscope.models.hub.part import find_unfinished
from glyphscope.models.inspection import Inspection, inspect_template, with_proof
from glyphscope.models.llama import LlamaModel
from glyphscope.models.memory import Memory, ModelFacts, memory_needed, read_facts
from glyphscope.models.opening import EMBEDDED, installed_model
from glyphscope.models.prompt_cache import clear_cache, stored_files
from glyphscope.store import places
from glyphscope.store.named_models import downloaded_file
from glyphscope.turns.pairs import Pair, Side
from glyphscope.turns.slots import PROMPT_PARTS, Slot

_MAX_LENGTH = 1000
"""Characters of a rendering that are shown beside a difference."""
_MAX_ANSWER = 80
"""Characters of an answer that are shown in a table."""
_MAX_NAMED = 12
"""Names of templates that are listed."""
_NO_MODEL = "No model was found. Try --folder, or: glyphscope models get OWNER/NAME, or: pip install 'glyphscope[demo]'"

app = typer.Typer(
    help="Models on this machine, and downloads.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.command()(get)
app.command()(search)


@app.callback()
def models(
    context: typer.Context,
    folder: Annotated[
        list[Path] | None, typer.Option(metavar="FOLDER", help="Also search this folder; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the models on this machine; `get` downloads one. Exit code 1 if there are none."""
    if context.invoked_subcommand is not None:
        return
    own = places().models
    files = find_models([own, *(folder or ())])
    if as_json:
        print_json({"models": files})
        raise typer.Exit(0 if files else 1)
    out = console()
    if files:
        numbers = ("parameters", "size", "context")
        table = TextTable("name", "from", "quantisation", *numbers, "file", right=numbers, wrapped=("file",))
        for each in files:
            place = Text(each.path)
            if each.problem:
                place.append(f" ✗ {each.problem}", style="red")
            table.add_row(
                each.name, each.source, each.quantisation, parameter_count(each.parameters) if each.parameters else "",
                byte_size(each.bytes), f"{each.context:,}" if each.context else "", place,
            )  # fmt: skip
        out.print(table)
    else:
        out.print(_NO_MODEL)
    for part in find_unfinished(own):
        line = f"unfinished ({byte_size(part.bytes)}); resume with: glyphscope models get {part.repo}:{part.file}"
        out.print(line)
    raise typer.Exit(0 if files else 1)


@app.command()
@with_groups(only=("context", "kv_type"))
def show(
    *,
    model: Annotated[
        str, typer.Argument(metavar="FILE.gguf|OWNER/NAME|embedded", help="A model on this computer.")
    ],
    loading: LoadingOption,
    as_json: JsonOption = False,
) -> None:
    """Show a model's facts and the memory it needs with these options. Exit code 1 when it does not fit."""
    options = loading.options(model)
    path = _file(model)
    inspect_file(path, fits=False)  # an adapter or the image part of a model cannot be used by itself
    facts, stored = read_facts(path), BatchFile(places().batches, path, options)
    memory = memory_needed(facts, options)
    if as_json:
        used = {**memory._asdict(), "total": memory.total, "fits": memory.fits}
        print_json({**msgspec.to_builtins(facts), "memory": used, "batches": _times(stored.read())})
    else:
        options = msgspec.structs.replace(
            options, context=min(options.context, facts.context or options.context)
        )
        _print_facts(facts, memory, options, stored.read())
    raise typer.Exit(1 if memory.fits is False else 0)


@app.command()
@with_groups(only=("threads", "gpu_layers", "kv_type", "flash_attention"))
def measure(
    *,
    model: Annotated[
        str, typer.Argument(metavar="FILE.gguf|OWNER/NAME|embedded", help="A model on this computer.")
    ],
    loading: LoadingOption,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Delete the measured times instead: batches have 64 tokens again."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how many prompt tokens are best evaluated at once with these options on this machine, and use that from
    the next time that the model is opened. It takes 10 s and more; nothing else should run meanwhile.
    """
    options = loading.options(model)
    if forget:
        BatchFile(places().batches, _file(model), options).delete()
        return
    _file(model)
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        source = stack.enter_context(opened(model, options=options, quiet=as_json))
        assert isinstance(source, LlamaModel), "it has a file"
        if not as_json:
            stack.enter_context(diagnostics().status("timing batches of prompt tokens"))
        times = source.measure_batches()
    assert times is not None, "nothing cancels it"
    if as_json:
        print_json(_times(times))
        return
    out = console()
    columns = ("tokens in a batch", "time", "speed")
    table = TextTable(*columns, right=columns)
    for size, ms in sorted(times.ms.items()):
        table.add_row(f"{size:,}", duration_ms(ms), rate(size * 1000 / ms))
    out.print(table)
    out.print(f"In use when the model is opened the next time: batches of at most {times.best} tokens.")


@app.command()
def prompts(
    clear: Annotated[bool, typer.Option("--clear", help="Delete all of them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the size and location of the evaluated prompts on disk, or delete them."""
    folder = places().prompts
    freed = clear_cache(folder) if clear else 0
    files = stored_files(folder)
    size = sum(file.size for file in files)
    if as_json:
        print_json({"folder": str(folder), "files": len(files), "bytes": size, "freed": freed})
        return
    rows = [("folder", str(folder)), ("prompts", f"{len(files):,}"), ("size", byte_size(size))]
    console().print(facts_table([*rows, ("freed", byte_size(freed))] if clear else rows))


def _file(model: str) -> Path:
    if model == EMBEDDED:
        return installed_model()
    path = home_path(downloaded_file(model))
    if not os.path.isfile(path):
        raise ModelError(
            "There is no such file.", where=model, hint="`glyphscope models` lists the models found."
        )
    return path


def _times(times: BatchTimes | None) -> dict[str, object] | None:
    return None if times is None else {"best": times.best, **msgspec.to_builtins(times, str_keys=True)}


def _print_facts(facts: ModelFacts, memory: Memory, options: LoadOptions, times: BatchTimes | None) -> None:
    cache = "unknown" if memory.cache is None else byte_size(memory.cache)
    free = "unknown" if memory.free is None else byte_size(memory.free)
    verdict = {True: "fits", False: "does not fit", None: "free memory unknown"}[memory.fits]
    rows = (
        ("name", facts.name),
        ("file", facts.path),
        ("architecture", facts.architecture),
        ("parameters", parameter_count(facts.parameters)),
        ("layers", f"{facts.layers:,}"),
        ("quantisation", facts.quantisation or "unknown"),
        ("vocabulary", f"{facts.vocabulary:,} tokens"),
        ("trained context", f"{facts.context:,} tokens"),
        ("chat template", "yes" if facts.has_chat_template else "no"),
        ("weights", byte_size(memory.weights)),
        ("KV cache", f"{cache} for {options.context:,} tokens, {options.kv_type}"),
        *([("LoRA adapters", byte_size(memory.adapters))] if memory.adapters else ()),
        (
            "prompt batches",
            f"{times.best} tokens, measured" if times else f"{USUAL_BATCH} tokens, not measured",
        ),
        ("memory", f"about {byte_size(memory.total)}; {free} free: {verdict}"),
    )
    console().print(facts_table(rows))


@app.command()
def inspect(
    template: Annotated[
        str, typer.Argument(metavar="FILE.gguf|TEMPLATE.jinja", help="A model, or a chat template in a file.")
    ],
    turns: Annotated[
        int,
        typer.Option("--turns", min=1, max=100_000, help="Number of random turns to render and read back."),
    ] = 100,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.gguf",
            help="Show the markers as tokens of this vocabulary; default: that of the model itself.",
        ),
    ] = None,
    name: NamedTemplateOption = "",
    template_var: TemplateVarOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how a model writes its turns: markers, calls, reasoning, ends. Exit code 1 when it writes no calls."""
    source = read_template(template, name, template_var)
    if vocabulary is None and template.lower().endswith(".gguf"):
        vocabulary = Path(template)
    inspection = with_proof(inspect_template(source, vocabulary), source, turns)
    if as_json:
        print_json(inspection)
    else:
        _print(Path(template).name, inspection)
        if others := [each for each in source.names if each != name]:
            print_text(
                f"The model has other chat templates: {listed(others, _MAX_NAMED)}. --name shows one of them."
            )
    raise typer.Exit(0 if any(call.strict for call in inspection.form.calls) else 1)


@app.command()
def enforcement(
    model: Annotated[str, typer.Argument(metavar="URL", help="An endpoint: http://host:port/v1#name.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only this test; repeatable.")
    ] = None,
    strict: Annotated[Strict, typer.Option(help="Whether strict is sent with the tools.")] = "auto",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send the requests without confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Test what a server enforces, by prompts that ask for answers outside of a constraint. Exit code 1 if it accepts
    one.
    """
    names = [find_named(trials(), name, f"test {name!r}", where="--only").name for name in only or trials()]
    if not yes:
        count = requests_of(names)
        print_note(f"{count} requests of at most {MAX_TOKENS} tokens each would be sent to {visible(model)}.")
        confirm("Send them?", where=model, hint="Allow the requests with --yes.")
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        source = stack.enter_context(opened(model, quiet=as_json))
        results = []
        for result in ask(source, names, strict=strict):
            results.append(result)
            print_note(f"{len(results)} of {len(names)}: {result.name}: {result.found}")
        server = source.info.server or source.info.name
    if as_json:
        print_json({"server": server, "results": results})
    else:
        table = TextTable("constraint", "found", "without it", "under it", wrapped=("without it", "under it"))
        for each in results:
            shown = (each.without, each.why or each.under)
            table.add_row(each.name, each.found, *(excerpt(text, _MAX_ANSWER) for text in shown))
        print_text(
            f"{server}: {sum(each.found == 'enforced' for each in results)} of {len(results)} enforced"
        )
        console().print(table)
    raise typer.Exit(1 if any(each.found == "not enforced" for each in results) else 0)


def _print(name: str, inspection: Inspection) -> None:
    out = console()
    print_text(f"How {name} writes a turn. ⏎ is a line feed, words in capitals are slots.", "bold")
    numbers = {pair.key: place for place, pair in enumerate(inspection.pairs, 1)}
    out.print(facts_table((each.title, *_slot(each, numbers)) for each in inspection.slots))
    if inspection.thinking:
        _print_part("The prompt by state of thinking", facts_table(_thinking(inspection)))
    if inspection.variables:
        _print_part("The variables that can be set", variables_table(inspection.variables))
    if inspection.markers:
        rows = [
            (_shown(each.text), each.words, " ".join(str(token.id) for token in each.tokens))
            for each in inspection.markers
        ]
        ends = " ".join(f"{_shown(token.text)} ({token.id})" for token in inspection.end_tokens)
        _print_part("The markers in this vocabulary", facts_table([*rows, ("ends a generation", ends, "")]))
    for place, pair in enumerate(inspection.pairs, 1):
        _print_part(f"{place}. {pair.title}. {pair.shows}", *_pair(pair))
    print_text()
    for fault in inspection.faults:
        print_fault(fault)
    for words in inspection.warnings:
        print_text(f"! {words}", "yellow")
    for correction in inspection.form.corrections:
        print_text(f"from the table: {correction.row}. {correction.reason} (source: {correction.source})")
    out.print(_proof_line(inspection.proof))


def _print_part(title: str, *parts: Any) -> None:
    out = console()
    print_text()
    print_text(title, "bold")
    for part in parts:
        out.print(part)


def _slot(slot: Slot, numbers: dict[str, int]) -> tuple[str, str]:
    places = [str(numbers[key]) for key in slot.pairs if key in numbers]
    seen = f"pair{'s' if len(places) > 1 else ''} {', '.join(places)}" if places else ""
    rows = f"table: {', '.join(slot.rows)}" if slot.rows else ""
    value = "  ".join(part for part in (_shown(slot.value), f"({slot.note})" if slot.note else "") if part)
    return value, "; ".join(part for part in (seen, rows) if part)


def _thinking(inspection: Inspection) -> list[tuple[str, str, str]]:
    out = []
    for each in inspection.thinking:
        words = PROMPT_PARTS.get(each.part, "") + (f" (as {each.like})" if each.like else "")
        out.append((each.state, _shown(each.prompt), words.strip()))
    return out


def _pair(pair: Pair) -> list[Text]:
    """Two renderings, each on a line, with their differences marked by brackets and colour."""
    if pair.same:
        return [Text("  both are the same: ").append(_shown(pair.sides[0].text[-_MAX_LENGTH:]), style="dim")]
    width = max(len(side.name) for side in pair.sides)
    return [_side(side, width) for side in pair.sides]


def _side(side: Side, width: int) -> Text:
    line = Text(f"  {side.name:{width}}  ")
    first = side.marks[0][0] if side.marks else 0
    at = max(0, first - _MAX_LENGTH)
    for start, end in side.marks:
        line.append(_shown(side.text[at:start]), style="dim")
        line.append(f"⟦{_shown(side.text[start : min(end, start + _MAX_LENGTH)])}⟧", style="bold green")
        at = end
    line.append(_shown(side.text[at : at + _MAX_LENGTH]), style="dim")
    return line


def _proof_line(proof: Any) -> Text:
    if not proof["turns"]:
        return Text("not proved: the template renders no calls", style="yellow")
    kinds = ", ".join(f"{count} with {kind}" for kind, count in sorted(proof["counts"].items()))
    mark, style = ("✓ proved", "bold green") if proof["proved"] else ("✗ not proved", "bold red")
    equal, turns = proof["equal"], proof["turns"]
    return Text(f"{mark}: {equal} of {turns} random turns are read back equal ({kinds})", style=style)


def _shown(text: str) -> str:
    return visible(text).replace("␊", "⏎")
