"""A small MCP server over stdio with the behaviour of its arguments: raw JSON-RPC, so it can also break the protocol.

`scripted_server.py [BEHAVIOUR]…`; a behaviour may have a value (`tools=5000`). Tools: `echo` returns its arguments,
`wait` waits for `seconds` with progress, and the others are named after their effect on the caller.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

WORDS = dict(word.partition("=")[::2] for word in sys.argv[1:])
OUT = sys.stdout.buffer
ECHO = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 20}}, "required": ["text"]}
HIDDEN = "\u2061\u202e\U000e0041"
"""Invisible characters in all texts of a server with the behaviour `hidden`."""
ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}
LONG = {"name": "task", "inputSchema": ANYTHING, "execution": {"taskSupport": "required"}}
"""A tool that is called as a task, which a server with the behaviour `tasks` runs."""


def send(message: dict[str, Any]) -> None:
    OUT.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    OUT.flush()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def tools() -> list[Any]:
    found: list[Any] = [
        {"name": "echo", "description": "Says it again.", "inputSchema": ECHO,
         "annotations": {"readOnlyHint": True, "title": "Echo"}},
        *({"name": name, "inputSchema": ANYTHING} for name in sorted(CALLS) if name != "echo"),
    ]  # fmt: skip
    for tool in found:
        if tool["name"] in ("structured", "unstructured", "wrong-structure"):
            tool["outputSchema"] = {
                "type": "object",
                "properties": {"degrees": {"type": "number", "maximum": 60}},
                "required": ["degrees"],
            }
    if "hidden" in WORDS:
        odd = {"type": "string", "description": f"d{HIDDEN}", "enum": [f"a{HIDDEN}", "b"]}
        schema = {"type": "object", "properties": {f"odd{HIDDEN}": odd}, "required": [f"odd{HIDDEN}"]}
        found = [
            {"name": "echo", "title": f"t{HIDDEN}", "description": f"d{HIDDEN}", "inputSchema": schema,
             "annotations": {"title": f"a{HIDDEN}"}},
            {"name": f"name{HIDDEN}", "description": "", "inputSchema": ANYTHING},
        ]  # fmt: skip
        say(f"printed{HIDDEN}")
    if "bad-schemas" in WORDS:
        found += [
            {
                "name": "remote",
                "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://x.test/s"}}},
            },
            {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": "sting"}}}},
            {"name": "true", "inputSchema": True},
            {"name": "echo", "inputSchema": ANYTHING},
            {"name": "line\nend", "inputSchema": ANYTHING},
            {"name": "", "inputSchema": ANYTHING},
            {"name": 3, "inputSchema": ANYTHING},
            "no tool",
            LONG,
            {"name": "odd-output", "inputSchema": ANYTHING, "outputSchema": {"$ref": "https://x.test/s"}},
        ]
    if "tasks" in WORDS:
        found.append({"name": "task", "inputSchema": ANYTHING} if "modern" in WORDS else LONG)
    if SHIFTED:
        found = [
            {**tool, "description": "Says it twice."} if tool["name"] == "echo" else tool for tool in found
        ]
        found = [tool for tool in found if tool["name"] != "wait"]
        found.append({"name": "new", "inputSchema": ANYTHING})
    if "tools" in WORDS:
        found = [{"name": f"tool-{n}", "inputSchema": ECHO} for n in range(int(WORDS["tools"]))]
    return found


def listed(params: dict[str, Any]) -> dict[str, Any]:
    cursor = params.get("cursor")
    if "endless-cursor" in WORDS:
        page = int(cursor or 0)
        following = page % 2 + 1 if WORDS["endless-cursor"] == "same" else page + 1
        return {"tools": [{"name": f"tool-{page}", "inputSchema": ANYTHING}], "nextCursor": str(following)}
    if "empty-cursor" in WORDS:
        again = WORDS["empty-cursor"] == "same" or cursor is None
        name = "first" if cursor is None else "second"
        return {"tools": [{"name": name, "inputSchema": ANYTHING}], **({"nextCursor": ""} if again else {})}
    found = tools()
    if "grow" in WORDS:
        found += [{"name": f"grown-{n}", "inputSchema": ANYTHING} for n in range(GROWN[0])]
    size = int(WORDS.get("page", len(found)))
    start = int(cursor or 0)
    more = {"nextCursor": str(start + size)} if start + size < len(found) else {}
    return {"tools": found[start : start + size], **more}


OFFERS: dict[str, tuple[str, list[Any]]] = {
    "resources/list": (
        "resources",
        [{"name": "no uri"}, {"uri": "note://good", "size": -1}, 3, {"uri": "a:\u202e\x1f"}],
    ),
    "resources/templates/list": (
        "resourceTemplates",
        [{"uriTemplate": "note://{"}, {"uriTemplate": "note://{day}"}],
    ),
    "prompts/list": ("prompts", [{"name": "good"}, {"name": "odd", "arguments": [{"name": ""}]}]),
}


def offered(method: str) -> dict[str, Any]:
    key, entries = OFFERS[method]
    return {key: entries, **({"nextCursor": "again"} if WORDS.get("offers") == "endless" else {})}


GROWN = [0]
MODERN = "2026-07-28"


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def _echo(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    return text(json.dumps(params.get("arguments", {}), sort_keys=True))


def _rich(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "content": [
            {"type": "text", "text": "a picture"},
            {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 3},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "bb", "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAE="}},
            {"type": "image", "data": "not base64!", "mimeType": "image/png"},
            {"type": "hologram", "depth": 3},
        ]
    }


def _count(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The number of these calls since the start."""
    READS[0] += 1
    return text(f"count {READS[0]}")


