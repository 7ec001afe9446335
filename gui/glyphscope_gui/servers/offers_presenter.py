"""Resources and prompts of the chosen server: their lists, and reading one of them."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from PySide6.QtCore import QObject, QTimer

from glyphscope.base.errors import ServerError
from glyphscope.base.visible import visible
from glyphscope.tools import CallOptions, Outcome
from glyphscope.tools.mcp.offers import Completion, Offer, Offers
from glyphscope.tools.mcp.server import McpServer, Updates
from glyphscope_gui.context import AppContext
from glyphscope_gui.mcp.server_source import ServerSource
from glyphscope_gui.servers.call_form import ServerCallForm
from glyphscope_gui.servers.calls import SECONDS, CallPresenter
from glyphscope_gui.servers.lists import OfferTable, ToolRow
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.shared.background import Background, this_task
from glyphscope_gui.shared.language import tr

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
