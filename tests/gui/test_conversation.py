"""The prompt's messages: a plain system prompt, a conversation that is edited, and the reply below an answer."""

from __future__ import annotations

import json

import msgspec
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QVBoxLayout

from glyphscope.events import Message, RunRequest, ToolCall
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.store import Project, load_project, save_project
from glyphscope_gui.project import PromptContext, PromptDocument, PromptState
from glyphscope_gui.prompt import MESSAGES, TEMPLATE, ConversationEditor, PromptDock, PromptPresenter
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.table_model import LINES_ROLE

CALL = '{action="search" query="AI news" max_results=10}'
HISTORY = (Message("user", "Find x"), Message("assistant", "", (ToolCall("search", {"query": "x"}, "c1"),)))
CALLS = "Tool calls of the message, as JSON"
ALTERNATING = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
)


@pytest.fixture
def document(qapp):
    document = PromptDocument(PromptContext(default_registry()), PromptState(user="And y?", history=HISTORY))
    yield document
    end_work(document)


@pytest.fixture
def editor(document, qtbot):
    editor = ConversationEditor(document)
    qtbot.addWidget(editor)
    editor.resize(260, 600)
    editor.show()
    return editor


def roles(editor):
    return [editor.model.index(row, 0).data(LINES_ROLE)[0].words for row in range(editor.model.rowCount())]


def test_messages_are_listed_in_order_and_edited_below_the_list(editor, document, screen_of):
    screen = screen_of(editor)
    assert roles(editor) == ["User", "Assistant", "User (next)"]
    assert [editor.model.index(row, 0).data() for row in range(3)] == ["Find x", "calls search", "And y?"]
    assert not editor.editor.role_combo.isEnabled() and not screen.named("Delete")
    editor.choose(0)
    screen.write("Text of the message…", "Find z")
    editor.choose(1)
    screen.write(CALLS, '[{"name": ')
    assert "Not applied" in screen and document.state.history[1] == HISTORY[1]
    screen.write(CALLS, '[{"name": "browse", "arguments": {"url": "u"}}]')
    assert "Not applied" not in screen
    editor.choose(2)
    screen.write("Your message", "And now?")
    calls = (ToolCall("browse", {"url": "u"}),)
    assert document.state.history == (Message("user", "Find z"), Message("assistant", "", calls))
    assert document.user == "And now?"
    editor.choose(1)
    editor.editor.role_combo.setCurrentIndex(editor.editor.role_combo.findData("user"))
    editor.editor.role_combo.activated.emit(editor.editor.role_combo.currentIndex())
    assert document.state.history[1] == Message("user", "") and not screen.named(CALLS), (
        "a user calls nothing"
    )
    document.set_conversation((Message("user", "x"), Message("tool", "3")))
    editor.choose(1)
    assert roles(editor)[1] == "! Tool result" and "without a call" in screen


def test_a_message_is_added_in_the_next_role_deleted_and_restored(editor, document, screen_of):
    screen = screen_of(editor)
    screen.press("Add a message")
    assert roles(editor) == ["User", "Assistant", "Tool result", "User (next)"]
    assert editor.editor.edit.hasFocus()
    screen.write("Text of the message…", "found")
    assert document.state.history[2] == Message("tool", "found")
    screen.key("Messages…", "Delete")
    assert document.state.history == HISTORY
    screen.press("Undo")
    assert document.state.history[2] == Message("tool", "found") and not screen.named("Undo")
    editor.choose(3)
    screen.key("Messages…", "Delete")
    assert document.user == "And y?" and len(roles(editor)) == 4, "the next one cannot be deleted"


def test_a_new_conversation_keeps_the_next_message_and_is_undone_unless_something_was_edited(
    editor, document
):
    editor.clear()
    assert (document.state.history, document.user) == ((), "And y?")
    document.undo()
    assert document.state.history == HISTORY
    editor.clear()
    document.set_user("typed since")
    assert not document.can_undo and not editor.undo_button.isVisible()
    document.set_conversation([Message("user", "x" * 1000)] * 5000)
    assert editor.model.rowCount() == 5001


