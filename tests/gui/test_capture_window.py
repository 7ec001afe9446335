"""*Capture…* in the window: its sign, its runs in the history, its errors, its breakpoints, and its end."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import closing

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox

pytest.importorskip("uvicorn")

import glyphscope.capture
from capturing import Capturing, RawServer, answer_with_call, asking, chunked
from fake_context import scripted
from glyphscope.capture.process import Begin
from glyphscope.evals.suites.reading import load_suite
from glyphscope.prompting.costs import prompt_costs
from glyphscope_gui.history.presenter import SuiteDialog
from on_screen import Screen
from scripted_endpoint import Answer, endpoint

pytestmark = pytest.mark.slow  # a window, and processes

PATIENCE_MS = 200_000
"""A capture starts two processes, each of which imports the engine: on a busy machine, that takes a minute."""

GOOD = answer_with_call('{"query": "a"}')
BAD = answer_with_call('{"query": "a", "max_results": 500}')


@pytest.fixture
def upstream():
    server = RawServer(lambda asked: chunked(*(BAD if b"bad" in asked else GOOD)))
    with closing(server):
        yield server


@pytest.fixture
def start(qtbot, window, upstream, tmp_path):
    """Start a capture by the menu and its dialog; returns an agent of it."""

    def begin(*boxes, tools="", port="0", to="", count="the counts that the server sends"):
        screen = Screen(qtbot, window)
        screen.press("Capture…")
        screen.until("Server of the agent")
        screen.write("Server of the agent", to or f"http://127.0.0.1:{upstream.port}")
        screen.choose("Tokens of the prompt", count)
        screen.write("Port for the agent", port)
        screen.write("Pause answers that call", tools)
        for box in boxes:
            screen.press(box)
        screen.press("Start capture")
        qtbot.waitUntil(window.capture_bar.isVisible, timeout=PATIENCE_MS)
        agent = Capturing(tmp_path)
        agent.port = int(window.capture_bar._url.rpartition(":")[2])
        return agent

    yield begin
    window.capture.stop()
    qtbot.waitUntil(lambda: not window.capture.unfinished, timeout=PATIENCE_MS)
    window.capture._begin = None  # the next one does not begin with its breakpoints


@pytest.fixture
def ask(qtbot):
    """Ask as an agent does, outside of the window's thread; returns a function that waits for the answer."""

    def asked(agent, *texts):
        got = []
        thread = threading.Thread(target=lambda: got.append(agent.ask(asking(*texts))))
        thread.start()

        def answer():
            qtbot.waitUntil(lambda: bool(got), timeout=PATIENCE_MS)
            thread.join()
            return got[0]

        return answer

    return asked


def until_words(qtbot, window, words):
    qtbot.waitUntil(lambda: words in window.capture_bar.words.text(), timeout=PATIENCE_MS)


def test_closing_the_window_asks_about_a_capture_and_ends_it(qtbot, open_window, upstream, ask, tmp_path):
    window = open_window(scripted)
    places = window.services.places
    to = f"http://127.0.0.1:{upstream.port}"
    window.capture.start(Begin(to=to, folder=str(places.captures), port=0, history=str(places.history)))
    qtbot.waitUntil(window.capture_bar.isVisible, timeout=PATIENCE_MS)
    agent = Capturing(tmp_path)
    agent.port = int(window.capture_bar._url.rpartition(":")[2])
    ask(agent, "find a")()
    until_words(qtbot, window, "1 request")
    window.close()
    box = window.findChild(QMessageBox, "runningQuestion")
    assert f"A capture is running for {to}" in box.informativeText() and "1 request" in box.informativeText()
    button = next(each for each in box.buttons() if each.text() == "Stop and close")
    button.click()
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=PATIENCE_MS)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", agent.port), timeout=5).close()


def test_the_window_says_all_the_time_that_it_captures_and_the_requests_become_runs(
    qtbot, window, upstream, start, ask
):
    agent = start()
    words = f"127.0.0.1:{agent.port} → 127.0.0.1:{upstream.port}"
    until_words(qtbot, window, f"{words} · 0 requests")
    ask(agent, "find a")()
    ask(agent, "a bad one")()
    until_words(qtbot, window, f"{words} · 2 requests (1 not valid)")
    assert "2 requests (1 not valid)" in window.capture_bar.accessibleName()
    dock = window.panels.history
    qtbot.waitUntil(
        lambda: {"find a", "a bad one"} <= {row.title for row in dock.model.rows}, timeout=PATIENCE_MS
    )
    for page in window.pages:
        window.navigator.show(page)
        assert window.capture_bar.isVisible()
    row = next(row for row in dock.model.rows if row.title == "a bad one")
    with qtbot.waitSignal(window.runs.ended):
        dock.runOpened.emit(row.id)
    assert window.runs.state.started.request.prompt == "a bad one"
    screen = Screen(qtbot, window)
    screen.press("Stop capture")
    qtbot.waitUntil(lambda: not window.capture_bar.isVisible(), timeout=PATIENCE_MS)
    assert "2 requests are in the history" in window.status.note.text()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", agent.port), timeout=5).close()


