"""Getting a model in the window: results of a search, files of a local Hub, and successful and failed downloads."""

from __future__ import annotations

import threading
import time

import pytest
from PySide6.QtCore import Qt

pytest.importorskip("huggingface_hub")

from fake_hub import REPO, fake_hub, gguf, hub_in_process, hub_in_thread
from glyphscope.base.errors import ModelError
from glyphscope.models import FoundModel, find_models
from glyphscope.models.hub.files import DownloadProgress, FileChoice, HubFile
from glyphscope.models.hub.jobs import DownloadStopped, Lookup
from glyphscope.models.hub.part import Unfinished
from glyphscope_gui.model_picker import (
    FIX_HUB,
    Downloading,
    DownloadPhase,
    HubPanel,
    ModelDialog,
    ModelDownloads,
    ModelPicker,
    ModelPresenter,
    progress_words,
)
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.page_ids import PageId

FILE = "tiny-Q4_K_M.gguf"
FOUND = [
    FoundModel(name="", path="/m/broken.gguf", source="folder", problem="The file is cut off."),
    FoundModel(name="", path="/e/Small-Q4_1.gguf", source="embedded", bytes=98_000_000, quantisation="Q4_1"),
]


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with fake_hub() as hub:
        hub_in_thread(monkeypatch, hub.address)
        hub.repos[REPO]["tiny-Q8_0.gguf"] = gguf(8000)
        yield hub


@pytest.fixture
def ended(hub, monkeypatch, tmp_path):
    """Requests go to the Hub in a process, which a cancel ends."""
    hub_in_process(monkeypatch, hub.address, tmp_path / "hf")


@pytest.fixture
def panel(qtbot, tmp_path):
    downloads = ModelDownloads(tmp_path)
    panel = HubPanel(downloads)
    qtbot.addWidget(panel)
    panel.show()
    yield panel
    end_work(downloads)


def look(panel, qtbot, name=REPO):
    panel.name_edit.setText(name)
    panel.look_button.click()
    qtbot.waitUntil(lambda: panel._downloads.phase is DownloadPhase.IDLE)


def test_a_repository_is_listed_with_a_model_selected(hub, panel, qtbot):
    look(panel, qtbot)
    assert panel.choices.rowCount() == 2
    assert panel._choice().name == FILE and "Q4_K_M" in panel.words.text()
    assert panel.download_button.isVisible() and "(4.1 kB)" in panel.download_button.text()
    panel.table.selectRow(1)
    assert panel._choice().name == "tiny-Q8_0.gguf" and not panel.words.isVisible()


def test_a_download_in_the_window_ends_with_a_model_to_use(hub, panel, qtbot, tmp_path):
    look(panel, qtbot)
    panel.download_button.click()
    assert panel.cancel_button.isVisible() and not panel.look_button.isEnabled()
    qtbot.waitUntil(panel.use_button.isVisible)
    place = tmp_path / REPO / FILE
    assert str(place) in panel.words.text() and place.read_bytes() == hub.repos[REPO][FILE]
    with qtbot.waitSignal(panel.useRequested) as signal:
        panel.use_button.click()
    assert signal.args == [str(place)]


@pytest.mark.slow
def test_cancel_is_immediate_and_the_download_resumes(hub, ended, panel, qtbot, tmp_path):
    hub.repos[REPO][FILE] = gguf(50_000)
    hub.stall_after = 20_000
    look(panel, qtbot, f"{REPO}:{FILE}")
    panel.download_button.click()
    qtbot.waitUntil(lambda: panel._downloads.downloading.progress.done == 20_000)
    panel.cancel_button.click()
    qtbot.waitUntil(lambda: "downloaded; Download resumes" in panel.words.text())
    assert not (tmp_path / REPO / FILE).exists()
    hub.stall_after = -1
    panel.download_button.click()
    qtbot.waitUntil(panel.use_button.isVisible)
    assert hub.ranges()[-1] == "bytes=20000-"


@pytest.mark.slow
def test_a_closing_window_does_not_wait_for_a_silent_server(hub, ended, panel, qtbot, tmp_path):
    hub.stall_after = 1000
    look(panel, qtbot)
    panel.download_button.click()
    qtbot.waitUntil(lambda: panel._downloads.downloading.progress.done == 1000)
    began = time.monotonic()
    end_work(panel._downloads)
    assert time.monotonic() - began < 20
    assert [path.stat().st_size for path in (tmp_path / REPO).iterdir()] == [1000]