def test_a_conversation_is_copied_as_openais_messages_and_pasted_again(editor, document):
    document.set_system_prompt("Be brief.")
    before = document.state
    editor.copy()
    copied = json.loads(QGuiApplication.clipboard().text())
    assert [message["role"] for message in copied] == ["system", "user", "assistant", "user"]
    document.set_state(PromptState())
    editor.paste()
    assert document.state == before


@pytest.mark.parametrize("text", ["", "hello", '{"messages": 3}', '[{"role": "tool", "content": "x"}]'])
def test_pasted_text_without_a_conversation_changes_nothing_and_says_why(editor, document, text):
    QGuiApplication.clipboard().setText(text)
    before = document.state
    editor.paste()
    assert document.state == before and editor.words.isVisible() and editor.words.text()


def test_the_template_is_one_click_away(document, qtbot):
    dock = PromptDock(document)
    qtbot.addWidget(dock)
    assert dock.tabs.currentIndex() == MESSAGES
    dock.conversation.template_link.click()
    assert dock.tabs.currentIndex() == TEMPLATE


# -- with a model ----------------------------------------------------------------------------------------------


@pytest.fixture
def open_panel(open_context, qtbot):
    made = []

    def build(opener, **options):
        context = open_context(opener)
        dock = PromptDock(context.project.prompt)
        QVBoxLayout(context.window).addWidget(dock)
        presenter = PromptPresenter(context, dock)
        made.append(presenter)
        context.window.resize(320, 800)
        context.window.show()
        context.project.set_options(constraint="off", **options)
        context.runs.open_model(context.project.model)
        return dock.conversation, context.project.prompt

    yield build
    for presenter in made:
        end_work(presenter)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["direct", "loop"])
def test_each_message_has_its_tokens_whatever_the_strategy(open_panel, qtbot, strategy):
    editor, prompt = open_panel(lambda _name, **_options: ScriptedModel(CALL), strategy=strategy)
    prompt.set_system_prompt("You are a helpful assistant.")
    prompt.set_conversation((Message("user", "one two three four"),), "five six seven eight nine")
    qtbot.waitUntil(
        lambda: (
            editor.system_tokens.text() != "" and bool(editor.model.index(0, 0).data(LINES_ROLE)[0].beside)
        )
    )
    assert all("token" in editor.model.index(row, 0).data(LINES_ROLE)[0].beside for row in range(2))


@pytest.mark.slow
def test_an_error_of_the_models_template_is_shown_beside_the_messages(open_panel, qtbot):
    editor, prompt = open_panel(lambda _name, **_options: ScriptedModel(CALL, template=ALTERNATING))
    prompt.set_conversation((Message("user", "one"), Message("user", "two")), "three")
    qtbot.waitUntil(lambda: "roles must alternate" in editor.words.text())
    prompt.set_conversation(())
    qtbot.waitUntil(lambda: not editor.words.isVisible())


# -- projects --------------------------------------------------------------------------------------------------


def test_a_project_saves_its_conversation_and_an_older_project_opens_unchanged(context, tmp_path, qtbot):
    project, path = context.project, tmp_path / "p.glyphscope"
    project.prompt.set_system_prompt("Be brief.")
    project.prompt.set_conversation(HISTORY, "And y?")
    assert project.save(path)
    project.new(Project(request=RunRequest(prompt="other", registry={"glyphscope": 1, "tools": []})))
    assert project.prompt.state == PromptState(user="other") and project.request.history == ()
    project.open(path)
    qtbot.waitUntil(lambda: project.prompt.user == "And y?")
    assert project.prompt.state == PromptState(user="And y?", system_prompt="Be brief.", history=HISTORY)
    document = json.loads(path.read_text())
    for name in ("system_prompt", "history"):
        del document["request"][name]
    path.write_text(json.dumps(document))
    old = load_project(path).project
    assert (old.request.system_prompt, old.request.history) == ("", ())
    digest = save_project(path, old)
    assert digest and load_project(path).project == old


