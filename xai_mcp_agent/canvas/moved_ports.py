"""Ports that a node once had: scripts that were compiled then still set them."""

from __future__ import annotations

from typing import Any

from ..core.errors import XaiMcpError

_OF_INIT = (
    "tool_protocol", "base_url", "api_key", "temperature", "max_output_tokens",
    "reasoning_effort", "extra_body", "timeout_seconds", "turn_timeout_seconds", "context_tokens",
    "max_run_tokens", "max_run_cost", "input_price", "output_price", "tool_token_budget",
)  # fmt: skip
_OF_UPDATE = ("new_base_url", "new_api_key", "new_tool_token_budget")
MOVED_TO_MODEL = {
    "AgentInit": {name: name for name in _OF_INIT},
    "AgentUpdate": {name: name.removeprefix("new_") for name in _OF_UPDATE},
}
"""By node and port: the port of AgentModel that it is now."""


class PortMoved(XaiMcpError, AttributeError):
    """A port is on another node now, and the workflow was made before."""


def moved_port(node: Any, name: str) -> None:
    """Say what became of an attribute that a node does not have.

    Raises:
        PortMoved: it was a port once; says where it is now.
        AttributeError: it never was anything.
    """
    kind = type(node).__name__
    port = MOVED_TO_MODEL.get(kind, {}).get(name)
    if port is None:
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")
    settings = "model_settings" if kind == "AgentInit" else "new_model_settings"
    raise PortMoved(
        f"`{name}` is no port of {kind} any more: it is `{port}` of the node AgentModel, whose "
        f"model_settings are wired to `{settings}` of {kind}. `xai-mcp-agent adopt FILE` rewrites "
        "a workflow so; then compile it again."
    )
