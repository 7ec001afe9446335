"""Every command in README and docs, run from a clean clone.

`python tests/support/docs_commands.py` runs the commands that take seconds, `--all` also those that take minutes,
`--list` prints how each is checked. Commands of a page run in its order, in a separate folder and home, on the clone's
code: only the clone, this Python's packages and the page itself are available.

`docs_pages.py` defines a command. One inside a sentence that lacks an argument is a mention: its form is
checked, as is that of all commands that are not run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docs_pages import Command, ShownFile, pages, parts_of, plain, same_output, without_variables

REPOSITORY = Path(__file__).parents[2]
ROOTS = ("engine", "gui", "assets")
SHARED = {
    name: value
    for name, value in os.environ.items()
    if name in ("GLYPHSCOPE_SAVED_PROMPTS", "GLYPHSCOPE_FORKS")
}
"""In a test, the commands also share their prompts and imports."""
EVERY_PROCESS = (str(Path(__file__).parent / "every_process"),) if SHARED else ()
SECONDS = 900
_BETWEEN = ("|", "||", "&&", ";")

NOT_RUN = {
    r"make \w+.*": "builds, or takes minutes, or opens a window: `make -n` says that there is such a target",
    r"sudo .*": "changes the machine; packaging/smoke.py installs the package on one of its own",
    r"pip install .*": "needs a package index: the extras that it names are those of pyproject.toml",
    r"glyphscope( \[?gui.*)?": "opens the window, and waits until it is closed",
    r"glyphscope .*https?://.*": "needs an endpoint; tests/e2e/test_remote_model.py asks one",
    r"glyphscope .*dask://.*": "needs a cluster; tests/engine/test_dask_workers.py starts one",
    r"(for gpu in .*)?dask (scheduler|worker) .*": "serves until it is ended",
    r"glyphscope models get .*": "fetches gigabytes from the network",
    r"glyphscope models search .*": "asks the Hugging Face Hub",
    r"glyphscope lesson record FILE.md": "a lesson of one's own; docs/lessons.md records one",
    r"glyphscope bench.*": "measures for minutes, and says no where a target is missed: for a quiet machine",
    r"glyphscope keys .*": "writes into the keyring of whoever runs it",
    r"glyphscope --install-completion": "writes into the settings of the shell of whoever runs it",
    r"glyphscope .*\b(npx|uvx)\b.*": "fetches a server from the network",
    r"glyphscope ab .*\.glyphscope.*": "projects are made in the window",
    r"glyphscope mcp serve(-verbs)?": "serves until its client goes",
    r"python -m (llama_cpp|glyphscope_gui)\..*": "serves, or measures for minutes: the module is there",
    r"python packaging/empty_env.py": "installs everything from a package index for minutes, as make release does",
    r"python tests/.*": "a measurement of hours, kept with its figures: the script is there",
}
"""Commands that are never run, by pattern: the reason, and the additional check if there is one."""

BY_HAND = {
    r"glyphscope eval (?!report|profiles).*": "asks a model hundreds of times",
    r"glyphscope lab .*": "forty runs in two stages",
    r"glyphscope ab .*": "asks a model twenty times",
    r"glyphscope doctor --deep": "makes a call",
}
"""Commands that are run with `--all` only; else their form is checked."""

ANSWERS_NO = {
    """printf '{action="browse" url="file:///etc/passwd"}' | glyphscope check --stop -""",
    """printf '{action="set_timer" minutes=120}' | glyphscope check --registry tools.json --stop -""",
    "glyphscope explain tools sum.jsonl",
    "glyphscope lint tools.json",
}
"""Commands that end with exit code 1, as the page says."""

PREPARED = (
    'glyphscope run --record run.jsonl "Search for AI news, 10 results"',
    "glyphscope bundle run.jsonl -o run.glyphrun",
    "glyphscope grammar build --to gbnf > g.gbnf",
    "glyphscope eval tool-calls --scenario calculate-percent --out made",
    'printf \'{action="search" query="AI news" max_results=10}\' > call.txt',
    """printf '{"mcpServers": {"verbs": {"command": "glyphscope", "args": ["mcp", "serve-verbs"]}}}' > servers.json""",
    'printf \'{"tool": "search", "arguments": {"query": "AI news"}}\\n\' > calls.jsonl',
)
"""Commands that make the files named by placeholders in inline commands."""

PLACEHOLDERS = {
    "RUN.jsonl": "run.jsonl",
    "RUN.glyphrun": "again.glyphrun",
    "RUN": "run.glyphrun",
    "CALLS.jsonl": "calls.jsonl",
    "G.gbnf": "g.gbnf",
    "TEXT": shlex.quote('{action="search" query="AI news"}'),
    "FILE": "call.txt",
    "SUITE": "routing",
    "TOKEN": "7",
    "FORM": "pytest",
    "NAME": "two-stage",
    "CONFIG.json": "servers.json --yes",
    "DIR": "made/*/",
    "LESSON": "mask",
    "A": "g.gbnf",
    "B": "g.gbnf",
}


@dataclass
class Report:
    """`failures` are complete messages."""

    ran: list[Command] = field(default_factory=list)
    checked: list[tuple[Command, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


# -- what is done with a command -------------------------------------------------------------------------------


def reason_not_to_run(command: Command, *, everything: bool) -> str:
    """Return the reason; empty for a command that is run."""
    text = plain(command)
    tables = [NOT_RUN] if everything else [NOT_RUN, BY_HAND]
    for table in tables:
        for pattern, reason in table.items():
            if re.fullmatch(pattern, text):
                return reason
    if command.inline and text.endswith(" …"):
        return "the page leaves out how it goes on"
    return "it stands in a sentence" if command.inline and not everything else ""


def filled_in(command: Command) -> str:
    """Return an inline command with files in place of its placeholders."""
    if not command.inline:
        return command.text
    words = (PLACEHOLDERS.get(word.rstrip("…"), word) for word in command.text.split(" ") if word != "…")
    return " ".join(words)


def forms(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return for the arguments of each `glyphscope …`: empty if they are valid, `mention` if one is missing, or the
    error. Runs in the clone's code."""
    import typer.main

    from glyphscope.cli.app import app

    root = typer.main.get_command(app)
    return [_form(root, list(arguments)) for arguments in lines]


