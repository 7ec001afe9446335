"""`glyphscope template …`: `lint` names the errors of chat templates, `compare` shows where two of them differ, and
`variables` lists those that can be set. `response` tests or writes transformers' `response_template`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from glyphscope.base.figures import pluralize
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import STDIN, InputError, shown_source
from glyphscope.cli.options import JsonOption, NamedTemplateOption, TemplateVarOption
from glyphscope.cli.output import TextTable, console, print_json, print_line, print_note, print_text
from glyphscope.cli.template_forms import read_template
from glyphscope.events import pair_value
from glyphscope.models.template_lint import (
    ConversationPair,
    compare_templates,
    lint_template,
    prove_response_template,
)
from glyphscope.models.template_variables import TemplateVariable, find_variables
from glyphscope.models.tokenizer_config import response_template_of
from glyphscope.turns.conversations import CONVERSATIONS
from glyphscope.turns.lint import LEVELS, Fault, Level, TemplateLint

app = typer.Typer(
    help="Chat templates: their errors, where two differ, their variables, and response templates.",
    no_args_is_help=True,
)

_METAVAR = "FILE.gguf|TEMPLATE.jinja|FOLDER|embedded"
_MARKS: dict[Level, tuple[str, str]] = {
    "error": ("✗", "red"),
    "warning": ("!", "yellow"),
    "note": ("·", "dim"),
}
_MAX_VALUE = 48
"""Characters of a value or a difference in a table."""
_SHOWN = 300
"""Characters of a turn that is read otherwise."""
_BEFORE, _AFTER = 60, 60
"""Characters of two renderings beside their first difference."""


@app.command("lint")
def lint_(
    templates: Annotated[
        list[str],
        typer.Argument(
            metavar=f"{_METAVAR}…",
            help="Models, chat templates, and tokenizer_config.json files or the folders with them.",
        ),
    ],
    conversation: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Print this conversation as the template writes it, and nothing else."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 for warnings too.")] = False,
    template_var: TemplateVarOption = None,
    as_json: JsonOption = False,
) -> None:
    """Render conversations of every shape, and name what the template loses, leaves open or rejects.

    Exit code 1 when a template has an error.
    """
    known = [each.key for each in CONVERSATIONS]
    if conversation is not None and conversation not in known:
        raise InputError(
            f"There is no conversation “{conversation}”.", hint=f"Choose one of: {', '.join(known)}."
        )
    failed = False
    answers = []
    for template in templates:
        found = lint_template(read_template(template, variables=template_var))
        counts = {level: found.count(level) for level in LEVELS}
        failed |= bool(counts["error"] or (strict and counts["warning"]))
        name = shown_source(template)
        if as_json:
            answers.append(
                {"template": name, **{f"{level}s": n for level, n in counts.items()}, "lint": found}
            )
        elif conversation is not None:
            _print_conversation(found, conversation)
        else:
            _print_lint(name, found, counts)
    if as_json:
        print_json(answers)
    raise typer.Exit(1 if failed and conversation is None else 0)


def _print_conversation(found: TemplateLint, key: str) -> None:
    shown = next(each for each in found.conversations if each.key == key)
    words = f"The template raises: {shown.raised}" if shown.raised else shown.text
    print_text(words.removesuffix("\n"), lines=True)


def _print_lint(name: str, found: TemplateLint, counts: dict[Level, int]) -> None:
    words = ", ".join(pluralize(counts[level], level) for level in LEVELS)
    print_text(f"{name}: {words} in {pluralize(len(found.conversations), 'conversation')}", "bold")
    titles = {each.key: each.title for each in found.conversations}
    for fault in found.faults:
        print_fault(fault)
        for key in fault.conversations:
            print_text(f"    {titles[key]} ({key})")
        if fault.end:
            text = next(each.text for each in found.conversations if each.key == fault.conversations[0])
            shown = shorten(text[fault.start : fault.end], _BEFORE + _AFTER, keep="ends")
            print_text(f"    {_visible(shown)}", "dim")


def print_fault(fault: Fault) -> None:
    """One line: the code, the error and its consequence."""
    mark, style = _MARKS[fault.level]
    print_text(f"{mark} {fault.code}  {visible(fault.message)} {fault.why}", style)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar=_METAVAR, help="A model or a chat template.")],
    second: Annotated[str, typer.Argument(metavar=_METAVAR, help="The one to compare it with.")],
    template_var: TemplateVarOption = None,
    as_json: JsonOption = False,
) -> None:
    """Render conversations of every shape with two templates, and show the first difference in each.

    Exit code 1 when they differ. A template in a file without special tokens gets those of the other.
    """
    sides = (read_template(each, variables=template_var) for each in (first, second))
    pairs = compare_templates(*sides)
    different = [pair for pair in pairs if not pair.same]
    if as_json:
        print_json({"same": not different, "conversations": pairs})
    else:
        _print_pairs(pairs, different, (shown_source(first), shown_source(second)))
    raise typer.Exit(1 if different else 0)


def _print_pairs(
    pairs: tuple[ConversationPair, ...], different: list[ConversationPair], names: tuple[str, str]
) -> None:
    same = pluralize(len(pairs) - len(different), "conversation")
    if not different:
        print_text(f"✓ All {same} are the same.", "green")
        return
    print_text(f"{len(different)} of {pluralize(len(pairs), 'conversation')} differ.", "bold")
    for letter, name in zip("AB", names):
        print_text(f"{letter}: {name}")
    for pair in different:
        place = f"line {pair.line}, column {pair.column}"
        print_text(f"✗ {pair.title} ({pair.key}): {place}", "red")
        for letter, side in zip("AB", (pair.first, pair.second)):
            shown = f"raises: {visible(side.raised)}" if side.raised else _around(side.text, pair.at or 0)
            print_text(f"    {letter}  {shown}")


@app.command()
def response(
    template: Annotated[
        str, typer.Argument(metavar=_METAVAR, help="A tokenizer_config.json, or another template.")
    ],
    export: Annotated[
        bool,
        typer.Option("--export", help="Write the response_template that is derived from the chat template."),
    ] = False,
    turns: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of random turns to render and read.")
    ] = 100,
    template_var: TemplateVarOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test the response_template of a tokenizer_config.json, with which transformers reads answers, by random turns.

    Each turn that the chat template renders is read by it. With --export, the derived response_template is printed, and
    the test is in the last line, on standard error. Exit code 1 when a turn is read otherwise.
    """
    data = None if export else _response_of(template)
    made, proof = prove_response_template(read_template(template, variables=template_var), data, turns)
    if as_json:
        print_json({"response_template": made, "proved": proof.proved, "proof": proof})
    else:
        if export:
            print_line(json.dumps(made, ensure_ascii=False, indent=2).encode())
        mark, style = ("✓", "green") if proof.proved else ("✗", "red")
        read = f"{proof.equal} of {pluralize(proof.turns, 'random turn')} are read as they were."
        print_note(
            f"{mark} {read if proof.turns else 'Not tested: the chat template writes no calls.'}", style
        )
        for failure in proof.failures[:1]:
            for words, value in (("turn", failure.text), ("was", failure.expected), ("read", failure.read)):
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                print_note(f"    {words:5} {_visible(shorten(shown, _SHOWN))}")
    raise typer.Exit(0 if proof.proved else 1)


