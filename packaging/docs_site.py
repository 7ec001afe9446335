"""Pages that `mkdocs.yml` adds to `docs/`: README and similar files, and one page for each package of the engine.

The reference is read from the sources (names and docstrings), so it is always current, and no package is imported.
"""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from pygments.lexers import LEXERS

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "engine" / "glyphscope"
PAGES = {"index.md": "README.md"} | {
    name: name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
}
"""Pages of the site from outside `docs/`, with their files."""


def on_config(config: Any) -> Any:
    """Colour grammars as the program does; the environment of the site does not have it installed."""
    sys.path.insert(0, str(ROOT / "engine"))
    for lexer in (lexers := import_module("glyphscope_plugins.pygments_lexers")).__all__:
        found = getattr(lexers, lexer)
        LEXERS[lexer] = (lexers.__name__, found.name, tuple(found.aliases), (), ())
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages of `docs/` and of the root, the list of decisions, and the reference."""
    for page, source in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        text = re.sub(r"\[([^\]]+)\]\(gui/[^)]+\)", r"`\1`", text)  # sources are not part of the site
        files.append(File.generated(config, page, content=text))
    decisions = [
        f"- [{_title(path)}]({path.name})" for path in sorted((ROOT / "docs/decisions").glob("*.md"))
    ]
    files.append(
        File.generated(config, "decisions/index.md", content="\n".join(["# Decisions", "", *decisions]))
    )
    packages = sorted(_packages())
    rows = [f"- [`glyphscope.{name}`]({name}.md): {about}" for name, about in packages]
    files.append(File.generated(config, "reference/index.md", content="\n".join([_INTRODUCTION, *rows, ""])))
    for name, _ in packages:
        content = f"# {name}\n\n::: glyphscope.{name}\n"
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links from `docs/` to files outside it into links within the site, and file names in fences into titles."""
    markdown = re.sub(r"^```(\w+) ([\w./-]+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)
    markdown = markdown.replace("](decisions)", "](decisions/index.md)")
    return re.sub(rf"\]\(\.\./({'|'.join(map(re.escape, PAGES.values()))})", r"](\1", markdown)


_INTRODUCTION = """# Python packages

The packages of the engine, with the public names of their modules. Their order, and what may import
what: [architecture](../architecture.md).
"""


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _packages() -> list[tuple[str, str]]:
    """Each package of the engine, and each top-level module, with the first line of its docstring."""
    found = []
    for path in ENGINE.iterdir():
        module = path / "__init__.py" if path.is_dir() else path
        if module.suffix == ".py" and module.is_file() and not path.name.startswith("__"):
            about = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
            found.append((path.stem, about.partition("\n")[0]))
    return found
