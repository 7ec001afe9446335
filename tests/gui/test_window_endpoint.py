"""An endpoint in the real window: opened by its address, run, stopped, and told where it fails."""

from __future__ import annotations

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from PySide6.QtWidgets import QTableView

from glyphscope.models import ScriptedModel, open_model
from glyphscope.models.remote import is_address
from glyphscope_gui.shared.token_words import UNKNOWN
from scripted_endpoint import DONE, Answer, Hang, chunk, endpoint, said


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("GLYPHSCOPE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    before = keyring.core._keyring_backend
    keyring.set_keyring(NoKeyring())
    yield
    keyring.core._keyring_backend = before


@pytest.fixture
def window(open_window):
    def opened(name, **options):
        return open_model(name, **options) if is_address(name) else ScriptedModel()

    return open_window(opened)


def finish(qtbot, window):
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    return window.runs.state


def choose(qtbot, window, server):
    with qtbot.waitSignal(window.picker.modelChosen):
        window.picker.modelChosen.emit(server.url)
    window.parts.project.set_options(constraint="mask")


def test_an_endpoint_does_not_run_in_the_window_or_its_figures_are_shown_as_more_than_they_are(qtbot, window):
    likely = {"token": '"AI"}', "logprob": -0.1, "bytes": None}
    likely["top_logprobs"] = [{"token": '"AI"}', "logprob": -0.1}, {"token": '"BI"}', "logprob": -3.0}]
    last = chunk('"AI"}', logprobs={"content": [likely]})
    with endpoint(Answer((chunk('{action="search" query='), last, chunk(finish="stop"), DONE))) as server:
        choose(qtbot, window, server)
        state = finish(qtbot, window)
        assert state.outcome == "valid" and server.asked[0].body["grammar"]
        step = state.tokens[1].step
        assert len(step.alternatives) == 2 and step.probability is None and not step.piece
        table = window.findChild(QTableView, "tokenTable").model()
        shown = [str(table.index(1, column).data()) for column in range(table.columnCount())]
        assert UNKNOWN in shown and "100.0 %" not in shown
        assert "endpoint" in state.prompt.note
        window.shut_down()


def test_an_endpoint_that_hangs_is_not_stopped_by_stop(qtbot, window):
    with endpoint(Answer((chunk('{action="search'), Hang))) as server:
        choose(qtbot, window, server)
        with qtbot.waitSignal(window.runs.ended):
            window.actions_.run.trigger()
            qtbot.waitUntil(lambda: bool(window.runs.state and window.runs.state.tokens))
            window.actions_.stop.trigger()
        assert window.runs.state.outcome == "cancelled" and server.gone.wait(60)
        window.shut_down()


def test_an_endpoint_that_ignores_the_constraint_is_taken_for_a_bad_model(qtbot, window):
    with endpoint(said("Sure, I will search")) as server:
        choose(qtbot, window, server)
        state = finish(qtbot, window)
        assert state.failed is not None and "ignored the constraint" in state.failed.message
        window.shut_down()
