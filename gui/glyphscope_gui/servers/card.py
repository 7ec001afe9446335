"""The chosen server: its command or address, its state, its error, the approval it needs first, and signing in."""

from __future__ import annotations

from urllib.parse import urlsplit

from PySide6.QtCore import QObject, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QCheckBox, QFrame, QSizePolicy, QWidget

from glyphscope.base.errors import ServerError
from glyphscope.base.visible import visible
from glyphscope.tools.mcp.calls import About
from glyphscope.tools.mcp.config import ServerConfig
from glyphscope_gui.context import AppContext
from glyphscope_gui.mcp.server_source import IDLE, ServerSource
from glyphscope_gui.servers.words import demo_words, secret_words, state_words
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, link, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import ReadBox
from glyphscope_gui.shared.verdict import Pill
from glyphscope_gui.theme import mono_font, use_font

LAST_LINES = 4
"""The maximum number of lines of the process's output beside its error."""
DEMO_WORDS = tr(
    "Bundled tools in a sandbox: e-mails stay in the outbox, files in a scratch folder, and no command is executed."
)


class ConsentBox(QFrame):
    """Shows a command line exactly as it would run; the button allows it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("noticeBanner")
        words = PlainLabel(
            tr("Imported command. It will not run until you allow it, and it runs with your permissions."),
            self,
        )
        words.setWordWrap(True)
        self.command = ReadBox(6, tr("The command line to be run"), parent=self)
        self.more = PlainLabel(self, role="hint", wordWrap=True)
        self.button = push_button(tr("Allow and start"), self, name="allowServerButton")
        row = hbox((self.more, 1), self.button)
        vbox(words, self.command, row, parent=self, margins=(12, 9, 12, 10), spacing=7)
        self.hide()

    def ask(self, config: ServerConfig | None) -> None:
        """Ask for consent to that server's command; None: to none."""
        self.setVisible(config is not None)
        if config is None:
            return
        self.command.setPlainText(visible(config.identity, spaces=True))
        folder, names = visible(config.cwd, spaces=True), visible(", ".join(config.env), spaces=True)
        parts = (
            tr("Working folder: {folder}.", folder=folder) if folder else "",
            tr("Environment variables (values hidden): {variables}.", variables=names) if names else "",
        )
        self.more.setText(" ".join(filter(None, parts)))


