"""The pages of docs/ against the program; their commands are run in tests/e2e/test_docs_commands.py."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
import typer.main

import event_reference
from docs_commands import ANSWERS_NO, BY_HAND, NOT_RUN, REPOSITORY
from docs_pages import PROGRAMS, Block, Command, blocks_of, pages, parts_of, plain
from glyphscope.cli.app import app

PAGES = pages(REPOSITORY)
COMMANDS = [part for page in PAGES for part in parts_of(page, page.name) if isinstance(part, Command)]


def test_the_reference_of_events_matches_the_structs():
    assert event_reference.PAGE.read_text(encoding="utf-8") == event_reference.page(), (
        "update it: python tests/support/event_reference.py"
    )


def _below(command):
    """Return the commands of a group by name: the program's own are imported when they are looked up."""
    context = typer.Context(command)
    names = command.list_commands(context) if hasattr(command, "list_commands") else ()
    return {name: command.get_command(context, name) for name in names}


def _described(command, name):
    """Each name, what is said of it, and its fixed choices, which are shown as <one|other>."""
    yield name, command.help, set()
    for parameter in command.params:
        shown, _ = parameter.get_help_record(typer.Context(command)) or ("", "")
        choices = {
            each for listed in re.findall(r"<(?:list\[)?(.*\|.*?)\]?>", shown) for each in listed.split("|")
        }
        yield f"{name} {parameter.name}", getattr(parameter, "help", ""), choices
    for each, below in _below(command).items():
        yield from _described(below, f"{name} {each}")


def test_every_command_and_every_option_says_what_it_does_and_names_no_choice_that_it_has_not():
    anywhere = defaultdict(set)
    described = list(_described(typer.main.get_command(app), "glyphscope"))
    for name, words, choices in described:
        assert words, name
        anywhere[name.split()[-1]] |= choices
    for name, words, choices in described:
        named = anywhere[name.split()[-1]] & set(re.findall(r"[a-z-]+", words)) if choices else set()
        assert named <= choices, name


def _leaves(command, name):
    below = _below(command)
    return {leaf for each in below for leaf in _leaves(below[each], f"{name} {each}")} if below else {name}


def test_every_command_is_on_the_page_of_commands():
    page = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
    leaves = {leaf.removeprefix("glyphscope ") for leaf in _leaves(typer.main.get_command(app), "glyphscope")}
    assert {leaf for leaf in leaves if leaf.removesuffix(" run") not in page} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            wrong.append(link)
    assert wrong == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub derives from headings."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    words = (
        re.sub(r"[^\w\- ]", "", heading.lower()) for heading in re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    )
    return {heading.strip().replace(" ", "-") for heading in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_block_of_commands_is_marked_as_one(page: Path):
    for block in blocks_of(page):
        if isinstance(block, Block) and not block.language and not block.lines[0].startswith("$ "):
            begins = {line.split()[0] for line in block.lines if line.strip()}
            assert not begins & {"sudo", "curl", "git", *PROGRAMS}, block


@pytest.mark.parametrize("pattern", [*NOT_RUN, *BY_HAND])
def test_every_exception_from_running_is_a_command_of_some_page(pattern: str):
    assert any(re.fullmatch(pattern, plain(command)) for command in COMMANDS)


def test_commands_that_answer_no_are_commands_of_some_page():
    assert {plain(command) for command in COMMANDS} >= ANSWERS_NO
