"""Who hears what about servers: the page, the servers, the registry, and the calls by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QMessageBox

from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.servers.call_presenter import CallsWiring
from glyphscope_gui.servers.dialogs import AddServerDialog, ImportServersDialog
from glyphscope_gui.servers.enforcement_summary import kept_words
from glyphscope_gui.servers.import_file import FoundServer
from glyphscope_gui.servers.known import Known
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.servers.servers import DEMO
from glyphscope_gui.servers.tool_import import clashes, here_words, plan_import
from glyphscope_gui.servers.tool_model import ToolRow
from glyphscope_gui.servers.tool_proofs import ToolProofs
from glyphscope_gui.shared.language import tr

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

SERVERS = "servers"
"""The page's name."""
FEW = 30
"""A server with no more tools has all of them tried by the mask, chosen or not."""
MOST_TRIED = 40
PRINTED_MS = 500
"""How often what a process prints is looked at, while it is in sight."""
SETTLE_MS = 200


class ServersWiring(QObject):
    """Connects the servers' page; nothing else knows both it and the rest of the window."""

    def __init__(self, window: MainWindow, page: ServersPage) -> None:
        super().__init__(window)
        self._window = window
        self._page = page
        self._parts = window.parts
        self._servers = window.parts.servers
        self.calls = CallsWiring(window, page.panel)
        self.proofs = ToolProofs(self)
        self._listed: tuple[Any, ...] = ()
        self._shown = ""
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._settle.timeout.connect(self._prove)
        self._printed = QTimer(self, interval=PRINTED_MS)
        self._printed.timeout.connect(self._show_printed)
        self._connect_servers()
        self._connect_tools()
        self._connect_window()
        page.list.choose(DEMO)

    def close(self) -> None:
        self._settle.stop()
        self._printed.stop()
        self.calls.close()
        self.proofs.close()

    @property
    def current(self) -> str:
        """The server that is shown."""
        return self._shown

    @property
    def is_busy(self) -> bool:
        """Whether something is being tried or called, or is about to be."""
        return self._settle.isActive() or self.proofs.is_busy or self.calls.is_busy

    # -- connections -------------------------------------------------------------------------------------------

    def _connect_servers(self) -> None:
        page, servers = self._page, self._servers
        servers.stateChanged.connect(self._state_changed)
        servers.logGrew.connect(self._log_grew)
        servers.failed.connect(self._window.tell_error)
        page.list.chosen.connect(self._show_server)
        page.add_button.clicked.connect(self.ask_to_add)
        page.import_button.clicked.connect(self.ask_to_import)
        page.card.acted.connect(self._act)
        page.card.enabledChanged.connect(lambda on: servers.set_enabled(self._shown, on))
        page.log.views.chosen.connect(lambda _view: self._show_printed())

    def _connect_tools(self) -> None:
        page = self._page
        page.tools.chosen.connect(self._tool_chosen)
        page.tools.importWanted.connect(self._import)
        page.tools.model.tickedChanged.connect(self._settle.start)
        self.proofs.proved.connect(self._proved)
        self.proofs.crashed.connect(self._window.tell_error)

    def _connect_window(self) -> None:
        self._parts.document.changed.connect(lambda _registry: self._page.tools.model.refresh_here())
        self._parts.project.optionsChanged.connect(self._options_changed)
        self._window.pages.shown.connect(self._page_shown)
        self._window.themes.changed.connect(lambda _theme: self._page.list.viewport().update())
        if self._servers.notice:
            self._page.notice.tell(self._servers.notice)

    # -- the list ----------------------------------------------------------------------------------------------

    def ask_to_add(self) -> None:
        dialog = AddServerDialog({known.name for known in self._servers.known}, self._window)
        dialog.chosen.connect(self._add)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def ask_to_import(self) -> None:
        dialog = ImportServersDialog({known.name for known in self._servers.known}, self._window)
        dialog.chosen.connect(self._take)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _add(self, name: str, entry: dict[str, Any]) -> None:
        name = self._servers.add(name, entry, allowed=True)
        self._page.list.choose(name)
        self._servers.start(name)

    def _take(self, found: tuple[FoundServer, ...], allowed: bool, replace: bool) -> None:
        names = []
        for server in found:
            may = allowed or bool(server.config.url)
            if replace and self._servers.get(server.name) is not None:
                self._servers.replace(server.name, server.entry, allowed=may)
                names.append(server.name)
            else:
                names.append(self._servers.add(server.name, server.entry, allowed=may))
        if names:
            self._shown = "" if self._shown in names else self._shown
            self._page.list.choose(names[0])
            self._show_server(names[0])

    def _act(self, what: str) -> None:
        name = self._shown
        if what == "allow":
            self._servers.allow(name)
            self._servers.start(name)
        elif what == "start":
            self._servers.start(name)
        elif what == "stop":
            self._servers.stop(name)
        elif what == "restart":
            self._servers.restart(name)
        elif what == "remove":
            self._ask_to_remove(name)

    def _ask_to_remove(self, name: str) -> None:
        box = QMessageBox(self._window)
        box.setObjectName("removeServerQuestion")
        box.setWindowTitle(tr("Remove the server"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(tr("Remove {name}?", name=name))
        box.setInformativeText(
            tr(
                "It is ended and forgotten, with its variables. Tools that were imported from it stay in the registry."
            )
        )
        remove = box.addButton(tr("Remove"), QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        remove.clicked.connect(lambda: self._servers.remove(name))
        box.finished.connect(box.deleteLater)
        box.open()

    # -- the chosen server -------------------------------------------------------------------------------------

    def _show_server(self, name: str) -> None:
        """Another one is chosen."""
        self._shown, self._listed = name, ()
        page = self._page
        page.tools.forget()
        page.show_demo(name == DEMO)
        page.log.forget()
        self._show_card()
        self._show_tools()
        self._log_grew(name)
        self._show_printed()
        if name == DEMO:
            self._printed.stop()
        elif self._window.pages.current == SERVERS:
            self._printed.start()

    def _state_changed(self, name: str) -> None:
        if name == self._shown:
            self._show_card()
            self._show_tools()
            self._show_printed()

    def _show_card(self) -> None:
        known = self._known
        if known is None:
            self._page.card.show_demo(len(self._servers.demo.tools()))
        else:
            self._page.card.show_server(known)

    def _show_tools(self) -> None:
        """The list anew only where it is another one: a server may say every moment that it has changed."""
        page, source = self._page, self._servers.source(self._shown)
        known = self._known
        server = known.source.server if known is not None and known.source is not None else None
        tools = source.tools() if source is not None else ()
        problems = server.tool_problems if server is not None else ()
        listed = (self._shown, id(server), tools, problems)
        ready = known is None or (known.source is not None and known.source.phase == "ready")
        page.panel.set_ready(ready)
        if listed != self._listed:
            keep = bool(self._listed) and self._listed[0] == self._shown
            self._listed = listed
            told = {problem.tool: problem.message for problem in problems if problem.usable}
            rows = [ToolRow(tool.name, tool, told.get(tool.name, "")) for tool in tools]
            rows += [
                ToolRow(problem.tool, None, problem.message) for problem in problems if not problem.usable
            ]
            page.tools.model.show(rows, self._claims, self._here, keep=keep)
            self._show_kept()
            self._settle.start()
        problem = server.list_problem if server is not None else ""
        page.tools.show_words(self._empty_words(known), problem)

    def _empty_words(self, known: Known | None) -> str:
        if known is None or known.source is None:
            return tr("No tools.")
        words = {
            "ready": tr("It lists no tools."),
            "starting": tr("It is starting…\nA launcher may have to fetch it first."),
            "stopping": tr("It is stopping…"),
        }
        if known.question is not None and known.enabled:
            return tr("It must be allowed before it can be started.")
        again = tr("Start it again to see its tools.")
        words |= {"failed": again, "ended": again}
        return words.get(known.source.phase, tr("Start it to see its tools."))

    @property
    def _known(self) -> Known | None:
        return self._servers.get(self._shown)

    def _claims(self, tool: str) -> dict[str, Any]:
        source = self._servers.source(self._shown)
        return source.claims(tool) if source is not None else {}

    def _here(self, tool: Tool) -> str:
        return here_words(tool, self._shown, self._parts.document.registry, self._sources)

    @property
    def _sources(self) -> dict[str, str]:
        return self._parts.project.options.sources

    # -- the log ---------------------------------------------------------------------------------------

    def _log_grew(self, name: str) -> None:
        known = self._known
        if (
            name == self._shown
            and known is not None
            and known.source is not None
            and known.source.server is not None
        ):
            self._page.log.show_entries(known.source.server.log.entries)

    def _show_printed(self) -> None:
        known = self._known
        if known is None or known.source is None or known.source.server is None:
            return
        if self._page.log.views.value == "printed":
            self._page.log.show_printed(known.source.server.stderr)

    # -- tools: proofs and import ------------------------------------------------------------------------------

    def _tool_chosen(self, row: ToolRow | None) -> None:
        self.calls.show(self._shown, row, self._claims(row.name) if row else {})
        self._show_checks()
        self._settle.start()

    def _prove(self) -> None:
        """The chosen tool and the ticked ones by every engine; of a small server the others by the mask, too."""
        if self._window.pages.current != SERVERS:
            return
        options = self._parts.project.options
        model, current = self._page.tools.model, self._page.panel.tool
        whole = [current] if current is not None else []
        whole += [tool for tool in model.ticked[:MOST_TRIED] if tool != current]
        self.proofs.want(whole, self._few(), options.notation, options.shape)
        self._show_kept()
        self._show_checks()

    def _few(self) -> tuple[Tool, ...]:
        """The tools of a server that has not too many of them for all to be tried."""
        source = self._servers.source(self._shown)
        tools = source.tools() if source is not None else ()
        return tools if len(tools) <= FEW else ()

    def _proved(self, _tool: str) -> None:
        self._show_kept()
        self._show_checks()

    def _show_kept(self) -> None:
        model, current = self._page.tools.model, self._page.panel.tool
        tools = [*self._few(), *model.ticked[:MOST_TRIED], *([current] if current is not None else [])]
        found = {tool.name: self.proofs.rows(tool) for tool in tools}
        model.set_kept({name: kept_words(rows) for name, rows in found.items() if rows is not None})

    def _show_checks(self) -> None:
        tool = self._page.panel.tool
        self._page.panel.show_checks(self.proofs.whole_rows(tool) if tool is not None else None)

    def _import(self) -> None:
        tools = self._page.tools.model.ticked
        if not tools:
            return
        server = self._shown
        taken = clashes(tools, server, self._parts.document.registry, self._sources)
        if not taken:
            self._do_import(tools, server, rename=False)
            return
        box = QMessageBox(self._window)
        box.setObjectName("importClashQuestion")
        box.setWindowTitle(tr("Import tools"))
        some = ", ".join(taken[:5]) + (
            tr(" and {count} more", count=len(taken) - 5) if len(taken) > 5 else ""
        )
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(tr("The registry has other tools of the same name: {names}.", names=some))
        box.setInformativeText(
            tr("Give the imported ones other names, or replace yours? Either can be undone.")
        )
        rename = box.addButton(tr("Rename"), QMessageBox.ButtonRole.AcceptRole)
        replace = box.addButton(tr("Replace"), QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(rename)
        rename.clicked.connect(lambda: self._do_import(tools, server, rename=True))
        replace.clicked.connect(lambda: self._do_import(tools, server, rename=False))
        box.finished.connect(box.deleteLater)
        box.open()

    def _do_import(self, tools: tuple[Tool, ...], server: str, *, rename: bool) -> None:
        document = self._parts.document
        plan = plan_import(tools, server, document.registry, self._sources, rename=rename)
        self._parts.project.set_options(sources=plan.sources)
        document.add_all(ToolRegistry(plan.tools), tr("import tools of {server}", server=server))
        self._page.tools.model.tick_all(False)
        one = plan.tools[0].name if len(plan.tools) == 1 else ""
        self._page.notice.tell(
            tr("{tool} of {server} is in the registry now; runs call it there.", tool=one, server=server)
            if one
            else tr(
                "%n tools of {server} are in the registry now; runs call them there.",
                "",
                len(plan.tools),
                server=server,
            ),
            tr("Show the tools"),
            lambda: self._window.pages.show("playground"),
        )

    # -- the window --------------------------------------------------------------------------------------------

    def _options_changed(self, _options: object) -> None:
        self._page.tools.model.refresh_here()
        self._settle.start()

    def _page_shown(self, name: str) -> None:
        if name != SERVERS:
            self._printed.stop()
            return
        if self._shown != DEMO:
            self._printed.start()
        self._settle.start()
