"""The calls of a turn while they are written: all paths by which the form can continue, character by character.

A path ends at the first character that does not fit; when the last strict path ends, the text leaves the form. When
arguments begin, only one path is left, and a driver (`validator_arguments`, `validator_tagged`) reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from glyphscope.events import Code, RunEvent
from glyphscope.notation import structure as s
from glyphscope.notation.ahead import Ended, TextAhead
from glyphscope.turns.form import CallForm, TurnForm
from glyphscope.turns.scan import in_words
from glyphscope.turns.starts import starts
from glyphscope.turns.tools import TurnTools
from glyphscope.turns.validator_arguments import CallText, Driver, JsonArguments, JsonCall, MemberArguments
from glyphscope.turns.validator_one_call import CallRecord, OneCallValidator
from glyphscope.turns.validator_paths import WORD, Op, Path, PathSteps, beginning_of, expected, ops_of
from glyphscope.turns.validator_tagged import Parameter
from glyphscope.validation.streaming_validator import Limits

_NO_CALL = ("UNKNOWN_TOOL", "MISSING_TOOL", "SYNTAX")
"""Violations that show that an apparent call in a text is not a call."""
_DRIVERS = {"json": JsonArguments, "tagged": Parameter, "pythonic": MemberArguments, "dict": MemberArguments}
"""The drivers of arguments, by encoding."""
_MAX_SPARE = 8
"""The maximum number of paths with unknown names that are kept."""
_NAME_AHEAD, _NAME_READ = -1, -2
"""In place of the character at which the name began: it has not begun, or it is complete."""


Mode: TypeAlias = Literal["text", "reasoning", "calls"]


class Opening(NamedTuple):
    """The marker with which calls begin, from character `at` on.

    `mode` is the mode before it; at `left`, it could no longer be a marker of the form (-1: it can); `blank` characters
    of white space before it belong to it; `foreign`: it is not a marker of the form.
    """

    at: int
    mode: Mode
    left: int
    blank: int
    foreign: bool


class Trial(NamedTuple):
    """An apparent call: its text from the marker on, and the destination of events once it is decided.

    `loose`: its marker is not the form's whole opening, which text may mention, so its arguments have to begin; the
    character `at` completes the marker, which is a violation in either case. `late`: its marker is words, so only the
    beginning of its arguments shows that it is a call, of whatever tool. `bare`: it has no marker, so only its whole
    object shows that it is a call of no tool.
    """

    text: str
    out: list[RunEvent]
    loose: bool = False
    at: int = -1
    late: bool = False
    bare: bool = False


class Beginning(NamedTuple):
    """A way in which calls begin: a form, its pieces from the first marker on, and whether it is the exact form."""

    form: CallForm
    ops: tuple[Op, ...]
    strict: bool

    def fits(self, first: str) -> bool:
        """Whether calls that begin in this way may begin with this character."""
        options = next((op.options for op in self.ops if op.kind != "call"), ())
        return not options or any(text[:1] in ("", first) for text in options)


class Calls:
    """Reads a section of calls, or one call, from the beginning of the first marker (character `at`) on.

    `state` is "open", or why the reading ended: "done"; "failed" if the text cannot be read any further; "left" if no
    further call follows. The text that was looked at beyond the end, up to character `known`, is then ahead.
    Its calls are the `records` from index `earlier` on; `on_call` adds one. A call is `certain` once its tool is known,
    or its object has begun.
    """

    def __init__(
        self,
        beginnings: list[Beginning],
        text: TextAhead,
        tools: TurnTools,
        names: tuple[str, ...],
        limits: Limits,
        records: list[CallRecord],
        new_validator: Callable[[CallForm], OneCallValidator],
        room: int | None,
    ) -> None:
        """`room`: the number of allowed calls; None means no limit."""
        at = text.place
        self.state: Literal["open", "done", "failed", "left"] = "open"
        self.certain = False
        self.follows_unread = False  # the text before it could not be read
        self.late = False  # only arguments show that a call of an unknown tool is one
        self.begun = False  # the arguments of a call have begun, or it has ended
        self.trial_from: int | None = None  # after the marker of calls that are on trial
        self.unread = False  # the arguments of the last call cannot be read to their end
        self.violate: Callable[[Code, str, int, str], None]
        self.on_call: Callable[[int], None]
        self.on_end: Callable[[int], None]
        self.out: list[RunEvent] = []
        self.token = -1
        self._tools, self._limits, self._new_validator, self._room = tools, limits, new_validator, room
        self._steps = PathSteps(names, tools.names)
        self.at = at
        self._records, self.earlier = records, len(records)
        self._paths: list[Path] = []
        self._spare: list[Path] = []  # with unknown names, as long as another path is possible
        for form, ops, strict in beginnings:
            self._paths += self._steps.enter(Path(form, ops, strict=strict), at)
        self.text = text
        self.known = at  # the text up to here was looked at
        self._reading = self._read()
        self._pending: list[str] = []  # the characters since the last certain piece
        self._pending_at = at
        self._driver: Driver | None = None  # of the part that comes next
        self._opened = self._closed = False  # the arguments' object
        self._name_at = _NAME_AHEAD
        self._spelled = 0  # characters of the name that were passed to the validator
        self.left_form = False
        """Whether the text has left the form in the open call."""
        self._between = False  # between two calls, or between the last call and the section's end
        self._may_leave = False  # the section may end without a closing marker
        self._in_section = False  # the section's opening was read
        self._floor = -1  # no violation is reported before this character

    @property
    def in_call(self) -> bool:
        """Whether a call is open."""
        return len(self._records) > self.earlier and self._records[-1].end < 0

    @property
    def validator(self) -> OneCallValidator | None:
        """The validator of the open call."""
        return self.last_validator if self.in_call else None

    @property
    def last_validator(self) -> OneCallValidator | None:
        """The validator of the last call, whether or not that has ended."""
        return self._records[-1].validator if len(self._records) > self.earlier else None

    @property
    def is_none(self) -> bool:
        """Whether an apparent call does not name a known tool, or cannot be read."""
        wrong = self.last_validator.violations if self.last_validator else ()
        return self.state == "failed" or self.left_form or any(v.code in _NO_CALL for v in wrong)

    @property
    def form(self) -> CallForm | None:
        """The form of the calls, as long as any is possible."""
        return self._paths[0].form if self._paths else None

    def raise_floor(self, at: int) -> None:
        """Report no violations before that character."""
        self._floor = max(self._floor, at)

    def attach(self, out: list[RunEvent], token: int) -> None:
        """Append all further events to `out`."""
        self.out, self.token = out, token
        if (validator := self.last_validator) is not None:
            validator.attach(out, token)

    def read(self) -> bool:
        """Read on, on trial by one character after the marker. Returns whether more text is needed."""
        return next(self._reading, "ended") is None

    def _read(self) -> Iterator[str | None]:
        while self.state == "open":
            char = yield from self.text.char()
            self.text.skip(1)
            self._step(char, self.text.place - 1)
            if self.trial_from is not None and self.text.place >= self.trial_from:
                yield "on trial"
            if (driver := self._driver) is not None:
                yield from driver.read()
                self._driver = None
                self._driven(driver)

    def finish(self, at: int) -> None:
        """The text ends at that character."""
        self.text.ended = True
        with suppress(Ended):
            self.read()
        for path in self._paths if self._driver is None else ():
            text = path.text[path.read :]
            if path.kind == "text" and not text.strip():
                following = self._steps.enter(replace(path, strict=False), at)
                if any(each.kind in ("end", "closed") for each in following):
                    self._paths = following
                    self._close_arguments(at - 1)
                    self._arrive(at)
                    return

    # markers, names, ids

    def _step(self, char: str, at: int) -> None:
        if not self._pending:
            self._pending_at = at
        self._pending.append(char)
        before = self._paths
        parameter = next((path for path in before if path.begun), None)
        if parameter is not None:  # its opening also begins other markers
            before = [path for path in before if not path.begun]
        after = [path for old in before for path in self._steps.step(old, char, at)]
        if parameter is not None and _stays_open(before, after):
            self._paths = [parameter]
            self._open_validator(parameter).raise_floor(at)
            self.text.put_back(self._read_since(parameter, at))
            self._drive(char, parameter.begun_at - 1)
            return
        left = [path for path in after if path.strict and not path.unknown_name]
        loose = [path for path in after if not path.strict and not path.unknown_name]
        unknown = [path for path in after if path.unknown_name and not (self.late and _ends_name(path))]
        spare = [path for old in self._spare for path in self._steps.step(old, char, at)]
        if self._name_at != _NAME_AHEAD or self._opened:
            spare = []  # another name was read, or none comes
        self._spare = [*unknown, *(path for path in spare if not _ends_name(path))][:_MAX_SPARE]
        if not left and not loose:
            if unknown:
                left = unknown[:1]
                self.left_form = True  # the validator reports why
            else:
                loose = [path for path in spare if not path.unknown_name] or self._spare[:1]
                self._floor = max(self._floor, at) if loose else self._floor
            self._spare = []
        if not left and any(path.strict for path in before) and not (self._between and self._may_leave):
            if loose and all(map(self._steps.names_no_tool, loose)):
                self.left_form = True  # the validator reports why
            else:
                self._leave(before, loose, at)
        self._paths = left + loose
        if parameter is not None and self._may_be_key(self._read_since(parameter, at), parameter):
            self._paths.append(parameter)
        if not self._paths:
            self._stop(at)
            return
        self._begin_call()
        self._spell(at)
        if not self._drive(char, at):
            if self.in_call and not self._closed and all(path.beyond for path in self._paths):
                self._close_arguments(at)
                self._pending, self._pending_at = [char], at
            self._arrive(at + 1)

    def _read_since(self, parameter: Path, at: int) -> str:
        """The text from a parameter's key to the character `at`, which other paths have read."""
        return "".join(self._pending)[parameter.begun_at - at - 1 :]

    def _may_be_key(self, text: str, parameter: Path) -> bool:
        """Whether the tool has an argument that begins like this text, which is also another marker's."""
        return any(name.startswith(text) for name in self._tools.properties(parameter.name))

    def _leave(self, before: list[Path], loose: list[Path], at: int) -> None:
        """The text leaves the form at this character."""
        if self.left_form:
            return
        self.left_form = True
        fitting = (path for path in before if path.strict and not path.unknown_name)
        viable = " or ".join(dict.fromkeys(map(expected, fitting)))
        if self._between and loose and all(path.surplus for path in loose):
            self.violate("TRAILING_TEXT", "no further call may follow", max(at, self._floor), viable)
        else:
            self.violate("SYNTAX", f"{viable} was expected", max(at, self._floor), viable)

    def _stop(self, at: int) -> None:
        self.state = "left" if self._between else "failed"
        self.unread = self.in_call and self.certain and not self._closed
        if not self.unread:
            self.known = self.text.place
            self.text.put_back("".join(self._pending))
        if self.in_call:
            self.on_end(self._pending_at if self._closed else at)

    def _begin_call(self) -> None:
        paths = self._paths
        if self.in_call or any(path.call_at is None for path in paths):
            return
        best = paths[0]
        if self._between and self._may_leave and any(_at_opening(path) for path in paths):
            return
        assert best.call_at is not None
        if self._between and self._may_leave and not best.strict and not best.surplus:
            separator = in_words(best.form.separator)
            self.violate("SYNTAX", f"{separator} was expected", best.call_at, separator)
        if best.surplus and not self.left_form:
            self.violate("TRAILING_TEXT", "no further call may follow", best.call_at, "the end of the turn")
        self.left_form = best.surplus or (self.left_form and not self._between)
        self._between = self._may_leave = self._opened = self._closed = False
        self._spelled, self._name_at = 0, _NAME_AHEAD
        section = best.form.section_open.lstrip()
        self._in_section = self._in_section or bool(section and best.ops[0].options == (section,))
        self.on_call(best.call_at)

    def _open_validator(self, path: Path) -> OneCallValidator:
        if (validator := self.validator) is not None:
            return validator
        validator = self._records[-1].validator = self._new_validator(path.form)
        validator.attach(self.out, self.token)
        validator.raise_floor(self._floor)
        # behind an object that cannot be read, a section's end is searched for
        broken = self.follows_unread or any(map(_unread, self._records[self.earlier : -1]))
        validator.unsure = path.form.object is not None and broken
        at = path.call_at or 0
        if path.form.object is None:
            validator.begin(at)
        if path.form.fixed_name:
            validator.open_name(at)
            validator.name_text(at, path.form.fixed_name)
            validator.close_name(at)
            self._name_at = _NAME_READ
        return validator

    def _spell(self, at: int) -> None:
        """Pass the certain part of the tool's name to the validator."""
        if (
            self._name_at == _NAME_READ
            or not self.in_call
            or any(path.form.object is not None or path.namespace for path in self._paths)
        ):
            return
        naming = [path for path in self._paths if path.kind == "name" and path.name and not path.named]
        named = [path for path in self._paths if path.named]
        if len(naming) != len(self._paths) and len(named) != len(self._paths):
            return
        best = self._paths[0]
        validator = self._open_validator(best)
        if self._name_at == _NAME_AHEAD:
            self._name_at = at - len(best.name) + 1 if naming else self._name_before(best)
            validator.open_name(self._name_at)
        if len(best.name) > self._spelled:
            validator.name_text(self._name_at + self._spelled, best.name[self._spelled :])
            self._spelled = len(best.name)
        own = [path for path in self._paths if path.strict] or self._paths
        sure = all(path.sure or path.begun for path in own)  # until then, a text may mention such a call
        if named and (sure or best.name not in self._tools.names):
            self._end_name(validator)

    def _end_name(self, validator: OneCallValidator, *, proven: bool = True) -> None:
        validator.close_name(self._name_at + self._spelled, proven=proven)
        self._name_at = _NAME_READ
        self.certain = True

    def _name_before(self, path: Path) -> int:
        """The character at which the name began, once there is only one possibility."""
        pending = "".join(self._pending)
        return self._pending_at + max(pending.rfind(path.name), 0)

    # arguments

    def _drive(self, char: str, at: int) -> bool:
        """Pass the arguments to a driver where they begin. Returns whether a driver reads from here on."""
        path = next((path for path in self._paths if path.begun), None)
        if path is None:
            return False
        others = (each for each in self._paths if not each.begun and each.strict >= path.strict)
        if path.kind == "parameter" and any(others):
            return True
        self._paths = [path]
        self._pending = []
        self._spell(at)
        validator = self._open_validator(path)
        self.certain = True
        driver: type[Driver] = JsonCall if path.kind == "object" else _DRIVERS[path.form.arguments.encoding]
        if driver is Parameter:
            self._open_arguments(at)
        else:
            self.text.put_back(char)
        self.begun = True
        self._driver = driver(CallText(self.text, validator, path.form, self._tools, self._limits))
        return True

    def _open_arguments(self, at: int) -> None:
        validator = self.validator
        if validator is not None and not self._opened:
            validator.open_arguments()
            validator.drive([(s.OBJECT_OPEN, at, at, "")])
        self._opened = True

    def _close_arguments(self, at: int) -> None:
        validator = self.validator
        if validator is None or self._closed:
            return
        if self._name_at >= 0:
            self._end_name(validator, proven=False)  # by the whole closing
        self._open_arguments(at)
        validator.drive([(s.OBJECT_CLOSE, at, at + 1, "")])
        validator.close_call(at)
        self._closed = True

    def _driven(self, driver: Driver) -> None:
        """Continue after the driver's part."""
        at, path = self.text.place, self._paths[0]
        if driver.broken:
            self.state, self.unread = "failed", True
            self.on_end(at)
            return
        self._pending = []
        if isinstance(driver, Parameter):
            self.known = driver.known
            self._floor = -1 if self.validator is None else self.validator.floor
            self._paths = self._steps.again(path, at)
        else:
            self._closed = True
            self._paths = self._steps.enter(path, at)
            self._arrive(at)

    # ends

    def _arrive(self, at: int) -> None:
        """End the call, or the section, if a path is complete."""
        path = next((path for path in self._paths if path.kind in ("end", "closed")), None)
        if path is None:
            return
        if path.kind == "closed":
            self.state = "done"
            return
        self.begun = True
        if self.validator is not None:
            self.validator.show_name()
        self.on_end(at)
        form = path.form
        if not (form.section_open.strip() or form.section_close.strip() or form.separator.strip()):
            self.state = "done"
            return
        surplus = self._room is not None and len(self._records) - self.earlier >= self._room
        self._may_leave = not form.section_close.strip() or not self._in_section
        if surplus and self._may_leave:  # no closing marker is missing, and no further call is allowed
            self.state = "done"
            return
        self._between, self._pending = True, []
        ops = (Op("text", (form.separator,)), *ops_of(form))
        following = Path(form, ops, strict=not surplus, surplus=surplus)
        self._paths = self._steps.enter(following, at)
        if form.section_close:
            closing = Path(form, (Op("text", (form.section_close,)), Op("closed")))
            self._paths += self._steps.enter(closing, at)
        self.left_form = False


