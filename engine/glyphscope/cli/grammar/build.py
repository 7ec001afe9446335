"""`glyphscope grammar build`: the grammar that constrains a model by a registry or a schema; and `check`, its check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.cells import cell_len
from rich.text import Text

from glyphscope.base.figures import pluralize
from glyphscope.base.lines import Lines
from glyphscope.base.pointer import to_pointer
from glyphscope.base.visible import escaped, visible
from glyphscope.cli import inputs
from glyphscope.cli.grammar.report import (
    offer_engine,
    print_contradictions,
    print_unenforced,
    unenforced_json,
)
from glyphscope.cli.grammar.report import report as print_proofs
from glyphscope.cli.options import JsonOption, NotationOption, OrderOption, RegistryOption, ShapeOption
from glyphscope.cli.output import SEVERITY_MARKS, console, diagnostics, print_json, print_note
from glyphscope.events import Notation, default_order
from glyphscope.explain.proof.outside import OutsideName
from glyphscope.grammar import (
    build_value_grammar,
    call_schema,
    contradictions,
    lark_unenforced,
    registry_contradictions,
    to_lark,
)
from glyphscope.grammar.builder.json_schema import response_format, structural_tag
from glyphscope.grammar.builder.notes import constraint_notes
from glyphscope.grammar.builder.tools import SCHEMA, Part, chosen_tools
from glyphscope.grammar.gbnf import Diagnostic, emit_gbnf
from glyphscope.grammar.gbnf.check import GrammarCheck
from glyphscope.grammar.generate.ambiguity import ambiguous_rules
from glyphscope.grammar.languages import LARK, AnyCheck, GrammarLanguage, language_of
from glyphscope.grammar.lark_check import check_format
from glyphscope.grammar.lark_text.openai import openai_problems
from glyphscope.grammar.lark_text.parse.syntax import LarkSyntax
from glyphscope.grammar.notation_syntax import WhiteSpace
from glyphscope.grammar.text_grammar import text_format
from glyphscope.grammar.tree import Grammar, Ordered, Origin, Unenforced
from glyphscope.registry import Tool, ToolRegistry, check_schema, load_registry, normalise, to_openai
from glyphscope.registry.keywords import CUSTOM
from glyphscope.registry.references import SchemaPlaces
from glyphscope.store import atomic_write
from glyphscope.turns import TurnOptions, build_turn_grammar, own_form


def build(
    registry: RegistryOption = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON Schema instead of a registry.")
    ] = None,
    notation: NotationOption = "glyph",
    shape: ShapeOption = "flat",
    order: OrderOption = None,
    part: Annotated[Part, typer.Option(help="Part of a call.")] = "call",
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="Only this tool.")] = None,
    free_text: Annotated[bool, typer.Option("--free-text", help="Allow any text before the call.")] = False,
    white_space: Annotated[WhiteSpace, typer.Option(help="White space in JSON.")] = "none",
    comments: Annotated[
        bool, typer.Option("--comments", help="Add the schema location of each rule as a comment in GBNF.")
    ] = False,
    to: Annotated[
        Literal[
            "lark",
            "gbnf",
            "json-schema",
            "response-format",
            "structured-outputs",
            "structural-tag",
            "openai-chat",
            "openai-responses",
        ],
        typer.Option(
            help="The format: gbnf for llama.cpp, lark for llguidance; the member of a request as which OpenAI, "
            "vLLM (structured-outputs) or SGLang and vLLM (structural-tag) take it; or the tools "
            "themselves for OpenAI's Chat Completions or Responses."
        ),
    ] = "lark",
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Instead, test with examples just outside each constraint which constraints the engines enforce.",
        ),
    ] = False,
    engine: Annotated[
        OutsideName | None,
        typer.Option(
            help="With --report and --notation json: an engine to test, installed into a separate environment "
            "after your consent, and then tested in every report."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Install the engine without confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the grammar of every call that the registry allows, or of every value of a schema.

    Constraints that the grammar does not enforce are printed on standard error, with tool and location; --json prints
    them with the grammar. Warnings on standard error name the parts of a schema that other constraints exclude.
    """
    # the proofs compare both engines in one order: the mask's, which GBNF follows as far as it can
    order = order or default_order("gbnf" if to in ("gbnf", "structured-outputs") and not report else "mask")
    if engine is not None:
        if not report or notation != "json" or schema is not None:
            raise inputs.InputError(
                "Other engines are tested in reports on tools in JSON.",
                hint="Add --report and --notation json.",
            )
        offer_engine(engine, yes=yes)
    if schema is not None:
        if to in _APIS:
            raise inputs.InputError("A schema is not a tool.", hint="Use --registry FILE.")
        if registry is not None or part != "call" or tool is not None or free_text:
            raise inputs.InputError(
                "--schema cannot be combined with these options.",
                hint="A schema has no tools: omit --registry, --part, --tool and --free-text.",
            )
        document = inputs.read_json(str(schema))
        if to == "structural-tag":
            raise inputs.InputError("A structural tag is made of tools.", hint="Use --to response-format.")
        if report or not _has_schema(to, notation):
            grammar = build_value_grammar(document, notation, white_space=white_space, order=order)
        if report:
            emitted = emit_gbnf(grammar)
            print_unenforced((*grammar.unenforced, *emitted.unenforced), emitted.ordered, as_json=as_json)
        else:
            _print(document if _has_schema(to, notation) else grammar, to, comments, as_json)
        normal = normalise(document) if not check_schema(document) else None
        if isinstance(normal, dict):
            print_contradictions(contradictions(Tool(SCHEMA, "", normal), closed=False))
        return
    tools = inputs.read_registry(registry)
    shape = inputs.in_shape(tools, shape)
    if report:
        print_proofs(tools, notation, shape, order, as_json=as_json)
    elif to == "structural-tag":
        _require_json(to, notation)
        _print(structural_tag(tools, shape, tool, free_text=free_text), to, comments, as_json)
    elif _has_schema(to, notation):
        _print(call_schema(tools, shape, part, tool), to, comments, as_json)
    elif to in _APIS:
        _print(to_openai(tools, _APIS[to]), to, comments, as_json)
        return
    else:
        of_one = chosen_tools(tools, tool, part)[0].name if part == "arguments" else ""
        form = own_form(notation, shape, part, tool=of_one, white_space=white_space)
        result = build_turn_grammar(form, tools, TurnOptions(tool=tool, free_text=free_text, order=order))
        _print(result, to, comments, as_json, constraint_notes(tools))
    print_contradictions(registry_contradictions(tools))


