"""The files that a configuration of promptfoo names: prompts, tests, and the texts of variables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from glyphscope.base.errors import StorageError
from glyphscope.base.inputs import named_file
from glyphscope.base.shorten import shorten
from glyphscope.evals.suites.imported import NotReadable, parse_json, read_text
from glyphscope.evals.suites.suite import MAX_BYTES
from glyphscope_plugins.promptfoo.asserts import ASSERTIONS, split_values
from glyphscope_plugins.promptfoo.templates import js_json
from glyphscope_plugins.promptfoo.yaml_text import parse_yaml

_FILE = "file://"
_YAML = (".yaml", ".yml")
_CODE = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb", ".go", ".sh", ".bash", ".exe", ".bat", ".cmd",
         ".ps1", ".pl")  # fmt: skip
_NO_TEXT = (".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".tif", ".tiff", ".ico", ".avif",
            ".heic", ".mp3", ".wav", ".ogg", ".flac", ".m4a", ".aac", ".mp4", ".webm", ".mov", ".avi", ".mkv",
            ".xlsx", ".xls")  # fmt: skip
_PROMPTS = (".txt", ".md", ".j2", ".json", ".jsonl", *_YAML)
_DELIMITER = "---"
_MAX_FILES = 10_000
"""Files of one pattern."""


class Files:
    """The files below a configuration's folder, and those that `files_below` allows, as it is untrusted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str, what: str = "file") -> Path:
        """The path of a file that the configuration names. Raises NotReadable."""
        relative = name.removeprefix(_FILE)
        script, colon, _ = relative.partition(":")
        if "://" in relative or (colon and not script.lower().endswith(_CODE)):
            raise NotReadable(f"{shorten(name, 80)} is not the path of a file.")
        if (script if colon else relative).lower().endswith(_CODE):
            raise NotReadable(f"{shorten(name, 80)} is code, which is not run: this {what} is not imported.")
        try:
            return named_file(self._folder, relative)
        except StorageError as error:
            raise NotReadable(f"{shorten(name, 80)}: {error.message}") from None

    def paths(self, name: str, what: str) -> list[Path]:
        """The path, or those that match its pattern, by name. Raises NotReadable, also if there is none."""
        relative = name.removeprefix(_FILE)
        if not re.search(r"[*?\[]", relative):
            return [self.path(name, what)]
        if Path(relative).is_absolute() or ".." in Path(relative).parts or "{" in relative:
            raise NotReadable(
                f"The pattern {shorten(name, 80)} is not read: name the files below the folder."
            )
        try:
            found = sorted(islice(self._folder.glob(relative), _MAX_FILES + 1))
        except (OSError, ValueError, NotImplementedError) as error:
            raise NotReadable(f"The pattern {shorten(name, 80)} is not read: {error}.") from None
        if not found or len(found) > _MAX_FILES:
            number = f"more than {_MAX_FILES:,}" if found else "no"
            raise NotReadable(f"The pattern {shorten(name, 80)} matches {number} files.")
        return [self.path(str(path.relative_to(self._folder)), what) for path in found]

    def document(self, given: Any, what: str = "document") -> Any:
        """The value itself, or the document in the file that it names. Raises NotReadable and SuiteError."""
        if not isinstance(given, str) or not given.startswith(_FILE):
            return given
        return document_of(self.path(given, what))

    def prompts(self, name: str) -> Iterator[str]:
        """The templates of a prompt that is a text or names a file. Raises NotReadable and SuiteError."""
        if "\n" in name or not (name.startswith(_FILE) or self._is_file(name)):
            yield name
            return
        for path in self.paths(name, "prompt"):
            kind = path.suffix.lower()
            if kind not in _PROMPTS:
                raise NotReadable(
                    f"{path.name} is not a file of prompts that is read ({', '.join(_PROMPTS)})."
                )
            text = read_text(path, MAX_BYTES, "a prompt")
            if kind == ".txt":
                yield from _split(text)
            elif kind == ".jsonl":
                yield from (line for line in re.split(r"\r?\n", text) if line)
            else:
                yield js_json(parse_yaml(text, str(path))) if kind in _YAML else text

    def _is_file(self, name: str) -> bool:
        """Whether a prompt without `file://` is the name of a file, as promptfoo guesses it."""
        if name.lower().endswith((*_PROMPTS, *_CODE)) and " " not in name.strip():
            return True
        if len(name) > 1_000 or not ("/" in name or "*" in name or re.search(r"\.\w{2,5}\Z", name)):
            return False
        try:
            return any(path.is_file() for path in self.paths(name, "prompt"))
        except (NotReadable, OSError):
            return False

    def variable(self, value: Any) -> list[Any]:
        """The values of a variable: itself, or the texts of the files that it names. Raises NotReadable, SuiteError."""
        if not isinstance(value, str) or not value.startswith(_FILE):
            return [value]
        return [self._text(path) for path in self.paths(value, "variable")]

    def _text(self, path: Path) -> str:
        kind = path.suffix.lower()
        if kind in _NO_TEXT:
            raise NotReadable(f"{path.name} is not a text.")
        text = read_text(path, MAX_BYTES, "a variable")
        return js_json(parse_yaml(text, str(path))) if kind in _YAML else text.strip()

    def variables(self, given: Any) -> dict[str, Any]:
        """The variables of a test: an object, or the files with them. Raises NotReadable and SuiteError."""
        if given is None or isinstance(given, dict):
            return given or {}
        found: dict[str, Any] = {}
        for name in given if isinstance(given, list) else [given]:
            if not isinstance(name, str):
                raise NotReadable("The variables are not an object.")
            for path in self.paths(name, "variable"):
                document = document_of(path)
                if not isinstance(document, dict):
                    raise NotReadable(f"{path.name} has no object of variables.")
                found |= document
        return found

    def tests(self, given: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The tests of a file or of files that match a pattern, with their places and names. Raises as `variables`."""
        if isinstance(given, dict):
            given = given.get("path")
        if not isinstance(given, str):
            raise NotReadable("The test is not an object.")
        for path in self.paths(given, "test"):
            for number, each in enumerate(_tests_of(path), 1):
                yield f"{path.name}, test {number}", f"{path.stem}-{number}", each


def document_of(path: Path) -> Any:
    """The document in a file of YAML, JSON or JSON Lines. Raises SuiteError."""
    text = read_text(path, MAX_BYTES, "a file of a configuration")
    kind = path.suffix.lower()
    if kind in _YAML:
        return parse_yaml(text, str(path))
    if kind == ".jsonl":
        lines = enumerate(text.split("\n"), 1)
        return [parse_json(line, f"{path}, line {n}") for n, line in lines if line.strip()]
    return parse_json(text, str(path))


def _split(text: str) -> Iterator[str]:
    """The prompts of a text file, between lines of three hyphens."""
    part: list[str] = []
    for line in [*re.split(r"\r?\n", text), _DELIMITER]:
        if line.strip() != _DELIMITER:
            part.append(line)
            continue
        if prompt := "\n".join(part).strip():
            yield prompt
        part = []


def _tests_of(path: Path) -> list[dict[str, Any]]:
    """The tests in a file. Raises NotReadable and SuiteError."""
    kind = path.suffix.lower()
    if kind == ".csv":
        rows = csv.DictReader(
            io.StringIO(read_text(path, MAX_BYTES, "a file of tests"), newline=""), strict=True
        )
        try:
            return [_of_row(row) for row in rows]
        except csv.Error as error:
            raise NotReadable(f"{path.name}, line {rows.line_num}: {error}.") from None
    if kind not in (*_YAML, ".json", ".jsonl"):
        raise NotReadable(
            f"{path.name} is not a file of tests that is read (.yaml, .yml, .json, .jsonl, .csv)."
        )
    document = document_of(path)
    tests = document if isinstance(document, list) else [document]
    if not all(isinstance(test, dict) for test in tests):
        raise NotReadable(f"{path.name} has a test that is not an object.")
    return tests


def _of_row(row: dict[str | None, Any]) -> dict[str, Any]:
    """The test of a row: `__expected…` columns are assertions, `__description` its name, the others variables."""
    if None in row or None in row.values():
        raise NotReadable("A row has other numbers of cells than the table has columns.")
    test: dict[str, Any] = {"vars": {}, "assert": [], "options": {}, "metadata": {}}
    for column, value in row.items():
        name = str(column).strip()
        if name.startswith("__expected"):
            if value.strip():
                test["assert"].append(_of_cell(value.strip()))
        elif name in ("__prefix", "__suffix"):
            test["options"][name[2:]] = value
        elif name.startswith("__metadata:"):
            if value.strip():
                test["metadata"][name.partition(":")[2]] = value
        elif name == "__description":
            test["description"] = value or None
        elif not name.startswith("__"):
            test["vars"][name] = value
        elif value:
            test[name] = value
    return test


_CELL = re.compile(
    rf"(?P<type>(?:not-)?(?:{'|'.join(map(re.escape, sorted(ASSERTIONS, key=len, reverse=True)))}))"
    r"(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?",
    re.DOTALL | re.ASCII,
)
_PREFIXES = {"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "grade:": "llm-rubric",
             "llm-rubric:": "llm-rubric", "python:": "python"}  # fmt: skip


def _of_cell(text: str) -> dict[str, Any]:
    """The assertion of a cell: a known type with its value, or the text that the answer equals. Raises NotReadable."""
    for prefix, kind in _PREFIXES.items():
        if text.startswith(prefix):
            value = text.removeprefix(prefix)
            return {"type": kind, "value": value if kind == "llm-rubric" else value.strip()}
    found = _CELL.fullmatch(text)
    if found is None:
        kind = "python" if ".py" in text else "javascript"
        is_code = text.startswith(_FILE) and text.partition(":")[2].partition(":")[0].lower().endswith(_CODE)
        return {"type": kind if is_code else "equals", "value": text}
    several = found["type"].endswith(("-any", "-all"))
    given = found["value"]
    assertion = {
        "type": found["type"],
        "value": split_values(given or "") if several else given and given.strip(),
    }
    return assertion | ({"threshold": float(found["threshold"])} if found["threshold"] else {})
