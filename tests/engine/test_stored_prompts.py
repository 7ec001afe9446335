"""Evaluated prompts on disk: read again only where the result would be the same, and never in the way of a run."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli_command import command as glyphscope

pytest.importorskip("llama_cpp")

from glyphscope.cli.load_options import StoredPromptsOption as CommandOption
from glyphscope.events import LoadOptions
from glyphscope.models import PromptCache, clear_cache, identity_of, stored_files
from glyphscope.models.session import StoredPrompts
from glyphscope.store import LIMIT_VARIABLE, Settings, places, prompt_cache

CHUNK = 64
LIMIT = 1_000_000
SLOW = 1e6
"""Milliseconds a token: storing is worth it."""
PROMPT = list(range(5 * CHUNK + 9))


class Engine:
    """Its state of a prompt is the prompt's text."""

    def __init__(self, **options: object) -> None:
        self.options = LoadOptions(**options)  # type: ignore[arg-type]
        self.context, self.batch = self.options.context, self.options.batch_size
        self.tokens: list[int] = []
        self.accepts = True

    @property
    def tokens_in_batches(self) -> list[int]:
        return self.tokens[:-1]

    def batch_ends(self, prompt: list[int]) -> list[int]:
        return [*range(self.batch, len(prompt), self.batch), len(prompt)]

    def copy_state(self, length: int, most: int) -> memoryview | None:
        state = repr(self.tokens[:length]).encode()
        return memoryview(state) if len(state) <= most else None

    def restore(self, tokens: list[int], state: bytes, length: int) -> bool:
        self.tokens = []
        if self.accepts:
            assert state == repr(tokens).encode(), "a wrong state"
            self.tokens = tokens[:length]
        return self.accepts


class Disk:
    """A model's file, a folder of stored prompts, and processes that use both."""

    def __init__(self, root: Path) -> None:
        self.model, self.cache = root / "model.gguf", PromptCache(str(root / "prompts"), LIMIT)
        self.model.write_bytes(b"weights")

    @property
    def files(self) -> list[Path]:
        return [file.path for file in stored_files(Path(self.cache.folder))]

    def opened(self, sha256: str = "", **options: object) -> StoredPrompts:
        stored = StoredPrompts(Engine(**options), [str(self.model)], identity_of(str(self.model)))  # type: ignore[arg-type]
        stored.cache, stored.sha256, stored.ms_per_token = self.cache, sha256, SLOW
        return stored

    def write(self, prompt: list[int] = PROMPT, stored: StoredPrompts | None = None) -> None:
        stored = stored or self.opened()
        stored._engine.tokens = prompt
        stored.keep(stored._engine)
        stored.finish(5)

    def restored(self, prompt: list[int] = PROMPT, stored: StoredPrompts | None = None) -> int:
        stored = stored or self.opened()
        count = stored.restore(stored._engine, prompt)
        assert not count or stored._engine.tokens == prompt[:count]
        return count


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_another_process_restores_the_batches_of_a_prompt_and_all_of_the_same_one_but_its_last_token(
    disk: Disk,
) -> None:
    disk.write()
    assert disk.restored() == len(PROMPT) - 1
    assert disk.restored([*PROMPT[:-1], 7, 7]) == 5 * CHUNK, "its last batch is another"
    assert disk.restored(PROMPT[: 5 * CHUNK]) == 4 * CHUNK, "the last token stays to be evaluated"
    assert disk.restored(PROMPT[: 3 * CHUNK + 1] + [7] * 200) == 3 * CHUNK, "what both begin with"
    assert disk.restored([1, *PROMPT]) == 0


@pytest.mark.parametrize(("batch", "whole"), [(16, 320), (128, 256), (512, 0)])
def test_the_batches_are_those_in_use(disk: Disk, batch: int, whole: int) -> None:
    disk.write(stored=disk.opened(batch=batch))
    assert disk.restored([*PROMPT, 7], stored=disk.opened(batch=batch)) == whole


def test_what_the_memory_contains_is_not_restored(disk: Disk) -> None:
    disk.write()
    stored = disk.opened()
    stored._engine.tokens = PROMPT[: 5 * CHUNK]
    assert stored.restore(stored._engine, PROMPT) == 0
    assert stored._engine.tokens == PROMPT[: 5 * CHUNK]


def test_a_file_is_read_for_one_chunk_only_if_most_of_it_is_used(disk: Disk) -> None:
    disk.write()
    stored = disk.opened()
    stored._engine.tokens = PROMPT[:CHUNK]
    assert stored.restore(stored._engine, PROMPT[: 2 * CHUNK + 1] + [7] * 200) == 0
    stored._engine.tokens = PROMPT[: 2 * CHUNK]
    assert stored.restore(stored._engine, PROMPT[: 3 * CHUNK + 1] + [7] * 200) == 3 * CHUNK


