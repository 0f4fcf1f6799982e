"""Agents as the canvas keeps them in `ctx`, under the keys that xai-agent's workflows use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeGuard, cast

from ..agent.limits import RunLimits
from ..agent.loop import AgentSpec, ProtocolChoice
from ..agent.memory.notes import memory_for
from ..agent.models.base import Model, ModelSettings
from ..agent.models.choice import window_for
from ..agent.models.registry import PROVIDERS, model_for, unknown_provider
from ..agent.structured import OutputSchema
from ..agent.window import ContextWindow
from ..core.errors import BadSetting, UnknownAgent
from ..core.names import did_you_mean
from ..secrets.redactor import redact_url
from ..secrets.secrets import Secret, Secrets
from .ports import mapping, names, optional, positive, required, secret_on, whole
from .preferences import KEYS as PREFERENCES
from .toolbelts import (
    APPROVAL,
    CHOICES,
    ENABLED_GROUPS,
    FILTERS,
    GROUPS,
    PLANNING_TOOLS,
    approval_in,
    filter_in,
)

_PREFIX = "agent_"
_PROTOCOLS = ("auto", "native", "text")
# Enough to look a thing up, act on it, check, and answer.
DEFAULT_MAX_THOUGHTS = 10
# What `adopt` writes as an address where it could not tell which one it was.
UNDECIDED = "still to be decided"


# Without these it is something else of that name in `ctx`.
_FIELDS = {"agent_provider", "agent_model", "agent_system_prompt", "max_thoughts"}
_INIT, _UPDATE = "AgentInit", "AgentUpdate"


def init_agent(ctx: Any, name: str, **values: Any) -> None:
    """Set up an agent in `ctx`, under the keys that workflows made for xai-agent use.

    `values`: `provider`, `model`, `memory`, `system_prompt`, `max_thoughts`, `toolbelt_spec`,
    `tool_protocol`, `base_url`, `api_key` (text or `Secret`; `${NAME}` is a variable of the
    environment), `context_tokens`, `max_run_tokens`, `max_run_cost`, `input_price`, `output_price`,
    `tool_token_budget`, and the fields of `ModelSettings`. None means the default.

    Raises:
        UnknownProvider: no such provider of models.
        BadSetting: a value that cannot be, or no name.
        MemoryFailed: `memory` is no memory.
    """
    name = required(name, "agent_name", _INIT)
    ctx[_PREFIX + name] = {
        **tools_in(values.get("toolbelt_spec"), "toolbelt_spec", _INIT),
        "agent_provider": _provider(values.get("provider")),
        "agent_model": optional(values.get("model"), "agent_model", _INIT),
        "agent_memory": memory_for(values.get("memory"), name),
        "agent_system_prompt": optional(values.get("system_prompt"), "system_prompt", _INIT),
        "max_thoughts": _thoughts(values.get("max_thoughts"), "max_thoughts", _INIT),
        "tool_protocol": _protocol(values.get("tool_protocol")),
        "agent_base_url": _address(values.get("base_url"), "base_url", _INIT),
        "agent_api_key": secret_on(values.get("api_key"), "api_key", _INIT),
        "model_settings": _model_settings(values),
        "context_tokens": whole(values.get("context_tokens"), "context_tokens", _INIT),
        "run_limits": _run_limits(values),
        "tool_token_budget": whole(values.get("tool_token_budget"), "tool_token_budget", _INIT),
    }


def update_agent(ctx: Any, name: str, **values: Any) -> None:
    """Change an agent that exists; None and an empty text leave a thing as it is.

    `values`: `provider`, `model`, `system_prompt`, `max_thoughts`, `toolbelt_spec`, `base_url`,
    `api_key`, `tool_token_budget`. With another provider or address the key and what else was meant
    for the old service are forgotten: they must not be sent to the new one.

    Raises:
        UnknownAgent: no such agent in this run.
        UnknownProvider: no such provider of models.
        BadSetting: a value that cannot be.
    """
    agent = agent_in(ctx, name, _UPDATE)
    model = optional(values.get("model"), "new_agent_model", _UPDATE)
    prompt = optional(values.get("system_prompt"), "new_system_prompt", _UPDATE)
    _move(agent, values)
    agent["agent_model"] = model or agent["agent_model"]
    agent["agent_system_prompt"] = prompt or agent["agent_system_prompt"]
    thoughts = values.get("max_thoughts")
    if thoughts:
        agent["max_thoughts"] = _thoughts(thoughts, "new_max_thoughts", _UPDATE)
    budget = whole(values.get("tool_token_budget"), "new_tool_token_budget", _UPDATE)
    agent["tool_token_budget"] = budget or agent.get("tool_token_budget")
    spec = values.get("toolbelt_spec")
    if spec is not None:
        agent.update(tools_in(spec, "new_toolbelt_spec", _UPDATE))


def agent_in(ctx: Any, name: str, node: str) -> dict[str, Any]:
    """The agent of that name, for this node.

    Raises:
        UnknownAgent: `AgentInit` has not set it up in this run.
        BadSetting: no name.
    """
    name = required(name, "agent_name", node)
    agent = ctx.get(f"{_PREFIX}{name}")
    if not _is_agent(agent):
        known = [str(k).removeprefix(_PREFIX) for k, v in ctx.items() if _is_agent(v)]
        having = f"There are: {', '.join(known)}." if known else "There is none yet."
        raise UnknownAgent(
            f"No agent {name!r} in this run. {did_you_mean(name, known) or having} "
            "Put an AgentInit with this `agent_name` before the node."
        )
    return agent


def model_of(agent: Mapping[str, Any]) -> Model:
    """The model an agent talks to; nothing is connected yet."""
    address = agent.get("agent_base_url") or ""
    return model_for(
        agent["agent_provider"],
        agent["agent_model"],
        base_url=address.reveal() if isinstance(address, Secret) else address,
        api_key=agent.get("agent_api_key"),
        settings=agent.get("model_settings"),
    )


def spec_of(
    agent: Mapping[str, Any],
    name: str,
    metadata: Mapping[str, Any] | None,
    output_schema: Mapping[str, Any] | None = None,
) -> AgentSpec:
    """The agent as the loop wants it.

    Raises:
        UnknownProvider: the agent has no model's name, which its provider wants.
        BadSetting: `metadata` is no dict, or `output_schema` no JSON Schema.
    """
    form = mapping(output_schema, "output_schema", "AgentRun")
    return AgentSpec(
        name=name,
        model=model_of(agent),
        system_prompt=str(agent["agent_system_prompt"]),
        max_thoughts=int(agent["max_thoughts"]),
        protocol=agent.get("tool_protocol", "auto"),
        metadata=mapping(metadata, "metadata", "AgentRun"),
        output=OutputSchema(form) if form else None,
        window=_window(agent),
        limits=agent.get("run_limits") or RunLimits(),
    )


def learn_keys(ctx: Any, secrets: Secrets) -> None:
    """Add the keys of all agents of this run to the secrets that are known."""
    # Copied first: agents in other threads write into the same `ctx`.
    agents = [cast(dict[str, Any], x) for x in list(ctx.values()) if isinstance(x, dict)]
    secrets.update(x for agent in agents for x in list(agent.values()) if isinstance(x, Secret))


def _is_agent(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and cast(dict[str, Any], value).keys() >= _FIELDS


def tools_in(spec: Any, port: str, node: str) -> dict[str, Any]:
    """What an agent has of a toolbelt's spec, under the agent's keys.

    Raises:
        BadSetting: the value on that port is no such spec.
    """
    wire = "the toolbelt_spec of AgentMakeToolbelt"
    given = mapping(spec, port, node, wire=wire)
    drawn = mapping(given.get("standard_tools"), f"{port}.standard_tools", node, wire=wire)
    pin = given.get("pin_tools")
    pin = pin if pin == "first" else bool(pin)
    found: dict[str, Any] = {"agent_toolbelt": drawn, "pin_tools": pin}
    found[PLANNING_TOOLS] = bool(given.get(PLANNING_TOOLS))
    found["toolbelt_name"] = optional(given.get("toolbelt"), f"{port}.toolbelt", node)
    found["tool_approval"] = approval_in(given.get(APPROVAL), f"{port}.{APPROVAL}", node)
    found |= {key: names(given.get(key), f"{port}.{key}", node) for key in PREFERENCES}
    found[FILTERS] = mapping(given.get(FILTERS), f"{port}.{FILTERS}", node, wire=wire)
    for name, written in found[FILTERS].items():
        filter_in(written, f"{port}.{FILTERS}.{name}")
    for key, agent_key in ((GROUPS, ENABLED_GROUPS), *((x.key, x.agent_key) for x in CHOICES)):
        listed: Any = given.get(key) or []
        if not isinstance(listed, list | tuple):
            raise BadSetting(f"`{key}` in `{port}` of {node} is no list. Wire {wire} to it.")
        found[agent_key] = list(cast(list[str], listed))
    return found


def _move(agent: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Have the agent ask another service, if another is given."""
    provider = values.get("provider")
    provider = _provider(provider) if provider else agent["agent_provider"]
    address = _address(values.get("base_url"), "new_base_url", _UPDATE)
    if provider != agent["agent_provider"] or address not in ("", agent.get("agent_base_url")):
        settings: ModelSettings = agent.get("model_settings") or ModelSettings()
        agent["model_settings"] = replace(settings, extra_body={})
        agent["agent_base_url"], agent["agent_api_key"] = address, None
    agent["agent_provider"] = provider
    key = secret_on(values.get("api_key"), "new_api_key", _UPDATE)
    agent["agent_api_key"] = key or agent.get("agent_api_key")


