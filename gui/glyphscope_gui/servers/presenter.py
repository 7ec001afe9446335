"""The page of MCP: servers and their tools, enforcement of the tools' schemas, and import into the registry."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from PySide6.QtCore import QObject, QTimer

from glyphscope.base.errors import ServerError
from glyphscope.base.visible import visible
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.tools import CallOptions, Outcome, ToolSource
from glyphscope.tools.mcp.offers import Completion, Offer, Offers
from glyphscope.tools.mcp.server import McpServer, Updates
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.mcp.server_source import ServerSource
from glyphscope_gui.mcp.servers import DEMO
from glyphscope_gui.servers.call_form import ServerCallForm
from glyphscope_gui.servers.calls import SECONDS, CallPresenter
from glyphscope_gui.servers.card import SignInPresenter
from glyphscope_gui.servers.debugging import DebugPresenter
from glyphscope_gui.servers.demo_effects import DemoEffectsPresenter
from glyphscope_gui.servers.dialogs import FoundServer, ImportServersDialog, ServerDialog
from glyphscope_gui.servers.lists import OfferTable, ToolRow
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.servers.questions import QuestionsPresenter
from glyphscope_gui.servers.tools import ToolProofs, clashes, plan_import, registry_words
from glyphscope_gui.servers.words import enforcement_words
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.dialogs import Role, ask
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import HeaderPart, PageId

# -- resources and prompts of the chosen server ------------------------------------------------------------

AGAIN_MS = 300
"""Delay from an update of a subscribed resource to reading it again, as a server may report many updates."""
COMPLETE_SECONDS = 10.0
"""Timeout of a server's answer with values for an argument."""
MAX_PROBLEMS = 3
"""Problems of a list that are shown above it."""


class OffersPresenter(QObject):
    """Shows the offers of the server set by `show`; requests are sent to that server."""

    def __init__(self, context: AppContext, view: ServersPage) -> None:
        super().__init__(view)
        self._view = view
        self._source: ServerSource | None = None
        self._listed: Offers | None = None
        """The shown lists."""
        self.resources = CallPresenter(context, view.resource)
        self.prompts = CallPresenter(context, view.prompt)
        self._background = Background(self)
        self._read: tuple[str, Updates] = ("", Updates())
        """The last resource that was read again, and its updates at that time."""
        self._again = QTimer(self, singleShot=True, interval=AGAIN_MS)
        self._again.timeout.connect(self._read_again)
        self.resources.jobs.ended.connect(lambda _view: self._show_subscription())
        view.resource.subscribe_box.clicked.connect(self._subscribe)
        view.resource.form.changed.connect(self._show_subscription)
        for panel, calls, offers in (
            (view.resource, self.resources, view.resources),
            (view.prompt, self.prompts, view.prompts),
        ):
            offers.chosen.connect(partial(self._chosen, calls))
            panel.form.valuesRequested.connect(partial(self._complete, panel.form, offers))

    def show(self, source: ServerSource | None) -> None:
        """Show the current lists of a server; None for the demo tools, which have none."""
        view, ready = self._view, source is None or source.is_ready
        offers = source.server.offers if source is not None else Offers()
        if source is not self._source:
            self._source, self._listed = source, None
            view.resources.forget()
            view.prompts.forget()
        view.resource.set_ready(ready)
        view.prompt.set_ready(ready)
        self._show_subscription()
        if self._listed != offers:
            self._listed = offers
            view.resources.model.show((*offers.resources, *offers.templates))
            view.prompts.model.show(offers.prompts)
        self._say(view.resources, "resources", offers, ready, tr("The server offers no resources."))
        self._say(view.prompts, "prompts", offers, ready, tr("The server offers no prompts."))

    def _say(self, shown: OfferTable, kind: str, offers: Offers, ready: bool, none: str) -> None:
        found = [visible(words) for of, words in offers.problems if of == kind]
        problem = "\n".join(found[:MAX_PROBLEMS])
        if (more := len(found) - MAX_PROBLEMS) > 0:
            problem += "\n" + tr("and %n more", "", more)
        waits = kind in offers.kinds and kind not in offers.listed
        empty = tr("Reading the list…") if waits and ready else none
        shown.show_words(
            empty if ready or kind in offers.listed else tr("Start the server to see them."), problem
        )

    def _chosen(self, calls: CallPresenter, offer: Offer | None) -> None:
        source = self._source
        row = ToolRow(offer.address, offer.form) if offer is not None else None
        request = partial(_fetch, source, offer) if source is not None and offer is not None else None
        calls.show(source.name if source is not None else "", row, request)
        self._show_subscription()

    @property
    def _server(self) -> McpServer | None:
        """The server, if it is ready."""
        return self._source.server if self._source is not None and self._source.is_ready else None

    def _complete(self, form: ServerCallForm, offers: OfferTable, name: str, asked: bool) -> None:
        """Request values for an argument from a ready server; if `asked`, show why there are none."""
        self._background.drop("complete")
        server, offer = self._server, offers.current
        if server is None or offer is None:
            return
        given = {key: value for key, value in form.filled().items() if isinstance(value, str)}
        text = given.pop(name, "")

        def done(found: Completion) -> None:
            if form.filled().get(name, "") != text:
                return
            form.offer_values(name, found.values)
            if asked and not found.values:
                form.messageChanged.emit(found.problem or tr("The server proposes no values."))

        self._background.start(
            "complete",
            lambda: server.complete(
                offer, name, text, others=given, seconds=COMPLETE_SECONDS, cancel=this_task().stopped
            ),
            done,
        )

    def _uri(self) -> str:
        """The shown resource; "" if there is none, and for a template that is not filled in."""
        panel, offer = self._view.resource, self._view.resources.current
        try:
            return str(offer.request(panel.form.arguments())[1]["uri"]) if offer is not None else ""
        except (ServerError, ValueError):
            return ""

    def _show_subscription(self) -> None:
        """Show the subscription to the shown resource; read it again after an update, unless it is being read."""
        server, uri = self._server, self._uri()
        can = server is not None and "resources/subscribe" in server.about.features and bool(uri)
        updates = server.subscriptions.get(uri) if server is not None else None
        self._view.resource.show_subscription(updates, can=can)
        if updates is not None and updates.times and self._read != (uri, updates):
            self._again.start()

    def _read_again(self) -> None:
        """Read the shown resource again after an update, or later if it is being read."""
        uri, server = self._uri(), self._server
        updates = server.subscriptions.get(uri) if server is not None else None
        if updates is not None and not self.resources.jobs.is_busy:
            self._read = (uri, updates)
            self._view.resource.call_button.click()

    def _subscribe(self, on: bool) -> None:
        server, uri = self._server, self._uri()
        if server is None or not uri:
            return

        def done(outcome: Outcome) -> None:
            if not outcome.ok:
                self._view.notice.show_words(tr("Not subscribed: {reason}", reason=outcome.message))
            self._show_subscription()

        self._background.start(
            f"subscribe {uri}",
            lambda: server.subscribe(uri, on=on, seconds=SECONDS, cancel=this_task().stopped),
            done,
        )


