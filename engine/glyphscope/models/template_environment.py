"""Jinja as chat templates need it: with the additions of transformers and llama.cpp.

Templates are downloaded code. The sandbox isolates them from the rest of the program; their time and memory are limited
by the process in which they are compiled and rendered (`processes/limited.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from io import StringIO
from types import CodeType
from typing import Any, Literal, TypeAlias

from jinja2 import TemplateError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

from glyphscope.processes.limited import NO_MEMORY, ProcessLimitReached

MAX_LENGTH = 1 << 22
"""Characters of the rendered text: as many as the largest contexts have."""
MAX_SOURCE = 1 << 18
"""Characters of a template: those of models have up to a hundred thousand."""
Noted: TypeAlias = Literal["object", "list", "none", "length"]
"""A printed object, list or None, and the length of a text."""
_IS_EMPTY = "_length"
_BUILT_IN = frozenset({str, list, dict})
_DICT_NAMES = frozenset(dir(dict))


class GenerationBlock(Extension):
    """`{% generation %}…{% endgeneration %}`: transformers' marker of the assistant's text; its body is rendered."""

    tags = {"generation"}  # noqa: RUF012 (Jinja's own annotation is an instance's)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Generator(CodeGenerator):
    """Notes the variables that a template reads, which `meta.find_undeclared_variables` would generate it again for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.variables_read: set[str] = set()

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        for action, name in frame.symbols.loads.values():
            if action == "resolve" and name not in self.environment.globals:
                self.variables_read.add(str(name))


class TemplateEnvironment(SandboxedEnvironment):
    """The environment of one template. Templates may change lists and dictionaries, so each rendering gets copies."""

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, GenerationBlock], optimized=False
        )
        self.variables_read: frozenset[str] = frozenset()  # by the template compiled last
        self.noted: set[Noted] = set()
        """Operations of the renderings so far that llama-server does otherwise."""
        self.finalize = self._note_printed
        self.filters.update(tojson=_to_json, from_json=json.loads, length=self._length, count=self._length)
        self.filters[_IS_EMPTY] = len
        self.globals.update(raise_exception=_raise, strftime_now=lambda form: datetime.now().strftime(form))
        del self.globals["lipsum"], self.filters["random"]  # no prompt is the same twice with them

    def read(self, source: str) -> tuple[Callable[[Mapping[str, Any]], str], frozenset[str]]:
        """The template as a function of its variables, and their names. Both may raise any exception."""
        if len(source) > MAX_SOURCE:
            raise ProcessLimitReached("it is longer than any template")
        code, variables_read = _compiled(source)
        template = self.template_class.from_code(self, code, self.make_globals(None))

        def render(variables: Mapping[str, Any]) -> str:
            pieces: list[str] = []
            size = 0
            try:
                for piece in template.generate(variables):
                    pieces.append(piece)
                    size += len(piece)
                    if size > MAX_LENGTH:
                        raise ProcessLimitReached(f"it writes more than {MAX_LENGTH:,} characters")
                return "".join(pieces)
            except MemoryError:
                raise ProcessLimitReached(NO_MEMORY) from None

        return render, variables_read

    def _note_printed(self, value: Any) -> Any:
        if value is None:
            self.noted.add("none")
        elif isinstance(value, Mapping):
            self.noted.add("object")
        elif isinstance(value, list | tuple):
            self.noted.add("list")
        return value

    def _length(self, value: Any) -> int:
        if isinstance(value, str):
            self.noted.add("length")
        return len(value)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """As Jinja's, without an exception for each key of a dictionary that is read as an attribute."""
        if type(obj) is dict and attribute not in _DICT_NAMES and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        kind: Callable[[], Any] = type(obj)
        return (
            _is_safe_method(kind, attr) if kind in _BUILT_IN else super().is_safe_attribute(obj, attr, value)
        )

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """The tree, in which a length that is only compared with 0 is another filter: it needs no note."""
        tree = super()._parse(source, name, filename)
        tested: list[nodes.Node] = [part.test for part in tree.find_all(nodes.If)]
        tested += [part.test for part in tree.find_all(nodes.CondExpr)]
        for compared in tree.find_all(nodes.Compare):
            if all(isinstance(each.expr, nodes.Const) and each.expr.value == 0 for each in compared.ops):
                tested.append(compared.expr)
        for node in tested:
            if isinstance(node, nodes.Filter) and node.name in ("length", "count"):
                node.name = _IS_EMPTY
        return tree

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        written = StringIO()
        generator = _Generator(self, name, filename, written, defer_init, self.optimized)
        generator.visit(source)
        self.variables_read = frozenset(generator.variables_read)
        return written.getvalue()


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without HTML escapes, as in transformers; a generator is written as the list of its items."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_items,
    )


def _items(value: Any) -> list[Any]:
    if not isinstance(value, Iterator):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return list(value)


@lru_cache(maxsize=1024)
def _is_safe_method(kind: Callable[[], Any], name: str) -> bool:
    """Jinja's answer for a type whose attributes are the same in all values."""
    return SandboxedEnvironment().is_safe_attribute(kind(), name, None)


@lru_cache(maxsize=128)
def _compiled(source: str) -> tuple[CodeType, frozenset[str]]:
    """The code of a template for any environment, and the variables that it reads; may raise any exception.

    Kept, as the prompts of a model and the form of its turns need the same template.
    """
    environment = TemplateEnvironment()
    code = environment.compile(source)
    return code, environment.variables_read


def copied(value: Any) -> Any:
    """A copy of a JSON value whose lists and objects a template may change; `deepcopy` takes ten times as long."""
    if isinstance(value, dict):
        return {key: copied(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def _raise(message: str) -> None:
    raise TemplateError(message)
