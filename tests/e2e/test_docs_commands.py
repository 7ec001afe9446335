"""The commands of README and docs, run in a clean clone by `tests/support/docs_commands.py`."""

import pytest

from docs_commands import REPOSITORY, run_docs

pytestmark = [
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # all pages are one test: they are run two at a time
    pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="there is no repository to clone"),
]


def test_every_command_of_the_docs_works_as_written(tmp_path):
    report = run_docs(tmp_path)
    assert not report.failures, "\n\n".join(report.failures)
    assert len(report.ran) > 10 and len(report.checked) > 20
