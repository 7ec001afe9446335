"""The servers' page: servers and their tools, enforcement of the tools' schemas, and import into the registry."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QTimer

from glyphscope.registry import Tool, ToolRegistry
from glyphscope.tools.mcp.server import McpServer
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.mcp.server_source import KnownServer
from glyphscope_gui.mcp.servers import DEMO
from glyphscope_gui.servers.call_presenter import CallPresenter
from glyphscope_gui.servers.debug_presenter import DebugPresenter
from glyphscope_gui.servers.demo_effects import DemoEffectsPresenter
from glyphscope_gui.servers.dialogs import AddServerDialog, ImportServersDialog
from glyphscope_gui.servers.import_file import FoundServer
from glyphscope_gui.servers.list_view import ServersListModel
from glyphscope_gui.servers.offers_presenter import OffersPresenter
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.servers.questions_presenter import QuestionsPresenter
from glyphscope_gui.servers.sign_in_presenter import SignInPresenter
from glyphscope_gui.servers.tool_calls import SECONDS, Work
from glyphscope_gui.servers.tool_import import clashes, plan_import, registry_words
from glyphscope_gui.servers.tool_model import ToolRow, enforcement_words
from glyphscope_gui.servers.tool_proofs import ToolProofs
from glyphscope_gui.shared.dialogs import Role, ask
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import HeaderPart, PageId

FEW = 30
"""Number of tools up to which all of a server's tools are proved with the mask, chosen or not."""
MAX_PROVED = 40
"""Ticked tools that are proved with every engine."""
STDERR_MS = 500
"""Interval of updates of the process's stderr, while the page is shown."""
PROVE_MS = 200
"""Delay after the last change of the tools or settings before the tools are proved."""


