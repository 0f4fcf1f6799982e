"""The client under test: the bridge, driven by settings and public calls and nothing else.

The suite starts it once for each scenario, with the server's URL as the last argument and these
variables: MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION, and sometimes
MCP_CONFORMANCE_CONTEXT (JSON). It judges what the scenario's server sees, so this must act.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from xai_mcp_agent import Answer, Bridge, JsonObject, Question, SignInRequest

SERVER = "under-test"
# Below the suite's own limit, so that what hung says so.
_CALL_SECONDS = 20.0

# The suite knows this address, and what is there.
_WHO_WE_ARE = "https://conformance-test.local/client-metadata.json"
_SETTING_OF = {
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "private_key_pem": "privateKey",
    "signing_algorithm": "signingAlgorithm",
    "issuer": "issuer",
}
# What stands for a value that a schema only describes.
_SAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 5,
    "number": 2.5,
    "boolean": True,
    "array": [],
    "object": {},
}


def main(url: str, scenario: str, context: JsonObject) -> None:
    """Act on one scenario's server as a person with this library would."""
    entry: JsonObject = {"url": url, "timeout": _CALL_SECONDS}
    if scenario.startswith("auth/"):
        entry["auth"] = credentials(scenario, context)
    with (
        TemporaryDirectory() as folder,
        Bridge(
            {"mcpServers": {SERVER: entry}}, answer=answer, sign_in=sign_in, token_folder=folder
        ) as bridge,
    ):
        _ACTS.get(scenario, call_every_tool)(bridge, context)


def credentials(scenario: str, context: JsonObject) -> JsonObject:
    """What a person would write under `auth`: who we are, where that was arranged beforehand."""
    auth = {_SETTING_OF[name]: x for name, x in context.items() if name in _SETTING_OF}
    if "client-credentials" in scenario:
        return {"grant": "client_credentials", **auth}
    return auth or {"clientMetadataUrl": _WHO_WE_ARE}


def sign_in(request: SignInRequest) -> str:
    """Agree as a browser would whose user is signed in: go there, and say where it was sent on."""
    with httpx2.Client(timeout=_CALL_SECONDS, follow_redirects=False) as browser:
        return browser.get(request.url).headers["location"]


def call_every_tool(bridge: Bridge, _context: JsonObject) -> None:
    """List the tools, call each of them with arguments that its schema allows, and list again."""
    for tool in bridge.list_tools(SERVER):
        _call(bridge, tool.name, sample(tool.input_schema))
    bridge.refresh(SERVER)[0].require()  # by now a server may want a new authorization


def only_list(bridge: Bridge, _context: JsonObject) -> None:
    """List the tools; their schemas must not be followed to where they point."""
    for tool in bridge.list_tools(SERVER):
        print(f"{tool.name}: {tool.description[:200]}")


def call_what_is_asked(bridge: Bridge, context: JsonObject) -> None:
    """Make exactly the calls that the scenario names."""
    for call in context["toolCalls"]:
        _call(bridge, call["name"], call["arguments"])


def give_the_schema_back(bridge: Bridge, _context: JsonObject) -> None:
    """Send one tool's input schema back as it came, as the argument of another tool."""
    schema_of = {tool.name: tool.input_schema for tool in bridge.list_tools(SERVER)}
    _call(bridge, "json_schema_echo", {"schema": schema_of["json_schema_2020_12_tool"]})


def answer(question: Question) -> Answer:
    """Fill in a form as its defaults say; what has none gets a value of its type."""
    if question.schema is None:
        return Answer.declined("there is no person here to open a page")
    return Answer.accepted(sample(question.schema))


def sample(schema: JsonObject) -> Any:
    """A value that the schema allows: every property of an object, defaults where there are any."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    if "properties" in schema:
        return {name: sample(spec) for name, spec in schema["properties"].items()}
    return _SAMPLES.get(schema.get("type", "string"), "text")


_ACTS: dict[str, Callable[[Bridge, JsonObject], None]] = {
    "http-custom-headers": call_what_is_asked,
    "json-schema-2020-12-preservation": give_the_schema_back,
    "json-schema-ref-no-deref": only_list,
}


def _call(bridge: Bridge, tool: str, arguments: JsonObject) -> None:
    result = bridge.call_tool(SERVER, tool, arguments)
    print(f"{tool}: {'failed: ' if result.is_error else ''}{result.text[:200]}")


if __name__ == "__main__":
    main(
        sys.argv[-1],
        os.environ["MCP_CONFORMANCE_SCENARIO"],
        json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"),
    )
