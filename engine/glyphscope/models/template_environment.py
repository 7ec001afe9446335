"""Jinja as chat templates need it: with the additions of transformers and llama.cpp, and limits for every rendering.

Templates are downloaded code. The sandbox isolates them from the rest of the program, and a meter limits their time
and memory: it counts loop steps, calls and the sizes of the values made, and checks the clock. Python cannot
interrupt a single operation, so the results of those that can be much larger than their operands (`'x' * n`, `**`,
`replace`, `join`, widths) are estimated first.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from datetime import datetime
from functools import lru_cache, wraps
from io import StringIO
from types import CodeType
from typing import Any

from jinja2 import TemplateError, nodes, pass_eval_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateRuntimeError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import do_join
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from glyphscope.text.figures import duration

SECONDS = 10.0
"""CPU seconds of the rendering thread, so that a busy machine rejects no template that another one accepts."""
MAX_LENGTH = 1 << 22
"""Characters or items of a value, and characters of the rendered text: as many as the largest contexts."""
MAX_WIDTH = 10_000
"""The largest width, count or precision."""

_WORK = 1 << 27
_STEP = 64  # the cost of a loop step or a call, if a character costs 1
_LOOK = 1 << 15
"""Work between two checks of the clock, about half a millisecond; each check takes as long as a few steps."""
_ITEM = 8
_BITS = 1 << 14
# Random, or with results that are not estimated here; no chat template uses them.
_LEFT_OUT_FILTERS = ("random", "urlize", "xmlattr", "wordwrap", "pprint")
_LEFT_OUT_METHODS = frozenset({"encode", "expandtabs", "format_map", "maketrans", "to_bytes", "translate"})
_WIDTHS = frozenset({"batch", "center", "indent", "ljust", "rjust", "round", "slice", "truncate", "zfill"})
# These pass their items on without reading them.
_SHALLOW = frozenset(
    {"attr", "batch", "count", "d", "default", "first", "items", "last", "length", "list", "map"}
    | {"reject", "rejectattr", "reverse", "select", "selectattr", "slice"}
)
_SCALARS = frozenset({int, float, bool, type(None)})
_BUILT_IN = frozenset({str, list, dict})
_DICT_NAMES = frozenset(dir(dict))
_WIDE_PERCENT = re.compile(r"%[^a-zA-Z%]*(?:\d{5}|\*)")
_WIDE_FIELD = re.compile(r"\{[^{}]*(?:\d{5}|\{)")


class LimitReached(TemplateRuntimeError):
    """A rendering was stopped because it reached a limit."""


class Meter:
    """Counts the work of one rendering. Raises LimitReached."""

    def __init__(self) -> None:
        self._left = _WORK
        self._next_look = _WORK
        self._deadline = time.thread_time() + SECONDS

    def spend(self, work: int) -> None:
        """Count work, and check the clock now and then."""
        self._left -= work + 1
        if self._left < self._next_look:
            self._look()

    def _look(self) -> None:
        if self._left < 0:
            raise LimitReached("it computes without end, or more than any prompt needs")
        if time.thread_time() > self._deadline:
            raise LimitReached(f"it takes longer than {duration(SECONDS)}")
        self._next_look = max(0, self._left - _LOOK)

    def count(self, value: Any) -> None:
        """Count a new value."""
        if isinstance(value, str):
            size = work = len(value)
        elif isinstance(value, (list, tuple, dict)):
            size = len(value)
            work = _ITEM * size
        else:
            return
        if size > MAX_LENGTH:
            self.allow(size)
        self._left -= work + 1  # as in `spend`: most of the time goes into calls otherwise
        if self._left < self._next_look:
            self._look()

    def measure(self, value: Any) -> int:
        """The number of characters and items in a value, nested ones included: a few lists may share millions."""
        if isinstance(value, str):
            return len(value)
        size = 1
        rest = [value] if type(value) not in _SCALARS else []
        while rest:
            for item in _items_of(rest.pop()):
                size += 1
                if isinstance(item, str):
                    size += len(item)
                elif type(item) not in _SCALARS:
                    rest.append(item)
            self.allow(size)
        self.spend(size)
        return size

    def allow(self, size: int) -> None:
        """Raise LimitReached for a value of that size."""
        if size > MAX_LENGTH:
            raise LimitReached(f"it makes a value of more than {MAX_LENGTH:,} characters or items")


def _items_of(value: Any) -> Iterable[Any]:
    """The keys and values in a value; none if it is not a container. Abstract classes are asked last: they are slow."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (dict, Mapping)):
        return (*value, *value.values())
    if isinstance(value, Namespace):
        return value._Namespace__attrs.values()  # type: ignore[no-any-return]
    return value if isinstance(value, (ValuesView, ItemsView)) else ()


