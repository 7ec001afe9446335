"""Evaluations whose calls are executed by a real MCP server, and the replay of its recorded answers."""

import json

import msgspec
import pytest

import glyphscope
from cli_command import command
from glyphscope.base.errors import ServerError
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.running import LocalWorkers, ToolServers, evaluate, newest_result, saved_plan
from glyphscope.evals.suites.reading import load_suite
from glyphscope.events import ToolResult, ToolStarted
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store.exports import RecordedRun
from glyphscope.tools.mcp import ServerConfig
from glyphscope_plugins.spans import run_spans
from mcp_servers import scripted
from scripted_http import http_server
from sdk_server import sdk_http
from toolbox import of

pytestmark = pytest.mark.slow

COUNT, DONE = "{action=count}", "There is 1."
TOOL = {"name": "count", "description": "", "parameters": {"type": "object", "properties": {}}}
SECOND = {"text": "count 2"}


def suite_file(folder, *scenarios, tools=(TOOL,), name="counting"):
    path = folder / f"{name}.json"
    made = {
        "glyphscope_suite": 1,
        "name": name,
        "about": "Calls of a server",
        "registry": {"tools": list(tools)},
        "strategy": "loop",
        "scenarios": [
            {"id": id, "prompt": "How many?", "expect": {"calls": [{"tools": ["count"]}]}, **more}
            for id, more in scenarios or (("a", {}), ("b", {}))
        ],
    }
    path.write_text(json.dumps(made))
    return str(path)


def counter(*behaviour):
    return msgspec.structs.replace(scripted(*behaviour), name="counter")


def evaluated(folder, suite, servers, *, turns=(COUNT, DONE), resume=None, **more):
    matrix = Matrix(
        suites=(suite,), models=("model",), constraints=("off",), keep_servers=servers is not None and servers.keep,
        servers=servers.identities if servers is not None else (), **more,
    )  # fmt: skip
    workers = LocalWorkers(lambda _name: ScriptedModel(turns=turns * 9), servers=servers)
    reports = list(evaluate(plan_of(matrix), folder / "out", workers=workers, resume=resume))
    return ResultFolder.open(reports[-1].folder)


def answers(result):
    """The text of each executed call, in the order of the samples."""
    return [
        event.content[0].text if event.ok else event.message
        for sample in sorted(result.samples(), key=lambda each: (each.scenario, each.trial))
        for run in sample.runs
        for event in of(ToolResult, result.record(run).events)
    ]


def test_each_sample_gets_a_fresh_process_of_the_server(tmp_path):
    result = evaluated(tmp_path, suite_file(tmp_path), ToolServers([counter()]))
    assert answers(result) == ["count 1", "count 1"] and all(sample.ok for sample in result.samples())
    started = of(ToolStarted, result.record(next(iter(result.samples())).runs[0]).events)
    assert [event.source for event in started] == ["counter"]
    (note,) = result.manifest.notes
    assert note.startswith("The MCP server counter (scripted 1) executes count. It is started again")


def test_servers_can_be_shared_by_the_samples(tmp_path):
    result = evaluated(tmp_path, suite_file(tmp_path), ToolServers([counter()], keep=True))
    assert answers(result) == ["count 1", "count 2"] and "shared by samples" in result.manifest.notes[0]


def test_a_server_that_no_sample_calls_is_started_once():
    servers = ToolServers([counter()])
    with servers.lend() as first:
        process = first["counter"].server
    with servers.lend() as second:
        assert second["counter"].server is process
        with servers.lend() as other:  # of a sample that is made at the same time
            assert other["counter"].server is not process
    servers.close()
    assert process.state == "stopped"


def test_a_server_over_http_with_sessions_gets_a_new_one_and_one_without_is_shared():
    with sdk_http() as url:
        servers = ToolServers([ServerConfig(name="http", url=url)])
        with servers.lend() as lent:
            assert lent["http"].server.about.isolated
        servers.close()
    with http_server() as (url, _heard):
        servers = ToolServers([ServerConfig(name="http", url=f"{url}/sessionless")])
        assert "It has no sessions" in servers.notes(())[0]
        servers.close()


def test_the_script_answers_before_the_server(tmp_path):
    script = {"script": [{"tool": "count", "fault": "tool", "text": "try again"}]}
    suite = suite_file(tmp_path, ("a", script))
    result = evaluated(tmp_path, suite, ToolServers([counter()]), turns=(COUNT, COUNT, DONE))
    assert answers(result) == ["try again", "count 1"]


def test_a_server_that_does_not_start_ends_the_evaluation_before_anything_is_written(tmp_path):
    with pytest.raises(ServerError, match="exit"):
        evaluated(tmp_path, suite_file(tmp_path), ToolServers([counter("exit=3")]))
    assert not (tmp_path / "out").exists()


