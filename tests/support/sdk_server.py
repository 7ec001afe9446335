"""A server on the official SDK with one of each: resources, prompts, notifications, sampling and elicitation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel, Field

from png import PNG


class Trip(BaseModel):
    city: str = Field(max_length=10)
    nights: int = Field(ge=1, le=14)


def make_server() -> MCPServer[Any]:
    server = MCPServer("offering", version="1")

    @server.resource("note://today", title="Today", description="A note.", mime_type="text/plain")
    async def today() -> str:
        return "buy milk\nhttps://example.com/never-opened"

    @server.resource("note://broken", title="Broken", mime_type="application/json")
    async def broken() -> str:
        return "{no json"

    @server.resource("image://dot", title="Dot", mime_type="image/png")
    async def dot() -> bytes:
        return PNG

    @server.resource("note://{day}/{topic}", title="Note of a day", mime_type="text/plain")
    async def note(day: str, topic: str) -> str:
        return f"{topic} on {day}"

    @server.prompt(title="Review", description="Reviews code.")
    async def review(code: str, style: str = "short") -> str:
        return f"Review this in a {style} way: {code}"

    @server.completion()
    async def propose(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        known = (context.arguments if context else None) or {}
        if isinstance(ref, PromptReference):
            found = ["short", "strict", "st\u202eart"] if argument.name == "style" else []
        elif argument.name == "day":
            found = [f"{day} May" for day in range(1, 32)]
        else:
            found = [f"tea on {known.get('day', 'no day')}"]
        values = [each for each in found if each.startswith(argument.value)]
        return Completion(values=values[:20], total=len(values), has_more=len(values) > 20)

    @server.tool()
    async def grow(ctx: Context[Any, Any]) -> str:
        """Adds a resource and a prompt, and reports both lists as changed."""

        @server.resource("note://new", title="New")
        async def new() -> str:
            return "new"

        @server.prompt(title="Newer")
        async def newer() -> str:
            return "newer"

        await ctx.session.send_resource_list_changed()
        await ctx.session.send_prompt_list_changed()
        await ctx.info("the lists have grown")
        await ctx.report_progress(1, 2, "half")
        return "grown"

    @server.tool()
    async def book(ctx: Context[Any, Any]) -> str:
        """Asks the user for a trip."""
        found = await ctx.elicit("Where to?", Trip)
        return (
            f"{found.action}: {found.data.city}, {found.data.nights}"
            if found.action == "accept"
            else found.action
        )

    @server.tool()
    async def visit(ctx: Context[Any, Any]) -> str:
        """Asks the user to open a page."""
        found = await ctx.elicit_url("Confirm the payment", "https://example.com/pay?token=1", "e1")
        return found.action

    @server.tool()
    async def think(ctx: Context[Any, Any], topic: str = "llamas") -> str:
        """Asks the client's model."""
        message = SamplingMessage(role="user", content=TextContent(type="text", text=f"A word on {topic}?"))
        found = await ctx.session.create_message(
            [message], max_tokens=8, system_prompt="Be brief.", temperature=0.0, stop_sequences=["\n"]
        )
        return f"{found.model} says {getattr(found.content, 'text', '')}"

    @server.tool()
    async def nag(ctx: Context[Any, Any]) -> str:
        """Asks twelve questions at a time."""
        actions: list[str] = []

        async def one() -> None:
            try:
                actions.append((await ctx.elicit("Again?", Trip)).action)
            except Exception as error:
                actions.append(type(error).__name__)

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(one)
        return ",".join(sorted(actions))

    return server


@contextmanager
def sdk_http() -> Iterator[str]:
    """The address of such a server in a thread of the test: quicker than a process for each test."""
    made = uvicorn.Server(
        uvicorn.Config(make_server().streamable_http_app(), port=0, log_level="critical", lifespan="on")
    )
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        while not made.started:
            time.sleep(0.01)
        port = made.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        made.should_exit = True
        made.force_exit = True
        thread.join()


if __name__ == "__main__":
    make_server().run("stdio")
