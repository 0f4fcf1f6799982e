"""Agents as the canvas keeps them in `ctx`, under the keys that xai-agent's workflows use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..agent.loop import AgentSpec, ProtocolChoice
from ..agent.models.base import Model, ModelSettings
from ..agent.models.registry import PROVIDERS, model_for, unknown_provider
from ..core.errors import UnknownAgent, XaiMcpError
from ..core.names import did_you_mean
from ..settings.secrets import Secret

_PREFIX = "agent_"
_PROTOCOLS = ("auto", "native", "text")
# Enough to look a thing up, act on it, check, and answer.
DEFAULT_MAX_THOUGHTS = 10


class BadSetting(XaiMcpError):
    """A value of an agent that cannot be; the message says which are possible."""


def init_agent(ctx: Any, name: str, **values: Any) -> None:
    """Set up an agent in `ctx`, under the keys that workflows made for xai-agent use.

    `values`: `provider`, `model`, `memory`, `system_prompt`, `max_thoughts`, `toolbelt_spec`,
    `tool_protocol`, `base_url`, `api_key` (text or `Secret`), and the fields of `ModelSettings`.
    None means the default.

    Raises:
        UnknownProvider, BadSetting: a value that cannot be.
    """
    if not name:
        raise UnknownAgent("An agent needs a name: set `agent_name`.")
    spec = cast(Mapping[str, Any], values.get("toolbelt_spec") or {})
    ctx[_PREFIX + name] = {
        "agent_toolbelt": dict(spec.get("standard_tools") or {}),
        "enabled_mcp_servers": list(spec.get("mcp_servers") or []),
        "agent_provider": _provider(values.get("provider")),
        "agent_model": values.get("model") or "",
        "agent_memory": values.get("memory"),
        "agent_system_prompt": values.get("system_prompt") or "",
        "max_thoughts": _thoughts(values.get("max_thoughts")),
        "tool_protocol": _protocol(values.get("tool_protocol")),
        "agent_base_url": values.get("base_url") or "",
        "agent_api_key": _secret(values.get("api_key")),
        "model_settings": _model_settings(values),
    }


def update_agent(ctx: Any, name: str, **values: Any) -> None:
    """Change an agent that exists; None leaves a thing as it is.

    `values`: `provider`, `model`, `system_prompt`, `max_thoughts`, `toolbelt_spec`.

    Raises:
        UnknownAgent, UnknownProvider, BadSetting: a value that cannot be.
    """
    agent = agent_in(ctx, name)
    changed = {
        "agent_model": values.get("model"),
        "agent_system_prompt": values.get("system_prompt"),
    }
    agent.update({key: value for key, value in changed.items() if value is not None})
    if values.get("provider"):
        agent["agent_provider"] = _provider(values["provider"])
    if values.get("max_thoughts"):
        agent["max_thoughts"] = _thoughts(values["max_thoughts"])
    spec = cast(Mapping[str, Any] | None, values.get("toolbelt_spec"))
    if spec is not None:
        agent["agent_toolbelt"] = dict(spec.get("standard_tools") or {})
        agent["enabled_mcp_servers"] = list(spec.get("mcp_servers") or [])


def agent_in(ctx: Any, name: str) -> dict[str, Any]:
    """The agent of that name.

    Raises:
        UnknownAgent: `AgentInit` has not set it up in this run.
    """
    agent = ctx.get(f"{_PREFIX}{name}")
    if agent is None:
        known = [key.removeprefix(_PREFIX) for key in ctx if str(key).startswith(_PREFIX)]
        having = f"There are: {', '.join(known)}." if known else "There is none yet."
        raise UnknownAgent(
            f"No agent {name!r} in this run. {did_you_mean(name, known) or having} "
            "Put an AgentInit with this `agent_name` before the node."
        )
    return agent


def model_of(agent: Mapping[str, Any]) -> Model:
    """The model an agent talks to; nothing is connected yet."""
    return model_for(
        agent["agent_provider"],
        agent["agent_model"],
        base_url=agent.get("agent_base_url") or "",
        api_key=agent.get("agent_api_key"),
        settings=agent.get("model_settings"),
    )


def spec_of(agent: Mapping[str, Any], name: str, metadata: Mapping[str, Any] | None) -> AgentSpec:
    """The agent as the loop wants it."""
    return AgentSpec(
        name=name,
        model=model_of(agent),
        system_prompt=str(agent["agent_system_prompt"]),
        max_thoughts=int(agent["max_thoughts"]),
        protocol=agent.get("tool_protocol", "auto"),
        metadata=metadata or {},
    )


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


def _thoughts(number: Any) -> int:
    # An argument node that was left alone gives 0.
    if not number:
        return DEFAULT_MAX_THOUGHTS
    if int(number) < 1:
        raise BadSetting(f"max_thoughts is {number}; an agent needs at least 1 to answer.")
    return int(number)


def _secret(key: Any) -> Secret | None:
    return key if isinstance(key, Secret) or not key else Secret(str(key))


def _model_settings(values: Mapping[str, Any]) -> ModelSettings:
    fields = ("max_output_tokens", "reasoning_effort", "extra_body", "timeout_seconds")
    given = {name: values[name] for name in fields if values.get(name)}
    return ModelSettings(temperature=values.get("temperature"), **given)