def _has_schema(to: str, notation: Notation) -> bool:
    """Whether the format contains a JSON Schema in place of a grammar. Raises InputError."""
    if to == "response-format":
        _require_json(to, notation)
    return to in ("json-schema", "response-format") or (to == "structured-outputs" and notation == "json")


def _require_json(to: str, notation: Notation) -> None:
    if notation != "json":
        raise inputs.InputError(
            f"{to} constrains JSON only.", hint="Add --notation json, or use --to structured-outputs."
        )


_APIS: dict[str, Literal["chat", "responses"]] = {"openai-chat": "chat", "openai-responses": "responses"}


def _print(
    grammar: Any, to: str, comments: bool, as_json: bool, notes: Callable[[Origin], str] = lambda _: ""
) -> None:
    """Print the grammar on stdout and its unenforced constraints on stderr, or both as one JSON object."""
    unenforced: tuple[Unenforced, ...] = ()
    ordered: tuple[Ordered, ...] = ()
    if not isinstance(grammar, Grammar):
        if to == "response-format":
            grammar = {"response_format": response_format(grammar)}
        elif to == "structured-outputs":
            grammar = {"structured_outputs": {"json": grammar}}
        text = escaped(json.dumps(grammar, indent=2, ensure_ascii=False)) + "\n"
    elif to in ("gbnf", "structured-outputs"):
        emitted = emit_gbnf(grammar, comments=comments, notes=notes)
        text, unenforced, ordered = emitted.text, (*grammar.unenforced, *emitted.unenforced), emitted.ordered
    else:
        text, unenforced, ordered = to_lark(grammar), lark_unenforced(grammar), grammar.ordered
    if to == "structured-outputs" and isinstance(grammar, Grammar):
        text = (
            escaped(json.dumps({"structured_outputs": {"grammar": text}}, indent=2, ensure_ascii=False))
            + "\n"
        )
    if as_json:
        print_json({"language": to, "grammar": text, **unenforced_json(unenforced, ordered)})
        return
    typer.echo(text, nl=False)
    if unenforced or ordered:
        print_unenforced(unenforced, ordered, as_json=False, beside=True)


