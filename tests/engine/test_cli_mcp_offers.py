"""`glyphscope mcp resources`, `prompts` and `call --ask`, with a server on the official SDK."""

import json
import shlex
import sys

import pytest

from cli_command import mcp_command as command
from mcp_servers import SCRIPT
from png import PNG

PLAIN = shlex.join((sys.executable, str(SCRIPT)))

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The .* capability is deprecated")]


@pytest.fixture(scope="module")
def sdk():
    from sdk_server import sdk_http  # not by each worker that collects this file: the SDK is large

    with sdk_http() as address:
        yield address


def test_resources_are_listed_and_read(sdk):
    listed = command("resources", sdk)
    assert (
        listed.exit_code == 0 and "note://today" in listed.stdout and "note://{day}/{topic}" in listed.stdout
    )
    read = command("resources", sdk, "note://today")
    assert read.stdout.splitlines()[1:] == ["buy milk", "https://example.com/never-opened"]
    broken = command("resources", sdk, "note://broken")
    assert broken.exit_code == 0 and "application/json, but not JSON" in broken.stderr


def test_a_template_is_filled_in_and_one_without_its_variables_is_reported(sdk):
    filled = command("resources", f"{PLAIN} offers=bad", "note://{day}", "-a", '{"day": "1 May"}')
    assert filled.exit_code == 0 and "note://1%20May" in filled.stdout and "read" in filled.stdout
    odd = command("resources", sdk, "note://today", "-a", '{"day": 1}')
    assert odd.exit_code == 2 and "not a string" in odd.stderr


def test_values_of_an_argument_are_completed_with_the_other_arguments_as_context(sdk):
    listed = command("complete", sdk, "review", "style", "s")
    assert (listed.exit_code, listed.stdout.split()) == (0, ["short", "strict", "st⟨U+202E⟩art"])
    days = command("complete", sdk, "note://{day}/{topic}", "day")
    assert len(days.stdout.splitlines()) == 20 and "There are more. 31 in total." in days.stderr
    known = ("-a", '{"day": "1 May"}', "--json")
    topic = json.loads(command("complete", sdk, "note://{day}/{topic}", "topic", *known).stdout)
    assert topic["ok"] and topic["values"] == ["tea on 1 May"] and not topic["has_more"]
    unknown = command("complete", sdk, "review", "nothing")
    assert unknown.exit_code == 2 and "Choose one of: code, style" in unknown.stderr
    without = command("complete", PLAIN, "x", "y")
    assert without.exit_code == 1 and "does not declare completions" in without.stderr


def test_binary_content_is_saved_to_a_file(sdk, tmp_path):
    image = tmp_path / "dot.png"
    saved = command("resources", sdk, "image://dot", "-o", str(image))
    assert (saved.exit_code, saved.stdout) == (0, "") and image.read_bytes() == PNG
    assert "Saved" in saved.stderr and "69 B" in saved.stderr
    note = tmp_path / "note.txt"
    assert command("resources", sdk, "note://today", "-o", str(note)).exit_code == 0
    assert note.read_text().startswith("buy milk")
    failed = command("resources", sdk, "image://dot", "-o", str(note / "below"))
    assert failed.exit_code != 0 and "Traceback" not in failed.stderr
    assert command("resources", sdk, "-o", str(image)).exit_code == 2


def test_prompts_are_listed_and_got(sdk):
    listed = json.loads(command("prompts", sdk, "--json").stdout)
    assert listed["prompts"][0]["arguments"][0] == {"name": "code", "description": "", "required": True}
    got = command("prompts", sdk, "review", "-a", '{"code": "x"}')
    assert got.stdout.splitlines() == ["user:", "Review this in a short way: x"]
    refused = command("prompts", sdk, "review")
    assert refused.exit_code == 1 and "'code' is a required property" in refused.stderr
    unknown = command("prompts", sdk, "nothing")
    assert unknown.exit_code == 2 and "Choose one of: review" in unknown.stderr


def test_a_server_without_prompts_lists_none():
    listed = command("prompts", PLAIN)
    assert listed.exit_code == 0 and "lists no prompts" in listed.stderr


def test_a_server_that_asks_is_declined_unless_asking_is_allowed(sdk):
    refused = command("call", sdk, "book", text="y\nRome\n2\n")
    assert refused.exit_code == 1 and "asks" not in refused.stderr
    booked = command("call", sdk, "book", "--ask", text="y\nRome\n2\n")
    assert (booked.exit_code, booked.stdout) == (0, "accept: Rome, 2\n")
    assert "offering asks: Where to?" not in booked.stdout and "asks: Where to?" in booked.stderr


def test_a_form_is_asked_again_while_its_values_violate_the_schema(sdk):
    booked = command("call", sdk, "book", "--ask", text="y\nConstantinople\n2\nRome\n3\n")
    assert booked.stdout == "accept: Rome, 3\n" and "/city" in booked.stderr
    assert command("call", sdk, "book", "--ask", text="n\n").stdout == "decline\n"
    assert command("call", sdk, "book", "--ask", text="").stdout == "cancel\n"


def test_sampling_is_answered_by_hand_or_rejected(sdk):
    answered = command("call", sdk, "think", "--ask", text="woolly\n")
    assert answered.stdout == "human says woolly\n"
    assert "A word on llamas?" in answered.stderr and "at most 8 tokens" in answered.stderr
    rejected = command("call", sdk, "think", "--ask", text="\n")
    assert rejected.exit_code == 1 and "rejected" in rejected.stderr


def test_a_model_answers_sampling_only_after_two_approvals(sdk):
    model = ("--ask", "--model", "scripted:woolly")
    sent = command("call", sdk, "think", *model, text="y\ny\n")
    assert sent.stdout == "scripted says woolly\n" and "Let scripted:woolly answer?" in sent.stderr
    refused = command("call", sdk, "think", *model, text="y\nn\n")
    assert refused.exit_code == 1 and "scripted: woolly" in refused.stderr and refused.stdout == ""
    assert command("call", sdk, "think", *model, text="n\nby hand\n").stdout == "human says by hand\n"


def test_an_address_is_shown_and_never_opened(sdk):
    visited = command("call", sdk, "visit", "--ask", text="y\n")
    assert visited.stdout == "accept\n" and "https://example.com/pay?token=1" in visited.stderr
