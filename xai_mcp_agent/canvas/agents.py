"""Agents as the canvas stores them in `ctx`, under the keys that xai-agent's workflows use."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeGuard, cast

from ..agent.loop import AgentSpec
from ..agent.memory.notes import memory_for
from ..agent.models.choice import OFFLINE, OPENAI, AgentModel, split_name
from ..agent.structured import OutputSchema
from ..agent.text_protocol import ProtocolChoice
from ..core.errors import BadSetting, UnknownAgent
from ..core.json import JsonObject
from ..core.names import did_you_mean, join_names
from ..secrets.secrets import Secrets
from .model_settings import NODE as MODEL_NODE
from .model_settings import (
    as_run_limits,
    env_of,
    provider_on,
    reveal,
    secrets_in,
    settings_on,
    with_prices,
    without_service,
)
from .ports import inputs
from .toolbelts import (
    IS_IMPLICIT,
    SERVERS,
    SOURCES,
    TOOLBELTS,
    collect_spec,
    declared_toolbelts,
    tools_in,
)
from .workflow_thread import running_agents

_PREFIX = "agent_"
# Enough to look a thing up, act on it, check, and answer.
DEFAULT_MAX_THOUGHTS = 10
DEFAULT_AGENT = "agent"
# Key of `ctx`: the name of the agent that was set up last.
_LAST = "last_agent"
# Key of an agent: whether another agent had its name before.
_REPLACES = "replaces_another"

# Without these keys, the entry of `ctx` is something else of that name.
_FIELDS = {"agent_provider", "agent_model", "agent_system_prompt", "max_thoughts"}
_MODEL_FIELDS = {x.name for x in fields(AgentModel)} - {"provider", "name"}
_INIT, _UPDATE = "AgentInit", "AgentUpdate"
_MAX_NAMES = 5  # of toolbelts, in a notice


def set_up_agent(ctx: Any, node: Any) -> None:
    """Set up the agent of an AgentInit; see `init_agent`."""
    ports = _agent_ports(node)
    if not ports["toolbelt_spec"] and (belt := _only_toolbelt(ctx, node)):
        ports["toolbelt_spec"] = {**collect_spec(ctx, belt), IS_IMPLICIT: True}
    init_agent(ctx, **ports)


def change_agent(ctx: Any, node: Any) -> None:
    """Change the agent of an AgentUpdate; see `update_agent`."""
    update_agent(ctx, **_agent_ports(node))


def _agent_ports(node: Any) -> dict[str, Any]:
    """Return the values on a node's ports, by the names that AgentInit and AgentUpdate share."""
    return {x.removeprefix("new_").removeprefix("agent_"): y for x, y in inputs(node).items()}


def _only_toolbelt(ctx: Any, node: Any) -> str:
    """Return the only declared toolbelt, if the workflow has no AgentMakeToolbelt."""
    belts, following = declared_toolbelts(ctx), node.next
    if ctx.get(TOOLBELTS) or len(belts) != 1:
        return ""
    while following is not None:
        if type(following).__name__ == "AgentMakeToolbelt":
            return ""
        following = following.next
    return belts[0]


def init_agent(
    ctx: Any,
    name: str,
    provider: str = "",
    model: str = "",
    memory: Any = None,
    system_prompt: str = "",
    max_thoughts: int | None = None,
    toolbelt_spec: Mapping[str, Any] | None = None,
    model_settings: Mapping[str, Any] | None = None,
) -> None:
    """Set up an agent in `ctx`, under the keys that workflows made for xai-agent use.

    An empty value means the default; `model_settings` are as AgentModel gives them. A node that
    names no agent uses the one set up last.

    Raises:
        UnknownProvider: there is no such model provider.
        BadSetting: a value is invalid, or two contradict each other.
        MemoryFailed: `memory` is not a memory.
    """
    name = name if name.strip() else DEFAULT_AGENT
    settings = settings_on(model_settings, "model_settings", _INIT, env_of(ctx))
    provider, model = _model_in(provider, model, settings, _INIT, {})
    if not provider:
        _require_provider(settings)
    ctx[_PREFIX + name] = {
        **tools_in(toolbelt_spec, "toolbelt_spec", _INIT),
        "agent_provider": provider or OFFLINE,
        "agent_model": model,
        "agent_memory": memory_for(memory, name),
        "agent_system_prompt": system_prompt,
        "max_thoughts": max_thoughts or DEFAULT_MAX_THOUGHTS,
        "model_settings": with_prices(settings),
        _REPLACES: _is_agent(ctx.get(_PREFIX + name)),
    }
    ctx[_LAST] = name


