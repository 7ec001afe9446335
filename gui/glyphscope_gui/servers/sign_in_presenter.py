"""Signing in to a server with OAuth: the address that it requests, opened in the browser by a click."""

from __future__ import annotations

from urllib.parse import urlsplit

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from glyphscope.visible import visible
from glyphscope_gui.context import AppContext
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_text import plain_tip


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
        source = self._servers.server_source(name)
        if name != self._signing_in or (source is not None and source.phase == "starting"):
            return
        self._signing_in = ""
        self._notice.hide()
        server = source.server if source is not None else None
        if server is not None and server.unsaved_sign_in:
            words = tr("The sign-in was not saved: {reason}", reason=server.unsaved_sign_in)
            self._notice.show_words(words)
