"""Models are named with their provider."""

from __future__ import annotations

import pytest

from xai_mcp_agent.agent.models.registry import split_name


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("openai:gpt-5-mini", ("openai", "gpt-5-mini")),
        (" OpenAI/gpt-5-mini ", ("openai", "gpt-5-mini")),
        ("openai:llama3:8b", ("openai", "llama3:8b")),
        ("openai:meta/llama-4", ("openai", "meta/llama-4")),
        ("offline", ("offline", "")),
        ("llama3:8b", None),
        ("meta/llama-4", None),
    ],
)
def test_a_model_is_named_with_its_provider(said: str, means: tuple[str, str] | None) -> None:
    assert split_name(said) == means
