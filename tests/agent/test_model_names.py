"""A model's name means the same wherever a person writes it."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent.agent.models.choice import AgentModel
from xai_mcp_agent.canvas.agents import init_agent, update_agent

NAMES = {
    "gpt-5-mini": ("openai", "gpt-5-mini"),
    "llama3:8b": ("openai", "llama3:8b"),
    " OpenAI/gpt-5-mini ": ("openai", "gpt-5-mini"),
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
    assert provider_and_model(ctx, "new") == provider_and_model(ctx, "updated") == NAMES[text]


@pytest.mark.parametrize("in_environment", [True, False])
def test_a_name_with_a_slash_is_whole_at_another_address_than_openais(
    in_environment: bool, monkeypatch: pytest.MonkeyPatch
):
    """Groq and OpenRouter have models named `openai/...`."""
    url, name = "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"
    settings = {"provider": "openai", "base_url": url, "api_key": "gsk-of-groq"}
    if in_environment:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        settings, url = {"provider": "openai"}, ""
    model, ctx = AgentModel.of(name, url), dict[str, Any]()
    assert (model.provider, model.name, model.base_url) == ("openai", name, url)
    init_agent(ctx, "new", model=name, model_settings=settings)
    init_agent(ctx, "updated", model="llama-4", model_settings=settings)
    update_agent(ctx, "updated", model=name)
    assert provider_and_model(ctx, "new") == provider_and_model(ctx, "updated") == ("openai", name)
    assert AgentModel.of(f"openai:{name}", url).name == name


def provider_and_model(ctx: dict[str, Any], agent: str) -> tuple[str, str]:
    settings = ctx[f"agent_{agent}"]
    return settings["agent_provider"], settings["agent_model"]


def test_a_provider_that_is_set_counts_and_a_new_name_stays_with_it():
    ctx: dict[str, Any] = {}
    for provider, text, name in (
        ("openai", "openai:gpt-5-mini", "gpt-5-mini"),
        ("openai", "mistral:7b", "mistral:7b"),  # as Ollama calls it
        ("openai_responses", "gpt-5", "gpt-5"),
    ):
        init_agent(ctx, "a", provider=provider, model=text)
        assert provider_and_model(ctx, "a") == (provider, name)
    update_agent(ctx, "a", model="gpt-5-mini")
    assert provider_and_model(ctx, "a") == ("openai_responses", "gpt-5-mini")
