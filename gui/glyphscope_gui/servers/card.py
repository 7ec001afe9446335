"""The chosen server: its command or address, its state, its error, and the approval it needs first."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QFrame, QSizePolicy, QWidget

from glyphscope.errors import ServerError
from glyphscope.tools.approval import ConsentQuestion
from glyphscope.tools.mcp.calls import About
from glyphscope.visible import visible
from glyphscope_gui.mcp.server_source import KnownServer
from glyphscope_gui.servers.words import secret_words, state_words
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, link, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import ReadBox
from glyphscope_gui.shared.verdict import Pill
from glyphscope_gui.theme import mono_font

LAST_LINES = 4
"""The maximum number of lines of the process's output beside its error."""
DEMO_WORDS = tr(
    "The tools bundled with Glyphscope. They work in a sandbox: e-mails stay in the "
    "outbox, files in a scratch folder, and no command is executed."
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

    def ask(self, question: ConsentQuestion | None) -> None:
        self.setVisible(question is not None)
        if question is None:
            return
        self.command.setPlainText(visible(question.command, spaces=True))
        parts = [
            tr("Working folder: {folder}.", folder=visible(question.cwd, spaces=True)) if question.cwd else ""
        ]
        names = visible(", ".join(question.variables), spaces=True)
        parts.append(
            tr("Environment variables (values hidden): {variables}.", variables=names) if names else ""
        )
        self.more.setText(" ".join(part for part in parts if part))


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
        self.remove_button = link(tr("Remove…"), tr("Remove the server from the list"))
        self._actions = (
            self.enabled_box,
            self.start_button,
            self.stop_button,
            self.restart_button,
            self.remove_button,
        )
        super().__init__(tr("Server"), body, actions=self._actions, parent=parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.pill = Pill(body)
        self.identity = ElidedLabel(body)
        self.identity.setFont(mono_font(-0.5))
        self.identity.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.about = ElidedLabel(body, Qt.TextElideMode.ElideRight, role="hint")
        self.problem = words_label(role="problem", parent=body, name="serverProblem", selectable=True)
        self.printed = words_label(role="hint", parent=body, selectable=True)
        self.printed.setFont(mono_font(-1))
        self.consent = ConsentBox(body)
        tip = tr("Start the server and sign in with OAuth; the address is shown before a browser opens")
        self.sign_in_button = push_button(tr("Sign in…"), body, name="signInButton", tip=tip)
        self.sign_in_button.hide()
        row = hbox(self.pill, (self.identity, 1), spacing=10)
        row.addStretch(0)
        tip = tr("Send a ping and show the response time")
        self.ping_button = link(tr("Ping"), tip, body, name="pingServerButton")
        tip = tr("Send any request and show the unchanged result")
        self.request_button = link(tr("Request…"), tip, body, name="requestButton")
        self.roots_button = link(
            tr("Roots…"), tr("The folders returned when the server lists the roots"), body, name="rootsButton"
        )
        for button in (self.ping_button, self.request_button, self.roots_button):
            row.addWidget(button)
        tip = tr("Show the instructions that the server gives to a model")
        self.instructions_button = link(tr("Instructions"), tip, body, name="instructionsButton")
        self.instructions_button.hide()
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
        self.heading.set_title(tr("Demo tools"))
        self._show_actions(None)
        self.pill.set_words(tr("built in · %n tool(s)", "", count), "holds")
        self.identity.hide()
        self.about.setText(DEMO_WORDS)
        self.about.show()
        self._show_problem(None, "")
        self.consent.ask(None)

    def show_server(self, known: KnownServer) -> None:
        title = tr("Server {name}", name=known.name)
        self.heading.set_title(title, upper=title.rfind(known.name))
        state, source = state_words(known), known.source
        self._show_actions(known)
        self.pill.set_words(f"{state.sign} {state.words}", state.role)
        self.identity.setVisible(source is not None)
        if source is None:
            self.about.hide()
            self._show_problem(ServerError(known.problem, hint=tr("Fix the file and import it again.")), "")
            self.consent.ask(None)
            return
        asked = known.question if source.phase in ("stopped", "failed", "ended") and known.enabled else None
        self.identity.setText(visible(source.config.identity, spaces=True))
        self.identity.setVisible(asked is None)
        server = source.server
        about = " · ".join(
            part
            for part in (_about_words(server.about if server else None), secret_words(source.config))
            if part
        )
        self.about.setText(about)
        self.about.setVisible(bool(about) and asked is None)
        failed = server is not None and source.phase in ("failed", "ended")
        self._show_problem(
            server.problem if failed and server else None, server.stderr if failed and server else ""
        )
        self.consent.ask(asked)

    def show_debugging(self, ready: bool, roots: int | None, *, instructions: bool = False) -> None:
        """`roots` is the number of configured roots, None for the demo tools; `instructions`: it has some."""
        self.instructions_button.setVisible(instructions)
        for button in (self.ping_button, self.request_button):
            button.setVisible(ready)
        self.roots_button.setVisible(roots is not None)
        self.roots_button.setText(tr("Roots: {count}…", count=roots) if roots else tr("Roots…"))

    def show_ping(self, words: str, tip: str = "") -> None:
        """Show the result of the last ping; "" if there was none."""
        self.ping_button.setText(words or tr("Ping"))
        self.ping_button.setToolTip(plain_tip(tip) or tr("Send a ping and show the response time"))

    def _show_actions(self, known: KnownServer | None) -> None:
        for widget in self._actions:
            widget.setVisible(known is not None)
        self.sign_in_button.hide()
        if known is None:
            return
        source = known.source
        phase = source.phase if source else "failed"
        idle = phase in ("stopped", "failed", "ended")
        may = source is not None and known.enabled and source.may_run
        self.enabled_box.setEnabled(source is not None)
        self.enabled_box.setChecked(known.enabled)
        server = source.server if source is not None else None
        self.sign_in_button.setVisible(idle and may and server is not None and server.needs_sign_in)
        self.start_button.setVisible(idle)
        self.start_button.setEnabled(may)
        self.stop_button.setVisible(not idle)
        self.stop_button.setEnabled(phase != "stopping")
        self.restart_button.setVisible(not idle)
        self.restart_button.setEnabled(phase == "ready")

    def _show_problem(self, problem: ServerError | None, printed: str) -> None:
        """Show why the server failed, with the last lines that its process printed."""
        show_words(self.problem, problem.words if problem is not None else "")
        last = "\n".join(printed.rstrip().split("\n")[-LAST_LINES:]) if problem is not None else ""
        show_words(self.printed, last[-1200:])


def _about_words(about: About | None) -> str:
    if about is None:
        return ""
    name = " ".join(part for part in (about.name[:80], about.version[:40]) if part)
    protocol = tr("protocol {protocol}", protocol=about.protocol) if about.protocol else ""
    features = ", ".join(each for each in about.features if "/" not in each)
    return " · ".join(filter(None, (name, protocol, features)))