def test_a_prompt_is_stored_once_and_only_if_that_saves_time(disk: Disk) -> None:
    fast = disk.opened()
    fast.ms_per_token = 0.0
    disk.write(stored=fast)
    disk.write(PROMPT[: 2 * CHUNK - 1])
    assert not disk.files
    disk.write()
    disk.write(PROMPT[: 4 * CHUNK])
    disk.write([*PROMPT[: 4 * CHUNK], *range(9, 9 + CHUNK)])
    assert len(disk.files) == 1, "each of these has at most one new chunk"


def test_a_longer_prompt_replaces_its_beginning(disk: Disk) -> None:
    longer = [*PROMPT, *range(3 * CHUNK)]
    disk.write()
    disk.write(longer)
    assert len(disk.files) == 1 and disk.restored([*longer, 1]) == 8 * CHUNK
    disk.write([*longer[: 5 * CHUNK], *range(9, 9 + 4 * CHUNK)])
    assert len(disk.files) == 2, "neither begins with the other"


def test_a_disabled_cache_is_neither_written_nor_read(disk: Disk) -> None:
    off = disk.opened()
    off.cache = None
    disk.write(stored=off)
    assert not Path(disk.cache.folder).exists()
    disk.write()
    assert disk.restored(stored=off) == 0


@pytest.mark.parametrize(
    "options",
    [{"context": 512}, {"kv_type": "q8_0"}, {"threads": 3}, {"flash_attention": "on"}, {"batch": 32}],
    ids=str,
)
def test_other_settings_are_another_key(disk: Disk, options: dict[str, object]) -> None:
    disk.write()
    assert disk.restored(stored=disk.opened(**options)) == 0


def test_any_number_of_threads_is_the_same_key_without_flash_attention(disk: Disk) -> None:
    disk.write(stored=disk.opened(threads=2, flash_attention="off"))
    assert disk.restored(stored=disk.opened(threads=1, flash_attention="off")) == len(PROMPT) - 1