def _provider(name: Any) -> str:
    provider = str(name or "offline").strip().lower()
    if provider not in PROVIDERS:
        raise unknown_provider(provider)
    return provider


def _protocol(name: Any) -> ProtocolChoice:
    protocol = str(name or "auto").strip().lower()
    if protocol not in _PROTOCOLS:
        raise BadSetting(f"No tool_protocol {protocol!r}. Use one of: {', '.join(_PROTOCOLS)}.")
    return protocol


def _thoughts(number: Any, port: str, node: str) -> int:
    return whole(number, port, node) or DEFAULT_MAX_THOUGHTS


def _address(url: Any, port: str, node: str) -> str | Secret:
    """The address, held so that printing `ctx` shows no password or key that stands in it."""
    text = optional(url, port, node)
    if text == UNDECIDED:
        raise BadSetting(
            f"`{port}` of {node} is {UNDECIDED}: the workflow was adopted, and where its prompts "
            "went could not be told. Write that address there, such as http://localhost:11434/v1, "
            "or https://api.openai.com/v1 for OpenAI itself."
        )
    return Secret(text) if redact_url(text) != text else text


def _window(agent: Mapping[str, Any]) -> ContextWindow:
    settings: ModelSettings = agent.get("model_settings") or ModelSettings()
    size = agent.get("context_tokens")
    return window_for(agent["agent_provider"], size, settings.max_output_tokens)


