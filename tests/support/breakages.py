"""Handling of bad input, removed one after the other: a test that covers it has to fail.

`python tests/support/breakages.py` works on a copy of the tree and prints the failures of each; `… WORD` only those
whose line contains the word. Exit code 1 if one had no failures: then no test covers that line of docs/bad-input.md.
`tests/engine/test_breakages.py` checks that the places and tests named here exist.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
ROOTS = ("engine", "gui", "assets", "benchmarks")
PARTS = (*ROOTS, "tests", "docs", "packaging", "pyproject.toml", "Makefile", "README.md", "CHANGELOG.md")
SECONDS = 300
"""A test fails if it hangs without its handling, and if it requests more memory than `BYTES`."""
BYTES = 8 << 30

_FILES, _GGUF = "engine/glyphscope/models/files.py", "engine/glyphscope/models/gguf.py"
_LOAD, _SAVED = "engine/glyphscope/registry/load.py", "engine/glyphscope/store/files.py"
_PROJECT, _RUNNING = "engine/glyphscope/store/project.py", "engine/glyphscope/models/process.py"
_PATTERN, _CHECK = "engine/glyphscope/grammar/regular/pattern.py", "engine/glyphscope/registry/check.py"
_WHOLE_MODELS = "e2e/test_bad_models.py::test_an_incomplete_model_is_rejected_and_listed_with_its_problem"
_HEADERS = "engine/test_models_file.py::test_a_file_that_is_not_a_complete_model_is_reported"


@dataclass(frozen=True)
class Breakage:
    """In `file`, the one place `old` becomes `new`; one of `tests` (below `tests/`) then fails."""

    line: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


BREAKAGES = (
    Breakage(
        "a GGUF that is missing",
        _FILES,
        "if missing:",
        "if False:",
        ("engine/test_command_pages.py",),
    ),
    Breakage(
        "a GGUF that is cut off", _GGUF, "if tensors and data + end > cursor.size:", "if False:", (_HEADERS,)
    ),
    Breakage(
        "a GGUF that is damaged: its header",
        _GGUF,
        'return ModelError(f"The GGUF file is damaged: {what}.", where=self.where, hint=_DAMAGED)',
        "return AssertionError(what)",
        (_HEADERS, "engine/test_models_file.py::test_flipped_bytes_are_a_model_error_at_most"),
    ),
    Breakage(
        "a GGUF that is damaged: its tensors",
        "engine/glyphscope/models/decoding/loop.py",
        "if not math.isfinite(logits[best]):",
        "if False:",
        ("e2e/test_bad_models.py::test_flipped_bytes_in_the_tensors_are_a_damaged_model",),
    ),
    Breakage(
        "a GGUF that is damaged: it crashes llama.cpp",
        "engine/glyphscope/models/llama.py",
        "except ModelDied as death:",
        "except ZeroDivisionError as death:",
        ("e2e/test_bad_models.py::test_a_file_that_kills_llama_cpp_is_reported_with_its_reason",),
    ),
    Breakage(
        "a file that is not a model",
        _GGUF,
        'if cursor.size < 4 or cursor.take(4) != b"GGUF":',
        "if not cursor.take(4):",
        (_HEADERS, _WHOLE_MODELS),
    ),
    Breakage(
        "a model that writes no text",
        _FILES,
        "if not header.architecture or not header.vocabulary:",
        "if False:",
        ("engine/test_models_file.py",),
    ),
    Breakage(
        "a model too large for the memory",
        _FILES,
        "if fits and available is not None and header.size > available:",
        "if False:",
        ("engine/test_models_file.py::test_a_model_larger_than_the_memory_is_rejected",),
    ),
    Breakage(
        "a registry that is not JSON",
        "engine/glyphscope/registry/document.py",
        "except json.JSONDecodeError as error:",
        "except ZeroDivisionError as error:",
        ("engine/test_registry_load.py::test_text_that_is_not_json_is_reported_with_line_column_and_a_hint",),
    ),
    Breakage(
        "a registry with a wrong schema",
        _LOAD,
        "for path, reason in check_schema(item.parameters))",
        "for path, reason in ())",
        (
            "engine/test_registry_load.py::test_all_errors_are_reported_at_once",
            "engine/test_registry_load.py::test_an_error_of_a_tool_has_its_pointer",
        ),
    ),
    Breakage(
        "an invalid registry, in the window",
        _LOAD,
        "    if raw.problems:\n        raise _error(raw.problems, where)\n    registry = ToolRegistry",
        "    registry = ToolRegistry",
        ("gui/test_bad_input.py::test_an_invalid_registry_is_a_users_error_and_leaves_the_tools",),
    ),
    Breakage(
        "a registry with a duplicate name",
        _LOAD,
        "if item.name in first:",
        "if False:",
        ("engine/test_registry_load.py::test_all_errors_are_reported_at_once",),
    ),
    Breakage(
        "a hostile pattern: in the final check",
        _PATTERN,
        "matcher = start(StringLanguage((pattern,)))\n    if matcher is not None:\n        return matcher.feed(text)",
        "matcher = None\n    if matcher is not None:\n        return matcher.feed(text)",
        ("engine/test_validator_checker.py::test_a_hostile_pattern_is_matched_by_the_linear_engine",),
    ),
    Breakage(
        "a hostile pattern: its repeats multiply",
        "engine/glyphscope/registry/patterns.py",
        "if _size(pattern) > MAX_SIZE:",
        "if False:",
        (
            "engine/test_registry_hostile.py::"
            "test_a_pattern_that_would_exhaust_memory_or_stack_is_rejected_at_once",
        ),
    ),
    Breakage(
        "2,000 tools: a mask for them",
        "engine/glyphscope/grammar/builder/tools.py",
        "if len(names) <= MAX_ALTERNATIVES:",
        "if True:",
        (
            "engine/test_grammar_scale.py::test_two_thousand_tools_are_built_in_seconds_and_each_can_be_called",
        ),
    ),
    Breakage(
        "2,000 tools: read in the background",
        "gui/glyphscope_gui/tools/actions.py",
        "            partial(_read, source),",
        "            lambda found=_read(source): found,",
        ("gui/test_tools_dock.py::test_a_file_of_many_tools_is_read_in_another_thread",),
    ),
    Breakage(
        "a schema 200 levels deep: it loads",
        _CHECK,
        "MAX_LEVELS = 256",
        "MAX_LEVELS = 199",
        ("engine/test_registry_hostile.py::test_a_schema_200_levels_deep_loads",),
    ),
    Breakage(
        "a schema 257 levels deep: it is rejected",
        _CHECK,
        "if place.level > MAX_LEVELS:",
        "if False:",
        ("engine/test_registry_hostile.py::test_a_schema_that_is_too_deep_is_rejected",),
    ),
    Breakage(
        "a prompt longer than the context",
        "engine/glyphscope/models/child.py",
        "if tokens + 1 > engine.context:",
        "if False:",
        ("e2e/test_model_process.py::test_a_prompt_longer_than_the_context_is_rejected",),
    ),
    Breakage(
        "a model's process killed during a run: waiting requests fail",
        _RUNNING,
        "for replies in self._replies.values():\n                    replies.put(None)",
        "pass",
        ("e2e/test_model_process.py::test_a_killed_process_is_restarted_for_the_next_generation",),
    ),
    Breakage(
        "a model's process killed during a run: the run ends with an error",
        "engine/glyphscope/runs/strategies/running.py",
        "yield emitter.stamp(failed(error))",
        "raise",
        (
            "gui/test_bad_input.py::test_a_model_that_dies_leaves_its_tokens_and_the_next_run_works",
            "e2e/test_bad_requests.py::test_a_killed_model_ends_the_command_with_its_last_event",
        ),
    ),
    Breakage(
        "a full disk while saving",
        _SAVED,
        'temporary = ""\n    refuse_special(target)\n    try:',
        'temporary = ""\n    target.write_bytes(b"")\n    try:',
        ("engine/test_store_files.py::test_a_full_disk_leaves_the_old_file_and_no_temporary_one",),
    ),
    Breakage(
        "a full disk while saving: a clear error",
        "engine/glyphscope/base/inputs.py",
        "if error.errno in (errno.ENOSPC, errno.EDQUOT):",
        "if False:",
        (
            "engine/test_store_files.py::test_a_full_disk_leaves_the_old_file_and_no_temporary_one",
            "gui/test_project_controller.py::test_a_full_disk_leaves_the_old_file_and_the_edits",
        ),
    ),
    Breakage(
        "two windows on one project",
        _PROJECT,
        "if there not in (expected, digest_of(data)):",
        "if False:",
        (
            "engine/test_store_files.py::test_two_windows_do_not_overwrite_each_others_project",
            "gui/test_project_controller.py::test_a_file_changed_by_another_window_is_a_conflict",
        ),
    ),
    Breakage(
        "a record of a newer version",
        "engine/glyphscope/store/files.py",
        "if version > newest:",
        "if False:",
        ("gui/test_bad_input.py::test_a_record_of_a_newer_version_is_rejected_and_the_shown_run_stays",),
    ),
    Breakage(
        "a history of a newer version",
        "engine/glyphscope/store/history.py",
        "if version > VERSION:",
        "if False:",
        (
            "engine/test_store_runs.py::test_a_history_of_a_newer_version_is_left_as_it_is",
            "gui/test_bad_input.py::test_a_history_of_a_newer_version_is_left_as_it_is_and_reported",
        ),
    ),
    Breakage(
        "a token that is half a character",
        "engine/glyphscope/models/decoding/text.py",
        'codecs.getincrementaldecoder("utf-8")',
        'codecs.getincrementaldecoder("latin-1")',
        (
            "engine/test_model_descriptions.py::test_a_script_of_bytes_shows_only_complete_characters",
            "e2e/test_model_process.py::test_incomplete_characters_have_no_text_and_all_their_bytes",
        ),
    ),
    Breakage(
        "a model without a chat template",
        "engine/glyphscope/models/chat.py",
        "text, note = render_plain(messages), no_template",
        'text, note = render_plain(messages), ""',
        ("e2e/test_bad_models.py::test_a_model_without_a_chat_template_makes_a_call_with_a_note",),
    ),
)


def without(breakage: Breakage, text: str) -> str:
    """Return the file's text without the handling. Raises ValueError if the place is missing or not unique."""
    if text.count(breakage.old) != 1:
        raise ValueError(f"{breakage.line}: {text.count(breakage.old)} places in {breakage.file}")
    return text.replace(breakage.old, breakage.new)