def _response_of(template: str) -> dict[str, Any]:
    """The response_template of a config, also of the one beside a template. Raises InputError and PromptError."""
    data = None if template == STDIN else response_template_of(Path(template))
    if not isinstance(data, dict):
        raise InputError(
            "There is no response_template.",
            where=shown_source(template),
            hint="Give a tokenizer_config.json that has one, or write the derived one with --export. A response_schema "
            "is of transformers before 5.13.",
        )
    return data


def _around(text: str, at: int) -> str:
    """The text around its first difference."""
    before = shorten(text[:at], _BEFORE, keep="end")
    return f"{_visible(before)}⟦{_visible(shorten(text[at:], _AFTER))}⟧"


def _visible(text: str) -> str:
    return visible(text).replace("␊", "⏎")


@app.command("variables")
def variables_(
    template: Annotated[
        str, typer.Argument(metavar=_METAVAR, help="A model, a chat template, or a folder with one.")
    ],
    name: NamedTemplateOption = "",
    as_json: JsonOption = False,
) -> None:
    """List the variables that `--template-var` can set, each value with the first change of a prompt."""
    found = find_variables(read_template(template, name))
    if as_json:
        print_json(found)
    elif not found:
        print_text("The template reads no variables besides those that every prompt sets.")
    else:
        console().print(variables_table(found))


def variables_table(variables: Sequence[TemplateVariable]) -> TextTable:
    """A row for each value that was tried, with what it changes first."""
    table = TextTable("variable", "value", "where", "without it", "with it")
    for each in variables:
        for place, tried in enumerate(each.values):
            default = tuple(each.default) == (tried.value,)
            where = "the default" if default and not tried.changes else tried.where
            table.add_row(
                each.name if not place else "",
                shorten(pair_value(tried.value), _MAX_VALUE),
                where
                or (f"rejected: {tried.error}" if tried.error else "changes nothing in these conversations"),
                shorten(_on_one_line(tried.before), _MAX_VALUE),
                shorten(_on_one_line(tried.after), _MAX_VALUE),
            )
    return table


def _on_one_line(text: str) -> str:
    return visible(text).replace("␊", "⏎")