class ServerCard(Card):
    """The presenters connect its buttons, and the button of `consent`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        body = QWidget()
        self.enabled_box = QCheckBox(tr("Enabled"))
        self.enabled_box.setToolTip(tr("Runs may start this server and call its tools"))
        tip = tr("Start the server now; a run that needs it also starts it")
        self.start_button = link(tr("Start"), tip, name="startServerButton")
        tip = tr("End the server’s process and all its child processes")
        self.stop_button = link(tr("Stop"), tip, name="stopServerButton")
        self.restart_button = link(tr("Restart"), tr("Stop the server and start it again"))
        tip = tr("Change its name, command, arguments, variables, address or headers")
        self.edit_button = link(tr("Edit…"), tip, name="editServerButton")
        self.remove_button = link(tr("Remove…"), tr("Remove the server from the list"))
        actions = (
            self.enabled_box,
            self.start_button,
            self.stop_button,
            self.restart_button,
            self.edit_button,
            self.remove_button,
        )
        super().__init__(tr("Server"), body, actions=actions, parent=parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.pill = Pill(body)
        self.identity = ElidedLabel(body)
        use_font(self.identity, mono_font, -0.5)
        self.identity.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.about = ElidedLabel(body, Qt.TextElideMode.ElideRight, role="hint")
        self.problem = words_label(role="problem", parent=body, name="serverProblem", selectable=True)
        self.printed = words_label(role="hint", parent=body, selectable=True)
        use_font(self.printed, mono_font, -1)
        self.consent = ConsentBox(body)
        tip = tr("Start the server and sign in with OAuth; the address is shown before a browser opens")
        self.sign_in_button = push_button(tr("Sign in…"), body, name="signInButton", tip=tip)
        row = hbox(self.pill, (self.identity, 1), spacing=10)
        row.addStretch(0)
        tip = tr("Send a ping and show the response time")
        self.ping_button = link(tr("Ping"), tip, body, name="pingServerButton")
        tip = tr("Send any request and show the unchanged result")
        self.request_button = link(tr("Request…"), tip, body, name="requestButton")
        self.roots_button = link(
            tr("Roots…"), tr("The folders returned when the server lists the roots"), body, name="rootsButton"
        )
        debugging = (self.ping_button, self.request_button, self.roots_button)
        for button in debugging:
            row.addWidget(button)
        tip = tr("Show the instructions that the server gives to a model")
        self.instructions_button = link(tr("Instructions"), tip, body, name="instructionsButton")
        self._of_servers = (*actions, *debugging, self.sign_in_button, self.instructions_button)
        second = hbox((self.about, 1), self.instructions_button)
        vbox(
            row,
            second,
            self.problem,
            self.printed,
            self.consent,
            (self.sign_in_button, 0, Qt.AlignmentFlag.AlignLeft),
            parent=body,
            spacing=6,
        )

    def show_demo(self, count: int) -> None:
        """Show the demo tools, which are part of the program: there is nothing to start."""
        self.heading.title.set_title(tr("Demo tools"))
        self.pill.set_words(*demo_words(count)[:2])
        for widget in self._of_servers:
            widget.hide()
        show_words(self.identity, "")
        show_words(self.about, DEMO_WORDS)
        self._show_problem(None, "")
        self.consent.ask(None)

    def show_server(self, source: ServerSource) -> None:
        state, server = state_words(source), source.server
        title = tr("Server {name}", name=source.name)
        self.heading.title.set_title(title, upper=title.rfind(source.name))
        self.pill.set_words(f"{state.sign} {state.words}", state.role)
        self._show_actions(source)
        asks = source.needs_consent and source.phase in IDLE and source.enabled
        self.consent.ask(source.config if asks else None)
        is_shown = not source.problem and not asks
        facts = filter(None, (_about_words(server.about), secret_words(source.config)))
        show_words(self.identity, visible(source.identity, spaces=True) if is_shown else "")
        show_words(self.about, " · ".join(facts) if is_shown else "")
        if source.problem:
            self._show_problem(ServerError(source.problem, hint=tr("Edit the server.")), "")
        elif source.phase in ("failed", "ended"):
            self._show_problem(server.problem, server.stderr)
        else:
            self._show_problem(None, "")

    def show_ping(self, words: str, tip: str = "") -> None:
        """Show the result of the last ping; "" if there was none."""
        self.ping_button.setText(words or tr("Ping"))
        self.ping_button.setToolTip(plain_tip(tip) or tr("Send a ping and show the response time"))

    def _show_actions(self, source: ServerSource) -> None:
        phase, server, roots = source.phase, source.server, len(source.config.roots)
        idle, may = phase in IDLE, source.enabled and source.may_run
        self.enabled_box.setEnabled(not source.problem)
        self.enabled_box.setChecked(source.enabled)
        self.start_button.setEnabled(may)
        self.stop_button.setEnabled(phase != "stopping")
        self.restart_button.setEnabled(source.is_ready)
        self.roots_button.setText(tr("Roots: {count}…", count=roots) if roots else tr("Roots…"))
        for widget, is_shown in (
            (self.enabled_box, True),
            (self.start_button, idle),
            (self.stop_button, not idle),
            (self.restart_button, not idle),
            (self.edit_button, True),
            (self.remove_button, True),
            (self.sign_in_button, idle and may and server.needs_sign_in),
            (self.ping_button, source.is_ready),
            (self.request_button, source.is_ready),
            (self.roots_button, not source.problem),
            (self.instructions_button, bool(server.about.instructions.strip())),
        ):
            widget.setVisible(is_shown)

    def _show_problem(self, problem: ServerError | None, printed: str) -> None:
        """Show why the server failed, with the last lines that its process printed."""
        show_words(self.problem, problem.words if problem is not None else "")
        last = "\n".join(printed.rstrip().split("\n")[-LAST_LINES:]) if problem is not None else ""
        show_words(self.printed, last[-1200:])


def _about_words(about: About) -> str:
    name = " ".join(part for part in (about.name[:80], about.version[:40]) if part)
    protocol = tr("protocol {protocol}", protocol=about.protocol) if about.protocol else ""
    features = ", ".join(each for each in about.features if "/" not in each)
    return " · ".join(filter(None, (name, protocol, features)))


class SignInPresenter(QObject):
    """Shows the last requested address in the page's notice, until that sign-in has ended."""

    def __init__(self, context: AppContext, notice: NoticeBanner) -> None:
        super().__init__(notice)
        self._servers = context.services.servers
        self._notice = notice
        self._signing_in = ""
        """The name of the server whose address is shown."""
        self._servers.signInRequested.connect(self._show)
        self._servers.stateChanged.connect(self._state_changed)

    def _show(self, name: str, address: str) -> None:
        self._signing_in = name
        host = urlsplit(address).hostname or ""
        words = tr("The server {name} asks you to sign in at {host}.", name=visible(name), host=visible(host))
        copy = (tr("Copy address"), lambda: self._copy(name, address))
        self._notice.show_words(words, tr("Open browser"), lambda: self._open(name, address), copy)
        self._show_address(address)

    def _open(self, name: str, address: str) -> None:
        if not QDesktopServices.openUrl(QUrl(address)):
            words = tr("No browser was found. Copy the address and open it in a browser on this computer.")
            self._notice.show_words(words, tr("Copy address"), lambda: self._copy(name, address), error=True)
            self._show_address(address)

    def _show_address(self, address: str) -> None:
        self._notice.label.setToolTip(plain_tip(visible(address, spaces=True)))

    def _copy(self, name: str, address: str) -> None:
        QGuiApplication.clipboard().setText(address)
        words = tr(
            "Address copied. Open it in a browser on this computer; {name} is waiting.", name=visible(name)
        )
        self._notice.show_words(words, tr("Open browser"), lambda: self._open(name, address))

    def _state_changed(self, name: str) -> None:
        """Remove the notice once the sign-in has ended; say if it was not saved."""
        source = self._servers.get(name)
        if name != self._signing_in or source is None or source.phase == "starting":
            return
        self._signing_in = ""
        self._notice.hide()
        if reason := source.server.unsaved_sign_in:
            self._notice.show_words(tr("The sign-in was not saved: {reason}", reason=reason))
