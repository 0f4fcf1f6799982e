"""The tools that the suite's scenarios for servers call, with their names and their words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import mcp.types as t
from mcp import MCPError
from mcp.server.context import ServerRequestContext

Context: TypeAlias = ServerRequestContext[Any, Any]
Schema: TypeAlias = dict[str, Any]
ToolResult: TypeAlias = t.CallToolResult | t.InputRequiredResult
Call: TypeAlias = t.CallToolRequestParams
ToolFunction: TypeAlias = Callable[[Context, Call], Awaitable[ToolResult]]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
_WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
IMAGE = t.ImageContent(data=PNG, mime_type="image/png")
# Between two notices; the scenarios ask for it.
_STEP_SECONDS = 0.05

TOOLS: dict[str, tuple[t.Tool, ToolFunction]] = {}


def offer(name: str, function: ToolFunction, schema: Schema) -> None:
    """Offer a tool."""
    about = t.Tool(name=name, description=function.__doc__, input_schema=schema)
    TOOLS[name] = about, function


def tool(name: str, schema: Schema | None = None) -> Callable[[ToolFunction], ToolFunction]:
    """Offer a function as the tool of a name."""

    def decorate(function: ToolFunction) -> ToolFunction:
        offer(name, function, schema or form())
        return function

    return decorate


def form(**properties: Schema) -> Schema:
    """The schema of a form with these fields, all of them required."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def text(words: str) -> t.CallToolResult:
    """A result of one text."""
    return t.CallToolResult(content=[t.TextContent(text=words)])


def resource(uri: str, words: str, mime_type: str = "text/plain") -> t.EmbeddedResource:
    """A resource within a result."""
    contents = t.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return t.EmbeddedResource(resource=contents)


# What tools return

