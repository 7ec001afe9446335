"""The words of the program, by docs/style.md: what is refused. `python tests/support/words.py` lists it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sources import nodes_of

ROOT = Path(__file__).parents[2]
DATA = {
    "benchmarks/glyphscope_benchmarks/documents.py",  # prompts for a model
    "engine/glyphscope/tools/demo/corpus.py",  # words that a search ignores
    "engine/glyphscope/models/turn_forms.py",  # a test of Jinja's
    "engine/glyphscope_plugins/verbs/lexicon.py",  # English pronouns
}
"""Files whose matches no person reads."""

CODE = ("engine", "gui", "benchmarks", "tests", "packaging")

REFUSED: dict[str, str] = {
    r"(?-i:(?:^|[.] )What )(?!if\b)(?![^.]*\?)[\w`]+": 'a noun: "Result", "Changes"',
    r"(?<!there )\b(?:is|are|was|were) (?-i:(?!None))no(?:ne)?\b(?! longer| more| less)": '"not a …", "invalid …"',
    r"\b(?:tells?|told|telling)\b": "report, show, send, return, say",
    r"\bheld\b|\bholds? (?:the|a|an|it|its|them|every|each|to)\b": "enforce, constrain, contain",
    r"\b(?:go|goes|going|gone|went) on\b": "continue, resume",
    r"\bmistakes?\b": "error, problem",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\b(?:stand|stands|stood)\b(?! for\b)": "is, appears, is shown",
    r"\bstruck\b": "masked",
    r"\bof (?:your|one's|one’s|its|their|our|my) own\b": "custom, your, separate",
    r"\b(?:carry|carries|carried|carrying) (?:it |them )?out\b": "run, execute",
    r"\banew\b|\ball the same\b|\bas (?:it|they) came\b": "again, anyway, unchanged",
    r"\bin force\b": "in use, applied",
    r"\bnothing of it\b|\bcame of\b|\bcame to\b": "say what it is",
    r"\btwice is once\b|\bfor nothing\b|\bat least once\b|\bif it wants\b": "the standard term",
    r"\blikeliest\b": "most likely",
    r"\bnobody\b": "no one; or say what is missing: no answer, not verified",
    r"\bany more\b": "no longer",
    r"\baside\b": "in the background",
    r"\b(?:give|gives|gave|given|giving) up\b": "stop, cancel, fail",
    r"\b(?:they|it|answers|runs|columns) parts?\b|\bparts (?:at|from|first)\b": "differ, diverge",
    r"\bmodel (?:itself )?want(?:s|ed)\b": "the probability mass, the preferred token",
    r"\b(?:draws?|drawn|drew) (?:with|the same|tokens|from|by|at|more)\b": "sample",
    r"\btheirs\b|\bof (?:yours|ours)\b|\bof itself\b": "its, your; annotations",
    r"\bswitched (?:on|off)\b": "enabled, disabled",
    r"\b(?:comes?|came) with (?:the program|glyphscope)\b": "bundled",
    r"\b(?:came|comes?) back\b|\bby trying\b|\bbeing tried\b": "result; by test; testing",
    r"\bas (?:it|they) should be\b|\bas it is now\b|\bof before\b": "pass, current, earlier",
    r"\bnot (?:be )?accepted\b": "rejected",
    r"(?<![\"“])\brefus(?:e|es|ed|ing)\b(?! the connection| by policy| by the user)": "reject",
    r"\blone half\b|\bhalf of a (?:character|surrogate)\b": "lone surrogate, incomplete character",
}
"""Patterns, and what to write instead."""

_PATTERNS = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in REFUSED.items()]
_CODE = re.compile(r"```.*?```|`[^`]*`|(?<=\])\([^)\s]*\)|^\s*\|? *<.*?>", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<[^>]*>|\{%.*?%\}")
_COMMENT = re.compile(r"^\s*# .*|  # .*")
_PROSE = re.compile(r"[A-Za-z]+:? [A-Za-z{]")


class Found(NamedTuple):
    """A refused word in a file."""

    path: str
    line: int
    words: str
    text: str
    instead: str


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file that a person reads, with their lines."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(_without_code(source).split("\n"), 1)
        return
    if path.suffix == ".jinja":
        yield from enumerate((_TAG.sub(" ", line) for line in source.split("\n")), 1)
        return
    nodes = nodes_of(path)
    own = {id(node) for node in docstrings(nodes)}
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in own | inner:
            yield node.lineno, node.value
    if "/cli/" in str(path):
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and _is_command(node):
                yield node.lineno, ast.get_docstring(node) or ""


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """The docstrings of modules, classes, functions and attributes."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def comments_of(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, with their lines; code between backquotes is left out."""
    source = path.read_text(encoding="utf-8")
    for node in docstrings(nodes_of(path)):
        yield node.lineno, re.sub(r"`[^`]*`", "`c`", str(node.value))
    for number, line in enumerate(source.split("\n"), 1):
        if comment := _COMMENT.search(line):
            yield number, re.sub(r"`[^`]*`", "`c`", comment[0])


