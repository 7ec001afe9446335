"""Resources and prompts of the chosen server: their lists, and one of them read or got by hand."""

from __future__ import annotations

import threading
from typing import Any

from PySide6.QtCore import QObject

from glyphscope.errors import ServerError
from glyphscope.tools import Outcome, Progress
from glyphscope.tools.mcp.offers import Offer, Offers
from glyphscope.visible import visible
from glyphscope_gui.context import AppContext
from glyphscope_gui.mcp.server_source import ServerSource
from glyphscope_gui.servers.call_presenter import CallPresenter
from glyphscope_gui.servers.offer_list import OfferList
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.servers.tool_calls import SECONDS, Work
from glyphscope_gui.servers.tool_model import ToolRow
from glyphscope_gui.shared.language import tr

MOST_PROBLEMS = 3
"""Of a list that are shown above it."""


class OffersPresenter(QObject):
    """Shows what `show` is given; a request goes to the server that is shown."""

    def __init__(self, context: AppContext, view: ServersPage) -> None:
        super().__init__(context.window)
        self._servers = context.services.servers
        self._view = view
        self._shown = ""
        self._listed: tuple[str, Offers | None] = ("", None)
        self._known: dict[str, Offer] = {}
        self.resources = CallPresenter(context, view.resource, self._work)
        self.prompts = CallPresenter(context, view.prompt, self._work)
        view.resources.chosen.connect(lambda offer: self._chosen(self.resources, offer))
        view.prompts.chosen.connect(lambda offer: self._chosen(self.prompts, offer))

    @property
    def is_busy(self) -> bool:
        return self.resources.is_busy or self.prompts.is_busy

    def close(self) -> None:
        self.resources.close()
        self.prompts.close()

    def show(self, name: str, ready: bool) -> None:
        """The lists of that server as they are now."""
        source = self._source(name)
        server = source.server if source is not None else None
        offers = server.offers if server is not None else Offers()
        view = self._view
        if name != self._shown:
            self._shown = name
            view.resources.forget()
            view.prompts.forget()
        view.resource.set_ready(ready)
        view.prompt.set_ready(ready)
        if self._listed == (name, offers):
            return
        self._listed = (name, offers)
        resources = (*offers.resources, *offers.templates)
        self._known = {_key(offer): offer for offer in (*resources, *offers.prompts)}
        view.resources.model.show(resources)
        view.prompts.model.show(offers.prompts)
        self._say(view.resources, "resources", offers, ready, tr("The server offers no resources."))
        self._say(view.prompts, "prompts", offers, ready, tr("The server offers no prompts."))

    # -- inside ------------------------------------------------------------------------------------------------

    def _say(self, shown: OfferList, kind: str, offers: Offers, ready: bool, none: str) -> None:
        found = [visible(words) for of, words in offers.problems if of == kind]
        problem = "\n".join(found[:MOST_PROBLEMS])
        if (more := len(found) - MOST_PROBLEMS) > 0:
            problem += "\n" + tr("and %n more", "", more)
        waits = kind in offers.kinds and kind not in offers.listed
        empty = tr("Its list is being read…") if waits and ready else none
        shown.show_words(
            empty if ready or kind in offers.listed else tr("Start the server to see them."), problem
        )

    def _chosen(self, calls: CallPresenter, offer: Offer | None) -> None:
        calls.show(self._shown, ToolRow(offer.address, offer.form) if offer is not None else None, {})

    def _source(self, name: str) -> ServerSource | None:
        known = self._servers.get(name)
        return known.source if known is not None else None

    def _work(self, server: str, address: str, arguments: dict[str, Any]) -> Work | None:
        source = self._source(server)
        sender = self.prompts if self._view.kinds.value == "prompts" else self.resources
        kinds = ("prompt",) if sender is self.prompts else ("resource", "template")
        offer = next(
            (self._known[key] for kind in kinds if (key := f"{kind} {address}") in self._known), None
        )
        if source is None or offer is None:
            return None

        def work(cancel: threading.Event, tell: Progress) -> Outcome:
            try:
                method, params = offer.request(arguments)
            except ServerError as error:
                return Outcome(fault="protocol", message=error.message)
            return source.fetch(method, params, seconds=SECONDS, cancel=cancel, progress=tell)

        return work


def _key(offer: Offer) -> str:
    return f"{offer.kind} {offer.address}"