def test_a_server_that_ends_costs_its_sample_alone_and_retry_repeats_those_without_one(tmp_path, monkeypatch):
    servers = ToolServers([counter()])
    opened, lend = [], servers._taken

    def taken(config):
        server = lend(config)
        opened.append(server)
        if len(opened) == 3:
            monkeypatch.setattr(server, "config", counter("exit=3"))
        return server

    monkeypatch.setattr(servers, "_taken", taken)
    result = evaluated(tmp_path, suite_file(tmp_path), servers)
    assert [[f.reason for f in sample.failures] for sample in result.samples()] == [[], ["SERVER_FAILED"]]


def test_tools_that_differ_from_the_suite_are_named(tmp_path):
    suite = suite_file(tmp_path, tools=({**TOOL, "description": "Counts."},))
    result = evaluated(tmp_path, suite, ToolServers([counter()]))
    assert (
        "differs between the suite and the server counter: count. Models get the suite's."
        in result.manifest.notes[1]
    )


def test_a_result_is_resumed_only_with_its_servers(tmp_path):
    suite, servers = suite_file(tmp_path), ToolServers([counter()])
    result = evaluated(tmp_path, suite, servers)
    assert result.manifest.servers == servers.identities
    with pytest.raises(ServerError, match="not given"):
        list(
            evaluate(
                saved_plan(result),
                tmp_path,
                workers=LocalWorkers(lambda _name: ScriptedModel(DONE)),
                resume=result.path,
            )
        )
    other = plan_of(Matrix(suites=(suite,), models=("model",), constraints=("off",)))
    assert newest_result(other, tmp_path / "out") is None
    assert newest_result(saved_plan(result), tmp_path / "out") == result.path


def test_recorded_answers_are_replayed_without_the_server(tmp_path):
    suite = suite_file(tmp_path)
    result = evaluated(tmp_path, suite, ToolServers([counter()]), turns=(COUNT, COUNT, DONE))
    made = command("suite", "from-result", result.path, "--out", tmp_path / "replayed.json")
    assert made.exit_code == 0 and "2 scenarios, 4 recorded answers" in made.stdout.replace("\n", " ")
    script = load_suite(str(tmp_path / "replayed.json")).scenarios[0].script
    assert [(entry.text, entry.times) for entry in script] == [("count 1", 1), ("count 2", 0)]
    replayed = evaluated(tmp_path, str(tmp_path / "replayed.json"), None, turns=(COUNT, COUNT, COUNT, DONE))
    assert answers(replayed) == ["count 1", "count 2", "count 2"] * 2


def test_the_command_starts_the_servers_of_a_file_after_consent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = scripted()
    entry = {"command": config.command, "args": list(config.args)}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"counter": entry}}))
    arguments = [
        "eval",
        suite_file(tmp_path),
        "--model",
        f"scripted:{COUNT}",
        "--constraint",
        "off",
        "--mcp",
        "servers.json",
    ]
    refused = command(*arguments)
    assert refused.exit_code == 2 and "--yes" in refused.stderr
    done = command(*arguments, "--yes", "--json")
    assert done.exit_code == 0, done.stderr
    (path,) = (tmp_path / "eval-results").iterdir()
    assert "count 1" in answers(ResultFolder.open(path))


def test_a_server_cannot_have_the_name_of_the_scripts():
    with pytest.raises(ServerError, match="another name"):
        ToolServers([scripted()])


def test_a_dask_cluster_has_no_servers():
    from glyphscope_plugins.dask.workers import DaskWorkers

    assert DaskWorkers.servers is None


def test_the_python_interface_takes_files_of_servers(tmp_path):
    config = scripted()
    entry = {"command": config.command, "args": list(config.args)}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"counter": entry}}))
    result = glyphscope.evaluate(
        suite_file(tmp_path),
        f"scripted:{COUNT}",
        out=tmp_path,
        constraints=["off"],
        mcp=tmp_path / "servers.json",
    )
    assert "count 1" in answers(ResultFolder.open(result.path))


def test_a_call_of_a_run_has_the_trace_context_of_its_exported_span(tmp_path):
    pytest.importorskip("opentelemetry.sdk")
    tool = {**TOOL, "name": "meta"}
    suite = suite_file(tmp_path, ("a", {"expect": {"calls": [{"tools": ["meta"]}]}}), tools=(tool,))
    result = evaluated(tmp_path, suite, ToolServers([counter()]), turns=("{action=meta}", "done"))
    (meta,) = map(json.loads, answers(result))
    run = RecordedRun(result.record(next(iter(result.samples())).runs[0]).events)
    (span,) = [each for each in run_spans([run]) if each.name == "execute_tool meta"]
    assert meta["traceparent"] == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"