def test_the_dialog_keeps_its_size_while_one_types(qtbot, window):
    screen = Screen(qtbot, window)
    screen.press("Capture…")
    screen.until("Server of the agent")
    dialog = window.findChild(QDialog, "captureDialog")
    before = dialog.size()
    for address in ("https://example.com/v1", "127.0.0.1:99999", ""):
        dialog.to_edit.setText(address)
        QApplication.processEvents()
        assert dialog.size() == before, address
    dialog.reject()


def test_a_port_that_is_in_use_is_said_in_the_dialog_which_stays_open(qtbot, window, upstream):
    screen = Screen(qtbot, window)
    screen.press("Capture…")
    screen.until("Server of the agent")
    screen.write("Server of the agent", "not an address")
    assert "Invalid endpoint address" in screen and not screen.find("Start capture").isEnabled()
    screen.write("Server of the agent", "http://192.0.2.1:9")
    assert "The requests leave this computer, unencrypted." in screen
    screen.write("Server of the agent", "https://192.0.2.1:9")
    assert "The requests leave this computer." in screen
    screen.write("Server of the agent", "http://127.0.0.1:9")
    assert "leave this computer" not in screen
    screen.write("Port for the agent", str(upstream.port))
    screen.press("Start capture")
    screen.until(f"The port {upstream.port} cannot be used")
    assert not window.capture_bar.isVisible() and screen.find("Start capture").isEnabled()
    screen.press("Cancel")


def test_missing_packages_are_named(qtbot, window, monkeypatch):
    monkeypatch.setattr(glyphscope.capture, "_PACKAGES", ("httpx2", "a_package_that_is_missing"))
    window.actions_.capture.trigger()
    Screen(qtbot, window).until("A capture needs a_package_that_is_missing.")


def test_a_server_that_does_not_run_is_a_run_that_failed_and_the_agent_gets_the_reason(
    qtbot, window, upstream, start, ask
):
    agent = start()
    upstream.close()
    status, _, body = ask(agent, "nobody listens")()
    assert status == 502 and "cannot be reached" in json.loads(body)["error"]["message"]
    dock = window.panels.history
    qtbot.waitUntil(
        lambda: any(row.title == "nobody listens" for row in dock.model.rows), timeout=PATIENCE_MS
    )


def test_an_answer_waits_in_the_window_until_a_valid_edit_is_sent(qtbot, window, start, ask):
    agent = start("Pause answers with an invalid call")
    ask(agent, "find a")()  # passes
    answer = ask(agent, "a bad one")
    screen = Screen(qtbot, window)

    def until(*expected):
        for each in expected:
            found = each if callable(each) else lambda each=each: each in screen
            qtbot.waitUntil(found, timeout=PATIENCE_MS)

    qtbot.waitUntil(lambda: window.capture._paused_dialog is not None, timeout=PATIENCE_MS)
    assert window.capture_bar.paused_button.text() == "1 paused" and "CONSTRAINT_MAX" in screen
    editor = window.capture._paused_dialog.editor
    until("Whole text")
    calls = editor.toPlainText()
    assert json.loads(calls) == [{"name": "search", "arguments": {"query": "a", "max_results": 500}}]
    editor.show_text(calls.replace("500", "5x"))
    screen.press("Send edited")
    until("The calls are not valid JSON", "line 6")
    editor.show_text(calls.replace("500", "101"))
    until("max_results is at most 100, and no continuation of 101 is")
    editor.show_text(calls.replace("500", "5"))
    until("Each call of the edited answer is valid.")
    screen.press("Whole text")
    until(lambda: rb"max_results\": 5}" in editor.toPlainText().encode())
    assert screen.find("Send edited")
    screen.press("Undo edits")
    until(lambda: editor.toPlainText() == calls)
    screen.press("Whole text")
    until(lambda: "data: " in editor.toPlainText())
    text = editor.toPlainText()
    editor.show_text(text.replace('"delta"', '"delta', 1))
    screen.press("Send edited")
    until("not valid JSON", "line 1")
    screen.press("Calls")
    assert "data: " in editor.toPlainText()
    editor.show_text(text)
    screen.press("Calls")
    until(lambda: editor.toPlainText() == calls)
    editor.show_text(calls.replace("500", "50"))
    screen.press("Send edited")
    assert answer()[2] == text.replace("500", "50").encode()
    qtbot.waitUntil(lambda: window.capture._paused_dialog is None, timeout=PATIENCE_MS)
    assert not window.capture_bar.paused_button.isVisible()


