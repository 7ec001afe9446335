"""An HTML page as a browser reads it: its elements, its data, and the text that is shown."""

from __future__ import annotations

from html.parser import HTMLParser


class PageText(HTMLParser):
    """The elements of a page with their attributes, and the text of those that a browser does not show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements, self.raw, self.shown = [], [], []
        self._raw = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        self._raw = tag in ("script", "style")
        if self._raw:
            self.raw.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag: str) -> None:
        self._raw = False

    def handle_data(self, data: str) -> None:
        if self._raw:
            self.raw[-1][2] += data
        else:
            self.shown.append(data)