CONTENTS: dict[str, list[t.ContentBlock]] = {
    "test_simple_text": [t.TextContent(text="This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [t.AudioContent(data=_WAV, mime_type="audio/wav")],
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
}


async def return_contents(_context: Context, call: Call) -> ToolResult:
    """Return the contents of that name."""
    return t.CallToolResult(content=CONTENTS[call.name])


for _name in CONTENTS:
    offer(_name, return_contents, form())


@tool("test_error_handling")
async def fail(_context: Context, _call: Call) -> ToolResult:
    """Fails."""
    result = text("This tool intentionally returns an error for testing")
    return result.model_copy(update={"is_error": True})


@tool(
    "json_schema_2020_12_tool",
    {
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
    },
)
async def json_schema_2020_12(_context: Context, call: Call) -> ToolResult:
    """Has every keyword in its schema that must not be lost."""
    return text(f"Called with {call.arguments}")


@tool("test_custom_header", form(region={"type": "string", "x-mcp-header": "Region"}))
async def custom_header(_context: Context, call: Call) -> ToolResult:
    """Takes an argument that is sent as a header, too."""
    return text(f"Called with {call.arguments}")


# What tools say during a call


@tool("test_tool_with_logging")
async def tool_with_logging(context: Context, _call: Call) -> ToolResult:
    """Logs three lines."""
    await _log(context, "Tool execution started")
    await asyncio.sleep(_STEP_SECONDS)
    await _log(context, "Tool processing data")
    await asyncio.sleep(_STEP_SECONDS)
    await _log(context, "Tool execution completed")
    return text("Logged three lines.")


@tool("test_logging_tool")
async def logging(context: Context, _call: Call) -> ToolResult:
    """Logs a line, for those who asked for it."""
    await _log(context, "This line was asked for")
    return text("Logged a line.")


@tool("test_tool_with_progress")
async def tool_with_progress(context: Context, _call: Call) -> ToolResult:
    """Reports its progress three times."""
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await asyncio.sleep(_STEP_SECONDS)
    return text("Done.")


async def _log(context: Context, words: str) -> None:
    await context.session.send_log_message(  # pyright: ignore[reportDeprecated]
        "info", words, related_request_id=context.request_id
    )


# Questions of the handshake era


@tool("test_sampling", form(prompt={"type": "string"}))
async def sampling(context: Context, call: Call) -> ToolResult:
    """Asks the client's model."""
    assert call.arguments
    content = t.TextContent(text=call.arguments["prompt"])
    reply = await context.session.create_message(  # pyright: ignore[reportDeprecated]
        [t.SamplingMessage(role="user", content=content)],
        max_tokens=100,
        related_request_id=context.request_id,
    )
    return text(f"LLM response: {getattr(reply.content, 'text', '')}")


@tool("test_elicitation", form(message={"type": "string"}))
async def elicitation(context: Context, call: Call) -> ToolResult:
    """Asks the client's user."""
    assert call.arguments
    fields = form(
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return await _ask(context, call.arguments["message"], fields)


@tool("test_elicitation_sep1034_defaults")
async def elicitation_sep1034_defaults(context: Context, _call: Call) -> ToolResult:
    """Asks with a default for every field."""
    fields = form(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await _ask(context, "Please check your profile", {**fields, "required": []})


@tool("test_elicitation_sep1330_enums")
async def elicitation_sep1330_enums(context: Context, _call: Call) -> ToolResult:
    """Asks with every kind of choice."""
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
    return await _ask(context, "Please choose", fields)


async def _ask(context: Context, message: str, fields: Schema) -> ToolResult:
    reply = await context.session.elicit_form(message, fields, context.request_id)
    return text(f"Elicitation completed: action={reply.action}, content={reply.content}")


# Questions of 2026-07-28: input-required results, round after round


def question(message: str, **properties: Schema) -> t.InputRequest:
    """A form for the client's user."""
    return t.ElicitRequest(
        params=t.ElicitRequestFormParams(message=message, requested_schema=form(**properties))
    )


def prompt(words: str, max_tokens: int) -> t.InputRequest:
    """A prompt for the client's model."""
    message = t.SamplingMessage(role="user", content=t.TextContent(text=words))
    params = t.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    return t.CreateMessageRequest(params=params)


STRING: Schema = {"type": "string"}
_NAME = question("What is your name?", name=STRING)
_CONFIRM = question("Please confirm", ok={"type": "boolean"})
_CAPITAL = prompt("What is the capital of France?", 100)
# The requests of each round, by the name of a tool.
ROUNDS: dict[str, list[t.InputRequests]] = {
    "test_input_required_result_elicitation": [{"user_name": _NAME}],
    "test_input_required_result_sampling": [{"capital_question": _CAPITAL}],
    "test_input_required_result_list_roots": [{"client_roots": t.ListRootsRequest()}],
    "test_input_required_result_request_state": [{"confirm": _CONFIRM}],
    "test_input_required_result_tampered_state": [{"confirm": _CONFIRM}],
    "test_input_required_result_multiple_inputs": [
        {
            "user_name": _NAME,
            "greeting": prompt("Generate a greeting", 50),
            "client_roots": t.ListRootsRequest(),
        }
    ],
    "test_input_required_result_multi_round": [
        {"step1": question("Step 1: What is your name?", name=STRING)},
        {"step2": question("Step 2: What is your favorite color?", color=STRING)},
    ],
    "test_streaming_elicitation": [{"user_name": _NAME}],
}


async def ask_in_rounds(_context: Context, call: Call) -> ToolResult:
    """Ask round by round until the last one is answered. The state is the number of rounds done."""
    rounds = ROUNDS[call.name]
    at = int(call.request_state or 0)
    answers = call.input_responses or {}
    if at < len(rounds) and rounds[at].keys() <= answers.keys():
        at += 1
    if at < len(rounds):
        return t.InputRequiredResult(input_requests=rounds[at], request_state=str(at))
    return text(f"state-ok: {', '.join(str(x) for x in answers.values())}")


for _name in ROUNDS:
    offer(_name, ask_in_rounds, form())


@tool("test_input_required_result_capabilities")
async def input_required_result_capabilities(context: Context, call: Call) -> ToolResult:
    """Asks only what the client declared it can answer."""
    declared = context.session.client_capabilities or t.ClientCapabilities()
    requests: t.InputRequests = {}
    if declared.elicitation is not None:
        requests["user_name"] = _NAME
    if declared.sampling is not None:
        requests["capital_question"] = _CAPITAL
    if not requests or requests.keys() <= (call.input_responses or {}).keys():
        return text("There is nothing left to ask.")
    return t.InputRequiredResult(input_requests=requests)


@tool("test_missing_capability")
async def missing_capability(context: Context, _call: Call) -> ToolResult:
    """Is refused to clients without a model."""
    needed = t.ClientCapabilities(sampling=t.SamplingCapability())
    if not context.session.check_client_capability(needed):
        data = t.MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
        raise MCPError(
            t.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs a client with a model.",
            data.model_dump(by_alias=True, mode="json", exclude_none=True),
        )
    return text("This client has a model.")
