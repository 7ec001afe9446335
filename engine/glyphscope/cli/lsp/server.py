"""The language server: each request of the protocol, answered by `grammars.py` and `registries.py`.

Nothing here takes long: texts are analysed in other threads (`documents.py`), and so is what a hover shows.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from glyphscope.cli.lsp import grammars
from glyphscope.cli.lsp.documents import Findings, OpenText
from glyphscope.cli.problems import FileProblem, is_grammar
from glyphscope.grammar.languages import LANGUAGES, LARK, language_of

NAME = "glyphscope"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}
_FIX_ALL = types.CodeActionKind.SourceFixAll
_NOT_NEEDED = frozenset({"unused-rule", "unreachable-rule"})


class Server(LanguageServer):
    """The server with the open texts, by their URI."""

    def __init__(self) -> None:
        # whole texts: pygls applies partial changes by lines that are not those of the protocol
        super().__init__(NAME, version(NAME), types.TextDocumentSyncKind.Full)
        self.texts: dict[str, OpenText] = {}

    def open(self, document: types.TextDocumentItem) -> None:
        """Analyse a text from now on."""
        path = to_fs_path(document.uri) or document.uri
        by_id = next((each for each in LANGUAGES if each.name.lower() == document.language_id.lower()), None)
        language = by_id or (language_of("", path) if is_grammar(path) else None)
        encoding = str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))
        self.texts[document.uri] = OpenText(
            path, language, encoding, lambda text: self._show(document.uri, text)
        )
        self.texts[document.uri].change(document.text, document.version)

    def close(self, uri: str) -> None:
        """Forget a text."""
        if opened := self.texts.pop(uri, None):
            opened.close()
            self._publish(uri, None, [])

    def grammar(self, uri: str) -> OpenText | None:
        """The open text if it is a grammar."""
        opened = self.texts.get(uri)
        return opened if opened is not None and opened.language is not None else None

    def _show(self, uri: str, opened: OpenText) -> None:
        if self.texts.get(uri) is not opened:
            return
        if opened.failed is not None:
            words = f"The analysis of {opened.path} failed: {opened.failed!r}"
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, words))
        found = opened.findings
        self._publish(
            uri, opened.version, [_diagnostic(opened, each) for each in (*found.problems, *found.more)]
        )
        client = self.client_capabilities.workspace
        if found.ambiguous and client and client.inlay_hint and client.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def _publish(self, uri: str, number: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, number))


def _diagnostic(opened: OpenText, problem: FileProblem) -> types.Diagnostic:
    return types.Diagnostic(
        opened.places.of(problem),
        problem["message"],
        severity=_SEVERITIES[problem["severity"]],
        code=problem["code"],
        source=NAME,
        tags=[types.DiagnosticTag.Unnecessary] if problem["code"] in _NOT_NEEDED else None,
    )


def make_server() -> Server:
    """The server with all of its features."""
    server = Server()
    _texts(server)
    _names(server)
    _whole_texts(server)
    return server


def _texts(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.open(params.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        if text := server.texts.get(params.text_document.uri):
            text.change(params.content_changes[-1].text, params.text_document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    def shut_down(_params: Any) -> None:
        for uri in list(server.texts):
            server.close(uri)


def _names(server: Server) -> None:
    """Questions about the rule at a position."""

    def named(params: Any) -> tuple[OpenText, str, types.Range] | None:
        text = server.grammar(params.text_document.uri)
        found = grammars.name_at(text, params.position) if text else None
        return (text, *found) if text and found else None

    def uses(params: Any) -> list[types.Range]:
        found = named(params)
        return grammars.occurrences(found[0], found[1], params.position) if found else []

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."]))
    def complete(params: types.CompletionParams) -> types.CompletionList | None:
        text = server.grammar(params.text_document.uri)
        if text is None:
            return None
        return types.CompletionList(is_incomplete=False, items=grammars.completions(text, params.position))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        text = server.texts.get(params.text_document.uri)
        if text is None:
            return None
        if text.language is None:
            return await _hover_of_tools(text, params.position)
        found, known = named(params), await text.known()
        check = text.good if text.good is not None and not (known.check and known.check.ok) else known.check
        if found is None or check is None:
            return None
        words = await asyncio.to_thread(
            grammars.hover_words, check, text.language.name, found[1], known.ambiguous
        )
        return _hover(words, found[2])

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def define(params: types.DefinitionParams) -> types.Location | None:
        found = named(params)
        place = grammars.definition(found[0], found[1], params.position) if found else None
        return types.Location(params.text_document.uri, place) if place else None

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def refer(params: types.ReferenceParams) -> list[types.Location]:
        found = named(params)
        omitted = None
        if found and not params.context.include_declaration:
            omitted = grammars.definition(found[0], found[1], params.position)
        return [types.Location(params.text_document.uri, each) for each in uses(params) if each != omitted]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        return [types.DocumentHighlight(each) for each in uses(params)]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: types.PrepareRenameParams) -> types.Range | None:
        found = named(params)
        return found[2] if found else None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        found = named(params)
        if found is None:
            return None
        text, old, _ = found
        if not grammars.lexer_of(text).is_name(params.new_name, old):
            words = f"{params.new_name!r} cannot replace the name {old}. Use letters"
            words += (
                ", small ones for a rule, capital ones for a terminal."
                if text.language is LARK
                else ", digits and hyphens."
            )
            raise JsonRpcInvalidParams(words)
        if params.new_name != old and grammars.definition(text, params.new_name, params.position):
            raise JsonRpcInvalidParams(f"There is a rule {params.new_name} already. Choose another name.")
        edits = [types.TextEdit(each, params.new_name) for each in uses(params)]
        return types.WorkspaceEdit({params.text_document.uri: edits})


async def _hover_of_tools(text: OpenText, position: types.Position) -> types.Hover | None:
    found = await text.known()
    from glyphscope.cli.lsp.registries import hover_words

    offset = text.places.offset(position)
    words = await asyncio.to_thread(hover_words, found.text, text.path, offset, found.more)
    return _hover(words[0], text.places.span(words[1], words[2])) if words else None


def _hover(words: str, place: types.Range) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, words), place)


def _whole_texts(server: Server) -> None:
    """Questions about a text as a whole."""
    kinds = [types.CodeActionKind.QuickFix, _FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def act(params: types.CodeActionParams) -> list[types.CodeAction]:
        text = server.texts.get(params.text_document.uri)
        if text is None:
            return []
        found, only = await text.known(), params.context.only
        requested = [kind for kind in kinds if only is None or any(kind.startswith(each) for each in only)]
        actions = []
        if types.CodeActionKind.QuickFix in requested:
            actions += [_fix(params.text_document.uri, text, each) for each in found.problems
                        if each.get("fix") and _overlap(text.places.of(each), params.range)]  # fmt: skip
        if _FIX_ALL in requested and (fixed := await _fixed(text, found)) is not None:
            edit = types.WorkspaceEdit({params.text_document.uri: [fixed]})
            actions.append(types.CodeAction("Apply all fixes that need no decision", _FIX_ALL, edit=edit))
        return actions

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def form(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        text = server.grammar(params.text_document.uri)
        found = await text.known() if text else None
        if text is None or found is None or found.check is None or text.language is None:
            return []
        return _whole(text, await asyncio.to_thread(text.language.print_text, found.check.document))

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        text = server.grammar(params.text_document.uri)
        shown = grammars.hints(text, await text.known()) if text else ()
        first, last = params.range.start, params.range.end
        return [each for each in shown if first <= each.position <= last]

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, grammars.COLOURS)
    async def colour(params: types.SemanticTokensParams) -> types.SemanticTokens | None:
        text = server.grammar(params.text_document.uri)
        return types.SemanticTokens(await asyncio.to_thread(grammars.colours, text)) if text else None

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        text = server.grammar(params.text_document.uri)
        return list(grammars.symbols(text, await text.known())) if text else []


def _overlap(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _fix(uri: str, text: OpenText, problem: FileProblem) -> types.CodeAction:
    edits = [types.TextEdit(text.places.of(edit), edit["text"]) for edit in problem["fix"]["edits"]]
    return types.CodeAction(
        problem["fix"]["title"],
        types.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(text, problem)],
        is_preferred=problem["severity"] == "error",
        edit=types.WorkspaceEdit({uri: edits}),
    )


async def _fixed(text: OpenText, found: Findings) -> types.TextEdit | None:
    """The text with all fixes that need no decision, if there are any."""
    if found.check is None or text.language is None or found.check.ok:
        return None
    fixed, number = await asyncio.to_thread(text.language.fix, found.check)
    return next(iter(_whole(text, fixed)), None) if number else None


def _whole(text: OpenText, new: str) -> list[types.TextEdit]:
    old = text.places.text
    return [types.TextEdit(text.places.span(0, len(old)), new)] if new != old else []