def test_another_build_is_another_key(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.write()
    monkeypatch.setattr("glyphscope.models.session._build", lambda: "another")
    assert disk.restored() == 0


def test_another_model_and_another_hash_are_another_key(disk: Disk, tmp_path: Path) -> None:
    disk.write(stored=disk.opened("aa"))
    assert disk.restored(stored=disk.opened("bb")) == 0
    assert disk.restored(stored=disk.opened()) > 0, "the hash of a large file is not known at once"
    other = Disk(tmp_path)
    other.model = tmp_path / "copy.gguf"
    shutil.copy2(disk.model, other.model)
    assert other.restored() == 0


def test_a_model_file_that_changes_in_place_ends_reading_and_storing(disk: Disk) -> None:
    open_before = disk.opened()
    disk.write()
    before = disk.model.stat()
    disk.model.write_bytes(b"WEIGHTS")
    os.utime(disk.model, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert disk.restored() == 0
    assert disk.restored(stored=open_before) == 0
    disk.write(list(range(1000, 1400)), open_before)
    assert len(disk.files) == 1
    disk.model.unlink()
    assert disk.restored() == 0, "and a file that is gone"


def test_a_later_part_of_a_split_model_counts_too(tmp_path: Path) -> None:
    parts = [tmp_path / f"m[1]-0000{n}-of-00002.gguf" for n in (1, 2)]
    for part in parts:
        part.write_bytes(b"part")
    before = identity_of(str(parts[0]))
    assert len(before) == 2
    parts[1].write_bytes(b"longer")
    assert identity_of(str(parts[0])) != before


@pytest.mark.parametrize("place", [0, 12, 23, 30, 60, 95, 150, 700, -1000, -1])
def test_a_damaged_file_is_not_used(disk: Disk, place: int) -> None:
    disk.write()
    (file,) = disk.files
    data = bytearray(file.read_bytes())
    data[place] ^= 0x40
    file.write_bytes(data)
    assert disk.restored() == 0
    disk.write()
    assert disk.restored() > 0, "the prompt is stored again"


@pytest.mark.parametrize("share", [0.0, 0.005, 0.02, 0.3, 0.999, 1.1])
def test_a_file_of_another_length_is_not_used(disk: Disk, share: float) -> None:
    disk.write()
    (file,) = disk.files
    os.truncate(file, int(file.stat().st_size * share))
    assert disk.restored() == 0


def test_a_state_that_llama_cpp_rejects_leaves_an_empty_context(disk: Disk) -> None:
    disk.write()
    stored = disk.opened()
    stored._engine.accepts = False  # type: ignore[attr-defined]
    stored._engine.tokens = PROMPT[:CHUNK]
    assert disk.restored(stored=stored) == 0
    assert not stored._engine.tokens


def test_the_prompt_not_used_for_longest_is_deleted_first(disk: Disk) -> None:
    prompts = [list(range(n, n + 4 * CHUNK)) for n in (1000, 2000, 3000)]
    disk.write(prompts[0])
    (first,) = disk.files
    size = first.stat().st_size
    disk.cache = PromptCache(disk.cache.folder, size * 2 + 100)
    disk.write(prompts[1])
    for age, file in enumerate(disk.files):
        os.utime(file, ns=(age, age))
    disk.restored([*prompts[0], 1])
    disk.write(prompts[2])
    assert [disk.restored([*prompt, 1]) > 0 for prompt in prompts] == [True, False, True]
    disk.cache = PromptCache(disk.cache.folder, size - 1)
    disk.write(PROMPT)
    assert disk.restored() == 0, "larger than the cache"


def test_a_file_that_nobody_finished_is_deleted_later(disk: Disk) -> None:
    disk.write()
    for name in ("a.kv.tmp", "b.kv.tmp"):
        (Path(disk.cache.folder) / name).write_bytes(b"half")
    os.utime(Path(disk.cache.folder) / "a.kv.tmp", ns=(0, 0))
    disk.write(list(range(1000, 1400)))
    assert [file.name for file in disk.files if file.name.endswith("tmp")] == ["b.kv.tmp"]


def test_a_disk_that_is_almost_full_is_left_alone(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=4096))
    disk.write()
    assert not disk.files


def test_a_full_disk_leaves_nothing_behind(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    disk.write()
    assert not disk.files
    monkeypatch.undo()
    disk.write()
    assert disk.restored() > 0


def test_a_folder_that_cannot_be_written_is_no_obstacle(disk: Disk) -> None:
    Path(disk.cache.folder).write_text("a file")
    disk.write()
    assert disk.restored() == 0


def test_several_processes_share_the_folder(disk: Disk) -> None:
    """Each restores a right state or none, whatever the others write, read and delete."""
    disk.cache = PromptCache(disk.cache.folder, 6000)
    counts: list[int] = []

    def work(seed: int) -> None:
        for turn in range(12):
            prompt = [*range((seed + turn) % 3 * 1000, (seed + turn) % 3 * 1000 + 4 * CHUNK), 5]
            disk.write(prompt)
            counts.append(disk.restored(prompt))
            if turn % 5 == 4:
                clear_cache(Path(disk.cache.folder))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 36 and set(counts) <= {0, 4 * CHUNK} and any(counts)


def test_the_option_goes_before_the_environment_and_that_before_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, home = Settings(prompt_cache_mb=7), places()

    def limit(option: int | None = None) -> int:
        cache = prompt_cache(settings, home, option)
        assert cache is None or cache.folder == str(home.prompts)
        return cache.limit if cache is not None else 0

    assert limit() == 0, "the tests' environment disables it"
    assert limit(3) == 3_000_000
    for value, expected in (("5", 5_000_000), ("", 7_000_000), ("many", 7_000_000)):
        monkeypatch.setenv(LIMIT_VARIABLE, value)
        assert limit() == expected
    monkeypatch.delenv(LIMIT_VARIABLE)
    assert limit() == 7_000_000
    assert limit(0) == 0


def test_clearing_deletes_stored_prompts_and_nothing_else(disk: Disk) -> None:
    disk.write()
    other = Path(disk.cache.folder) / "other.txt"
    other.write_text("not ours")
    assert clear_cache(Path(disk.cache.folder)) > 0
    assert not disk.files and other.exists()
    assert clear_cache(Path(disk.cache.folder) / "none") == 0


def test_the_stored_prompts_of_the_user_are_listed_and_deleted_by_a_command(own_home: Path) -> None:
    disk = Disk(own_home)
    disk.cache = PromptCache(str(places().prompts), LIMIT)
    disk.write()
    size = disk.files[0].stat().st_size
    listed, cleared, again = (
        json.loads(glyphscope("models", "prompts", "--json", *more).output) for more in ([], ["--clear"], [])
    )
    assert listed == {"folder": disk.cache.folder, "files": 1, "bytes": size, "freed": 0}
    assert cleared == {**listed, "files": 0, "bytes": 0, "freed": size}
    assert again == {**cleared, "freed": 0}


@pytest.mark.parametrize("command", ["run", "branch", "ab", "eval run", "lab mask-driven"])
def test_commands_that_generate_take_the_limit(command: str) -> None:
    assert "--prompt-cache-mb" in glyphscope(*command.split(), "--help").output


def test_the_option_of_commands_sets_the_limit(own_home: Path) -> None:
    assert own_home.is_dir()
    assert CommandOption().cache() is None, "the tests' environment disables it"
    cache = CommandOption(prompt_cache_mb=3).cache()
    assert cache is not None and cache.limit == 3_000_000