def _ends_name(path: Path) -> bool:
    """Whether the last character read belongs to no name."""
    return path.unknown_name and WORD.match(path.name[-1]) is None


def _unread(record: CallRecord) -> bool:
    """Whether a call may not be read, or not to its end."""
    call = record.validator
    if call is None or call.tool is None or call.arguments is None:
        return True
    return any(violation.code == "SYNTAX" for violation in call.violations)


def _stays_open(before: list[Path], after: list[Path]) -> bool:
    """Whether a parameter whose opening was read begins, as no other marker continues as well as before."""
    return not any(path.strict for path in after) if any(path.strict for path in before) else not after


def _at_opening(path: Path) -> bool:
    """Whether the call's first marker was not yet read to its end."""
    return path.kind == "text" and path.ops[path.op - 1].kind == "call"


@lru_cache(maxsize=64)
def beginnings_of(form: TurnForm) -> tuple[Beginning, ...]:
    """Every way in which calls of a form begin, strict ones first."""
    found = []
    for call in form.calls:
        found.append(Beginning(call, beginning_of(call, None, section=True), call.strict))
        for text in (text for text, whole in starts(call) if not whole):
            ops = beginning_of(call, None if text in call.call_opens else text, section=False)
            found.append(Beginning(call, ops, False))
    return tuple(sorted(found, key=lambda each: not each.strict))
