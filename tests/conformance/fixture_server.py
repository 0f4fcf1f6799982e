"""The server that the suite's scenarios for servers expect: tools, prompts and resources.

It speaks both eras over stdio, and the gateway stands in front of it when the suite runs.
"""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import mcp.types as t
from mcp import MCPError
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning

from .fixture_tools import (
    IMAGE,
    PNG,
    STRING,
    TOOLS,
    Call,
    Context,
    ToolResult,
    fail,
    form,
    offer,
    question,
    resource,
    text,
    tool,
)

NAME = "conformance-fixture"
PROMPTS: dict[str, t.Prompt] = {}
BUS = InMemorySubscriptionBus()

# Lists that change


@tool("test_trigger_tool_change")
async def trigger_tool_change(context: Context, _call: Call) -> ToolResult:
    """Adds a tool, or removes it where it is."""
    name = "test_tool_of_a_change"
    if TOOLS.pop(name, None) is None:
        offer(name, fail, form())
    await BUS.publish(ToolsListChanged())
    if context.session.can_send_request:
        await context.session.send_tool_list_changed()
    return text("The tools have changed.")


@tool("test_trigger_prompt_change")
async def trigger_prompt_change(context: Context, _call: Call) -> ToolResult:
    """Adds a prompt, or removes it where it is."""
    name = "test_prompt_of_a_change"
    if PROMPTS.pop(name, None) is None:
        PROMPTS[name] = t.Prompt(name=name, description="Was added.")
    await BUS.publish(PromptsListChanged())
    if context.session.can_send_request:
        await context.session.send_prompt_list_changed()
    return text("The prompts have changed.")


async def list_tools(
    _context: Context, _params: t.PaginatedRequestParams | None
) -> t.ListToolsResult:
    """All of them at once."""
    return t.ListToolsResult(tools=[offered for offered, _ in TOOLS.values()])


async def call_tool(context: Context, call: Call) -> ToolResult:
    """Call the function of that name."""
    if call.name not in TOOLS:
        raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {call.name}")
    return await TOOLS[call.name][1](context, call)


# Prompts


def _argument(name: str) -> t.PromptArgument:
    return t.PromptArgument(name=name, description=f"The {name}.", required=True)


_CONTEXT = question("What context should the prompt use?", context=STRING)
_ASKING_PROMPT = "test_input_required_result_prompt"
for _prompt in (
    t.Prompt(name="test_simple_prompt", description="One message."),
    t.Prompt(
        name="test_prompt_with_arguments",
        description="One message with two arguments.",
        arguments=[_argument("arg1"), _argument("arg2")],
    ),
    t.Prompt(
        name="test_prompt_with_embedded_resource",
        description="A message with a resource.",
        arguments=[_argument("resourceUri")],
    ),
    t.Prompt(name="test_prompt_with_image", description="A message with an image."),
    t.Prompt(name=_ASKING_PROMPT, description="A message about what the user answers."),
):
    PROMPTS[_prompt.name] = _prompt


async def list_prompts(
    _context: Context, _params: t.PaginatedRequestParams | None
) -> t.ListPromptsResult:
    """All of them at once."""
    return t.ListPromptsResult(prompts=list(PROMPTS.values()))


async def get_prompt(
    _context: Context, params: t.GetPromptRequestParams
) -> t.GetPromptResult | t.InputRequiredResult:
    """The messages of a prompt, or what must be asked first."""
    answers = params.input_responses or {}
    if params.name == _ASKING_PROMPT and "user_context" not in answers:
        return t.InputRequiredResult(input_requests={"user_context": _CONTEXT})
    contents = _contents_of(params.name, params.arguments or {}, answers)
    return t.GetPromptResult(messages=[t.PromptMessage(role="user", content=x) for x in contents])


