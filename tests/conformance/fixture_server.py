"""The server that the suite's scenarios for servers expect: tools, prompts and resources.

It speaks both eras over stdio, and the gateway stands in front of it when the suite runs. The names
and words are the suite's.
"""

from __future__ import annotations

import asyncio
import base64
import warnings
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeAlias

import mcp.types as t
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import Field

Schema: TypeAlias = dict[str, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
IMAGE = t.ImageContent(data=PNG, mime_type="image/png")
_STEP_SECONDS = 0.05  # between two notices; the scenarios ask for it


def text(words: str) -> t.CallToolResult:
    """Return a result of one text."""
    return t.CallToolResult(content=[t.TextContent(text=words)])


def resource(uri: str, words: str, mime_type: str = "text/plain") -> t.EmbeddedResource:
    """Return a resource within a result."""
    contents = t.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return t.EmbeddedResource(resource=contents)


def json_schema_2020_12_tool(name: str = "", address: Any = None) -> str:
    """Has every keyword in its schema that must not be lost."""
    return f"Called with {name}, {address}"


_JSON_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_preserved = Tool.from_function(json_schema_2020_12_tool, structured_output=False)
server = MCPServer(
    "conformance-fixture",
    version="1.0.0",
    log_level="CRITICAL",
    tools=[_preserved.model_copy(update={"parameters": _JSON_SCHEMA})],
)
tool = server.tool(structured_output=False)


def offer(name: str, function: Callable[..., Any]) -> None:
    """Offer a function as the tool of a name."""
    server.add_tool(function, name=name, structured_output=False)


# What tools return


def _returning(content: list[t.ContentBlock]) -> Callable[[], Any]:
    def return_content() -> Any:
        """Return content of this kind."""
        return content

    return return_content


for _name, _content in {
    "test_simple_text": [t.TextContent(text="This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [t.AudioContent(data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [
        resource("test://embedded-resource", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        t.TextContent(text="Multiple content types test:"),
        IMAGE,
        resource(
            "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
        ),
    ],
}.items():
    offer(_name, _returning(_content))


@tool
def test_error_handling() -> Any:
    """Fail."""
    result = text("This tool intentionally returns an error for testing")
    return result.model_copy(update={"is_error": True})


@tool
def test_custom_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
) -> str:
    """Take an argument that is sent as a header, too."""
    return f"Called with {region}"


# What tools say during a call


@tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Log three lines."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(words)
        await asyncio.sleep(_STEP_SECONDS)
    return "Logged three lines."


@tool
async def test_logging_tool(ctx: Context) -> str:
    """Log a line, for those who asked for it."""
    await ctx.info("This line was asked for")
    return "Logged a line."


@tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Report the progress three times."""
    for percent in (0, 50, 100):
        await ctx.report_progress(percent, 100)
        await asyncio.sleep(_STEP_SECONDS)
    return "Done."


@tool
async def test_trigger_tool_change(ctx: Context) -> str:
    """Add a tool, or remove it where it is."""
    name = "test_tool_of_a_change"
    if any(x.name == name for x in await server.list_tools()):
        server.remove_tool(name)
    else:
        offer(name, test_error_handling)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "The tools have changed."


@tool
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Add a prompt, or remove it where it is."""
    name = "test_prompt_of_a_change"
    if any(x.name == name for x in await server.list_prompts()):
        server.remove_prompt(name)
    else:
        server.prompt(name=name, description="Was added.")(lambda: "It was added.")
    await ctx.notify_prompts_changed()
    await ctx.session.send_prompt_list_changed()
    return "The prompts have changed."


# Questions of the handshake era


@tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model."""
    message = t.SamplingMessage(role="user", content=t.TextContent(text=prompt))
    reply = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
        [message], max_tokens=100, related_request_id=ctx.request_id
    )
    return f"LLM response: {getattr(reply.content, 'text', '')}"


def form(**properties: Schema) -> Schema:
    """Return the schema of a form with these fields, all of them required."""
    return {"type": "object", "properties": properties, "required": list(properties)}


async def _ask(ctx: Context, message: str, fields: Schema) -> str:
    reply = await ctx.session.elicit_form(message, fields, ctx.request_id)
    return f"Elicitation completed: action={reply.action}, content={reply.content}"


@tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Ask the client's user."""
    fields = form(
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return await _ask(ctx, message, fields)


@tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default for every field."""
    fields = form(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await _ask(ctx, "Please check your profile", {**fields, "required": []})


@tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask with every kind of choice."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
    fields = form(
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return await _ask(ctx, "Please choose", fields)


# Questions of 2026-07-28: input-required results, round after round


def question(message: str, **properties: Schema) -> t.InputRequest:
    """Return a form for the client's user."""
    return t.ElicitRequest(
        params=t.ElicitRequestFormParams(message=message, requested_schema=form(**properties))
    )


def prompt_for_model(words: str, max_tokens: int) -> t.InputRequest:
    """Return a prompt for the client's model."""
    message = t.SamplingMessage(role="user", content=t.TextContent(text=words))
    params = t.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    return t.CreateMessageRequest(params=params)


STRING: Schema = {"type": "string"}
_NAME = question("What is your name?", name=STRING)
_CONFIRM = question("Please confirm", ok={"type": "boolean"})
_CAPITAL = prompt_for_model("What is the capital of France?", 100)


def _asking(rounds: list[t.InputRequests]) -> Callable[..., Awaitable[Any]]:
    async def ask_in_rounds(ctx: Context) -> Any:
        """Ask round by round until the last one is answered. The state is their number so far."""
        at, answers = int(ctx.request_state or 0), ctx.input_responses or {}
        if at < len(rounds) and rounds[at].keys() <= answers.keys():
            at += 1
        if at < len(rounds):
            return t.InputRequiredResult(input_requests=rounds[at], request_state=str(at))
        return text(f"state-ok: {', '.join(str(x) for x in answers.values())}")

    return ask_in_rounds


# The requests of each round, by the name of a tool.
_ROUNDS: dict[str, list[t.InputRequests]] = {
    "test_input_required_result_elicitation": [{"user_name": _NAME}],
    "test_input_required_result_sampling": [{"capital_question": _CAPITAL}],
    "test_input_required_result_list_roots": [{"client_roots": t.ListRootsRequest()}],
    "test_input_required_result_request_state": [{"confirm": _CONFIRM}],
    "test_input_required_result_tampered_state": [{"confirm": _CONFIRM}],
    "test_input_required_result_multiple_inputs": [
        {
            "user_name": _NAME,
            "greeting": prompt_for_model("Generate a greeting", 50),
            "client_roots": t.ListRootsRequest(),
        }
    ],
    "test_input_required_result_multi_round": [
        {"step1": question("Step 1: What is your name?", name=STRING)},
        {"step2": question("Step 2: What is your favorite color?", color=STRING)},
    ],
    "test_streaming_elicitation": [{"user_name": _NAME}],
}
for _name, _rounds in _ROUNDS.items():
    offer(_name, _asking(_rounds))


@tool
async def test_input_required_result_capabilities(ctx: Context) -> Any:
    """Ask only what the client declared it can answer."""
    declared = ctx.client_capabilities or t.ClientCapabilities()
    requests: t.InputRequests = {}
    if declared.elicitation is not None:
        requests["user_name"] = _NAME
    if declared.sampling is not None:
        requests["capital_question"] = _CAPITAL
    if not requests or requests.keys() <= (ctx.input_responses or {}).keys():
        return text("There is nothing left to ask.")
    return t.InputRequiredResult(input_requests=requests)


@tool
async def test_missing_capability(ctx: Context) -> str:
    """Refuse clients without a model."""
    if (ctx.client_capabilities or t.ClientCapabilities()).sampling is None:
        data = {"requiredCapabilities": {"sampling": {}}}
        words = "This tool needs a client with a model."
        raise MCPError(t.MISSING_REQUIRED_CLIENT_CAPABILITY, words, data)
    return "This client has a model."


# Prompts


@server.prompt()
def test_simple_prompt() -> str:
    """Return one message."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(
    arg1: Annotated[str, Field(description="The first.")],
    arg2: Annotated[str, Field(description="The second.")],
) -> str:
    """Return one message with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(
    resourceUri: Annotated[str, Field(description="The address.")],
) -> list[Any]:
    """Return a message with a resource."""
    about = resource(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(about), UserMessage("Please process the embedded resource above.")]


@server.prompt()
def test_prompt_with_image() -> list[Any]:
    """Return a message with an image."""
    return [UserMessage(IMAGE), UserMessage("Please analyze the image above.")]


@server.prompt()
async def test_input_required_result_prompt(ctx: Context) -> Any:
    """Return a message about what the user answers."""
    answers = ctx.input_responses or {}
    if "user_context" in answers:
        return f"Talk about {answers['user_context']}."
    request = question("What context should the prompt use?", context=STRING)
    return t.InputRequiredResult(input_requests={"user_context": request})


@server.completion()
async def complete(_ref: Any, argument: t.CompletionArgument, _context: Any) -> t.Completion:
    """Return the cities that begin so."""
    values = [x for x in ("paris", "park", "party") if x.startswith(argument.value)]
    return t.Completion(values=values, total=len(values), has_more=False)


# Resources


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Return a text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """Return bytes."""
    return base64.b64decode(PNG)


@server.resource("test://watched-resource", mime_type="text/plain")
def watched() -> str:
    """Return what clients subscribe to."""
    return "Watch"


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    """Return the data of an id."""
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


async def _accept(_context: object, _params: object) -> t.EmptyResult:
    """Change nothing: no resource is ever updated, and every line is logged."""
    return t.EmptyResult()


# Not served by the SDK's server itself, in the era that has these requests.
for _method, _params in (
    ("resources/subscribe", t.SubscribeRequestParams),
    ("resources/unsubscribe", t.UnsubscribeRequestParams),
    ("logging/setLevel", t.SetLevelRequestParams),
):
    server._lowlevel_server.add_request_handler(_method, _params, _accept)


if __name__ == "__main__":
    # It is deprecated from 2026-07-28 on, and asked for by the scenarios of 2025-11-25.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server.run()
