"""Routes as the canvas stores them in `ctx`, under the keys that xai-agent's workflows use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..agent.routing import Route, choose_route
from ..bridge.operations import Operations
from .agents import agent_in, own_agents, resolve_agent_name, spec_of
from .at_node import AtNode, at_node
from .conversations import conversation_with
from .lease import busy
from .panel.chat import note_value, take_question

_NODE = "AgentRouter"
_ROUTES = "registered_agent_routes"
_CONVERSATION = "current_conversation_for_flow"
DEFAULT_RESULT_KEY = "agent_flow_result"
_Run: TypeAlias = Callable[[Any, Any], None]


def define_route(ctx: Any, name: str, description: str, run: _Run) -> None:
    """Add a route. `run` runs its nodes with `ctx` and the conversation."""
    ctx.setdefault(_ROUTES, {})[name] = Route(name, description), run


def follow_route(
    ctx: Any,
    agent_name: str,
    conversation: Any,
    final_context_key: str | None = None,
    question: str = "",
) -> tuple[str, Any]:
    """Let the agent's model choose a route, run it, and return its name and its result.

    `question` is added to the end of the conversation; the route gets both. The result is the value
    that the route's nodes put into `ctx[final_context_key]`, or else the value of its
    AgentToolOutput, or else the answer of the last agent that ran in it.

    Raises:
        NoRoute, UnknownAgent, BadConversation: a person's mistake, or the model named no route.
        ModelError: the model's service failed.
    """
    routes: dict[str, tuple[Route, _Run]] = ctx.get(_ROUTES) or {}
    key = final_context_key or DEFAULT_RESULT_KEY
    agent_name = resolve_agent_name(ctx, agent_name, _NODE)
    question, conversation = take_question(question, conversation)
    conversation = conversation_with(conversation, question)
    with at_node(ctx, _NODE, agent_name, agent=agent_name, routes=list(routes)) as work:
        choices = [route for route, _ in routes.values()]
        name = _choose(ctx, work, agent_name, choices, conversation)
        work.answer["route"] = name
    ctx[_CONVERSATION] = conversation
    ctx[key] = ctx["tool_output"] = ctx["last_answer"] = None
    with own_agents(ctx):
        routes[name][1](ctx, conversation)
    results = (ctx.get(key), ctx.pop("tool_output", None), ctx.get("last_answer"))
    value = next((x for x in results if x is not None), None)
    note_value(conversation, value)
    return name, value


def _choose(
    ctx: Any, work: AtNode, agent_name: str, choices: list[Route], conversation: Any
) -> str:
    env = work.bridge.settings.env
    spec = spec_of(agent_in(ctx, agent_name, _NODE), agent_name, env)
    model = spec.model

    async def choose(_: Operations) -> str:
        try:
            return await choose_route(model, choices, conversation, spec.window)
        finally:
            await model.aclose()

    with busy(ctx):
        return work.wait(
            choose,
            waiting_for=f"the model {model.name} to choose a route",
            summary=lambda route: f"chose the route {route!r}",
        )