def _fetch(
    source: ServerSource, offer: Offer, arguments: dict[str, Any], **limits: Unpack[CallOptions]
) -> Outcome:
    try:
        method, params = offer.request(arguments)
    except ServerError as error:
        return Outcome(fault="protocol", message=error.message)
    return source.fetch(method, params, **limits)


# -- the page ----------------------------------------------------------------------------------------------

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
    title = tr("MCP")
    tip = tr("Connect MCP servers, call their tools, and inspect the effects of the demo tools")

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._servers = context.services.servers
        self._document = context.project.tools
        self.view = ServersPage(self._servers, self._in_registry)
        self.widget = self.view
        self.calls = CallPresenter(context, self.view.panel)
        self.offers = OffersPresenter(context, self.view)
        self.questions = QuestionsPresenter(context, self.view.question)
        self.debug = DebugPresenter(context, self.view)
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
            (card.edit_button, self.ask_to_edit),
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
        self.proofs.proved.connect(self._show_enforcement)

    def _connect_window(self) -> None:
        self._document.changed.connect(lambda _registry: self.view.tools.model.refresh_registry())
        self.context.project.optionsChanged.connect(self._options_changed)
        self.context.navigator.shown.connect(self._page_shown)
        self.context.themes.changed.connect(lambda _theme: self.view.list.viewport().update())
        if self._servers.notice:
            self.view.notice.show_words(self._servers.notice)

    # -- the list ----------------------------------------------------------------------------------------------

    def ask_to_add(self) -> None:
        dialog = ServerDialog({source.name for source in self._servers.known}, self.context.window)
        dialog.chosen.connect(self._add)
        dialog.open()

    def ask_to_edit(self, name: str) -> None:
        others = {source.name for source in self._servers.known} - {name}
        dialog = ServerDialog(others, self.context.window, self._servers.get(name))
        dialog.chosen.connect(partial(self._edit, name))
        dialog.open()

    def ask_to_import(self) -> None:
        dialog = ImportServersDialog({source.name for source in self._servers.known}, self.context.window)
        dialog.chosen.connect(self._import_servers)
        dialog.open()

    def _add(self, name: str, entry: dict[str, Any], allowed: bool) -> None:
        name = self._servers.add(name, entry, allowed=allowed)
        self.view.list.choose(name)
        self._servers.start(name)

    def _edit(self, name: str, new: str, entry: dict[str, Any], allowed: bool) -> None:
        """Configure a server otherwise; its tools in the project follow another name."""
        source = self._servers.get(name)
        if source is None or (name, source.entry) == (new, entry):
            return
        self.current = ""
        self._servers.edit(name, new, entry, allowed=allowed)
        if new != name:
            renamed = {
                tool: new + key.removeprefix(name) if key.partition("/")[0] == name else key
                for tool, key in self._sources.items()
            }
            self.context.project.set_options(sources=renamed)
        self.view.list.choose(new)
        self._show_server(new)

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
        if (source := self.source) is None:
            self.view.card.show_demo(len(self._servers.demo.tools()))
        else:
            self.view.card.show_server(source)
        self.debug.show(source)

    def _show_tools(self) -> None:
        """Show the list only if it differs, as a server may report a change at any time."""
        view, source, tools = self.view, self.source, self._tools.tools()
        server = source.server if source is not None else None
        problems = server.tool_problems if server is not None else ()
        listed = (self.current, id(server), tools, problems)
        view.panel.set_ready(source is None or source.is_ready)
        self.offers.show(source)
        if listed != self._listed:
            keep = bool(self._listed) and self._listed[0] == self.current
            self._listed = listed
            warnings = {problem.tool: problem.message for problem in problems if problem.usable}
            claims = self._tools.claims
            rows = [
                ToolRow(tool.name, tool, warnings.get(tool.name, ""), claims(tool.name)) for tool in tools
            ]
            rows += [
                ToolRow(problem.tool, None, problem.message) for problem in problems if not problem.usable
            ]
            view.tools.model.show(rows, keep=keep)
            self._show_enforcement()
            self._prove_timer.start()
        problem = server.list_problem if server is not None else ""
        view.tools.show_words(self._empty_words(source), problem)

    def _empty_words(self, source: ServerSource | None) -> str:
        if source is None or source.problem:
            return tr("No tools.")
        if source.needs_consent and source.enabled:
            return tr("Allow the server before starting it.")
        downloads = tr("Starting…\nA launcher may have to download the server first.")
        again = tr("Start the server again to see its tools.")
        words = {
            "ready": tr("The server lists no tools."),
            "starting": downloads if source.config.command else tr("Starting…"),
            "stopping": tr("Stopping…"),
            "failed": again,
            "ended": again,
        }
        return words.get(source.phase, tr("Start the server to see its tools."))

    @property
    def source(self) -> ServerSource | None:
        """The shown server; None for the demo tools."""
        return self._servers.get(self.current)

    @property
    def _tools(self) -> ToolSource:
        """The source of the shown tools."""
        return self.source or self._servers.demo

    def _in_registry(self, tool: Tool) -> str:
        return registry_words(tool, self.current, self._document.registry, self._sources)

    @property
    def _sources(self) -> dict[str, str]:
        return self.context.project.options.sources

    # -- the log ---------------------------------------------------------------------------------------

    def _log_grew(self, name: str) -> None:
        if name == self.current and (source := self.source) is not None:
            self.view.log.show_entries(source.server.log.entries)

    def _show_stderr(self) -> None:
        if (source := self.source) is not None and self.view.log.views.value == "stderr":
            self.view.log.show_stderr(source.server.stderr)

    # -- tools: proofs and import ------------------------------------------------------------------------------

    def _tool_chosen(self, row: ToolRow | None) -> None:
        request = None if row is None or row.tool is None else partial(self._tools.call, row.name)
        self.calls.show(self.current, row, request)
        self._show_enforcement()
        self._prove_timer.start()

    def _prove(self) -> None:
        """Prove the chosen and the ticked tools with every engine, and all tools of a small server with the mask."""
        if self.context.navigator.current is not PageId.SERVERS:
            return
        model, current = self.view.tools.model, self.view.panel.tool
        whole = [current] if current is not None else []
        whole += [tool for tool in model.ticked[:MAX_PROVED] if tool != current]
        self.proofs.want(whole, self._few(), self.context.project.options)
        self._show_enforcement()

    def _few(self) -> tuple[Tool, ...]:
        """The tools of the server if they are few enough to prove all."""
        tools = self._tools.tools()
        return tools if len(tools) <= FEW else ()

    def _show_enforcement(self) -> None:
        """Show what is known so far, in the list and for the chosen tool."""
        model, current = self.view.tools.model, self.view.panel.tool
        tools = [*self._few(), *model.ticked[:MAX_PROVED], *([current] if current is not None else [])]
        found = {tool.name: self.proofs.rows(tool) for tool in tools}
        model.set_enforcement(
            {name: enforcement_words(rows) for name, rows in found.items() if rows is not None}
        )
        self.view.panel.show_enforcement(self.proofs.whole_rows(current) if current is not None else None)

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
