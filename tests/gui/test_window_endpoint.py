"""An endpoint in the window and on the playground: opened by its address, run, stopped, and its errors reported."""

from __future__ import annotations

import os

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from PySide6.QtWidgets import QTableView

from glyphscope.base.figures import UNKNOWN
from glyphscope.models import open_model
from glyphscope.models.remote import is_address
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.model_picker import EnforcementDialog, OpenModelLine
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


def connect(qtbot, context):
    runs = context.runs
    runs.open_model(context.project.model)
    qtbot.waitUntil(lambda: runs.model.is_endpoint and runs.model.phase == "ready", timeout=20_000)


@pytest.mark.slow
def test_the_enforcement_of_an_endpoint_is_tested_after_consent_and_shown_as_it_comes(qtbot, page):
    context = page.context
    with endpoint(said('{"value": 500}')) as server:
        choose(page, server)
        connect(qtbot, context)
        line = OpenModelLine()
        qtbot.addWidget(line)
        line.show_status(context.runs.model, can_unload=False)
        assert not line.test.isHidden()
        dialog = EnforcementDialog(context.runs.queries, server.url)
        qtbot.addWidget(dialog)
        dialog.show()
        assert "30 requests" in dialog.words.text() and server.url in dialog.words.text() and not server.asked
        dialog.send.click()
        qtbot.waitUntil(lambda: "constraints enforced" in dialog.words.text(), timeout=60_000)
        found = {row.name: row.found for row in dialog.results.rows}
        assert len(server.asked) == 30 and dialog.send.isEnabled()
        assert (found["maximum"], found["enum"], found["a call"]) == ("not enforced",) * 3
        if folder := os.environ.get("PICTURES"):
            dialog.grab().save(f"{folder}/enforcement.png")


@pytest.mark.slow
def test_closing_the_dialog_ends_the_test_of_an_endpoint(qtbot, page):
    context = page.context
    with endpoint(Answer((chunk('{"value"'), Hang))) as server:
        choose(page, server)
        connect(qtbot, context)
        dialog = EnforcementDialog(context.runs.queries, server.url)
        qtbot.addWidget(dialog)
        dialog.show()
        dialog.send.click()
        qtbot.waitUntil(lambda: bool(server.asked), timeout=20_000)
        dialog.reject()
        qtbot.waitUntil(server.gone.is_set, timeout=10_000)
        assert len(server.asked) == 1
