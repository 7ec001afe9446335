"""The samples of a result as JUnit XML, which services of CI show as tests: a suite of tests for each suite and arm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from glyphscope.base.visible import visible
from glyphscope.evals.results.export import Exported, SampleExporter
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import NO_ANSWER, Sample
from glyphscope.evals.results.words import REASON_WORDS, arm_labels
from glyphscope.store import atomic_file


@dataclass
class _Group:
    """The samples of a suite in an arm, by their places in the result; `time` in milliseconds."""

    places: list[int] = field(default_factory=list)
    failures: int = 0
    errors: int = 0
    time: float = 0.0


def export_junit(folder: ResultFolder, out: Path) -> Exported:
    """Write a test case for each sample. A wrong answer is a failure, and where the model gave none, an error."""
    labels = arm_labels(list(folder.manifest.arms))
    samples = folder.samples()
    groups: defaultdict[tuple[str, str], _Group] = defaultdict(_Group)
    for at, sample in enumerate(samples):
        group = groups[sample.suite, sample.arm]
        group.places.append(at)
        group.errors += _is_error(sample)
        group.failures += not sample.ok and not _is_error(sample)
        group.time += sample.total_ms or 0
    with atomic_file(out) as file:
        file.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="Glyphscope">\n')
        for (suite, arm), group in groups.items():
            name = f"{suite} · {labels.get(arm, arm)}"
            counts = {"tests": len(group.places), "failures": group.failures, "errors": group.errors}
            file.write(_opened("testsuite", name=name, **counts, time=_seconds(group.time)).encode())
            for at in group.places:
                file.writelines(line.encode() for line in _case(name, samples[at]))
            file.write(b"</testsuite>\n")
        file.write(b"</testsuites>\n")
    return Exported(len(samples), (out,))


def _is_error(sample: Sample) -> bool:
    return not sample.ok and any(each.reason in NO_ANSWER for each in sample.failures[:1])


def _case(name: str, sample: Sample) -> Iterator[str]:
    trial = f", trial {sample.trial}" if sample.trial > 1 else ""
    time = _seconds(sample.total_ms or 0)
    yield _opened("testcase", classname=name, name=f"{sample.scenario}{trial}", time=time)
    if not sample.ok:
        yield from _wrong(sample)
    yield "</testcase>\n"


def _wrong(sample: Sample) -> Iterator[str]:
    """The first failure as an attribute, all of them and the answer as text."""
    lines = [
        f"{REASON_WORDS[each.reason]}{f': {each.detail}' if each.detail else ''}" for each in sample.failures
    ]
    tag = "error" if _is_error(sample) else "failure"
    kind = {"type": sample.failures[0].reason, "message": lines[0]} if lines else {}
    yield _opened(tag, **kind).removesuffix("\n")
    yield escape(
        "\n".join(visible(line, lines=True) for line in (*lines, *([sample.text] if sample.text else [])))
    )
    yield f"</{tag}>\n"


def _opened(tag: str, **attributes: object) -> str:
    """The start of an element; characters that XML 1.0 does not have are shown by number."""
    return (
        f"<{tag}{''.join(f' {name}={quoteattr(visible(str(each)))}' for name, each in attributes.items())}>\n"
    )


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.3f}"


EXPORTER = SampleExporter("JUnit XML", export_junit)
"""The exporter of the entry point `xml`."""
