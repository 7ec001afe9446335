"""An endpoint in the window and on the playground: opened by its address, run, stopped, and its errors reported."""

from __future__ import annotations

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from PySide6.QtWidgets import QTableView

from glyphscope.base.figures import UNKNOWN
from glyphscope.models import open_model
from glyphscope.models.remote import is_address
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.shared.page_ids import PageId
from scripted_endpoint import DONE, Answer, Hang, chunk, endpoint, said


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("GLYPHSCOPE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    before = keyring.core._keyring_backend
    keyring.set_keyring(NoKeyring())
    yield
    keyring.core._keyring_backend = before


def opener(name, **options):
    return open_model(name, **options) if is_address(name) else ScriptedModel()


@pytest.fixture
def page(open_page):
    return open_page(PageId.PLAYGROUND, opener)


def choose(page, server):
    page.context.project.choose_model(server.url)
    page.context.project.set_options(constraint="mask")


@pytest.mark.slow
def test_an_endpoint_runs_in_the_window_and_shows_only_known_figures(qtbot, open_window):
    likely = {"token": '"AI"}', "logprob": -0.1, "bytes": None}
    likely["top_logprobs"] = [{"token": '"AI"}', "logprob": -0.1}, {"token": '"BI"}', "logprob": -3.0}]
    last = chunk('"AI"}', logprobs={"content": [likely]})
    window = open_window(opener)
    with endpoint(Answer((chunk('{action="search" query='), last, chunk(finish="stop"), DONE))) as server:
        window.picker.modelChosen.emit(server.url)
        assert window.services.project.model == server.url
        window.services.project.set_options(constraint="mask")
        with qtbot.waitSignal(window.runs.ended):
            window.actions_.run.trigger()
        state = window.runs.state
        assert state.outcome == "valid" and server.asked[0].body["grammar"]
        step = state.tokens[1].step
        assert len(step.alternatives) == 2 and step.probability is None and not step.piece
        table = window.findChild(QTableView, "tokenTable").model()
        shown = [str(table.index(1, column).data()) for column in range(table.columnCount())]
        assert UNKNOWN in shown and "100.0%" not in shown
        assert "endpoint" in state.prompt.note
        window.shut_down()


@pytest.mark.slow
def test_stop_ends_a_run_at_an_endpoint_that_hangs(qtbot, page):
    runs = page.context.runs
    with endpoint(Answer((chunk('{action="search'), Hang))) as server:
        choose(page, server)
        with qtbot.waitSignal(runs.ended):
            page.run()
            qtbot.waitUntil(lambda: bool(runs.state.tokens))
            runs.stop()
        assert runs.state.outcome == "cancelled" and server.gone.wait(60)
        runs.close()


def test_an_endpoint_that_ignores_the_constraint_is_reported(qtbot, page):
    with endpoint(said("Sure, I will search")) as server:
        choose(page, server)
        with qtbot.waitSignal(page.context.runs.ended):
            page.run()
        failed = page.context.runs.state.failed
        assert failed is not None and "ignored the constraint" in failed.message
        page.context.runs.close()
