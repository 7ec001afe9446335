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
from glyphscope.tools.mcp.log import LogEntry
from glyphscope_gui.calls.call_texts import hint_words
from glyphscope_gui.enforcement.rows import enforcement_rows
from glyphscope_gui.enforcement.table import EnforcementCell, EnforcementRow
from glyphscope_gui.servers import (
    IMAGE_SIDE,
    MAX_TEXT,
    ServerLog,
    ServersLogModel,
    call_view,
    clashes,
    find_servers,
    imported_name,
    plan_import,
    registry_words,
    shown_text,
)
from glyphscope_gui.servers import lists as columns
from glyphscope_gui.servers.lists import ServersToolModel, ToolRow
from glyphscope_gui.servers.words import EnforcementSummary, enforcement_words
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.table_model import PILL_ROLE

ONE, TWO, THREE = Tool("one", "first"), Tool("two", "second"), Tool("three")


def entries(first, last, method="tools/list"):
    return tuple(
        LogEntry(
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


def test_an_import_over_another_tool_is_a_clash_and_a_renamed_tool_is_called_by_its_own_name():
    assert clashes([ONE, THREE], "srv", REGISTRY, {}) == ["one"]
    assert clashes([ONE], "srv", REGISTRY, {"one": "srv"}) == []
    assert clashes([ONE], "srv", REGISTRY, {"uno": "srv/one"}) == ["one"], "the renamed one no longer exists"
    plan = plan_import([ONE, THREE], "srv", REGISTRY, {"x": "y"}, rename=True)
    assert [tool.name for tool in plan.tools] == ["one_2", "three"]
    assert plan.sources == {"x": "y", "one_2": "srv/one", "three": "srv"}
    registry = ToolRegistry((*REGISTRY, *plan.tools))
    assert imported_name("one", "srv", registry, plan.sources) == "one_2"
    again = plan_import([replace(ONE, description="new")], "srv", registry, plan.sources, rename=False)
    assert [(tool.name, tool.description) for tool in again.tools] == [("one_2", "new")]
    taken = ToolRegistry((ONE, Tool("one_2")))
    assert (
        len({tool.name for tool in plan_import([ONE, Tool("one_3")], "srv", taken, {}, rename=True).tools})
        == 2
    )
    for tool, server, sources, words in (
        (ONE, "srv", plan.sources, "as one_2"),
        (ONE, "demo", {}, "imported"),
        (replace(ONE, description="new"), "demo", {}, "imported, changed"),
        (ONE, "srv", {}, "name in use"),
        (Tool("four"), "srv", {"four": "srv"}, ""),
    ):
        assert registry_words(tool, server, registry, sources) == words


def test_a_replaced_tool_belongs_to_its_new_server():
    plan = plan_import([TWO], "srv", REGISTRY, {"two": "old"}, rename=False)
    assert plan.sources == {"two": "srv"}
    assert plan.tools[0].enabled is False, "the allow list was changed by an import"
    assert plan_import([TWO], "demo", REGISTRY, plan.sources, rename=False).sources == {}


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


def huge_png():
    """The head of a picture of 60,000 by 60,000 pixels."""
    data = bytearray(png(2, 2))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>'


@pytest.mark.parametrize(
    ("outcome", "texts"),
    [
        (Outcome(), ["The result is empty."]),
        (Outcome(fault="protocol", message="m"), ["m"]),
        (Outcome(fault="tool", message="none", content=(ToolContent(text="none"),)), ["none"]),
        (Outcome(structured={"a": 99}, schema_problems=("/a: 99 is too large",)),
         ["/a: 99 is too large", '{\n  "a": 99\n}']),
        (Outcome(content=(ToolContent(text='{"a": [1]}'), ToolContent(text="{no json"))),
         ['{\n  "a": [\n    1\n  ]\n}', "{no json"]),
        (Outcome(content=(ToolContent(kind="link", uri="file:///etc/passwd", name="p"),)), ["file:///etc/passwd"]),
        (Outcome(content=(ToolContent(kind="resource", uri="file:///b", data=b"\0\1", size=2),)), ["2 bytes"]),
        (Outcome(content=(ToolContent(kind="audio", data=b"RIFF"),)), ["not played"]),
    ],
)  # fmt: skip
def test_a_result_is_shown_piece_by_piece_and_no_link_is_opened(qapp, outcome, texts):
    pieces = call_view(outcome, 1).pieces
    assert [piece.image for piece in pieces] == [None] * len(texts)
    assert all(text in piece.text for text, piece in zip(texts, pieces, strict=True))


def test_an_error_of_a_tool_of_the_protocol_and_of_a_schema_look_different(qapp):
    outcomes = [Outcome(fault=fault, message="m") for fault in ("tool", "protocol", "timeout")]
    tool, protocol, timeout = (call_view(outcome, 1) for outcome in outcomes)
    assert len({tool.words, protocol.words, timeout.words}) == 3
    assert tool.role != protocol.role and "isError" in tool.tip
    broken = call_view(Outcome(structured={"a": 99}, schema_problems=("/a: 99 is too large",)), 0.5)
    assert "schema" in broken.words and broken.role != "holds"


@pytest.mark.parametrize(
    ("data", "size", "words"),
    [
        (png(3000, 200), (IMAGE_SIDE, 42), "3,000 × 200"),
        (huge_png(), None, "60,000 × 60,000 pixels: too large to show"),
        (SVG, None, ""),
        (b"nonsense", None, ""),
    ],
    ids=["large", "huge", "svg", "nonsense"],
)
def test_a_picture_is_scaled_down_and_one_that_cannot_be_shown_is_not_drawn(qapp, data, size, words):
    (piece,) = call_view(Outcome(content=(ToolContent(kind="image", data=data, mime="image/png"),)), 1).pieces
    assert (piece.image and (piece.image.width(), piece.image.height())) == size and words in piece.text


def test_a_text_of_megabytes_is_shown_in_part(qapp):
    text = "x" * 5_000_000
    view = call_view(Outcome(content=(ToolContent(text=text),)), 1)
    assert len(view.pieces[0].text) < 2 * MAX_TEXT
    assert view.pieces[0].text.endswith("Open shows the rest.") and view.pieces[0].whole.text == text
    assert max(map(len, shown_text(text).split("\n"))) <= 1000
    many = tuple(ToolContent(text=str(n)) for n in range(500))
    assert len(call_view(Outcome(content=many), 1).pieces) == 41


def test_the_time_in_which_a_server_waited_for_the_user_is_shown_apart_from_the_calls_own():
    assert call_view(Outcome(waited=38.0), 38.5).figures == "500 ms · waited 38 s"
    assert call_view(Outcome(), 0.5).figures == "500 ms"