def _contents_of(
    name: str, arguments: dict[str, str], answers: t.InputResponses
) -> list[t.ContentBlock]:
    match name:
        case "test_prompt_with_arguments":
            words = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
            return [t.TextContent(text=words)]
        case "test_prompt_with_embedded_resource":
            about = resource(arguments["resourceUri"], "Embedded resource content for testing.")
            return [about, t.TextContent(text="Please process the embedded resource above.")]
        case "test_prompt_with_image":
            return [IMAGE, t.TextContent(text="Please analyze the image above.")]
        case str() if name == _ASKING_PROMPT:
            return [t.TextContent(text=f"Talk about {answers['user_context']}.")]
        case str() if name in PROMPTS:
            return [t.TextContent(text="This is a simple prompt for testing.")]
        case _:
            raise MCPError(t.INVALID_PARAMS, f"Unknown prompt: {name}")


async def complete(_context: Context, params: t.CompleteRequestParams) -> t.CompleteResult:
    """The cities that begin so."""
    cities = ["paris", "park", "party"]
    values = [x for x in cities if x.startswith(params.argument.value)]
    return t.CompleteResult(
        completion=t.Completion(values=values, total=len(values), has_more=False)
    )


# Resources

_TEMPLATE = "test://template/{id}/data"
_BEFORE_ID, _AFTER_ID = _TEMPLATE.split("{id}")
RESOURCES: dict[str, t.TextResourceContents | t.BlobResourceContents] = {
    x.uri: x
    for x in (
        t.TextResourceContents(
            uri="test://static-text",
            mime_type="text/plain",
            text="This is the content of the static text resource.",
        ),
        t.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
        t.TextResourceContents(uri="test://watched-resource", mime_type="text/plain", text="Watch"),
    )
}


async def list_resources(
    _context: Context, _params: t.PaginatedRequestParams | None
) -> t.ListResourcesResult:
    """All of them at once."""
    return t.ListResourcesResult(
        resources=[
            t.Resource(
                uri=uri,
                name=uri.removeprefix("test://"),
                description="To be read.",
                mime_type=contents.mime_type,
            )
            for uri, contents in RESOURCES.items()
        ]
    )


async def list_templates(
    _context: Context, _params: t.PaginatedRequestParams | None
) -> t.ListResourceTemplatesResult:
    """The only one."""
    template = t.ResourceTemplate(
        uri_template=_TEMPLATE,
        name="template",
        description="The data of an id.",
        mime_type="application/json",
    )
    return t.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(
    _context: Context, params: t.ReadResourceRequestParams
) -> t.ReadResourceResult:
    """A resource, or that of the template."""
    uri = params.uri
    if uri in RESOURCES:
        return t.ReadResourceResult(contents=[RESOURCES[uri]])
    if uri.startswith(_BEFORE_ID) and uri.endswith(_AFTER_ID):
        number = uri.removeprefix(_BEFORE_ID).removesuffix(_AFTER_ID)
        words = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
        contents = t.TextResourceContents(uri=uri, mime_type="application/json", text=words)
        return t.ReadResourceResult(contents=[contents])
    raise MCPError(t.INVALID_PARAMS, "Resource not found", {"uri": uri})


async def accept(_context: Context, _params: object) -> t.EmptyResult:
    """Nothing changes by it: no resource is ever updated, and every line is logged."""
    return t.EmptyResult()


def new_server() -> Server[Any]:
    """The server with everything above."""
    # It is deprecated from 2026-07-28 on, and asked for by the scenarios of 2025-11-25.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server = Server[Any](  # pyright: ignore[reportDeprecated]
        NAME,
        version="1.0.0",
        get_tool_input_schema=lambda name: TOOLS[name][0].input_schema if name in TOOLS else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_set_logging_level=accept,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)
    )
    return server


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over stdio."""
    changes = NotificationOptions(prompts_changed=True, tools_changed=True)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options(changes))


if __name__ == "__main__":
    asyncio.run(serve_stdio(new_server()))
