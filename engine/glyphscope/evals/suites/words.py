"""The expectations of a scenario in words."""

from __future__ import annotations

import json

from glyphscope.evals.suites.suite import Expectation, ExpectedCall, Scenario, expectations


def expected_words(scenario: Scenario) -> str:
    """The expectations of all turns, in short."""
    return " / ".join(map(_expected, expectations(scenario)))


def _expected(expect: Expectation) -> str:
    parts: list[str] = [expect.choice] if expect.choice else []
    parts += [_call(call) for call in expect.calls] or (["no call"] if not expect.choice else [])
    if expect.final is not None and expect.final.equals is not None:
        parts.append(f'says "{expect.final.equals}"')
    if expect.workspace is not None:
        parts.append("the workspace at the end")
    parts += [check.path for check in expect.paths]
    parts += [check.function for check in expect.python]
    parts += [f'judge: "{check.rubric}"' for check in expect.judge]
    return ", ".join(parts)


def _call(call: ExpectedCall) -> str:
    given = {**(call.arguments or {}), **{name: values[0] for name, values in call.any_of.items()}}
    inside = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
    more = " …" if call.any_of or call.schema or call.match == "subset" else ""
    return f"{'|'.join(call.tools)}({inside}{more})"
