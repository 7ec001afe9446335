"""`glyphscope mcp serve`: the checks of the command line as tools for other programs, such as a coding agent.

Each call is a command of this program in another process, so it has the limits of the command, its answer in JSON, and
its errors; one that takes too long, or that the client cancels, is ended. No file of the user is changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from glyphscope.base import resources
from glyphscope.base.errors import ToolError
from glyphscope.base.figures import byte_size, duration
from glyphscope.base.inputs import read_file
from glyphscope.processes import own_command
from glyphscope.registry import load_registry
from glyphscope.registry.document import parse_text
from glyphscope.tools.source import Answer, Answering

SECONDS = 120.0
"""The most that a call may take."""
MOST = 4_000_000
"""Characters of a text, and bytes of a grammar's file."""
MOST_ANSWERED = 1_000_000
"""Bytes of an answer: a client gives it to a model."""
_LESS = "Give fewer tools, or a shorter text."


def serve() -> None:
    """Serve checks of calls, grammars and schemas over MCP, on stdin and stdout, until stdin is closed."""
    from glyphscope_plugins.mcp_server import serve_tools  # imports the SDK

    functions: tuple[Answering, ...] = (
        check_call,
        check_grammar,
        test_enforcement,
        build_grammar,
        explain_record,
    )
    serve_tools(
        "glyphscope",
        "Checks of tool calls, of grammars that constrain models (GBNF, Lark), and of what engines enforce of a JSON "
        "Schema, all without a model. Nothing is written. Paths are read from the folder in which the server runs.",
        list(zip(load_registry(resources.read_text("checks.json")).tools, functions, strict=True)),
    )


async def check_call(
    *, text: str, tools: Any, template: str = "", thinking: bool | None = None, **options: str
) -> Answer:
    """The verdict on a call, or with a template on a whole turn. Raises ToolError, as all here."""
    if not template and thinking is not None:
        raise ToolError("thinking needs a template.", hint="Give template, or omit thinking.")
    if template and options:
        given = " and ".join(sorted(options))
        raise ToolError(f"With template, there is no {given}: the template says how calls are written.")
    with _Work() as work:
        registry = f"--registry={work.json('tools', tools)}"
        if template:
            line = work.json("answer", {"text": text, "thinking": thinking})
            return await work.answer(
                "check", f"--template={_path(template)}", f"--lines={line}", registry, *_words(options)
            )
        call = work.file("call.txt", _bytes(text))
        return await work.answer("check", "--json", registry, *_words(options), call)


async def check_grammar(*, text: str = "", file: str = "", fix: bool = False, service: str = "") -> Answer:
    """The diagnostics of a grammar, and with `fix` its text after all unambiguous fixes, with what remains."""
    _one_of(text=text, file=file)
    with _Work() as work:
        data = read_file(Path(_path(file)), MOST, "a grammar", error=ToolError) if file else _bytes(text)
        suffix = Path(file).suffix.lower()
        grammar = work.file(f"grammar{suffix if suffix in ('.gbnf', '.lark') else ''}", data)
        chosen = [*(["--fix"] if fix else []), *([f"--for={service}"] if service else [])]
        return await work.answer("grammar", "check", "--json", *chosen, grammar, text_after=fix and grammar)


async def test_enforcement(*, tools: Any = None, schema: Any = None, **options: str) -> Answer:
    """The number of constraints that each engine enforces, by example, and each that one does not."""
    _one_of(tools=tools, schema=schema)
    with _Work() as work:
        name, given = "tools", tools
        if schema is not None:
            name, given = "schema", [{"name": "arguments", "parameters": work.value("schema", schema)}]
        registry = f"--registry={work.json(name, given)}"
        asked = {"notation": "json"} | options
        try:
            _, found = await work.answer("grammar", "build", "--report", "--json", registry, *_words(asked))
        except ToolError as error:
            if schema is None:
                raise
            raise ToolError(error.message.replace(" /0/parameters", " "), hint=error.hint) from None
        found["proofs"] = [each for each in found["proofs"] if each["status"] != "enforced"]
        return json.dumps(found, ensure_ascii=False), found