class ServersPresenter(Page):
    """Shows one server at a time: its card, its tools with their enforcement, and its log.

    Manual calls, resources and prompts, requests to the user, debugging, sign-in and the demo tools' effects have
    separate presenters.
    """

    id = PageId.SERVERS
    title = tr("Servers")
    tip = tr("Connect MCP servers, call their tools, and inspect the effects of the demo tools")

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._servers = context.services.servers
        self._document = context.project.tools
        self.view = ServersPage(ServersListModel(self._servers))
        self.widget = self.view
        self.calls = CallPresenter(context, self.view.panel, self._call_of)
        self.offers = OffersPresenter(context, self.view)
        self.questions = QuestionsPresenter(context, self.view.question)
        self.debug = DebugPresenter(context, self.view, lambda: self.current)
        self.effects = DemoEffectsPresenter(context, self.view.effects)
        self.proofs = ToolProofs(self)
        self.sign_in = SignInPresenter(context, self.view.notice)
        self._listed: tuple[Any, ...] = ()
        """The listed server, its process, its tools and their problems; the list is replaced if any differs."""
        self.current = ""
        """The name of the shown server."""
        self._prove_timer = QTimer(self, singleShot=True, interval=PROVE_MS)
        self._prove_timer.timeout.connect(self._prove)
        self._stderr_timer = QTimer(self, interval=STDERR_MS)
        self._stderr_timer.timeout.connect(self._show_stderr)
        self._connect_servers()
        self._connect_tools()
        self._connect_window()
        self.view.list.choose(DEMO)

    @property
    def header(self) -> frozenset[HeaderPart]:
        return frozenset()

    def close(self) -> None:
        self.questions.stop()
        super().close()

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_servers(self) -> None:
        view, servers = self.view, self._servers
        servers.stateChanged.connect(self._state_changed)
        servers.logGrew.connect(self._log_grew)
        servers.failed.connect(self.context.show_error)
        view.list.chosen.connect(self._show_server)
        view.add_button.clicked.connect(self.ask_to_add)
        view.import_button.clicked.connect(self.ask_to_import)
        card = view.card
        for button, act in (
            (card.consent.button, self._allow),
            (card.sign_in_button, servers.sign_in),
            (card.start_button, servers.start),
            (card.stop_button, servers.stop),
            (card.restart_button, servers.restart),
            (card.remove_button, self._ask_to_remove),
        ):
            button.clicked.connect(lambda _checked=False, act=act: act(self.current))
        card.enabled_box.clicked.connect(lambda on: servers.set_enabled(self.current, on))
        view.log.views.chosen.connect(lambda _view: self._show_stderr())

    def _connect_tools(self) -> None:
        view = self.view
        view.tools.chosen.connect(self._tool_chosen)
        view.tools.import_button.clicked.connect(self._import_tools)
        view.tools.model.checksChanged.connect(self._prove_timer.start)
        self.proofs.proved.connect(self._proved)
        self.proofs.crashed.connect(self.context.show_error)

    def _connect_window(self) -> None:
        self._document.changed.connect(lambda _registry: self.view.tools.model.refresh_registry())
        self.context.project.optionsChanged.connect(self._options_changed)
        self.context.navigator.shown.connect(self._page_shown)
        self.context.themes.changed.connect(lambda _theme: self.view.list.viewport().update())
        if self._servers.notice:
            self.view.notice.show_words(self._servers.notice)

    # -- the list ----------------------------------------------------------------------------------------------

    def ask_to_add(self) -> None:
        dialog = AddServerDialog({known.name for known in self._servers.known}, self.context.window)
        dialog.chosen.connect(self._add)
        dialog.open()

    def ask_to_import(self) -> None:
        dialog = ImportServersDialog({known.name for known in self._servers.known}, self.context.window)
        dialog.chosen.connect(self._import_servers)
        dialog.open()

    def _add(self, name: str, entry: dict[str, Any]) -> None:
        name = self._servers.add(name, entry, allowed=True)
        self.view.list.choose(name)
        self._servers.start(name)

    def _import_servers(self, found: tuple[FoundServer, ...], allowed: bool, replace: bool) -> None:
        names = []
        for server in found:
            may = allowed or bool(server.config.url)
            if replace and self._servers.get(server.name) is not None:
                self._servers.replace(server.name, server.entry, allowed=may)
                names.append(server.name)
            else:
                names.append(self._servers.add(server.name, server.entry, allowed=may))
        if names:
            self.current = "" if self.current in names else self.current
            self.view.list.choose(names[0])
            self._show_server(names[0])

    def _allow(self, name: str) -> None:
        self._servers.allow(name)
        self._servers.start(name)

    def _ask_to_remove(self, name: str) -> None:
        ask(
            self.context.window,
            "removeServerQuestion",
            tr("Remove {name}?", name=name),
            tr(
                "The server and its environment variables are removed. Tools imported from it stay "
                "in the registry."
            ),
            (tr("Remove"), Role.DestructiveRole, lambda: self._servers.remove(name)),
            title=tr("Remove the server"),
        )

    # -- the chosen server -------------------------------------------------------------------------------------

    def _show_server(self, name: str) -> None:
        """Show another server, and clear the views of the previous one."""
        self.current, self._listed = name, ()
        view = self.view
        view.tools.forget()
        view.show_demo(name == DEMO)
        view.log.forget()
        self._show_card()
        self._show_tools()
        self._log_grew(name)
        self._show_stderr()
        if name == DEMO:
            self._stderr_timer.stop()
        elif self.context.navigator.current is PageId.SERVERS:
            self._stderr_timer.start()

    def _state_changed(self, name: str) -> None:
        if name == self.current:
            self._show_card()
            self._show_tools()
            self._show_stderr()

    def _show_card(self) -> None:
        known = self._known
        if known is None:
            self.view.card.show_demo(len(self._servers.demo.tools()))
        else:
            self.view.card.show_server(known)
        self.debug.show()

    def _show_tools(self) -> None:
        """Show the list only if it differs, as a server may report a change at any time."""
        view, source = self.view, self._servers.source(self.current)
        known, server = self._known, self._server
        tools = source.tools() if source is not None else ()
        problems = server.tool_problems if server is not None else ()
        listed = (self.current, id(server), tools, problems)
        ready = known is None or (known.source is not None and known.source.phase == "ready")
        view.panel.set_ready(ready)
        self.offers.show(self.current, ready)
        if listed != self._listed:
            keep = bool(self._listed) and self._listed[0] == self.current
            self._listed = listed
            warnings = {problem.tool: problem.message for problem in problems if problem.usable}
            rows = [ToolRow(tool.name, tool, warnings.get(tool.name, "")) for tool in tools]
            rows += [
                ToolRow(problem.tool, None, problem.message) for problem in problems if not problem.usable
            ]
            view.tools.model.show(rows, self._claims, self._in_registry, keep=keep)
            self._show_enforcement()
            self._prove_timer.start()
        problem = server.list_problem if server is not None else ""
        view.tools.show_words(self._empty_words(known), problem)

    def _empty_words(self, known: KnownServer | None) -> str:
        if known is None or known.source is None:
            return tr("No tools.")
        if known.question is not None and known.enabled:
            return tr("Allow the server before starting it.")
        downloads = tr("Starting…\nA launcher may have to download the server first.")
        again = tr("Start the server again to see its tools.")
        words = {
            "ready": tr("The server lists no tools."),
            "starting": downloads if known.source.config.command else tr("Starting…"),
            "stopping": tr("Stopping…"),
            "failed": again,
            "ended": again,
        }
        return words.get(known.source.phase, tr("Start the server to see its tools."))

    @property
    def _known(self) -> KnownServer | None:
        return self._servers.get(self.current)

    @property
    def _server(self) -> McpServer | None:
        """The running server of the shown configuration, or the last one that ran."""
        source = self._servers.server_source(self.current)
        return source.server if source is not None else None

    def _claims(self, tool: str) -> dict[str, Any]:
        source = self._servers.source(self.current)
        return source.claims(tool) if source is not None else {}

    def _in_registry(self, tool: Tool) -> str:
        return registry_words(tool, self.current, self._document.registry, self._sources)

    @property
    def _sources(self) -> dict[str, str]:
        return self.context.project.options.sources

    def _call_of(self, server: str, tool: str, arguments: dict[str, Any]) -> Work | None:
        source = self._servers.source(server)
        if source is None:
            return None
        return lambda cancel, report: source.call(
            tool, arguments, seconds=SECONDS, cancel=cancel, progress=report
        )

    # -- the log ---------------------------------------------------------------------------------------

    def _log_grew(self, name: str) -> None:
        server = self._server
        if name == self.current and server is not None:
            self.view.log.show_entries(server.log.entries)

    def _show_stderr(self) -> None:
        server = self._server
        if server is not None and self.view.log.views.value == "stderr":
            self.view.log.show_stderr(server.stderr)

    # -- tools: proofs and import ------------------------------------------------------------------------------

    def _tool_chosen(self, row: ToolRow | None) -> None:
        self.calls.show(self.current, row, self._claims(row.name) if row else {})
        self._show_enforcement_of_tool()
        self._prove_timer.start()

    def _prove(self) -> None:
        """Prove the chosen and the ticked tools with every engine, and all tools of a small server with the mask."""
        if self.context.navigator.current is not PageId.SERVERS:
            return
        options = self.context.project.options
        model, current = self.view.tools.model, self.view.panel.tool
        whole = [current] if current is not None else []
        whole += [tool for tool in model.ticked[:MAX_PROVED] if tool != current]
        self.proofs.want(whole, self._few(), options.notation, options.shape, options.order)
        self._show_enforcement()
        self._show_enforcement_of_tool()

    def _few(self) -> tuple[Tool, ...]:
        """The tools of the server if they are few enough to prove all."""
        source = self._servers.source(self.current)
        tools = source.tools() if source is not None else ()
        return tools if len(tools) <= FEW else ()

    def _proved(self, _tool: str) -> None:
        self._show_enforcement()
        self._show_enforcement_of_tool()

    def _show_enforcement(self) -> None:
        model, current = self.view.tools.model, self.view.panel.tool
        tools = [*self._few(), *model.ticked[:MAX_PROVED], *([current] if current is not None else [])]
        found = {tool.name: self.proofs.rows(tool) for tool in tools}
        model.set_enforcement(
            {name: enforcement_words(rows) for name, rows in found.items() if rows is not None}
        )

    def _show_enforcement_of_tool(self) -> None:
        tool = self.view.panel.tool
        self.view.panel.show_enforcement(self.proofs.whole_rows(tool) if tool is not None else None)

    def _import_tools(self) -> None:
        tools = self.view.tools.model.ticked
        if not tools:
            return
        server = self.current
        taken = clashes(tools, server, self._document.registry, self._sources)
        if not taken:
            self._import_as(tools, server, rename=False)
            return
        some = ", ".join(taken[:5]) + (
            tr(" and {count} more", count=len(taken) - 5) if len(taken) > 5 else ""
        )
        ask(
            self.context.window,
            "importClashQuestion",
            tr("The registry already has other tools of the same name: {names}.", names=some),
            tr("Rename the imported tools, or replace yours? You can undo either."),
            (tr("Rename"), Role.AcceptRole, lambda: self._import_as(tools, server, rename=True)),
            (tr("Replace"), Role.DestructiveRole, lambda: self._import_as(tools, server, rename=False)),
            title=tr("Import tools"),
        )

    def _import_as(self, tools: tuple[Tool, ...], server: str, *, rename: bool) -> None:
        plan = plan_import(tools, server, self._document.registry, self._sources, rename=rename)
        self.context.project.set_options(sources=plan.sources)
        self._document.add_all(ToolRegistry(plan.tools), tr("import tools of {server}", server=server))
        self.view.tools.model.tick_all(False)
        one = plan.tools[0].name if len(plan.tools) == 1 else ""
        self.view.notice.show_words(
            tr("{tool} was added to the registry; runs call it on {server}.", tool=one, server=server)
            if one
            else tr(
                "%n tools were added to the registry; runs call them on {server}.",
                "",
                len(plan.tools),
                server=server,
            ),
            tr("Show the tools"),
            lambda: self._show_tool(plan.tools[0].name),
        )

    def _show_tool(self, name: str) -> None:
        self.context.navigator.show(PageId.PLAYGROUND)
        self.context.panels.reveal_argument(name, None, focus=True)

    # -- the project and the window ----------------------------------------------------------------------------

    def _options_changed(self, _options: object) -> None:
        self.view.tools.model.refresh_registry()
        self._prove_timer.start()

    def _page_shown(self, page: PageId) -> None:
        if page is not PageId.SERVERS:
            self._stderr_timer.stop()
            return
        if self.current != DEMO:
            self._stderr_timer.start()
        self._prove_timer.start()