class _Metering(NodeTransformer):
    """Wraps loops and other constructs for which Jinja has no hook in the meter's filters."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        written = sum(len(data.data) for part in node.body for data in part.find_all(nodes.TemplateData))
        node.iter = _filter(node.iter, "_steps", nodes.Const(_STEP + written))
        return self.generic_visit(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        first, *rest = node.nodes
        return _filter(first, "_concat", *rest)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        """Equality with a constant takes no time, whatever the other value is."""
        self.generic_visit(node)
        operands = (node.expr, node.ops[0].expr)
        if [operand.op for operand in node.ops] in (["eq"], ["ne"]) and any(
            isinstance(operand, nodes.Const) for operand in operands
        ):
            return node
        node.expr = _measured(node.expr)
        for operand in node.ops:
            operand.expr = _measured(operand.expr)
        return node

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        """A tuple may be the key of a dictionary, and its hash reads all its items."""
        self.generic_visit(node)
        return node if node.ctx != "load" else _measured(node)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _filter(node, "_counted") if isinstance(node.arg, nodes.Slice) else node


def _filter(node: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=node.lineno)


def _measured(node: nodes.Expr) -> nodes.Expr:
    constant = isinstance(node, nodes.Const) or (
        isinstance(node, nodes.Tuple) and all(isinstance(item, nodes.Const) for item in node.items)
    )
    return node if constant else _filter(node, "_measured")


class Generation(Extension):
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

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation], optimized=False
        )
        self.variables_read: frozenset[str] = frozenset()  # by the template compiled last
        self._lock = threading.Lock()
        self._meter = Meter()
        self.finalize = self._count_output
        self.filters.update(tojson=self._to_json, from_json=json.loads, join=self._join)
        for name in _LEFT_OUT_FILTERS:
            del self.filters[name]
        self.filters = {name: self._metered(name, function) for name, function in self.filters.items()}
        self.filters |= {
            "_steps": self._steps,
            "_concat": self._concat,
            "_counted": self._counted,
            "_measured": self._measured,
        }
        self.globals.update(raise_exception=_raise, strftime_now=lambda form: datetime.now().strftime(form))
        del self.globals["lipsum"]

    def read(self, source: str) -> tuple[Callable[[Mapping[str, Any]], str], frozenset[str]]:
        """The template as a function of its variables, and their names. Both may raise any exception."""
        if len(source) > MAX_LENGTH >> 4:
            raise LimitReached("it is longer than any template")
        code, variables_read = _compiled(source)
        template = self.template_class.from_code(self, code, self.make_globals(None))

        def render(variables: Mapping[str, Any]) -> str:
            with self._lock:
                self._meter = Meter()
                pieces: list[str] = []
                size = 0
                for piece in template.generate(variables):
                    pieces.append(piece)
                    size += len(piece)
                    self._meter.allow(size)
                return "".join(pieces)

        return render, variables_read

    def getattr(self, obj: Any, attribute: str) -> Any:
        """As Jinja's, without an exception for each key of a dictionary that is read as an attribute."""
        if type(obj) is dict and attribute not in _DICT_NAMES and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        kind: Callable[[], Any] = type(obj)
        if kind in _BUILT_IN:
            return _is_safe_method(kind, attr)
        return attr not in _LEFT_OUT_METHODS and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        meter = self._meter
        meter.spend(_STEP)
        if type(obj) is Macro:  # nearly all calls; it is safe, and has no owner
            result = context.call(obj, *args, **kwargs)
            meter.count(result)
            return result
        method = getattr(obj, "__wrapped__", obj)  # the sandbox has its own `format`
        owner = getattr(method, "__self__", None)
        before = len(owner) if isinstance(owner, (list, dict)) else 0
        if isinstance(owner, str):
            if method.__name__ == "join" and args:
                args = (list(args[0]),)
            self._estimate(method.__name__, owner, (*args, *kwargs.values()))
        result = super().call(context, obj, *args, **kwargs)
        if isinstance(owner, (list, dict)):
            meter.spend(_ITEM * max(0, len(owner) - before))
        meter.count(result)
        return result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, str) and operator == "%":
            self._estimate("%", left, (right,))
        elif operator in ("*", "**"):
            self._meter.allow(_product(operator, left, right))
        result = self.binop_table[operator](left, right)
        self._meter.count(result)
        return result

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        written = StringIO()
        generator = _Generator(self, name, filename, written, defer_init, self.optimized)
        generator.visit(source)
        self.variables_read = frozenset(generator.variables_read)
        return written.getvalue()

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        _Metering().visit(template)
        return template

    def _metered(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        place = int(hasattr(function, "jinja_pass_arg"))

        @wraps(function)
        def metered(*args: Any, **options: Any) -> Any:
            self._meter.spend(_STEP)
            self._estimate(name, args[place], (*args[place + 1 :], *options.values()))
            result = function(*args, **options)
            self._meter.count(result)
            return result

        return metered

    def _estimate(self, name: str, value: Any, arguments: Sequence[Any]) -> None:
        """Raise LimitReached for a filter or a string's method whose result would be too large."""
        if name in _SHALLOW and name not in _WIDTHS:
            return
        meter = self._meter
        sizes = [meter.measure(argument) for argument in arguments]
        size = 0 if name in _SHALLOW else meter.measure(value)
        numbers: list[int] = []
        if name in _WIDTHS:
            numbers = [argument for argument in arguments if isinstance(argument, int)]
            if max(numbers, default=0) > MAX_WIDTH:
                raise LimitReached(f"it asks for a width of more than {MAX_WIDTH:,}")
        if name == "replace" and len(arguments) > 1:
            size = str(value).count(str(arguments[0])) * sizes[1]
        elif name == "indent":
            size += (str(value).count("\n") + 1) * max([4, *numbers, *sizes])
        elif name == "join" and isinstance(value, str):
            size = sum(sizes) + size * len(arguments[0])
        elif name in ("%", "format"):
            text = str(value) if isinstance(value, str) else ""
            wide = _WIDE_FIELD if name == "format" and "{" in text else _WIDE_PERCENT
            if wide.search(text.replace("{{", "").replace("}}", "")):
                raise LimitReached("it formats with a width that is too large or not constant")
            size += (text.count("%") + text.count("{")) * sum(sizes)
        meter.allow(size)

    def _steps(self, iterable: Any, cost: int) -> Iterable[Any]:
        """The items of a loop, counted: all at once if the length is known, so that the value keeps its type."""
        try:
            self._meter.spend(cost * len(iterable))
        except TypeError:
            return self._stepwise(iter(iterable), cost)
        return iterable  # type: ignore[no-any-return]

    def _stepwise(self, items: Iterator[Any], cost: int) -> Iterator[Any]:
        for item in items:
            self._meter.spend(cost)
            yield item

    def _concat(self, *values: Any) -> str:
        self._meter.allow(sum(map(self._meter.measure, values)))
        return str(self._counted("".join(map(str, values))))

    def _counted(self, value: Any) -> Any:
        self._meter.count(value)
        return value

    def _measured(self, value: Any) -> Any:
        if value is not None and not isinstance(value, (str, int)):
            self._meter.measure(value)
        return value

    def _count_output(self, value: Any) -> Any:
        if isinstance(value, str):
            self._meter.count(value)
        else:
            self._meter.spend(self._meter.measure(value))
        return value

    @pass_eval_context
    def _join(
        self, eval_ctx: nodes.EvalContext, value: Iterable[Any], d: str = "", attribute: Any = None
    ) -> Any:
        values = list(value)
        self._meter.allow(self._meter.measure(values) + len(values) * len(d))
        return do_join(eval_ctx, values, d, attribute)

    def _to_json(
        self,
        value: Any,
        ensure_ascii: bool = False,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """JSON without HTML escapes, as in transformers; a generator is written as the list of its items."""
        around = [indent * " " if isinstance(indent, int) else indent or "", *(separators or ())]
        if any(len(text) > 16 for text in around):
            raise LimitReached("it writes JSON with more than 16 characters between two values")
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
            default=self._items,
        )

    def _items(self, value: Any) -> list[Any]:
        if not isinstance(value, Iterator):
            raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
        items = list(value)
        self._meter.measure(items)
        return items


@lru_cache(maxsize=1024)
def _is_safe_method(kind: Callable[[], Any], name: str) -> bool:
    """Jinja's answer for a type whose attributes are the same in all values."""
    safe = SandboxedEnvironment().is_safe_attribute(kind(), name, None)
    return safe and name not in _LEFT_OUT_METHODS


@lru_cache(maxsize=128)
def _compiled(source: str) -> tuple[CodeType, frozenset[str]]:
    """The code of a template for any environment, and the variables that it reads; may raise any exception.

    Kept, as the prompts of a model and the form of its turns need the same template.
    """
    environment = TemplateEnvironment()
    code = environment.compile(source)
    return code, environment.variables_read


def _product(operator: str, left: Any, right: Any) -> int:
    """The size of a product or a power, before it is computed."""
    if operator == "**":
        whole = isinstance(left, int) and isinstance(right, int)
        return MAX_LENGTH + 1 if whole and left.bit_length() * right > _BITS else 0
    if isinstance(left, int) and isinstance(right, int):
        return MAX_LENGTH + 1 if left.bit_length() + right.bit_length() > _BITS else 0
    sized, times = (right, left) if isinstance(left, int) else (left, right)
    return len(sized) * times if isinstance(times, int) and isinstance(sized, (str, list, tuple)) else 0


def copied(value: Any) -> Any:
    """A copy of a JSON value whose lists and objects a template may change; `deepcopy` takes ten times as long."""
    if isinstance(value, dict):
        return {key: copied(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def _raise(message: str) -> None:
    raise TemplateError(message)
