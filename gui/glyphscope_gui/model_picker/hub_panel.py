"""A model by its name: the repository's files, the choice among them, and the download's progress and result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QItemSelection, Signal
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import byte_size
from glyphscope.base.visible import visible
from glyphscope.models.hub.files import FileChoice
from glyphscope.models.hub.jobs import DownloadResult, HubHit
from glyphscope.models.hub.part import Unfinished
from glyphscope_gui.model_picker.downloads import Downloading, DownloadPhase, ModelDownloads, RepositoryFiles
from glyphscope_gui.model_picker.offers import DOWNLOADS, FITS, QUANTISATION, SIZE, ChoicesModel, HitsModel
from glyphscope_gui.model_picker.words import FIX_HUB, hub_is_here, progress_words
from glyphscope_gui.shared.labels import named, push_button, set_role, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme import mono_font, use_font

STEPS = 1000
"""Steps of the bar, whose integers are too small for sizes in bytes."""
MAX_ROWS = 6
"""Number of rows of a table before it scrolls."""
MAX_UNFINISHED = 3
"""Unfinished downloads that are offered."""


class HubPanel(QWidget):
    """The search on the Hub, the files of a repository, and the download of one: `downloads` does the work.

    `useRequested` carries the path of a downloaded model; `discardRequested` an Unfinished; `grew`: the panel may have
    become higher.
    """

    useRequested = Signal(str)
    discardRequested = Signal(object)
    grew = Signal()

    def __init__(self, downloads: ModelDownloads, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hubPanel")
        self._downloads = downloads
        self._path = ""
        words = tr("Words to search, or the name of a repository")
        self.name_edit = named(LineEdit(self), "modelNameEdit", words)
        self.name_edit.setPlaceholderText(tr("Words (qwen3 0.6b), OWNER/NAME or OWNER/NAME:Q4_K_M"))
        use_font(self.name_edit, mono_font, -0.5)
        tip = tr("Search the Hub for words, or list the models of a repository")
        self.look_button = push_button(
            tr("Search"), self, name="modelLookButton", tip=tip, clicked=self._look
        )
        self.hits = HitsModel(self)
        table = PlainTable(self.hits, stretch=0, parent=self)
        self.hits_table = named(table, "modelHits", tr("Repositories found"))
        self.choices = ChoicesModel(self)
        table = PlainTable(self.choices, stretch=0, parent=self)
        self.table = named(table, "modelChoices", tr("Models of the repository"))
        self.words = words_label(parent=self, selectable=True)
        bar = QProgressBar(self, textVisible=False, maximum=STEPS)
        self.bar = named(bar, "modelProgress", tr("Progress of the download"))
        self.download_button = push_button(
            "", self, name="modelDownloadButton", role="primary", clicked=self._download
        )
        self.cancel_button = push_button(
            tr("Cancel"), self, name="modelCancelButton", tip=tr("Cancel; the download can be resumed")
        )
        self.use_button = push_button(tr("Use model"), self, name="modelUseGotButton", role="primary")
        self._unfinished = vbox(spacing=4)
        self._rows: list[QWidget] = []
        self.words.hide()
        self._lay_out()
        self._connect()
        self._show_phase()
        if not hub_is_here():
            for widget in (self.name_edit, self.look_button):
                widget.setEnabled(False)
            self._say(
                tr("Downloading by name needs huggingface_hub. Install it with: {command}", command=FIX_HUB)
            )
        else:
            files = downloads.repository
            if downloads.hits:
                self._show_hits(downloads.hits, files.listing.repo if files else "")
            if files is not None:
                self._show_files(files)
        if downloads.phase is DownloadPhase.DOWNLOADING and downloads.downloading is not None:
            self._show_progress(downloads.downloading)

    def show_unfinished(self, found: list[Unfinished]) -> None:
        """Show earlier downloads that can be resumed."""
        for row in self._rows:
            row.deleteLater()
        self._rows = [self._row_of(each) for each in found[:MAX_UNFINISHED]]
        before: QWidget = self.look_button
        for row in self._rows:
            self._unfinished.addWidget(row)
            for button in row.findChildren(QPushButton):
                self.setTabOrder(before, button)
                before = button
        self.setTabOrder(before, self.hits_table)
        self.setTabOrder(self.hits_table, self.table)
        self._show_phase()

    def lowest(self) -> QWidget:
        """The lowest visible widget, to scroll to when the panel has grown."""
        shown = (self.use_button, self.download_button, self.cancel_button, self.words, self.name_edit)
        return next(widget for widget in shown if not widget.isHidden())

    def _lay_out(self) -> None:
        line = hbox((self.name_edit, 1), self.look_button, spacing=8)
        buttons = hbox(STRETCH, self.cancel_button, self.download_button, self.use_button, spacing=8)
        parts = (line, self._unfinished, self.hits_table, self.table, self.words, self.bar, buttons)
        vbox(*parts, parent=self, spacing=8)
        for place, words in (
            (QUANTISATION, "UD-Q4_K_XL"),
            (SIZE, "123.4 GB"),
            (FITS, tr("choose a file")),
            (DOWNLOADS, "12,345,678"),
        ):
            self.hits_table.fit_column(place, words)
        self.table.fit_column(QUANTISATION, "UD-Q4_K_XL")
        self.table.fit_column(SIZE, "123.4 GB")

    def _connect(self) -> None:
        downloads = self._downloads
        self.name_edit.returnPressed.connect(self._look)
        self.name_edit.textChanged.connect(self._show_phase)
        self.cancel_button.clicked.connect(downloads.cancel)
        self.use_button.clicked.connect(self._use)
        self.table.selectionModel().selectionChanged.connect(self._chosen)
        downloads.phaseChanged.connect(self._show_phase)
        self.hits_table.selectionModel().selectionChanged.connect(self._hit_chosen)
        downloads.searched.connect(self._show_hits)
        downloads.filesListed.connect(self._show_files)
        downloads.progressed.connect(self._show_progress)
        downloads.downloaded.connect(self._show_got)
        downloads.stopped.connect(self._show_stopped)
        downloads.failed.connect(self._show_error)

    def _row_of(self, part: Unfinished) -> QWidget:
        row = QWidget(self)
        name = part.file.rpartition("/")[2]
        words = tr("Incomplete: {name}, {size} downloaded", name=name, size=byte_size(part.bytes))
        line = hbox((words_label(words, parent=row), 1), parent=row)
        acts: tuple[tuple[str, Callable[[], None]], ...] = (
            (tr("Resume"), partial(self._resume, part)),
            (tr("Discard"), partial(self.discardRequested.emit, part)),
        )
        for title, act in acts:
            button = push_button(title, row, role="link", spoken=visible(f"{title}: {name}"))
            button.clicked.connect(lambda _checked=False, do=act: do())
            line.addWidget(button)
        return row

    def _resume(self, part: Unfinished) -> None:
        self.name_edit.setText(f"{part.repo}:{part.file}")
        self._look()

    def _look(self) -> None:
        text = self.name_edit.text().strip()
        if text and self._downloads.phase is not DownloadPhase.DOWNLOADING and self.name_edit.isEnabled():
            self._path = ""
            self._downloads.look(text)

    def _download(self) -> None:
        choice, files = self._choice(), self._downloads.repository
        if choice is not None and files is not None:
            self._path = ""
            self._downloads.download(files.listing, choice)

    def _use(self) -> None:
        if self._path:
            self.useRequested.emit(self._path)

    def _choice(self) -> FileChoice | None:
        return self.choices.row(self.table.selected())

    def _hit_chosen(self) -> None:
        hit = self.hits.row(self.hits_table.selected())
        if hit is not None:
            self.choices.show_rows(())
            self._downloads.choose(hit)

    def _chosen(self, _new: QItemSelection, _old: QItemSelection) -> None:
        files = self._downloads.repository
        choice = self._choice()
        if files is not None and files.pick is not None and choice is not None:
            self._say(files.pick.why if choice is files.pick.choice else "")
        self._path = ""
        self._show_phase()

    # -- the state of the download -----------------------------------------------------------------------------

    def _say(self, words: str, role: str = "muted") -> None:
        set_role(self.words, role)
        show_words(self.words, words)
        self.words.setAccessibleName(self.words.text())

    def _show_phase(self) -> None:
        phase = self._downloads.phase
        choice = self._choice()
        idle = phase is DownloadPhase.IDLE
        self.look_button.setEnabled(
            phase is not DownloadPhase.DOWNLOADING
            and bool(self.name_edit.text().strip())
            and self.name_edit.isEnabled()
        )
        self.name_edit.setReadOnly(phase is DownloadPhase.DOWNLOADING)
        self.hits_table.setVisible(self.hits.rowCount() > 0)
        self.hits_table.setEnabled(idle)
        self.table.setVisible(self.choices.rowCount() > 0)
        self.table.setEnabled(idle)
        self.bar.setVisible(not idle)
        self.bar.setMaximum(STEPS if phase is DownloadPhase.DOWNLOADING else 0)
        self.cancel_button.setVisible(not idle)
        self.use_button.setVisible(idle and bool(self._path))
        self.download_button.setVisible(idle and choice is not None and not self._path)
        if choice is not None:
            size = f" ({byte_size(choice.bytes)})" if choice.bytes else ""
            self.download_button.setText(tr("Download") + size)
            self.download_button.setEnabled(not choice.missing)
        for row in self._rows:
            row.setVisible(idle)
        if phase is DownloadPhase.SEARCHING:
            self.hits.show_rows(())
            self.choices.show_rows(())
            self.hits_table.hide()
            self.table.hide()
            self.download_button.hide()
            self._say(tr("Searching…"))
        self.grew.emit()

    def _show_hits(self, hits: tuple[HubHit, ...], repo: str = "") -> None:
        """Show the hits; the first one, or the one named `repo`, is selected."""
        self.hits.show_rows(hits)
        self.hits_table.fix_height(MAX_ROWS)
        if hits:
            self.hits_table.setVisible(True)
            names = [hit.repo for hit in hits]
            self.hits_table.selectRow(names.index(repo) if repo in names else 0)
        else:
            self._say(tr("No repository with GGUF models was found. Use fewer words."))
            self._show_phase()

    def _show_files(self, files: RepositoryFiles) -> None:
        self.choices.show_rows(files.listing.choices)
        self.table.fix_height(MAX_ROWS)
        if files.pick is not None:
            self.table.selectRow(max(self.choices.row_of(files.pick.choice), 0))
            self._say(files.pick.why)
        elif files.problem is not None:
            self._show_error(files.problem)
        self._show_phase()

    def _show_progress(self, download: Downloading) -> None:
        total = download.progress.total
        self.bar.setMaximum(STEPS if total else 0)
        self.bar.setValue(round(download.progress.done / total * STEPS) if total else 0)
        self._say(progress_words(download))

    def _show_got(self, got: DownloadResult) -> None:
        self._path = str(got.path)
        words = {
            "downloaded": tr("Downloaded: {path}.", path=got.path),
            "kept": tr("Already downloaded, unchanged: {path}.", path=got.path),
            "cached": tr("Already in the Hugging Face cache, and used from there: {path}.", path=got.path),
        }[got.how]
        unknown = "" if got.hashed else tr(" The server provides no hash to verify it.")
        self._say(f"{words}{unknown}")
        self._show_phase()
        self.use_button.setFocus()

    def _show_stopped(self) -> None:
        downloading = self._downloads.downloading
        if downloading is not None and downloading.progress.done and self._choice() is downloading.choice:
            kept = byte_size(downloading.progress.done)
            self._say(tr("Stopped with {size} downloaded; Download resumes.", size=kept))
        else:
            self._say(tr("Stopped."))
        self._show_phase()

    def _show_error(self, error: BaseException) -> None:
        words = error.words if isinstance(error, GlyphscopeError) else f"{type(error).__name__}: {error}"
        self._say(words, "problem")
        if self._downloads.repository is None:
            self.choices.show_rows(())
            self.name_edit.setFocus()
        self._show_phase()
