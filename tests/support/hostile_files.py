"""Damaged and hostile files of every kind, mutants of real ones: each ends in a result or a GlyphscopeError, in time.

    python tests/support/hostile_files.py KIND 10000 [--first N] [--seed N] [TEMPLATES…]

`KIND` is registries, projects, lessons, records, results, suites, templates or models. `TEMPLATES` are
files or folders of templates: each mutant is rendered, one of five also inspected. Of the others, everything that the
engine does with such a file is done. Each mutant that breaks a rule is printed, and at the end the outcomes, the
longest time and the largest memory. The same seed and number make the same mutant.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import document_mutants as documents
import file_mutants as suites
import record_mutants as records
from glyphscope.errors import GlyphscopeError
from glyphscope.events import LoadOptions, Message
from glyphscope.models.grammar_probe import GrammarProbe
from glyphscope.models.inspection import inspect_template, with_proof
from glyphscope.models.opening import open_model
from glyphscope.models.probe_child import byte_vocabulary
from glyphscope.models.templates import TemplateSource, render_template
from glyphscope.processes import limited
from made_results import recorded_result
from tiny_gguf import encoder

LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
PIECES = (
    LOOP, "{{ 'x' * 10 ** 9 }}", "{{ 'x' * 10 ** 7 }}", "{{ 7 ** (10 ** 8) }}", "{{ messages * 10 ** 8 }}",
    "{% set n = namespace(x='ab') %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
    "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{{ ('\\n' * 10 ** 6) | indent(10 ** 6) }}", "{{ '%999999999d' % 1 }}", "{{ '{:999999999}'.format(1) }}",
    "{{ (range(99999) | list * 999) | sort | unique | list | length }}", "{{ ('a.' * 10 ** 6) | urlize }}",
    "{% for i in messages %}{% set x = i %}" * 40 + "{% endfor %}" * 40, "{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}",
    "{{ 1" + " + 1" * 20_000 + " }}", "{% if a %}" * 900 + "{% endif %}" * 900, "{{ " + "-" * 20_000 + "1 }}",
    "{{ " + "[" * 90 + "]" * 90 + " }}", "{{ raise_exception('no') }}",
    "{{ messages[0].content.format_map(messages[0]) }}",
    "{{ messages | map(attribute='content') | join(messages[0].content * 10 ** 6) }}", "{{ 1 // 0 }}", "{%", "{{", "#}",
)  # fmt: skip
"""Texts that are put into templates, most of them hostile."""
TALK = [Message("system", "Be brief."), Message("user", "Hello")]
SPARE = 8.0
"""Seconds that a process may take to start, besides the limits of its work."""


def mutant_of(sources: Sequence[str], chance: random.Random) -> str:
    """Return a mutant: pieces are cut, repeated, exchanged and put in, and characters changed."""
    text = chance.choice(sources)
    for _ in range(chance.choice((1, 1, 2, 3))):
        a, b = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + chance.choice((1, 8, 60, 400)))
        match chance.randrange(6):
            case 0:
                text = text[:a] + text[b:]
            case 1:
                text = text[:a] + text[a:b] * chance.choice((2, 9, 500)) + text[b:]
            case 2:
                other = chance.choice(sources)
                at = chance.randrange(len(other) + 1)
                text = text[:a] + other[at : at + chance.choice((9, 90, 900))] + text[b:]
            case 3:
                text = (
                    text[:a] + chr(chance.choice((0, 10, 34, 37, 39, 123, 125, 0xD800, 0x1F600))) + text[b:]
                )
            case _:
                # between two statements, where it is most often valid
                places = [place for place in range(len(text)) if text.startswith("{%", place)] or [a]
                at = chance.choice(places)
                text = text[:at] + chance.choice(PIECES) + text[at:]
    return text


def judge_template(text: str, *, inspected: bool) -> tuple[str, str]:
    """Return the outcome of a template, and the broken rule, if one is broken."""
    template = TemplateSource(text, where="mutant.jinja")
    outcomes = []
    works: list[Callable[[], object]] = [lambda: render_template(template, TALK)]
    if inspected:
        works.append(lambda: with_proof(inspect_template(template), template, 5))
    for work in works:
        start = time.monotonic()
        try:
            work()
            outcomes.append("a result")
        except GlyphscopeError as error:
            stopped = error.message.partition("was stopped: ")[2]
            outcomes.append(stopped.rstrip(".") or "an error")
            if not error.message or "Traceback" in error.message:
                return outcomes[-1], f"a useless message: {error.message!r}"
        except Exception as error:
            return "an exception", f"{type(error).__name__}: {error}"
        spent = time.monotonic() - start
        # the limits of an inspection and of its proof, on a machine that gives them a third of its time
        if spent > 9 * limited.SECONDS + SPARE:
            return outcomes[-1], f"{spent:.1f} s"
    return " / ".join(outcomes), ""


@lru_cache(maxsize=1)
def model_files() -> tuple[bytes, ...]:
    """Return small files of models that llama.cpp reads."""
    return (byte_vocabulary(), encoder("bert"), encoder("t5encoder"))


def model_mutant(chance: random.Random) -> bytes:
    """Return one of the files with changed bytes, most of them in numbers, or cut and lengthened."""
    data = bytearray(chance.choice(model_files()))
    for _ in range(chance.choice((1, 2, 4, 16))):
        at = chance.randrange(4, len(data))
        match chance.randrange(4):
            case 0:
                data[at] ^= chance.randrange(1, 256)
            case 1:
                data[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                data[at : at + 8] = chance.choice((b"\xff" * 8, b"\0" * 8, b"\xff" * 3 + b"\x7f" + b"\0" * 4))
            case 3:
                other = chance.randrange(len(data))
                data[at : at + 12] = data[other : other + 12]
    return bytes(data)


def judge_model(path: Path) -> tuple[str, str]:
    """Return the outcome of a model's file, which is opened and whose vocabulary is read, and the broken rule."""
    start = time.monotonic()
    try:
        open_model(str(path), options=LoadOptions(context=64)).close()
        outcome = "opened"
    except GlyphscopeError as error:
        outcome = error.message.partition(":")[0][:40]
    except Exception as error:
        return "an exception", f"{type(error).__name__}: {error}"
    try:
        with GrammarProbe(path) as probe:
            probe.tokens(["Hello"])
    except GlyphscopeError:
        pass
    except Exception as error:
        return "an exception", f"{type(error).__name__}: {error}"
    spent = time.monotonic() - start
    return outcome, f"{spent:.1f} s" if spent > 60 + SPARE else ""


