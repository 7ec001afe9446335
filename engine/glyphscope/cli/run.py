"""`glyphscope run`. Its work is in `running.py`, whose imports take longer than the help: they run when it runs."""

from __future__ import annotations

from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.run_options import RunOptions


@with_groups
def run(*, options: RunOptions) -> None:
    """Run a model and show the call while it is generated. Exit code 0 for a valid call, with --expect for the expected
    one, otherwise 1.

    With --json each event is a line; the last is run_finished or run_failed. With --seeds no tool runs, --json prints
    the distribution, and the exit code is 0 if every run ended with a valid answer, the expected one. With --strategy
    loop the calls are executed, and the exit code is 0 if the enforced conditions of the conversation were met.
    """
    from glyphscope.cli.running import run_prompt

    run_prompt(options)