def test_a_paused_request_can_be_dropped_and_one_left_waiting_is_found_again(
    qtbot, window, upstream, start, ask
):
    agent = start("Pause each request")
    answer = ask(agent, "wait for me")
    qtbot.waitUntil(lambda: window.capture._paused_dialog is not None, timeout=PATIENCE_MS)
    window.capture._paused_dialog.reject()
    qtbot.waitUntil(lambda: window.capture._paused_dialog is None)
    screen = Screen(qtbot, window)
    screen.press("1 paused")
    assert "wait for me" in window.capture._paused_dialog.editor.toPlainText()
    screen.press("Drop")
    status, _, body = answer()
    assert status == 403 and b"was dropped" in body and upstream.asked == []


def test_the_tokens_of_tools_and_messages_are_counted_by_the_server_s_own_tokenizer(
    qtbot, window, start, ask
):
    def prompt(body):
        tools = f"[tools]{json.dumps(body['tools'])}" if "tools" in body else ""
        return {"prompt": f"<s>{tools}[user]count this[bot]"}

    def tokens(body):
        return {"tokens": [{"piece": each} for each in body["content"]]}  # one for each character

    answer = Answer(tuple(GOOD))
    with endpoint(answer, **{"apply-template": prompt, "tokenize": tokens}) as server:
        agent = start(to=server.url, count="the server’s own tokenizer")
        ask(agent, "count this")()
        until_words(qtbot, window, "1 request")
        dock = window.panels.history

        def captured():
            return [row for row in dock.model.rows if row.title == "count this"]

        qtbot.waitUntil(lambda: bool(captured()), timeout=PATIENCE_MS)
        with qtbot.waitSignal(window.runs.ended):
            dock.runOpened.emit(captured()[0].id)
        shown = window.runs.state.stages[-1].prompt
        window.capture.stop()
        qtbot.waitUntil(lambda: not window.capture.unfinished, timeout=PATIENCE_MS)
    costs = {cost.title: cost.tokens for cost in prompt_costs(shown)}
    assert costs["user's text"] == len("count this") and costs["tools"] > 100
    assert shown.tokens == len(shown.text) == sum(costs.values())


def test_a_server_that_does_not_count_is_said_in_the_dialog(qtbot, window, upstream):
    screen = Screen(qtbot, window)
    with endpoint(Answer(tuple(GOOD)), owner="me") as server:
        screen.press("Capture…")
        screen.until("Server of the agent")
        screen.write("Server of the agent", server.url)
        screen.write("Port for the agent", "0")
        screen.choose("Tokens of the prompt", "the server’s own tokenizer")
        screen.press("Start capture")
        words = "does not report the prompts that it makes"
        qtbot.waitUntil(lambda: words in screen, timeout=PATIENCE_MS)
    assert not window.capture_bar.isVisible()
    screen.press("Cancel")


def test_a_captured_run_is_run_again_with_the_open_model_and_compared(qtbot, window, start, ask):
    agent = start()
    ask(agent, "find a")()
    ask(agent, "a bad one")()
    dock = window.panels.history

    def captured():
        return {row.title: row.id for row in dock.model.rows if row.notation.startswith("native")}

    qtbot.waitUntil(lambda: {"find a", "a bad one"} <= set(captured()), timeout=PATIENCE_MS)
    screen = Screen(qtbot, window)
    with qtbot.waitSignal(window.runs.ended):
        dock.runOpened.emit(captured()["find a"])
    screen.until("Return to the project")
    with qtbot.waitSignal(window.runs.ended, timeout=PATIENCE_MS):
        screen.press("Run again with the open model")
    started = window.runs.state.started
    assert started.request.prompt == "find a" and started.model.name == "scripted"
    assert [tool["name"] for tool in started.request.registry["tools"]] == ["search"]
    assert window.runs.state.failed is None and not window.record_bar.isVisible()
    assert (started.request.native, started.request.max_tokens, started.request.alternatives) == ("", 512, 10)
    dock.suiteRequested.emit(captured()["find a"])
    suites = screen.dialog(SuiteDialog)
    suites.write("Suite", "Captured")
    suites.press("Add")
    path = window.services.places.suites / "Captured.json"
    qtbot.waitUntil(path.exists)
    (scenario,) = load_suite(path).scenarios
    assert [each.arguments for each in scenario.expect.calls] == [{"query": "a"}]
    dock.compareRequested.emit([captured()["find a"], captured()["a bad one"], started.run])
    screen.until("a bad one")
    assert window.navigator.current == "compare"