def _form(command: Any, arguments: list[str]) -> str:
    if arguments == ["--install-completion"]:  # parsing it would change the shell's settings
        return "" if any("--install-completion" in param.opts for param in command.params) else "NoSuchOption"
    context = None
    name = "glyphscope"
    try:
        while True:
            context = command.make_context(name, arguments, parent=context)
            rest = [*getattr(context, "_protected_args", ()), *context.args]
            if not rest or not hasattr(command, "resolve_command"):
                return ""
            name, command, arguments = command.resolve_command(context, rest)
    except Exception as error:  # click's own types, which typer has under another name
        kind = type(error).__name__
        return "mention" if kind in ("MissingParameter", "NoArgsIsHelpError", "Exit") else f"{kind}: {error}"


# -- running ---------------------------------------------------------------------------------------------------


class Clone:
    """A clone of the committed files, and the programs that run its code."""

    def __init__(self, folder: Path, repository: Path = REPOSITORY) -> None:
        self.root, self._bin = folder / "clone", folder / "bin"
        self.scratch = folder / "scratch"
        subprocess.run(["git", "clone", "--quiet", str(repository), str(self.root)], check=True)
        for each in (self._bin, self.scratch):
            each.mkdir()
        path = os.pathsep.join([*(str(self.root / each) for each in ROOTS), *EVERY_PROCESS])
        python = f"PYTHONPATH={shlex.quote(path)} exec {shlex.quote(sys.executable)}"  # servers receive no variables
        for name, more in (("glyphscope", " -m glyphscope"), ("python", ""), ("pytest", " -m pytest")):
            script = self._bin / name
            script.write_text(f'#!/bin/sh\n{python}{more} "$@"\n')
            script.chmod(0o755)
        self.environment = {
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "PYTHONPATH": path,
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "QT_QPA_PLATFORM": "offscreen",
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "GLYPHSCOPE_PROMPT_CACHE_MB": "0",
            **SHARED,
        }

    def sh(self, text: str, folder: Path, *, together: bool = False) -> subprocess.CompletedProcess[str]:
        """Run it with bash, with a home in the folder; a `cd` in it affects that command only."""
        home = self._bin.parent / "homes" / folder.name
        home.mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail\n{text}"],
            cwd=folder,
            env={**self.environment, "HOME": str(home), "GLYPHSCOPE_HOME": str(home / "glyphscope")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def own_code(self) -> bool:
        done = self.sh("python -c 'import glyphscope; print(glyphscope.__file__)'", self.scratch)
        return done.stdout.startswith(str(self.root))

    def forms(self, lines: Sequence[Sequence[str]]) -> list[str]:
        done = subprocess.run(
            [sys.executable, __file__, "--forms"],
            input=json.dumps(lines),
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answer: list[str] = json.loads(done.stdout)
        return answer


def run_docs(folder: Path, *, everything: bool = False, verbose: bool = False) -> Report:
    """Clone into `folder`, and treat each command of each page as the tables say; two pages at a time."""
    clone, report = Clone(folder), Report()
    assert clone.own_code(), "the clone's code is not the one in use"
    found = {
        name: list(parts_of(page, name)) for page in pages(clone.root) for name in [_name(page, clone.root)]
    }
    commands = [part for parts in found.values() for part in parts if isinstance(part, Command)]
    form = dict(zip(commands, _forms(clone, commands), strict=True))
    for command in commands:
        why = reason_not_to_run(command, everything=everything)
        if not why and command.inline and form[command] in ("mention", None):
            why = "it stands in a sentence, and lacks an argument"
        if why:
            report.checked.append((command, why))
    looked_at = {command for command, _ in report.checked}
    for command in looked_at:
        if form[command] and not (form[command] == "mention" and command.inline):
            report.failures.append(_failure(command, f"There is no such command or option: {form[command]}"))
        if problem := _other_programs(clone, plain(command).split()):
            report.failures.append(_failure(command, problem))
    longest_first = sorted(found, key=lambda name: -sum(part not in looked_at for part in found[name]))
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(
            lambda name: _run_page(clone, name, found[name], looked_at, verbose), longest_first
        ):
            report.ran += done.ran
            report.failures += done.failures
    return report


def _name(page: Path, root: Path) -> str:
    return page.relative_to(root).as_posix()


def _run_page(
    clone: Clone, name: str, parts: Sequence[Command | ShownFile], without: Collection[Command], verbose: bool
) -> Report:
    """Run a page's commands, in its order, in one folder."""
    scratch = clone.scratch / name.replace("/", "-").removesuffix(".md")
    scratch.mkdir()
    report = Report()
    inline = [part for part in parts if isinstance(part, Command) and part.inline and part not in without]
    for each in PREPARED if inline else ():  # first, so that the page's own files of these names win
        _run(clone, Command(name, inline[0].line, each), scratch, report, verbose=verbose)
    for part in parts:
        if isinstance(part, ShownFile):
            place = scratch / part.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(part.text, encoding="utf-8")
        elif part not in without:
            _run(clone, part, scratch, report, verbose=verbose)
    return report


def _run(clone: Clone, command: Command, scratch: Path, report: Report, *, verbose: bool) -> None:
    began = time.monotonic()
    text = filled_in(command)
    try:
        done = clone.sh(text, scratch, together=command.output is not None)
    except subprocess.TimeoutExpired:
        report.failures.append(_failure(command, f"It did not end within {SECONDS} s."))
        return
    if verbose:
        print(f"{command.page}:{command.line} {time.monotonic() - began:.1f} s  {text}", flush=True)
    report.ran.append(command)
    expected = int(plain(command) in ANSWERS_NO)
    if done.returncode != expected:
        said = (done.stderr or done.stdout or "")[-2000:]
        report.failures.append(_failure(command, f"Exit code {done.returncode}, not {expected}.\n{said}"))
    elif command.output is not None and not same_output(command.output, done.stdout):
        shown = "\n".join(command.output)
        report.failures.append(_failure(command, f"The page shows\n{shown}\nand it printed\n{done.stdout}"))


def _forms(clone: Clone, commands: Sequence[Command]) -> list[str | None]:
    """Return the result of `forms` for each command; None for commands of other programs."""
    arguments = [_arguments(filled_in(command)) for command in commands]
    reported = iter(clone.forms([each for each in arguments if each is not None]))
    return [None if each is None else next(reported) for each in arguments]


def _arguments(text: str) -> list[str] | None:
    """Return the arguments of `glyphscope` in a line; None if it is not called."""
    try:
        words = shlex.split(re.sub(r"\s[#]\s.*$", "", text.replace("\\\n", " ")))
    except ValueError:
        words = text.split()
    words = without_variables([word.strip("[]") for word in words])  # as a table marks optional parts
    begins = [0, *(n + 1 for n, word in enumerate(words) if word in _BETWEEN)]
    ours = next((n for n in begins if words[n : n + 1] == ["glyphscope"]), None)
    if ours is None:
        return None
    rest = words[ours + 1 :]
    end = next((n for n, word in enumerate(rest) if word in (*_BETWEEN, ">", "<")), len(rest))
    return rest[:end]


def _other_programs(clone: Clone, words: Sequence[str]) -> str:
    """Return the error in a call of make, pip or python; empty if there is none."""
    match list(words):
        case ["make", target, *_]:
            done = clone.sh(f"make -n {shlex.quote(target)}", clone.root)
            return "" if done.returncode == 0 else f"There is no such target: {done.stderr}"
        case ["pip", "install", *what]:
            named = {extra for word in what for extra in re.findall(r"\[([\w,-]+)\]", word)}
            known = tomllib.loads((clone.root / "pyproject.toml").read_text())["project"][
                "optional-dependencies"
            ]
            missing = {each for extra in named for each in extra.split(",")} - known.keys()
            return f"There is no extra {', '.join(sorted(missing))}." if missing else ""
        case ["python", "-m", module, *_]:
            look = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
            return (
                ""
                if clone.sh(f"python -c {shlex.quote(look)}", clone.root).returncode == 0
                else "No such module."
            )
        case ["python", script, *_] if script.endswith(".py"):
            return "" if (clone.root / script).is_file() else "There is no such script."
    return ""


def _failure(command: Command, what: str) -> str:
    return f"{command.page}:{command.line}: {command.text}\n{what}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument(
        "--all", action="store_true", help="also what takes minutes, and what stands in sentences"
    )
    parser.add_argument("--list", action="store_true", help="only say what would be done with each command")
    parser.add_argument("--forms", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.forms:
        json.dump(forms(json.load(sys.stdin)), sys.stdout)
        return 0
    if chosen.list:
        for page in pages(REPOSITORY):
            for part in parts_of(page, page.relative_to(REPOSITORY).as_posix()):
                if isinstance(part, Command):
                    why = reason_not_to_run(part, everything=chosen.all)
                    print(f"{part.page}:{part.line}: {plain(part)}\n    {why or 'run'}")
        return 0
    folder = Path(tempfile.mkdtemp(prefix="glyphscope-docs-"))
    try:
        report = run_docs(folder, everything=chosen.all, verbose=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{len(report.ran)} run, {len(report.checked)} looked at, {len(report.failures)} wrong",
        *report.failures,
        sep="\n\n",
    )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