def _run_limits(values: Mapping[str, Any]) -> RunLimits:
    numbers = {
        x: positive(values.get(x), x, _INIT)
        for x in ("max_run_cost", "input_price", "output_price")
    }
    if numbers["max_run_cost"] and not (numbers["input_price"] or numbers["output_price"]):
        raise BadSetting(
            f"`max_run_cost` of {_INIT} has no prices to count with. Set `input_price` and "
            "`output_price`, which are those of a million tokens."
        )
    return RunLimits(
        whole(values.get("max_run_tokens"), "max_run_tokens", _INIT),
        numbers["max_run_cost"],
        numbers["input_price"] or 0.0,
        numbers["output_price"] or 0.0,
    )


def _model_settings(values: Mapping[str, Any]) -> ModelSettings:
    silence = positive(values.get("timeout_seconds"), "timeout_seconds", _INIT)
    turn = positive(values.get("turn_timeout_seconds"), "turn_timeout_seconds", _INIT)
    settings = ModelSettings(
        temperature=_temperature(values.get("temperature")),
        max_output_tokens=whole(values.get("max_output_tokens"), "max_output_tokens", _INIT),
        reasoning_effort=optional(values.get("reasoning_effort"), "reasoning_effort", _INIT)
        or None,
        extra_body=mapping(values.get("extra_body"), "extra_body", _INIT),
        turn_timeout_seconds=turn,
    )
    return replace(settings, timeout_seconds=silence) if silence else settings


def _temperature(value: Any) -> float | None:
    # 0 is a temperature like any other.
    if value is None or value == 0:
        return value
    return positive(value, "temperature", _INIT)