def _without_code(source: str) -> str:
    """Markdown without its code, line for line."""
    return _CODE.sub(lambda found: "\n" * found[0].count("\n"), source)


def _is_command(node: ast.FunctionDef) -> bool:
    """Whether typer shows its docstring as help."""
    arguments = [*node.args.args, *node.args.kwonlyargs]
    return any("typer." in ast.unparse(a.annotation) or "Option" in ast.unparse(a.annotation)
               for a in arguments if a.annotation)  # fmt: skip


def files() -> list[Path]:
    """Every file with words that the program or its documents show."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder, pattern in (
        ("engine", "*.py"), ("gui/glyphscope_gui", "*.py"), ("docs", "*.md"),
        ("assets/glyphscope_assets/lessons", "*.md"), ("assets/glyphscope_assets/page", "*.jinja"),
        ("assets/glyphscope_assets/page", "*.jinja"),
    ):  # fmt: skip
        found += sorted((ROOT / folder).rglob(pattern))
    return [
        path for path in found if path.name != "style.md" and path.relative_to(ROOT).as_posix() not in DATA
    ]


def modules() -> list[Path]:
    """Every module of the program, its benchmarks, tests and packaging but those that list the refused words."""
    return [
        path
        for folder in CODE
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name not in ("words.py", "test_words.py")
    ]


def refused(path: Path, texts: Callable[[Path], Iterable[tuple[int, str]]] = texts_of) -> list[Found]:
    """The words that docs/style.md refuses in the `texts` of a file."""
    name = path.relative_to(ROOT).as_posix()
    return [
        Found(name, line, match[0], text, instead)
        for line, text in texts(path)
        if _PROSE.search(text)
        for pattern, instead in _PATTERNS
        for match in pattern.finditer(text)
    ]


NAMES: dict[str, str] = {
    r"tells?|told|telling": "report, show, print, notify, state",
    r"held|unheld": "enforced, unenforced, constrained, locked",
    r"wanted|wants": "requested, required, preferred, expected",
    r"struck": "masked",
    r"mend\w*": "fix",
    r"mistakes?": "problem",
    r"carry|carries|carried|carrying": "execute, run",
    r"swallow\w*": "conflict",
    r"kept": "saved, cached, enforced",
    r"(?:go|goes|gone|going)_on": "continue, resume",
    r"anew": "again, restart",
    r"folds?": "reduce, collapse",
    r"errand": "task",
    r"peers?": "baseline",
    r"fights?": "conflict",
    r"calling|mending|judging|telling": "a field's term",
}
"""Words in names, and what to write instead."""

_ANY_NAME = re.compile(rf"(?:^|_)(?:{'|'.join(NAMES)})(?:_|$)")
_NAMES = [(re.compile(rf"(?:^|_)(?:{pattern})(?:_|$)"), instead) for pattern, instead in NAMES.items()]


def names_of(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a module gives: its own and those of classes, functions, arguments, variables and attributes."""
    yield 1, path.parent.name if path.name == "__init__.py" else path.stem
    for node in nodes_of(path):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case (
                ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
            ):
                if name.strip("_").lower() != "kept":  # plain English for the items that a filter keeps
                    yield node.lineno, name


@cache
def refused_name(name: str) -> str:
    """What to write instead; empty for a name that is fine."""
    words = "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)).lower()
    if not _ANY_NAME.search(words):
        return ""
    return next((instead for pattern, instead in _NAMES if pattern.search(words)), "")


def all_refused() -> list[Found]:
    """The refused words in texts, docstrings, comments and names; each file is read once."""
    shown, own, found = set(files()), set(modules()), []
    for path in sorted(shown | own):
        if path in shown:
            found += refused(path)
        if path in own:
            found += refused(path, comments_of)
            found += [
                Found(path.relative_to(ROOT).as_posix(), line, name, name, instead)
                for line, name in names_of(path)
                if (instead := refused_name(name))
            ]
    return found


def main() -> None:
    found = all_refused()
    for one in found:
        print(f"{one.path}:{one.line}: {one.words!r}: {one.instead}\n    {one.text[:160]!r}")
    print(f"{len(found)} in {len({one.path for one in found})} files")


if __name__ == "__main__":
    main()