def check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="G.gbnf|G.lark|TOOLS.json|-",
            help="The grammar, or the tools whose custom grammars are checked; - reads standard input.",
        ),
    ],
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply all unambiguous fixes to the file, then check it.")
    ] = False,
    laid_out: Annotated[
        bool, typer.Option("--print", help="Print the formatted grammar, and problems on standard error.")
    ] = False,
    for_: Annotated[
        Literal["openai"] | None,
        typer.Option("--for", help="For Lark and custom tools, also what this service does not accept."),
    ] = None,
    ambiguous: Annotated[
        bool,
        typer.Option(
            "--ambiguous", help="Also look, for some seconds, for rules that read a text in two ways."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a grammar: GBNF, Lark as llguidance reads it, or those of custom tools.

    Exit code 1 if the engine (llama.cpp, llguidance) would reject it, crash or hang.
    """
    if laid_out and as_json:
        raise inputs.InputError("--print and --json exclude each other.", hint="Give one of them.")
    data = inputs.read_bytes(file)
    if file.lower().endswith(".json"):
        if fix or laid_out or ambiguous:
            hint = "Omit --fix, --print and --ambiguous."
            raise inputs.InputError("The grammars of tools are only checked.", hint=hint)
        raise typer.Exit(0 if _check_tools(file, load_registry(data), for_, as_json=as_json) else 1)
    language = language_of(data.decode("utf-8", "replace"), file)
    result = language.check_bytes(data)
    if fix:
        result = _fix(file, result, language)
    if for_:
        result = _for_openai(result)
    grammar = result.grammar if ambiguous else None
    found = {} if grammar is None else dict(ambiguous_rules(grammar))
    if as_json:
        print_json(
            result.as_json() | ({"ambiguous": None if grammar is None else found} if ambiguous else {})
        )
    else:
        _report(file, result, language, aside=laid_out)
        for name, text in found.items():
            print_note(
                f"{name} is ambiguous: it reads {json.dumps(text, ensure_ascii=False)} in several ways."
            )
        if ambiguous and grammar is None:
            print_note("Ambiguous rules were not looked for, as the grammar has errors.")
        elif ambiguous and not found:
            print_note("No ambiguous rule was found; that is undecidable, so there may be one.")
    if laid_out:
        typer.echo(language.print_text(result.document).encode("utf-8", "surrogateescape"), nl=False)
    raise typer.Exit(0 if result.ok else 1)


def _check_tools(file: str, registry: ToolRegistry, for_: str | None, *, as_json: bool) -> bool:
    """Check each custom grammar of a text in the registry. Returns whether all can be read."""
    found = {
        f"{tool.name}{to_pointer((*place.path, CUSTOM))}": check_format(place.schema[CUSTOM])
        for tool in registry
        for place in SchemaPlaces(tool.parameters).all
        if isinstance(place.schema, dict) and text_format(place.schema)
    }
    if not found:
        raise inputs.InputError(
            "The tools have no custom grammar of a text.", where=file, hint="Give a GBNF or Lark file."
        )
    results = {name: _for_openai(result) if for_ else result for name, result in found.items()}
    if as_json:
        print_json({name: result.as_json() for name, result in results.items()})
    else:
        for name, result in results.items():
            _report(f"{file}, {name}", result, LARK, aside=False)
    return all(result.ok for result in results.values())


def _for_openai(result: AnyCheck) -> AnyCheck:
    if not isinstance(result.document, LarkSyntax):
        raise inputs.InputError(
            "OpenAI's custom tools have no GBNF.", hint="Convert the grammar to Lark, or omit --for."
        )
    more = (*result.diagnostics, *openai_problems(result.document))
    return GrammarCheck(result.document, sorted(more, key=lambda each: each.start), lambda: result.grammar)


def _fix(file: str, result: AnyCheck, language: GrammarLanguage) -> AnyCheck:
    if file == inputs.STDIN:
        raise inputs.InputError("--fix writes a file.", hint="Give a file, or use --print.")
    text, count = language.fix(result)
    if count:
        data = text.encode("utf-8", "surrogateescape")
        atomic_write(Path(file), data)
        result = language.check_bytes(data)
    print_note(f"{pluralize(count, 'problem')} fixed in {file}")
    return result


def _report(file: str, result: AnyCheck, language: GrammarLanguage, *, aside: bool) -> None:
    out = diagnostics() if aside else console()
    lines = Lines(result.document.text)
    for diagnostic in result.diagnostics:
        for line in _lines(inputs.shown_source(file), diagnostic, lines, max(20, out.width - 4)):
            out.print(line)
    errors = sum(diagnostic.severity == "error" for diagnostic in result.diagnostics)
    others = len(result.diagnostics) - errors
    beside = f", {pluralize(others, 'other remark')}" if others else ""
    if result.ok:
        count = len(result.document.rules)
        rules = pluralize(count, "rule") if count else "a regular expression"
        out.print(Text(f"✓ {language.engine} accepts it: {rules}{beside}", style="bold green"))
    else:
        out.print(Text(f"✗ {pluralize(errors, 'error')}{beside}", style="bold red"))


def _lines(name: str, diagnostic: Diagnostic, lines: Lines, room: int) -> Iterator[Text]:
    """The message, the grammar's line with the place underlined, and the fix."""
    number, column = lines.place(diagnostic.start)
    end_line, end_column = lines.place(diagnostic.end)
    mark, style = SEVERITY_MARKS[diagnostic.severity]
    head = Text(f"{name}:{number}:{column}: ")
    head.append(f"{mark} {diagnostic.severity}", style=style)
    head.append(f": {visible(diagnostic.message)} [{diagnostic.code}]")
    yield head
    line = lines.line(number)
    first = max(0, column - 1 - room // 2) if len(line) > room else 0
    before = ("…" if first else "") + _shown(line[first : column - 1])
    last = end_column - 1 if end_line == number else len(line)
    marked = _shown(line[column - 1 : min(last, first + room)])
    after = _shown(line[column - 1 : first + room])
    yield Text(f"  {before}{after}")
    yield Text.assemble(" " * (2 + cell_len(before)), ("^" * max(1, cell_len(marked)), style))
    if diagnostic.fix:
        yield Text(f"  fix: {visible(diagnostic.fix.title)}")


def _shown(text: str) -> str:
    return visible(text, single=True)