async def build_grammar(*, tools: Any = None, schema: Any = None, **options: str) -> Answer:
    """The grammar of every call of the tools, or of every value of the schema, with what it does not enforce."""
    _one_of(tools=tools, schema=schema)
    with _Work() as work:
        if tools is None:
            source = f"--schema={work.json('schema', schema)}"
        else:
            source = f"--registry={work.json('tools', tools)}"
        return await work.answer("grammar", "build", "--json", source, *_words(options))


async def explain_record(*, file: str) -> Answer:
    """The mask impact of a recorded run, as figures and in words."""
    with _Work() as work:
        _, found = await work.answer("explain", "--no-tokens", "--json", _path(file))
        words, _ = await work.run("explain", "--no-tokens", _path(file))
        return words.decode(), found | {"words": words.decode()}


class _Work(tempfile.TemporaryDirectory[str]):
    """A folder with the files of a call, in which its commands run."""

    def __enter__(self) -> _Work:  # type: ignore[override]
        return self

    def file(self, name: str, data: bytes) -> str:
        """The name of a new file with these bytes, by which errors name it."""
        Path(self.name, name).write_bytes(data)
        return name

    def json(self, name: str, value: Any) -> str:
        """The name of a new file with this value, which is that of the argument; a text is the path of one, or JSON, as
        some clients write it.
        """
        if isinstance(value, str) and not value.lstrip().startswith(("{", "[")):
            return _path(value)
        return self.file(name, _bytes(value) if isinstance(value, str) else json.dumps(value).encode())

    def value(self, name: str, value: Any) -> Any:
        """The value, also of a file or JSON that a text names or is. Raises GlyphscopeError."""
        if not isinstance(value, str):
            return value
        path = Path(self.name, self.json(name, value))
        return parse_text(read_file(path, MOST, "a schema", error=ToolError), name)

    async def run(self, *words: str) -> tuple[bytes, str]:
        """The output of the command, and its notes. Raises ToolError with its error."""
        import anyio

        printed, errors = bytearray(), Path(self.name, "errors")
        with (
            errors.open("wb") as file,
            anyio.CancelScope(shield=True),
        ):  # a start that is cancelled ends nothing
            process = await anyio.open_process(
                own_command(*words),
                cwd=self.name,
                stdin=subprocess.DEVNULL,
                stderr=file,
                env={**os.environ, "COLUMNS": "200"},
            )
        assert process.stdout is not None, "it is a pipe"
        try:
            with anyio.fail_after(SECONDS):
                async with process:
                    async for part in process.stdout:
                        printed += part
                        if len(printed) > MOST_ANSWERED:
                            process.kill()
                            raise ToolError(
                                f"The answer has more than {byte_size(MOST_ANSWERED)}.", hint=_LESS
                            )
        except TimeoutError:
            raise ToolError(f"This takes longer than {duration(SECONDS)}.", hint=_LESS) from None
        notes = errors.read_text("utf-8", "replace").strip()
        if process.returncode not in (0, 1):
            raise ToolError(notes or f"The command ended with exit code {process.returncode}.")
        return bytes(printed), notes

    async def answer(self, *words: str, text_after: str | bool = "") -> Answer:
        """The command's answer in JSON, with its notes, and with the text of a file as it is then."""
        printed, notes = await self.run(*words)
        found = json.loads(printed)
        if text_after:
            found["text"] = Path(self.name, str(text_after)).read_text("utf-8", "replace")
        if notes:
            found["notes"] = notes
        return json.dumps(found, ensure_ascii=False), found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _path(text: str) -> str:
    return str(Path(text).expanduser().absolute())


def _words(options: dict[str, Any]) -> list[str]:
    """The options of the command line, by their names."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return [f"--{name}" if value is True else f"--{name}={value}" for name, value in named.items() if value]


def _one_of(**given: Any) -> None:
    if sum(value not in (None, "") for value in given.values()) != 1:
        raise ToolError(f"Give {' or '.join(given)}, and only one of them.")