def test_an_error_is_explained_and_clears_the_list(hub, panel, qtbot):
    look(panel, qtbot)
    for name in ("maker/none", "non sense/x"):
        look(panel, qtbot, name)
        assert panel.words.property("role") == "problem" and "OWNER/NAME" in panel.words.text()
        assert panel.choices.rowCount() == 0 and not panel.download_button.isVisible()
    hub.repos["maker/both"] = {"a-Q4_K_M.gguf": gguf(), "b-Q4_K_M.gguf": gguf()}
    look(panel, qtbot, "maker/both")
    assert "2 of its models are Q4_K_M" in panel.words.text() and panel.choices.rowCount() == 2
    panel.table.selectRow(1)
    assert panel.download_button.isVisible()


def test_words_find_repositories_and_a_selected_one_shows_its_files(hub, panel, qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.model_picker.downloads.available_memory", lambda: 9000)
    hub.repos["maker/tiny-large"] = {"large-Q4_K_M.gguf": gguf(30_000)}
    hub.downloads["maker/tiny-large"] = 12_345
    look(panel, qtbot, "tiny")
    shown = [[panel.hits.index(row, column).data() for column in range(5)] for row in range(2)]
    assert shown[0][0] == "maker/tiny-large" and shown[0][3:] == ["too large", "12,345"]
    assert shown[1][:2] == [REPO, "Q4_K_M"] and shown[1][3] == "fits"
    assert panel._choice().name == "large-Q4_K_M.gguf" and panel.hits_table.isVisible()
    panel.hits_table.selectRow(1)
    assert [panel.choices.row(row).name for row in range(2)] == [FILE, "tiny-Q8_0.gguf"]
    again = HubPanel(panel._downloads)  # of a dialog that is opened again
    qtbot.addWidget(again)
    assert again.hits.rowCount() == 2 and again._choice().name == FILE
    panel.download_button.click()
    qtbot.waitUntil(panel.use_button.isVisible)
    assert (tmp_path / REPO / FILE).exists()
    look(panel, qtbot, "nothing of this name")
    assert "No repository" in panel.words.text() and not panel.hits_table.isVisible()
    assert panel.choices.rowCount() == 0 and not panel.download_button.isVisible()
    look(panel, qtbot, "x")
    assert "2 to 200" in panel.words.text() and panel.words.property("role") == "problem"


def test_a_repository_that_cannot_be_listed_says_why_when_it_is_selected(hub, panel, qtbot):
    hub.repos["maker/tiny-gone"] = {}
    hub.moved["maker/tiny-gone"] = "gone/away"
    look(panel, qtbot, "tiny")
    names = [panel.hits.row(row).repo for row in range(2)]
    panel.hits_table.selectRow(names.index("maker/tiny-gone"))
    assert "no such repository" in panel.words.text() and panel.choices.rowCount() == 0
    assert not panel.download_button.isVisible()
    panel.hits_table.selectRow(names.index(REPO))
    assert panel.choices.rowCount() == 2 and panel.download_button.isVisible()


def test_an_older_listing_does_not_replace_a_newer_error(panel, qtbot, monkeypatch):
    asked, answer = threading.Event(), threading.Event()

    class Slow(Lookup):
        def listing(self):
            asked.set()
            answer.wait(60)
            raise DownloadStopped

    monkeypatch.setattr("glyphscope_gui.model_picker.downloads.Lookup", Slow)
    panel.name_edit.setText(REPO)
    panel.look_button.click()
    assert asked.wait(60)
    panel.name_edit.setText("non sense/x")
    panel.look_button.click()
    assert "OWNER/NAME" in panel.words.text()
    answer.set()
    qtbot.waitUntil(lambda: not panel._downloads._background.is_busy)
    assert "OWNER/NAME" in panel.words.text() and panel.words.property("role") == "problem"


def test_without_the_extra_the_panel_says_how_to_install_it(qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.model_picker.hub_panel.hub_is_here", lambda: False)
    panel = HubPanel(ModelDownloads(tmp_path))
    qtbot.addWidget(panel)
    panel.show()
    assert FIX_HUB in panel.words.text()
    panel.name_edit.setText(REPO)
    assert not panel.name_edit.isEnabled() and not panel.look_button.isEnabled()


def test_a_found_model_can_be_used_and_a_broken_one_cannot(qtbot, tmp_path):
    dialog = ModelDialog(ModelDownloads(tmp_path))
    qtbot.addWidget(dialog)
    dialog.show()
    assert "Looking" in dialog.nothing.text()
    dialog.show_found([], [])
    assert "glyphscope[demo]" in dialog.nothing.text() and not dialog.use_button.isVisible()
    part = Unfinished(tmp_path / "x.part", REPO, FILE, 20_000_000)
    dialog.show_found(FOUND, [part])
    assert dialog.use_button.isEnabled() and not dialog.nothing.isVisible()
    words = [dialog.found.data(dialog.found.index(0, column)) for column in range(4)]
    assert words == ["Small", "Q4_1", "98 MB", "bundled with Glyphscope"]
    dialog.table.selectRow(1)
    assert not dialog.use_button.isEnabled()
    assert "✗ The file is cut off" in dialog.found.data(dialog.found.index(1, 0))
    (row,) = dialog.hub._rows
    resume, discard = row.findChildren(type(dialog.use_button))
    with qtbot.waitSignal(dialog.hub.discardRequested) as signal:
        discard.click()
    assert signal.args == [part] and FILE in resume.accessibleName()
    dialog.table.selectRow(0)
    with qtbot.waitSignal(dialog.chosen) as chosen:
        dialog.use_button.click()
    assert chosen.args == ["/e/Small-Q4_1.gguf"]


def test_a_double_click_opens_a_model_once(qtbot, tmp_path):
    dialog = ModelDialog(ModelDownloads(tmp_path))
    dialog.show()
    dialog.show_found(FOUND, [])
    chosen = []
    dialog.chosen.connect(chosen.append)
    view, place = dialog.table.viewport(), dialog.table.visualRect(dialog.found.index(0, 0)).center()
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert chosen == ["/e/Small-Q4_1.gguf"]


@pytest.mark.parametrize(
    ("progress", "speed", "words"),
    [
        (
            DownloadProgress("downloading", 400_000_000, 1_000_000_000),
            10e6,
            "400 MB of 1 GB, 10 MB/s, 60 s left",
        ),
        (DownloadProgress("downloading", 0, 8_000_000_000), 1e6, "0 B of 8 GB, 1 MB/s, 2 h 13 min left"),
        (DownloadProgress("downloading", 5_000_000, 0), 0.0, "5 MB"),
        (
            DownloadProgress("checking", 5_000_000, 9_000_000),
            0.0,
            "Checking the partial download: 5 MB of 9 MB",
        ),
        (
            DownloadProgress("waiting", 5, 9, "It is cut. Trying again in 2 s."),
            0.0,
            "It is cut. Trying again in 2 s.",
        ),
    ],
)
def test_progress_is_described_from_what_was_measured(progress, speed, words):
    choice = FileChoice((HubFile("x.gguf", 1),))
    assert progress_words(Downloading(choice, progress, speed)) == words


# -- the presenter -------------------------------------------------------------------------------------------------


@pytest.fixture
def presenter(context, qtbot):
    picker = ModelPicker(context.settings, context.window)
    presenter = ModelPresenter(context, picker)
    yield presenter
    end_work(presenter)


@pytest.mark.slow
def test_a_download_continues_without_its_view_and_is_saved_when_the_window_closes(
    hub, context, presenter, qtbot, monkeypatch, own_home
):
    monkeypatch.setattr(
        "glyphscope_gui.model_picker.presenter.find_models",
        lambda folders: [*FOUND, *(model for model in find_models(folders) if model.source == "folder")],
    )
    hub.repos[REPO][FILE] = gguf(90_000)
    hub.stall_after = 20_000
    picker = presenter._picker
    picker._fill()
    {a.text(): a for a in picker.menu().actions()}["Get a model…"].trigger()
    dialog = presenter._dialog
    qtbot.waitUntil(lambda: dialog.found.rowCount() == 2)
    assert presenter.show() is dialog  # one is enough
    look(dialog.hub, qtbot)
    dialog.hub.download_button.click()
    dialog.reject()
    qtbot.waitUntil(lambda: any("tiny: " in note for note in context.status.notes))
    hub.stall_after = -1
    hub.over.set()  # the connection is cut
    qtbot.waitUntil(lambda: bool(context.offers))
    ((words, _button, use),) = context.offers
    assert "tiny was downloaded" in words and context.status.notes[-1] == ""
    place = own_home / "models" / REPO / FILE
    assert place.read_bytes() == hub.repos[REPO][FILE]
    qtbot.waitUntil(lambda: any(model.path == str(place) for model in picker._found or ()))
    use()
    assert context.project.model == str(place)


@pytest.mark.slow
def test_a_first_start_without_a_model_shows_a_recorded_run_and_how_to_get_one(open_window, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.model_picker.presenter.find_models", lambda folders: [])

    def opener(_name, **_options):
        raise ModelError("There is no such file.", where="x", hint="Choose one.")

    window = open_window(opener)
    notice = window.page(PageId.PLAYGROUND).view.notice
    assert "A recorded run is shown instead" in notice.label.text()
    assert notice.other.text() == "Get a model…"
    notice.other.click()
    assert window.findChild(ModelDialog) is not None
