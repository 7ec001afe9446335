"""The demo tools as a source: the tools, the functions that execute them, and the results for the model.

Every tool is bounded to milliseconds, so a call is not interrupted; it is not started if it was already cancelled.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, Unpack

from glyphscope.base import resources
from glyphscope.base.errors import ToolError
from glyphscope.events import ToolContent
from glyphscope.registry import Tool, default_registry, load_registry
from glyphscope.tools.arguments import argument_problems
from glyphscope.tools.demo.calculator import calculate
from glyphscope.tools.demo.corpus import DEFAULT_RESULTS, Document, bundled_corpus
from glyphscope.tools.demo.outbox import Mail, Outbox
from glyphscope.tools.demo.scratch import Scratch
from glyphscope.tools.demo.workspace import Workspace
from glyphscope.tools.source import TOOLS, Answer, CallOptions, Outcome

Place: TypeAlias = Literal["scratch", "outbox", "workspace"]
Arguments: TypeAlias = dict[str, Any]

_READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}
_CLAIMS: dict[str, dict[str, Any]] = {
    "write_file": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
    "send_email": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    "execute": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    "state_patch": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
}


class DemoTools:
    """The tools of the default registry, of the workspace and of plug-ins, with their effects for inspection.

    `changed`, if given, is called with the changed place, in the thread of the call and after the change; it may read
    everything here, but must not wait. If it is set later, it is called from the next change on.
    """

    name = identity = "demo"

    def __init__(
        self,
        scratch: Path | None = None,
        workspace: dict[str, Any] | None = None,
        changed: Callable[[Place], None] | None = None,
    ) -> None:
        """`scratch` is created when a file is written, and kept; without it, a temporary folder lasts until `close`."""
        self.changed = changed
        self.scratch = Scratch(scratch)
        """The files; views use `scratch.files()` and `scratch.read(path)`."""
        self._outbox = Outbox()
        self._workspace = Workspace(workspace)
        self._tools = {tool.name: tool for tool in demo_tools()}
        self._executor: dict[str, Callable[[Arguments], Outcome]] = {
            "calculate": self._calculate,
            "search": self._search,
            "browse": self._browse,
            "read_file": self._read_file,
            "write_file": self._write_file,
            "send_email": self._send_email,
            "execute": self._execute,
            "state_get": self._state_get,
            "state_patch": self._state_patch,
            **{
                name: partial(_executed, answer)
                for _, added in TOOLS.all()
                for name, answer in added.functions.items()
                if name in self._tools
            },
        }

    @property
    def outbox(self) -> tuple[Mail, ...]:
        """The e-mails of send_email, oldest first."""
        return self._outbox.mails

    @property
    def workspace(self) -> dict[str, Any]:
        """A copy of the workspace's document, as plain JSON data."""
        return self._workspace.data()

    def tools(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    def claims(self, tool: str) -> dict[str, Any]:
        if tool not in self._tools:
            return {}
        return dict(_CLAIMS.get(tool, _READ_ONLY))

    def call(self, tool: str, arguments: Arguments, **options: Unpack[CallOptions]) -> Outcome:
        known = self._tools.get(tool)
        if known is None:
            # without the existing names: the run may not allow them, and the model reads this
            return Outcome(
                fault="unknown", message=f"No executor for '{tool[:60]}': no demo tool has that name."
            )
        if options["cancel"].is_set():
            return Outcome(fault="cancelled", message="The call was cancelled before it began.")
        if wrong := argument_problems(known, arguments):
            return Outcome(fault="tool", message=wrong)
        try:
            return self._executor[tool](arguments)
        except ToolError as error:
            return Outcome(fault="tool", message=str(error))

    def close(self) -> None:
        self.scratch.close()

    def _report(self, place: Place) -> None:
        if (changed := self.changed) is not None:
            changed(place)

    def _calculate(self, given: Arguments) -> Outcome:
        precision = given.get("precision")
        result = calculate(given["expression"], None if precision is None else int(precision))
        return _said(result.text, {"result": result.value, "exact": result.exact})

    def _search(self, given: Arguments) -> Outcome:
        most = int(given.get("max_results", DEFAULT_RESULTS))
        hits = bundled_corpus().search(given["query"], most, given.get("sources", ()))
        results = [
            {
                "title": hit.document.title,
                "url": hit.document.url,
                "date": hit.document.date,
                "source": hit.document.source,
                "snippet": hit.snippet,
            }
            for hit in hits
        ]
        lines = [
            f"{number}. {hit.document.title} ({_about(hit.document)})\n   {hit.document.url}\n   {hit.snippet}"
            for number, hit in enumerate(hits, 1)
        ]
        text = "\n".join(lines) or "No page of the offline corpus fits. Try fewer or more common words."
        return _said(text, {"results": results})

    def _browse(self, given: Arguments) -> Outcome:
        page = bundled_corpus().page(given["url"])
        text = f"{page.title} ({_about(page)})\n\n{page.text}"
        return _said(text, {"url": page.url, "title": page.title, "date": page.date, "text": page.text})

    def _read_file(self, given: Arguments) -> Outcome:
        path, encoding = given["path"], given.get("encoding", "utf8")
        data = self.scratch.read(path)
        if encoding == "base64":
            return _said(base64.b64encode(data).decode("ascii"))
        if encoding == "binary":
            content = ToolContent(
                kind="resource", data=data, mime="application/octet-stream", name=path, size=len(data)
            )
            return Outcome(content=(ToolContent(text=f"{len(data):,} bytes of {path}."), content))
        try:
            return _said(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ToolError(
                f'"{path}" is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02X}.',
                hint="Read it with encoding base64.",
            ) from None

    def _write_file(self, given: Arguments) -> Outcome:
        path, mode = given["path"], given.get("mode", "overwrite")
        try:
            data = given["content"].encode("utf-8")
        except UnicodeEncodeError as error:
            raise ToolError(
                f"The content is not valid Unicode: character {error.start + 1} is half of a pair.",
                hint="Leave the escape of a lone surrogate out.",
            ) from None
        size = self.scratch.write(path, data, mode)
        self._report("scratch")
        verb = "Added to" if mode == "append" else "Wrote"
        return _said(f"{verb} {path}: it has {size:,} bytes.", {"path": path, "bytes": size})

    def _send_email(self, given: Arguments) -> Outcome:
        mail = self._outbox.put(given["to"], given["subject"], given["body"], given.get("cc", ()))
        self._report("outbox")
        text = f"Message {mail.number} to {mail.to} is in the outbox. This is a demo: nothing leaves this machine."
        return _said(text, {"message": mail.number, "to": mail.to, "cc": list(mail.cc), "sent": False})

    def _execute(self, given: Arguments) -> Outcome:
        raise ToolError(
            "Refused by policy: commands are never run here, whatever they are.", hint="Use another tool."
        )

    def _state_get(self, given: Arguments) -> Outcome:
        path = given.get("path", "")
        value, revision = self._workspace.get(given["workspace_id"], path)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return _said(text, {"path": path, "value": value, "revision": revision})

    def _state_patch(self, given: Arguments) -> Outcome:
        operations = given["ops"]
        revision = self._workspace.patch(given["workspace_id"], operations)
        self._report("workspace")
        done = f"{len(operations)} operations were" if len(operations) > 1 else "1 operation was"
        paths = [operation["path"] for operation in operations]
        return _said(
            f"{done} applied; the workspace is at revision {revision}.",
            {"revision": revision, "paths": paths},
        )


@lru_cache(maxsize=1)
def demo_tools() -> tuple[Tool, ...]:
    """All bundled tools, with their schemas."""
    workspace = load_registry(resources.read_text("registries/workspace.json"))
    added = (tool for _, each in TOOLS.all() for tool in each.tools())
    return (*default_registry(), *workspace, *added)


def _executed(answer: Callable[..., Answer], arguments: Arguments) -> Outcome:
    return _said(*answer(**arguments))


def _said(text: str, structured: Any = None) -> Outcome:
    return Outcome(content=(ToolContent(text=text),), structured=structured)


def _about(page: Document) -> str:
    parts = [page.date, page.source, "invented for this demo" if page.invented else ""]
    return ", ".join(part for part in parts if part)
