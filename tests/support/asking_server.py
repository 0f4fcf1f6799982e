"""A real MCP server whose tools ask their client: questions, the model, roots. In both eras.

Over stdio it is a program: `asking_entry()`; over HTTP `asking().streamable_http_app()`.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter, defaultdict
from typing import Any

import anyio
import mcp.types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp.shared.message import ServerMessageMetadata

from tests.support.warm_python import python_entry

_MODERN = "2026"
_REQUESTS: dict[str, Any] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResultWithTools),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}
ICON = types.Icon(src="data:image/png;base64,AA==", mime_type="image/png", sizes=["48x48"])
COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string", "default": "blue"}},
    "required": ["colour"],
}
BOOKING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "guests": {"type": "integer", "minimum": 1, "default": 2},
        "seat": {"type": "string", "enum": ["in", "out"]},
    },
    "required": ["name"],
}


def asking() -> MCPServer:
    """Return a new server."""
    warnings.simplefilter("ignore")  # half of this is deprecated as of 2026-07-28
    server = MCPServer("asking", title="Asks", version="1.0", log_level="CRITICAL")

    @server.tool()
    async def ask(
        method: str,
        ctx: Context,
        params: dict[str, Any] | None = None,
        rounds: int = 1,
        says_whose: bool = False,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Ask the client this, so many times one after the other; give back the last answer.

        `says_whose`: in the older era over HTTP, on the stream of this call.
        """
        request_type, result_type = _REQUESTS[method]
        request = request_type.model_validate({"method": method, "params": params})
        if (ctx.protocol_version or "") >= _MODERN:
            count = int(ctx.request_state or 0)
            if count < rounds:
                return types.InputRequiredResult(
                    request_state=str(count + 1), input_requests={"it": request}
                )
            return _result_of((ctx.input_responses or {})["it"])
        whose = ServerMessageMetadata(related_request_id=ctx.request_id) if says_whose else None
        for _ in range(rounds):
            answer = await ctx.session.send_request(request, result_type, metadata=whose)
        return _result_of(answer)

    inside, full = Counter[str](), defaultdict[str, anyio.Event](anyio.Event)

    @server.tool()
    async def meet(room: str, count: int, seconds: float) -> bool:
        """Wait in this room until so many calls are in it, or for so long; whether they were."""
        inside[room] += 1
        if inside[room] == count:
            full[room].set()
        with anyio.move_on_after(seconds):
            await full[room].wait()
        inside[room] -= 1
        return full[room].is_set()

    @server.tool(title="Sign in first", icons=[ICON])
    async def locked() -> str:
        """Refuse until a page was opened."""
        page_params = types.ElicitRequestURLParams(
            message="Sign in there.", url="https://example.org/sign-in", elicitation_id="e1"
        )
        raise UrlElicitationRequiredError([page_params])

    @server.resource("asking://page", title="A page", icons=[ICON])
    def page_() -> str:
        return "text"

    @server.prompt(title="A prompt", icons=[ICON])
    def prompt_() -> str:
        return "text"

    @server.tool()
    async def declared(ctx: Context) -> str:
        """What the client says it can do."""
        declared = ctx.client_capabilities or types.ClientCapabilities()
        return declared.model_dump_json(by_alias=True, exclude_none=True)

    @server.tool()
    async def demand(capability: str, ctx: Context) -> str:
        """Refuse to do anything for a client without this capability."""
        able = ctx.client_capabilities or types.ClientCapabilities()
        if getattr(able, capability) is None:
            data = {"requiredCapabilities": {capability: {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "It is missing", data)
        return "done"

    @server.tool()
    async def log(level: str, text: str, ctx: Context) -> str:
        """Send these words as a log message."""
        await ctx.log(level, text, logger_name="diary")  # type: ignore[arg-type]
        return "logged"

    return server


def asking_entry(**more: Any) -> dict[str, Any]:
    """Return the entry of a settings file for it over stdio."""
    # Here, because as a program this file is run without the tests on its path.

    return python_entry(__file__, **more)


def form(message: str = "Which colour?", schema: dict[str, Any] = COLOUR) -> dict[str, Any]:
    """Return the arguments of `ask` for a form to be filled in."""
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def page(url: str) -> dict[str, Any]:
    """Return the arguments of `ask` for a page to be opened."""
    params = {"mode": "url", "message": "Sign in there.", "url": url, "elicitationId": "e1"}
    return {"method": "elicitation/create", "params": params}


def _result_of(answer: Any) -> types.CallToolResult:
    text = json.dumps(answer.model_dump(by_alias=True, exclude_none=True, mode="json"))
    return types.CallToolResult(content=[types.TextContent(text=text)])


if __name__ == "__main__":
    asking().run()