def failures(tree: Path, tests: Sequence[str]) -> list[str]:
    """Return the names of failed tests in the copy `tree`, or that they hung. Raises ValueError if none was run."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "-rfE"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tree / root) for root in ROOTS),
        "QT_QPA_PLATFORM": "offscreen",
        "GLYPHSCOPE_EXAMPLES": "quick",
        "CI": "true",  # the same examples every time
    }
    try:
        done = subprocess.run(
            [*command, *(f"tests/{test}" for test in tests)],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES)),
        )
    except subprocess.TimeoutExpired:
        return ["hung"]
    if done.returncode < 0:
        return [f"the tests' own process, by signal {-done.returncode},"]
    if done.returncode not in (0, 1):
        raise ValueError(done.stdout[-2000:] + done.stderr[-2000:])
    return re.findall(r"^(?:FAILED|ERROR) (?:tests/)?(\S+)", done.stdout, re.MULTILINE)


def main(words: Sequence[str]) -> int:
    chosen = [each for each in BREAKAGES if not words or any(word in each.line for word in words)]
    detected = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for part in PARTS:
            source = REPOSITORY / part
            if source.is_dir():
                shutil.copytree(source, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tree / part)
        if before := failures(tree, sorted({test for each in chosen for test in each.tests})):
            sys.exit(f"These fail with the handling, too: {', '.join(before)}")
        for each in chosen:
            path, start = tree / each.file, time.monotonic()
            whole = path.read_text("utf-8")
            path.write_text(without(each, whole), "utf-8")
            found = failures(tree, each.tests)
            path.write_text(whole, "utf-8")
            detected += bool(found)
            names = ", ".join(dict.fromkeys(name.rpartition("::")[2].partition("[")[0] for name in found))
            print(f"{each.line}: {names or 'NOTHING FAILED'} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{detected} of {len(chosen)} are detected by a test.")
    return int(detected < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
