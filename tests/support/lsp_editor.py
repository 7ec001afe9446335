"""An editor that talks to `glyphscope lsp`: pytest-lsp's client, which checks each answer against its capabilities."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any

from lsprotocol import types
from pytest_lsp import ClientServerConfig, client_capabilities

WHOLE = types.Range(types.Position(0, 0), types.Position(100_000, 0))


class Editor:
    """A session in the test's thread; its methods answer with what a user of the editor sees."""

    def __init__(self, client: str = "visual_studio_code", encoding: str = "") -> None:
        self._loop = asyncio.new_event_loop()
        self._versions: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._open: set[str] = set()
        self._reports: list[tuple[str, int | None]] = []
        self._news = asyncio.Event()
        self.capabilities = client_capabilities(client)
        if encoding:
            assert self.capabilities.general is not None
            self.capabilities.general.position_encodings = [types.PositionEncodingKind(encoding)]

    def __enter__(self) -> Editor:
        command = [sys.executable, "-m", "glyphscope", "lsp", "--stdio"]
        self.client: Any = self.run(ClientServerConfig(command).start())
        features = self.client.protocol.fm.features
        shown = features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS]
        features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = lambda found: (
            shown(found),
            self._reported(found),
        )
        self.client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)(lambda *_: None)
        given = types.InitializeParams(capabilities=self.capabilities, root_uri="file:///grammars")
        self.offered = self.run(self.client.initialize_session(given)).capabilities
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.client.shutdown_session())
        self.run(self.client.stop())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, work: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(work, 60))

    # texts

    def open(self, name: str, text: str) -> Sequence[types.Diagnostic]:
        """The diagnostics of a text after it is opened, or after it is changed."""
        self.change(name, text)
        return self._after_reports(name, 1)

    def reports(self, name: str) -> int:
        """How many versions of the text have got diagnostics."""
        return len({number for uri, number in self._reports if uri == _uri(name)})

    def change(self, name: str, text: str) -> None:
        """Open or change a text, without waiting."""
        uri, number = _uri(name), self._versions.get(name, 0) + 1
        self._versions[name], self._texts[name] = number, text
        if name not in self._open:
            self._open.add(name)
            item = types.TextDocumentItem(uri, name.rpartition(".")[2], number, text)
            self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        else:
            change = types.TextDocumentContentChangeWholeDocument(text)
            which = types.VersionedTextDocumentIdentifier(number, uri)
            self.client.text_document_did_change(types.DidChangeTextDocumentParams(which, [change]))

    def _reported(self, found: types.PublishDiagnosticsParams) -> None:
        self._reports.append((found.uri, found.version))
        self._news.set()

    def _after_reports(self, name: str, number: int) -> Sequence[types.Diagnostic]:
        async def wait() -> None:
            while self._reports.count((_uri(name), self._versions[name])) < number:
                self._news.clear()
                await self._news.wait()

        self.run(wait())
        return self.client.diagnostics[_uri(name)]

    def long_analysis(self, name: str) -> Sequence[types.Diagnostic]:
        """The diagnostics after the second report about the text."""
        return self._after_reports(name, 2)

    def close(self, name: str) -> None:
        which = types.TextDocumentIdentifier(_uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(which))
        self._open.remove(name)

    def keystroke(self, name: str, text: str) -> float:
        """The seconds from a change to its diagnostics."""
        began = time.perf_counter()
        self.open(name, text)
        return time.perf_counter() - began

    # questions; a place is a line and a column, both from 0, in the units of the session

    def ask(self, method: str, params: type, name: str, **more: Any) -> Any:
        return self.run(
            getattr(self.client, f"text_document_{method}_async")(
                params(text_document=types.TextDocumentIdentifier(_uri(name)), **more)
            )
        )

    def completions(self, name: str, place: tuple[int, int]) -> list[str]:
        found = self.ask("completion", types.CompletionParams, name, position=types.Position(*place))
        return [item.text_edit.new_text for item in found.items] if found else []

    def hover(self, name: str, place: tuple[int, int]) -> str:
        found = self.ask("hover", types.HoverParams, name, position=types.Position(*place))
        return found.contents.value if found else ""

    def definition(self, name: str, place: tuple[int, int]) -> str:
        found = self.ask("definition", types.DefinitionParams, name, position=types.Position(*place))
        return str(found.range) if found else ""

    def references(self, name: str, place: tuple[int, int], declaration: bool = True) -> list[str]:
        context = types.ReferenceContext(declaration)
        position = types.Position(*place)
        found = self.ask("references", types.ReferenceParams, name, position=position, context=context)
        return [str(each.range) for each in found]

    def renamed(self, name: str, place: tuple[int, int], new: str) -> str:
        """The text after a renaming. Raises JsonRpcException."""
        position = types.Position(*place)
        found = self.ask("rename", types.RenameParams, name, position=position, new_name=new)
        return self._edited(name, found.changes[_uri(name)]) if found else self._texts[name]

    def formatted(self, name: str) -> str:
        options = types.FormattingOptions(tab_size=2, insert_spaces=True)
        return self._edited(
            name, self.ask("formatting", types.DocumentFormattingParams, name, options=options)
        )

    def hints(self, name: str) -> list[str]:
        found = self.ask("inlay_hint", types.InlayHintParams, name, range=WHOLE)
        return [f"{each.position} {each.label}" for each in found]

    def outline(self, name: str) -> list[str]:
        return [each.name for each in self.ask("document_symbol", types.DocumentSymbolParams, name)]

    def colours(self, name: str) -> list[tuple[str, str]]:
        """The coloured words, each with its type and modifiers."""
        found = self.ask("semantic_tokens_full", types.SemanticTokensParams, name)
        legend = self.offered.semantic_tokens_provider.legend
        words, line, column = [], 0, 0
        for at in range(0, len(found.data), 5):
            down, right, size, kind, modifiers = found.data[at : at + 5]
            line, column = line + down, right if down else column + right
            start, end = (
                self._offset(self._texts[name], types.Position(line, column + more)) for more in (0, size)
            )
            more = [str(each) for bit, each in enumerate(legend.token_modifiers) if modifiers >> bit & 1]
            words.append((self._texts[name][start:end], " ".join([str(legend.token_types[kind]), *more])))
        return words

    def actions(self, name: str, place: types.Range = WHOLE) -> dict[str, str]:
        """The text after each code action, by title."""
        context = types.CodeActionContext([])
        found = self.ask("code_action", types.CodeActionParams, name, range=place, context=context)
        return {each.title: self._edited(name, each.edit.changes[_uri(name)]) for each in found}

    def _edited(self, name: str, edits: Sequence[types.TextEdit]) -> str:
        text = self._texts[name]
        for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
            start, end = (self._offset(text, at) for at in (edit.range.start, edit.range.end))
            text = text[:start] + edit.new_text + text[end:]
        return text

    def _offset(self, text: str, position: types.Position) -> int:
        """As the protocol defines it, without the server's code."""
        lines = text.replace("\r\n", "\n\n").replace("\r", "\n").split("\n")
        assert "\r" not in text, "the tests' texts end lines with \\n"
        if position.line >= len(lines):
            return len(text)
        codec = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
        name, size = codec[
            str(getattr(self.offered.position_encoding, "value", self.offered.position_encoding))
        ]
        before = lines[position.line].encode(name)[: position.character * size].decode(name)
        return sum(len(line) + 1 for line in lines[: position.line]) + len(before)


def _uri(name: str) -> str:
    return f"file:///grammars/{name}"


def row(found: types.Diagnostic) -> str:
    """`0:5-0:9 error undefined-rule: The rule …`."""
    assert found.severity is not None
    return f"{found.range} {found.severity.name.lower()} {found.code}: {found.message}"