def update_agent(
    ctx: Any,
    name: str,
    provider: str = "",
    model: str = "",
    system_prompt: str = "",
    max_thoughts: int | None = None,
    toolbelt_spec: Mapping[str, Any] | None = None,
    model_settings: Mapping[str, Any] | None = None,
) -> None:
    """Change an existing agent; an empty value leaves a setting as it is.

    With another provider or address, the key and other settings of the old service are dropped:
    they must not be sent to the new one.

    Raises:
        UnknownAgent: there is no such agent in this run.
        UnknownProvider: there is no such model provider.
        BadSetting: a value is invalid, or two contradict each other.
    """
    agent = agent_in(ctx, resolve_agent_name(ctx, name, _UPDATE), _UPDATE)
    settings = settings_on(model_settings, "new_model_settings", _UPDATE, env_of(ctx))
    provider, model = _model_in(provider, model, settings, _UPDATE, agent)
    changes: dict[str, Any] = {
        "agent_provider": provider,
        "agent_model": model,
        "agent_system_prompt": system_prompt,
        "max_thoughts": max_thoughts,
        "model_settings": with_prices(_merge_settings(agent, provider, settings)),
    }
    changes = {key: x for key, x in changes.items() if x not in ("", None)}
    if toolbelt_spec:
        changes |= tools_in(toolbelt_spec, "new_toolbelt_spec", _UPDATE)
    agent.update(changes)


def resolve_agent_name(ctx: Any, name: str, node: str, *, runs: bool = False) -> str:
    """Return the agent's name on a port, or else the agent set up last in this run.

    With `runs` the agent is about to run: an agent runs inside itself only if it is named.

    Raises:
        UnknownAgent: the port is empty, and no agent was set up.
        BadSetting: the port is empty inside a run of the last agent.
    """
    if name.strip():
        return name
    last = ctx.get(_LAST)
    if not last:
        raise UnknownAgent(
            f"{node} names no agent, and none is set up in this run yet. Put an AgentInit before "
            "the node, or name an agent in its `agent_name`."
        )
    if runs and last in running_agents():
        raise BadSetting(
            f"{node} runs in a tool or a branch of agent {last!r} and names no agent, and the one "
            f"set up last is {last!r} itself. Say in `agent_name` which agent is meant."
        )
    return last


@contextmanager
def own_agents(ctx: Any) -> Generator[None]:
    """Run the nodes of a drawn tool, a route or a branch; agents set up there stay local.

    This matters for nodes that name no agent. By its name, such an agent is found afterwards too.
    """
    last, default = ctx.get(_LAST), ctx.get(_PREFIX + DEFAULT_AGENT)
    try:
        yield
    finally:
        ctx[_LAST] = last
        if default is not None:
            ctx[_PREFIX + DEFAULT_AGENT] = default


def agent_in(ctx: Any, name: str, node: str) -> dict[str, Any]:
    """Return the agent of that name, for this node.

    Raises:
        UnknownAgent: `AgentInit` has not set it up in this run.
    """
    agent = ctx.get(f"{_PREFIX}{name}")
    if not _is_agent(agent):
        agents = [str(k).removeprefix(_PREFIX) for k, v in ctx.items() if _is_agent(v)]
        names = f"There are: {', '.join(agents)}." if agents else "There is none yet."
        raise UnknownAgent(
            f"No agent {name!r} in this run. {did_you_mean(name, agents) or names} "
            "Put an AgentInit with this `agent_name` before the node."
        )
    return agent


def model_of(agent: Mapping[str, Any]) -> AgentModel:
    """Return an agent's model with its settings."""
    own = {key: reveal(x) for key, x in settings_of(agent).items() if key in _MODEL_FIELDS}
    return AgentModel(provider=agent["agent_provider"], name=agent["agent_model"], **own)


def settings_of(agent: Mapping[str, Any]) -> JsonObject:
    """Return the settings of an agent's model, as AgentModel gives them."""
    return agent.get("model_settings") or {}


def spec_of(
    agent: Mapping[str, Any],
    name: str,
    env: Mapping[str, str],
    metadata: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
) -> AgentSpec:
    """Return the agent as the loop takes it. `env` has the values of the `.env` of the settings.

    Raises:
        UnknownProvider: the agent has no model name, which its provider needs.
        BadSetting: `output_schema` is not a JSON Schema.
    """
    settings = settings_of(agent)
    agent_model = model_of(agent)
    model = agent_model.open(env)
    return AgentSpec(
        name=name,
        model=model,
        system_prompt=str(agent["agent_system_prompt"]),
        max_thoughts=int(agent["max_thoughts"]),
        protocol=cast(ProtocolChoice, settings.get("tool_protocol") or "auto"),
        metadata=dict(metadata or {}),
        output=OutputSchema(dict(output_schema)) if output_schema else None,
        window=agent_model.window(model),
        limits=as_run_limits(settings),
    )