def read_templates(paths: Iterable[Path]) -> list[str]:
    """Return the templates in files and folders."""
    files = [file for path in paths for file in (sorted(path.glob("*.jinja")) if path.is_dir() else [path])]
    return [file.read_text() for file in files]


class Mutants:
    """The mutants of one kind of file: `judge` returns the outcome of one, and the broken rules, if any are broken."""

    def __init__(self, kind: str, seed: int, folder: Path, paths: Sequence[Path]) -> None:
        self._kind, self._seed, self._folder = kind, seed, folder
        self._templates = read_templates(paths)
        self._result = recorded_result(folder / "original") if kind == "results" else folder

    def judge(self, number: int) -> tuple[str, str]:
        chance = random.Random(f"{self._seed} {number}")
        if self._kind == "templates":
            return judge_template(mutant_of(self._templates, chance), inspected=number % 5 == 0)
        if self._kind == "models":
            path = self._folder / f"{number}.gguf"
            path.write_bytes(model_mutant(chance))
            try:
                return judge_model(path)
            finally:
                path.unlink()
        if self._kind == "suites":
            return " ".join(suites.try_mutants(range(number, number + 1), self._folder)), ""
        start = time.process_time()
        with tempfile.TemporaryDirectory(dir=self._folder) as place:
            broken = [f"{name}: {what}" for name, what in self._broken(chance, Path(place))]
        spent = time.process_time() - start
        return "judged", "\n".join([*broken, *([f"{spent:.1f} s"] if spent > SECONDS else [])])

    def _broken(self, chance: random.Random, place: Path) -> Iterable[tuple[str, str]]:
        match self._kind:
            case "records":
                data = records.mutant(records.record(chance.choice(records.FILES)), chance)
                return records.failures(data, chance.sample(list(records.ACTIONS), 6))
            case "results":
                path = records.result_mutant(self._result, place, chance)
                return records.result_failures(path, chance.sample(list(records.RESULT_ACTIONS), 3))
            case "registries":
                return documents.judge_registry(documents.registry_mutant(chance), place, chance)
            case "projects":
                return documents.judge_project(documents.project_mutant(chance), place)
            case _:
                return documents.judge_lesson(documents.lesson_mutant(chance), place)


KINDS = ("registries", "projects", "lessons", "records", "results", "suites", "templates", "models")
SECONDS = 60.0
"""Of the processor, for everything that is done with a registry, project, lesson, record or result."""


def main() -> None:
    """Judge the mutants, and print the broken rules, then the number of each outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=limited.SECONDS, help="the limit of a template's process"
    )
    parser.add_argument("paths", nargs="*", type=Path)
    asked = parser.parse_intermixed_args()
    limited.SECONDS = asked.seconds
    outcomes: Counter[str] = Counter()
    slowest, faults = (0.0, 0), 0
    with tempfile.TemporaryDirectory() as folder:
        mutants = Mutants(asked.kind, asked.seed, Path(folder), asked.paths)
        for number in range(asked.first, asked.first + asked.count):
            start = time.monotonic()
            outcome, broken = mutants.judge(number)
            slowest = max(slowest, (time.monotonic() - start, number))
            outcomes[outcome] += 1
            faults += bool(broken)
            if broken:
                print(f"{number}: {broken}", flush=True)
            if number % 250 == 249:
                print(f"{number + 1} … slowest {slowest[0]:.1f} s ({slowest[1]}), {_memory()}", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"{count:6} {outcome}")
    print(f"{faults} broken; slowest {slowest[0]:.1f} s ({slowest[1]}); {_memory()}")


def _memory() -> str:
    own, others = (
        resource.getrusage(who).ru_maxrss / 1000 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return f"at most {own:.0f} MB here and {others:.0f} MB in a process of its own"


if __name__ == "__main__":
    main()
