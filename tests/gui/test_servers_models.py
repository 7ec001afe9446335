"""The parts of the servers' page that need no server: lists, logs, results, and the preview of an import."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from PySide6.QtCore import QBuffer, QByteArray, Qt
from PySide6.QtGui import QImage, QTextDocument

from glyphscope.base.visible import visible
from glyphscope.events import ToolContent
from glyphscope.explain.proof import Proof
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.tools import Outcome
from glyphscope.tools.mcp import Entry
from glyphscope_gui.calls.call_texts import hint_words
from glyphscope_gui.enforcement.rows import enforcement_rows
from glyphscope_gui.enforcement.table import EnforcementCell, EnforcementRow
from glyphscope_gui.servers import lists as columns
from glyphscope_gui.servers.call_result import IMAGE_SIDE, MAX_TEXT, call_view, shown_text
from glyphscope_gui.servers.dialogs import find_servers
from glyphscope_gui.servers.lists import ServersToolModel, ToolRow
from glyphscope_gui.servers.log import ServerLog, ServersLogModel
from glyphscope_gui.servers.tools import clashes, imported_name, plan_import, registry_words
from glyphscope_gui.servers.words import EnforcementSummary, enforcement_words
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.table_model import PILL_ROLE

ONE, TWO, THREE = Tool("one", "first"), Tool("two", "second"), Tool("three")


def entries(first, last, method="tools/list"):
    return tuple(
        Entry(
            number=n, time=1.7e9 + n, direction="sent", method=method, id=str(n), text=f'{{"n": {n}}}', size=9
        )
        for n in range(first, last + 1)
    )


# -- the log ---------------------------------------------------------------------------------------------------


@pytest.fixture
def log(qtmodeltester):
    model = ServersLogModel()
    qtmodeltester.check(model)
    return model


def numbers(model):
    return [model.row(row).number for row in range(model.rowCount())]


def test_a_growing_log_appends_rows(log):
    resets, inserts = [], []
    log.modelReset.connect(lambda: resets.append(1))
    log.show(entries(1, 3))
    log.rowsInserted.connect(lambda _parent, first, last: inserts.append((first, last)))
    log.show(entries(1, 5))
    assert (numbers(log), inserts, len(resets)) == ([1, 2, 3, 4, 5], [(3, 4)], 1)
    log.show(entries(3, 7))
    assert (numbers(log), len(resets)) == ([3, 4, 5, 6, 7], 1)
    log.show(entries(100, 101))
    assert (numbers(log), len(resets)) == ([100, 101], 2)
    log.show(())
    assert numbers(log) == []


def test_a_log_follows_its_end_only_for_a_reader_at_the_end(qtbot):
    view = ServerLog()
    qtbot.addWidget(view)
    view.resize(800, 300)
    view.show()
    bar = view.table.verticalScrollBar()
    view.show_entries(entries(1, 50))
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    view.resize(800, 200)
    view.show_entries(entries(1, 60))
    qtbot.waitUntil(lambda: bar.value() == bar.maximum())
    bar.setValue(5)
    view.show_entries(entries(1, 70))
    qtbot.wait(20)
    assert bar.value() == 5


def test_a_filter_applies_to_later_entries(log):
    log.show(entries(1, 2) + entries(3, 3, "tools/call"))
    log.set_filter("CALL")
    assert numbers(log) == [3]
    log.show(entries(2, 2) + entries(3, 4, "tools/call") + entries(5, 5))
    assert numbers(log) == [3, 4]
    log.show(entries(4, 4, "tools/call") + entries(5, 6))
    assert numbers(log) == [4]
    log.set_filter("")
    assert numbers(log) == [4, 5, 6]
    assert log.row_of(5) == 1
    assert log.text().count("\n") == 2


# -- the tools -------------------------------------------------------------------------------------------------


def shown(tools, **more):
    model = ServersToolModel(lambda _tool: "")
    model.show([ToolRow(t.name, t) for t in tools], keep=False, **more)
    return model


def test_tools_are_asked_about_only_when_they_are_in_sight():
    asked = []
    tools = [Tool(f"tool-{n}") for n in range(5000)]
    model = ServersToolModel(lambda tool: asked.append(tool.name) or "imported")
    model.show([ToolRow(t.name, t, claims={"readOnlyHint": True}) for t in tools], keep=False)
    assert (model.rowCount(), asked) == (5000, [])
    assert model.index(4000, columns.ANNOTATIONS).data() == "read-only"
    assert model.index(4000, columns.IN_REGISTRY).data() == "imported"
    assert asked == ["tool-4000"]
    model.set_filter("tool-499")
    assert model.rowCount() == 11
    model.tick_all(True)
    assert len(model.ticked) == 11


def test_ticks_survive_another_list_of_the_same_server():
    model = shown([ONE, TWO])
    model.setData(model.index(1, 0), Qt.CheckState.Checked.value, Qt.ItemDataRole.CheckStateRole)
    assert model.ticked == (TWO,)
    model.show([ToolRow("two", TWO), ToolRow("three", THREE)], keep=True)
    assert model.ticked == (TWO,)
    model.show([ToolRow("two", TWO)], keep=False)
    assert model.ticked == (), "a tick moved to another server"


def test_a_tool_that_cannot_be_used_cannot_be_ticked(qtmodeltester):
    model = ServersToolModel(lambda _tool: "")
    rows = [ToolRow("one", ONE), ToolRow("bad", None, "Its schema has a remote reference.")]
    model.show(rows, keep=False)
    qtmodeltester.check(model)
    bad = model.index(1, columns.NAME)
    assert not model.flags(bad) & Qt.ItemFlag.ItemIsUserCheckable
    assert bad.data(Qt.ItemDataRole.CheckStateRole) is None
    assert "remote" in bad.data(Qt.ItemDataRole.ToolTipRole)
    assert model.index(1, columns.ENFORCEMENT).data(PILL_ROLE) == ("cannot be used", "impossible")
    model.tick_all(True)
    assert model.ticked == (ONE,)
    assert model.usable == 1


def test_enforcement_is_counted_in_words():
    def rows(*states):
        return tuple(
            EnforcementRow("t", f"/{n}", "k", "w", {"mask": EnforcementCell(s)}) for n, s in enumerate(states)
        )

    assert enforcement_words(()).words == "no constraints"
    assert enforcement_words(rows("enforced", "enforced"))[:2] == ("2 enforced", "holds")
    assert enforcement_words(rows("enforced", "checked"))[:2] == ("1 of 2 enforced", "open")
    assert enforcement_words(rows("enforced", "unsupported"))[:2] == ("1 of 2 enforced", "impossible")
    assert "1 of 2: neither enforced nor checked" in enforcement_words(rows("enforced", "unsupported")).tip
    model = shown([ONE])
    model.set_enforcement({"one": EnforcementSummary("2 enforced", "holds", "all")})
    assert model.index(0, columns.ENFORCEMENT).data(PILL_ROLE) == ("2 enforced", "holds")


def test_an_enforced_constraint_names_what_is_not_written_or_judged_late():
    """Leap seconds with an offset, and patterns that look ahead."""
    why = "check judges the pattern at the end of the text only"
    proof = Proof(
        tool="one", pointer="/properties/x/pattern", keyword="pattern", engine="mask", status="enforced", examples=2,
        alone=True, why=why,
    )  # fmt: skip
    (row,) = enforcement_rows(ToolRegistry((Tool("one"),)), [proof])
    cell = row.cells["mask"]
    assert cell.state == "enforced" and cell.why.endswith(why[1:])


def test_claims_are_in_words():
    assert hint_words({"readOnlyHint": False, "destructiveHint": True}) == "not read-only, destructive"
    assert hint_words({"readOnlyHint": "yes", "title": "X"}) == ""


def test_foreign_text_is_shown_with_visible_characters_and_no_markup(qapp):
    assert (
        visible("rm -rf ~ \u202e#txt.a\n\u200b\u00a0é", spaces=True)
        == "rm -rf ~ ⟨U+202E⟩#txt.a␊⟨U+200B⟩⟨U+00A0⟩é"
    )
    assert plain_tip("a & b") == "a & b"
    tip = plain_tip('<img src="file:///etc/passwd"> a\nb')
    document = QTextDocument()
    document.setHtml(tip)
    assert document.toPlainText() == '<img src="file:///etc/passwd"> a\nb'
    tool = Tool("x", "<b>bold</b>")
    assert "&lt;b&gt;" in shown([tool]).index(0, 0).data(Qt.ItemDataRole.ToolTipRole)


# -- import ----------------------------------------------------------------------------------------------------

REGISTRY = ToolRegistry((ONE, replace(TWO, enabled=False)))


def test_an_import_over_another_tool_is_a_clash():
    assert clashes([ONE, THREE], "srv", REGISTRY, {}) == ["one"]
    assert clashes([ONE], "srv", REGISTRY, {"one": "srv"}) == []
    assert clashes([ONE], "srv", REGISTRY, {"uno": "srv/one"}) == ["one"], "the renamed one no longer exists"


def test_a_renamed_tool_is_called_by_its_own_name():
    plan = plan_import([ONE, THREE], "srv", REGISTRY, {"x": "y"}, rename=True)
    assert [tool.name for tool in plan.tools] == ["one_2", "three"]
    assert plan.sources == {"x": "y", "one_2": "srv/one", "three": "srv"}
    registry = ToolRegistry((*REGISTRY, *plan.tools))
    assert imported_name("one", "srv", registry, plan.sources) == "one_2"
    assert registry_words(ONE, "srv", registry, plan.sources) == "as one_2"
    again = plan_import([replace(ONE, description="new")], "srv", registry, plan.sources, rename=False)
    assert [(tool.name, tool.description) for tool in again.tools] == [("one_2", "new")]


def test_two_tools_of_one_import_get_different_names():
    taken = ToolRegistry((ONE, Tool("one_2")))
    plan = plan_import([ONE, Tool("one_3")], "srv", taken, {}, rename=True)
    assert len({tool.name for tool in plan.tools}) == 2


def test_a_replaced_tool_belongs_to_its_new_server():
    plan = plan_import([TWO], "srv", REGISTRY, {"two": "old"}, rename=False)
    assert plan.sources == {"two": "srv"}
    assert plan.tools[0].enabled is False, "the allow list was changed by an import"
    back = plan_import([TWO], "demo", REGISTRY, plan.sources, rename=False)
    assert back.sources == {}


def test_the_registry_says_what_it_has_of_a_server():
    assert registry_words(ONE, "demo", REGISTRY, {}) == "imported"
    assert registry_words(replace(ONE, description="new"), "demo", REGISTRY, {}) == "imported, changed"
    assert registry_words(ONE, "srv", REGISTRY, {}) == "name in use"
    assert registry_words(THREE, "srv", REGISTRY, {"three": "srv"}) == ""


def test_an_invalid_entry_leaves_the_other_servers_of_a_file():
    text = json.dumps({"mcpServers": {"a": {"command": "x", "env": {"K": "v"}}, "b": {"command": 3}}})
    found = find_servers(text)
    assert [server.name for server in found.servers] == ["a"]
    assert found.servers[0].entry == {"command": "x", "env": {"K": "v"}}
    assert found.problems[0].startswith("/mcpServers/b")
    assert find_servers("").error == ""
    assert find_servers("{").error
    assert find_servers("[1]").error


# -- results ---------------------------------------------------------------------------------------------------


def png(width, height):
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return data.data()


def test_a_tools_error_differs_from_one_of_the_protocol(qapp):
    kinds = {
        fault: call_view(Outcome(fault=fault, message="m"), 1) for fault in ("tool", "protocol", "timeout")
    }
    assert len({view.words for view in kinds.values()}) == 3
    assert kinds["tool"].role != kinds["protocol"].role
    assert "isError" in kinds["tool"].tip
    assert kinds["protocol"].pieces[0].text == "m"


def test_the_words_of_an_error_are_shown_once(qapp):
    content = (ToolContent(text="no such city"),)
    view = call_view(Outcome(fault="tool", message="no such city", content=content), 1)
    assert [piece.text for piece in view.pieces] == ["no such city"]


def test_a_result_that_breaks_its_own_schema_is_marked(qapp):
    view = call_view(Outcome(structured={"a": 99}, schema_problems=("/a: 99 is too large",)), 0.5)
    assert "schema" in view.words
    assert view.role != "holds"
    assert any("too large" in piece.text for piece in view.pieces)
    assert any(piece.text == '{\n  "a": 99\n}' for piece in view.pieces)


def test_a_large_picture_is_scaled_down(qapp):
    view = call_view(Outcome(content=(ToolContent(kind="image", data=png(3000, 200), mime="image/png"),)), 1)
    image = view.pieces[0].image
    assert (image.width(), image.height()) == (IMAGE_SIDE, 42)
    assert "3,000 × 200" in view.pieces[0].text


def test_a_picture_of_too_many_pixels_is_not_decoded(qapp):
    data = bytearray(png(2, 2))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    view = call_view(Outcome(content=(ToolContent(kind="image", data=bytes(data)),)), 1)
    assert view.pieces[0].image is None
    assert "60,000 × 60,000 pixels: too large to show" in view.pieces[0].text


def test_an_svg_of_a_tool_is_not_drawn(qapp):
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>'
    assert call_view(Outcome(content=(ToolContent(kind="image", data=svg),)), 1).pieces[0].image is None


def test_invalid_pictures_and_links_are_text(qapp):
    content = (
        ToolContent(kind="image", data=b"nonsense"),
        ToolContent(kind="link", uri="file:///etc/passwd", name="p"),
        ToolContent(kind="resource", uri="file:///b", data=b"\0\1", size=2),
        ToolContent(kind="audio", data=b"RIFF"),
    )
    pieces = call_view(Outcome(content=content), 1).pieces
    assert [piece.image for piece in pieces] == [None] * 4
    assert "file:///etc/passwd" in pieces[1].text
    assert "2 bytes" in pieces[2].text


def test_a_text_of_megabytes_is_shown_in_part(qapp):
    text = "x" * 5_000_000
    view = call_view(Outcome(content=(ToolContent(text=text),)), 1)
    assert len(view.pieces[0].text) < 2 * MAX_TEXT
    assert view.pieces[0].text.endswith("Open shows the rest.") and view.pieces[0].whole.text == text
    assert max(map(len, shown_text(text).split("\n"))) <= 1000
    many = tuple(ToolContent(text=str(n)) for n in range(500))
    assert len(call_view(Outcome(content=many), 1).pieces) == 41


def test_json_in_a_text_is_indented(qapp):
    view = call_view(Outcome(content=(ToolContent(text='{"a": [1]}'), ToolContent(text="{no json"))), 1)
    assert view.pieces[0].text == '{\n  "a": [\n    1\n  ]\n}'
    assert view.pieces[1].text == "{no json"


def test_an_empty_result_says_so(qapp):
    assert call_view(Outcome(), 1).pieces[0].text == "The result is empty."


def test_the_time_in_which_a_server_waited_for_the_user_is_shown_apart_from_the_calls_own():
    assert call_view(Outcome(waited=38.0), 38.5).figures == "500 ms · waited 38 s"
    assert call_view(Outcome(), 0.5).figures == "500 ms"