def notes_on(ctx: Any, name: str, agent: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return notices about an agent for the card of its run, each with its mark."""
    notes = [_toolbelt_note(ctx, agent)]
    if agent.get(_REPLACES):
        text = (
            f"two AgentInit have the name {name!r}, and this is the later one. Give one of them "
            "another `agent_name`."
        )
        notes.append(("!!", text))
    return [x for x in notes if x[1]]


def _toolbelt_note(ctx: Any, agent: Mapping[str, Any]) -> tuple[str, str]:
    name = agent.get("toolbelt_name")
    if agent.get(IS_IMPLICIT):
        return "--", f"this agent has the toolbelt {name!r}: it is the only one, and none is wired."
    keys = ("toolbelt_name", "agent_toolbelt", f"enabled_{SERVERS}", f"enabled_{SOURCES}")
    belts_in_use = {x.get("toolbelt_name") for x in list(ctx.values()) if _is_agent(x)}
    belts = ctx.get(TOOLBELTS) or declared_toolbelts(ctx)
    free = [repr(x) for x in belts if x not in belts_in_use]
    if not free or any(map(agent.get, keys)):
        return "", ""
    names = join_names(free, _MAX_NAMES)
    what = "its AgentMakeToolbelt"
    if not ctx.get(TOOLBELTS):
        what = "an AgentMakeToolbelt with such a `name`, placed before AgentInit,"
    return "!!", (
        f"this agent has no tools, and no agent has the toolbelt {names}. "
        f"Draw a line from `toolbelt_spec` of {what} to `toolbelt_spec` of AgentInit."
    )


def learn_keys(ctx: Any, secrets: Secrets) -> None:
    """Add the keys of all agents of this run to the known secrets."""
    # Copy first: agents in other threads write to the same `ctx`.
    agents = [cast(dict[str, Any], x) for x in list(ctx.values()) if isinstance(x, dict)]
    secrets.update(x for agent in agents for x in secrets_in(agent.get("model_settings")))


def _is_agent(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and cast(dict[str, Any], value).keys() >= _FIELDS


def _model_in(
    provider: str, model: str, settings: JsonObject, node: str, agent: Mapping[str, Any]
) -> tuple[str, str]:
    """Return provider and model from an agent's own ports or from AgentModel.

    `agent` is the agent so far, empty for a new one.
    """
    new = "" if node == _INIT else "new_"
    own = provider_on(provider, f"{new}agent_provider", node)
    provider = _one_of(own, settings, "provider", new, node)
    model = _one_of(model, settings, "model", new, node)
    named_provider, name = split_name(model, (settings_of(agent) | settings).get("base_url", ""))
    if named_provider and named_provider == (provider or named_provider):
        return named_provider, name
    # A bare name is a model of the agent's service, or of `openai` as everywhere else.
    is_offline = agent.get("agent_provider", OFFLINE) == OFFLINE
    return provider or (OPENAI if model and is_offline else ""), model


def _one_of(own: str, settings: JsonObject, key: str, new: str, node: str) -> str:
    of_model: str = settings.get(key, "")
    if own and of_model and own != of_model:
        raise BadSetting(
            f"`{new}agent_{key}` of {node} is {own!r}, and `{key}` of the {MODEL_NODE} on its "
            f"`{new}model_settings` is {of_model!r}. Set it in one place only."
        )
    return own or of_model


def _require_provider(settings: JsonObject) -> None:
    """Raise BadSetting for an address or a key without a provider, which would have no effect."""
    if keys := [x for x in ("base_url", "api_key") if x in settings]:
        raise BadSetting(
            f"{MODEL_NODE} sets `{keys[0]}`, and no `provider` says whom to ask. Set it to "
            "`openai`, which is also every service that speaks as OpenAI does, or to another one."
        )


def _merge_settings(agent: dict[str, Any], provider: str, settings: JsonObject) -> JsonObject:
    """Return the agent's settings with these on top; another service gets no old secrets."""
    old = settings_of(agent)
    address = reveal(settings.get("base_url"))
    moves = address not in (None, reveal(old.get("base_url")))
    if moves or provider not in ("", agent["agent_provider"]):
        old = without_service(old)
    return {**old, **settings}