def _meta(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    return text(json.dumps(params.get("_meta", {})))


def _failing(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    return text("there is no such city", isError=True)


def _refused(id: Any, params: dict[str, Any]) -> None:
    send({"id": id, "error": {"code": -32602, "message": "no city given"}})


def _wait(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    token = params.get("_meta", {}).get("progressToken")
    for done in (1, 2, 3):
        send({
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": done, "total": 3, "message": f"step {done}"},
        })  # fmt: skip
    return text("waited")


def _silent(id: Any, params: dict[str, Any]) -> None:
    """Never answer; write all further messages to stderr."""
    for line in sys.stdin:
        say("heard " + line.strip())


def _deaf(id: Any, params: dict[str, Any]) -> None:
    """Stop reading."""
    time.sleep(600)


def _die(id: Any, params: dict[str, Any]) -> None:
    say("I am dying")
    os.kill(os.getpid(), signal.SIGSEGV)


def _leave(id: Any, params: dict[str, Any]) -> None:
    say("nothing to do here")
    sys.exit(3)


def _lines(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    for _ in range(1000):
        OUT.write(b"line of no meaning\n" * 1000)
    OUT.flush()
    return text("after a million lines")


def _notices(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n'
    changed = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
    ping = b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n'
    for _ in range(50):
        OUT.write(note * 1000 + changed * 1000)
    OUT.write(ping * 100)
    OUT.flush()
    return text("after a hundred thousand notices")


def _large(id: Any, params: dict[str, Any]) -> None:
    """Send 50 MB, the request's number first or last."""
    last = params.get("arguments", {}).get("last")
    head = b'{"jsonrpc":"2.0",' if last else b'{"jsonrpc":"2.0","id":%d,' % id
    OUT.write(head + b'"result":{"content":[{"type":"text","text":"')
    for _ in range(50):
        OUT.write(b"x" * 1_000_000)
    OUT.write(b'"}]}' + (b',"id":%d' % id if last else b"") + b"}\n")
    OUT.flush()


def _bytes(id: Any, params: dict[str, Any]) -> None:
    OUT.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}\n' % id)
    OUT.flush()


def _cut(id: Any, params: dict[str, Any]) -> None:
    OUT.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":\n' % id)
    OUT.flush()


def _no_rpc(id: Any, params: dict[str, Any]) -> None:
    OUT.write(b'{"id":%d,"outcome":{}}\n' % id)
    OUT.flush()


def _change(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    GROWN[0] += 1
    send({"method": "notifications/tools/list_changed", **({"params": stamp()} if LISTENING else {})})
    return text("changed")


def _ask(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    send({"id": "mine", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
    return text("asked, and got " + json.dumps(json.loads(sys.stdin.readline()).get("error", {}).get("code")))


def _elicit(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Send the request that the arguments describe, and return the response to it."""
    send({"id": "mine", **params["arguments"]})
    while (reply := json.loads(sys.stdin.readline())).get("id") != "mine":
        pass
    return text(json.dumps(reply.get("result") or {"error": reply["error"]["message"]}))


def _more(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """As since 2026-07-28: request input instead of an answer, until it has one; with `endless` again and again."""
    arguments = params.get("arguments", {})
    if "inputResponses" in params and not arguments.get("endless"):
        return text(json.dumps([params["inputResponses"], params.get("requestState")]))
    form = {
        "message": "Which?",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    requests = {"k": {"method": "elicitation/create", "params": form}} if arguments.get("ask") else {}
    return {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}


def _roots(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Request the roots `times` times, and return the last answer."""
    times = params.get("arguments", {}).get("times", 1)
    for number in range(times):
        send({"id": f"roots-{number}", "method": "roots/list"})
    while (reply := json.loads(sys.stdin.readline())).get("id") != f"roots-{times - 1}":
        pass
    return text(json.dumps(reply.get("result") or reply.get("error")))


LISTENING: list[Any] = []


def stamp() -> dict[str, Any]:
    """Return the metadata of a notification since 2026-07-28: the id of its subscription."""
    return {"_meta": {"io.modelcontextprotocol/subscriptionId": LISTENING[0]}} if LISTENING else {}


def modern_capabilities() -> dict[str, Any]:
    live = {"resources": {"subscribe": True}, "logging": {}} if "live" in WORDS else {}
    return {"tools": {"listChanged": True} if live else {}, **live}


def _touch(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Report a resource as updated, `times` times."""
    arguments = params.get("arguments", {})
    for _ in range(arguments.get("times", 1)):
        READS[0] += 1
        updated = {**stamp(), "uri": arguments.get("uri", "note://good")}
        send({"method": "notifications/resources/updated", "params": updated})
    return text("touched")


TASKS: list[Any] = []


def task(status: str) -> dict[str, Any]:
    times = {"createdAt": "2026-11-30T10:00:00Z", "lastUpdatedAt": "2026-11-30T10:00:00Z"}
    return {
        "taskId": "t1",
        "status": status,
        "statusMessage": "half",
        "ttl": None,
        "pollInterval": 60,
        **times,
    }


def modern_task(status: str, method: str) -> dict[str, Any]:
    """A state since 2026-07-28, which contains the result, the error, or a request for input until it was answered."""
    form = {
        "message": "Which?",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    asked = {"k": {"method": "elicitation/create", "params": form}}
    parts: dict[str, dict[str, Any]] = {
        "completed": {"result": text(f"long: {TASKS}")},
        "failed": {"error": {"code": -32603, "message": "the task broke"}},
        "input_required": {"inputRequests": asked},
    }
    state = {**task(status), "ttlMs": None, "pollIntervalMs": 60, **parts.get(status, {})}
    kind = "task" if method == "tools/call" else "complete"
    return {
        **{name: state[name] for name in state if name not in ("ttl", "pollInterval")},
        "resultType": kind,
    }


def answer_modern_task(id: Any, method: str, params: dict[str, Any]) -> None:
    """Answer a request about the task since 2026-07-28, which the server begins by itself."""
    able = params["_meta"]["io.modelcontextprotocol/clientCapabilities"].get("extensions", {})
    if "io.modelcontextprotocol/tasks" not in able:
        send({"id": id, "error": {"code": -32021, "message": "Missing required client capability"}})
        return
    TASKS.append(params.get("inputResponses", method))
    if method == "tasks/cancel":
        say(f"cancelled {params['taskId']}")
    if method in ("tasks/cancel", "tasks/update"):
        send({"id": id, "result": {"resultType": "complete"}})
        return
    state = WORDS["tasks"] if method == "tasks/get" else "working"
    if (state == "input_required" and TASKS.count("tasks/get") > 2) or not state:
        state = "completed"
    send({"id": id, "result": modern_task("working" if state == "endless" else state, method)})


LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVEL = ["warning"]
READS = [0]


def _logs(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Log once at each requested level, and once at one unknown to MCP."""
    for level in [*LEVELS[LEVELS.index(LEVEL[0]) :], "loud"]:
        data = {"level": level, "logger": "db", "data": f"a {level} message"}
        send({"method": "notifications/message", "params": data})
    return text("logged")


def _shift(id: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Add a tool, remove one, and change the description of another."""
    SHIFTED.append("shifted")
    send({"method": "notifications/tools/list_changed"})
    return text("shifted")


SHIFTED: list[str] = ["shifted"] if "SHIFTED" in os.environ else []


CALLS = {
    "elicit": _elicit,
    "roots": _roots,
    "touch": _touch,
    "logs": _logs,
    "shift": _shift,
    "echo": _echo,
    "rich": _rich,
    "failing": _failing,
    "refused": _refused,
    "wait": _wait,
    "silent": _silent,
    "count": _count,
    "meta": _meta,
    "deaf": _deaf,
    "die": _die,
    "leave": _leave,
    "lines": _lines,
    "notices": _notices,
    "large": _large,
    "bytes": _bytes,
    "cut": _cut,
    "no-rpc": _no_rpc,
    "change": _change,
    "ask": _ask,
    "more": _more,
    "structured": lambda id, params: text("9", structuredContent={"degrees": 9}),
    "wrong-structure": lambda id, params: text("99", structuredContent={"degrees": 99}),
    "unstructured": lambda id, params: text("9"),
    "environment": lambda id, params: text(json.dumps(dict(os.environ))),
}


def read_resource(id: Any, uri: str) -> None:
    """Send the resource with the number of its updates; `large` has 100 MB, `bytes` is not UTF-8."""
    if uri == "note://large":
        OUT.write(b'{"jsonrpc":"2.0","id":%d,"result":{"contents":[{"uri":"note://large","text":"' % id)
        for _ in range(100):
            OUT.write(b"x" * 1_000_000)
        OUT.write(b'"}]}}\n')
        OUT.flush()
    elif uri == "note://bytes":
        OUT.write(
            b'{"jsonrpc":"2.0","id":%d,"result":{"contents":[{"uri":"note://bytes","text":"\xff"}]}}\n' % id
        )
        OUT.flush()
    else:
        words = f"read, {READS[0]} updates" if READS[0] else "read"
        send({"id": id, "result": {"contents": [{"uri": uri, "text": words}]}})


def main() -> None:
    if "exit" in WORDS:
        say("cannot find my configuration")
        sys.exit(int(WORDS["exit"] or 0))
    if "ignore-signals" in WORDS:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if "child" in WORDS:  # which also inherits the pipes, and ignores SIGTERM
        loop = (
            "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
            "os.write(1, b'up\\n'); time.sleep(600)"  # at once: a late line end would split a line of the parent
        )
        child = subprocess.Popen([sys.executable, "-c", loop], stderr=subprocess.DEVNULL)
        say(f"child {child.pid}")
    if "rambling" in WORDS:
        print("Server version 1 is starting up …", flush=True)
    if "secret" in WORDS:
        say(f"my token is {os.environ['TOKEN']}")
    for line in sys.stdin:
        message = json.loads(line)
        id, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if method == "initialize":
            if "deaf" in WORDS:
                continue
            if "modern" in WORDS:
                versions = {"supported": [MODERN], "requested": params["protocolVersion"]}
                send({"id": id, "error": {"code": -32022, "message": "not that old", "data": versions}})
                continue
            if "odd-hello" in WORDS:
                send({"id": id, "result": {"serverInfo": 3}})
                continue
            send({"id": id, "result": {
                "protocolVersion": WORDS.get("version", "2025-06-18"),
                "capabilities": {} if "no-tools" in WORDS else {
                    "tools": {"listChanged": True},
                    **({"resources": {}, "prompts": {}} if "offers" in WORDS else {}),
                    **({"tasks": {"requests": {"tools": {"call": {}}}}} if "tasks" in WORDS else {}),
                    **({"resources": {"subscribe": True}, "logging": {}} if "live" in WORDS else {}),
                },
                "serverInfo": {"name": "scripted", "version": "1"},
                **({"instructions": "Call echo first."} if "live" in WORDS else {}),
            }})  # fmt: skip
        elif method == "server/discover" and "modern" in WORDS:
            found = {"supportedVersions": [WORDS["modern"] or MODERN], "capabilities": modern_capabilities()}
            send(
                {"id": id, "result": {**found, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}}
            )
        elif method == "subscriptions/listen" and "deaf-listen" in WORDS:
            send({"id": id, "error": {"code": -32601, "message": "no such method"}})
        elif method == "subscriptions/listen":
            LISTENING[:] = [id]
            heard = {**stamp(), "notifications": params["notifications"]}
            send({"method": "notifications/subscriptions/acknowledged", "params": heard})
        elif method == "notifications/cancelled":
            continue
        elif "modern" in WORDS and params["_meta"]["io.modelcontextprotocol/protocolVersion"] != MODERN:
            send({"id": id, "error": {"code": -32602, "message": "no version"}})
        elif method == "tools/list":
            if "no-list" in WORDS or ("lost-list" in WORDS and GROWN[0]):
                send({"id": id, "error": {"code": -32603, "message": "the list is lost"}})
            else:
                send({"id": id, "result": listed(params)})
        elif method == "resources/read":
            read_resource(id, params["uri"])
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            if params["uri"] == "note://refused":
                send({"id": id, "error": {"code": -32002, "message": "no such resource"}})
            else:
                send({"id": id, "result": {}})
                if WORDS.get("live"):
                    _touch(None, {"arguments": {"uri": params["uri"], "times": int(WORDS["live"])}})
        elif method == "logging/setLevel":
            LEVEL[0] = params["level"]
            send({"id": id, "result": {}})
        elif method == "notifications/roots/list_changed":
            say("roots changed")
        elif method in OFFERS:
            if WORDS.get("offers") != "silent":
                send({"id": id, "result": offered(method)})
        elif "modern" in WORDS and (method.startswith("tasks/") or params.get("name") == "task"):
            answer_modern_task(id, method, params)
        elif method == "tools/call" and "task" in params:
            TASKS.append(params["task"]["ttl"])
            send({"id": id, "result": {"task": task("odd" if WORDS["tasks"] == "odd" else "working")}})
        elif method == "tasks/get":
            TASKS.append(method)
            ended = "working" if WORDS["tasks"] == "endless" or TASKS.count(method) < 3 else "completed"
            send({"id": id, "result": task(WORDS["tasks"] if WORDS["tasks"] == "failed" else ended)})
        elif method == "tasks/result":
            if WORDS["tasks"] == "failed":
                send({"id": id, "error": {"code": -32603, "message": "the task broke"}})
            else:
                send({"id": id, "result": text(f"long: {TASKS}")})
        elif method == "tasks/cancel":
            say(f"cancelled {params['taskId']}")
            send({"id": id, "result": task("cancelled")})
        elif method == "tools/call":
            result = CALLS[params["name"]](id, params)
            if result is not None:
                send({"id": id, "result": result})
        elif method == "ping":
            send({"id": id, "result": {}})
    while "ignore-signals" in WORDS:  # and the end of its input
        time.sleep(60)


if __name__ == "__main__":
    main()
