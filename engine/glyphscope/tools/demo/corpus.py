"""The offline corpus of search and browse: short bundled documents.

Ranking is BM25 (Robertson and Zaragoza 2009: k1 1.2, b 0.75) over the words of title and text; a word in the title
counts as much as three in the text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec

from glyphscope.base import resources
from glyphscope.base.errors import ToolError
from glyphscope.base.shorten import shorten
from glyphscope.base.structs import ready

K1, B, TITLE_WEIGHT = 1.2, 0.75, 3
MAX_QUERY = 1000
DEFAULT_RESULTS = 5
_SNIPPET = 180
_SITE = "https://example.org"

_WORD = re.compile(r"[^\W_]+")
_COMMON = (
    "a an and are as at be by for from how i in is it me my of on or please some tell that the this to was what when "
    "where which who why with you your about do does did can find show search latest"
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A page: `date` is ISO 8601 or empty; `invented` if its contents, such as news and weather, are fictitious."""

    url: str
    title: str
    source: str
    text: str
    date: str = ""
    invented: bool = False


class CorpusHit(msgspec.Struct, frozen=True, kw_only=True):
    """A result: the page, its score (higher is better), and its best matching part."""

    document: Document
    score: float
    snippet: str


class Corpus:
    """An immutable, thread-safe index of documents."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = tuple(documents)
        self.sources = tuple(dict.fromkeys(document.source for document in self.documents))
        self._by_page = {_page(page.url): page for page in (*self.documents, *self._indexes())}
        self._counts = [
            Counter(_words(document.title) * TITLE_WEIGHT + _words(document.text))
            for document in self.documents
        ]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = sum(self._lengths) / max(len(self._lengths), 1)
        self._in = Counter(word for counts in self._counts for word in counts)

    def search(self, query: str, most: int = DEFAULT_RESULTS, sources: Sequence[str] = ()) -> list[CorpusHit]:
        """The best pages, best first; only from `sources`, if any are given. Raises ToolError."""
        if len(query) > MAX_QUERY:
            raise ToolError(
                f"The query has {len(query):,} characters; at most {MAX_QUERY:,} are searched for."
            )
        only = {source.strip().lower() for source in sources}
        if only and only.isdisjoint(self.sources):
            raise ToolError(
                "None of these sources is in the offline corpus.", hint=f"It has {', '.join(self.sources)}."
            )
        words = list(dict.fromkeys(_words(query)))
        common = frozenset(_COMMON.split())
        words = [word for word in words if word not in common] or words
        hits = [
            CorpusHit(document=document, score=score, snippet=_snippet(document.text, words))
            for number, document in enumerate(self.documents)
            if (not only or document.source in only) and (score := self._score(number, words)) > 0
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.document.url))[:most]

    def page(self, url: str) -> Document:
        """The page at the address. Raises ToolError for unknown pages, as there is no network."""
        found = self._by_page.get(_page(url))
        if found is None:
            shown = shorten(url, 80)
            words = " ".join(_WORD.findall(url[:MAX_QUERY]))
            near = self.search(words.replace("example", "").replace("https", ""), 1)
            hint = (
                f"The nearest page is {near[0].document.url}."
                if near
                else "Use search to find their addresses."
            )
            raise ToolError(
                f'"{shown}" cannot be fetched: this browser is offline and has only bundled pages.', hint=hint
            )
        return found

    def _indexes(self) -> Iterator[Document]:
        """Starting points for browsing: the site's home page, at all usual addresses, and one page per source."""
        home = "The offline corpus has these parts:\n" + "\n".join(
            f"{_SITE}/{source}" for source in self.sources
        )
        for url in (_SITE, "https://example.com"):
            yield Document(url=url, title="Pages of the offline corpus", source="index", text=home)
        for source in self.sources:
            pages = [page for page in self.documents if page.source == source]
            text = "\n".join(f"{page.title}: {page.url}" for page in pages)
            yield Document(url=f"{_SITE}/{source}", title=f"All pages of {source}", source="index", text=text)

    def _score(self, number: int, words: Sequence[str]) -> float:
        counts, total = self._counts[number], len(self.documents)
        length = K1 * (1 - B + B * self._lengths[number] / self._mean)
        score = 0.0
        for word in words:
            if times := counts[word]:
                rarity = math.log(1 + (total - self._in[word] + 0.5) / (self._in[word] + 0.5))
                score += rarity * times * (K1 + 1) / (times + length)
        return score


@lru_cache(maxsize=1)
def bundled_corpus() -> Corpus:
    """The bundled documents, by source in alphabetical order."""
    names = resources.names("corpus", ".json")
    decoder = msgspec.json.Decoder(ready(list[Document]))
    return Corpus(
        document for name in names for document in decoder.decode(resources.read_bytes(f"corpus/{name}"))
    )


def _words(text: str) -> list[str]:
    """Lower-case words without accents and plural endings."""
    plain = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return [_stem(word) for word in _WORD.findall(plain)]


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _snippet(text: str, words: Sequence[str]) -> str:
    """The sentence with the most of these words, cut to a line or two."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    queried = set(words)
    best = max(sentences, key=lambda sentence: len(queried.intersection(_words(sentence))))
    return best if len(best) <= _SNIPPET else best[:_SNIPPET].rsplit(" ", 1)[0] + " …"


def _page(url: str) -> str:
    """The part of an address that identifies a page: without scheme, `www`, trailing slash and fragment."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return parts.netloc.lower().removeprefix("www.") + parts.path.rstrip("/").lower()
