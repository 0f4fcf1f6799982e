"""A model's name means the same wherever a person writes it."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent.agent.models.choice import AgentModel
from xai_mcp_agent.canvas.agents import init_agent, update_agent

NAMES = {
    "gpt-5-mini": ("openai", "gpt-5-mini"),
    "llama3:8b": ("openai", "llama3:8b"),
    "meta/llama-4": ("openai", "meta/llama-4"),
    "openai:gpt-5-mini": ("openai", "gpt-5-mini"),
    " OpenAI/gpt-5-mini ": ("openai", "gpt-5-mini"),
    "openai:llama3:8b": ("openai", "llama3:8b"),
    "openai:meta/llama-4": ("openai", "meta/llama-4"),
    "anthropic/claude-x": ("openai", "anthropic/claude-x"),  # as OpenRouter lists it
    "offline": ("offline", ""),
}


@pytest.mark.parametrize("text", NAMES)
def test_a_name_says_provider_and_model_and_means_the_same_on_the_nodes(text: str):
    model, ctx = AgentModel.of(text), dict[str, Any]()
    assert (model.provider, model.name) == NAMES[text]
    init_agent(ctx, "new", model=text)
    init_agent(ctx, "updated", provider="offline")
    update_agent(ctx, "updated", model_settings={"model": text})
    for name in ("agent_new", "agent_updated"):
        assert (ctx[name]["agent_provider"], ctx[name]["agent_model"]) == NAMES[text]


@pytest.mark.parametrize(
    ("provider", "text", "name"),
    [
        ("openai", "openai:gpt-5-mini", "gpt-5-mini"),
        ("openai", "mistral:7b", "mistral:7b"),  # as Ollama calls it
        ("openai_responses", "gpt-5-mini", "gpt-5-mini"),
    ],
)
def test_a_provider_that_is_set_counts(provider: str, text: str, name: str):
    ctx: dict[str, Any] = {}
    init_agent(ctx, "a", provider=provider, model=text)
    assert (ctx["agent_a"]["agent_provider"], ctx["agent_a"]["agent_model"]) == (provider, name)


def test_a_new_name_alone_stays_with_the_agents_service():
    ctx: dict[str, Any] = {}
    init_agent(ctx, "a", provider="openai_responses", model="gpt-5")
    update_agent(ctx, "a", model="gpt-5-mini")
    assert ctx["agent_a"]["agent_provider"] == "openai_responses"
