"""Open texts of an editor, each analysed again in the background after a change; an older analysis is stopped.

The quick analysis finds the problems. The long one begins when nothing was typed for a moment: ambiguous rules, and the
constraints that the engines' grammars do not enforce.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from glyphscope.base.errors import Stopped
from glyphscope.base.lines import Lines
from glyphscope.cli.lsp.places import Places
from glyphscope.cli.problems import FileProblem
from glyphscope.grammar.gbnf import CheckCancelled
from glyphscope.grammar.generate.ambiguity import ambiguous_rules
from glyphscope.grammar.languages import AnyCheck, GrammarLanguage
from glyphscope.processes.stopping import stopped_by

IDLE = 0.4
"""Seconds without a change after which the long analysis begins."""
MAX_REPORTED = 1_000
"""Problems that are sent for a text."""


@dataclass
class Findings:
    """The result of the analysis of a text. `check`: of a grammar."""

    text: str
    problems: list[FileProblem]
    check: AnyCheck | None = None
    more: list[FileProblem] = field(default_factory=list)
    """Constraints that are not enforced."""
    ambiguous: dict[str, str] = field(default_factory=dict)
    """The ambiguous rules, each with a text that shows it."""

    def span_of(self, problem: FileProblem) -> tuple[int, int]:
        """The code points of a problem."""
        lines = Lines(self.text)
        return (
            lines.start(problem["line"]) + problem["column"] - 1,
            lines.start(problem["end_line"]) + problem["end_column"] - 1,
        )


Reported: TypeAlias = Callable[["OpenText"], None]


class OpenText:
    """One open text. `reported` is called in the editor's thread after each analysis, also with `failed` set."""

    def __init__(
        self, path: str, language: GrammarLanguage | None, encoding: str, reported: Reported
    ) -> None:
        """`language` None: tools."""
        self.path = path
        self.language = language
        self.version: int | None = None
        self.findings = Findings("", [])
        self.places = Places("", encoding)
        self.good: AnyCheck | None = None
        """The last check without errors."""
        self.failed: Exception | None = None
        self._encoding = encoding
        self._reported = reported
        self._changed = asyncio.Event()
        self._known = asyncio.Event()
        self._changes = 0
        self._work: asyncio.Task[None] | None = None

    def change(self, text: str, version: int | None) -> None:
        """Take a new text and analyse it."""
        self.version = version
        self.places = Places(text, self._encoding)
        self._changes += 1
        self._known.clear()
        self._changed.set()
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._analyse())

    def close(self) -> None:
        """Stop the analysis. Questions that wait for it are answered as if nothing was found."""
        self._changes += 1
        if self._work is not None:
            self._work.cancel()
        self.findings = Findings(self.places.text, [])
        self._known.set()

    async def known(self) -> Findings:
        """The findings in the newest text, as soon as it is analysed."""
        while not self._known.is_set():  # also if the text changed before this wait ended
            await self._known.wait()
        return self.findings

    async def _analyse(self) -> None:
        while True:
            at, text = self._changes, self.places.text
            found = Findings(text, [])
            self._changed.clear()

            def outdated(at: int = at) -> bool:
                return self._changes != at

            try:
                found = await asyncio.to_thread(self._quick, text, outdated)
                if outdated():
                    continue
                self._show(found)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), IDLE)
                if outdated():
                    continue
                if await asyncio.to_thread(self._long, found, outdated) and not outdated():
                    self._show(found)
            except (CheckCancelled, Stopped):
                pass
            except Exception as error:  # a defect of the analysis: the next text is analysed again
                self.failed = error
                self._show(found)  # of the long analysis: what the quick one found
                self.failed = None
            if not outdated():
                return

    def _show(self, found: Findings) -> None:
        self.findings = found
        if found.check is not None and found.check.ok:
            self.good = found.check
        self._known.set()
        self._reported(self)

    def _quick(self, text: str, outdated: Callable[[], bool]) -> Findings:
        with stopped_by(outdated):
            if self.language is None:
                from glyphscope.cli.lsp.registries import (
                    registry_problems,  # imports what grammars do not need
                )

                return Findings(text, registry_problems(text, self.path)[:MAX_REPORTED])
            check = self.language.check(text, cancel=outdated)
            return Findings(text, check.as_json()["diagnostics"][:MAX_REPORTED], check)

    def _long(self, found: Findings, outdated: Callable[[], bool]) -> bool:
        """Whether it found anything."""
        with stopped_by(outdated):
            if found.check is not None:
                grammar = found.check.grammar
                found.ambiguous = dict(ambiguous_rules(grammar)) if grammar is not None else {}
                return bool(found.ambiguous)
            from glyphscope.cli.lsp.registries import unenforced_problems

            found.more = list(unenforced_problems(found.text, self.path))
            return bool(found.more)
