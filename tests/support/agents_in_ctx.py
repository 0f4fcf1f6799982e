"""Agents in a `ctx` as nodes set them up, with what AgentModel says about their models.

ctx = ctx_with("it")
init_agent(ctx, "a", provider="openai", model="m", base_url=endpoint.base_url)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from inspect import signature
from typing import Any, TypeAlias

from tests.support.model_endpoint import ModelEndpoint, Step, model_endpoint, says
from xai_mcp_agent.canvas import agents
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.ports import DEFAULT_TOOLBELT
from xai_mcp_agent.canvas.sources import use_source
from xai_mcp_agent.canvas.toolbelts import SourceChoice, make_toolbelt
from xai_mcp_agent.core.tools import MCP

_OF_AGENT = signature(agents.init_agent).parameters


def use_server(ctx: dict[str, Any], server: str, toolbelt: str | None = None) -> None:
    """Add all tools of an MCP server to a toolbelt."""
    use_source(ctx, MCP, server, SourceChoice(toolbelt or DEFAULT_TOOLBELT))


def ctx_with(*servers: str) -> dict[str, Any]:
    """Return the context of a workflow that uses all tools of these servers."""
    ctx: dict[str, Any] = {}
    for name in servers:
        use_server(ctx, name)
    return ctx


def init_agent(ctx: dict[str, Any], name: str, **values: Any) -> None:
    """Set up an agent; options of its model are among the values."""
    settings = {x: values.pop(x) for x in list(values) if x not in _OF_AGENT}
    agents.init_agent(ctx, name, model_settings=settings, **values)


# An agent with a scripted model, for tests of the text that a model reads

_AGENT = "a"

Do: TypeAlias = Step | Callable[[dict[str, Any]], Step]
"""A step of the model; a function may do something else first, while the run waits."""


@contextmanager
def agent(ctx: dict[str, Any], *steps: Do, lock_tools: Any = False) -> Generator[ModelEndpoint]:
    """Set up an agent with all tools so far; its model takes these steps, then it is done."""
    remaining = [*steps, says("done")]

    def script(body: dict[str, Any]) -> Step:
        step = remaining.pop(0)
        return step if isinstance(step, Step) else step(body)

    with model_endpoint(script) as endpoint:
        init_agent(
            ctx, _AGENT, provider="openai", model="m", base_url=endpoint.base_url,
            toolbelt_spec=make_toolbelt(ctx, None, lock_tools, lock_tools == "first"),
        )  # fmt: skip
        yield endpoint


def run(ctx: dict[str, Any]) -> None:
    """Run the agent once."""
    run_agent(ctx, _AGENT, "Go on.", outcome=CanvasRun())


def tools_of_request(endpoint: ModelEndpoint, request: int = 0) -> dict[str, Any]:
    """Return the tools in a request to the model, by name."""
    tools = endpoint.requests[request].body.get("tools", [])
    return {x["function"]["name"]: x["function"] for x in tools}


def last_message(endpoint: ModelEndpoint) -> str:
    """Return the last message that the model got."""
    return endpoint.requests[-1].body["messages"][-1]["content"]


def all_requests(endpoint: ModelEndpoint) -> str:
    """Return all requests to the model, as one text."""
    return "".join(json.dumps(x.body) for x in endpoint.requests)