# -- the reply -------------------------------------------------------------------------------------------------


@pytest.fixture
def playground(open_page, qtbot):
    page = open_page(PageId.PLAYGROUND)
    page.context.project.set_options(constraint="off")
    page.context.project.prompt.set_user("Find AI news")
    page.context.actions.run.triggered.connect(page.run)
    page.view.window().addAction(page.context.actions.run)  # its shortcut is the key that sends a reply, too
    page.run()
    qtbot.waitUntil(page.view.reply.isVisible)
    return page


def ended(page, qtbot, do):
    with qtbot.waitSignal(page.context.runs.ended):
        do()


@pytest.mark.slow
def test_a_reply_runs_with_the_runs_messages_until_a_new_conversation_is_started(
    playground, screen_of, qtbot
):
    screen, runs, view = screen_of(playground), playground.context.runs, playground.view
    assert not screen.can("Send")
    screen.write("Reply", "And 5 about llamas")
    ended(playground, qtbot, lambda: screen.key("Reply", "Ctrl+Return"))
    request = runs.state.started.request
    assert request.history == (Message("user", "Find AI news"), Message("assistant", CALL))
    assert request.prompt == "And 5 about llamas" == screen.read("Your prompt")
    assert (screen.read("Reply"), view.history_link.words) == ("", "After 2 messages")
    ended(playground, qtbot, playground.run)
    assert len(runs.state.started.request.history) == 2, "Run repeats the last message"
    screen.write("Reply", "third")
    ended(playground, qtbot, lambda: screen.press("Send"))
    assert len(runs.state.started.request.history) == 4
    screen.write("Reply", "and then")
    screen.press("Edit messages")
    assert playground.context.panels.revealed[-1] == "messages" and not runs.is_busy
    state = playground.context.project.prompt.state
    assert (len(state.history), state.user) == (6, "and then")
    view.new_link.click()
    assert not view.history_link.isVisible()
    ended(playground, qtbot, playground.run)
    assert runs.state.started.request.history == ()


@pytest.mark.slow
def test_the_reply_to_a_record_takes_the_records_system_prompt_and_own_runs_keep_the_edited_one(
    playground, qtbot
):
    prompt, runs = playground.context.project.prompt, playground.context.runs
    prompt.set_system_prompt("edited since")
    playground.view.reply.edit_button.click()
    assert prompt.state.system_prompt == "edited since"
    first = runs.events[0]
    request = msgspec.structs.replace(first.request, system_prompt="of the record")
    events = (msgspec.structs.replace(first, request=request), *runs.events[1:])
    ended(playground, qtbot, lambda: runs.show_record(events))
    playground.view.reply.edit_button.click()
    assert prompt.state.system_prompt == "of the record"
    prompt.undo()
    assert prompt.state.system_prompt == "edited since"


@pytest.mark.slow
def test_a_run_without_an_answer_has_no_reply(open_page, qtbot):
    page = open_page(PageId.PLAYGROUND, lambda _name, **_options: ScriptedModel(""))
    page.context.project.set_options(constraint="off")
    ended(page, qtbot, page.run)
    assert not page.view.reply.isVisible()


@pytest.mark.slow
def test_the_projects_earlier_messages_are_not_shown_with_the_prompt_of_a_record(playground, qtbot):
    context, link = playground.context, playground.view.history_link
    context.project.prompt.set_conversation((Message("user", "a"), Message("assistant", "b")), "c")
    assert link.isVisible()
    ended(playground, qtbot, lambda: context.runs.replay(bundled_run("search-mask.jsonl"), 0))
    assert context.record.started is not None and not link.isVisible()
    context.record.leave()
    assert link.isVisible()
